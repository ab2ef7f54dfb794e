"""Rounding by looking at the sets of attraction one by one, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def to_multiple(x: float, base: float) -> int:
    """The i with b i - b/2 <= x < b i + b/2."""
    value, b = Fraction(x), Fraction(base)
    guess = math.floor(value / b)
    (found,) = [i for i in range(guess - 1, guess + 3) if b * i - b / 2 <= value < b * i + b / 2]
    return found


def slide(v: float, base: int, r: int) -> int:
    """The slide: p_i = b i for i = 1..r, with its sets of attraction."""
    points = {i: base * i for i in range(1, r + 1)}
    for i, p in points.items():
        low = 0 if i == 1 else p - Fraction(base, 2)
        high = p + Fraction(base, 2)
        if low <= Fraction(v) and (Fraction(v) < high or i == r):
            return p
    raise ValueError(v)


def to_point(x: float, points: Sequence[float]) -> float:
    """The nearest point, the higher of two."""
    return min(points, key=lambda p: (abs(Fraction(p) - Fraction(x)), -p))


def nearest(x: Sequence[float | None], vectors: Sequence[Sequence[float]]) -> int:
    """The nearest vector over the values that are there."""
    distances = [
        sum((a - b) ** 2 for a, b in zip(x, v, strict=True) if a is not None) for v in vectors
    ]
    return distances.index(min(distances))


def joined_groups(
    counts: Sequence[int], places: Sequence[Sequence[float]], fewest: int
) -> list[set[int]]:
    """The groups that have a value, each joined with the nearest while it has too few."""
    groups = [({g}, n, list(map(Fraction, places[g]))) for g, n in enumerate(counts) if n]
    while len(groups) > 1 and min(n for _, n, _ in groups) < fewest:
        one = min(groups, key=lambda group: group[1])
        groups.remove(one)
        apart = [sum((a - b) ** 2 for a, b in zip(g[2], one[2], strict=True)) for g in groups]
        at = apart.index(min(apart))
        members, n, place = groups[at]
        total = n + one[1]
        middle = [(a * n + b * one[1]) / total for a, b in zip(place, one[2], strict=True)]
        groups[at] = (members | one[0], total, middle)
    return [members for members, n, _ in groups if n >= fewest]
