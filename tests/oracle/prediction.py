"""Prediction distance, ambiguity and uncertainty, and shortfalls, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence


def predicted(
    targets: Sequence[Sequence[float]], release: Sequence[Sequence[float]], k: int
) -> list[tuple[float, float, float, int, int]]:
    """Distance, ambiguity, uncertainty, nearest row and ties of each target."""
    found = []
    for x in targets:
        squares = []
        for y in release:
            total = 0.0
            for u, v in zip(x, y, strict=True):
                total += (u - v) * (u - v)
            squares.append(total)
        order = sorted(range(len(release)), key=lambda row: (squares[row], row))[:k]
        near, far = squares[order[0]], squares[order[-1]]
        spread = 0.0
        for j in range(len(x)):
            values = [release[row][j] for row in order]
            mean = sum(values) / k
            spread += sum((value - mean) ** 2 for value in values) / k
        found.append(
            (
                math.sqrt(near / len(x)),
                math.sqrt(near) / math.sqrt(far) if far > 0 else 1.0,
                spread / len(x),
                order[0],
                sum(square <= near * (1 + 1e-9) for square in squares),
            )
        )
    return found


def largest_shortfall(release: Sequence[float], reference: Sequence[float]) -> float:
    """sup_t F_release(t) - F_reference(t), by looking at every value."""
    return max(
        0.0,
        max(
            sum(x <= t for x in release) / len(release)
            - sum(y <= t for y in reference) / len(reference)
            for t in (*release, *reference)
        ),
    )
