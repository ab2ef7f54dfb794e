"""MDAV written down as the papers tell it, one record at a time."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def mdav(x: np.ndarray, codes: np.ndarray, weights: np.ndarray, k: int) -> list[int]:
    """Group of each record, numbered by first appearance."""

    def distances(rows: list[int], point: list[float], kinds: list[int]) -> dict[int, float]:
        total = np.zeros(len(rows))
        for j, value in enumerate(point):
            step = x[rows, j] - value
            total = total + step * step
        for j, kind in enumerate(kinds):
            total = total + np.where(codes[rows, j] != kind, weights[j], 0.0)
        return dict(zip(rows, total.tolist(), strict=True))

    def from_record(rows: list[int], record: int) -> dict[int, float]:
        return distances(rows, x[record].tolist(), codes[record].tolist())

    def from_centroid(rows: list[int]) -> dict[int, float]:
        means = [math.fsum(x[rows, j].tolist()) / len(rows) for j in range(x.shape[1])]
        modes = []
        for j in range(codes.shape[1]):
            counts = Counter(codes[rows, j].tolist())
            modes.append(min(counts, key=lambda code: (-counts[code], code)))
        return distances(rows, means, modes)

    def farthest(found: dict[int, float]) -> int:
        return min(found, key=lambda row: (-found[row], row))

    def group_of(rows: list[int], record: int) -> list[int]:
        others = [row for row in rows if row != record]
        found = from_record(others, record)
        return [record, *sorted(others, key=lambda row: (found[row], row))[: k - 1]]

    groups: list[list[int]] = []
    rest = list(range(len(x)))

    def take(record: int) -> None:
        nonlocal rest
        groups.append(group_of(rest, record))
        rest = [row for row in rest if row not in groups[-1]]

    while len(rest) >= 3 * k:
        r = farthest(from_centroid(rest))
        take(r)
        take(farthest(from_record(rest, r)))
    if len(rest) >= 2 * k:
        take(farthest(from_centroid(rest)))
    groups.append(rest)

    label = {row: min(group) for group in groups for row in group}
    first = sorted(set(label.values()))
    return [first.index(label[row]) for row in range(len(x))]
