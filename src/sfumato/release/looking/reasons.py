"""Why one record is found: the smallest sets of columns on which nobody agrees with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

_SETS = 40_000
"""Sets of one size that are tried."""
_MOST = 24
"""Sets that are told."""


@dataclass(frozen=True)
class Reasons:
    """What tells a record apart from all others."""

    sets: tuple[tuple[int, ...], ...]
    """Sets of columns that nobody else agrees with it on; none of their parts does as much."""
    size: int
    """Sets of at most so many columns were looked at; larger ones only where none was found."""
    without: tuple[int, ...]
    """By column, how many others would be like it if nobody knew that column."""
    alike: int
    """How many others are like it on all columns."""


def reasons(codes: Sequence[np.ndarray], place: int, person: np.ndarray | None = None) -> Reasons:
    """The reasons of the record at a place; columns as codes, where equal cells are equal.
    Records of the same `person` are no company.

    >>> age, sex = np.array([30, 30, 41, 41]), np.array([0, 1, 1, 1])
    >>> reasons([age, sex], 0)
    Reasons(sets=((1,),), size=2, without=(0, 1), alike=0)
    """
    many = len(codes)
    agree = np.zeros(codes[0].size, np.uint64)
    for j, column in enumerate(codes):
        agree |= (column == column[place]).astype(np.uint64) << np.uint64(j)
    others = np.arange(agree.size) != place
    if person is not None:
        others &= person != person[place]
    masks, counts = np.unique(agree[others], return_counts=True)
    everything = np.uint64((1 << many) - 1)
    alike = int(counts[masks == everything].sum())
    without = []
    for j in range(many):
        bit = np.uint64(1 << j)
        without.append(int(counts[(masks | bit) == everything].sum()))
    sets, size = _smallest(masks, many) if not alike else ([], 0)
    return Reasons(tuple(sets), size, tuple(without), alike)


def _smallest(masks: np.ndarray, many: int) -> tuple[list[tuple[int, ...]], int]:
    """The smallest sets of columns that no mask holds, and up to which size all were looked at."""
    masks = _widest(masks)
    found: list[tuple[int, ...]] = []
    bits: list[int] = []
    for size in range(1, many + 1):
        if comb(many, size) > _SETS or len(found) >= _MOST:
            return found, size - 1
        chosen = []
        for one in combinations(range(many), size):
            own = sum(1 << j for j in one)
            if not any(own & other == other for other in bits):
                chosen.append((one, own))
        if not chosen:
            return found, many
        numbers = np.array([own for _, own in chosen], np.uint64)
        held = np.zeros(numbers.size, bool)
        for mask in masks:
            held |= (numbers & ~mask) == 0
        for (one, own), shared in zip(chosen, held.tolist(), strict=True):
            if not shared:
                found.append(one)
                bits.append(own)
    return found, many


def _widest(masks: np.ndarray) -> np.ndarray:
    """Those that no other contains: whoever agrees on more agrees on the rest, too."""
    left = masks[np.argsort(-np.bitwise_count(masks).astype(np.int64), kind="stable")]
    kept: list[np.uint64] = []
    while left.size:
        widest = left[0]
        kept.append(widest)
        left = left[(left & ~widest) != 0]
    return np.array(kept, np.uint64)
