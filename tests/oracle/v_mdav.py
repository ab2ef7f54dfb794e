"""V-MDAV written down as the paper tells it, one record at a time."""

from __future__ import annotations

import math

import numpy as np


def v_mdav(x: np.ndarray, k: int, gain: float) -> list[list[int]]:
    """The groups, in the order in which they are formed; halves of split groups come last."""

    def square(one: list[float], other: list[float]) -> float:
        total = 0.0
        for a, b in zip(one, other, strict=True):
            total += (a - b) * (a - b)
        return total

    points = x.tolist()

    def centroid(rows: list[int]) -> list[float]:
        return [math.fsum(points[r][j] for r in rows) / len(rows) for j in range(x.shape[1])]

    def farthest(rows: list[int], centre: list[float]) -> int:
        return min(rows, key=lambda r: (-square(points[r], centre), r))

    def closest(rows: list[int], row: int) -> list[int]:
        return sorted(rows, key=lambda r: (square(points[r], points[row]), r))

    free = list(range(len(x)))
    middle = centroid(free)
    groups: list[list[int]] = []
    while len(free) >= k:
        seed = farthest(free, middle)
        group = [seed, *closest([r for r in free if r != seed], seed)[: k - 1]]
        free = [r for r in free if r not in group]
        while len(group) < 2 * k - 1 and len(free) > 1:
            d_in = {r: min(square(points[r], points[m]) for m in group) for r in free}
            e = min(free, key=lambda r: (d_in[r], r))
            d_out = min(square(points[e], points[r]) for r in free if r != e)
            if not d_in[e] < gain * gain * d_out:
                break
            group.append(e)
            free.remove(e)
        groups.append(group)

    centres = [centroid(group) for group in groups]
    for row in free:
        to = [square(points[row], centre) for centre in centres]
        groups[to.index(min(to))].append(row)
    for group in list(groups):
        if len(group) >= 2 * k:
            seed = farthest(group, centroid(group))
            out = [seed, *closest(sorted(set(group) - {seed}), seed)[: k - 1]]
            groups.append(out)
            group[:] = [r for r in group if r not in out]
    return groups
