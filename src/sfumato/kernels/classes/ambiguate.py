"""Growing a set of k records around each record, the cheapest least upper bound first.

Katirai's Greedy adds, k - 1 times, the record that makes the set's least upper bound cheapest; the
beam keeps the `width` cheapest sets at every step instead of one. Costs alike are decided by the
order of the sets before, then by the lowest row; of records that are alike in all cells only the
lowest row is looked at. One record's set never depends on another's in `grow_cover`, where sets
overlap; in `grow_classes` records leave once they are in a class.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit

from sfumato.progress import report

from ..arrays import Floats, Ints
from ..joins.lub import Joins, States, bounds_of, join, settle_open
from ..joins.prices import ZERO
from ..threads import cores
from .growing_sets import Pool, Sets, grow, room_for
from .record_trie import Left, Scratch, Trie, all_left, build_trie, scratch, take

_PARTS = 32


@njit(cache=True, nogil=True)
def _cover_part(
    joins: Joins, trie: Trie, monotone: Ints, states: States, left: Left, k: int,
    room: tuple[Sets, Sets, Pool], work: Scratch, start: int, stop: int, members: Ints,
    cost: Floats, ties: Ints,
) -> None:  # fmt: skip
    """Grow the sets of the records at the places start..stop of the trie."""
    for place in range(start, stop):
        row = trie.rows[place]
        cost[row], ties[row] = grow(
            joins, trie, monotone, states, left, row, k, room, work, members, row
        )


def grow_cover(
    joins: Joins,
    states: np.ndarray,
    k: int,
    *,
    width: int = 1,
    monotone: np.ndarray | None = None,
    threads: int | None = None,
) -> tuple[Ints, Floats, Ints]:
    """The set of each record (n, k), itself first, then as they came; its cost; its ties.

    A tie is a step in which a set left out costs as much as the last one kept. `monotone[j]` says
    that joining never makes a cell of column j cheaper: all, unless given. `threads` never alters
    the result.
    """
    n = states.shape[0]
    trie, steady = build_trie(states), _steady(states, monotone)
    members = np.zeros((n, k), dtype=np.int64)
    cost, ties = np.zeros(n), np.zeros(n, dtype=np.int64)
    workers = cores(threads)
    cuts = np.linspace(0, n, min(n, max(_PARTS, 4 * workers)) + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(_cover_part, joins, trie, steady, states, all_left(trie), k,
                        room_for(width, k, states.shape[1]), scratch(trie), start, stop, members,
                        cost, ties)
            for start, stop in pairwise(cuts.tolist())
        ]  # fmt: skip
        for task, stop in zip(tasks, cuts[1:].tolist(), strict=True):
            task.result()
            report("growing sets of records", stop, n)
    return members, cost, ties


@njit(cache=True, nogil=True)
def _classes(
    joins: Joins, trie: Trie, monotone: Ints, states: States, left: Left, k: int,
    room: tuple[Sets, Sets, Pool], work: Scratch, order: Ints, labels: Ints, members: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Close classes of k in the order of their seeds; how many, and the ties. `members` (1, k) is
    scratch."""
    n, classes, ties = order.size, 0, 0
    for i in range(n):
        seed = order[i]
        if n - classes * k < k:
            break
        if labels[seed] >= 0:
            continue
        _, found = grow(joins, trie, monotone, states, left, seed, k, room, work, members, ZERO)
        ties += found
        for m in range(k):
            labels[members[0, m]] = classes
            take(trie, left, members[0, m])
        classes += 1
    return classes, ties


def grow_classes(
    joins: Joins,
    states: np.ndarray,
    k: int,
    *,
    width: int = 1,
    order: np.ndarray | None = None,
    monotone: np.ndarray | None = None,
) -> tuple[Ints, int]:
    """Labels of disjoint classes of at least k, and the ties.

    Records in `order` (as they come, unless given) grow their set among the records that are in no
    class yet, and the set is closed. The fewer than k that remain each join the class whose total
    cost rises least.
    """
    n = states.shape[0]
    labels = np.full(n, -1, dtype=np.int64)
    seeds = np.arange(n) if order is None else np.ascontiguousarray(order, dtype=np.int64)
    trie, steady = build_trie(states), _steady(states, monotone)
    classes, ties = _classes(
        joins, trie, steady, states, all_left(trie), k, room_for(width, k, states.shape[1]),
        scratch(trie), seeds, labels, np.empty((1, k), np.int64),
    )  # fmt: skip
    bound, size, cells = bounds_of(joins, states, labels, classes)
    cost = np.cumsum(cells, axis=1)[:, -1].copy()
    settle_open(joins, states, labels, np.arange(classes), bound, size, cost)
    return labels, int(ties)


def _steady(states: np.ndarray, monotone: np.ndarray | None) -> Ints:
    given = np.ones(states.shape[1]) if monotone is None else monotone
    return np.asarray(given, dtype=np.int64)


@njit(cache=True, nogil=True)
def join_all(joins: Joins, state: States, others: States) -> States:
    """The least upper bounds of one record with each of the others."""
    found = np.empty_like(others)
    for i in range(others.shape[0]):
        for j in range(others.shape[1]):
            found[i, j] = join(joins, j, state[j], others[i, j])
    return found


@njit(cache=True, nogil=True)
def covered(joins: Joins, j: int, states: States, values: States) -> Floats:
    """1 where a state of column j covers a value, else 0."""
    found = np.zeros((states.size, values.size))
    for s in range(states.size):
        for v in range(values.size):
            if join(joins, j, states[s], values[v]) == states[s]:
                found[s, v] = 1.0
    return found
