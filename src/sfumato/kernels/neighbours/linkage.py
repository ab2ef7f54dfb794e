"""Nearest masked record of every original record, exactly, with ties.

Distance-based record linkage (Pagliuca & Seri 1999; Domingo-Ferrer & Torra 2001) lets an intruder
link each original record to the nearest record of the masked file. Two things decide whether the
figure can be trusted: the nearest record must really be the nearest, and masked records that lie
equally near must all be counted, since the intruder can only guess among them.

The squared distance is a sum of columns, always added in column order: the numeric columns first,
then the weighted mismatches of the nominal ones. Masked records that are equal are collapsed first
and counted with their multiplicity. The distinct ones are arranged in small blocks, each with its
bounding box; a block is passed over when its box lies too far away. The bound of a box is summed in
the same order as a distance, and rounding is monotone, so in floating point too the bound never
exceeds the distance to a record in the box: pruning changes no bit of the answer. Rows of the
result do not depend on one another, hence not on the number of threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.neighbours.blocks import LARGEST, distinct_rows, order_in_blocks
from sfumato.kernels.threads import cores

BLOCK = 64  # records to a box: eight full vector registers, and still a small box


class Nearest(NamedTuple):
    """What `nearest` finds for each row of `a`."""

    distance: Floats
    """least squared distance to any row of `b`"""
    ties: Ints
    """number of rows of `b` at that distance"""
    own_tied: NDArray[np.bool_]
    """whether the row's own masked record is among them (False where it has none)"""
    first: Ints
    """the lowest row of `b` among them"""


@njit(cache=True, nogil=True)
def _fill(x: Floats, codes: Codes, order: Ints) -> tuple[Floats, Codes, Floats, Codes, Codes]:
    """Blocks of `order`, column by column, and their boxes.

    A last block that is not full repeats its first record: a repeat alters neither a least distance
    nor a box, and it carries no multiplicity. `gaps` says 0: none, 1: some, 2: only missing values.
    """
    p, q = x.shape[1], codes.shape[1]
    blocks = (order.size + BLOCK - 1) // BLOCK
    xb = np.empty((blocks, p, BLOCK))
    cb = np.empty((blocks, q, BLOCK), np.int32)
    box = np.empty((p, 2, blocks))
    span = np.empty((q, 2, blocks), np.int32)
    gaps = np.zeros((p, blocks), np.int32)
    for b in range(blocks):
        start = b * BLOCK
        for i in range(BLOCK):
            r = order[start + i] if start + i < order.size else order[start]
            for j in range(p):
                xb[b, j, i] = x[r, j]
            for j in range(q):
                cb[b, j, i] = codes[r, j]
        for j in range(p):
            low, high, missing = np.inf, -np.inf, 0
            for i in range(BLOCK):
                if np.isnan(xb[b, j, i]):
                    missing += 1
                else:
                    low, high = min(low, xb[b, j, i]), max(high, xb[b, j, i])
            box[j, 0, b], box[j, 1, b] = low, high
            gaps[j, b] = 0 if missing == 0 else 2 if missing == BLOCK else 1
        for j in range(q):
            span[j, 0, b], span[j, 1, b] = cb[b, j].min(), cb[b, j].max()
    return xb, cb, box, span, gaps


@njit(cache=True, nogil=True)
def _distances(
    xb: Floats, cb: Codes, weights: Floats, penalty: Floats, x: Floats, c: Codes, out: Floats
) -> float:
    """Squared distances of one record to a block of them; returns the least."""
    out[:] = 0.0
    for j in range(x.size):
        value, column = x[j], xb[j]
        if penalty[j] < 0.0:  # nothing is missing in this column
            for i in range(BLOCK):
                step = column[i] - value
                out[i] += step * step
        else:
            gone = np.isnan(value)
            for i in range(BLOCK):
                step = column[i] - value
                apart = penalty[j] if np.isnan(column[i]) != gone else 0.0
                out[i] += apart if np.isnan(step) else step * step
    for j in range(c.size):
        for i in range(BLOCK):
            out[i] += weights[j] if cb[j, i] != c[j] else 0.0
    least = np.inf
    for i in range(BLOCK):
        least = min(least, out[i])
    return least


@njit(cache=True, nogil=True)
def _bounds(
    box: Floats, span: Codes, gaps: Codes, weights: Floats, penalty: Floats,
    near: Floats, near_span: Codes, near_gaps: Codes, out: Floats,
) -> None:  # fmt: skip
    """Least squared distance that any record of one box can have to any record of each block."""
    out[:] = 0.0
    for j in range(box.shape[0]):
        low, high = near[j, 0], near[j, 1]
        below, above = box[j, 0], box[j, 1]
        if penalty[j] < 0.0:
            for b in range(out.size):
                step = max(below[b] - high, low - above[b], 0.0)
                out[b] += step * step
        else:
            for b in range(out.size):
                step = max(below[b] - high, low - above[b], 0.0)
                square = step * step
                if near_gaps[j] + gaps[j, b] > 0:
                    square = min(square, penalty[j])
                if near_gaps[j] > 0 and gaps[j, b] > 0:
                    square = 0.0
                out[b] += square
    for j in range(span.shape[0]):
        for b in range(out.size):
            outside = near_span[j, 1] < span[j, 0, b] or near_span[j, 0] > span[j, 1, b]
            out[b] += weights[j] if outside else 0.0


@njit(cache=True, nogil=True)
def _search(
    a: tuple[Floats, Codes, Floats, Codes, Codes], b: tuple[Floats, Codes, Floats, Codes, Codes],
    copies: Ints, lowest: Ints, weights: Floats, penalty: Floats, tolerance: float,
    start: int, stop: int, least: Floats, ties: Ints, first: Ints,
) -> None:  # fmt: skip
    """Fill `least`, `ties` and `first` for the queries of blocks start..stop of `a`.

    On entry `least` holds a distance that some record of `b` attains, or infinity.
    """
    ax, ac, abox, aspan, agaps = a
    bx, bc, bbox, bspan, bgaps = b
    p, q, blocks = bx.shape[1], bc.shape[1], bx.shape[0]
    bound, out = np.empty(blocks), np.empty(BLOCK)
    reached = np.empty(blocks)
    point, point_span = np.empty((p, 2)), np.empty((q, 2), np.int32)
    point_gaps = np.empty(p, np.int32)
    for g in range(start, stop):
        queries = min(BLOCK, least.size - g * BLOCK)
        _bounds(
            bbox, bspan, bgaps, weights, penalty,
            abox[:, :, g].copy(), aspan[:, :, g].copy(), agaps[:, g].copy(), bound,
        )  # fmt: skip
        # The block most likely to be near gives each query a first distance, and the largest of
        # these says which blocks concern any query of this group at all.
        seed, furthest = np.argmin(bound), 0.0
        for i in range(queries):
            x, c = ax[g, :, i].copy(), ac[g, :, i].copy()
            here = _distances(bx[seed], bc[seed], weights, penalty, x, c, out)
            least[g * BLOCK + i] = min(least[g * BLOCK + i], here)
            furthest = max(furthest, least[g * BLOCK + i])
        near = np.flatnonzero(bound <= furthest + tolerance * furthest)
        near = near[np.argsort(bound[near])]
        near_bound = np.empty(near.size)
        box, span = np.empty((p, 2, near.size)), np.empty((q, 2, near.size), np.int32)
        gaps = np.empty((p, near.size), np.int32)
        for s in range(near.size):
            for j in range(p):
                box[j, 0, s], box[j, 1, s] = bbox[j, 0, near[s]], bbox[j, 1, near[s]]
                gaps[j, s] = bgaps[j, near[s]]
            for j in range(q):
                span[j, 0, s], span[j, 1, s] = bspan[j, 0, near[s]], bspan[j, 1, near[s]]
        for i in range(queries):
            x, c = ax[g, :, i].copy(), ac[g, :, i].copy()
            for j in range(p):
                point_gaps[j] = 2 if np.isnan(x[j]) else 0
                point[j, 0] = np.inf if np.isnan(x[j]) else x[j]
                point[j, 1] = -np.inf if np.isnan(x[j]) else x[j]
            for j in range(q):
                point_span[j, 0], point_span[j, 1] = c[j], c[j]
            _bounds(box, span, gaps, weights, penalty, point, point_span, point_gaps, near_bound)
            best = least[g * BLOCK + i]
            limit = best + tolerance * best
            for s in range(near.size):
                reached[s] = np.inf
                if near_bound[s] <= limit:
                    block = near[s]
                    reached[s] = _distances(bx[block], bc[block], weights, penalty, x, c, out)
                    if reached[s] < best:
                        best = reached[s]
                        limit = best + tolerance * best
            # Only now is the limit final: count in the few blocks that come within it.
            count, row = 0, np.int64(-1)
            for s in range(near.size):
                if reached[s] <= limit:
                    block = near[s]
                    _distances(bx[block], bc[block], weights, penalty, x, c, out)
                    for k in range(block * BLOCK, min((block + 1) * BLOCK, copies.size)):
                        if out[k - block * BLOCK] <= limit:
                            count += copies[k]
                            if row < 0 or lowest[k] < row:
                                row = lowest[k]
            least[g * BLOCK + i], ties[g * BLOCK + i], first[g * BLOCK + i] = best, count, row


@njit(cache=True, nogil=True)
def _own(
    a: Floats, b: Floats, ac: Codes, bc: Codes, own: Ints, weights: Floats, penalty: Floats
) -> Floats:
    """Squared distance of each row to its own masked record; infinite where it has none."""
    result = np.full(own.size, np.inf)
    for i in range(own.size):
        r = own[i]
        if r >= 0:
            total = 0.0
            for j in range(a.shape[1]):
                step = a[i, j] - b[r, j]
                if not np.isnan(step):
                    total += step * step
                elif np.isnan(a[i, j]) != np.isnan(b[r, j]):
                    total += penalty[j]
            for j in range(ac.shape[1]):
                if ac[i, j] != bc[r, j]:
                    total += weights[j]
            result[i] = total
    return result


def _matrix(name: str, values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64, order="C")
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix of records by columns, not of shape {x.shape}")
    if x.size and np.nanmax(np.abs(x), initial=0.0) > LARGEST:
        raise ValueError(f"{name} holds a value above {LARGEST:g}: standardize the columns first")
    # One zero and one missing value, so that equal records have equal bits.
    return np.where(np.isnan(x), np.nan, x + 0.0)


def _code_matrix(name: str, codes: ArrayLike | None, rows: int) -> Codes:
    if codes is None:
        return np.empty((rows, 0), np.int32)
    c = np.array(codes, dtype=np.int32, order="C")
    if c.ndim != 2 or len(c) != rows:
        raise ValueError(f"{name} must have {rows} rows and one column per code: {c.shape}")
    return c


def nearest(
    a: ArrayLike,
    b: ArrayLike,
    *,
    own: ArrayLike | None = None,
    codes_a: ArrayLike | None = None,
    codes_b: ArrayLike | None = None,
    nominal_weights: ArrayLike | None = None,
    tolerance: float = 1e-9,
    missing_penalty: ArrayLike | None = None,
    threads: int | None = None,
) -> Nearest:
    """For each row of `a` the least squared distance to a row of `b`, and how many attain it.

    `a` and `b` are numeric matrices, NaN where missing; `codes_a` and `codes_b` their nominal
    columns, with weights (1 by default). Two missing values are equal; one missing value adds the
    column's `missing_penalty` (a squared distance, 1 by default). A row of `b` ties when its
    squared distance is at most (1 + `tolerance`) times the least. `own[i]` is the row of `b` that
    masks row i of `a`, -1 where there is none. `threads` never alters the result.

    >>> found = nearest([[0.0], [5.0]], [[1.0], [1.0], [4.0]], own=[0, 1])
    >>> found.distance.tolist(), found.ties.tolist(), found.own_tied.tolist()
    ([1.0, 1.0], [2, 1], [True, False])
    """
    xa, xb = _matrix("a", a), _matrix("b", b)
    ca, cb = _code_matrix("codes_a", codes_a, len(xa)), _code_matrix("codes_b", codes_b, len(xb))
    if xa.shape[1] != xb.shape[1] or ca.shape[1] != cb.shape[1]:
        raise ValueError("a and b must have the same columns")
    if not len(xb):
        raise ValueError("b has no records to link to")
    p, q = xa.shape[1], ca.shape[1]
    weights = np.ones(q) if nominal_weights is None else np.array(nominal_weights, np.float64)
    penalty = np.ones(p) if missing_penalty is None else np.array(missing_penalty, np.float64)
    mine = np.full(len(xa), -1, np.int64) if own is None else np.array(own, np.int64)
    if weights.shape != (q,) or penalty.shape != (p,) or mine.shape != (len(xa),):
        raise ValueError("one weight per nominal column, one penalty per numeric column and one "
                         "own record per row of a are needed")  # fmt: skip
    if not (np.all(weights >= 0) and np.all(penalty >= 0) and tolerance >= 0):
        raise ValueError("weights, penalties and tolerance must not be negative")
    if mine.size and (mine.min() < -1 or mine.max() >= len(xb)):
        raise ValueError("own must name rows of b, or -1")
    whole = ~(np.isnan(xa).any(axis=0) | np.isnan(xb).any(axis=0))
    rule = np.where(whole, -1.0, penalty)

    first_a, member_a = distinct_rows(xa.view(np.int64), ca)
    first_b, member_b = distinct_rows(xb.view(np.int64), cb)
    copies = np.bincount(member_b, minlength=len(first_b))
    order_a = order_in_blocks(xa, ca, weights, first_a, BLOCK)
    by_block = order_in_blocks(xb, cb, weights, first_b, BLOCK)
    queries, blocks = _fill(xa, ca, order_a), _fill(xb, cb, by_block)
    copies = copies[member_b[by_block]].astype(np.int64)
    to_own = _own(xa, xb, ca, cb, mine, weights, penalty)
    # A row's own masked record is seldom far: its distance is a good limit to start from.
    least, ties, first = to_own[order_a], np.empty(len(order_a), np.int64), np.empty_like(order_a)

    workers = cores(threads)
    groups = len(queries[0])
    cuts = np.linspace(0, groups, min(groups, 8 * workers) + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(_search, queries, blocks, copies, by_block, weights, rule, float(tolerance),
                        start, stop, least, ties, first)
            for start, stop in pairwise(cuts.tolist())
        ]  # fmt: skip
        for task in tasks:
            task.result()
    place = np.empty(len(order_a), np.int64)
    place[member_a[order_a]] = np.arange(len(order_a))
    where = place[member_a]
    distance = least[where]
    own_tied = to_own <= distance + tolerance * distance
    return Nearest(distance, ties[where], own_tied & (mine >= 0), first[where])
