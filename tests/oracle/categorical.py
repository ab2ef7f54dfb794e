"""Categorical information loss by its formulas, with dictionaries and loops."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence

Value = str | None


def nominal(c: Value, d: Value) -> float:
    return 0.0 if c == d else 1.0


def ordinal(c: Value, d: Value, order: Sequence[str]) -> float:
    """(|{c'' : min <= c'' <= max}| - 1) / |D|; 1 where one of the two is missing."""
    if c is None or d is None:
        return nominal(c, d)
    low, high = sorted((order.index(c), order.index(d)))
    return (sum(low <= i <= high for i in range(len(order))) - 1) / len(order)


def ctbil(before: Sequence[Sequence[Value]], after: Sequence[Sequence[Value]], k: int) -> int:
    """Columns as lists. The sum over all tables of 1..k columns of |x^F - x^G|."""
    total = 0
    for size in range(1, min(k, len(before)) + 1):
        for chosen in itertools.combinations(range(len(before)), size):
            left = Counter(zip(*(before[j] for j in chosen), strict=True))
            right = Counter(zip(*(after[j] for j in chosen), strict=True))
            total += sum(abs(left[cell] - right[cell]) for cell in left.keys() | right.keys())
    return total


def posterior(
    before: Sequence[Value],
    after: Sequence[Value],
    matrix: Mapping[Value, Mapping[Value, float]] | None = None,
) -> dict[tuple[Value, Value], float]:
    """P(V = i | V' = j) for every pair (i, j)."""
    prior = Counter(before)
    joint: dict[tuple[Value, Value], float] = {}
    for i in prior:
        for j in set(after):
            if matrix is not None:
                likely = matrix[i].get(j, 0.0)
            else:
                both = sum((a, b) == (i, j) for a, b in zip(before, after, strict=True))
                likely = both / prior[i]
            joint[i, j] = likely * prior[i]
    total = {j: sum(joint[i, j] for i in prior) for j in set(after)}
    return {(i, j): joint[i, j] / total[j] for i, j in joint if total[j]}


def ebil(before: Sequence[Value], after: Sequence[Value], **more: object) -> float:
    found = posterior(before, after, **more)  # type: ignore[arg-type]
    total = 0.0
    for j in after:
        terms = [p for (_, other), p in found.items() if other == j and p > 0]
        total -= sum(p * math.log2(p) for p in terms)
    return total


def pril(before: Sequence[Value], after: Sequence[Value], **more: object) -> list[float]:
    found = posterior(before, after, **more)  # type: ignore[arg-type]
    return [-math.log2(found[i, j]) for i, j in zip(before, after, strict=True)]
