"""Who is nearest, who fits a predicate, whom it isolates: from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

ANY = "any"
"""A suppressed cell. Other cells are None (missing), a pair (the ends of a range) or a set."""
Far = Callable[[int, Any], float]
"""How far a suppressed cell of a column is from a value."""


def gower(person: Sequence[Any], record: Sequence[Any], far: Far) -> float:
    """The sum over the columns of how far each cell is."""
    return sum(
        _apart(x, cell, far, j) for j, (x, cell) in enumerate(zip(person, record, strict=True))
    )


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


def drawn_alone(count: int, people: int, drawn: int) -> float:
    """How often exactly one of those who fit is among so many drawn from all people."""
    ways = count * math.comb(people - count, drawn - 1) if people - count >= drawn - 1 else 0
    return ways / math.comb(people, drawn)


def singled_out(predicates: Sequence[Callable[[Any], bool]], people: Sequence[Any]) -> list[bool]:
    """Which predicates fit exactly one of the people."""
    return [sum(fits(person) for person in people) == 1 for fits in predicates]


def pointed_at(released: Sequence[Any], people: Sequence[Any]) -> list[bool]:
    """For each value that one released record has whether exactly one of the people has it."""
    once = [v for v in sorted(set(released)) if list(released).count(v) == 1]
    return [list(people).count(v) == 1 for v in once]
