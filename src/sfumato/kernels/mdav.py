"""MDAV: microaggregation by maximum distance to the average vector.

Domingo-Ferrer & Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical
disclosure control", IEEE TKDE 14(1); for mixed kinds Domingo-Ferrer & Torra (2005), "Ordinal,
continuous and heterogeneous k-anonymity through microaggregation", Data Mining and Knowledge
Discovery 11(2).

While 3k records or more remain: r is the record farthest from their centroid and takes its k-1
nearest; s is the record farthest from r among those left and takes its k-1 nearest. With 2k to
3k-1 left, one group forms around the record farthest from the centroid and the rest are a group;
with fewer, the rest are a group. (The papers look for s before r's group is formed. The two
readings differ only when all the records left are equally far from r, and then s of the papers may
already have been taken.)

Arithmetic, so that groups are reproducible: a squared distance adds numeric columns in order, then
the weights of the nominal columns that differ. Sums of the remaining records are kept in double-
double (two floats, Dekker 1971), from which grouped records are subtracted: the centroid is the
rounded exact sum over the count, however many groups were taken off. A tie goes to the lowest row.

Speed: remaining records live in blocks of neighbours with bounding boxes, and a search passes over
blocks whose box cannot hold the answer. A bound is summed in the order of a distance and rounding
is monotone, so this changes no group. Blocks are rebuilt each time half of the records are gone.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.blocks import LARGEST, Codes, Floats, Ints, order_in_blocks

BLOCK = 128  # records to a box: measured best of 16 to 128 at 100,000 records


@njit(cache=True, nogil=True)
def _tighten(b: int, xb: Floats, cb: Codes, length: Ints, box: Floats, span: Codes) -> None:
    """Recompute the box of block `b`."""
    size = length[b]
    if size == 0:
        return
    for j in range(xb.shape[1]):
        low = high = xb[b, j, 0]
        for i in range(1, size):
            low, high = min(low, xb[b, j, i]), max(high, xb[b, j, i])
        box[j, 0, b], box[j, 1, b] = low, high
    for j in range(cb.shape[1]):
        first = last = cb[b, j, 0]
        for i in range(1, size):
            first, last = min(first, cb[b, j, i]), max(last, cb[b, j, i])
        span[j, 0, b], span[j, 1, b] = first, last


@njit(cache=True, nogil=True)
def _bounds(
    box: Floats, span: Codes, weights: Floats, x: Floats, c: Codes, far: bool, out: Floats
) -> None:
    """Greatest (`far`) or least squared distance from a point to a record of each block."""
    out[:] = 0.0
    for j in range(x.size):
        value, low, high = x[j], box[j, 0], box[j, 1]
        if far:
            for b in range(out.size):
                step = max(abs(low[b] - value), abs(high[b] - value))
                out[b] += step * step
        else:
            for b in range(out.size):
                step = max(low[b] - value, value - high[b], 0.0)
                out[b] += step * step
    for j in range(c.size):
        code, low_code, high_code = c[j], span[j, 0], span[j, 1]
        if far:
            for b in range(out.size):
                same = low_code[b] == code and high_code[b] == code
                out[b] += 0.0 if same else weights[j]
        else:
            for b in range(out.size):
                apart = code < low_code[b] or code > high_code[b]
                out[b] += weights[j] if apart else 0.0


@njit(cache=True, nogil=True)
def _distances(
    xb: Floats, cb: Codes, weights: Floats, x: Floats, c: Codes, size: int, out: Floats
) -> None:
    """Squared distances from a point to the first `size` records of a block."""
    out[:size] = 0.0
    for j in range(x.size):
        value, column = x[j], xb[j]
        for i in range(size):
            step = column[i] - value
            out[i] += step * step
    for j in range(c.size):
        code, codes = c[j], cb[j]
        for i in range(size):
            out[i] += weights[j] if codes[i] != code else 0.0


@njit(cache=True, nogil=True)
def _sift(keys: Floats, rows: Ints, size: int, key: float, row: int) -> None:
    """Put (key, row) in place of the root of a heap whose root is the greatest pair."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            keys[right] > keys[child] or (keys[right] == keys[child] and rows[right] > rows[child])
        ):
            child = right
        if keys[child] < key or (keys[child] == key and rows[child] < row):
            break
        keys[i], rows[i] = keys[child], rows[child]
        i = child
    keys[i], rows[i] = key, row


@njit(cache=True, nogil=True)
def _farthest(
    xb: Floats, cb: Codes, rows: Ints, length: Ints, box: Floats, span: Codes, weights: Floats,
    x: Floats, c: Codes, bound: Floats, out: Floats,
) -> int:  # fmt: skip
    """The remaining row farthest from a point, the lowest of equals."""
    _bounds(box, span, weights, x, c, True, bound)
    bound[length == 0] = -1.0
    best, row = -1.0, -1
    seed = np.argmax(bound)
    for turn in range(-1, bound.size):
        b = seed if turn < 0 else turn
        if bound[b] < best or length[b] == 0:
            continue
        size = length[b]
        _distances(xb[b], cb[b], weights, x, c, size, out)
        for i in range(size):
            if out[i] > best or (out[i] == best and rows[b, i] < row):
                best, row = out[i], rows[b, i]
    return row


@njit(cache=True, nogil=True)
def _nearest(
    xb: Floats, cb: Codes, rows: Ints, length: Ints, box: Floats, span: Codes, weights: Floats,
    x: Floats, c: Codes, bound: Floats, out: Floats, keys: Floats, found: Ints,
) -> None:  # fmt: skip
    """The `found.size` remaining rows nearest to a point; of equals the lowest."""
    count = found.size
    keys[:] = np.inf
    found[:] = np.iinfo(np.int64).max
    _bounds(box, span, weights, x, c, False, bound)
    bound[length == 0] = np.inf
    filled = 0
    for turn in range(-count, bound.size):
        # First the likeliest blocks until the heap is full, then whatever may still matter.
        if turn < 0:
            if filled >= count:
                continue
            b = np.argmin(bound)
        else:
            b = np.int64(turn)
        if bound[b] > keys[0] or bound[b] == np.inf:
            continue
        bound[b] = np.inf
        size = length[b]
        filled += size
        _distances(xb[b], cb[b], weights, x, c, size, out)
        for i in range(size):
            if out[i] < keys[0] or (out[i] == keys[0] and rows[b, i] < found[0]):
                _sift(keys, found, count, out[i], rows[b, i])


@njit(cache=True, nogil=True)
def _add(high: float, low: float, value: float) -> tuple[float, float]:
    """Double-double plus float, both halves exact up to the last bit of the lower."""
    total = high + value
    back = total - high
    low += (high - (total - back)) + (value - back)
    result = total + low
    return result, low - (result - total)


@njit(cache=True, nogil=True)
def _mdav(x: Floats, codes: Codes, weights: Floats, k: int, cards: Ints) -> Ints:
    n, p, q = x.shape[0], x.shape[1], codes.shape[1]
    label = np.full(n, -1, np.int64)
    groups = 0

    # Running description of the remaining records: sums, counts of each code, modes.
    sums = np.zeros((p, 2))
    starts = np.zeros(q + 1, np.int64)
    for j in range(q):
        starts[j + 1] = starts[j] + cards[j]
    counts = np.zeros(starts[q], np.int64)
    for i in range(n):
        for j in range(p):
            sums[j, 0], sums[j, 1] = _add(sums[j, 0], sums[j, 1], x[i, j])
        for j in range(q):
            counts[starts[j] + codes[i, j]] += 1
    modes = np.empty(q, np.int32)
    for j in range(q):
        modes[j] = np.argmax(counts[starts[j] : starts[j + 1]])

    remaining = n
    where = np.empty(n, np.int64)  # block * BLOCK + place of each remaining row
    taken = np.empty(k, np.int64)
    keys, found = np.empty(k - 1), np.empty(k - 1, np.int64)
    centre, out = np.empty(p), np.empty(BLOCK)
    while remaining >= 2 * k:
        # Gather what remains into blocks of neighbours.
        order = order_in_blocks(x, codes, weights, np.flatnonzero(label < 0), BLOCK)
        blocks = (remaining + BLOCK - 1) // BLOCK
        xb, cb = np.empty((blocks, p, BLOCK)), np.empty((blocks, q, BLOCK), np.int32)
        rows, length = np.empty((blocks, BLOCK), np.int64), np.zeros(blocks, np.int64)
        box, span = np.empty((p, 2, blocks)), np.empty((q, 2, blocks), np.int32)
        bound = np.empty(blocks)
        for at in range(remaining):
            b, i, row = at // BLOCK, at % BLOCK, order[at]
            rows[b, i], where[row] = row, at
            length[b] += 1
            for j in range(p):
                xb[b, j, i] = x[row, j]
            for j in range(q):
                cb[b, j, i] = codes[row, j]
        for b in range(blocks):
            _tighten(b, xb, cb, length, box, span)

        rebuild = remaining // 2 if blocks > 1 else 0
        anchor = -1  # r, while its counterpart s is still to be found
        while remaining >= 2 * k or anchor >= 0:
            if anchor < 0:
                if remaining < rebuild:
                    break
                for j in range(p):
                    centre[j] = sums[j, 0] / remaining
                row = _farthest(xb, cb, rows, length, box, span, weights, centre, modes, bound, out)
                anchor = row if remaining >= 3 * k else -1
            else:
                row = _farthest(
                    xb, cb, rows, length, box, span, weights, x[anchor], codes[anchor], bound, out
                )
                anchor = -1
            taken[0] = row
            for t in range(k):
                if t == 1:
                    _nearest(
                        xb, cb, rows, length, box, span, weights, x[row], codes[row],
                        bound, out, keys, found,
                    )  # fmt: skip
                    for j in range(k - 1):
                        taken[j + 1] = found[j]
                # Take the record off: the last of its block moves into its place.
                gone = taken[t]
                label[gone] = groups
                b, i = where[gone] // BLOCK, where[gone] % BLOCK
                length[b] -= 1
                last = length[b]
                rows[b, i] = rows[b, last]
                where[rows[b, i]] = b * BLOCK + i
                edge = False
                for j in range(p):
                    edge |= x[gone, j] == box[j, 0, b] or x[gone, j] == box[j, 1, b]
                    xb[b, j, i] = xb[b, j, last]
                    sums[j, 0], sums[j, 1] = _add(sums[j, 0], sums[j, 1], -x[gone, j])
                for j in range(q):
                    code = codes[gone, j]
                    edge |= code == span[j, 0, b] or code == span[j, 1, b]
                    cb[b, j, i] = cb[b, j, last]
                    counts[starts[j] + code] -= 1
                    if code == modes[j]:  # any other code only falls further behind
                        modes[j] = np.argmax(counts[starts[j] : starts[j + 1]])
                if edge:
                    _tighten(b, xb, cb, length, box, span)
            remaining -= k
            groups += 1
    for i in range(n):
        if label[i] < 0:
            label[i] = groups
    return label


@njit(cache=True, nogil=True)
def _number_by_appearance(label: Ints) -> Ints:
    names = np.full(label.size, -1, np.int64)
    result = np.empty(label.size, np.int64)
    count = 0
    for i in range(label.size):
        if names[label[i]] < 0:
            names[label[i]] = count
            count += 1
        result[i] = names[label[i]]
    return result


def mdav(x: ArrayLike, codes: ArrayLike, nominal_weights: ArrayLike, k: int) -> NDArray[np.int64]:
    """Group label of each record: groups of at least k, numbered by first appearance.

    `x` holds the numeric columns, standardized by the caller (n rows, possibly no columns), `codes`
    the nominal ones (n rows, possibly no columns). The squared distance of two records is that of
    their numeric columns plus `nominal_weights[j]` for each nominal column j that differs; the
    centroid is the mean of the numeric and the mode of the nominal columns (of equals the lowest
    code). Missing values are the caller's to resolve: a NaN is refused.

    >>> import numpy as np
    >>> x = np.array([[0.0], [9.0], [0.1], [9.2], [0.3], [9.1]])
    >>> mdav(x, np.empty((6, 0), np.int32), [], 3).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    numeric = np.array(x, dtype=np.float64, order="C")
    nominal = np.asarray(codes)
    weights = np.array(nominal_weights, dtype=np.float64)
    if numeric.ndim != 2 or nominal.ndim != 2 or len(numeric) != len(nominal):
        raise ValueError(
            f"x and codes must be matrices with the same rows, not {numeric.shape} and "
            f"{nominal.shape}; a part without columns has shape (n, 0)"
        )
    n, q = nominal.shape
    if weights.shape != (q,) or not np.all(weights >= 0) or not np.all(np.isfinite(weights)):
        raise ValueError(f"nominal_weights must be {q} finite numbers, none negative")
    if k < 1 or n < k:
        raise ValueError(f"{n} records cannot form a group of k = {k}: choose k from 1 to {n}")
    if not np.all(np.abs(numeric) <= LARGEST):
        bad = np.argwhere(~(np.abs(numeric) <= LARGEST))[0]
        raise ValueError(
            f"x[{bad[0]}, {bad[1]}] is missing, infinite or above {LARGEST:g}: "
            "resolve missing values and standardize the columns first"
        )
    if k == 1:
        return np.arange(n, dtype=np.int64)
    # Ranks of the codes that occur, in the order of the codes: counting stays within memory.
    dense, cards = np.empty((n, q), np.int32), np.empty(q, np.int64)
    for j in range(q):
        present, dense[:, j] = np.unique(nominal[:, j], return_inverse=True)
        cards[j] = len(present)
    return _number_by_appearance(_mdav(numeric, dense, weights, int(k), cards))
