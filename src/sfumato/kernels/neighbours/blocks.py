"""Records arranged for nearest-neighbour search: distinct records, and blocks of neighbours.

Whoever looks for the nearest records, many times over, keeps the records in small blocks that lie
close together (leaves of a k-d tree; Friedman, Bentley & Finkel 1977), column by column. So the
distances to all of a block are a few vector instructions, and one comparison with the block's
bounding box can spare them. Distances and bounds add the columns in order, and rounding is
monotone: a bound never exceeds the distances that it stands for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Codes, Floats, Ints

LARGEST = 1e150
"""A difference beyond this has no finite square."""
SAMPLE = 512  # rows looked at when a split is chosen; it steers speed, never results


@njit(cache=True, nogil=True)
def select(keys: Floats, rows: Ints, low: int, high: int, middle: int) -> None:
    """Quickselect: afterwards keys[low:middle] <= keys[middle:high]; `rows` moves along."""
    high -= 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def ranked(keys: Floats) -> Ints:
    """Places in the order of rising keys, of equals the first: runs of 16, then merged.

    numba's own sorts say the same, but take a second to compile.
    """
    n = keys.size
    order, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        at = i
        while at % 16 > 0 and keys[order[at - 1]] > keys[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    run = 16
    while run < n:
        for low in range(0, n, 2 * run):
            middle, high = min(low + run, n), min(low + 2 * run, n)
            i, j = low, middle
            for at in range(low, high):
                if j >= high or (i < middle and keys[order[i]] <= keys[order[j]]):
                    merged[at] = order[i]
                    i += 1
                else:
                    merged[at] = order[j]
                    j += 1
        order, merged = merged, order
        run *= 2
    return order


@njit(cache=True, nogil=True, inline="always")
def _widest(x: Floats, weights: Floats, rows: Ints) -> int:
    """The column along which a sample of `rows` is spread most; the first of equals."""
    p = x.shape[1] - weights.size
    step = max(1, rows.size // SAMPLE)
    best, widest = 0, -1.0
    for j in range(x.shape[1]):
        count, total, squares, same, origin = 0, 0.0, 0.0, 0, np.nan
        middle = x[rows[rows.size // 2], j]
        for i in range(0, rows.size, step):
            value = x[rows[i], j]
            if np.isnan(origin):
                origin = value  # so that squares stay small beside the spread
            if not np.isnan(value):
                count += 1
                total += value - origin
                squares += (value - origin) ** 2
                same += value == middle
        spread = -1.0
        if count > 0 and j < p:
            spread = squares / count - (total / count) ** 2
        elif count > 0:
            spread = weights[j - p] * (same / count) * (1.0 - same / count)
        if spread > widest:
            best, widest = j, spread
    return best


@njit(cache=True, nogil=True)
def order_in_blocks(x: Floats, weights: Floats, rows: Ints, block: int) -> Ints:
    """`rows` rearranged so that each run of `block` of them lies close together (k-d splits).

    The last columns of `x` are codes, as many as there are weights.
    """
    order = rows.copy()
    keys = np.empty(rows.size)
    stack = np.empty((64, 2), np.int64)  # one part waits for each halving
    stack[0, 0], stack[0, 1], waiting = 0, rows.size, 1
    while waiting > 0:
        waiting -= 1
        low, high = stack[waiting, 0], stack[waiting, 1]
        blocks = (high - low + block - 1) // block
        if blocks <= 1:
            continue
        middle = low + block * (blocks // 2)
        column = _widest(x, weights, order[low:high])
        for i in range(low, high):
            value = x[order[i], column]
            keys[i] = np.inf if np.isnan(value) else value
        select(keys, order, low, high, middle)
        stack[waiting, 0], stack[waiting, 1] = low, middle
        stack[waiting + 1, 0], stack[waiting + 1, 1] = middle, high
        waiting += 2
    return order


def in_blocks(x: Floats, order: Ints, block: int) -> tuple[Floats, Floats]:
    """Records (block, column, place) in the given order, and their boxes (3, column, block).

    A box has the least and the greatest values, and whether one is missing (0 or 1). A last block
    that is not full repeats the last record.
    """
    blocks = -(-len(order) // block)
    full = x[np.pad(order, (0, blocks * block - len(order)), "edge")]
    points = full.reshape(blocks, block, x.shape[1]).transpose(0, 2, 1).copy()
    gone = np.isnan(points)
    low = np.where(gone, np.inf, points).min(axis=2)
    high = np.where(gone, -np.inf, points).max(axis=2)
    return points, np.array([low.T, high.T, gone.any(axis=2).T], np.float64, order="C")


@njit(cache=True, nogil=True)
def box_distances(low: Floats, high: Floats, box: Floats, out: Floats) -> None:
    """Least squared distance between one box and each of the boxes."""
    out[:] = 0.0
    for j in range(low.size):
        left, right, below, above = low[j], high[j], box[0, j], box[1, j]
        for b in range(out.size):
            step = max(below[b] - right, left - above[b], 0.0)
            out[b] += step * step


@njit(cache=True, nogil=True)
def distinct_rows(bits: Ints, codes: Codes) -> tuple[Ints, Ints]:
    """First row of each distinct record, and for every row the number of its record."""
    n, p = bits.shape
    size = 1
    while size < 2 * n:
        size *= 2
    mask = size - 1
    table = np.full(size, -1, np.int64)
    first = np.empty(n, np.int64)
    member = np.empty(n, np.int64)
    found = 0
    for i in range(n):
        key = np.uint64(1469598103934665603)
        for j in range(p):
            key = (key ^ np.uint64(bits[i, j])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        for j in range(codes.shape[1]):
            key = (key ^ np.uint64(codes[i, j])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(mask))
        while True:
            g = table[slot]
            if g < 0:
                table[slot] = found
                first[found] = i
                member[i] = found
                found += 1
                break
            r = first[g]
            same = True
            for j in range(p):
                same = same and bits[i, j] == bits[r, j]
            for j in range(codes.shape[1]):
                same = same and codes[i, j] == codes[r, j]
            if same:
                member[i] = g
                break
            slot = (slot + 1) & mask
    return first[:found].copy(), member
