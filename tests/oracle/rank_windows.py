"""Which masked records a record can have become, by looking at every one."""

from __future__ import annotations

import math
from collections.abc import Sequence


def ranks(values: Sequence[float], value: float) -> list[int]:
    """All ranks that a value has in a column, or would have between its neighbours."""
    present = sorted(v for v in values if not math.isnan(v))
    return [r for r, v in enumerate(present) if v == value]


def swappable(values: Sequence[float], x: float, reach: int) -> set[float]:
    """The values that x can have been swapped with: within `reach` ranks of any of its own."""
    present = sorted(v for v in values if not math.isnan(v))
    mine = ranks(values, x)
    return {
        present[r]
        for rank in mine
        for r in range(max(0, rank - reach), min(len(present), rank + reach + 1))
    }


def reachable(
    whole: Sequence[float], released: Sequence[float], x: float, before: int, after: int
) -> set[float]:
    """The values that x can have become by a swap in the whole file, the choice of some records,
    and a swap among the released ones."""
    between = swappable(whole, x, before) & set(released)
    return {value for one in between for value in swappable(released, one, after)}


def neighbours(values: Sequence[float], x: float) -> set[float]:
    """The nearest value below x, the nearest above, and x itself."""
    present = {v for v in values if not math.isnan(v)}
    below, above = [v for v in present if v < x], [v for v in present if v > x]
    found = {x} & present
    if below:
        found.add(max(below))
    if above:
        found.add(min(above))
    return found


def fits(x: float, y: float, hidden: bool, allowed: set[float]) -> bool:
    """Whether a masked cell can stem from x."""
    if hidden:
        return True
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return y in allowed


def apart(x: Sequence[float], y: Sequence[float], hidden: Sequence[bool]) -> float:
    """Squared distance: 1 for a value beside a missing one, 0 for a suppressed cell."""
    total = 0.0
    for a, b, gone in zip(x, y, hidden, strict=True):
        if gone or (math.isnan(a) and math.isnan(b)):
            continue
        total += 1.0 if math.isnan(a) or math.isnan(b) else (a - b) ** 2
    return total


def survivors(
    allowed: Sequence[Sequence[bool]], distance: Sequence[float], own: int, tolerance: float = 1e-9
) -> tuple[int, float, int, bool, bool]:
    """Count, least distance, ties, whether the own is left, whether it is nearest.

    `allowed[j][c]` says whether masked record j fits column c.
    """
    left = [j for j, row in enumerate(allowed) if all(row)]
    if not left:
        return 0, math.inf, 0, False, False
    least = min(distance[j] for j in left)
    near = [j for j in left if distance[j] <= least * (1 + tolerance)]
    return len(left), least, len(near), own in left, own in near
