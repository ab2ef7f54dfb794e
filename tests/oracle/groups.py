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


def histogram(codes: Sequence[int], missing: int | None) -> list[tuple[int, int]]:
    """Codes, ascending, and the times that each occurs."""
    return sorted(Counter(code for code in codes if code != missing).items())


def mode(codes: Sequence[int], missing: int) -> int:
    """The commonest code, of equals the lowest."""
    counts = histogram(codes, missing)
    return min(counts, key=lambda item: (-item[1], item[0]))[0] if counts else missing


def least_and_greatest(codes: Sequence[int], missing: int) -> tuple[int, int, bool]:
    """Range of the codes, and whether some are missing."""
    present = [code for code in codes if code != missing]
    low, high = (min(present), max(present)) if present else (missing, missing)
    return low, high, missing in codes
