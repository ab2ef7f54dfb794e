"""Splitting points at medians: all coordinates at once, or the widest one.

Recursive histogram sanitization (Chawla, Dwork, McSherry, Smith & Wee 2005) cuts every coordinate
of a group at its median at once. In d dimensions that makes 2^d cells, so that with many
coordinates almost every point ends in a cell of its own. Lasko's spectral variant (2007, figure
4-2) cuts one coordinate at a time, the one with the largest range among the group's points, of the
principal components: cells stay as large as wanted.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..neighbours.blocks import distinct_rows, select

_DIGITS = 1e-12
"""Scores closer than this part of the largest are equal: rounding must not part equal records."""


def principal_scores(x: np.ndarray) -> Floats:
    """T = UD of the centred points: their coordinates on the principal components.

    A component's sign is such that its largest loading is positive, so that the same points give
    the same scores everywhere.

    >>> principal_scores(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])).round(6).tolist()
    [[-5.0, 0.0], [0.0, 0.0], [5.0, 0.0]]
    """
    n, d = x.shape
    centred = x - x.mean(axis=0) if n else x
    if d <= n:
        # The small problem has the same directions, and the table is read twice.
        directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    else:
        directions = np.linalg.svd(centred, full_matrices=False)[2].T
    if directions.size:
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.sign(directions[largest, np.arange(directions.shape[1])])
    scores: Floats = centred @ directions
    unit = float(np.abs(scores).max(initial=0.0)) * _DIGITS
    if unit > 0:
        scores /= unit
        np.round(scores, out=scores)
        scores *= unit
    return scores


@njit(cache=True, nogil=True)
def _widest(x: Floats, rows: Ints, low: Floats, high: Floats) -> int:
    """The coordinate with the largest range among these rows, -1 where they are all one point."""
    low[:], high[:] = np.inf, -np.inf
    for i in rows:
        for j in range(x.shape[1]):
            value = x[i, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
    best, widest = -1, 0.0
    for j in range(x.shape[1]):
        if high[j] - low[j] > widest:
            best, widest = j, high[j] - low[j]
    return best


@njit(cache=True, nogil=True)
def _between_values(keys: Floats, rows: Ints, low: int, high: int, middle: int, least: int) -> int:
    """Moves the cut away from the middle of equal keys, to the nearer end of their run.

    It stays where a side would have fewer than `least` points. Afterwards all keys before the cut
    are no larger than those behind it.
    """
    value = keys[middle]
    first, last = middle, middle
    for i in range(middle - 1, low - 1, -1):
        if keys[i] == value:
            first -= 1
            keys[i], keys[first] = keys[first], keys[i]
            rows[i], rows[first] = rows[first], rows[i]
    for i in range(middle, high):
        if keys[i] == value:
            keys[i], keys[last] = keys[last], keys[i]
            rows[i], rows[last] = rows[last], rows[i]
            last += 1
    can_first, can_last = first - low >= least, high - last >= least
    if can_first and (not can_last or middle - first <= last - middle):
        return first
    return last if can_last else middle


@njit(cache=True, nogil=True)
def _widest_splits(x: Floats, k: int, most: int) -> Ints:
    """Labels 0, 1, ... of groups of k to `most` points (2k - 1 or more)."""
    n, d = x.shape
    labels, order = np.empty(n, np.int64), np.arange(n)
    keys, least, greatest = np.empty(n), np.empty(d), np.empty(d)
    stack = [(0, n)]
    groups = 0
    while len(stack) > 0:
        low, high = stack.pop()
        if high - low <= most:
            labels[order[low:high]] = groups
            groups += 1
            continue
        middle = low + (high - low) // 2
        column = _widest(x, order[low:high], least, greatest)
        if column >= 0:
            for i in range(low, high):
                keys[i] = x[order[i], column]
            select(keys, order, low, high, middle)
            # A part of the points on either side, so that even many equal values end soon.
            kept = max(k, (high - low) // 8)
            middle = _between_values(keys, order, low, high, middle, kept)
        stack.append((middle, high))
        stack.append((low, middle))
    return labels


def widest_splits(x: np.ndarray, k: int, most: int) -> Ints:
    """Groups of k to `most` points: the widest coordinate split at its median, again and again.

    Equal values at the median stay together where both sides keep k points (and an eighth of the
    group); otherwise they are divided so that the halves are even. Fewer points than `most` are one
    group.

    >>> widest_splits(np.array([[1.0, 0.0], [9.0, 0.0], [2.0, 1.0], [8.0, 1.0]]), 2, 3).tolist()
    [0, 1, 0, 1]
    """
    if k < 1 or most < 2 * k - 1:
        raise ValueError(f"groups of {k} need room for {2 * k - 1}, not {most}")
    points = _checked(x)
    return _widest_splits(points, k, most)


@njit(cache=True, nogil=True)
def _upper_half(keys: Floats, median: float, word: Ints, bit: int) -> None:
    """Sets a bit of the points above the median, or not below it, whichever halves better."""
    size = keys.size
    below, upto = 0, 0
    for i in range(size):
        below += keys[i] < median
        upto += keys[i] <= median
    at_or_above = abs(2 * below - size) <= abs(2 * upto - size)
    for i in range(size):
        if keys[i] > median or (at_or_above and keys[i] == median):
            word[i] |= np.int64(1) << bit


@njit(cache=True, nogil=True)
def _cells(x: Floats, rows: Ints) -> Ints:
    """The cell of each of these rows after every coordinate was cut at its median."""
    size, d = rows.size, x.shape[1]
    patterns = np.zeros((size, (d + 62) // 63), np.int64)
    keys, moved, places = np.empty(size), np.empty(size), np.empty(size, np.int64)
    word = np.zeros(size, np.int64)
    for j in range(d):
        for i in range(size):
            keys[i] = x[rows[i], j]
        moved[:] = keys
        select(moved, places, 0, size, size // 2)
        _upper_half(keys, moved[size // 2], word, j % 63)
        if j % 63 == 62 or j == d - 1:
            patterns[:, j // 63] = word
            word[:] = 0
    return distinct_rows(patterns, np.empty((size, 0), np.int32))[1]


@njit(cache=True, nogil=True)
def _histogram_splits(x: Floats, k: int) -> Ints:
    n = x.shape[0]
    labels, order, buffer = np.empty(n, np.int64), np.arange(n), np.empty(n, np.int64)
    stack = [(0, n)]
    groups = 0
    while len(stack) > 0:
        low, high = stack.pop()
        size = high - low
        # A median of fewer points than 2k leaves less than k on a side.
        cell = _cells(x, order[low:high]) if size >= 2 * k else np.zeros(size, np.int64)
        cells = cell.max() + 1 if size > 0 else 0
        if cells <= 1:
            labels[order[low:high]] = groups
            groups += size > 0
            continue
        starts = np.zeros(cells + 1, np.int64)
        for i in range(size):
            starts[cell[i] + 1] += 1
        for c in range(cells):
            starts[c + 1] += starts[c]
            if starts[c + 1] > starts[c]:
                stack.append((low + starts[c], low + starts[c + 1]))
        at = starts.copy()
        for i in range(size):
            buffer[at[cell[i]]] = order[low + i]
            at[cell[i]] += 1
        order[low:high] = buffer[:size]
    return labels


def histogram_splits(x: np.ndarray, k: int) -> Ints:
    """Cells of points: every coordinate cut at its median at once, again in each cell of 2k points
    or more. Cells may be as small as one point.

    Equal values at a median stay together, on the side that makes the halves more even.

    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> histogram_splits(corners, 2).tolist()
    [3, 2, 1, 0, 3]
    """
    if k < 1:
        raise ValueError("a group has one point or more")
    points = _checked(x)
    return _histogram_splits(points, k)


def _checked(x: np.ndarray) -> Floats:
    points = np.ascontiguousarray(x, dtype=np.float64)
    if not np.isfinite(points).all():
        raise ValueError("a missing or infinite value lies on no side of a median")
    return points
