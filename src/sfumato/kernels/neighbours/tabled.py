"""The nearest records and the kernel density of every target, by distances that are looked up.

A target is a bin in each column, a record a place (a bin, or a label that stands for several), and
a table for each column says how far a place is from a bin: the distance is their sum. So numbers,
categories and labels are treated alike.

Equal records are collapsed, and the others sorted. Records that begin alike then follow one
another, and as soon as what they share is too far already all of them are passed over: the answer
is that of a plain scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Floats, Ints
from ..threads import in_parts
from .blocks import distinct_rows

Singles = NDArray[np.float32]
LEVELS = 16
"""Leading columns by which records are passed over together."""


class Sorted(NamedTuple):
    """Distinct records in the order of their leading columns."""

    columns: Ints
    """(p,): the order in which columns are looked at"""
    codes: Codes
    """(m, p)"""
    weights: Floats
    """(m,): how many records each stands for"""
    shared: Codes
    """(m + 1,): how many leading columns a record shares with the one before"""
    after: Codes
    """(m, levels): the next record that differs in the columns up to each level"""


@njit(cache=True, nogil=True)
def _links(codes: Codes, levels: int) -> tuple[Codes, Codes]:
    m, p = codes.shape
    shared = np.zeros(m + 1, np.int32)
    after = np.empty((m, levels), np.int32)
    for i in range(1, m):
        d = 0
        while d < p and codes[i, d] == codes[i - 1, d]:
            d += 1
        shared[i] = d
    for i in range(m - 1, -1, -1):
        for d in range(levels):
            after[i, d] = i + 1 if shared[i + 1] <= d or i + 1 == m else after[i + 1, d]
    return shared, after


def sorted_records(cells: np.ndarray, tables: Sequence[np.ndarray]) -> Sorted:
    """Records (m, p) of places, ready to be looked through by these tables."""
    codes = np.ascontiguousarray(cells, dtype=np.int32)
    first, member = distinct_rows(np.empty((len(codes), 0), np.int64), codes)
    weights = np.bincount(member, minlength=first.size).astype(np.float64)
    distinct = codes[first]
    # Columns in which others are far come first: whoever differs there is passed over at once.
    apart = [_apart(distinct[:, j], weights, table) for j, table in enumerate(tables)]
    columns = np.argsort(-np.array(apart), kind="stable").astype(np.int64)
    distinct = distinct[:, columns]
    distinct = np.ascontiguousarray(distinct[order := np.lexsort(distinct.T[::-1])])
    shared, after = _links(distinct, min(LEVELS, distinct.shape[1]))
    return Sorted(columns, distinct, weights[order], shared, after)


def _apart(codes: np.ndarray, weights: np.ndarray, table: np.ndarray) -> float:
    """How far a record is from the bins that records show, on average."""
    share = np.bincount(codes, weights=weights, minlength=table.shape[1])
    bins = share[: len(table)] + 1.0 / len(table)
    return float(bins @ table @ share) / float(bins.sum() * max(share.sum(), 1.0))


@njit(cache=True, nogil=True)
def _first(x: Codes, codes: Codes) -> int:
    """Where a target would stand among the records."""
    low, high = 0, codes.shape[0]
    while low < high:
        middle = (low + high) // 2
        less = False
        for j in range(x.size):
            if codes[middle, j] != x[j]:
                less = codes[middle, j] < x[j]
                break
        if less:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _look(
    targets: Codes, codes: Codes, weights: Floats, shared: Codes, after: Codes,
    flat: Singles, starts: Ints, places: Ints, width: float, reach: float, beyond: float,
    start: int, stop: int, nearest: Floats, density: Floats,
) -> None:  # fmt: skip
    m, p = codes.shape
    levels = after.shape[1]
    base, part = np.empty(p, np.int64), np.zeros(p + 1)
    for i in range(start, stop):
        for j in range(p):
            base[j] = starts[j] + targets[i, j] * places[j]
        best = np.inf
        at = _first(targets[i], codes)
        for r in range(max(at - 1, 0), min(at + 1, m)):
            total = 0.0
            for j in range(p):
                total += flat[base[j] + codes[r, j]]
            best = min(best, total)
        r, d = 0, 0
        while r < m:
            while d < p:
                total = part[d] + flat[base[d] + codes[r, d]]
                if total >= best:
                    break
                d += 1
                part[d] = total
            if d == p:
                best = float(part[p])
                r += 1
            else:
                r = after[r, d] if d < levels else r + 1
            d = min(shared[r], d)
        nearest[i] = best
        if width <= 0.0:
            continue
        limit, found = max(reach, best + beyond), 0.0
        r, d = 0, 0
        while r < m:
            while d < p:
                total = part[d] + flat[base[d] + codes[r, d]]
                if total > limit:
                    break
                d += 1
                part[d] = total
            if d == p:
                # Measured from the nearest, so that nothing underflows.
                found += weights[r] * np.exp((best - part[p]) / width)
                r += 1
            else:
                r = after[r, d] if d < levels else r + 1
            d = min(shared[r], d)
        density[i] = np.log(found) - best / width


def nearest_by_table(
    targets: np.ndarray,
    records: Sorted,
    tables: Sequence[np.ndarray],
    width: float = 0.0,
    *,
    reach: float = 0.0,
    beyond: float = 0.0,
    threads: int | None = None,
) -> tuple[Floats, Floats]:
    """The distance of each target's nearest record, and the logarithm of the sum of
    exp(-distance / width) over the records at most `reach` away, or not more than `beyond` further
    than the nearest.

    `tables[j]` (bins, places) says how far each place of column j is from each bin. Without a width
    there are no densities.

    >>> tables = [np.array([[0.0, 1.0], [1.0, 0.0]])]
    >>> records = sorted_records(np.array([[0], [0], [1]]), tables)
    >>> near, dense = nearest_by_table(np.array([[0], [1]]), records, tables, 1.0, reach=2.0)
    >>> near.tolist(), np.exp(dense).round(3).tolist()
    ([0.0, 0.0], [2.368, 1.736])
    """
    n = len(targets)
    nearest, density = np.full(n, np.inf), np.full(n, -np.inf)
    if not n or not len(records.codes):
        return nearest, density
    listed = [np.ascontiguousarray(tables[j], dtype=np.float32) for j in records.columns]
    if any((one < 0).any() for one in listed):
        raise ValueError("a distance is negative: sums of some columns would be no bound")
    sizes = np.array([one.size for one in listed], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1].astype(np.int64)
    places = np.array([one.shape[1] for one in listed], dtype=np.int64)
    flat = np.concatenate([one.ravel() for one in listed])
    turned = np.ascontiguousarray(targets[:, records.columns], dtype=np.int32)
    # Neighbours one after another look up the same rows of the tables.
    order = np.lexsort(turned.T[::-1])
    turned = np.ascontiguousarray(turned[order])
    near, dense = np.empty(n), np.full(n, -np.inf)

    def work(start: int, stop: int) -> None:
        _look(
            turned, records.codes, records.weights, records.shared, records.after, flat, starts,
            places, width, reach, beyond, start, stop, near, dense,
        )  # fmt: skip

    in_parts(work, n, threads, 16, "looking for the nearest records")
    nearest[order], density[order] = near, dense
    return nearest, density
