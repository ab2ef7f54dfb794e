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


def arrange(points: Floats, classes: Ints, rows: Ints) -> Outside:
    """Blocks for these rows."""
    order = rows[np.argsort(classes[rows], kind="stable")]
    kinds, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    parts = np.split(order, starts[1:])
    arranged = np.concatenate([order_in_blocks(points, np.empty(0), p, BLOCK) for p in parts])
    blocks = -(-sizes // BLOCK)
    length = np.full(blocks.sum(), BLOCK)
    length[np.cumsum(blocks) - 1] = sizes - (blocks - 1) * BLOCK
    there = np.arange(BLOCK) < length[:, None]
    held = np.zeros(there.shape, np.int64)
    held[there] = arranged
    where = np.full(len(points), -1, np.int64)
    where[arranged] = np.flatnonzero(there)
    x = points[held].transpose(0, 2, 1)
    low, high = (np.where(there[:, None], x, far) for far in (np.inf, -np.inf))
    box = np.array([low.min(axis=2), high.max(axis=2)]).transpose(2, 0, 1).copy()
    return Outside(
        np.where(there[:, None], x, 0.0).copy(order="C"),
        held,
        length,
        np.repeat(kinds, blocks).astype(np.int64),
        box,
        where,
        np.empty(length.size),
        np.empty(BLOCK),
    )


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
