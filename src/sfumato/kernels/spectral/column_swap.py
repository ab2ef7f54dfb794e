"""Scores on components, shuffled column by column until their correlations are as small as wanted.

Lasko (2007), "Spectral anonymization of data", figure 4-1, shuffles all columns anew until the
largest correlation is within the tolerance. That correlation is near 3/sqrt(n) by chance, and no
patience makes it ten times smaller. Here single pairs of values change places instead.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from ...progress import report
from ..arrays import Floats, Ints
from ..threads import cores

PICKS = 64  # rows looked at for one swap; all of their pairs are compared
WIDE = 128  # columns above which a quarter as many are, since each is so much work
STEPS = 256  # steps for which rows are drawn at once, or one for each column
GAIN = 1e-4  # share of the excess of a column that a swap must take away
AIM = 0.9  # of the tolerance: what lies below is left alone
IDLE = 40  # failures for a column after which there is nothing left to gain
WINDOW = 16  # times STEPS in which a twentieth of the excess must go, lest it never ends
FREE = 6.0  # logarithm of the orders of a column that a tolerance must leave
SINGULAR = 1e-8  # eigenvalues of correlations that cannot be told from zero


@dataclass(frozen=True)
class Repaired:
    """Columns after repair."""

    values: Floats
    largest: float
    """The largest absolute correlation between two columns."""
    swaps: int
    """Pairs of values that changed places."""
    steps: int
    """Pairs that were looked for: what the work goes by."""


def shuffled_columns(x: Floats, rng: np.random.Generator, *, threads: int | None = None) -> Floats:
    """Each column of x (n, r) in an order of its own, all orders alike likely (Fisher-Yates).

    `threads` never alters the result.

    >>> shuffled_columns(np.arange(6.0).reshape(3, 2), np.random.default_rng(1)).tolist()
    [[4.0, 3.0], [2.0, 5.0], [0.0, 1.0]]
    """
    made = np.array(x, dtype=np.float64, order="F")
    # Each column has a generator of its own, keyed by this one, whoever shuffles it.
    keys = rng.integers(0, 2**64, size=(x.shape[1], 2), dtype=np.uint64)

    def shuffle(j: int) -> None:
        np.random.Generator(np.random.Philox(key=keys[j])).shuffle(made[:, j])

    with ThreadPoolExecutor(cores(threads)) as pool:
        list(pool.map(shuffle, range(x.shape[1])))
    return made


def largest(x: Floats) -> float:
    """The largest absolute correlation between two columns of length one and mean zero."""
    return float(np.abs(correlations(x)).max(initial=0.0))


def correlations(x: Floats) -> Floats:
    """Correlations of columns of length one and mean zero; zero on the diagonal."""
    found: Floats = x.T @ x
    np.fill_diagonal(found, 0.0)
    return found


@njit(cache=True, nogil=True)
def _excess(value: float, bound: float) -> float:
    over = abs(value) - bound
    return over * over if over > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _best_pair(x: Floats, c: Floats, j: int, rows: Ints, bound: float) -> tuple[int, int]:
    """The two of these rows whose swap in column j lowers the squared excess most, or -1."""
    r, m = x.shape[1], rows.size
    slope, values, now = np.empty(r), np.empty(m), 0.0
    for k in range(r):
        over = max(abs(c[j, k]) - bound, 0.0)
        slope[k] = 2.0 * over if c[j, k] > 0.0 else -2.0 * over
        now += over * over
    for i in range(m):
        values[i] = 0.0
        for k in range(r):
            values[i] += slope[k] * x[rows[i], k]
    best, first, second = now * (1.0 - GAIN), -1, -1
    for i in range(m):
        a = rows[i]
        for h in range(i):
            b = rows[h]
            step = x[b, j] - x[a, j]
            # The excess is convex, so its tangent is below it: most pairs need no second look.
            if now + step * (values[i] - values[h]) >= best:
                continue
            total = 0.0
            for k in range(r):
                if k != j:
                    total += _excess(c[j, k] + step * (x[a, k] - x[b, k]), bound)
                    if total >= best:
                        break
            if total < best:
                best, first, second = total, a, b
    return first, second


@njit(cache=True, nogil=True)
def _repair(
    x: Floats, c: Floats, tol: float, picks: Ints, j: int, idle: Ints, limit: int
) -> tuple[int, int]:
    """One step for each row of `picks`, from column j on; the next column, and swaps made.

    Columns take turns, without those within `tol` and those that failed `limit` times in a row.
    """
    r, swaps = x.shape[1], 0
    for t in range(picks.shape[0]):
        for _ in range(r):
            if idle[j] < limit and np.abs(c[j]).max() > tol:
                break
            j = (j + 1) % r
        else:
            break
        a, b = _best_pair(x, c, j, picks[t], AIM * tol)
        if a < 0:
            idle[j] += 1
        else:
            step = x[b, j] - x[a, j]
            for k in range(r):
                if k != j:
                    c[j, k] += step * (x[a, k] - x[b, k])
                    c[k, j] = c[j, k]
            x[a, j], x[b, j] = x[b, j], x[a, j]
            swaps += 1
            idle[:] = 0
        j = (j + 1) % r
    return j, swaps


def repaired(
    x: Floats, tol: float, rng: np.random.Generator, *, budget: int | None = None
) -> Repaired:
    """Columns of length one and mean zero with pairs of values swapped within columns, until no
    two columns correlate by more than `tol`, or no swap helps any more, or `budget` steps are done
    (unless given, one for each value).

    In each step 64 rows are drawn at random (16 where columns are many), and of the pairs among
    them that one changes places in a column whose swap lowers the squares of what exceeds the
    tolerance most; what it changes is known exactly from these two rows. All rows are treated
    alike. Therefore columns that came in uniformly random orders leave in orders that are, each by
    itself, uniformly random: relabel the rows, and everything is relabelled with them. Only how the
    orders of two columns go together changes, and must.

    >>> one = np.array([-1.0, -1.0, 1.0, 1.0]) / 2
    >>> found = repaired(np.column_stack([one, one]), 0.01, np.random.default_rng(0))
    >>> found.largest, found.swaps
    (0.0, 1)
    """
    made = np.array(x, dtype=np.float64, order="C")
    n, r = made.shape
    looked = PICKS if r <= WIDE else PICKS // 4
    steps, few = max(STEPS, r), n <= looked
    limit = 1 if few else IDLE
    c = correlations(made)
    idle = np.zeros(r, dtype=np.int64)
    most = enough_steps(n, r) if budget is None else budget
    j, swaps, done, left = 0, 0, 0, [_squares(c, AIM * tol)]
    while done < most and (np.abs(c) > tol).any():
        report("repairing correlations", done, most)
        if few:  # every pair at once, in an order that favours none
            picks = rng.permuted(np.tile(np.arange(n), (steps, 1)), axis=1)
        else:
            picks = rng.integers(0, n, size=(steps, looked))
        j, here = _repair(made, c, tol, picks, j, idle, limit)
        swaps, done = swaps + here, done + steps
        left.append(_squares(c, AIM * tol))
        stuck = bool((idle[(np.abs(c) > tol).any(axis=0)] >= limit).all())
        slow = len(left) > WINDOW and left[-1] > 0.95 * left[-1 - WINDOW]
        if stuck or slow:
            break
    return Repaired(made, largest(made), swaps, done)


def enough_steps(n: int, r: int) -> int:
    """Steps that suffice wherever records are several times as many as columns: one for each value,
    and in small tables enough to see that nothing helps. 1000 records in 200 columns took a third
    of that, 2000 in 27 a seventieth.

    >>> enough_steps(2000, 27), enough_steps(10, 5)
    (58096, 4146)
    """
    return n * r + WINDOW * max(STEPS, r)


def least_tolerance(n: int, r: int) -> float:
    """The smallest tolerance that leaves other orders to choose from than the original's.

    The original's order has no correlations at all; with few records it may be the only one, and a
    repair that seeks small correlations would find it. Of the (n!)^(r-1) orders of r columns that
    differ in more than their rows' names, about (0.8 tol sqrt(n))^(r(r-1)/2) as a share are within
    tol by chance. This leaves e^6, some 400, for each column: with fewer, two scores of one record
    met again noticeably more often than by chance (1.65 times with e^1.8, 1.13 with e^5, 1.02 with
    e^7).

    >>> [round(least_tolerance(n, r), 4) for n, r in ((5, 4), (6, 3), (10, 9), (20, 19), (100, 30))]
    [1.0, 0.3468, 0.0523, 0.0061, 0.0]
    """
    if r < 2:
        return 0.0
    free = math.lgamma(n + 1.0) - FREE
    return 1.0 if free <= 0 else min(1.0, math.exp(-2.0 * free / r) / (0.8 * math.sqrt(n)))


def orthonormal(x: Floats) -> Floats | None:
    """The uncorrelated columns of length one that are nearest to these, x (x'x)^-1/2 (Loewdin), or
    None where a column is almost a combination of the others.

    >>> orthonormal(np.array([[1.0, 0.6], [0.0, 0.8]])).round(3).tolist()
    [[0.949, 0.316], [-0.316, 0.949]]
    """
    values, vectors = np.linalg.eigh(x.T @ x)
    if (values < SINGULAR).any():
        return None
    return x @ ((vectors / np.sqrt(values)) @ vectors.T)


def random_directions(n: int, r: int, rng: np.random.Generator) -> Floats:
    """r columns of length one and mean zero, each drawn uniformly among all such.

    A column of scores turned by its own random rotation of all records that keeps means becomes
    just that, whatever it was: no n by n matrix is needed.

    >>> made = random_directions(5, 2, np.random.default_rng(0))
    >>> bool(abs(made.mean(axis=0)).max() < 1e-15), (made**2).sum(axis=0).round(9).tolist()
    (True, [1.0, 1.0])
    """
    made = np.asfortranarray(rng.standard_normal((r, n)).T)
    made -= made.mean(axis=0)
    made /= np.sqrt(np.einsum("ij,ij->j", made, made))
    return made


def _squares(c: Floats, bound: float) -> float:
    return float((np.maximum(np.abs(c) - bound, 0.0) ** 2).sum())
