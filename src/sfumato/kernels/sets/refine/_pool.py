"""A pool of sets, taken from a few groups, and groups formed of them anew.

First groups are grown around random sets by adding, again and again, the set that leaves most in
common. Then single sets move and pairs change places for as long as that pays. All of it happens on
a copy: nothing outside the pool changes unless the new groups are kept.

A pool knows only the items that k of its sets have: no group could publish another. They are few,
so that a set is one or two words of bits. A group keeps two such rows: the items that all of its
sets have, and those that at most one lacks. They tell what is common after any set joins or leaves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from ...arrays import Codes, Floats, Ints
from ...random import draw, pick
from ..rows import Items, Words

AMPLE = 0.2
"""Chance that a group grows beyond k by sets that bring more than they cost."""
LEAST = 1e-9
"""A gain counts when it exceeds this share of the utility: below, it may be rounding."""
PASSES = 8
"""Times that the sets of a pool are gone through at most; two or three are usual."""


RECORD, GROUP, ORDER = range(3)
BITS, COMMON, SPARE = range(3)
TIMES, SLOT = range(2)


class Pool(NamedTuple):
    """Scratch for up to m sets, q groups and some words of items. Sets are known by place."""

    sets: Ints  # (3, m) record; group; all in an order in which the open ones come first
    score: Floats  # (m,) utility that a set would leave in the group that grows
    rows: Words  # (3, m, words) of sets; of groups what all have; what at most one lacks
    size: Ints  # (q,)
    value: Floats  # (q,) utility of what the group publishes of one set
    weight: Floats  # (64 * words,) of the pool's items
    item: Ints  # (64 * words,) what they are
    seen: Codes  # (2, d) sets that have an item, 0 between steps; its place here, -1 between steps


def make_pool(records: int, groups: int, words: int, d: int) -> Pool:
    """Empty scratch."""
    seen = np.zeros((2, d), np.int32)
    seen[SLOT] = -1
    return Pool(
        sets=np.zeros((3, records), np.int64),
        score=np.zeros(records),
        rows=np.zeros((3, max(records, groups), words), np.uint64),
        size=np.zeros(groups, np.int64),
        value=np.zeros(groups),
        weight=np.zeros(64 * words),
        item=np.zeros(64 * words, np.int64),
        seen=seen,
    )


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


_lowest: Any = intrinsic(_trailing_zeros)
"""The place of the lowest bit of a word that is not 0."""


@njit(cache=True, nogil=True)
def _worth(word: Any, at: int, weight: Floats) -> float:
    """The utility of a word's items; the word is number `at / 64` of its row."""
    total = 0.0
    while word != np.uint64(0):
        total += weight[at + np.int64(_lowest(word))]
        word &= word - np.uint64(1)
    return total


@njit(cache=True, nogil=True)
def fill(pool: Pool, starts: Ints, items: Items, utilities: Floats, m: int, k: int) -> int:
    """Pack the items of the pool's m sets that k of them have; how many words these take."""
    times, slot = pool.seen[TIMES], pool.seen[SLOT]
    bits, record = pool.rows[BITS], pool.sets[RECORD]
    for p in range(m):
        i = record[p]
        for e in range(starts[i], starts[i + 1]):
            times[items[e]] += 1
    used = 0
    for p in range(m):
        i = record[p]
        for e in range(starts[i], starts[i + 1]):
            item = items[e]
            if times[item] >= k and slot[item] < 0 and utilities[item] > 0.0:
                slot[item] = used
                pool.weight[used] = utilities[item]
                pool.item[used] = item
                used += 1
    words = max((used + 63) >> 6, 1)
    for x in range(used, 64 * words):
        pool.weight[x] = 0.0
    for p in range(m):
        i = record[p]
        for w in range(words):
            bits[p, w] = 0
        for e in range(starts[i], starts[i + 1]):
            at = np.int64(slot[items[e]])
            if at >= 0:
                bits[p, at >> 6] |= np.uint64(1) << np.uint64(at & 63)
    for p in range(m):
        i = record[p]
        for e in range(starts[i], starts[i + 1]):
            times[items[e]] = 0
            slot[items[e]] = -1
    return words


@njit(cache=True, nogil=True)
def grow(pool: Pool, m: int, words: int, k: int, random: Words) -> int:
    """Form groups of k, or a few more, around random sets; the last one takes what is left.

    How many there are.
    """
    weight, group, score, order = pool.weight, pool.sets[GROUP], pool.score, pool.sets[ORDER]
    bits = pool.rows[BITS]
    for p in range(m):
        order[p] = p
    left, g = m, 0
    while left >= 2 * k:
        row = pool.rows[COMMON, g]
        at = pick(random, left)
        p = order[at]
        left -= 1
        order[at], order[left] = order[left], order[at]
        group[p] = g
        whole = 0.0
        for w in range(words):
            row[w] = bits[p, w]
            whole += _worth(bits[p, w], 64 * w, weight)
        for a in range(left):
            score[order[a]] = np.inf
        ample = draw(random) < AMPLE
        for more in range(1, 2 * k - 1 if ample else k):
            if more >= k and left <= k:
                break
            best, found, turn = -1.0, 0, pick(random, left)
            for b in range(left):
                a = b + turn
                if a >= left:
                    a -= left
                p = order[a]
                # What a set leaves in common never grows: its last score bounds the next.
                if score[p] <= best:
                    continue
                total = 0.0
                for w in range(words):
                    total += _worth(row[w] & bits[p, w], 64 * w, weight)
                score[p] = total
                if total > best:
                    best, found = total, a
                    if total >= whole:
                        break
            if more >= k and (more + 1) * best <= more * whole:
                break
            p = order[found]
            whole = 0.0
            for w in range(words):
                row[w] &= bits[p, w]
                whole += _worth(row[w], 64 * w, weight)
            left -= 1
            order[found], order[left] = order[left], order[found]
            group[p] = g
        g += 1
    for a in range(left):
        group[order[a]] = g
    return g + 1


@njit(cache=True, nogil=True)
def tally(pool: Pool, m: int, words: int, groups: int) -> None:
    """Count afresh what the sets of groups have in common whose size is not known."""
    bits, common, spare = pool.rows[BITS], pool.rows[COMMON], pool.rows[SPARE]
    for g in range(groups):
        if pool.size[g] >= 0:
            continue
        size, total = 0, 0.0
        for w in range(words):
            common[g, w] = spare[g, w] = ~np.uint64(0)
        for p in range(m):
            if pool.sets[GROUP, p] == g:
                size += 1
                for w in range(words):
                    spare[g, w] = common[g, w] | (spare[g, w] & bits[p, w])
                    common[g, w] &= bits[p, w]
        for w in range(words):
            total += _worth(common[g, w], 64 * w, pool.weight)
        pool.size[g], pool.value[g] = size, total


@njit(cache=True, nogil=True)
def move_gain(pool: Pool, words: int, p: int, h: int) -> float:
    """The utility that is won if set p moves to group h."""
    common, spare, weight = pool.rows[COMMON], pool.rows[SPARE], pool.weight
    g = pool.sets[GROUP, p]
    without, along = 0.0, 0.0
    for w in range(words):
        row = pool.rows[BITS, p, w]
        without += _worth(common[g, w] | (spare[g, w] & ~row), 64 * w, weight)
        along += _worth(common[h, w] & row, 64 * w, weight)
    size, other = pool.size[g], pool.size[h]
    now = size * pool.value[g] + other * pool.value[h]
    return (size - 1) * without + (other + 1) * along - now


@njit(cache=True, nogil=True)
def swap_gain(pool: Pool, words: int, p: int, q: int) -> float:
    """The utility that is won if sets p and q of two groups change places."""
    bits, common, spare = pool.rows[BITS], pool.rows[COMMON], pool.rows[SPARE]
    weight, g, h = pool.weight, pool.sets[GROUP, p], pool.sets[GROUP, q]
    one, other = 0.0, 0.0
    for w in range(words):
        a, b = bits[p, w], bits[q, w]
        one += _worth((common[g, w] | (spare[g, w] & ~a)) & b, 64 * w, weight)
        other += _worth((common[h, w] | (spare[h, w] & ~b)) & a, 64 * w, weight)
    return pool.size[g] * (one - pool.value[g]) + pool.size[h] * (other - pool.value[h])


@njit(cache=True, nogil=True)
def _place_for(pool: Pool, m: int, words: int, groups: int, k: int, least: float, p: int) -> int:
    """Where set p wins most, more than `least`: m + the group that it moves to, or the set that it
    changes places with; -1 if nowhere."""
    group, size, value, weight = pool.sets[GROUP], pool.size, pool.value, pool.weight
    bits, common, spare = pool.rows[BITS], pool.rows[COMMON], pool.rows[SPARE]
    g, best, to = group[p], least, -1
    if size[g] > k:
        for h in range(groups):
            if h != g and size[h] < 2 * k - 1:
                gain = move_gain(pool, words, p, h)
                if gain > best:
                    best, to = gain, m + h
        if to >= 0:
            return to
    for h in range(groups):
        if h == g:
            continue
        # What p would leave in h, were every set of h the one that goes.
        most, without = 0.0, 0.0
        for w in range(words):
            most += _worth(spare[h, w] & bits[p, w], 64 * w, weight)
        other = size[h] * (most - value[h])
        for w in range(words):
            without += _worth(common[g, w] | (spare[g, w] & ~bits[p, w]), 64 * w, weight)
        if other + size[g] * (without - value[g]) <= best:
            continue
        for q in range(m):
            if group[q] == h:
                gain = swap_gain(pool, words, p, q)
                if gain > best:
                    best, to = gain, q
    return to


@njit(cache=True, nogil=True)
def polish(pool: Pool, m: int, words: int, groups: int, k: int, least: float) -> float:
    """Move sets and swap pairs while more than `least` is won; the utility of all groups then."""
    group, size = pool.sets[GROUP], pool.size
    for g in range(groups):
        size[g] = -1
    tally(pool, m, words, groups)
    for _ in range(PASSES if groups > 1 else 0):
        changed = False
        for p in range(m):
            to = _place_for(pool, m, words, groups, k, least, p)
            if to < 0:
                continue
            g, h = group[p], to - m if to >= m else group[to]
            group[p], size[g], size[h], changed = h, -1, -1, True
            if to < m:
                group[to] = g
            tally(pool, m, words, groups)
        if not changed:
            break
    total = 0.0
    for g in range(groups):
        total += size[g] * pool.value[g]
    return total
