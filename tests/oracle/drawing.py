"""Summary tables and pieces of density, counted by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def conditional(group: list[int], code: list[int], given: int) -> dict[int, float]:
    """The frequencies of the codes among the records of one group."""
    inside = [c for g, c in zip(group, code, strict=True) if g == given]
    return {c: count / len(inside) for c, count in Counter(inside).items()}


def information(a: list[int], b: list[int]) -> float:
    """Mutual information in bits by its definition, without correction."""
    n = len(a)
    left, right, both = Counter(a), Counter(b), Counter(zip(a, b, strict=True))
    return sum(
        count / n * math.log2(count * n / (left[x] * right[y])) for (x, y), count in both.items()
    )


def miller_madow(a: list[int], b: list[int]) -> float:
    """What so many cells seem to tell by chance."""
    cells = len(set(zip(a, b, strict=True))) - len(set(a)) - len(set(b)) + 1
    return cells / (2 * len(a) * math.log(2))


def mass_of_pieces(low: np.ndarray, high: np.ndarray, share: np.ndarray, x: float) -> float:
    """The probability of x or less, of pieces with uniform density."""
    total = 0.0
    for a, b, p in zip(low, high, share, strict=True):
        if a == b:
            total += p * (a <= x)
        else:
            total += p * min(max((x - a) / (b - a), 0.0), 1.0)
    return total
