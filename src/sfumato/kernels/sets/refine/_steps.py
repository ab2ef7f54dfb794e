"""Steps of the local search over groups of sets, within one block of groups.

A step begins at the group of a set drawn at random. Again and again a set of the groups taken so
far names the group of the block that would win most by it, or lose least. These two to four groups
are formed anew (set_refine_pool), and the new ones replace the old unless they publish less (ruin
and recreate, Schrimpf et al. 2000).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Codes, Floats, Ints
from ...random import draw, pick
from ..rows import Items, Words, common_items, frozen, weights_of
from ._pool import LEAST, Pool, fill, grow, make_pool, polish

FEWEST, MOST = 2, 4
"""Groups of a pool, where there are as many."""
PASSED_OVER = 0.05
"""Chance that a group is not looked at: not all steps should agree."""
ROW, LABEL = range(2)
SIZE, MANY, FREE = range(3)


class Block(NamedTuple):
    """Some records and their groups; both are known by their place here."""

    sets: Ints  # (2, n) numbers of the records; their groups
    member: Ints  # (g, 2k - 1)
    groups: Ints  # (3, g) size; how many items a group publishes; names of no group
    value: Floats  # (g,) utility of what a group publishes of one set
    shared: Codes  # (g, most) the items that it publishes


def _block(
    starts: Ints, items: Items, utilities: Floats, rows: Ints, sizes: Ints, k: int, longest: int
) -> Block:
    """The groups of `rows`; at most `longest` items are in k sets."""
    names, many = rows.size // k, sizes.size
    label = np.repeat(np.arange(many), sizes)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    bounds, common = common_items(starts, items, rows, ends, threads=1)
    of_item = np.repeat(np.arange(many), np.diff(bounds))[utilities[common] > 0.0]
    counts = np.bincount(of_item, minlength=many)
    block = Block(
        sets=np.array([rows, label]),
        member=np.empty((names, 2 * k - 1), np.int64),
        groups=np.zeros((3, names), np.int64),
        value=np.zeros(names),
        shared=np.empty((names, longest), np.int32),
    )
    block.member[label, np.arange(rows.size) - ends[label]] = np.arange(rows.size)
    place = np.arange(of_item.size) - (np.cumsum(counts) - counts)[of_item]
    block.shared[of_item, place] = common[utilities[common] > 0.0]
    block.groups[SIZE, :many], block.groups[MANY, :many] = sizes, counts
    block.groups[FREE, : names - many] = np.arange(names - 1, many - 1, -1)
    block.value[:many] = weights_of(bounds, common, utilities)
    return block


@njit(cache=True, nogil=True)
def _taker(
    block: Block, starts: Ints, items: Items, utilities: Floats, row: int, name: Ints, found: int,
    mark: Floats, random: Words,
) -> int:  # fmt: skip
    """The group that would win most by the set `row`, other than those named; -1 if none is."""
    size, many, value, shared = block.groups[SIZE], block.groups[MANY], block.value, block.shared
    for e in range(starts[row], starts[row + 1]):
        mark[items[e]] = utilities[items[e]]
    best, taker = -np.inf, -1
    for g in range(size.size):
        if size[g] == 0 or draw(random) < PASSED_OVER:
            continue
        known = False
        for f in range(found):
            known = known or name[f] == g
        if known:
            continue
        along = 0.0
        for a in range(many[g]):
            along += mark[shared[g, a]]
        gain = (size[g] + 1) * along - size[g] * value[g]
        if gain > best:
            best, taker = gain, g
    for e in range(starts[row], starts[row + 1]):
        mark[items[e]] = 0.0
    return taker


@njit(cache=True, nogil=True)
def _write(block: Block, pool: Pool, at: Ints, m: int, words: int, name: Ints, formed: int) -> None:
    """The pool's new groups take the names of the old ones."""
    size, many = block.groups[SIZE], block.groups[MANY]
    for f in range(formed):
        g = name[f]
        size[g], many[g], block.value[g] = 0, 0, pool.value[f]
        for x in range(64 * words):
            if (pool.common[f, x >> 6] >> np.uint64(x & 63)) & np.uint64(1):
                block.shared[g, many[g]] = pool.item[x]
                many[g] += 1
    for p in range(m):
        g = name[pool.group[p]]
        block.sets[LABEL, at[p]] = g
        block.member[g, size[g]] = at[p]
        size[g] += 1


@njit(cache=True, nogil=True)
def _steps(
    starts: Ints, items: Items, utilities: Floats, block: Block, pool: Pool, frees: int, k: int,
    steps: int, random: Words,
) -> tuple[float, int]:  # fmt: skip
    """Take steps; the utility won, and how many were kept. `frees` names are of no group."""
    won, kept = 0.0, 0
    size, free = block.groups[SIZE], block.groups[FREE]
    at = np.empty(pool.score.size, np.int64)  # the pool's sets within the block
    name = np.empty(pool.size.size, np.int64)
    mark = np.zeros(utilities.size)
    for _ in range(steps):
        r = pick(random, block.sets.shape[1])
        name[0], found = block.sets[LABEL, r], int(np.int64(1))
        want = FEWEST + pick(random, MOST - FEWEST + 1)
        while found < want:
            row = block.sets[ROW, r]
            g = _taker(block, starts, items, utilities, row, name, found, mark, random)
            if g < 0:
                break
            name[found] = g
            found += 1
            h = name[pick(random, found)]
            r = block.member[h, pick(random, size[h])]
        m, old = int(np.int64(0)), 0.0
        for f in range(found):
            g = name[f]
            old += size[g] * block.value[g]
            for a in range(size[g]):
                at[m] = block.member[g, a]
                pool.record[m] = block.sets[ROW, at[m]]
                m += 1
        if m < 2 * k:
            continue
        wide = fill(pool, starts, items, utilities, m, k)
        formed = grow(pool, m, wide, k, random)
        now = polish(pool, m, wide, formed, k, LEAST * old)
        if now < old:
            continue
        won += now - old
        kept += 1
        for f in range(found, formed):
            frees -= 1
            name[f] = free[frees]
        for f in range(formed, found):
            free[frees] = name[f]
            frees += 1
            size[name[f]] = 0
        _write(block, pool, at, m, wide, name, formed)
    return won, kept


def improve(
    starts: Ints, items: Items, utilities: Floats, rows: Ints, sizes: Ints, k: int, steps: int,
    random: Words,
) -> tuple[Ints, float, int]:  # fmt: skip
    """Take steps among the records `rows`, which lie group by group; groups have k to 2k - 1.

    `rows` is rewritten likewise. The new sizes, the utility won, and how many steps were kept.
    """
    n, d = rows.size, utilities.size
    if n < 2 * k:
        return sizes.copy(), 0.0, 0
    lengths = np.sort(starts[rows + 1] - starts[rows])
    room = MOST * (2 * k - 1)
    words = int(min(lengths[n - min(n, room) :].sum() // k, d)) // 64 + 1
    pool = make_pool(room, room // k + 1, words, d)
    # The k-th longest set bounds what a group can have in common.
    block = _block(starts, items, utilities, rows, sizes, k, int(lengths[n - k]))
    given = frozen(starts), frozen(items), frozen(utilities)
    won, kept = _steps(*given, block, pool, n // k - sizes.size, k, steps, random)
    size = block.groups[SIZE]
    rows[:] = block.sets[ROW, block.member[np.arange(2 * k - 1) < size[:, None]]]
    return size[size > 0], float(won), int(kept)
