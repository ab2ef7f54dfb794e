"""Which masked record fits a record best, when the masking mechanism's distribution is known.

The fit is a log-likelihood, a sum of terms that are never above zero: minus half a squared distance
(normal noise), the share of possible ranks (rank swapping), a logarithm from a table of transitions
(post-randomization), and equality of what was not masked. A sum that has fallen below the own
record's fit cannot come back, so most pairs are left after a column or two, and a record for which
a better fit than its own was found is not searched further.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.threads import in_parts

Bools = NDArray[np.bool_]


class Sides(NamedTuple):
    """Both files in the form in which their fit is calculated; `a` and `b` have the same columns.

    The fit of record i of `a` and record k of `b` is minus infinity where blocks differ.
    """

    block_a: Ints
    block_b: Ints
    points_a: Floats
    """(n, d): whitened, so that normal noise has variance 1 in every direction"""
    points_b: Floats
    ranks_a: Ints
    """(n, q, 2): first and last rank that the value may have"""
    ranks_b: Ints
    reach: Ints
    """(q,): largest difference of ranks"""
    rows: Ints
    """(n, t): the row of each table that the original category has"""
    columns: Ints
    """(m, t): the column of each table that the masked category has"""
    tables: Floats
    """the tables' logarithms, one after another, row by row"""
    starts: Ints
    """(t,): where each table starts"""
    widths: Ints
    """(t,): columns of each table"""


class OwnFit(NamedTuple):
    """What `own_fit` finds for each record of `a`."""

    fit: Floats
    """of its own masked record; minus infinity where that is impossible, or there is none"""
    best: Bools
    """whether no masked record fits better"""
    ties: Ints
    """masked records that fit as well as its own, itself included; 0 where one fits better"""


@njit(cache=True, nogil=True)
def _triangle(k: int) -> int:
    return k * (k + 1) // 2 if k > 0 else 0


@njit(cache=True, nogil=True)
def _up_to(low: int, high: int, first: int, last: int, step: int) -> int:
    """Pairs of a rank r in low..high and a rank s in first..last with s - r <= step."""
    start, stop, size = low + step - first + 1, high + step - first + 1, last - first + 1
    # The sum of min(max(t, 0), size) over t = start .. stop.
    return (
        _triangle(stop)
        - _triangle(start - 1)
        - _triangle(stop - size)
        + _triangle(start - 1 - size)
    )


@njit(cache=True, nogil=True)
def _fit(s: Sides, i: int, k: int, floor: float) -> float:
    """The fit of a pair of one block, or minus infinity as soon as it is below `floor`."""
    total = 0.0
    for j in range(s.reach.size):
        low, high = s.ranks_a[i, j, 0], s.ranks_a[i, j, 1]
        first, last = s.ranks_b[k, j, 0], s.ranks_b[k, j, 1]
        reach = s.reach[j]
        if first - high > reach or low - last > reach:
            return -np.inf
        if low == high and first == last:
            continue
        inside = _up_to(low, high, first, last, reach) - _up_to(low, high, first, last, -reach - 1)
        total += np.log(inside / ((high - low + 1) * (last - first + 1)))
    for j in range(s.starts.size):
        total += s.tables[s.starts[j] + s.rows[i, j] * s.widths[j] + s.columns[k, j]]
        if total < floor:
            return -np.inf
    for j in range(s.points_a.shape[1]):
        step = s.points_a[i, j] - s.points_b[k, j]
        total -= 0.5 * step * step
        if total < floor:
            return -np.inf
    return total if total >= floor else -np.inf


@njit(cache=True, nogil=True)
def _search(
    s: Sides, own: Ints, begin: Ints, order: Ints, weight: Floats, tolerance: float,
    start: int, stop: int, fit: Floats, best: Bools, ties: Ints,
) -> None:  # fmt: skip
    for i in range(start, stop):
        fit[i], best[i], ties[i] = -np.inf, False, 0
        mine, block = own[i], s.block_a[i]
        if mine < 0 or s.block_b[mine] != block:
            continue
        fit[i] = _fit(s, i, mine, -np.inf) - weight[mine]
        if fit[i] == -np.inf:
            continue
        slack = tolerance * max(1.0, abs(fit[i]))
        count, beaten = 0, False
        for place in range(begin[block], begin[block + 1]):
            k = order[place]
            here = _fit(s, i, k, fit[i] - slack + weight[k]) - weight[k]
            if here > fit[i] + slack:
                beaten = True
                break
            if here >= fit[i] - slack:
                count += 1
        best[i] = not beaten
        ties[i] = 0 if beaten else max(count, 1)


@njit(cache=True, nogil=True)
def _mixed(s: Sides, begin: Ints, order: Ints, n: int, start: int, stop: int, out: Floats) -> None:
    for k in range(start, stop):
        block = s.block_b[k]
        largest, total = -np.inf, 0.0
        for place in range(begin[block], begin[block + 1]):
            # A term that is e^-40 of the largest would change nothing.
            here = _fit(s, order[place], k, largest - 40.0)
            if here > largest:
                total = total * np.exp(largest - here) + 1.0 if total > 0 else 1.0
                largest = here
            elif here > -np.inf:
                total += np.exp(here - largest)
        # Nobody can have become this record: it fits no one, whatever it is divided by.
        out[k] = largest + np.log(total / n) if total > 0 else 0.0


def _by_block(block: Ints, count: int) -> tuple[Ints, Ints]:
    order = np.argsort(block, kind="stable").astype(np.int64)
    begin = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(block, minlength=count), out=begin[1:])
    return begin, order


def own_fit(
    sides: Sides,
    own: Ints,
    *,
    weight: Floats | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> OwnFit:
    """For each record of `a`, whether its own masked record fits it best, and how many as well.

    `own[i]` is the masked record of record i, -1 where there is none. `weight` is subtracted from
    the fit of each masked record. Fits within `tolerance` tie, relative to a fit beyond 1.
    `threads` never alters the result.

    >>> none, void = np.zeros(3, np.int64), np.empty((3, 0), np.int64)
    >>> x = np.array([[0.0], [1.0], [5.0]])
    >>> sides = Sides(none, none, x, x[::-1].copy(), np.empty((3, 0, 2), np.int64),
    ...               np.empty((3, 0, 2), np.int64), none[:0], void, void, np.empty(0), none[:0],
    ...               none[:0])
    >>> own_fit(sides, np.array([2, 0, 0])).best.tolist()
    [True, False, True]
    """
    n, m = sides.block_a.size, sides.block_b.size
    if own.shape != (n,) or (n and (own.min() < -1 or own.max() >= m)):
        raise ValueError("own must name a masked record for each record, or -1")
    blocks = int(max(sides.block_a.max(initial=-1), sides.block_b.max(initial=-1))) + 1
    begin, order = _by_block(sides.block_b, blocks)
    shift = np.zeros(m) if weight is None else weight
    fit, best, ties = np.empty(n), np.empty(n, np.bool_), np.empty(n, np.int64)

    def work(start: int, stop: int) -> None:
        _search(sides, own, begin, order, shift, tolerance, start, stop, fit, best, ties)

    in_parts(work, n, threads)
    return OwnFit(fit, best, ties)


def log_mixture(sides: Sides, *, threads: int | None = None) -> Floats:
    """The logarithm of each masked record's mean likelihood over all records of `a`; 0 where no
    record can have become it."""
    n, m = sides.block_a.size, sides.block_b.size
    blocks = int(max(sides.block_a.max(initial=-1), sides.block_b.max(initial=-1))) + 1
    begin, order = _by_block(sides.block_a, blocks)
    out = np.empty(m)

    def work(start: int, stop: int) -> None:
        _mixed(sides, begin, order, n, start, stop, out)

    in_parts(work, m, threads)
    return out
