"""The minimum spanning tree by Kruskal's way: all pairs in order, one at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np


def minimum_spanning_tree(x: np.ndarray) -> tuple[list[tuple[int, int]], list[float]]:
    """Edges, shortest first, and lengths; ties by the lower row, then the higher.

    Equal points form a chain in row order; the first of them meets the others.
    """
    n = len(x)
    copies: dict[tuple[float, ...], list[int]] = {}
    for row in range(n):
        copies.setdefault(tuple((x[row] + 0.0).tolist()), []).append(row)
    pairs = [(0.0, a, b) for rows in copies.values() for a, b in itertools.pairwise(rows)]
    stand = [rows[0] for rows in copies.values()]
    for i, a in enumerate(stand):
        for b in stand[i + 1 :]:
            total = 0.0
            for j in range(x.shape[1]):
                step = float(x[a, j]) - float(x[b, j])
                total += step * step
            pairs.append((total, a, b))
    part = list(range(n))
    tree = []
    for total, a, b in sorted(pairs):
        if part[a] != part[b]:
            old, new = part[b], part[a]
            part = [new if p == old else p for p in part]
            tree.append((total, a, b))
    return [(a, b) for _, a, b in tree], [math.sqrt(total) for total, _, _ in tree]
