"""Blocks that work on all rows together, waiting for one another: the k nearest rows of a row.

Rows are columns of `x`; which row of the file each is says `name`, and whether it is free `label`,
below 0. Row i belongs to one thread of one block, which alone reads and writes its label. Distances
are those of the CPU, bit by bit, and of equal ones the lower row of the file comes first.

Every block hands in the nearest free row of each of its parts. The (k - 1)-th of these, by distance
and row, is a limit, since so many rows are as near. What is within it are candidates, of which each
block picks the k - 1 nearest. Rows are dealt to the blocks as cards are, so that candidates are few
more than k - 1 whatever the order of the file; where they are too many, nothing is picked, and the
rows have to be dealt anew.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ..arrays import Floats, Ints
from ._card import sent
from ._exact import SIMULATED, minus, plus, times
from ._passes import filled

MOST_COLUMNS = 512
MOST_K = 64
KEEP = 0.8
"""What is left of the rows when those that are grouped are dropped from the arrays."""
DEALS = 8
"""How often rows are dealt anew before the CPU is left to it."""


class Shape(NamedTuple):
    """How a kernel is cut into pieces."""

    threads: int
    parts: int
    """of a block, each with a nearest row of its own"""
    candidates: int


SHAPE = Shape(4, 4, 16) if SIMULATED else Shape(1024, 2, 1024)


class Rows(NamedTuple):
    """On the card, of each row."""

    x: Any
    """(columns, rows)"""
    name: Any
    label: Any
    kept: Any
    """room for a distance"""


class Notes(NamedTuple):
    """On the card, what blocks tell one another."""

    near: Any
    near_at: Any
    far: Any
    far_at: Any
    found: Any
    found_at: Any
    counts: Any


def rows_of(x: Floats, label: Ints, deal: int) -> tuple[Ints, Rows]:
    """The rows without a label, dealt anew, and what the card holds of them."""
    # The order changes no result: numbers drawn from a secret seed are not needed here.
    rows = np.random.default_rng(deal).permutation(np.flatnonzero(label < 0))
    held = Rows(
        sent(np.ascontiguousarray(x[rows].T)),
        sent(rows),
        sent(label[rows].astype(np.int32)),
        cuda.device_array(len(rows), np.float64),
    )
    return rows, held


def notes_of(blocks: int, shape: Shape) -> Notes:
    """Room for what blocks tell."""
    parts = blocks * shape.parts

    def room(size: int) -> tuple[Any, Any]:
        return cuda.device_array(size, np.float64), cuda.device_array(size, np.int64)

    (near, near_at), (far, far_at), (found, found_at) = (
        room(size) for size in (parts, blocks, shape.candidates)
    )
    return Notes(near, near_at, far, far_at, found, found_at, filled((2,), 0))


def blocks_of(shape: Shape) -> int:
    """One for each multiprocessor: so many run at once."""
    if SIMULATED:
        return 1
    return min(int(cuda.get_current_device().MULTIPROCESSOR_COUNT), shape.threads // shape.parts)


@cuda.jit(device=True)
def before(one: float, row: int, other: float, row_of_other: int) -> bool:
    """Whether a distance comes first; of equals that of the lower row."""
    return one < other or (one == other and row < row_of_other)


@cuda.jit(device=True)
def distance(x: Any, i: int, point: Any) -> float:
    """Squared distance of row i from a point, columns in their order."""
    total = 0.0
    for j in range(x.shape[0]):
        step = minus(x[j, i], point[j])
        total = plus(total, times(step, step))
    return total


@cuda.jit(device=True)
def fold(key: Any, at: Any, name: Any, t: int, until: int) -> None:
    """Of the pairs of all threads of a block, the first `until` become the least of their parts."""
    cuda.syncthreads()
    span = key.shape[0] // 2
    while span >= until:
        if t < span and at[t + span] >= 0:
            other, there = key[t + span], at[t + span]
            if at[t] < 0 or before(other, name[there], key[t], name[at[t]]):
                key[t], at[t] = other, there
        cuda.syncthreads()
        span //= 2


@cache
def picker(shape: Shape) -> Any:
    """The function of all threads that picks the nearest rows."""
    threads, parts, most = shape

    @cuda.jit(device=True)
    def pick(
        rows: Any, notes: Any, first: int, k: int, turn: int, point: Any, key: Any, at: Any,
        members: Any,
    ) -> bool:  # fmt: skip
        """Fill `members` with a row and its k - 1 nearest free ones, these by rising rows of the
        file, and `kept` with the distances of all from it; False where too many came close.

        `turn` is 0 and 1 by turns.
        """
        x, name, label, kept = rows
        near, near_at, _, _, found, found_at, counts = notes
        pool = cuda.shared.array(most, np.float64)
        pool_row = cuda.shared.array(most, np.int64)
        limit = cuda.shared.array(1, np.float64)
        limit_row = cuda.shared.array(1, np.int64)
        chosen = cuda.shared.array(MOST_K, np.int64)
        t, b, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        columns, n = x.shape
        ahead, stride = b * threads + t, blocks * threads
        for j in range(t, columns, threads):
            point[j] = x[j, first]
        cuda.syncthreads()
        best, place = np.inf, -1
        for i in range(ahead, n, stride):
            if label[i] < 0 and i != first:
                value = distance(x, i, point)
                kept[i] = value
                if place < 0 or before(value, name[i], best, name[place]):
                    best, place = value, i
        key[t], at[t] = best, place
        fold(key, at, name, t, parts)
        if t < parts:
            near[b * parts + t], near_at[b * parts + t] = key[t], at[t]
        if t == 0:
            limit[0], limit_row[0] = np.inf, 0
        cuda.cg.this_grid().sync()
        if b == 0 and t == 0:
            counts[1 - turn] = 0
        many = blocks * parts
        for c in range(t, many, threads):
            pool[c] = near[c]
            pool_row[c] = name[near_at[c]] if near_at[c] >= 0 else -1
        cuda.syncthreads()
        for c in range(t, many, threads):
            if pool_row[c] >= 0:
                rank = 0
                for e in range(many):
                    if pool_row[e] >= 0 and before(pool[e], pool_row[e], pool[c], pool_row[c]):
                        rank += 1
                if rank == k - 2:
                    limit[0], limit_row[0] = pool[c], pool_row[c]
        cuda.syncthreads()
        for i in range(ahead, n, stride):
            if label[i] < 0 and i != first:
                far = before(limit[0], limit_row[0], kept[i], name[i])
                slot = most if far else cuda.atomic.add(counts, turn, 1)
                if slot < most:
                    found[slot], found_at[slot] = kept[i], i
        cuda.cg.this_grid().sync()
        many = counts[turn]
        if many > most:
            return False
        for c in range(t, many, threads):
            pool[c], pool_row[c] = found[c], name[found_at[c]]
        cuda.syncthreads()
        for c in range(t, many, threads):
            rank = 0
            for e in range(many):
                if before(pool[e], pool_row[e], pool[c], pool_row[c]):
                    rank += 1
            if rank < k - 1:
                chosen[rank] = found_at[c]
        cuda.syncthreads()
        if t == 0:
            members[0] = first
        for c in range(t, k - 1, threads):
            rank = 1
            for e in range(k - 1):
                if name[chosen[e]] < name[chosen[c]]:
                    rank += 1
            members[rank] = chosen[c]
        cuda.syncthreads()
        return True

    return pick
