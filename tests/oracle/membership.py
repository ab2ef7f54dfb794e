"""Who is in the data: distances, densities, marginals and thresholds, from the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

Person = Sequence[Any]
Cell = dict[Any, float]
"""What a released cell stands for: values and their shares."""


def nearest(
    target: Sequence[int], records: Sequence[Sequence[int]], tables: Sequence[Any]
) -> float:
    """The least sum of tabled distances."""
    return min(
        sum(table[x][y] for table, x, y in zip(tables, target, record, strict=True))
        for record in records
    )


def log_density(
    target: Sequence[int],
    records: Sequence[Sequence[int]],
    tables: Sequence[Any],
    width: float,
    reach: float,
    beyond: float,
) -> float:
    """The logarithm of the kernel sum over the records that count."""
    distances = [
        sum(table[x][y] for table, x, y in zip(tables, target, record, strict=True))
        for record in records
    ]
    limit = max(reach, min(distances) + beyond)
    return math.log(sum(math.exp(-d / width) for d in distances if d <= limit))


def traced(
    person: Person, released: Sequence[Sequence[Cell]], others: Sequence[Person], relative: bool
) -> float:
    """The sum over pairs of columns of what the release has more in the person's cell."""
    total = 0.0
    for a, b in combinations(range(len(person)), 2):
        own = sum(
            record[a].get(person[a], 0.0) * record[b].get(person[b], 0.0) for record in released
        ) / len(released)
        known = sum(o[a] == person[a] and o[b] == person[b] for o in others) / len(others)
        total += (own - known) / (known + 1 / len(others)) if relative else own - known
    return total


def best_claims(
    inside: Sequence[float], outside: Sequence[float]
) -> tuple[float, set[tuple[int, float]]]:
    """The greatest difference of true and false positives, and the thresholds that have it."""
    best, found = 0.0, {(1, math.inf)}
    for sign in (1, -1):
        for at in {sign * x for x in (*inside, *outside)}:
            true = sum(sign * x >= at for x in inside) / len(inside)
            false = sum(sign * x >= at for x in outside) / len(outside)
            if true - false > best + 1e-9:
                best, found = true - false, {(sign, at)}
            elif true - false > best - 1e-9:
                found.add((sign, at))
    return best, found


def log_ratio(x: float, within: Sequence[float], without: Sequence[float]) -> float:
    """The logarithm of two normal densities' ratio, each with its sample's mean and deviation."""

    def log_normal(sample: Sequence[float]) -> float:
        mean = sum(sample) / len(sample)
        variance = sum((y - mean) ** 2 for y in sample) / (len(sample) - 1)
        return -((x - mean) ** 2) / (2 * variance) - math.log(variance) / 2

    return log_normal(within) - log_normal(without)
