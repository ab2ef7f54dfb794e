"""Recoding and coding, value by value."""

from __future__ import annotations

from collections import Counter
from typing import Any


def bin_of(value: Any, edges: list[Any]) -> int:
    """How many ranges begin at the value or below it."""
    return sum(edge <= value for edge in edges)


def merged(values: list[str | None], groups: dict[str, list[str]]) -> list[str | None]:
    """Each value, or the group that it belongs to."""
    found = []
    for value in values:
        names = [name for name, members in groups.items() if value in members]
        found.append(names[0] if names else value)
    return found


def weighted_limit(values: list[float], weights: list[float], wanted: float) -> float | None:
    """The least published value such that no more than `wanted` lies above it; None if nothing
    can be coded."""
    total = 0.0
    pairs = sorted(zip(values, weights, strict=True), reverse=True)
    for value, weight in pairs:
        if total + weight > wanted + 1e-9:
            return value if total > 0 else None
        total += weight
    return None


def without_rare_values(columns: list[list[str | None]], k: int) -> list[int]:
    """The rows left when whoever has a value that fewer than k share goes, again and again."""
    left = list(range(len(columns[0])))
    while True:
        few = [Counter(column[i] for i in left) for column in columns]
        good = [
            i
            for i in left
            if all(column[i] is None or few[j][column[i]] >= k for j, column in enumerate(columns))
        ]
        if good == left:
            return left
        left = good
