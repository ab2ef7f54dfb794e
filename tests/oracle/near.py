"""Records whose masked numbers stayed near, one by one. None is missing."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

Row = Sequence[float | None]
_SLACK = 1 + 1e-9


def deviation(values: Sequence[float | None]) -> float:
    known = [v for v in values if v is not None]
    if len(set(known)) < 2:
        return 0.0
    mean = sum(known) / len(known)
    return sqrt(sum((v - mean) ** 2 for v in known) / (len(known) - 1))


def all_near(x: Sequence[Row], y: Sequence[Row], within: float) -> list[bool]:
    """Whether each known value is within that many deviations of the masked column."""
    reach = [within * deviation(column) * _SLACK for column in zip(*y, strict=True)]
    return [
        all(
            a is None or (b is not None and abs(a - b) <= r)
            for a, b, r in zip(before, after, reach, strict=True)
        )
        for before, after in zip(x, y, strict=True)
    ]


def any_near(x: Sequence[Row], y: Sequence[Row], reach: Sequence[float]) -> list[bool]:
    """Whether some value is within the record's own reach, in deviations (by n) of the original."""
    columns = [[v for v in column if v is not None] for column in zip(*x, strict=True)]
    scales = [deviation(c) * sqrt((len(c) - 1) / len(c)) for c in columns]
    return [
        any(
            a is not None and b is not None and abs(a - b) / scale <= r * _SLACK
            for a, b, scale in zip(before, after, scales, strict=True)
        )
        for before, after, r in zip(x, y, reach, strict=True)
    ]


def crowded(y: Sequence[Row], row: int, apart: float) -> bool:
    """Whether another record lies within that distance; gaps are near gaps only."""

    def near(a: Row, b: Row) -> bool:
        if any((p is None) != (q is None) for p, q in zip(a, b, strict=True)):
            return False
        pairs = [(p, q) for p, q in zip(a, b, strict=True) if p is not None and q is not None]
        return sqrt(sum((p - q) ** 2 for p, q in pairs)) <= apart

    return any(near(y[row], other) for i, other in enumerate(y) if i != row)
