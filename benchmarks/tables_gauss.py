"""Cell suppression by Gaussian elimination, written anew from the published description.

    python benchmarks/tables_gauss.py [--task TASK ...]

Every cell is a sum of inner cells. The cells that are not sensitive are published one after the
other, dearest first, unless that would make a sensitive cell a linear combination of published ones
(Langsrud 2024, Secondary cell suppression by Gaussian elimination). The criterion asks only that no
sensitive cell can be worked out exactly; it does not look at how wide its interval is.

This is a plain dense version in whole numbers modulo a prime, for small tables; the R package
GaussSuppression was not run. It also looks after single contributors, which this does not, and may
order equals otherwise. Empty cells are known. Three-dimensional tau_testW is left out: dense
elimination would take hours.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import reduce

import numpy as np
from environment import ROOT
from numba import njit

sys.path.insert(0, str(ROOT / "src"))

from sfumato.tabular.audit.audit import audit
from sfumato.tabular.threats.problem import Problem

PRIME = 2**31 - 1
"""Products of two residues fit into 64 bits; a wrong proportion has odds of one in 2e9."""
LARGEST = 10_000
"""Cells up to which a dense matrix is made."""


def inner(problem: Problem) -> np.ndarray:
    """Each cell as a sum of the inner cells that are not empty: cells by inner cells."""
    (shape,) = problem.cubes
    parts = []
    for d in shape.dimensions:
        below = np.zeros((len(d), len(d)), np.int64)
        for leaf in d.leaves.tolist():
            code = leaf
            while code >= 0:
                below[code, leaf] = 1
                code = int(d.parent[code])
        parts.append(below[:, d.leaves])
    whole = reduce(np.kron, parts)
    rows = np.empty_like(whole)
    rows[shape.cells.ravel()] = whole
    leaves = shape.cells[np.ix_(*(d.leaves for d in shape.dimensions))].ravel()
    return np.ascontiguousarray(rows[:, ~problem.fixed[leaves]])


@njit(cache=True)
def inverse(a: int) -> int:
    """1 / a modulo the prime."""
    out, base, power = 1, a % PRIME, PRIME - 2
    while power:
        if power & 1:
            out = out * base % PRIME
        base = base * base % PRIME
        power >>= 1
    return out


@njit(cache=True)
def proportional(a: np.ndarray, b: np.ndarray, pivot: int) -> bool:
    """Whether b is a multiple of a, other than 0; a is 1 at its pivot."""
    factor = b[pivot]
    return factor != 0 and not ((b - factor * a) % PRIME).any()


@njit(cache=True)
def published(rows: np.ndarray, primary: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Which of the candidates may be published, in that order. Changes `rows`.

    All rows are kept reduced by what is published, so that a sensitive cell follows from one more
    just if its row is a multiple of the other's.
    """
    n, width = rows.shape
    shown = np.zeros(n, np.bool_)
    left = np.zeros(n, np.bool_)
    left[order] = True
    left[primary] = True
    for c in order:
        left[c] = False
        pivot = -1
        for k in range(width):
            if rows[c, k]:
                pivot = k
                break
        if pivot >= 0:
            scale = inverse(rows[c, pivot])
            for k in range(width):
                rows[c, k] = rows[c, k] * scale % PRIME
            follows = False
            for p in primary:
                if proportional(rows[c], rows[p], pivot):
                    follows = True
                    break
            if follows:
                continue
            support = np.flatnonzero(rows[c])
            for i in range(n):
                factor = rows[i, pivot]
                if left[i] and factor:
                    for k in support:
                        rows[i, k] = (rows[i, k] - factor * rows[c, k]) % PRIME
        shown[c] = True
    return shown


def gauss(problem: Problem) -> np.ndarray:
    """The cells hidden by the criterion."""
    candidates = np.flatnonzero(~problem.primary & ~problem.fixed)
    order = candidates[np.argsort(-problem.costs[candidates], kind="stable")]
    shown = published(inner(problem), np.flatnonzero(problem.primary), order)
    return problem.primary | (~problem.fixed & ~shown)


def main() -> None:
    from table_data import tau

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", nargs="*", default=["size-region", "industry-region"])
    for task in parser.parse_args().task:
        problem = tau(task)
        if problem.n > LARGEST:
            print(f"{task}: left out, dense elimination would take hours")
            continue
        began = time.process_time()
        hidden = gauss(problem)
        cpu = time.process_time() - began
        second = hidden & ~problem.primary
        found = audit(problem, *problem.known_bounds(hidden), exact=False)
        narrow = np.unique(found.threats.cell[~found.enough]).size
        print(
            f"{task}: {int(second.sum())} secondaries, value {problem.values[second].sum():,.0f}, "
            f"{narrow} of {int(problem.primary.sum())} intervals too narrow, {cpu:.1f} CPU s"
        )


if __name__ == "__main__":
    main()
