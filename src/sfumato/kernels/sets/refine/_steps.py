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

from ...arrays import Floats, Ints
from ...recoding import draw, pick
from ..rows import Items
from ._pool import LEAST, Counts, Pool, Random, fill, grow, make_pool, polish

FEWEST, MOST = 2, 4
"""Groups of a pool, where there are as many."""
PASSED_OVER = 0.05
"""Chance that a group is not looked at: not all steps should agree."""


class Block(NamedTuple):
    """Some records and their groups; both are known by their place here."""

    rows: Ints  # (n,) numbers of the records
    member: Ints  # (g, 2k - 1)
    label: Ints  # (n,)
    size: Ints  # (g,)
    value: Floats  # (g,) utility of what a group publishes of one set
    shared: Counts  # (g, most) the items that it publishes
    many: Ints  # (g,) how many they are
    free: Ints  # (g,) names of no group
    frees: Ints  # (1,) how many there are


@njit(cache=True, nogil=True)
def _block(
    starts: Ints,
    items: Items,
    utilities: Floats,
    rows: Ints,
    sizes: Ints,
    k: int,
    longest: int,
    count: Counts,
) -> Block:
    """The groups of `rows`; at most `longest` items are in k sets, and `count` is 0."""
    names = rows.size // k
    block = Block(
        rows=rows.copy(),
        member=np.empty((names, 2 * k - 1), np.int64),
        label=np.empty(rows.size, np.int64),
        size=np.zeros(names, np.int64),
        value=np.zeros(names),
        shared=np.empty((names, longest), np.int32),
        many=np.zeros(names, np.int64),
        free=np.empty(names, np.int64),
        frees=np.zeros(1, np.int64),
    )
    i = 0
    for g in range(sizes.size):
        block.size[g] = sizes[g]
        for a in range(sizes[g]):
            block.label[i + a] = g
            block.member[g, a] = i + a
            row = rows[i + a]
            for e in range(starts[row], starts[row + 1]):
                count[items[e]] += 1
        first = rows[i]
        for e in range(starts[first], starts[first + 1]):
            item = items[e]
            if count[item] == sizes[g] and utilities[item] > 0.0:
                block.shared[g, block.many[g]] = item
                block.many[g] += 1
                block.value[g] += utilities[item]
        for a in range(sizes[g]):
            row = rows[i + a]
            for e in range(starts[row], starts[row + 1]):
                count[items[e]] = 0
        i += sizes[g]
    for g in range(names - 1, sizes.size - 1, -1):
        block.free[block.frees[0]] = g
        block.frees[0] += 1
    return block


@njit(cache=True, nogil=True)
def _taker(
    block: Block,
    starts: Ints,
    items: Items,
    utilities: Floats,
    row: int,
    name: Ints,
    found: int,
    mark: Floats,
    random: Random,
) -> int:
    """The group that would win most by the set `row`, other than those named; -1 if none is."""
    size, value, shared, many = block.size, block.value, block.shared, block.many
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
    for f in range(formed):
        g = name[f]
        block.size[g] = 0
        block.value[g] = pool.value[f]
        block.many[g] = 0
        for x in range(64 * words):
            if (pool.common[f, x >> 6] >> np.uint64(x & 63)) & np.uint64(1):
                block.shared[g, block.many[g]] = pool.item[x]
                block.many[g] += 1
    for p in range(m):
        g = name[pool.group[p]]
        block.label[at[p]] = g
        block.member[g, block.size[g]] = at[p]
        block.size[g] += 1


@njit(cache=True, nogil=True)
def improve(
    starts: Ints,
    items: Items,
    utilities: Floats,
    rows: Ints,
    sizes: Ints,
    k: int,
    steps: int,
    random: Random,
) -> tuple[Ints, float, int]:
    """Take steps among the records `rows`, which lie group by group; groups have k to 2k - 1.

    `rows` is rewritten likewise. The new sizes, the utility won, and how many steps were kept.
    """
    n, d = rows.size, utilities.size
    won, kept = 0.0, 0
    if n < 2 * k:
        return sizes.copy(), won, kept
    lengths = np.empty(n, np.int64)
    for i in range(n):
        lengths[i] = starts[rows[i] + 1] - starts[rows[i]]
    lengths.sort()
    room = MOST * (2 * k - 1)
    groups = room // k + 1
    words = min(lengths[n - min(n, room) :].sum() // k, d) // 64 + 1
    pool = make_pool(room, groups, words, d)
    # The k-th longest set bounds what a group can have in common.
    block = _block(starts, items, utilities, rows, sizes, k, lengths[n - k], pool.times)
    at = np.empty(room, np.int64)  # the pool's sets within the block
    mark = np.zeros(d)
    name = np.empty(groups, np.int64)
    for _ in range(steps):
        r = pick(random, n)
        name[0], found = block.label[r], 1
        want = FEWEST + pick(random, MOST - FEWEST + 1)
        while found < want:
            g = _taker(block, starts, items, utilities, block.rows[r], name, found, mark, random)
            if g < 0:
                break
            name[found] = g
            found += 1
            h = name[pick(random, found)]
            r = block.member[h, pick(random, block.size[h])]
        m, old = 0, 0.0
        for f in range(found):
            g = name[f]
            old += block.size[g] * block.value[g]
            for a in range(block.size[g]):
                at[m] = block.member[g, a]
                pool.record[m] = block.rows[at[m]]
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
            block.frees[0] -= 1
            name[f] = block.free[block.frees[0]]
        for f in range(formed, found):
            block.free[block.frees[0]] = name[f]
            block.frees[0] += 1
            block.size[name[f]] = 0
        _write(block, pool, at, m, wide, name, formed)
    i = 0
    for g in range(block.size.size):
        for a in range(block.size[g]):
            rows[i] = block.rows[block.member[g, a]]
            i += 1
    return block.size[block.size > 0], won, kept
