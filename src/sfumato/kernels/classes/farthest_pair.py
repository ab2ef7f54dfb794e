"""Dividing records around the two that are farthest apart.

The distance of two records is 2 m(LUB) - m(A) - m(B), m the cost of publishing. A group is divided
around its farthest pair: every other record goes to the nearer of the two, equally near ones to the
seed with the lower row. Then the same with both sides. Two rules say when that ends:

- undo: a division that would leave a side below k is undone, and the group stays;
- share: groups of 2k or more are always divided, and the nearest of the larger side's records move
  over until the smaller side has k; so groups end with k to 2k - 1.

The farthest pair of a large group is sought by sweeps: the record farthest from the first one, then
the one farthest from that, and so on while the distance grows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from sfumato.progress import report

from ..arrays import Floats, Ints
from ..joins.lub import Joins, States, cell_cost, join, record_cost
from ..threads import cores

_SWEEPS = 8
_ALONE = 2_000
"""Groups up to this size are divided to the end by one thread."""


@njit(cache=True, nogil=True)
def _distance(joins: Joins, states: States, own: Floats, a: int, b: int) -> float:
    total = 0.0
    for j in range(states.shape[1]):
        total += cell_cost(joins, j, join(joins, j, states[a, j], states[b, j]))
    return 2.0 * total - own[a] - own[b]


@njit(cache=True, nogil=True)
def _own(joins: Joins, states: States) -> Floats:
    own = np.empty(states.shape[0])
    for i in range(own.size):
        own[i] = record_cost(joins, states[i])
    return own


@njit(cache=True, nogil=True)
def _exact_pair(
    joins: Joins, states: States, own: Floats, rows: Ints
) -> tuple[int, int, float, int]:
    """The farthest pair, the lowest rows where several are as far, its distance, and how many
    other pairs are."""
    first, second, most, ties = rows[0], rows[0], -1.0, 0
    for a in range(rows.size):
        for b in range(a + 1, rows.size):
            found = _distance(joins, states, own, rows[a], rows[b])
            if found > most:
                first, second, most, ties = rows[a], rows[b], found, 0
            elif found == most:
                ties += 1
    return first, second, most, ties


@njit(cache=True, nogil=True)
def _swept_pair(
    joins: Joins, states: States, own: Floats, rows: Ints
) -> tuple[int, int, float, int]:
    """The same by sweeps: a pair that is far apart, if not the farthest."""
    first, second, most, ties = rows[0], rows[0], -1.0, 0
    start = rows[0]
    for _ in range(_SWEEPS):
        farthest, reach, others = start, -1.0, 0
        for row in rows:
            if row != start:
                found = _distance(joins, states, own, start, row)
                if found > reach:
                    farthest, reach, others = row, found, 0
                elif found == reach:
                    others += 1
        if reach <= most:
            break
        first, second, most, ties = start, farthest, reach, others
        start = farthest
    return min(first, second), max(first, second), most, ties


@njit(cache=True, nogil=True)
def _divide(
    joins: Joins,
    states: States,
    own: Floats,
    rows: Ints,
    k: int,
    share: bool,
    exact_up_to: int,
    tally: Ints,
) -> int:
    """Put one side of the group before the other; where the second begins, 0 if it stays whole.

    `tally` counts divisions, approximate ones, those undone, and ties of pairs.
    """
    size = rows.size
    if size < 2 * k:
        return 0
    if size <= exact_up_to:
        a, b, most, ties = _exact_pair(joins, states, own, rows)
    else:
        a, b, most, ties = _swept_pair(joins, states, own, rows)
    if most <= 0.0 and not share:
        return 0
    tally[0] += 1
    tally[1] += size > exact_up_to
    tally[3] += ties > 0
    lean = np.empty(size)
    for i in range(size):
        lean[i] = _distance(joins, states, own, a, rows[i]) - _distance(
            joins, states, own, b, rows[i]
        )
        if rows[i] == a:
            lean[i] = -np.inf
        elif rows[i] == b:
            lean[i] = np.inf
    near_a = 0
    for i in range(size):
        near_a += lean[i] <= 0.0
    cut = near_a
    if share:
        cut = min(max(near_a, k), size - k)
    elif min(near_a, size - near_a) < k:
        tally[2] += 1
        return 0
    order = np.argsort(lean, kind="mergesort")
    left, right = np.sort(rows[order[:cut]]), np.sort(rows[order[cut:]])
    rows[:cut] = left
    rows[cut:] = right
    return cut


@njit(cache=True, nogil=True)
def _divide_all(
    joins: Joins,
    states: States,
    own: Floats,
    rows: Ints,
    start: int,
    stop: int,
    k: int,
    share: bool,
    exact_up_to: int,
    labels: Ints,
    tally: Ints,
) -> None:
    """Divide rows[start:stop] to the end; a group's label is its lowest row."""
    stack = [(start, stop)]
    while len(stack) > 0:
        low, high = stack.pop()
        group = rows[low:high]
        cut = _divide(joins, states, own, group, k, share, exact_up_to, tally)
        if cut:
            stack.append((low, low + cut))
            stack.append((low + cut, high))
        else:
            for row in group:
                labels[row] = group[0]


def divide(
    joins: Joins,
    states: np.ndarray,
    k: int,
    *,
    share: bool,
    exact_up_to: int,
    threads: int | None = None,
) -> tuple[Ints, Ints]:
    """The lowest row of each record's group; and how many divisions were tried, how many of them
    around an approximate pair, how many were undone, and in how many several pairs were farthest.

    `threads` never alters the result.
    """
    n = states.shape[0]
    rows, labels = np.arange(n), np.zeros(n, dtype=np.int64)
    own = _own(joins, states)
    tally = np.zeros(4, dtype=np.int64)
    small: list[tuple[int, int]] = []
    large = [(0, n)]
    while large:
        low, high = large.pop()
        if high - low <= _ALONE:
            small.append((low, high))
            continue
        cut = _divide(joins, states, own, rows[low:high], k, share, exact_up_to, tally)
        if cut:
            large += [(low, low + cut), (low + cut, high)]
        else:
            labels[rows[low:high]] = rows[low]
        report("dividing large groups", n - sum(b - a for a, b in large), n)
    with ThreadPoolExecutor(cores(threads)) as pool:
        tallies = [np.zeros(4, dtype=np.int64) for _ in small]
        tasks = [
            pool.submit(_divide_all, joins, states, own, rows, low, high, k, share, exact_up_to,
                        labels, one)
            for (low, high), one in zip(small, tallies, strict=True)
        ]  # fmt: skip
        for done, task in enumerate(tasks):
            task.result()
            report("dividing groups", done + 1, len(tasks))
    return labels, tally + sum(tallies, start=np.zeros(4, dtype=np.int64))
