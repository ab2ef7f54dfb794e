"""Value sets: categories generalize to the set of the categories in a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..errors import suggest
from ..protocols import Poset, PosetSource, Structure
from .bound import Coded, check_groups, pair_labels, spread, unknown
from .or_missing import OrMissing
from .values.text import SUPPRESSED, read_set, set_label, text, without_missing

# Sets over this many values or fewer fit the bits of one machine word.
_BITS = 63


class ValueSet(PosetSource):
    """Categories, joined to sets of values.

    >>> colours = ValueSet().bind(["blue", "green", "red"])
    >>> colours.lub(["red", "blue"]), colours.lub(["red"]), colours.lub(["red", "blue", "green"])
    ('{blue, red}', 'red', '*')
    >>> colours.measure("{blue, red}"), colours.leq("red", "{blue, red}")
    (0.5, True)
    """

    name: ClassVar[str] = "value-set"
    categories: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "K. LeFevre, D. J. DeWitt, R. Ramakrishnan: Mondrian multidimensional k-anonymity, 2006"
    )

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> ValueSetPoset:
        """The sets over the column's values; `counts` is not looked at."""
        return ValueSetPoset([text(value) for value in domain])


class ValueSetPoset(Coded):
    """Sets over the distinct values of one column.

    Text is read as a label: "red" is a value, "{blue, red}" a set, "*" anything. A value that looks
    like a label is written in quotes, `{"*"}`, and so read back. One value has height 0, a set 1,
    all values 2.
    """

    spans: ClassVar[bool] = False

    def __init__(self, values: Sequence[str]) -> None:
        self._values = list(values)
        self._code_of = {value: code for code, value in enumerate(self._values, 1)}
        if len(self._code_of) != len(self._values):
            seen: set[str] = set()
            twice = next(v for v in self._values if v in seen or seen.add(v))  # type: ignore[func-returns-value]
            raise ValueError(
                f'two different values are both written "{twice}" -> '
                "recode one of them, or leave the column out"
            )
        everything = range(1, len(self._values) + 1)
        # With no second value to hide among, a suppressed value still says less than the only one.
        self._top = frozenset(everything if len(self._values) > 1 else (0, *everything))

    def __repr__(self) -> str:
        return f"ValueSetPoset({len(self._values):,} values)"

    @property
    def structure(self) -> Structure:
        return Structure(sets=self)

    def listed(self, label: str) -> list[str] | None:
        """The values that a plainly written label lists; None where only `leq` can tell."""
        try:
            found = read_set(label) if label.startswith("{") else [label]
            self.codes(found)
        except (ValueError, IndexError):
            return None
        return found

    def count(self, label: str) -> int | None:
        return 1 + round(self.measure(label) * (len(self._values) - 1))

    def _set(self, value: Any) -> frozenset[int]:
        """The codes that a value or label stands for."""
        if not isinstance(value, str):
            value = text(value)
        elif value == SUPPRESSED:
            return self._top
        elif value.startswith("{"):
            found = self._members(value)
            if found is not None:
                return found
        code = self._code_of.get(value)
        if code is not None:
            return frozenset((code,))
        return self._foreign(value)

    def _members(self, label: str) -> frozenset[int] | None:
        try:
            return frozenset(self._code_of[member] for member in read_set(label))
        except (KeyError, ValueError):
            return None

    def _foreign(self, label: str) -> frozenset[int]:
        """Other tools' spellings: blanks around the label, members joined by commas alone."""
        bare = label.strip()
        if bare == SUPPRESSED:
            return self._top
        found = self._members(bare) if bare.startswith("{") else None
        if found is None:
            parts = [part.strip() for part in bare.split(",")]
            if not all(part in self._code_of for part in parts):
                close = suggest(label, self._values) if len(self._values) <= 2000 else []
                hint = "give the column its poset (sfumato assess --plan PLAN)"
                hint = f'did you mean "{close[0]}"?' if close else hint
                raise unknown("label", [label], "made of the column's values", hint)
            found = frozenset(self._code_of[part] for part in parts)
        return found

    def _label(self, codes: Sequence[int]) -> str:
        if len(codes) == len(self._values) > 1:
            return SUPPRESSED
        return set_label([self._values[code - 1] for code in codes])

    def leq(self, lower: Any, upper: Any) -> bool:
        return self._set(lower) <= self._set(upper)

    def lub(self, values: Iterable[Any]) -> str:
        found: frozenset[int] = frozenset().union(*map(self._set, values))
        if not found:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        return SUPPRESSED if found == self._top else self._label(sorted(found))

    def height(self, value: Any) -> int:
        found = self._set(value)
        return 2 if found == self._top else 0 if len(found) == 1 else 1

    def measure(self, value: Any) -> float:
        found = self._set(value)
        return 1.0 if found == self._top else (len(found) - 1) / max(len(self._values) - 1, 1)

    def _key(self, value: Any) -> str:
        return text(value)

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return pair_labels(low, high, len(self._values), lambda a, b: self._label(range(a, b + 1)))

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        starts, codes = np.asarray(starts, dtype=np.int64), np.asarray(codes)
        if starts.size < 2:
            return []
        check_groups(starts)
        codes = codes[: starts[-1]]
        if int(codes[starts[0] :].min()) < 1 or int(codes[starts[0] :].max()) > len(self._values):
            raise ValueError(f"codes run from 1 to {len(self._values)} (0 is missing)")
        if len(self._values) <= _BITS:
            bits = np.left_shift(np.uint64(1), (codes - 1).astype(np.uint64))
            masks = np.bitwise_or.reduceat(bits, starts[:-1])
            distinct, inverse = np.unique(masks, return_inverse=True)
            everything = range(1, len(self._values) + 1)
            sets = [[c for c in everything if mask >> (c - 1) & 1] for mask in distinct.tolist()]
            return spread([self._label(members) for members in sets], inverse)
        known: dict[bytes, str] = {}
        out = []
        ends = starts.tolist()
        for start, stop in pairwise(ends):
            members = codes[start:stop]
            key = members.tobytes()
            label = known.get(key)
            if label is None:
                label = known[key] = self._label(members.tolist())
            out.append(label)
        return out


class LabelPoset(ValueSetPoset):
    """The labels of a column that a method generalized before, joined by the poset they came from.

    A search sees them as categories; what is published for a group is the least upper bound in the
    first poset, never a set of labels.

    >>> from sfumato.poset.interval import Interval
    >>> ages = Interval().bind([20, 23, 29, 60])
    >>> LabelPoset(["[20, 23]", "[29, 60]", "60"], ages).lub(["[20, 23]", "60"])
    '[20, 60]'
    """

    def __init__(self, labels: Sequence[str], of: Poset) -> None:
        super().__init__(labels)
        # Only where there are labels with missing values is missing one more value.
        mixed = any(without_missing(label)[1] for label in labels)
        self._of = OrMissing(of) if mixed else of

    def count(self, label: str) -> int | None:
        return None

    def leq(self, lower: Any, upper: Any) -> bool:
        return self._of.leq(lower, upper)

    def lub(self, values: Iterable[Any]) -> str:
        return str(self._of.lub(values))

    def height(self, value: Any) -> int:
        return self._of.height(value)

    def height_share(self, label: str) -> float:
        return self._of.height_share(label)

    def measure(self, value: Any) -> float:
        return self._of.measure(value)

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return [
            self.lub(self._values[a - 1 : b])
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        ]

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        bounds = starts.tolist()
        members = [self._values[code - 1] for code in codes.tolist()]
        return [self.lub(members[a:b]) for a, b in pairwise(bounds)]
