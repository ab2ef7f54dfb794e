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

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.device import on_card
from sfumato.kernels.neighbours.blocks import (
    LARGEST,
    distinct_rows,
    in_blocks,
    order_in_blocks,
    ranked,
)
from sfumato.kernels.threads import in_parts

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
def distances(block: Floats, weights: Floats, penalty: Floats, x: Floats, out: Floats) -> float:
    """Squared distances of one record to a block of them; returns the least.

    A negative penalty says that nothing is missing in a column; the last columns are nominal.
    """
    out[:] = 0.0
    for j in range(penalty.size):
        value, column = x[j], block[j]
        if penalty[j] < 0.0:
            for i in range(BLOCK):
                step = column[i] - value
                out[i] += step * step
        else:
            gone = np.isnan(value)
            for i in range(BLOCK):
                step = column[i] - value
                apart = penalty[j] if np.isnan(column[i]) != gone else 0.0
                out[i] += apart if np.isnan(step) else step * step
    for j in range(penalty.size, x.size):
        value, column, weight = x[j], block[j], weights[j - penalty.size]
        for i in range(BLOCK):
            out[i] += weight if column[i] != value else 0.0
    least = np.inf
    for i in range(BLOCK):
        least = min(least, out[i])
    return least


@njit(cache=True, nogil=True)
def bounds(box: Floats, weights: Floats, penalty: Floats, near: Floats, out: Floats) -> None:
    """Least squared distance that any record of one box can have to any record of each block."""
    out[:] = 0.0
    for j in range(box.shape[1]):
        low, high, gap = near[0, j], near[1, j], near[2, j]
        below, above, gaps = box[0, j], box[1, j], box[2, j]
        if j >= penalty.size:
            weight = weights[j - penalty.size]
            for b in range(out.size):
                out[b] += weight if high < below[b] or low > above[b] else 0.0
        elif penalty[j] < 0.0:
            for b in range(out.size):
                step = max(below[b] - high, low - above[b], 0.0)
                out[b] += step * step
        else:
            for b in range(out.size):
                step = max(below[b] - high, low - above[b], 0.0)
                square = step * step
                if gap + gaps[b] > 0.0:
                    square = min(square, penalty[j])
                out[b] += 0.0 if gap * gaps[b] > 0.0 else square


@njit(cache=True, nogil=True, inline="always")
def _near(bound: Floats, limit: float, box: Floats, near: Ints) -> Floats:
    """The blocks within the limit, the nearest first, and their boxes."""
    count = 0
    keys = np.empty(bound.size)
    for b in range(bound.size):
        if bound[b] <= limit:
            keys[count], near[count] = bound[b], b
            count += 1
    order = ranked(keys[:count])
    for s in range(count):
        order[s] = near[order[s]]
    for s in range(count):
        near[s] = order[s]
    some = np.empty((3, box.shape[1], count))
    for side in range(3):
        for j in range(box.shape[1]):
            for s in range(count):
                some[side, j, s] = box[side, j, near[s]]
    return some


@njit(cache=True, nogil=True)
def _search(
    rows: Floats, groups: Floats, blocks: Floats, boxes: Floats, copies: Ints, lowest: Ints,
    weights: Floats, penalty: Floats, tolerance: float, start: int, stop: int,
    least: Floats, ties: Ints, first: Ints,
) -> None:  # fmt: skip
    """Fill `least`, `ties` and `first` for the queries of groups start..stop.

    On entry `least` holds a distance that some record of `b` attains, or infinity.
    """
    bound, out = np.empty(len(blocks)), np.empty(BLOCK)
    reached, within = np.empty(len(blocks)), np.empty(len(blocks))
    near, point = np.empty(len(blocks), np.int64), np.empty((3, rows.shape[1]))
    for g in range(start, stop):
        bounds(boxes, weights, penalty, groups[g], bound)
        # The block most likely to be near gives each query a first distance, and the largest of
        # these says which blocks concern any query of this group at all.
        seed, furthest = 0, 0.0
        for b in range(bound.size):
            if bound[b] < bound[seed]:
                seed = b
        for i in range(g * BLOCK, min((g + 1) * BLOCK, least.size)):
            here = distances(blocks[seed], weights, penalty, rows[i], out)
            least[i] = min(least[i], here)
            furthest = max(furthest, least[i])
        box = _near(bound, furthest + tolerance * furthest, boxes, near)
        count = box.shape[2]
        for i in range(g * BLOCK, min((g + 1) * BLOCK, least.size)):
            x = rows[i]
            for j in range(x.size):
                gone = np.isnan(x[j])
                point[0, j] = np.inf if gone else x[j]
                point[1, j] = -np.inf if gone else x[j]
                point[2, j] = gone
            bounds(box, weights, penalty, point, within[:count])
            best = least[i]
            limit = best + tolerance * best
            for s in range(count):
                reached[s] = np.inf
                if within[s] <= limit:
                    reached[s] = distances(blocks[near[s]], weights, penalty, x, out)
                    if reached[s] < best:
                        best = reached[s]
                        limit = best + tolerance * best
            # Only now is the limit final: count in the few blocks that come within it.
            ties[i], first[i] = 0, -1
            for s in range(count):
                if reached[s] <= limit:
                    distances(blocks[near[s]], weights, penalty, x, out)
                    begin = near[s] * BLOCK
                    for k in range(begin, min(begin + BLOCK, copies.size)):
                        if out[k - begin] <= limit:
                            ties[i] += copies[k]
                            if first[i] < 0 or lowest[k] < first[i]:
                                first[i] = lowest[k]
            least[i] = best


def to_own(a: Floats, b: Floats, own: Ints, weights: Floats, penalty: Floats) -> Floats:
    """Squared distance of each row to its own masked record; infinite where it has none."""
    has = own >= 0
    a, b = a[has], b[own[has]]
    total = np.zeros(len(a))
    for j, cost in enumerate(penalty):
        step = a[:, j] - b[:, j]
        apart = np.where(np.isnan(a[:, j]) != np.isnan(b[:, j]), cost, 0.0)
        total += np.where(np.isnan(step), apart, step * step)
    for j, weight in enumerate(weights, len(penalty)):
        total += np.where(a[:, j] != b[:, j], weight, 0.0)
    result = np.full(len(own), np.inf)
    result[has] = total
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


def both_files(
    a: ArrayLike, b: ArrayLike, codes_a: ArrayLike | None, codes_b: ArrayLike | None
) -> tuple[Floats, Floats, int]:
    """Both files as matrices of numbers, then codes, and how many columns are numbers."""
    xa, xb = _matrix("a", a), _matrix("b", b)
    ca, cb = _code_matrix("codes_a", codes_a, len(xa)), _code_matrix("codes_b", codes_b, len(xb))
    if xa.shape[1] != xb.shape[1] or ca.shape[1] != cb.shape[1]:
        raise ValueError("a and b must have the same columns")
    if not len(xb):
        raise ValueError("b has no records to link to")
    return np.hstack([xa, ca]), np.hstack([xb, cb]), xa.shape[1]


def where_missing(a: Floats, b: Floats, penalty: Floats) -> Floats:
    """The penalty of each numeric column, -1 where nothing is missing."""
    p = len(penalty)
    gone = np.isnan(a[:, :p]).any(axis=0) | np.isnan(b[:, :p]).any(axis=0)
    return np.where(gone, penalty, -1.0)


def masked_blocks(b: Floats, weights: Floats) -> tuple[Floats, Floats, Ints, Ints]:
    """The distinct records of `b` in blocks, their boxes, copies and lowest rows."""
    first, member = distinct_rows(b.view(np.int64), np.empty((len(b), 0), np.int32))
    lowest = order_in_blocks(b, weights, first, BLOCK)
    copies = np.bincount(member, minlength=len(first))[member[lowest]].astype(np.int64)
    return *in_blocks(b, lowest, BLOCK), copies, lowest


def queries(a: Floats, order: Ints) -> tuple[Floats, Floats]:
    """Records in that order, and the box of each group of them."""
    boxes = in_blocks(a, order, BLOCK)[1] if len(order) else np.empty((3, a.shape[1], 0))
    return a[order], np.ascontiguousarray(boxes.transpose(2, 0, 1))


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
    xa, xb, p = both_files(a, b, codes_a, codes_b)
    q = xa.shape[1] - p
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
    rule = where_missing(xa, xb, penalty)
    # A row's own masked record is seldom far: its distance is a good limit to start from.
    far = to_own(xa, xb, mine, weights, penalty)
    size = (len(xa), len(xb), p, 1)
    plain = q == 0 and bool(np.all(rule < 0.0))
    near = on_card("nearest", size, lambda: _on_card(xa, xb, tolerance, far) if plain else None)
    if near is not None:
        distance, ties, lead = near
        return Nearest(distance, ties, _own_tied(far, distance, tolerance, mine), lead)
    blocks, boxes, copies, lowest = masked_blocks(xb, weights)
    first_a, member = distinct_rows(xa.view(np.int64), np.empty((len(xa), 0), np.int32))
    order = order_in_blocks(xa, weights, first_a, BLOCK)
    rows, groups = queries(xa, order)
    least, ties, first = far[order], np.empty(len(order), np.int64), np.empty_like(order)

    def work(start: int, stop: int) -> None:
        _search(rows, groups, blocks, boxes, copies, lowest, weights, rule, float(tolerance),
                start, stop, least, ties, first)  # fmt: skip

    in_parts(work, len(groups), threads)
    place = np.empty(len(order), np.int64)
    place[member[order]] = np.arange(len(order))
    where = place[member]
    distance = least[where]
    return Nearest(distance, ties[where], _own_tied(far, distance, tolerance, mine), first[where])


def _own_tied(far: Floats, distance: Floats, tolerance: float, own: Ints) -> NDArray[np.bool_]:
    """Whether each row's own masked record is among the nearest."""
    tied: NDArray[np.bool_] = (far <= distance + tolerance * distance) & (own >= 0)
    return tied


def _on_card(
    a: Floats, b: Floats, tolerance: float, far: Floats
) -> tuple[Floats, Ints, Ints] | None:
    """Least distances, how many rows tie, and the lowest of them; of numbers without gaps."""
    from ..gpu.nearest import nearest

    found = nearest(a, b, 1, tolerance, lambda least: least + tolerance * least, far)
    return None if found is None else (found.squares[:, 0], found.ties, found.first)
