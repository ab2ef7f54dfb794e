"""Sets of items that differ in worth: what a group shows is what all of its sets hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from ..protocols import Poset, PosetSource
from .bound import check_codes, known_codes, ranks, run_labels, unknown
from .power_set import _items, _written
from .text import SUPPRESSED, text
from .utility_file import as_utility, read_utilities


class Items(PosetSource):
    """Sets of items, each with a utility; a group shows the items that all have.

    `utilities` and the file at `path` say what items are worth; where both name one, `utilities`
    counts, and what neither names is worth `default`. There may be any number of items. As a label,
    "{milk}+" is milk and perhaps more. The measure is the share of all items' utility that is not
    told: 0 for a set that is published as it is.

    >>> worth = Items(utilities={"tea": 3})
    >>> worth.utilities_of(["milk", "tea"]).tolist()
    [1.0, 3.0]
    >>> buys = worth.bind([["milk", "tea"], ["tea"], ["milk"]])
    >>> buys.lub([["milk", "tea"], ["tea"]]), buys.measure("{tea}+"), buys.lub([["tea"], ["milk"]])
    ('{tea}+', 0.25, '*')
    """

    takes_lists: ClassVar[bool] = True
    name: ClassVar[str] = "items"
    paper: ClassVar[str] = "B. Podgursky: Practical k-anonymity on large datasets, 2011, chapter 3"
    example: ClassVar[Mapping[str, Any]] = {"utilities": {"tea": 3}}

    utilities: dict[str, float] = Field(
        default_factory=dict, description="what items are worth: { tea = 3, milk = 0.5 }"
    )
    path: Annotated[
        str | None,
        Field(description="file with a row for each item, CSV (may be compressed) or Parquet"),
    ] = None
    item: Annotated[str, Field(min_length=1, description="the file's column of items")] = "item"
    utility: Annotated[str, Field(min_length=1, description="the file's column of utilities")] = (
        "utility"
    )
    default: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="what any other item is worth"),
    ] = 1.0

    @field_validator("utilities", mode="before")
    @classmethod
    def _sound(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {text(item): as_utility(worth, f'item "{item}"') for item, worth in given.items()}

    def utilities_of(self, names: Sequence[str]) -> np.ndarray:
        """float64: what each of these items is worth; `ValueError` names what a file has wrong."""
        utilities = self._known_utilities()
        return np.array([utilities.get(name, self.default) for name in names], dtype=np.float64)

    def named(self) -> set[str]:
        """The items that a utility is given of."""
        return set(self._known_utilities())

    def _known_utilities(self) -> dict[str, float]:
        if self.path is None:
            return self.utilities
        return {**read_utilities(self.path, self.item, self.utility), **self.utilities}

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> ItemsPoset:
        """The sets over the column's items; `counts` is not looked at."""
        if any(isinstance(value, str) and value.strip() == SUPPRESSED for value in domain):
            # As a label it is read as nothing in common, not as the set of that item.
            raise ValueError(
                f'the value "{SUPPRESSED}" means suppressed -> make it missing, or write it as '
                f'{{"{SUPPRESSED}"}} if it is an item'
            )
        sets = [frozenset(_items(value)) for value in domain]
        names = sorted(frozenset().union(*sets))
        worth = self.utilities_of(names)
        return ItemsPoset(domain, sets, dict(zip(names, worth.tolist(), strict=True)))


class ItemsPoset(Poset):
    """Sets over the items of one column, `worth` what each is worth.

    A set that is published whole has height 0, common items as many steps as items are left out.
    """

    spans: ClassVar[bool] = False

    def __init__(
        self, domain: Sequence[Any], sets: Sequence[frozenset[str]], worth: Mapping[str, float]
    ) -> None:
        self.worth = dict(worth)
        self._all = frozenset(self.worth)
        self._given = {text(value): one for value, one in zip(domain, sets, strict=True)}
        # Codes in an order that does not depend on that of the domain: large sets first.
        ordered = sorted(set(sets), key=lambda one: (-len(one), sorted(one)))
        self._sets = ordered
        self._code_of = {one: code for code, one in enumerate(ordered, 1)}

    def __repr__(self) -> str:
        return f"ItemsPoset({len(self._sets):,} sets of {len(self.worth):,} items)"

    def _known(self, members: Sequence[str]) -> frozenset[str]:
        stray = [member for member in members if member not in self.worth]
        if stray:
            raise unknown("item", stray, "among the column's items", "bind the poset to all")
        return frozenset(members)

    def _read(self, value: Any) -> tuple[frozenset[str], bool]:
        """The items of a value or label, and whether it has no others."""
        if isinstance(value, str):
            if value in self._given and value != SUPPRESSED:
                return self._given[value], True
            bare = value.strip()
            if bare == SUPPRESSED:
                return frozenset(), False
            if bare.startswith("{") and bare.endswith("}+"):
                shared = self._known(_items(bare[:-1]))
                return shared, shared == self._all
        return self._known(_items(value)), True

    def members(self, value: Any) -> tuple[str, ...]:
        """The items that a value or label tells."""
        return tuple(sorted(self._read(value)[0]))

    def _label(self, shared: frozenset[str], *, exact: bool) -> str:
        exact = exact or (bool(shared) and shared == self._all)
        if not shared and not exact:
            return SUPPRESSED
        return "{" + ", ".join(map(_written, sorted(shared))) + "}" + ("" if exact else "+")

    def leq(self, lower: Any, upper: Any) -> bool:
        (low, low_exact), (high, high_exact) = self._read(lower), self._read(upper)
        if high_exact:
            return low_exact and low == high
        return low >= high

    def lub(self, values: Iterable[Any]) -> str:
        found = {self._read(value) for value in values}
        if not found:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        shared = frozenset.intersection(*(one for one, _ in found))
        return self._label(shared, exact=len(found) == 1 and next(iter(found))[1])

    def height(self, value: Any) -> int:
        shared, exact = self._read(value)
        # Even with no item to leave out, a suppressed value says less than the empty set.
        return 0 if exact else max(len(self._all) - len(shared), 1)

    def measure(self, value: Any) -> float:
        shared, exact = self._read(value)
        if exact:
            return 0.0
        total = math.fsum(self.worth.values())
        if total == 0:
            return 1 - len(shared) / max(len(self._all), 1)
        if not shared:
            return 1.0
        return math.fsum(self.worth[item] for item in self._all - shared) / total

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        found = [self._code_of.get(frozenset(_items(value)), 0) for value in values]
        return known_codes(found, values)

    @cached_property
    def _positions(self) -> np.ndarray:
        return ranks(len(self._sets))

    @property
    def positions(self) -> np.ndarray:
        return self._positions

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return run_labels(low, high, len(self._sets), self.set_labels)

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        starts, codes = np.asarray(starts, dtype=np.int64), np.asarray(codes, dtype=np.int64)
        if starts.size < 2:
            return []
        if bool((np.diff(starts) < 1).any()):
            raise ValueError("a group without values has no label -> leave such groups out")
        used = codes[starts[0] : starts[-1]]
        check_codes(used, used, len(self._sets))
        known: dict[frozenset[str], str] = {}
        out = []
        for start, stop in pairwise(starts.tolist()):
            group = codes[start:stop].tolist()
            if len(group) == 1:
                out.append(self._label(self._sets[group[0] - 1], exact=True))
                continue
            shared = frozenset.intersection(*(self._sets[code - 1] for code in group))
            if shared not in known:
                known[shared] = self._label(shared, exact=False)
            out.append(known[shared])
        return out
