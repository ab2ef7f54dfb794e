"""Reductions over groups of records: means, medians, modes, ranges, value sets.

Labels are those of a partition: 0..g-1, and -1 for a suppressed record, which is never counted.
`groups` is g; it may be left out where the greatest label is the last group. One column in gives
one column out, a matrix (n, d) gives a matrix (g, d).

Codes are integers of any width but uint64. A missing value is 0 in unsigned codes (the codec's way)
and -1 in signed ones; a group without a value gets that code. Time and memory are in proportion to
records, groups and codes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.neighbours.blocks import select

Array = NDArray[Any]

SHORT = 24  # below this insertion sort beats the selection of a median
FEW = 64  # codes that compiled code sorts by insertion; numpy sorts more
ROOMY = 65_536  # a table of counts this long is always affordable


def _checked(labels: Array, groups: int | None, rows: int | None = None) -> tuple[Array, int]:
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind != "i":
        raise ValueError(f"labels are one column of signed integers, not {labels.dtype}")
    if rows is not None and labels.size != rows:
        raise ValueError(f"{labels.size} labels for {rows} records: one each is needed")
    low, high = (int(labels.min()), int(labels.max())) if labels.size else (-1, -1)
    count = high + 1 if groups is None else groups
    if low < -1 or high >= count:
        raise ValueError(f"labels run from {low} to {high}, not from -1 to {count - 1}")
    return _frozen(labels), count


def _frozen(values: Array) -> Array:
    """A read-only view: callers' arrays may be either, and each kind is compiled by itself."""
    view = values.view()
    view.flags.writeable = False
    return view


def _columns(values: Array) -> Array:
    """The same numbers as a matrix."""
    if values.ndim not in (1, 2):
        raise ValueError(f"records have one column or several, not {values.ndim} dimensions")
    return _frozen(values.reshape(-1, 1) if values.ndim == 1 else values)


def _coded(codes: Array) -> tuple[Array, int]:
    """The codes as a matrix, and the code of a missing value."""
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu" or codes.dtype == np.uint64:
        raise ValueError(f"codes are int8 to int64 or uint8 to uint32, not {codes.dtype}")
    missing = 0 if codes.dtype.kind == "u" else -1
    if missing < 0 and codes.size and codes.min() < missing:
        raise ValueError(f"code {codes.min()} is below -1, which stands for missing")
    return _columns(codes), missing


def numbered(labels: Ints) -> Ints:
    """The same groups, numbered 0..g-1 by first appearance."""
    if labels.size and not 0 <= labels.min() <= labels.max() < ROOMY + labels.size:
        labels = np.unique(labels, return_inverse=True)[1]
    backwards = np.arange(labels.size - 1, -1, -1)
    first = np.full(labels.max(initial=-1) + 1, labels.size)
    first[labels[backwards]] = backwards  # of several that are written the last one stays
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[labels]


def _offsets(labels: Array, groups: int) -> Ints:
    """Where each group would start if the records came group by group."""
    sizes = np.bincount(np.add(labels, 1, dtype=np.int64), minlength=groups + 1)
    sizes[0] = 0
    return np.cumsum(sizes)


@njit(cache=True, nogil=True)
def _order(labels: Array, offsets: Ints) -> Ints:
    place = offsets[:-1].copy()
    order = np.empty(offsets[-1], np.int64)
    for i in range(labels.size):
        g = labels[i]
        if g >= 0:
            order[place[g]] = i
            place[g] += 1
    return order


def group_order(labels: Array, groups: int | None = None) -> tuple[Ints, Ints]:
    """Rows group by group in their own order, and where each group starts (g + 1 offsets).

    >>> order, offsets = group_order(np.array([1, 0, -1, 1]))
    >>> order.tolist(), offsets.tolist()
    ([1, 0, 3], [0, 1, 3])
    """
    labels, count = _checked(labels, groups)
    offsets = _offsets(labels, count)
    return _order(labels, offsets), offsets


@njit(cache=True, nogil=True)
def _sums(labels: Array, x: Floats, total: Floats, carry: Floats) -> None:
    """Neumaier (1974): what rounding takes from `total` is kept in `carry`."""
    for i in range(labels.size):
        g = labels[i]
        if g >= 0:
            for j in range(x.shape[1]):
                old, value = total[g, j], x[i, j]
                new = old + value
                total[g, j] = new
                if abs(old) >= abs(value):
                    carry[g, j] += (old - new) + value
                else:
                    carry[g, j] += (value - new) + old


def _means(total: Floats, low: Floats, size: Ints) -> Floats:
    """Sums in two parts over sizes.

    The remainder of the division corrects its quotient: the mean of equal values is then that
    value, to the last bit. With the mean in two halves (Dekker 1971) both products are exact, up to
    2**26 records in a group.
    """
    with np.errstate(all="ignore"):
        mean = total / size
        split = 134217729.0 * mean
        upper = split - (split - mean)
        better = mean + ((total - upper * size) - (mean - upper) * size + low) / size
    return np.where(np.isfinite(better), better, mean)


def group_means(labels: Array, x: Array, groups: int | None = None) -> Floats:
    """Mean of each group, accurate to the last bit or nearly; NaN where a member is NaN.

    A group without records has no mean and gets NaN.

    >>> group_means(np.array([0, 1, 0]), np.array([0.5, 7.0, 1.5])).tolist()
    [1.0, 7.0]
    """
    matrix = _columns(np.asarray(x, dtype=np.float64))
    labels, count = _checked(labels, groups, len(matrix))
    total, carry = np.zeros((count, matrix.shape[1])), np.zeros((count, matrix.shape[1]))
    _sums(labels, matrix, total, carry)
    sizes = np.diff(_offsets(labels, count))[:, None]
    result = _means(total, np.where(np.isfinite(total), carry, 0.0), sizes)
    return result[:, 0] if np.ndim(x) == 1 else result


@njit(cache=True, nogil=True)
def _sort_few(values: Array) -> None:
    for i in range(1, values.size):
        value, at = values[i], i
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@njit(cache=True, nogil=True)
def _medians(x: Floats, order: Ints, offsets: Ints, lower: bool, result: Floats) -> None:
    most = 0
    for g in range(offsets.size - 1):
        most = max(most, offsets[g + 1] - offsets[g])
    buffer, moved = np.empty(most), np.empty(most, np.int64)
    for g in range(offsets.size - 1):
        size = offsets[g + 1] - offsets[g]
        for j in range(x.shape[1]):
            whole = size > 0
            for i in range(size):
                buffer[i] = x[order[offsets[g] + i], j]
                whole &= not np.isnan(buffer[i])
            if not whole:
                result[g, j] = np.nan
                continue
            high, low = size // 2, (size - 1) // 2
            if size <= SHORT:
                _sort_few(buffer[:size])
                left, right = buffer[low], buffer[high]
            else:
                select(buffer, moved, 0, size, high)
                right = buffer[high]
                left = right if low == high else np.max(buffer[:high])
            middle = left if lower or left == right else (left + right) / 2.0
            result[g, j] = middle if np.isfinite(middle) else left / 2.0 + right / 2.0


def group_medians(
    labels: Array, x: Array, groups: int | None = None, *, lower: bool = False
) -> Floats:
    """Median of each group; `lower` takes the lower of two middle values, not their mean.

    NaN where a member is NaN or the group has no records.

    >>> x = np.array([1.0, 2.0, 4.0, 9.0])
    >>> group_medians(np.zeros(4, int), x).tolist(), group_medians(np.zeros(4, int), x, lower=True)
    ([3.0], array([2.]))
    """
    matrix = _columns(np.asarray(x, dtype=np.float64))
    labels, count = _checked(labels, groups, len(matrix))
    offsets = _offsets(labels, count)
    result = np.empty((count, matrix.shape[1]))
    _medians(matrix, _order(labels, offsets), offsets, lower, result)
    return result[:, 0] if np.ndim(x) == 1 else result


@njit(cache=True, nogil=True)
def _modes(codes: Codes, missing: int, most: int, offsets: Ints, result: Ints) -> None:
    count = np.zeros(most + 2, np.int64)  # by code - missing, so that missing is entry 0
    for g in range(offsets.size - 1):
        best, mode = 0, missing
        for at in range(offsets[g], offsets[g + 1]):
            count[codes[at] - missing] += 1
        count[0] = 0
        for at in range(offsets[g], offsets[g + 1]):
            times = count[codes[at] - missing]
            if times > best or (times == best and times > 0 and codes[at] < mode):
                best, mode = times, codes[at]
        for at in range(offsets[g], offsets[g + 1]):
            count[codes[at] - missing] = 0
        result[g] = mode


def _compact(column: Array, missing: int) -> tuple[Codes, int, Array | None]:
    """A column as short integers, its greatest code, and what its codes stand for.

    Codes that leave wide gaps would need long tables: ranks take their place, and stand for them.
    """
    most = int(column.max()) if column.size else 0
    if most <= max(2 * column.size, ROOMY):
        return column.astype(np.int32), most, None
    present, rank = np.unique(column, return_inverse=True)
    if present[0] != missing:  # the first is kept for missing, whether or not it occurs
        present = np.concatenate(([np.array(missing, column.dtype)], present))
        rank = rank + 1
    return (rank + missing).astype(np.int32), present.size, present


def group_modes(labels: Array, codes: Array, groups: int | None = None) -> Array:
    """The commonest code of each group, of equals the lowest; missing values are not counted.

    >>> group_modes(np.array([0, 0, 0, 1]), np.array([2, 1, -1, -1], np.int32)).tolist()
    [1, -1]
    """
    matrix, missing = _coded(codes)
    labels, count = _checked(labels, groups, len(matrix))
    offsets = _offsets(labels, count)
    order = _order(labels, offsets)
    result = np.empty((count, matrix.shape[1]), matrix.dtype)
    for j in range(matrix.shape[1]):
        column, most, meaning = _compact(matrix[order, j], missing)
        modes = np.empty(count, np.int64)
        _modes(column, missing, most, offsets, modes)
        result[:, j] = modes if meaning is None else meaning[modes - missing]
    return result[:, 0] if np.ndim(codes) == 1 else result


@njit(cache=True, nogil=True)
def _min_max(
    labels: Array, codes: Array, missing: int, low: Array, high: Array, gaps: NDArray[np.bool_]
) -> None:
    for i in range(labels.size):
        g = labels[i]
        if g < 0:
            continue
        for j in range(codes.shape[1]):
            code = codes[i, j]
            if code == missing:
                gaps[g, j] = True
            elif low[g, j] == missing:  # the first that is not missing
                low[g, j] = high[g, j] = code
            else:
                low[g, j] = min(low[g, j], code)
                high[g, j] = max(high[g, j], code)


def group_min_max(
    labels: Array, codes: Array, groups: int | None = None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Least and greatest code of each group, and whether some value of it is missing.

    >>> low, high, gaps = group_min_max(np.array([0, 0, 0]), np.array([4, 0, 2], np.uint8))
    >>> low.tolist(), high.tolist(), gaps.tolist()
    ([2], [4], [True])
    """
    matrix, missing = _coded(codes)
    labels, count = _checked(labels, groups, len(matrix))
    shape = (count, matrix.shape[1])
    short = np.int64 if matrix.dtype.itemsize > 4 or matrix.dtype == np.uint32 else np.int32
    low, high = np.full(shape, missing, short), np.full(shape, missing, short)
    gaps = np.zeros(shape, np.bool_)
    _min_max(labels, matrix.astype(short, order="C"), missing, low, high, gaps)
    low, high = low.astype(matrix.dtype), high.astype(matrix.dtype)
    return (low[:, 0], high[:, 0], gaps[:, 0]) if np.ndim(codes) == 1 else (low, high, gaps)


@njit(cache=True, nogil=True)
def _list_codes(codes: Codes, most: int, offsets: Ints, starts: Ints, values: Codes) -> None:
    seen = np.full(most + 1, -1, np.int64)  # the last group that a code was found in
    end = 0
    for g in range(offsets.size - 1):
        starts[g] = end
        for at in range(offsets[g], offsets[g + 1]):
            code = codes[at]
            if code < 0 or seen[code] == g:
                continue
            seen[code] = g
            put, few = end, end - starts[g] < FEW
            while few and put > starts[g] and values[put - 1] > code:
                values[put] = values[put - 1]
                put -= 1
            values[put] = code
            end += 1
    starts[-1] = end


def group_distinct(labels: Array, codes: Array, groups: int | None = None) -> tuple[Ints, Array]:
    """The distinct codes of each group, ascending: group g has values[starts[g]:starts[g + 1]].

    Missing is left out.

    >>> starts, values = group_distinct(np.array([0, 1, 0, 1]), np.array([3, 2, 1, 2], np.uint8))
    >>> starts.tolist(), values.tolist()
    ([0, 2, 3], [1, 3, 2])
    """
    matrix, missing = _coded(codes)
    if np.ndim(codes) != 1:
        raise ValueError("the distinct codes of one column at a time can be listed")
    labels, count = _checked(labels, groups, len(matrix))
    offsets = _offsets(labels, count)
    column, most, meaning = _compact(matrix[_order(labels, offsets), 0], missing)
    starts, values = np.empty(count + 1, np.int64), np.empty(column.size, np.int32)
    _list_codes(column - (missing + 1), most - missing, offsets, starts, values)
    for g in np.flatnonzero(np.diff(starts) > FEW):
        values[starts[g] : starts[g + 1]].sort()
    values = values[: starts[-1]] + (missing + 1)
    return starts, values.astype(matrix.dtype) if meaning is None else meaning[values - missing]
