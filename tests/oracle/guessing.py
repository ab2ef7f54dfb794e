"""Who is nearest, who fits a predicate, whom it isolates: from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from scipy.integrate import quad
from scipy.stats import gamma

ANY = "any"
"""A suppressed cell. Other cells are None (missing), a pair (the ends of a range) or a set."""
Far = Callable[[int, Any], float]
"""How far a suppressed cell of a column is from a value."""


def gower(person: Sequence[Any], record: Sequence[Any], far: Far) -> float:
    """The sum over the columns of how far each cell is."""
    return sum(_apart(x, cell, far, j) for j, (x, cell) in enumerate(zip(person, record, strict=True)))


def _apart(x: Any, cell: Any, far: Far, column: int) -> float:
    if cell == ANY:
        return far(column, x)
    if isinstance(cell, (set, frozenset)):
        return 0.0 if x in cell else 1.0
    if x is None or cell is None:
        return 0.0 if x is None and cell is None else 1.0
    low, high = cell
    return 0.0 if low <= x <= high else abs(x - (low + high) / 2)


def nearest(
    person: Sequence[Any], records: Sequence[Sequence[Any]], order: Sequence[int], k: int, far: Far
) -> list[int]:
    """The k nearest records; of equally near ones those first in the order."""
    rank = {row: place for place, row in enumerate(order)}
    return sorted(order, key=lambda r: (gower(person, records[r], far), rank[r]))[:k]


def chance(record: Sequence[Any], predicate: Sequence[tuple[int, Any]]) -> float:
    """That a record fits: conditions are (column, (low, high, chance of an unknown number)) or
    (column, chances by place); missing numbers fit NaN."""
    found = 1.0
    for column, wanted in predicate:
        cell = record[column]
        found *= wanted[cell] if isinstance(cell, int) else _in_range(cell, *wanted)
    return found


def _in_range(cell: Any, low: float, high: float, free: float) -> float:
    if math.isnan(low):
        return float(cell is None)
    if cell is None:
        return 0.0
    if cell == ANY:
        return free
    a, b = cell
    if a == b:
        return float(low <= a <= high)
    return max(0.0, min(b, high) - max(a, low)) / (b - a)


def hashed(key: int, seed: int) -> float:
    """A number from 0 to 1 (the finalizer of splitmix64, in whole numbers)."""
    x = (key ^ seed) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return ((x ^ (x >> 31)) >> 11) / 2**53


def isolated_after(count: int, share: float, shape: float, rate: float) -> float:
    """The mean of u exp(-u), how often exactly one of the people fits where u are expected to,
    when u has a gamma distribution and so many of a share of them were seen to fit."""
    prior = gamma(shape, scale=1 / rate)

    def seen(u: float) -> float:
        return float(prior.pdf(u) * math.exp(-share * u) * (share * u) ** count)

    ends = [0.0, *prior.ppf([0.5, 1 - 1e-12]).tolist(), 60.0]
    parts = list(zip(ends, ends[1:], strict=False))
    above = sum(quad(lambda u: seen(u) * u * math.exp(-u), *part)[0] for part in parts)
    return above / sum(quad(seen, *part)[0] for part in parts)
