"""Probabilistic record linkage with every pair written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Agrees = Callable[[int, int, int], bool]


def pattern(agrees: Agrees, i: int, j: int, columns: int) -> int:
    """Bit c is set where column c agrees in the pair (i, j)."""
    return sum(1 << c for c in range(columns) if agrees(i, j, c))


def patterns(agrees: Agrees, n: int, m: int, columns: int) -> list[list[int]]:
    """The pattern of each pair."""
    return [[pattern(agrees, i, j, columns) for j in range(m)] for i in range(n)]


def chance(found: int, probabilities: Sequence[float]) -> float:
    """Probability of a pattern where columns agree independently."""
    product = 1.0
    for c, p in enumerate(probabilities):
        product *= p if found >> c & 1 else 1.0 - p
    return product


def em(
    pairs: Sequence[int], columns: int, share: float, fixed: bool, steps: int, start: float = 0.9
) -> tuple[list[float], list[float], float]:
    """m, u and the share of matches after so many steps over the pairs one by one."""
    u = [sum(g >> c & 1 for g in pairs) / len(pairs) for c in range(columns)]
    m = [v + start * (1 - v) for v in u]
    for _ in range(steps):
        belief = []
        for g in pairs:
            match, other = share * chance(g, m), (1 - share) * chance(g, u)
            belief.append(match / (match + other))
        total = sum(belief)
        m = [
            sum(b for b, g in zip(belief, pairs, strict=True) if g >> c & 1) / total
            for c in range(columns)
        ]
        u = [
            sum(1 - b for b, g in zip(belief, pairs, strict=True) if g >> c & 1)
            / (len(pairs) - total)
            for c in range(columns)
        ]
        if not fixed:
            share = total / len(pairs)
    return m, u, share


def weight(found: int, m: Sequence[float], u: Sequence[float]) -> float:
    """log2 of the ratio of probabilities."""
    total = 0.0
    for c, (a, b) in enumerate(zip(m, u, strict=True)):
        total += math.log2(a / b) if found >> c & 1 else math.log2((1 - a) / (1 - b))
    return total


def link(
    scores: Sequence[float], own: int, apart: Sequence[float] | None, tolerance: float = 1e-9
) -> tuple[int, bool]:
    """How many masked records are best for one record, and whether its own is one of them."""
    best = max(scores)
    tied = [j for j, score in enumerate(scores) if score >= best - tolerance]
    if apart is not None:
        least = min(apart[j] for j in tied)
        tied = [j for j in tied if apart[j] <= least * (1 + tolerance)]
    return len(tied), own in tied
