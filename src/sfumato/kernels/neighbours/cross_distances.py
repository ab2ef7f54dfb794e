"""Squared distances of every record of one file to every record of another.

The distance is that of linkage.py: squared differences summed in column order, 1 for a value beside
a missing one, none between two missing ones, and 1 for nominal values that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.threads import cores


@njit(cache=True, nogil=True)
def _between(
    a: Floats, b: Floats, ca: Codes, cb: Codes, start: int, stop: int, out: Floats
) -> None:
    for i in range(start, stop):
        row = out[i - start]
        row[:] = 0.0
        for j in range(a.shape[0]):
            value, column = a[j, i], b[j]
            for k in range(column.size):
                step = column[k] - value
                if np.isnan(step):
                    row[k] += 1.0 if np.isnan(column[k]) != np.isnan(value) else 0.0
                else:
                    row[k] += step * step
        for j in range(ca.shape[0]):
            code, codes = ca[j, i], cb[j]
            for k in range(codes.size):
                row[k] += 1.0 if codes[k] != code else 0.0


def cross_distances(a: Floats, b: Floats, ca: Codes, cb: Codes) -> Floats:
    """(n, m): the squared distance of each row of `a` to each of `b`; `ca` and `cb` are codes.

    >>> none = np.empty((2, 0), np.int32)
    >>> x = np.array([[0.0, np.nan], [3.0, 1.0]])
    >>> cross_distances(x, x, none, none).tolist()
    [[0.0, 10.0], [10.0, 0.0]]
    """
    out = np.empty((len(a), len(b)))
    _between(*_turned(a, b, ca, cb), 0, len(a), out)
    return out


def nearest_few(
    a: Floats, b: Floats, ca: Codes, cb: Codes, k: int, *, threads: int | None = None
) -> tuple[Ints, Floats]:
    """(n, k): for each row of `a` the k nearest rows of `b`, in no order, and their distances."""
    n, m = len(a), len(b)
    k = min(k, m)
    where, apart = np.empty((n, k), np.int64), np.empty((n, k))
    columns = _turned(a, b, ca, cb)
    rows = max(1, 4_000_000 // max(m, 1))

    def work(start: int, stop: int) -> None:
        out = np.empty((stop - start, m))
        _between(*columns, start, stop, out)
        few = np.argpartition(out, k - 1, axis=1)[:, :k]
        where[start:stop], apart[start:stop] = few, np.take_along_axis(out, few, axis=1)

    cuts = [*range(0, n, rows), n]
    with ThreadPoolExecutor(cores(threads)) as pool:
        for task in [pool.submit(work, start, stop) for start, stop in pairwise(cuts)]:
            task.result()
    return where, apart


def least_few(
    costs: Callable[[int, int], Floats], n: int, m: int, k: int, *, threads: int | None = None
) -> tuple[Ints, Floats, Ints, Floats]:
    """The k cheapest columns of each row and the k cheapest rows of each column, with their costs.

    `costs(low, high)` are those of some of the n rows, with all m columns.
    """
    few, back = min(k, m), min(k, n)
    where, apart = np.empty((n, few), np.int64), np.empty((n, few))
    rows, least = np.empty((0, m), np.int64), np.empty((0, m))
    step = max(1, 4_000_000 // max(m, 1))

    def work(span: tuple[int, int]) -> Floats:
        out = costs(*span)
        best = np.argpartition(out, few - 1, axis=1)[:, :few]
        where[slice(*span)], apart[slice(*span)] = best, np.take_along_axis(out, best, axis=1)
        return out

    spans = list(pairwise([*range(0, n, step), n]))
    with ThreadPoolExecutor(cores(threads)) as pool:
        # A few spans at a time: what they found is held until it is merged.
        for at in range(0, len(spans), cores(threads)):
            some = spans[at : at + cores(threads)]
            for (low, high), out in zip(some, pool.map(work, some), strict=True):
                numbers = np.broadcast_to(np.arange(low, high)[:, None], out.shape)
                rows, least = np.vstack((rows, numbers)), np.vstack((least, out))
                if len(least) > back:
                    kept = np.argpartition(least, back - 1, axis=0)[:back]
                    rows = np.take_along_axis(rows, kept, axis=0)
                    least = np.take_along_axis(least, kept, axis=0)
    return where, apart, np.ascontiguousarray(rows.T), np.ascontiguousarray(least.T)


def _turned(a: Floats, b: Floats, ca: Codes, cb: Codes) -> tuple[Floats, Floats, Codes, Codes]:
    """Column by column, so that the inner loop runs along memory."""
    if a.shape[1] != b.shape[1] or ca.shape[1] != cb.shape[1]:
        raise ValueError("a and b must have the same columns")
    return (
        np.ascontiguousarray(a.T, dtype=np.float64),
        np.ascontiguousarray(b.T, dtype=np.float64),
        np.ascontiguousarray(ca.T, dtype=np.int32),
        np.ascontiguousarray(cb.T, dtype=np.int32),
    )
