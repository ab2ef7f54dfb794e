"""Cuts, partitions and tours of small files, written down plainly; costs are exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np


def sse(points: np.ndarray, groups: Sequence[Sequence[int]]) -> Fraction:
    """Sum of squared distances to the group means, without rounding."""
    total = Fraction(0)
    for group in groups:
        for j in range(points.shape[1]):
            values = [Fraction(float(points[row, j])) for row in group]
            mean = sum(values, Fraction(0)) / len(values)
            total += sum(((value - mean) ** 2 for value in values), Fraction(0))
    return total


def groups_of(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == g).tolist() for g in range(int(labels.max()) + 1)]


def runs(order: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Every way to cut an ordering into runs of k or more, however long."""
    if not order:
        yield []
    for size in range(k, len(order) + 1):
        for rest in runs(order[size:], k):
            yield [list(order[:size]), *rest]


def partitions(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Every partition into groups of k or more, consecutive or not."""

    def spread(at: int, groups: list[list[int]]) -> Iterator[list[list[int]]]:
        if at == len(rows):
            if all(len(group) >= k for group in groups):
                yield [list(group) for group in groups]
            return
        for group in groups:
            group.append(rows[at])
            yield from spread(at + 1, groups)
            group.pop()
        yield from spread(at + 1, [*groups, [rows[at]]])

    yield from spread(0, [])


def least(points: np.ndarray, candidates: Iterator[list[list[int]]]) -> Fraction:
    """The lowest SSE of all candidates; the same group is added up only once."""
    known: dict[tuple[int, ...], Fraction] = {}

    def cost(group: tuple[int, ...]) -> Fraction:
        if group not in known:
            known[group] = sse(points, [group])
        return known[group]

    return min(sum((cost(tuple(group)) for group in groups), Fraction(0)) for groups in candidates)


def best_cut(points: np.ndarray, order: Sequence[int], k: int) -> Fraction:
    return least(points, runs(order, k))


def best_partition(points: np.ndarray, k: int) -> Fraction:
    return least(points, partitions(range(len(points)), k))


def squares(points: np.ndarray, rows: list[int], point: np.ndarray) -> list[tuple[float, int]]:
    """Squared distance to each of these rows, with the row."""
    total = np.zeros(len(rows))
    for j in range(points.shape[1]):
        step = points[rows, j] - point[j]
        total = total + step * step
    return list(zip(total.tolist(), rows, strict=True))


def nearest_point_tour(points: np.ndarray) -> list[int]:
    """From the record farthest from the centroid, always to the nearest that is left."""
    n, d = points.shape
    centre = np.array([math.fsum(points[:, j].tolist()) / n for j in range(d)])
    left = list(range(n))
    here = min((-far, row) for far, row in squares(points, left, centre))[1]
    tour = [here]
    left.remove(here)
    while left:
        here = min(squares(points, left, points[here]))[1]
        tour.append(here)
        left.remove(here)
    return tour


def group_tour(points: np.ndarray, groups: list[list[int]]) -> list[int]:
    """Groups by their centroids' tour; inside, from the group before to the group after."""
    centres = np.array(
        [
            [math.fsum(points[group, j].tolist()) / len(group) for j in range(points.shape[1])]
            for group in groups
        ]
    )
    chain = nearest_point_tour(centres)
    tour: list[int] = []
    for at, g in enumerate(chain):
        before, after = centres[chain[max(at - 1, 0)]], centres[chain[min(at + 1, len(chain) - 1)]]
        pairs = zip(
            squares(points, groups[g], before), squares(points, groups[g], after), strict=True
        )
        tour += [row for _, row in sorted((back - ahead, row) for (back, row), (ahead, _) in pairs)]
    return tour
