"""Minimal sample uniques and separating sets by looking at every set of columns and every pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

HIDDEN = object()
"""A suppressed cell."""
Row = Sequence[object]
Sets = list[tuple[int, ...]]


def all_sets(columns: int, size: int) -> Iterator[tuple[int, ...]]:
    for k in range(1, size + 1):
        yield from combinations(range(columns), k)


def is_unique(rows: Sequence[Row], r: int, chosen: Sequence[int], whose: Sequence[object]) -> bool:
    """Nobody else's record shows the same values; whoever hides one of them is no record of
    them."""
    mine = [rows[r][j] for j in chosen]
    if any(value is HIDDEN for value in mine):
        return False
    others = [row for row, who in zip(rows, whose, strict=True) if who != whose[r]]
    return all([row[j] for j in chosen] != mine for row in others)


def minimal_uniques(
    rows: Sequence[Row], size: int, whose: Sequence[object] | None = None
) -> list[Sets]:
    """Of each record the sets on which it is unique, and on no part of which it is; each is another
    person's unless it is said whose they are."""
    whose = range(len(rows)) if whose is None else whose
    found: list[Sets] = []
    for r in range(len(rows)):
        unique = [s for s in all_sets(len(rows[0]), size) if is_unique(rows, r, s, whose)]
        found.append([s for s in unique if not any(set(t) < set(s) for t in unique)])
    return found


def score(sets: Sets, columns: int, size: int) -> int:
    """The product of (columns - i), i from a set's size to the largest, summed over the sets."""
    return sum(prod(columns - i for i in range(len(s), size + 1)) for s in sets)


def dis(rows: Sequence[Row], share: float) -> tuple[float, int]:
    """The chance that a unique match is right, and how many are unique."""
    counts = Counter(tuple(row) for row in rows)
    unique = sum(many == 1 for many in counts.values())
    paired = sum(many for many in counts.values() if many == 2)
    return unique * share / (unique * share + paired * (1 - share)), unique


def dis_suda(scores: Sequence[float], columns: int, unique: int, chance: float) -> list[float]:
    """As sdcMicro has it."""
    q = 1 + (8 - columns) / 20
    a = sum(s**-q for s in scores if s > 0)
    return [1 / (1 + (unique / chance - unique) / (s**q * a)) if s > 0 else 0.0 for s in scores]


def separation(rows: Sequence[Row], chosen: Sequence[int]) -> float:
    """The share of pairs of records that differ somewhere in these columns."""
    shown = [tuple(row[j] for j in chosen) for row in rows]
    pairs = list(combinations(shown, 2))
    return sum(a != b for a, b in pairs) / len(pairs) if pairs else 1.0


def distinction(rows: Sequence[Row], chosen: Sequence[int]) -> float:
    """Different combinations for each record."""
    return len({tuple(row[j] for j in chosen) for row in rows}) / len(rows)
