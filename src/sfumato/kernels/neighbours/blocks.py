"""Records arranged for nearest-neighbour search: distinct records, and blocks of neighbours.

MDAV and record linkage both look for the records nearest to one, many times over. Both keep the
records in small blocks that lie close together (leaves of a k-d tree; Friedman, Bentley & Finkel
1977), so that one comparison with a block's bounding box can spare the whole block.
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
def _widest(x: Floats, codes: Codes, weights: Floats, rows: Ints) -> int:
    """The column along which a sample of `rows` is spread most; nominal columns come after."""
    p, q = x.shape[1], codes.shape[1]
    step = max(1, rows.size // SAMPLE)
    best, widest = 0, -1.0
    for j in range(p):
        count, total, squares, origin = 0, 0.0, 0.0, np.nan
        for i in range(0, rows.size, step):
            value = x[rows[i], j]
            if np.isnan(origin):
                origin = value  # so that squares stay small beside the spread
            if not np.isnan(value):
                count += 1
                total += value - origin
                squares += (value - origin) ** 2
        spread = squares / count - (total / count) ** 2 if count > 0 else -1.0
        if spread > widest:
            best, widest = j, spread
    for j in range(q):
        count, same = 0, 0
        for i in range(0, rows.size, step):
            count += 1
            same += codes[rows[i], j] == codes[rows[rows.size // 2], j]
        share = same / max(count, 1)
        if weights[j] * share * (1.0 - share) > widest:
            best, widest = p + j, weights[j] * share * (1.0 - share)
    return best


@njit(cache=True, nogil=True)
def order_in_blocks(x: Floats, codes: Codes, weights: Floats, rows: Ints, block: int) -> Ints:
    """`rows` rearranged so that each run of `block` of them lies close together (k-d splits)."""
    p = x.shape[1]
    order = rows.copy()
    keys = np.empty(rows.size)
    stack = [(0, rows.size)]
    while len(stack) > 0:
        low, high = stack.pop()
        blocks = (high - low + block - 1) // block
        if blocks <= 1:
            continue
        middle = low + block * (blocks // 2)
        column = _widest(x, codes, weights, order[low:high])
        for i in range(low, high):
            if column < p:
                value = x[order[i], column]
                keys[i] = np.inf if np.isnan(value) else value
            else:
                keys[i] = codes[order[i], column - p]
        select(keys, order, low, high, middle)
        stack.append((low, middle))
        stack.append((middle, high))
    return order


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
