"""Nearest records by comparing every pair."""

from __future__ import annotations

import math
from collections.abc import Sequence


def squared_distance(
    x: Sequence[float],
    y: Sequence[float],
    c: Sequence[int],
    d: Sequence[int],
    weights: Sequence[float],
    penalty: Sequence[float],
) -> float:
    """Numeric columns in order, then nominal ones."""
    total = 0.0
    for u, v, lost in zip(x, y, penalty, strict=True):
        if math.isnan(u) and math.isnan(v):
            continue
        total += lost if math.isnan(u) or math.isnan(v) else (u - v) * (u - v)
    for e, f, weight in zip(c, d, weights, strict=True):
        if e != f:
            total += weight
    return total


def nearest(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    own: Sequence[int],
    codes_a: Sequence[Sequence[int]],
    codes_b: Sequence[Sequence[int]],
    weights: Sequence[float],
    penalty: Sequence[float],
    tolerance: float,
) -> list[tuple[float, int, bool, int]]:
    """Least distance, rows that attain it, whether the own row is one, and the first of them."""
    result = []
    for x, c, mine in zip(a, codes_a, own, strict=True):
        found = [
            squared_distance(x, y, c, d, weights, penalty) for y, d in zip(b, codes_b, strict=True)
        ]
        least = min(found)
        tied = [row for row, value in enumerate(found) if value <= least + tolerance * least]
        result.append((least, len(tied), mine in tied, tied[0]))
    return result
