"""Log-linear models of full tables, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from math import exp, factorial, log

import numpy as np

Table = dict[tuple[int, ...], float]


def full_table(records: Iterable[tuple[int, ...]], weights: Iterable[float]) -> Table:
    """Every cell of the cross-classification with what its records add up to, zeros too."""
    rows = list(records)
    domains = [sorted(set(column)) for column in zip(*rows, strict=True)]
    table = dict.fromkeys(product(*domains), 0.0)
    for row, weight in zip(rows, weights, strict=True):
        table[row] += weight
    return table


def margin(table: Table, columns: Sequence[int]) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for cell, count in table.items():
        key = tuple(cell[j] for j in columns)
        found[key] = found.get(key, 0.0) + count
    return found


def proportional_fit(table: Table, margins: Sequence[Sequence[int]], rounds: int = 200) -> Table:
    """Iterative proportional fitting: the maximum likelihood fit with these margins."""
    fitted = dict.fromkeys(table, 1.0)
    for _ in range(rounds):
        for columns in margins:
            wanted, have = margin(table, columns), margin(fitted, columns)
            for cell in fitted:
                key = tuple(cell[j] for j in columns)
                fitted[cell] *= wanted[key] / have[key] if have[key] else 0.0
    return fitted


def design(cells: Sequence[tuple[int, ...]], margins: Sequence[Sequence[int]]) -> np.ndarray:
    """A column for each value of each margin: more than needed, and spanning the model."""
    columns = []
    for which in margins:
        keys = sorted({tuple(cell[j] for j in which) for cell in cells})
        columns += [[float(tuple(cell[j] for j in which) == key) for cell in cells] for key in keys]
    return np.array(columns).T


def b1(table: Table, mu: Table, lam: Table) -> tuple[float, float]:
    """Skinner & Shlomo's diagnostic and its variance, term by term over all cells."""
    total = variance = 0.0
    for cell, f in table.items():
        m, population = mu[cell], lam[cell]
        if m == 0:
            continue
        pi = min(m / population, 1.0)
        scale = population * exp(-population) * (1 - pi)
        second = (1 - pi) / (2 * pi)
        total += scale * ((f - m) + second * ((f - m) ** 2 - f))
        # By the distribution itself: what the two terms are for each count, squared.
        for count in range(int(m + 12 * m**0.5 + 30)):
            chance = exp(count * log(m) - m - sum(log(i) for i in range(1, count + 1)))
            term = scale * ((count - m) + second * ((count - m) ** 2 - count))
            variance += chance * term**2
    return total, variance


def poisson_risk(lam: float, pi: float) -> tuple[float, float]:
    """P(F = 1) and E(1/F), given that one of a Poisson number was drawn: by adding up."""
    others = lam * (1 - pi)
    chance = [exp(-others) * others**j / factorial(j) for j in range(60)]
    return chance[0], sum(p / (j + 1) for j, p in enumerate(chance))


def is_chordal(neighbours: Sequence[frozenset[int]]) -> bool:
    """Whether columns can be taken away one by one, each when its neighbours are all tied."""
    left = set(range(len(neighbours)))
    while left:
        for column in left:
            near = neighbours[column] & left
            if all(b in neighbours[a] for a, b in combinations(near, 2)):
                left.remove(column)
                break
        else:
            return False
    return True


def cliques(neighbours: Sequence[frozenset[int]]) -> set[frozenset[int]]:
    """All sets of columns that are tied to one another and in no larger such set."""
    p = len(neighbours)
    tied = [
        frozenset(chosen)
        for size in range(1, p + 1)
        for chosen in combinations(range(p), size)
        if all(b in neighbours[a] for a, b in combinations(chosen, 2))
    ]
    return {one for one in tied if not any(one < other for other in tied)}
