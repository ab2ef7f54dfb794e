"""MDAV's groups on the card: the CPU's, to the last one (micro/mdav says which they are).

Groups depend on one another, so that one kernel stays on the card for many of them: its blocks, as
many as run at once, wait for each other three times for each group. All rows are looked at for the
record farthest from the centroid and for the nearest ones of a group's first record. The distances
to that one are kept, so that the record farthest from it is found among them.

Everything is in double precision and the CPU's order of operations. Every block keeps the double-
double sums of what remains, and subtracts the same rows in the same order: the first record, then
the others by rising rows. Ties go to the lowest row.
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
from ._exact import SIMULATED, minus, plus
from ._grid import (
    DEALS,
    KEEP,
    MOST_COLUMNS,
    MOST_K,
    SHAPE,
    Shape,
    blocks_of,
    distance,
    notes_of,
    picker,
    rows_of,
)

FEW = 20_000
"""Rows that are left to the CPU, whose searches pass over most of so few."""
REMAINING, GROUPS, ANCHOR, CROWDED, LOOKED = range(5)
"""What the kernel leaves: rows and groups, the first record whose counterpart is still to be found,
whether there were too many candidates, and how many rows were looked at."""


class Grouped(NamedTuple):
    """Groups formed so far."""

    label: Ints
    """of each row, or -1"""
    sums: Floats
    """(columns, 2): double-double sums of the rows that remain"""
    remaining: int
    groups: int


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
    threads, pick = shape.threads, picker(shape)

    @cuda.jit(**({} if SIMULATED else {"launch_bounds": (threads, 1)}))
    def form(rows: Any, notes: Any, sums: Any, state: Any, k: int, stop: int) -> None:
        """Form groups until at most `stop` rows remain."""
        x, name, label, kept = rows
        _, _, far, far_at, _, _, _ = notes
        point = cuda.shared.array(MOST_COLUMNS, np.float64)
        high = cuda.shared.array(MOST_COLUMNS, np.float64)
        low = cuda.shared.array(MOST_COLUMNS, np.float64)
        key = cuda.shared.array(threads, np.float64)
        at = cuda.shared.array(threads, np.int64)
        members = cuda.shared.array(MOST_K, np.int64)
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
                    value = kept[i] if known else distance(x, i, point)
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
                    cuda.cg.this_grid().sync()
            first = at[0]
            held = first
            if not pick(rows, notes, first, k, turn, point, key, at, members):
                crowded = 1
                break
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
    blocks, deals = blocks_of(SHAPE), 0
    form = kernel_of(SHAPE)
    while state[ANCHOR] >= 0 or (state[REMAINING] >= 2 * k and state[REMAINING] > few):
        anchor = state[ANCHOR]
        free = label.copy()
        if anchor >= 0:  # a row that has its group, and whose counterpart is wanted
            free[anchor] = -1
        rows, held = rows_of(x, free, deals)
        if anchor >= 0:
            state[ANCHOR] = np.flatnonzero(rows == anchor)[0]
            held = held._replace(label=sent(label[rows].astype(np.int32)))
        state[CROWDED] = 0
        stop = max(int(state[REMAINING] * KEEP), few)
        on_card, told = sent(sums), sent(state)
        form[blocks, SHAPE.threads](held, notes_of(blocks, SHAPE), on_card, told, k, stop)
        state, sums = fetched(told), fetched(on_card)
        label[rows] = fetched(held.label)
        if state[ANCHOR] >= 0:
            state[ANCHOR] = rows[state[ANCHOR]]
        deals = deals + 1 if state[CROWDED] else 0
        if deals > DEALS:
            return None
        report("grouping", n - int(state[REMAINING]), n)
    if (meter := _card.meter()) is not None:
        meter.read += int(state[LOOKED]) * columns * 8
    return Grouped(label, sums, int(state[REMAINING]), int(state[GROUPS]))
