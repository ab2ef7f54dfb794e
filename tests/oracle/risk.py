"""Disclosure risk the slow, obvious way: every record against every record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

Row = tuple[Hashable, ...]


@dataclass(frozen=True)
class Label:
    """A published cell that covers exactly these values (None stands for missing)."""

    text: str | None
    covers: frozenset[Hashable]


def class_sizes(rows: Sequence[Row]) -> list[int]:
    """For each record, how many are like it."""
    counted = Counter(rows)
    return [counted[row] for row in rows]


def mismatch(value: Hashable, label: Label) -> float:
    return 0.0 if value in label.covers else 1.0


def squared(x: float | None, y: float | None) -> float:
    if x is None or y is None:
        return float((x is None) != (y is None))
    return (x - y) ** 2


def z_scores(values: Sequence[float | None], like: Sequence[float | None]) -> list[float | None]:
    """Standardized by the mean and standard deviation of `like`."""
    present = [v for v in like if v is not None]
    mean = sum(present) / len(present) if present else 0.0
    spread = math.sqrt(sum((v - mean) ** 2 for v in present) / len(present)) if present else 0.0
    if len(set(present)) < 2:
        spread = 1.0
    return [None if v is None else (v - mean) / spread for v in values]


@dataclass(frozen=True)
class Linkage:
    credit: list[float]
    lost: float
    won: float


def linkage(
    n: int,
    m: int,
    distance: Callable[[int, int], float],
    own: Sequence[int | set[int]],
    tolerance: float = 1e-9,
) -> Linkage:
    """Every original against every masked record; own[i] = -1 where i was not released, and a set
    of records where i's person has several."""
    credit, lost, won = [], 0, 0
    for i in range(n):
        apart = [distance(i, j) for j in range(m)]
        limit = min(apart) * (1 + tolerance)
        near = [j for j in range(m) if apart[j] <= limit]
        one = own[i]
        mine = len((one if isinstance(one, set) else {one}) & set(near))
        credit.append(mine / len(near))
        won += mine > 0
        lost += mine == len(near)
    return Linkage(credit, lost / n, won / n)


def covered(values: Row, labels: Sequence[Label]) -> bool:
    """Whether a published record covers a record."""
    return all(value in label.covers for value, label in zip(values, labels, strict=True))
