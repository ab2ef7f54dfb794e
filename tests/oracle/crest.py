"""CREST's tree written down as the paper tells it: every edge is tried at every step."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def divergence(found: Counter[int], shares: dict[int, float]) -> float:
    """Jensen-Shannon divergence, base 2, by the definition."""
    size = sum(found.values())
    total = 0.0
    for name, share in shares.items():
        f = found[name] / size
        middle = (f + share) / 2
        total += (f * math.log2(f / middle) if f else 0.0) + share * math.log2(share / middle)
    return total / 2


def neighbours(x: np.ndarray, joined: dict[int, set[int]], u: int, count: int) -> list[int]:
    """The first `count` vertices of a breadth-first search; ties by distance to u, then by row."""
    found: list[int] = []
    seen, level = {u}, [u]
    while level and len(found) < count:
        level = sorted({w for vertex in level for w in joined[vertex]} - seen)
        seen |= set(level)
        found += sorted(level, key=lambda w: (squared(x, u, w), w))
    return found[:count]


def squared(x: np.ndarray, u: int, v: int) -> float:
    """Squared distance, coordinates added in order."""
    total = 0.0
    for a, b in zip(x[u].tolist(), x[v].tolist(), strict=True):
        total += (a - b) * (a - b)
    return total


def crest_tree(
    x: np.ndarray, classes: list[int], b: int, alpha: float, unit: float, start: int
) -> list[list[int]]:
    """The edges [u, v], in the order in which the vertices v come in."""
    n = len(x)
    shares = {name: count / n for name, count in Counter(classes).items()}
    joined: dict[int, set[int]] = {start: set()}
    tree = []
    while len(joined) < n:
        edges = []
        for came, u in enumerate(joined):  # in the order in which they came
            group = Counter(classes[w] for w in [u, *neighbours(x, joined, u, b - 2)])
            for v in range(n):
                if v in joined:
                    continue
                group[classes[v]] += 1
                # Rounded as the kernel does: what is equal on paper is equal here.
                jsd = math.floor(divergence(group, shares) * 2**32 + 0.5) / 2**32
                group[classes[v]] -= 1
                step = squared(x, u, v)
                cd = alpha * (unit * math.sqrt(step)) + (1 - alpha) * jsd
                edges.append((cd, step, -came, v, u))
        _, _, _, v, u = min(edges)
        tree.append([u, v])
        joined[u].add(v)
        joined[v] = {u}
    return tree
