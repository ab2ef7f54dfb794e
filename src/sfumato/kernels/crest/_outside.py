"""The records that a class-restricted tree has not reached yet, and the best of them for a record.

They lie in blocks of neighbours of one class with bounding boxes (see blocks.py). The composite
distance from a record u to a record v of class c is a L(u, v) + w(c), where w(c) is the same for
all records of the class: so the least bound of a block's box tells whether the block can hold a
better one, and within a block only the nearest counts. Bounds are summed in the order of distances
and rounding is monotone: what is passed over could not have been chosen, ties included.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.neighbours.blocks import order_in_blocks

BLOCK = 32  # records to a box


class Outside(NamedTuple):
    """Blocks of records, each of one class; `where` is block * BLOCK + place of a row."""

    coordinates: Floats  # (blocks, p, BLOCK)
    rows: Ints  # (blocks, BLOCK)
    length: Ints  # (blocks,)
    kind: Ints  # (blocks,): the class
    box: Floats  # (p, 2, blocks)
    where: Ints  # (n,)
    bound: Floats  # (blocks,): room for a search
    squares: Floats  # (BLOCK,): room for a search


@njit(cache=True, nogil=True)
def composite(squared: float, offset: float, alpha: float, unit: float) -> float:
    """Equation 6: `unit` turns a Euclidean into a normalized distance, `offset` is the weighted
    divergence."""
    return alpha * (unit * np.sqrt(squared)) + offset


@njit(cache=True, nogil=True)
def _tighten(b: int, coordinates: Floats, length: Ints, box: Floats) -> None:
    for j in range(coordinates.shape[1]):
        low = high = coordinates[b, j, 0]
        for i in range(1, length[b]):
            low = min(low, coordinates[b, j, i])
            high = max(high, coordinates[b, j, i])
        box[j, 0, b], box[j, 1, b] = low, high


@njit(cache=True, nogil=True)
def _fill(points: Floats, order: Ints, starts: Ints, kinds: Ints, blocks: int) -> Outside:
    n, p = points.shape
    coordinates = np.zeros((blocks, p, BLOCK))
    rows, length = np.empty((blocks, BLOCK), np.int64), np.zeros(blocks, np.int64)
    kind, box = np.empty(blocks, np.int64), np.empty((p, 2, blocks))
    where = np.full(n, -1, np.int64)
    weights = np.empty(0)
    b = 0
    for part in range(kinds.size):
        arranged = order_in_blocks(points, weights, order[starts[part] : starts[part + 1]], BLOCK)
        for at in range(arranged.size):
            i, row = at % BLOCK, arranged[at]
            if i == 0 and at > 0:
                b += 1
            kind[b] = kinds[part]
            rows[b, i], where[row] = row, b * BLOCK + i
            length[b] += 1
            for j in range(p):
                coordinates[b, j, i] = points[row, j]
        b += 1
    for b in range(blocks):
        _tighten(b, coordinates, length, box)
    return Outside(coordinates, rows, length, kind, box, where, np.empty(blocks), np.empty(BLOCK))


def arrange(points: Floats, classes: Ints, rows: Ints) -> Outside:
    """Blocks for these rows."""
    order = rows[np.argsort(classes[rows], kind="stable")]
    kinds, starts = np.unique(classes[order], return_index=True)
    ends = np.append(starts, order.size).astype(np.int64)
    blocks = int(np.sum((np.diff(ends) + BLOCK - 1) // BLOCK))
    return _fill(points, order, ends, kinds.astype(np.int64), blocks)


@njit(cache=True, nogil=True)
def remove(outside: Outside, row: int) -> None:
    """Take a record out: the last of its block moves into its place."""
    b, i = outside.where[row] // BLOCK, outside.where[row] % BLOCK
    outside.length[b] -= 1
    last = outside.length[b]
    edge = False
    for j in range(outside.coordinates.shape[1]):
        value = outside.coordinates[b, j, i]
        edge |= value == outside.box[j, 0, b] or value == outside.box[j, 1, b]
        outside.coordinates[b, j, i] = outside.coordinates[b, j, last]
    outside.rows[b, i] = outside.rows[b, last]
    outside.where[outside.rows[b, i]] = b * BLOCK + i
    outside.where[row] = -1
    if edge and last > 0:
        _tighten(b, outside.coordinates, outside.length, outside.box)


@njit(cache=True, nogil=True)
def _bounds(outside: Outside, x: Floats, offsets: Floats, alpha: float, unit: float) -> int:
    """The least composite distance that each block may hold; returns the most promising block."""
    bound = outside.bound
    bound[:] = 0.0
    for j in range(x.size):
        low, high, value = outside.box[j, 0], outside.box[j, 1], x[j]
        for b in range(bound.size):
            gap = max(max(low[b] - value, value - high[b]), 0.0)
            bound[b] += gap * gap
    best = -1
    for b in range(bound.size):
        if outside.length[b] == 0:
            bound[b] = np.inf
            continue
        bound[b] = composite(bound[b], offsets[outside.kind[b]], alpha, unit)
        if best < 0 or bound[b] < bound[best]:
            best = b
    return best


@njit(cache=True, nogil=True)
def best_for(
    outside: Outside, x: Floats, offsets: Floats, alpha: float, unit: float,
    cd: float, squared: float, row: int,
) -> tuple[float, float, int]:  # fmt: skip
    """The record with the least composite distance from `x`, of equals the nearest, then the
    lowest row; never worse than the (cd, squared, row) that is already known."""
    seed = _bounds(outside, x, offsets, alpha, unit)
    squares = outside.squares
    for turn in range(-1, outside.bound.size):
        b = seed if turn < 0 else turn
        if outside.bound[b] > cd or outside.length[b] == 0 or (turn == seed):
            continue
        size = outside.length[b]
        block = outside.coordinates[b]
        squares[:] = 0.0
        for j in range(x.size):
            value, column = x[j], block[j]
            for i in range(BLOCK):
                step = value - column[i]
                squares[i] += step * step
        near, first = squares[0], outside.rows[b, 0]
        for i in range(1, size):
            if squares[i] < near or (squares[i] == near and outside.rows[b, i] < first):
                near, first = squares[i], outside.rows[b, i]
        found = composite(near, offsets[outside.kind[b]], alpha, unit)
        if found < cd or (found == cd and (near < squared or (near == squared and first < row))):
            cd, squared, row = found, near, first
    return cd, squared, row
