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


class Pool(NamedTuple):
    """Scratch for up to m sets, q groups and some words of items. Sets are known by place."""

    record: Ints  # (m,)
    bits: Words  # (m, words)
    weight: Floats  # (64 * words,) of the pool's items
    item: Codes  # (64 * words,) what they are
    group: Ints  # (m,) -1 while it is open
    score: Floats  # (m,) utility that it would leave in the group that grows
    order: Ints  # (m,) the open ones come first
    size: Ints  # (q,)
    value: Floats  # (q,) utility of what the group publishes of one set
    common: Words  # (q, words) items that all have
    spare: Words  # (q, words) items that at most one lacks
    times: Codes  # (d,) sets that have the item; 0 between steps
    slot: Codes  # (d,) place of the item among the pool's; -1 between steps


def make_pool(records: int, groups: int, words: int, d: int) -> Pool:
    """Empty scratch."""
    return Pool(
        record=np.zeros(records, np.int64),
        bits=np.zeros((records, words), np.uint64),
        weight=np.zeros(64 * words),
        item=np.zeros(64 * words, np.int32),
        group=np.zeros(records, np.int64),
        score=np.zeros(records),
        order=np.zeros(records, np.int64),
        size=np.zeros(groups, np.int64),
        value=np.zeros(groups),
        common=np.zeros((groups, words), np.uint64),
        spare=np.zeros((groups, words), np.uint64),
        times=np.zeros(d, np.int32),
        slot=np.full(d, -1, np.int32),
    )


def _trailing_zeros(context: Any, word: Any) -> Any:
    def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


_lowest: Any = intrinsic(_trailing_zeros)
"""The place of the lowest bit of a word that is not 0."""


@njit(cache=True, nogil=True, inline="always")
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
    times, slot, bits, record = pool.times, pool.slot, pool.bits, pool.record
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
    bits, weight, group, score, order = pool.bits, pool.weight, pool.group, pool.score, pool.order
    for p in range(m):
        order[p] = p
    left, g = m, 0
    while left >= 2 * k:
        row = pool.common[g]
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
    bits, common, spare = pool.bits, pool.common, pool.spare
    group, sizes, value, weight = pool.group, pool.size, pool.value, pool.weight
    for g in range(groups):
        if sizes[g] >= 0:
            continue
        size, total = 0, 0.0
        for w in range(words):
            common[g, w] = spare[g, w] = ~np.uint64(0)
        for p in range(m):
            if group[p] == g:
                size += 1
                for w in range(words):
                    spare[g, w] = common[g, w] | (spare[g, w] & bits[p, w])
                    common[g, w] &= bits[p, w]
        for w in range(words):
            total += _worth(common[g, w], 64 * w, weight)
        sizes[g], value[g] = size, total


@njit(cache=True, nogil=True)
def move_gain(pool: Pool, words: int, p: int, h: int) -> float:
    """The utility that is won if set p moves to group h."""
    bits, common, spare, weight = pool.bits, pool.common, pool.spare, pool.weight
    g = pool.group[p]
    without, along = 0.0, 0.0
    for w in range(words):
        row = bits[p, w]
        without += _worth(common[g, w] | (spare[g, w] & ~row), 64 * w, weight)
        along += _worth(common[h, w] & row, 64 * w, weight)
    size, other = pool.size[g], pool.size[h]
    now = size * pool.value[g] + other * pool.value[h]
    return (size - 1) * without + (other + 1) * along - now


@njit(cache=True, nogil=True)
def swap_gain(pool: Pool, words: int, p: int, q: int) -> float:
    """The utility that is won if sets p and q of two groups change places."""
    bits, common, spare = pool.bits, pool.common, pool.spare
    weight, g, h = pool.weight, pool.group[p], pool.group[q]
    one, other = 0.0, 0.0
    for w in range(words):
        a, b = bits[p, w], bits[q, w]
        one += _worth((common[g, w] | (spare[g, w] & ~a)) & b, 64 * w, weight)
        other += _worth((common[h, w] | (spare[h, w] & ~b)) & a, 64 * w, weight)
    return pool.size[g] * (one - pool.value[g]) + pool.size[h] * (other - pool.value[h])


@njit(cache=True, nogil=True)
def polish(pool: Pool, m: int, words: int, groups: int, k: int, least: float) -> float:
    """Move sets and swap pairs while more than `least` is won; the utility of all groups then."""
    group, size, value, weight = pool.group, pool.size, pool.value, pool.weight
    bits, common, spare = pool.bits, pool.common, pool.spare
    for g in range(groups):
        size[g] = -1
    tally(pool, m, words, groups)
    for _ in range(PASSES if groups > 1 else 0):
        changed = False
        for p in range(m):
            g, best, to, other = group[p], least, -1, -1
            for h in range(groups):
                if size[g] > k and h != g and size[h] < 2 * k - 1:
                    gain = move_gain(pool, words, p, h)
                    if gain > best:
                        best, to = gain, h
            for h in range(groups if to < 0 else 0):
                if h == g:
                    continue
                # What p would leave in h, were every set of h the one that goes.
                most, without = 0.0, 0.0
                for w in range(words):
                    row = bits[p, w]
                    most += _worth(spare[h, w] & row, 64 * w, weight)
                    without += _worth(common[g, w] | (spare[g, w] & ~row), 64 * w, weight)
                if size[h] * (most - value[h]) + size[g] * (without - value[g]) <= best:
                    continue
                for q in range(m):
                    if group[q] == h:
                        gain = swap_gain(pool, words, p, q)
                        if gain > best:
                            best, to, other = gain, h, q
            if to >= 0:
                group[p], size[g], size[to], changed = to, -1, -1, True
                if other >= 0:
                    group[other] = g
                tally(pool, m, words, groups)
        if not changed:
            break
    total = 0.0
    for g in range(groups):
        total += size[g] * value[g]
    return total
