"""What bound posets share: checks on codes, and labels made once for each distinct group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..protocols import Poset
from .values.text import text


def check_codes(low: np.ndarray, high: np.ndarray, size: int) -> None:
    """`ValueError` unless 1 <= low <= high <= size throughout."""
    if not low.size:
        return
    if low.shape != high.shape:
        raise ValueError(f"{low.size} lowest codes and {high.size} highest ones do not match")
    if int(low.min()) < 1 or int(high.max()) > size or bool((low > high).any()):
        raise ValueError(
            f"codes run from 1 to {size}, the lowest not above the highest "
            "(0 is missing and has no label)"
        )


def check_groups(starts: np.ndarray) -> None:
    """`ValueError` if a group has no values."""
    if bool((np.diff(starts) < 1).any()):
        raise ValueError("a group without values has no label -> leave such groups out")


def spread(labels: Sequence[str], inverse: np.ndarray) -> list[str]:
    """One label for each group from the labels of the distinct groups."""
    # Groups share their text objects: millions of groups cost one pointer each.
    found: list[str] = np.array([*labels, ""], dtype=object)[inverse].tolist()
    return found


def pair_labels(
    low: np.ndarray, high: np.ndarray, size: int, label: Callable[[int, int], str]
) -> list[str]:
    """`label(low, high)` for each group, called once for each distinct pair of codes."""
    low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    check_codes(low, high, size)
    key = low * (size + 1) + high
    distinct, inverse = _distinct(key, (size + 1) ** 2)
    pairs = zip(*(part.tolist() for part in np.divmod(distinct, size + 1)), strict=True)
    return spread([label(first, last) for first, last in pairs], inverse)


def _distinct(key: np.ndarray, space: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys of 0..space-1 and which of them each one is."""
    if space > max(4 * key.size, 1 << 16):
        distinct, inverse = np.unique(key, return_inverse=True)
        return distinct, inverse
    # Few possible pairs: marking them is faster than sorting millions of groups.
    number = np.zeros(space, dtype=np.int64)
    number[key] = 1
    distinct = np.flatnonzero(number)
    number[distinct] = np.arange(distinct.size)
    return distinct, number[key]


def unknown(kind: str, strays: Iterable[str], where: str, remedy: str) -> ValueError:
    """The error about values or labels that a poset does not know."""
    listed = list(strays)
    more = f" (and {len(listed) - 1:,} more)" if len(listed) > 1 else ""
    return ValueError(f'{kind} "{listed[0]}"{more} is not {where} -> {remedy}')


MOST_FAULTS = 12
"""Faults of one sort that are told one by one."""


class Faults(ValueError):
    """Everything that is wrong with what a poset was made from, each with its remedy."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))

    def __reduce__(self) -> Any:
        return type(self), (self.faults,)


def sorted_codes(
    values: np.ndarray, wanted: np.ndarray, written: Callable[[Any], str]
) -> np.ndarray:
    """The codes of `wanted` among sorted values; `ValueError` names those that are not there."""
    at = np.searchsorted(values, wanted)
    known = at < values.size
    known[known] = values[at[known]] == wanted[known]
    if not known.all():
        strays = [written(value) for value in wanted[~known].tolist()]
        raise unknown("value", strays, "among the column's values", "bind the poset to all")
    return at + 1


def places(numbers: np.ndarray) -> np.ndarray:
    """Positions of values that lie at these numbers, in the order of their codes."""
    out = np.concatenate(([np.nan], numbers))
    out.flags.writeable = False
    return out


def ranks(size: int) -> np.ndarray:
    """Positions of values that lie evenly, in the order of their codes."""
    return places(np.arange(1, size + 1, dtype=np.float64))


class Coded(Poset):
    """A poset whose values have codes by what they are read as."""

    _code_of: dict[Any, int]

    @abstractmethod
    def _key(self, value: Any) -> Any:
        """What a value is read as, whose code it has."""

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        found = [self._code_of.get(self._key(value), 0) for value in values]
        if 0 in found:
            strays = [text(value) for value, code in zip(values, found, strict=True) if not code]
            raise unknown("value", strays, "among the column's values", "bind the poset to all")
        return np.array(found, dtype=np.int64)

    @cached_property
    def positions(self) -> np.ndarray:
        return ranks(len(self._code_of))


class JoinedByAll(Coded):
    """A poset whose groups are joined by all of their values: their ends do not tell the rest."""

    spans: ClassVar[bool] = False

    @abstractmethod
    def _group_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        """`set_labels` of at least one group; none is empty, and the first starts at 0."""

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        check_codes(low, high, len(self._code_of))
        starts = np.concatenate(([0], np.cumsum(high - low + 1)))
        runs = [np.arange(a, b + 1) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        return self.set_labels(starts, np.concatenate([np.zeros(0, dtype=np.int64), *runs]))

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        starts, codes = np.asarray(starts, dtype=np.int64), np.asarray(codes, dtype=np.int64)
        if starts.size < 2:
            return []
        check_groups(starts)
        used = codes[starts[0] : starts[-1]]
        check_codes(used, used, len(self._code_of))
        return self._group_labels(starts - starts[0], used)
