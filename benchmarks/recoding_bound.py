"""How far from the optimum is local recoding? A lower bound on NCP for columns with hierarchies.

Give every record r a price p(r) such that, for every generalized record v that covers k records or
more, the k highest prices below v add up to no more than k times the cost of v. Then no group pays
less than the prices of its records, and so no partition loses less than the sum of all prices: the
prices are a solution of the dual of the set partitioning problem over all groups. (With k highest
prices the condition holds for larger groups, too, for their mean is lower.)

The least cost of any v that covers r and k records is such a price. Better ones are found in two
ways. First, all prices are raised a little and lowered again, below every v that is then too cheap,
by the same factor; what no v holds back stays raised. Then by cutting planes: a linear program
raises the prices, within a box around the best ones, under the conditions known so far; the
conditions that it breaks are added, and the prices lowered until they are sound. Every bound
printed is proved by such a lowering.

    .venv/bin/python benchmarks/recoding_bound.py [--rises 6] [--cuts 20] [--steps 300000]
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
from local_recoding import adult
from numba import njit
from scipy.optimize import linprog
from scipy.sparse import csr_array

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.kernels.joins.lub import ORDER, Joins
from sfumato.kernels.neighbours.blocks import distinct_rows

K = 5
RAISED = 0.2
"""By how much all prices are raised at once."""
BOX = 0.4
"""How far a program may move a price, at first; a record costs 0 to 8."""


def paths(joins: Joins, j: int, states: np.ndarray) -> list[np.ndarray]:
    """The nodes above every record's value, level by level, the value itself first."""
    assert joins.kind[j] == ORDER, "columns need hierarchies"
    table = joins.pairs(j)
    width = len(table)
    # A node's ancestors are its joins with anything; the parent is the lowest of them.
    below = (table == np.arange(width)[None, :]).sum(axis=0)
    parent = np.arange(width)
    for node in range(width):
        above = np.unique(table[node])
        above = above[above != node]
        if above.size:
            parent[node] = above[np.argmin(below[above])]
    cost = joins.costs(j)
    found = [states.copy()]
    # The root and "*" above it cost the same: once everything is lost, there is nothing above.
    while (cost[found[-1]] < joins.star[j]).any():
        found.append(parent[found[-1]])
    return found


@njit(cache=False, nogil=True)
def lower(
    keys: np.ndarray,
    cell: np.ndarray,
    nodes: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    price: np.ndarray,
    k: int,
    factor: np.ndarray,
    least: np.ndarray,
    worst: np.ndarray,
    limit: np.ndarray,
) -> None:
    """Over some nodes of the lattice: by what factor each price must be lowered, and the least cost
    of what covers the record and k others. `order` sorts the records by falling price. `worst` are
    the k records whose prices break the condition most, and `limit` what they may add up to."""
    n = weight.size
    mask = 1
    while mask < 2 * n:
        mask *= 2
    table = np.empty(mask, np.int64)
    mask -= 1
    head, count = np.empty(n, np.int64), np.empty(n, np.int64)
    total, bucket = np.empty(n), np.empty(n, np.int64)
    top = np.empty((n, k), np.int64)
    for v in range(nodes.shape[0]):
        table[:] = -1
        found = 0
        for o in range(n):
            t = order[o]
            key = np.uint64(1469598103934665603)
            for j in range(nodes.shape[1]):
                key = (key ^ np.uint64(keys[nodes[v, j], t])) * np.uint64(0x9E3779B97F4A7C15)
                key ^= key >> np.uint64(29)
            slot = np.int64(key & np.uint64(mask))
            while True:
                b = table[slot]
                if b < 0:
                    b = found
                    table[slot] = b
                    head[b], count[b], total[b] = t, 0, 0.0
                    found += 1
                    break
                same = True
                for j in range(nodes.shape[1]):
                    same = same and keys[nodes[v, j], t] == keys[nodes[v, j], head[b]]
                if same:
                    break
                slot = (slot + 1) & mask
            bucket[t] = b
            for m in range(count[b], min(count[b] + weight[t], k)):
                top[b, m] = t
                total[b] += price[t]
            count[b] += weight[t]
        for t in range(n):
            b = bucket[t]
            if count[b] < k:
                continue
            cost = 0.0
            for j in range(nodes.shape[1]):
                cost += cell[nodes[v, j], t]
            least[t] = min(least[t], cost)
            if total[b] * factor[t] > k * cost:
                factor[t] = k * cost / total[b]
                limit[t] = k * cost
                for m in range(k):
                    worst[t, m] = top[b, m]


class Lowering:
    """Makes prices sound, and remembers the conditions that they broke."""

    def __init__(
        self, keys: np.ndarray, cell: np.ndarray, lattice: np.ndarray, weight: np.ndarray
    ) -> None:
        self.keys, self.cell, self.lattice, self.weight = keys, cell, lattice, weight
        self.least = np.empty(0)
        self._known: dict[bytes, float] = {}

    @property
    def cuts(self) -> int:
        """Conditions known."""
        return len(self._known)

    def sound(self, price: np.ndarray) -> np.ndarray:
        """Prices lowered as far as they must."""
        n = price.size
        order = np.argsort(-price, kind="stable")
        pieces = np.array_split(self.lattice, 8)
        made = [
            (np.ones(n), np.full(n, np.inf), np.zeros((n, K), np.int64), np.full(n, -1.0))
            for _ in pieces
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tasks = [
                pool.submit(
                    lower, self.keys, self.cell, piece, self.weight, order, price, K, *arrays
                )
                for piece, arrays in zip(pieces, made, strict=True)
            ]
            for task in tasks:
                task.result()
        self.least = np.min([arrays[1] for arrays in made], axis=0)
        for _, _, worst, limit in made:
            for t in np.flatnonzero(limit >= 0).tolist():
                self._known[np.sort(worst[t]).tobytes()] = float(limit[t])
        lowered: np.ndarray = price * np.min([arrays[0] for arrays in made], axis=0)
        return lowered

    def wish(self, price: np.ndarray, width: float) -> np.ndarray:
        """The highest prices within a box that break no condition known."""
        members = np.frombuffer(b"".join(self._known), dtype=np.int64)
        rows = np.repeat(np.arange(self.cuts), K)
        shape = (self.cuts, price.size)
        matrix = csr_array((np.ones(members.size), (rows, members)), shape=shape)
        found = linprog(
            -self.weight.astype(float),
            A_ub=matrix,
            b_ub=np.array(list(self._known.values())),
            bounds=np.column_stack([np.maximum(price - width, 0.0), price + width]),
            method="highs",
        )
        wished: np.ndarray = found.x
        return wished


def main() -> None:
    """Print the loss of a good partition, the bounds as they rise, and the gap."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rises", type=int, default=6, help="times that all prices are raised")
    parser.add_argument("--cuts", type=int, default=20, help="linear programs")
    parser.add_argument("--steps", type=int, default=300_000, help="steps of local recoding")
    chosen = parser.parse_args()
    table = adult(trees=True)
    found = cell_costs(Matrix(table, table.schema.quasi))
    n, d = found.states.shape
    first, member = distinct_rows(found.states, np.empty((n, 0), np.int32))
    states, weight = found.states[first], np.bincount(member)
    rows, cells, at = [], [], [0]
    for j in range(d):
        for nodes in paths(found.joins, j, states[:, j]):
            rows.append(nodes.astype(np.int32))
            cells.append(found.joins.costs(j)[nodes])
        at.append(len(rows))
    keys, cell = np.array(rows), np.array(cells)
    lattice = np.array(list(product(*[range(at[j], at[j + 1]) for j in range(d)])))
    print(f"{n:,} records, {first.size:,} distinct, {len(lattice):,} nodes of the lattice")

    lowering = Lowering(keys, cell, lattice, weight)

    def shown(price: np.ndarray) -> float:
        return float(np.dot(price, weight)) / (n * d)

    groups = sf.partition(table, sf.method("local-recoding", k=K, steps=chosen.steps), seed=0)
    masked = sf.method("generalize").apply(table, groups, table.schema.quasi, None).table
    ncp = sf.measure("ncp", table, masked)
    paid = np.bincount(member, weights=ncp.per_record * d) / weight
    print(f"local recoding, {chosen.steps:,} steps: {ncp.value:.5f}", flush=True)
    lowering.sound(np.zeros(first.size))
    least = lowering.least
    best = lowering.sound(least)
    print(f"every record at the least cost of any group that could hold it: {shown(best):.5f}")
    best = lowering.sound(least + 0.7 * np.maximum(paid - least, 0.0))
    for _ in range(chosen.rises):
        best = max(best, lowering.sound(best * (1.0 + RAISED)), key=shown)
        print(f"  raised: {shown(best):.5f}", flush=True)
    width = BOX
    for turn in range(chosen.cuts):
        wished = lowering.wish(best, width)
        tried = lowering.sound(wished)
        better = shown(tried) > shown(best)
        best = tried if better else best
        width = width if better else width / 2
        print(
            f"  program {turn + 1}, {lowering.cuts:,} conditions: {shown(best):.5f}"
            f" ({shown(wished):.5f} wished, box {width:.3f})",
            flush=True,
        )
    gap = ncp.value / shown(best) - 1
    print(f"no partition loses less than {shown(best):.5f}; the one above loses {gap:.1%} more")


if __name__ == "__main__":
    main()
