"""The loss of a partition, the best move of two groups and the best partition, the slow way."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np


def loss(points: np.ndarray, labels: np.ndarray) -> float:
    """Squared distances of the records to the centroids of their groups, summed exactly."""
    terms = []
    for g in set(labels.tolist()):
        rows = [i for i in range(len(points)) if labels[i] == g]
        for j in range(points.shape[1]):
            mean = math.fsum(points[rows, j].tolist()) / len(rows)
            terms += [(value - mean) ** 2 for value in points[rows, j].tolist()]
    return math.fsum(terms)


def after_move(labels: np.ndarray, i: int, group: int) -> np.ndarray:
    """Labels after record i has moved to another group."""
    moved = labels.copy()
    moved[i] = group
    return moved


def after_swap(labels: np.ndarray, i: int, j: int) -> np.ndarray:
    """Labels after records i and j have changed places."""
    swapped = labels.copy()
    swapped[i], swapped[j] = labels[j], labels[i]
    return swapped


def best_between(points: np.ndarray, labels: np.ndarray, k: int, a: int, b: int) -> float:
    """The least change of the loss by one move or swap between groups a and b."""
    sizes = np.bincount(labels)
    rows = np.flatnonzero((labels == a) | (labels == b))
    tried = []
    for i in rows:
        here, there = (a, b) if labels[i] == a else (b, a)
        if sizes[here] > k and sizes[there] < 2 * k - 1:
            tried.append(after_move(labels, i, there))
        tried += [after_swap(labels, i, j) for j in rows if labels[j] == there]
    before = loss(points, labels)
    return min(loss(points, new) - before for new in tried)


def partitions(n: int, k: int) -> Iterator[list[int]]:
    """Every partition of n records into groups of at least k, as labels."""

    def extend(labels: list[int], groups: int) -> Iterator[list[int]]:
        if len(labels) == n:
            if all(labels.count(g) >= k for g in range(groups)):
                yield labels
            return
        for g in range(groups + 1):
            yield from extend([*labels, g], max(groups, g + 1))

    yield from extend([], 0)


def optimum(points: np.ndarray, k: int) -> float:
    """The lowest loss that any partition into groups of at least k has."""
    return min(loss(points, np.array(labels)) for labels in partitions(len(points), k))
