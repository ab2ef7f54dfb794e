"""MDAV written down as the papers tell it: every distance to every record that is left."""

from __future__ import annotations

import math

import numpy as np


def mdav(x: np.ndarray, codes: np.ndarray, weights: np.ndarray, k: int) -> list[int]:
    """Group of each record, numbered by first appearance."""
    rest = np.arange(len(x))  # always rising
    groups: list[np.ndarray] = []

    def distances(point: list[float], kinds: list[int]) -> np.ndarray:
        total = np.zeros(len(rest))
        for j, value in enumerate(point):
            step = x[rest, j] - value
            total = total + step * step
        for j, kind in enumerate(kinds):
            total = total + np.where(codes[rest, j] != kind, weights[j], 0.0)
        return total

    def from_record(record: int) -> np.ndarray:
        return distances(x[record].tolist(), codes[record].tolist())

    def from_centroid() -> np.ndarray:
        means = [math.fsum(x[rest, j]) / len(rest) for j in range(x.shape[1])]
        modes = []
        for j in range(codes.shape[1]):
            kinds, counts = np.unique(codes[rest, j], return_counts=True)
            modes.append(int(kinds[counts == counts.max()].min()))
        return distances(means, modes)

    def farthest(found: np.ndarray) -> int:
        return int(rest[found == found.max()].min())

    def take(record: int) -> None:
        nonlocal rest
        rest = rest[rest != record]
        by_distance_then_row = rest[np.lexsort((rest, from_record(record)))]
        groups.append(np.append(by_distance_then_row[: k - 1], record))
        rest = rest[~np.isin(rest, groups[-1])]

    while len(rest) >= 3 * k:
        r = farthest(from_centroid())
        take(r)
        take(farthest(from_record(r)))
    if len(rest) >= 2 * k:
        take(farthest(from_centroid()))
    groups.append(rest)

    label = [-1] * len(x)
    for number, group in enumerate(sorted(groups, key=min)):
        for row in group.tolist():
            label[row] = number
    return label
