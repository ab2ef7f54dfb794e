"""Records that may have come from one: what survives when a range of values is known per column.

Many maskings move a value only so far: rank swapping by p ranks (Nin, Herranz & Torra 2008,
"Rethinking rank swapping to decrease disclosure risk", Data & Knowledge Engineering 64(1)),
univariate microaggregation to one of the two nearest centroids. Whoever knows this has, for each
known column of a record, a range of masked values, and the record must be in the intersection.

A column is held sorted: the values, then the missing ones, then the cells that were suppressed, of
which nothing is known. A range of values is then a run of places, `low` to `high`, and a suppressed
cell, at `tail` and beyond, is in every range. To intersect, only the shortest run of a record is
walked, and the others are looked up by place, so that the cost is O(n w v) for n records, v columns
and shortest runs of w places; a bitset for each record would cost O(n m v / 64) whatever w.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.threads import in_parts

Places = NDArray[np.int32]


class Sorted(NamedTuple):
    """A masked column in order."""

    order: Places
    """rows: those with values from the lowest, then the missing, then the suppressed"""
    values: Floats
    """the sorted values"""
    tail: int
    """the place of the first suppressed row"""


class Windows(NamedTuple):
    """For each record and column the masked records that agree: places low..high - 1, and all from
    `tail` on."""

    order: Places
    """(v, m): the row at each place"""
    place: Places
    """(m, v): the place of each row"""
    low: Places
    """(n, v)"""
    high: Places
    tail: Ints
    """(v,)"""


class Survivors(NamedTuple):
    """What is left for each record."""

    remaining: Ints
    """masked records in the windows of all columns"""
    distance: Floats
    """least squared distance to one of them; infinite where none is left"""
    ties: Ints
    """how many of them attain it"""
    own_left: NDArray[np.bool_]
    """whether the record's own is left"""
    own_tied: NDArray[np.bool_]
    """whether its own is among the nearest"""


def sort_column(y: Floats, hidden: NDArray[np.bool_] | None = None) -> Sorted:
    """A masked column in order; NaN is missing, unless it is `hidden`.

    >>> found = sort_column(np.array([3.0, np.nan, 1.0]))
    >>> found.order.tolist(), found.values.tolist(), found.tail
    ([2, 0, 1], [1.0, 3.0], 3)
    """
    last = np.zeros(y.size, np.bool_) if hidden is None else hidden
    group = np.where(last, 2, np.isnan(y)).astype(np.int8)
    order = np.lexsort((y, group)).astype(np.int32)
    present = int(np.count_nonzero(group == 0))
    return Sorted(order, y[order[:present]], int(y.size - np.count_nonzero(last)))


def value_windows(x: Floats, column: Sorted, below: Floats, above: Floats) -> tuple[Places, Places]:
    """The run of values from x - below to x + above; the missing ones for a missing x."""
    low = np.searchsorted(column.values, x - below, side="left")
    high = np.searchsorted(column.values, x + above, side="right")
    return _with_missing(x, column, low, high)


def rank_windows(x: Floats, column: Sorted, reach: int) -> tuple[Places, Places]:
    """The run of values that x can have been swapped with, when ranks differ by no more than
    `reach`.

    A value that occurs several times may have had any of its ranks, and values equal to the one at
    the end of the reach may be that one: both runs of ties are in.

    >>> column = sort_column(np.array([1.0, 2.0, 2.0, 3.0, 3.0, 4.0]))
    >>> [run.tolist() for run in rank_windows(np.array([2.0, 4.0]), column, 1)]
    [[0, 3], [5, 6]]
    """
    return span_windows(x, *widened(x, x, column.values, reach), column)


def widened(low: Floats, high: Floats, values: Floats, reach: int) -> tuple[Floats, Floats]:
    """The least and the largest of the sorted values within `reach` ranks of a range's own; NaN
    where there is none.

    >>> ends = widened(np.array([2.0, 9.0]), np.array([3.0, 9.0]), np.array([1.0, 2.0, 4.0]), 1)
    >>> [end.tolist() for end in ends]
    [[1.0, 4.0], [4.0, 4.0]]
    """
    first = np.searchsorted(values, low, side="left")
    last = np.searchsorted(values, high, side="right") - 1
    start, stop = np.maximum(first - reach, 0), np.minimum(last + reach, values.size - 1)
    some = (start <= stop) & ~np.isnan(low) & ~np.isnan(high)
    least, largest = np.full(low.size, np.nan), np.full(low.size, np.nan)
    least[some], largest[some] = values[start[some]], values[stop[some]]
    return least, largest


def span_windows(x: Floats, low: Floats, high: Floats, column: Sorted) -> tuple[Places, Places]:
    """The run of values from low to high, none where these are NaN; the missing ones for a missing
    x."""
    begin, end = np.zeros(x.size, np.int64), np.zeros(x.size, np.int64)
    some = ~np.isnan(low)
    begin[some] = np.searchsorted(column.values, low[some], side="left")
    end[some] = np.searchsorted(column.values, high[some], side="right")
    return _with_missing(x, column, begin, end)


def neighbour_windows(x: Floats, column: Sorted, slack: float) -> tuple[Places, Places]:
    """The run from the nearest value below x (by more than `slack`) to the nearest one above.

    The centroids of groups of consecutive values: x lies within its group's range, and so does the
    group's centroid. Hence no other centroid lies strictly between the two.

    >>> column = sort_column(np.array([1.0, 1.0, 5.0, 5.0, 9.0, 9.0]))
    >>> [run.tolist() for run in neighbour_windows(np.array([4.0, 5.0, 0.0]), column, 0.0)]
    [[0, 0, 0], [4, 6, 2]]
    """
    s = column.values
    under = np.searchsorted(s, x - slack, side="left") - 1
    over = np.searchsorted(s, x + slack, side="right")
    low = np.zeros(x.size, np.int64)
    has = under >= 0
    low[has] = np.searchsorted(s, s[under[has]], side="left")
    high = np.full(x.size, s.size)
    has = over < s.size
    high[has] = np.searchsorted(s, s[over[has]], side="right")
    return _with_missing(x, column, low, high)


def _with_missing(x: Floats, column: Sorted, low: Ints, high: Ints) -> tuple[Places, Places]:
    gone = np.isnan(x)
    low = np.where(gone, column.values.size, low)
    high = np.where(gone, column.tail, high)
    return low.astype(np.int32), np.maximum(low, high).astype(np.int32)


def gather(columns: Sequence[Sorted], runs: Sequence[tuple[Places, Places]]) -> Windows:
    """The windows of several columns together."""
    m = columns[0].order.size
    place = np.empty((m, len(columns)), np.int32)
    for j, column in enumerate(columns):
        place[column.order, j] = np.arange(m, dtype=np.int32)
    return Windows(
        np.stack([column.order for column in columns]),
        place,
        np.column_stack([low for low, _ in runs]),
        np.column_stack([high for _, high in runs]),
        np.array([column.tail for column in columns], np.int64),
    )


@njit(cache=True, nogil=True)
def apart(x: Floats, y: Floats) -> float:
    """Squared distance of two records: 1 for a value beside a missing one, nothing for an infinite
    one, which stands for a suppressed cell."""
    total = 0.0
    for j in range(x.size):
        if np.isinf(y[j]):
            continue
        step = y[j] - x[j]
        if not np.isnan(step):
            total += step * step
        elif np.isnan(x[j]) != np.isnan(y[j]):
            total += 1.0
    return total


@njit(cache=True, nogil=True)
def _fits(place: Places, low: Places, high: Places, tail: Ints, columns: Ints) -> bool:
    """Whether a record is in the windows of these columns."""
    for j in columns:
        p = place[j]
        if (p < low[j] or p >= high[j]) and p < tail[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def _survivors(
    order: Places, place: Places, low: Places, high: Places, tail: Ints,
    za: Floats, zb: Floats, ca: Codes, cb: Codes, own: Ints, tolerance: float,
    start: int, stop: int, count: Ints, distance: Floats, ties: Ints, own_left: NDArray[np.bool_],
    own_tied: NDArray[np.bool_],
) -> None:  # fmt: skip
    m = order.shape[1]
    left, reached = np.empty(m, np.int64), np.empty(m)
    for i in range(start, stop):
        # The shortest run first, the others by length: most records fall at the first test.
        length = (high[i] - low[i]) + (m - tail)
        columns = np.argsort(length)
        j, rest = columns[0], columns[1:]
        found, least = 0, np.inf
        for part in range(2):
            first, last = (low[i, j], high[i, j]) if part == 0 else (tail[j], m)
            for k in range(first, last):
                row = order[j, k]
                if _fits(place[row], low[i], high[i], tail, rest):
                    left[found], reached[found] = row, apart(za[i], zb[row])
                    for c in range(ca.shape[1]):
                        reached[found] += ca[i, c] != cb[row, c]
                    least = min(least, reached[found])
                    found += 1
        limit = least * (1.0 + tolerance)
        count[i], distance[i] = found, least
        for k in range(found):
            near = reached[k] <= limit
            ties[i] += near
            if left[k] == own[i]:
                own_left[i], own_tied[i] = True, near


def survivors(
    windows: Windows,
    za: Floats,
    zb: Floats,
    own: Ints,
    *,
    codes_a: Codes | None = None,
    codes_b: Codes | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Survivors:
    """The masked records in the windows of all columns, and the nearest of them.

    Distances are squared and taken over the columns of `za` and `zb`, standardized numbers of the
    records and of the masked records, and 1 is added for each code of `codes_a` and `codes_b` that
    differs. NaN is missing; an infinite cell of `zb` was suppressed and is near to everything.
    `own[i]` is the row of `zb` that masks record i, -1 where there is none.

    >>> masked = np.array([1.0, 2.0, 3.0, 8.0])
    >>> column = sort_column(masked)
    >>> runs = rank_windows(np.array([2.0, 8.0]), column, 1)
    >>> z = masked[:, None]
    >>> found = survivors(gather([column], [runs]), z[[1, 3]], z, np.array([0, 2]))
    >>> found.remaining.tolist(), found.own_left.tolist(), found.own_tied.tolist()
    ([3, 2], [True, True], [False, False])
    """
    n = len(windows.low)
    count, ties = np.zeros(n, np.int64), np.zeros(n, np.int64)
    distance = np.full(n, np.inf)
    own_left, own_tied = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    za, zb = np.ascontiguousarray(za, np.float64), np.ascontiguousarray(zb, np.float64)
    mine = np.ascontiguousarray(own, np.int64)
    m = windows.order.shape[1]
    ca = np.empty((n, 0), np.int32) if codes_a is None else np.ascontiguousarray(codes_a, np.int32)
    cb = np.empty((m, 0), np.int32) if codes_b is None else np.ascontiguousarray(codes_b, np.int32)
    if len(za) != n or len(zb) != m or mine.shape != (n,) or (len(ca), len(cb)) != (n, m):
        raise ValueError("records, masked records and own rows do not fit the windows")

    def work(start: int, stop: int) -> None:
        _survivors(
            windows.order, windows.place, windows.low, windows.high, windows.tail,
            za, zb, ca, cb, mine, tolerance, start, stop, count, distance, ties, own_left, own_tied,
        )  # fmt: skip

    in_parts(work, n, threads)
    return Survivors(count, distance, ties, own_left, own_tied)
