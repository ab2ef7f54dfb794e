"""Ties of each target within its final limit: from its list, or anew where the list spilt.

What is counted anew is counted in double precision alone. It concerns the few targets with more
distances within a hair of the nearest than their list holds.
"""

from __future__ import annotations

from typing import Any

from numba import cuda

from ._exact import minus, plus, squared, times


@cuda.jit
def settle(
    limits: Any, values: Any, counts: Any, lowest: Any, spilt: Any, ties: Any, first: Any
) -> None:
    """Fill `ties` and `first` from the lists, but of targets whose list spilt."""
    i = cuda.grid(1)
    if i >= limits.shape[0] or spilt[i]:
        return
    for c in range(values.shape[1]):
        if values[i, c] <= limits[i]:
            ties[i] += counts[i, c]
            first[i] = min(first[i], lowest[i, c])


@cuda.jit(device=True)
def _beyond(a: Any, i: int, box: Any, h: int, limit: float) -> bool:
    """Whether a box is farther from a target than the limit."""
    total = 0.0
    for j in range(a.shape[1]):
        step = max(minus(box[0, j, h], a[i, j]), minus(a[i, j], box[1, j, h]))
        if step > 0.0:
            total = plus(total, times(step, step))
    return total > limit


@cuda.jit
def recount(
    limits: Any, spilt: Any, a: Any, b: Any, box: Any, tile: int, starts: Any, its: Any,
    ties: Any, first: Any,
) -> None:  # fmt: skip
    """Add to `ties`, and lower `first`, by the records within the limit of targets that spilt."""
    i = cuda.grid(1)
    if i >= limits.shape[0] or not spilt[i]:
        return
    limit, m = limits[i], b.shape[0]
    for h in range(box.shape[2]):
        if _beyond(a, i, box, h, limit):
            continue
        for u in range(h * tile, min((h + 1) * tile, m)):
            if squared(b, u, a, i) <= limit:
                ties[i] += starts[u + 1] - starts[u]
                first[i] = min(first[i], its[starts[u]])
