"""Camouflage, checked the slow way: many vectors of the hull, and an intruder with a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import linprog


def vectors_of(hull: np.ndarray, many: int, rng: np.random.Generator) -> np.ndarray:
    """Vectors of the convex hull of the columns, its corners among them."""
    weights = np.vstack([np.eye(hull.shape[1]), rng.dirichlet(np.ones(hull.shape[1]), many)])
    return weights @ hull.T


def answer(kind: str, values: Sequence[float], members: Sequence[bool]) -> float | None:
    """The exact answer; None where nobody belongs."""
    chosen = [v for v, m in zip(values, members, strict=True) if m and not np.isnan(v)]
    if kind == "sum":
        return float(sum(chosen))
    if not chosen:
        return None
    return {"mean": lambda: sum(chosen) / len(chosen), "min": lambda: min(chosen)}.get(
        kind, lambda: max(chosen)
    )()


def highest_minimum(hull: np.ndarray, many: int, rng: np.random.Generator) -> float:
    """The largest of the minima of many vectors of the hull: never above the true one."""
    return float(vectors_of(hull, many, rng).min(axis=1).max())


def lowest_mean(total: float, count: int, extra: Sequence[float]) -> float:
    """Over all subsets of the extras."""
    best = np.inf
    for chosen in range(1 << len(extra)):
        some = [e for i, e in enumerate(extra) if chosen >> i & 1]
        if count + len(some):
            best = min(best, (total + sum(some)) / (count + len(some)))
    return float(best)


def intruder(
    n: int, answers: Sequence[tuple[np.ndarray, float, float]], record: int
) -> tuple[float, float]:
    """The least and the largest that a record's value can be, given answers low <= c.x <= high."""
    rows = [sign * c for c, _, _ in answers for sign in (1.0, -1.0)]
    ends = [e for _, low, high in answers for e in (high, -low)]
    found = []
    for sign in (1.0, -1.0):
        goal = np.zeros(n)
        goal[record] = sign
        solved = linprog(goal, A_ub=np.array(rows), b_ub=ends, bounds=[(None, None)] * n)
        assert solved.status in (0, 3), solved.message
        found.append(sign * solved.fun if solved.status == 0 else -sign * np.inf)
    return found[0], found[1]


def holds_for_some(test: Callable[[float], bool], low: float, high: float) -> tuple[bool, bool]:
    """Whether a condition holds for all, and for some, of many values of a span."""
    results = [test(float(v)) for v in np.linspace(low, high, 201)]
    return all(results), any(results)
