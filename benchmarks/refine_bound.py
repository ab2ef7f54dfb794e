"""How far from the optimum is Refine? A lower bound by column generation, on a small file.

The best partition into groups of k to 2k - 1 is a set partitioning problem with one column for each
possible group. Its linear relaxation is solved with a few columns, and all groups are searched for
one that would lower it, until there is none (Aloise, Hansen, Rocha & Santi 2014, "Column generation
bounds for numerical microaggregation"). The relaxation bounds every partition's loss from below.
All groups are enumerated, so that k = 3 and some sixty records is what it is for.

    .venv/bin/python benchmarks/refine_bound.py [FILE.csv] [--records 60]
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
from casc import data_folder
from numba import njit
from scipy.optimize import linprog
from scipy.sparse import csc_array

from sfumato.kernels.micro.mdav._search import mdav
from sfumato.kernels.micro.refine._search import best_labels, best_loss, run, start

K = 3
SLACK = 1e-9
"""A reduced cost above minus this counts as none."""


@njit(cache=False)
def price(gap: np.ndarray, dual: np.ndarray, cost: np.ndarray, group: np.ndarray) -> None:
    """For each first record and size 3, 4, 5 the group of least reduced cost.

    `cost` (n, 3) and `group` (n, 3, 5) are filled; the loss of a group is the sum of the squared
    distances of its pairs over its size.
    """
    n = dual.size
    cost[:] = np.inf
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(b + 1, n):
                three = gap[a, b] + gap[a, c] + gap[b, c]
                paid = dual[a] + dual[b] + dual[c]
                if three / 3 - paid < cost[a, 0]:
                    cost[a, 0] = three / 3 - paid
                    group[a, 0, :3] = (a, b, c)
                for d in range(c + 1, n):
                    four = three + gap[a, d] + gap[b, d] + gap[c, d]
                    if four / 4 - paid - dual[d] < cost[a, 1]:
                        cost[a, 1] = four / 4 - paid - dual[d]
                        group[a, 1, :4] = (a, b, c, d)
                    for e in range(d + 1, n):
                        five = four + gap[a, e] + gap[b, e] + gap[c, e] + gap[d, e]
                        if five / 5 - paid - dual[d] - dual[e] < cost[a, 2]:
                            cost[a, 2] = five / 5 - paid - dual[d] - dual[e]
                            group[a, 2, :5] = (a, b, c, d, e)


def bound(x: np.ndarray, known: list[tuple[int, ...]]) -> tuple[float, int, bool]:
    """Value of the relaxation, columns used, and whether its solution is itself a partition."""
    n = len(x)
    gap = np.square(x[:, None] - x[None]).sum(axis=2)
    columns = dict.fromkeys(known)
    cost, group = np.empty((n, 3)), np.zeros((n, 3, 5), np.int64)
    while True:
        groups = list(columns)
        losses = [gap[np.ix_(g, g)].sum() / 2 / len(g) for g in groups]
        where = np.concatenate([np.array(g) for g in groups])
        ends = np.concatenate(([0], np.cumsum([len(g) for g in groups])))
        matrix = csc_array((np.ones(where.size), where, ends), shape=(n, len(groups)))
        found = linprog(losses, A_eq=matrix, b_eq=np.ones(n), method="highs")
        price(gap, found.eqlin.marginals, cost, group)
        new = [
            tuple(group[a, size, : size + K].tolist())
            for a, size in zip(*np.nonzero(cost < -SLACK), strict=True)
        ]
        fresh = [g for g in new if g not in columns]
        if not fresh:
            # No partition has more than n / k groups, none of which undercuts the last price.
            value = found.fun + n // K * min(0.0, float(cost.min()))
            whole = bool(np.all((found.x < 1e-6) | (found.x > 1 - 1e-6)))
            return value, len(columns), whole
        columns.update(dict.fromkeys(fresh))


def main() -> None:
    """Print the loss of MDAV, of Refine and the bound, in percent of the total."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="a CSV file of numeric columns (Tarragona)")
    parser.add_argument("--records", type=int, default=60, help="how many are drawn")
    parser.add_argument("--draws", type=int, default=5, help="draws of records")
    parser.add_argument("--steps", type=int, default=20_000, help="steps of Refine")
    chosen = parser.parse_args()
    path = chosen.file or data_folder() / "casc" / "tarragona.csv"
    whole = pl.read_csv(path).to_numpy().astype(float)
    print("draw   MDAV  Refine   bound  gap %  columns  relaxation is a partition")
    for draw in range(chosen.draws):
        rows = np.random.default_rng(draw).choice(len(whole), chosen.records, replace=False)
        x = whole[rows]
        x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        labels = mdav(x, np.empty((len(x), 0), np.int32), [], K)
        share = 100 / np.sum(x**2)
        search = start(x, labels, K, seed=draw)
        before = best_loss(search)
        run(search, chosen.steps)
        best = best_labels(search)
        known = [tuple(np.flatnonzero(best == g).tolist()) for g in range(best.max() + 1)]
        value, columns, integral = bound(x, known)
        above = 100 * (best_loss(search) / value - 1)
        print(
            f"{draw:4d} {share * before:6.3f} {share * best_loss(search):7.3f} "
            f"{share * value:7.3f} {above:6.3f} {columns:8d}  {integral}"
        )


if __name__ == "__main__":
    main()
