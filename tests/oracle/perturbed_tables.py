"""Rounded, adjusted and key-perturbed tables by trying everything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog, lsq_linear

from sfumato.tabular.threats.problem import Problem


def roundings(problem: Problem, base: int, steps: int) -> Iterator[np.ndarray]:
    """Every table of multiples that adds up, no cell more than `steps` beyond its neighbouring
    multiples; known zeros stay, and nothing falls below a lower bound that is a multiple."""
    options = []
    for value, low, high, fixed in zip(
        problem.values, problem.lower, problem.upper, problem.fixed, strict=True
    ):
        below, above = math.floor(value / base), math.ceil(value / base)
        if fixed and value == 0:
            options.append([0])
            continue
        least = below if math.isinf(low) else min(below, math.floor(low / base))
        most = above if math.isinf(high) else max(above, math.ceil(high / base))
        first = below - steps if math.isinf(low) else max(below - steps, least)
        last = above + steps if math.isinf(high) else min(above + steps, most)
        options.append([base * k for k in range(first, last + 1)])
    matrix = problem.relations.matrix.toarray()
    made = np.zeros(problem.n)

    def deeper(i: int) -> Iterator[np.ndarray]:
        if i == problem.n:
            yield made.copy()
            return
        for value in options[i]:
            made[i] = value
            # A relation whose cells are all chosen must hold.
            if all(row[i + 1 :].any() or abs(row @ made) < 1e-9 for row in matrix):
                yield from deeper(i + 1)
        made[i] = 0.0

    yield from deeper(0)


def steps_beyond(value: float, rounded: float, base: int) -> int:
    """How many multiples beyond its neighbours a cell was rounded to."""
    below, above = math.floor(value / base), math.ceil(value / base)
    k = round(rounded / base)
    return max(below - k, k - above, 0)


def best_rounding(problem: Problem, base: int, steps: int) -> tuple[int, float] | None:
    """(steps beyond, sum of changes) of the best: fewest steps first. None where there is none."""
    return min(
        (
            (
                sum(steps_beyond(v, r, base) for v, r in zip(problem.values, made, strict=True)),
                float(np.abs(made - problem.values).sum()),
            )
            for made in roundings(problem, base, steps)
        ),
        default=None,
    )


def best_adjustment(
    problem: Problem,
    weights: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    *,
    squares: bool,
) -> float | None:
    """The least sum of weighted changes (or squares) over every way the sensitive cells can go;
    None where no way is possible. `up` and `down` are needs by cell, 0 where a way is closed."""
    sensitive = np.flatnonzero((up > 0) | (down > 0))
    least = np.where(problem.fixed, 0.0, problem.lower - problem.values)
    most = np.where(problem.fixed, 0.0, problem.upper - problem.values)
    found = []
    for ways in itertools.product((1, -1), repeat=sensitive.size):
        low, high = least.copy(), most.copy()
        if any((up if way > 0 else down)[c] <= 0 for c, way in zip(sensitive, ways, strict=True)):
            continue
        for c, way in zip(sensitive, ways, strict=True):
            if way > 0:
                low[c] = up[c]
            else:
                high[c] = -down[c]
        if (low > high + 1e-12).any():
            continue
        value = _linear(problem, weights, low, high)
        if value is not None and squares:
            value = _quadratic(problem, weights, low, high)
        if value is not None:
            found.append(value)
    return min(found, default=None)


def _linear(
    problem: Problem, weights: np.ndarray, low: np.ndarray, high: np.ndarray
) -> float | None:
    """Least sum of weighted absolute moves, with a variable for each absolute value."""
    n, matrix = problem.n, problem.relations.matrix.toarray()
    eye = np.eye(n)
    solved = linprog(
        np.concatenate((np.zeros(n), weights)),
        A_ub=np.block([[eye, -eye], [-eye, -eye]]),
        b_ub=np.zeros(2 * n),
        A_eq=np.hstack((matrix, np.zeros_like(matrix))),
        b_eq=np.zeros(len(matrix)),
        bounds=[*zip(low, high, strict=True), *((0, None) for _ in range(n))],
    )
    return float(solved.fun) if solved.status == 0 else None


def _quadratic(problem: Problem, weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Least sum of weighted squares: bounded least squares by active sets, with the relations as
    further squares that outweigh all others."""
    free = high > low
    z = np.where(free, 0.0, low)
    matrix = problem.relations.matrix.toarray()
    heavy = 1e5 * np.sqrt(weights.max())
    solved = lsq_linear(
        np.vstack((np.diag(np.sqrt(weights))[:, free], heavy * matrix[:, free])),
        np.concatenate((-np.sqrt(weights) * z, -heavy * (matrix @ z))),
        (low[free], high[free]),
        method="bvls",
        tol=1e-15,
        max_iter=1000,
    )
    z[free] = solved.x
    return float(weights @ z**2)


def spread_of(count: int, largest: int, smallest: int) -> tuple[Fraction, Fraction]:
    """The least and greatest variance of a change with mean 0 that leaves a publishable count: the
    extremes lie at distributions on at most three changes, all of which are tried."""
    changes = [
        v
        for v in range(-largest, largest + 1)
        if count + v >= 0 and (count + v == 0 or count + v >= smallest)
    ]
    found = [Fraction(0)] if 0 in changes else []
    for low, high in itertools.product(changes, repeat=2):
        if low < 0 < high:
            found.append(Fraction(-low * high))
    return min(found), max(found)


def change_by_key(rows: list[list[tuple[int, float]]], count: int, key: float) -> int:
    """The change of a count: the first whose cumulated probability exceeds the key."""
    row = rows[min(count, len(rows) - 1)]
    total = 0.0
    for change, p in row:
        total += p
        if p > 0 and key < total:
            return change
    return max(change for change, p in row if p > 0)
