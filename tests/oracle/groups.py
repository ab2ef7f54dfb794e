"""Reductions over groups with lists and counters; missing is a code that the caller names."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction


def members(labels: Sequence[int], groups: int) -> list[list[int]]:
    """Rows of each group, in order."""
    return [[row for row, label in enumerate(labels) if label == g] for g in range(groups)]


def exact_sum(values: Sequence[float]) -> Fraction:
    """The sum without any rounding."""
    return sum((Fraction(value) for value in values), Fraction(0))


def median(values: Sequence[float], *, lower: bool) -> float:
    """The middle value, or the lower or the mean of the two middle ones."""
    return statistics.median_low(values) if lower else statistics.median(values)


def distinct(codes: Sequence[int], missing: int) -> list[int]:
    """The codes that occur, ascending."""
    return sorted({code for code in codes if code != missing})


def mode(codes: Sequence[int], missing: int) -> int:
    """The commonest code, of equals the lowest."""
    counts = Counter(code for code in codes if code != missing)
    return min(counts, key=lambda code: (-counts[code], code)) if counts else missing


def least_and_greatest(codes: Sequence[int], missing: int) -> tuple[int, int, bool]:
    """Range of the codes, and whether some are missing."""
    present = [code for code in codes if code != missing]
    low, high = (min(present), max(present)) if present else (missing, missing)
    return low, high, missing in codes
