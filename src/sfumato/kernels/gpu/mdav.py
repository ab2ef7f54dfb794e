"""MDAV's groups on the card: the CPU's, to the last one (micro/mdav says which they are).

Groups depend on one another, so that one kernel stays on the card for many of them: its blocks, as
many as run at once, wait for each other three times for each group. All rows are looked at for the
record farthest from the centroid and for the nearest ones of a group's first record. The distances
to that one are kept, so that the record farthest from it is found among them.

Everything is in double precision and the CPU's order of operations. Every block keeps the double-
double sums of what remains, and subtracts the same rows in the same order: the first record, then
the others by rising rows. Ties go to the lowest row.

Nearest rows: every block hands in the nearest of each of its parts. The (k - 1)-th of these, by
distance and row, is a limit, since so many rows are as near. What is within it are candidates, of
which each block picks the k - 1 nearest. Rows are dealt to the blocks as cards are, so that they
are few more than k - 1 whatever the order of the file; where they are too many, the rows are dealt
anew.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from sfumato.progress import report

from ..arrays import Floats, Ints
from . import _card
from ._card import fetched, sent
from ._exact import SIMULATED, minus, plus, times
from ._passes import filled

MOST_COLUMNS = 512
MOST_K = 64
FEW = 20_000
"""Rows that are left to the CPU, whose searches pass over most of so few."""
KEEP = 0.8
"""What is left of the rows when those that are grouped are dropped from the arrays."""
DEALS = 8
"""How often rows are dealt anew before the CPU is left to it."""
REMAINING, GROUPS, ANCHOR, CROWDED, LOOKED = range(5)
"""What the kernel leaves: rows and groups, the first record whose counterpart is still to be found,
whether there were too many candidates, and how many rows were looked at."""


class Shape(NamedTuple):
    """How a kernel is cut into pieces."""

    threads: int
    parts: int
    """of a block, each with a nearest row of its own"""
    candidates: int


SHAPE = Shape(4, 4, 16) if SIMULATED else Shape(1024, 2, 1024)


class Grouped(NamedTuple):
    """Groups formed so far."""

    label: Ints
    """of each row, or -1"""
    sums: Floats
    """(columns, 2): double-double sums of the rows that remain"""
    remaining: int
    groups: int


@cuda.jit(device=True)
def _before(one: float, row: int, other: float, row_of_other: int) -> bool:
    """Whether a distance comes first; of equals that of the lower row."""
    return one < other or (one == other and row < row_of_other)


@cuda.jit(device=True)
def _from(x: Any, i: int, point: Any) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        step = minus(x[j, i], point[j])
        total = plus(total, times(step, step))
    return total


@cuda.jit(device=True)
def _take_off(high: Any, low: Any, j: int, value: float) -> None:
    """The sum of column j less a value, as the CPU's `_add` does it."""
    total = minus(high[j], value)
    back = minus(total, high[j])
    lost = plus(minus(high[j], minus(total, back)), minus(-value, back))
    rest = plus(low[j], lost)
    result = plus(total, rest)
    high[j], low[j] = result, minus(rest, minus(result, total))


@cache
def kernel_of(shape: Shape) -> Any:
    """The kernel."""
    threads, parts, most = shape

    @cuda.jit(**({} if SIMULATED else {"launch_bounds": (threads, 1)}))
    def form(
        x: Any, name: Any, label: Any, kept: Any, sums: Any, far: Any, far_at: Any, near: Any,
        near_at: Any, found: Any, found_at: Any, counts: Any, state: Any, k: int, stop: int,
    ) -> None:  # fmt: skip
        """Form groups until at most `stop` rows remain."""
        point = cuda.shared.array(MOST_COLUMNS, np.float64)
        high = cuda.shared.array(MOST_COLUMNS, np.float64)
        low = cuda.shared.array(MOST_COLUMNS, np.float64)
        key = cuda.shared.array(threads, np.float64)
        at = cuda.shared.array(threads, np.int64)
        pool = cuda.shared.array(most, np.float64)
        pool_row = cuda.shared.array(most, np.int64)
        limit = cuda.shared.array(1, np.float64)
        limit_row = cuda.shared.array(1, np.int64)
        chosen = cuda.shared.array(MOST_K, np.int64)
        members = cuda.shared.array(MOST_K, np.int64)
        grid = cuda.cg.this_grid()
        t, b, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        columns, n = x.shape
        ahead, stride = b * threads + t, blocks * threads
        for j in range(t, columns, threads):
            high[j], low[j] = sums[j, 0], sums[j, 1]
        remaining, groups, anchor = state[REMAINING], state[GROUPS], state[ANCHOR]
        held, turn, crowded, looked = -1, 0, 0, state[LOOKED]
        cuda.syncthreads()
        while anchor >= 0 or (remaining >= 2 * k and remaining > stop):
            # The farthest row, from the centroid or from the first record of the group before.
            known = anchor >= 0 and held == anchor
            looked += remaining if known else 2 * remaining
            for j in range(t, columns, threads):
                point[j] = x[j, anchor] if anchor >= 0 else high[j] / remaining
            cuda.syncthreads()
            best, place = -1.0, -1
            for i in range(ahead, n, stride):
                if label[i] < 0:
                    value = kept[i] if known else _from(x, i, point)
                    if value > best or (value == best and name[i] < name[place]):
                        best, place = value, i
            for round_ in range(2):
                if round_ == 1:
                    best, place = -1.0, -1
                    if t < blocks:
                        best, place = far[t], far_at[t]
                key[t], at[t] = best, place
                cuda.syncthreads()
                span = threads // 2
                while span > 0:
                    if t < span and at[t + span] >= 0:
                        other, there = key[t + span], at[t + span]
                        if other > key[t] or (other == key[t] and name[there] < name[at[t]]):
                            key[t], at[t] = other, there
                    cuda.syncthreads()
                    span //= 2
                if round_ == 0:
                    if t == 0:
                        far[b], far_at[b] = key[0], at[0]
                    grid.sync()
            first = at[0]
            # Its nearest rows.
            for j in range(t, columns, threads):
                point[j] = x[j, first]
            cuda.syncthreads()
            best, place = np.inf, -1
            for i in range(ahead, n, stride):
                if label[i] < 0 and i != first:
                    value = _from(x, i, point)
                    kept[i] = value
                    if place < 0 or _before(value, name[i], best, name[place]):
                        best, place = value, i
            held = first
            key[t], at[t] = best, place
            cuda.syncthreads()
            span = threads // 2
            while span >= parts:
                if t < span and at[t + span] >= 0:
                    other, there = key[t + span], at[t + span]
                    if at[t] < 0 or _before(other, name[there], key[t], name[at[t]]):
                        key[t], at[t] = other, there
                cuda.syncthreads()
                span //= 2
            if t < parts:
                near[b * parts + t], near_at[b * parts + t] = key[t], at[t]
            if t == 0:
                limit[0], limit_row[0] = np.inf, 0
            grid.sync()
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
                        if pool_row[e] >= 0 and _before(pool[e], pool_row[e], pool[c], pool_row[c]):
                            rank += 1
                    if rank == k - 2:
                        limit[0], limit_row[0] = pool[c], pool_row[c]
            cuda.syncthreads()
            for i in range(ahead, n, stride):
                if (
                    label[i] < 0
                    and i != first
                    and not _before(limit[0], limit_row[0], kept[i], name[i])
                ):
                    slot = cuda.atomic.add(counts, turn, 1)
                    if slot < most:
                        found[slot], found_at[slot] = kept[i], i
            grid.sync()
            many = counts[turn]
            if many > most:
                crowded = 1
                break
            for c in range(t, many, threads):
                pool[c], pool_row[c] = found[c], name[found_at[c]]
            cuda.syncthreads()
            for c in range(t, many, threads):
                rank = 0
                for e in range(many):
                    if _before(pool[e], pool_row[e], pool[c], pool_row[c]):
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
            for j in range(t, columns, threads):
                for c in range(k):
                    _take_off(high, low, j, x[j, members[c]])
            for c in range(k):
                if members[c] % stride == ahead:
                    label[members[c]] = groups
            anchor = first if anchor < 0 and remaining >= 3 * k else -1
            remaining -= k
            groups += 1
            turn = 1 - turn
            cuda.syncthreads()
        if b == 0:
            for j in range(t, columns, threads):
                sums[j, 0], sums[j, 1] = high[j], low[j]
            if t == 0:
                state[REMAINING], state[GROUPS] = remaining, groups
                state[ANCHOR], state[CROWDED], state[LOOKED] = anchor, crowded, looked

    return form


def _blocks() -> int:
    """One for each multiprocessor: so many run at once."""
    if SIMULATED:
        return 1
    return min(int(cuda.get_current_device().MULTIPROCESSOR_COUNT), SHAPE.threads // SHAPE.parts)


def mdav(x: Floats, k: int, sums: Floats, few: int | None = None) -> Grouped | None:
    """Groups of k until at most `few` rows remain (FEW unless given), or fewer than 2k.

    `sums` are the double-double sums of all rows. None where the CPU is to form them all: more
    columns or larger groups than there is room for, or more rows than fit on the card.
    """
    n, columns = x.shape
    few = FEW if few is None else few
    if not 1 <= columns <= MOST_COLUMNS or not 2 <= k <= MOST_K:
        return None
    if n * (8 * columns + 28) > _card.room():
        return None
    label = np.full(n, -1, np.int64)
    state = np.array([n, 0, -1, 0, 0], np.int64)
    blocks, deals = _blocks(), 0
    form = kernel_of(SHAPE)
    while state[ANCHOR] >= 0 or (state[REMAINING] >= 2 * k and state[REMAINING] > few):
        rows = np.flatnonzero(label < 0)
        # The order changes no result: numbers drawn from a secret seed are not needed here.
        rows = np.random.default_rng(deals).permutation(rows)
        if state[ANCHOR] >= 0:  # a row that has its group, and whose counterpart is wanted
            rows = np.append(rows, state[ANCHOR])
            state[ANCHOR] = len(rows) - 1
        state[CROWDED] = 0
        stop = max(int(state[REMAINING] * KEEP), few)
        on_card, labels, told = sent(sums), sent(label[rows].astype(np.int32)), sent(state)
        form[blocks, SHAPE.threads](
            sent(np.ascontiguousarray(x[rows].T)),
            sent(rows),
            labels,
            cuda.device_array(len(rows), np.float64),
            on_card,
            cuda.device_array(blocks, np.float64),
            cuda.device_array(blocks, np.int64),
            cuda.device_array(blocks * SHAPE.parts, np.float64),
            cuda.device_array(blocks * SHAPE.parts, np.int64),
            cuda.device_array(SHAPE.candidates, np.float64),
            cuda.device_array(SHAPE.candidates, np.int64),
            filled((2,), 0),
            told,
            k,
            stop,
        )
        state, sums = fetched(told), fetched(on_card)
        label[rows] = fetched(labels)
        if state[ANCHOR] >= 0:
            state[ANCHOR] = rows[state[ANCHOR]]
        deals = deals + 1 if state[CROWDED] else 0
        if deals > DEALS:
            return None
        report("grouping", n - int(state[REMAINING]), n)
    if (meter := _card.meter()) is not None:
        meter.read += int(state[LOOKED]) * columns * 8
    return Grouped(label, sums, int(state[REMAINING]), int(state[GROUPS]))
