"""The best way to cut an ordering of the records into groups of k to 2k - 1.

Hansen & Mukherjee (2003), "A polynomial algorithm for optimal univariate microaggregation", IEEE
TKDE 15(4): cuts are nodes, a group is an edge that costs its sum of squared errors (SSE), and the
shortest path is the best partition into runs of the ordering. For one variable and sorted values it
is the best of all partitions. Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz & Sebe (2006),
"Efficient multivariate data-oriented microaggregation", VLDB Journal 15, cut orderings of vectors.

No group need be larger: one of 2k or more can be split in two, which never adds to the SSE.

Arithmetic: no cost is a small difference of large sums. `cut_ordering` measures a group from its
last record, where the squares that are subtracted are less than its size times the result;
`optimal_univariate` only adds terms that are not negative, and measures from values of the group.
So values such as 1e9 + 0.001 lose nothing. Of cuts that cost the same, the one with the smaller
last group is taken; costs that differ by less than rounding count as the same, whichever is found.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.neighbours.remaining import checked

SMALL = 16
"""Up to this k all starts of a group are tried."""


@njit(cache=True, nogil=True)
def _shortest_path(x: Floats, order: Ints, k: int) -> Ints:
    """Where the last group of each beginning of the ordering starts."""
    n, d = x.shape
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    start = np.zeros(n + 1, np.int64)
    sums = np.empty(d)
    for end in range(k, n + 1):
        last = order[end - 1]
        sums[:] = 0.0
        squares = 0.0
        for begin in range(end - 1, max(end - 2 * k, -1), -1):
            row = order[begin]
            square = 0.0
            for j in range(d):
                step = x[row, j] - x[last, j]
                sums[j] += step
                squares += step * step
                square += sums[j] * sums[j]
            size = end - begin
            if size >= k and (begin == 0 or begin >= k):
                total = cost[begin] + max(squares - square / size, 0.0)
                if total < cost[end]:
                    cost[end], start[end] = total, begin
    return start


@njit(cache=True, nogil=True)
def _label(start: Ints, order: Ints) -> Ints:
    """Groups along the path, numbered in the order of the ordering."""
    end, groups = order.size, 0
    while end > 0:
        end = start[end]
        groups += 1
    labels = np.empty(order.size, np.int64)
    end = order.size
    while end > 0:
        groups -= 1
        for at in range(start[end], end):
            labels[order[at]] = groups
        end = start[end]
    return labels


def cut_ordering(points: ArrayLike, order: ArrayLike, k: int) -> NDArray[np.int64]:
    """Group of each record: runs of k to 2k - 1 of the ordering, with the least SSE there is.

    `order` lists every row once. Time is in proportion to n k d. Groups are numbered along the
    ordering.

    >>> x = np.array([[0.0], [9.0], [0.1], [9.2], [0.3], [9.1], [0.2]])
    >>> cut_ordering(x, [0, 2, 6, 4, 1, 5, 3], 3).tolist()
    [0, 1, 0, 1, 0, 1, 0]
    """
    x = checked(points, k)
    rows = np.ascontiguousarray(order, dtype=np.int64)
    seen = np.zeros(len(x), np.bool_)
    if rows.shape == (len(x),) and rows.min() >= 0 and rows.max() < len(x):
        seen[rows] = True
    if not seen.all():
        raise ValueError(f"an ordering of {len(x)} records lists each row from 0 once")
    return _label(_shortest_path(x, rows, int(k)), rows)


@njit(cache=True, nogil=True)
def _blocks(v: Floats, k: int) -> tuple[Floats, Floats]:
    """Mean and SSE of sorted values from each place to the end of its block of k, and up to it.

    tails[i] describes v[i : end of i's block], heads[i] describes v[start of i's block : i + 1].
    Means are counted from the block's last (tails) or first value (heads): it belongs to the run
    that is described, so that no digits go to values far away.
    """
    n = v.size
    heads, tails = np.empty((n, 2)), np.empty((n, 2))
    for first in range(0, n, k):
        final = min(first + k, n) - 1
        mean = spread = 0.0
        for i in range(first, final + 1):
            value = v[i] - v[first]
            step = value - mean
            mean += step / (i - first + 1)
            spread += step * (value - mean)
            heads[i, 0], heads[i, 1] = mean, spread
        mean = spread = 0.0
        for i in range(final, first - 1, -1):
            value = v[i] - v[final]
            step = value - mean
            mean += step / (final - i + 1)
            spread += step * (value - mean)
            tails[i, 0], tails[i, 1] = mean, spread
    return heads, tails


@njit(cache=True, nogil=True)
def _cost(v: Floats, heads: Floats, tails: Floats, k: int, begin: int, end: int) -> float:
    """SSE of the sorted values begin..end-1, which are k to 2k - 1 and so meet 1 to 3 blocks."""
    block, final = begin // k, (end - 1) // k
    size, mean, spread = (block + 1) * k - begin, tails[begin, 0], tails[begin, 1]
    if block == final:
        return float(spread)
    # Chan, Golub & LeVeque (1983): joined runs add the square of the distance of their means.
    origin = v[(block + 1) * k - 1]
    if final == block + 2:
        step = (v[(block + 2) * k - 1] - origin) + tails[(block + 1) * k, 0] - mean
        spread += tails[(block + 1) * k, 1] + step * step * (size * k / (size + k))
        mean += step * (k / (size + k))
        size += k
    more = end - final * k
    step = (v[final * k] - origin) + heads[end - 1, 0] - mean
    return float(spread + heads[end - 1, 1] + step * step * (size * more / (size + more)))


@njit(cache=True, nogil=True)
def _univariate_path(v: Floats, k: int) -> Ints:
    """`_shortest_path` for sorted values, in time n log k.

    Where k is small every start is tried, which is faster than to find out which need not be. The
    cost of a run obeys the quadrangle inequality: the best start of a last group moves only
    forward with its end. The k ends that follow known costs are solved together: the middle one by
    trying every start, which halves the starts left for the ends before and after it.
    """
    n = v.size
    heads, tails = _blocks(v, k)
    cost, start = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    for end in range(k, min(2 * k, n + 1)):
        cost[end] = _cost(v, heads, tails, k, 0, end)
    if k <= SMALL:
        for end in range(2 * k, n + 1):
            lowest, best = np.inf, 0
            for begin in range(end - k, max(k, end - 2 * k + 1) - 1, -1):
                total = cost[begin]
                if total < lowest:  # no cost is negative
                    total += _cost(v, heads, tails, k, begin, end)
                    if total < lowest:
                        lowest, best = total, begin
            cost[end], start[end] = lowest, best
        return start
    stack = np.empty((64, 4), np.int64)  # first and last end, first and last start to try
    for first in range(2 * k, n + 1, k):
        stack[0, 0], stack[0, 1] = first, min(first + k - 1, n)
        stack[0, 2], stack[0, 3] = k, n
        top = 1
        while top > 0:
            top -= 1
            low, high, least, most = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
            end = (low + high) // 2
            for begin in range(min(most, end - k), max(least, end - 2 * k + 1) - 1, -1):
                total = cost[begin] + _cost(v, heads, tails, k, begin, end)
                if total < cost[end]:
                    cost[end], start[end] = total, begin
            for below in range(2):
                one, other = (low, end - 1) if below else (end + 1, high)
                if one <= other:
                    stack[top, 0], stack[top, 1] = one, other
                    stack[top, 2] = least if below else start[end]
                    stack[top, 3] = start[end] if below else most
                    top += 1
    return start


def optimal_univariate(values: ArrayLike, k: int) -> NDArray[np.int64]:
    """Group of each value: no partition into groups of k or more has a lower SSE.

    Time is in proportion to n log n, whatever k is. Equal values may fall into two groups, the
    lower rows into the first. Groups are numbered by rising values.

    >>> optimal_univariate([1.0, 9.0, 1.1, 9.2, 6.0, 1.2, 9.1], 3).tolist()
    [0, 1, 0, 1, 1, 0, 1]
    """
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1:
        raise ValueError(f"values are one column, not {column.ndim}-dimensional")
    largest = np.abs(column).max(initial=0.0)
    if np.isfinite(largest):
        # By a power of two, which rounds nothing: squares neither overflow nor vanish.
        column = np.ldexp(column, -int(np.frexp(largest)[1]))
    v = checked(column[:, None], k)[:, 0]
    order = _sorted(v)
    return _label(_univariate_path(v[order], int(k)), order)


def _sorted(v: Floats) -> Ints:
    """Rows by rising value, equal ones in their order: sorted as whole numbers once more where some
    are equal, which is several times faster than a stable sort."""
    order = np.argsort(v).astype(np.int64, copy=False)
    ranked = v[order]
    changes = ranked[1:] != ranked[:-1]
    if not changes.all():
        run = np.concatenate(([0], np.cumsum(changes, dtype=np.int64))) * v.size
        order = np.sort(run + order) - run
    return order
