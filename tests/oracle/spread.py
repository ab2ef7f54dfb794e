"""What exchanges between groups are to lower, written down from the definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tests.oracle.crest import divergence


def objective(x: np.ndarray, labels: list[int], classes: list[int], weight: float) -> float:
    """(1 - weight) SSE/SST + weight WJSD; no spread at all counts as no loss."""
    n = len(labels)
    shares = {name: count / n for name, count in Counter(classes).items()}
    sst = float(np.sum((x - x.mean(axis=0)) ** 2))
    sse = wjsd = 0.0
    for group in set(labels):
        rows = [i for i in range(n) if labels[i] == group]
        sse += float(np.sum((x[rows] - x[rows].mean(axis=0)) ** 2))
        wjsd += len(rows) / n * divergence(Counter(classes[i] for i in rows), shares)
    return (1 - weight) * (sse / sst if sst > 0 else 0.0) + weight * wjsd


def farthest(labels: list[int], classes: list[int]) -> float:
    """The largest earth mover's distance of a group's classes from all, at equal distances."""
    n = len(labels)
    shares = {name: count / n for name, count in Counter(classes).items()}
    worst = 0.0
    for group in set(labels):
        found = Counter(c for c, label in zip(classes, labels, strict=True) if label == group)
        size = sum(found.values())
        worst = max(worst, sum(abs(found[c] / size - share) for c, share in shares.items()) / 2)
    return worst


def exchanges(labels: list[int], k: int) -> Iterator[list[int]]:
    """The labels after every move and every swap that leaves all groups k records."""
    sizes = Counter(labels)
    for i, own in enumerate(labels):
        for group in sizes:
            if group != own and sizes[own] > k:
                yield [*labels[:i], group, *labels[i + 1 :]]
        for j in range(i):
            if labels[j] != own:
                swapped = list(labels)
                swapped[i], swapped[j] = labels[j], own
                yield swapped
