"""V-MDAV's groups on the card: the CPU's, to the last one (micro/v_mdav.py says which they are).

One kernel stays on the card for many groups, as MDAV's does. The first records are known in their
order beforehand. When a group has its first k records, each free row learns how far its nearest
member is, eight members at a time; a record that joins only lowers that. The blocks wait for one
another three times for a group, and twice for each record that might join.
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
from ._grid import (
    DEALS,
    KEEP,
    MOST_COLUMNS,
    MOST_K,
    SHAPE,
    Shape,
    blocks_of,
    distance,
    fold,
    notes_of,
    picker,
    rows_of,
)

FEW = 20_000
"""Rows that are left to the CPU, whose searches pass over most of so few."""
FREE, GROUPS, CROWDED = range(3)
"""What the kernel leaves: rows and groups, and whether there were too many candidates."""
AT_ONCE = 8
"""Members that a row is compared with at once."""


class Grouped(NamedTuple):
    """Groups formed so far."""

    label: Ints
    """of each row, or -1"""
    free: int
    groups: int


@cache
def kernel_of(shape: Shape) -> Any:
    """The kernel."""
    threads, pick = shape.threads, picker(shape)

    @cuda.jit(**({} if SIMULATED else {"launch_bounds": (threads, 1)}))
    def form(
        rows: Any, notes: Any, close: Any, seeds: Any, state: Any, k: int, gain: float, stop: int
    ) -> None:
        """Form groups until at most `stop` rows are free."""
        x, name, label, kept = rows
        near, _, far, far_at, _, _, _ = notes
        point = cuda.shared.array(MOST_COLUMNS, np.float64)
        key = cuda.shared.array(threads, np.float64)
        at = cuda.shared.array(threads, np.int64)
        members = cuda.shared.array(MOST_K, np.int64)
        total = cuda.local.array(AT_ONCE, np.float64)
        t, b, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
        columns, n = x.shape
        ahead, stride = b * threads + t, blocks * threads
        free, groups = state[FREE], state[GROUPS]
        turn, crowded, seed = 0, 0, 0
        while free >= k and free > stop:
            while label[seeds[seed]] >= 0:
                seed += 1
            # No label changes before all blocks have read them: picking waits for them.
            if not pick(rows, notes, seeds[seed], k, turn, point, key, at, members):
                crowded = 1
                break
            for c in range(k):
                if members[c] % stride == ahead:
                    label[members[c]] = groups
            for i in range(ahead, n, stride):
                if label[i] < 0:
                    least = np.inf
                    for low in range(0, k, AT_ONCE):
                        many = min(AT_ONCE, k - low)
                        for c in range(many):
                            total[c] = 0.0
                        for j in range(columns):
                            for c in range(many):
                                step = minus(x[j, i], x[j, members[low + c]])
                                total[c] = plus(total[c], times(step, step))
                        for c in range(many):
                            least = min(least, total[c])
                    close[i] = least
            size = k
            while size < 2 * k - 1 and free - size >= 2:
                # The free row nearest to a member.
                best, place = np.inf, -1
                for i in range(ahead, n, stride):
                    if label[i] < 0 and (
                        place < 0 or close[i] < best or (close[i] == best and name[i] < name[place])
                    ):
                        best, place = close[i], i
                for round_ in range(2):
                    if round_ == 1:
                        best, place = np.inf, -1
                        if t < blocks:
                            best, place = far[t], far_at[t]
                    key[t], at[t] = best, place
                    fold(key, at, name, t, 1)
                    if round_ == 0:
                        if t == 0:
                            far[b], far_at[b] = key[0], at[0]
                        cuda.cg.this_grid().sync()
                inward, joining = key[0], at[0]
                # How far the other free rows are from it.
                for j in range(t, columns, threads):
                    point[j] = x[j, joining]
                cuda.syncthreads()
                best, place = np.inf, -1
                for i in range(ahead, n, stride):
                    if label[i] < 0 and i != joining:
                        value = distance(x, i, point)
                        kept[i] = value
                        if place < 0 or value < best:
                            best, place = value, i
                for round_ in range(2):
                    if round_ == 1:
                        best, place = np.inf, -1
                        if t < blocks:
                            best, place = near[t], 0
                    key[t], at[t] = best, place
                    fold(key, at, name, t, 1)
                    if round_ == 0:
                        if t == 0:
                            near[b] = key[0]
                        cuda.cg.this_grid().sync()
                outward = key[0]
                cuda.syncthreads()
                if not inward < times(times(gain, gain), outward):
                    break
                if joining % stride == ahead:
                    label[joining] = groups
                for i in range(ahead, n, stride):
                    if label[i] < 0:
                        close[i] = min(close[i], kept[i])
                size += 1
            free -= size
            groups += 1
            turn = 1 - turn
            # Labels are read of all rows, for the next first record.
            cuda.cg.this_grid().sync()
        if b == 0 and t == 0:
            state[FREE], state[GROUPS], state[CROWDED] = free, groups, crowded

    return form


def v_mdav(x: Floats, k: int, gain: float, seeds: Ints, few: int | None = None) -> Grouped | None:
    """Groups until at most `few` rows are free (FEW unless given), or fewer than k.

    `seeds` are the rows in the order in which they begin groups. None where the CPU is to form them
    all: more columns or larger groups than there is room for, or more rows than fit on the card.
    """
    n, columns = x.shape
    few = FEW if few is None else few
    if not 1 <= columns <= MOST_COLUMNS or not 2 <= k <= MOST_K:
        return None
    if n * (8 * columns + 44) > _card.room():
        return None
    label, state = np.full(n, -1, np.int64), np.array([n, 0, 0], np.int64)
    blocks, deals = blocks_of(SHAPE), 0
    form = kernel_of(SHAPE)
    while state[FREE] >= k and state[FREE] > few:
        rows, held = rows_of(x, label, deals)
        where = np.full(n, -1, np.int64)
        where[rows] = np.arange(len(rows))
        seeds = seeds[label[seeds] < 0]
        state[CROWDED] = 0
        stop = max(int(state[FREE] * KEEP), few)
        close, told = cuda.device_array(len(rows), np.float64), sent(state)
        form[blocks, SHAPE.threads](
            held, notes_of(blocks, SHAPE), close, sent(where[seeds]), told, k, gain, stop
        )
        state = fetched(told)
        label[rows] = fetched(held.label)
        deals = deals + 1 if state[CROWDED] else 0
        if deals > DEALS:
            return None
        report("forming groups", n - int(state[FREE]), n)
    return Grouped(label, int(state[FREE]), int(state[GROUPS]))
