"""Classes of k sets grown one after the other, from random seeds or from seeds far apart.

All numbers here are of distinct sets; `left` says how many records of each are free. The value of a
set for a class is what it has in common with the class's closure. Closures only shrink, so that an
old value is an upper bound: most sets are passed over without another look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ...neighbours.blocks import select
from ...random import below
from ..rows import Items, Words
from ._rows import Buckets, move


class Growth(NamedTuple):
    """Distinct sets, which of them are free, and the class that grows."""

    starts: Ints
    items: Items
    utilities: Floats
    weights: Floats
    """The utility of each set."""
    left: Ints
    """Free records of each set."""
    rows: Ints
    """The records of each set, `rows[ends[s - 1]:ends[s]]`."""
    ends: Ints
    free: Ints
    """The sets with free records."""
    place: Ints
    """Where each set stands in `free`; for sampling only."""
    inside: Floats
    """The utility of each item of the closure, 0 of others."""
    closure: Items
    value: Floats
    """What each set has in common with the closure, or had when the closure was larger."""
    version: Ints
    """The closure to which each value belongs."""
    met: Ints
    """The last class whose candidate each set was."""
    queue: Ints
    """All sets in the order in which they become seeds; empty where seeds shall be far apart."""
    labels: Ints
    now: Ints
    """Sets in `free`, free records, classes, versions, items of the closure, the last seed, and how
    far the queue is used."""


LONG = 4
"""Candidates are thinned out when they are so many times a sample."""
FREE, RECORDS, CLASSES, VERSION, ITEMS, SEED, QUEUED = range(7)


@njit(cache=True, nogil=True)
def common(starts: Ints, items: Items, inside: Floats, s: int) -> float:
    """The utility of what a set has in common with the closure."""
    total = 0.0
    for e in range(starts[s], starts[s + 1]):
        total += inside[items[e]]
    return total


@njit(cache=True, nogil=True)
def open_closure(g: Growth, s: int) -> float:
    """The closure becomes the set s; its utility."""
    begin, size = g.starts[s], g.starts[s + 1] - g.starts[s]
    for a in range(size):
        item = g.items[begin + a]
        g.closure[a] = item
        g.inside[item] = g.utilities[item]
    g.now[ITEMS] = size
    g.now[VERSION] += 1
    return g.weights[s]


@njit(cache=True, nogil=True)
def close_closure(g: Growth) -> None:
    for a in range(g.now[ITEMS]):
        g.inside[g.closure[a]] = 0.0


@njit(cache=True, nogil=True)
def _narrow(g: Growth, s: int) -> None:
    """The closure keeps only what the set s has."""
    kept, e, stop = 0, g.starts[s], g.starts[s + 1]
    for a in range(g.now[ITEMS]):
        item = g.closure[a]
        while e < stop and g.items[e] < item:
            e += 1
        if e < stop and g.items[e] == item:
            g.closure[kept] = item
            kept += 1
        else:
            g.inside[item] = 0.0
    g.now[ITEMS] = kept
    g.now[VERSION] += 1


@njit(cache=True, nogil=True)
def _take(g: Growth, s: int, most: int) -> int:
    """Up to `most` free records of the set s join the class; how many."""
    count = min(g.left[s], most)
    for a in range(count):
        g.labels[g.rows[g.ends[s] - g.left[s] + a]] = g.now[CLASSES]
    g.left[s] -= count
    g.now[RECORDS] -= count
    return count


@njit(cache=True, nogil=True)
def farthest(g: Growth, low: int, high: int) -> tuple[float, int]:
    """Of free[low:high], the set that differs most from the closure, and by how much (the utility
    of the closure aside); of equal ones the first."""
    starts, items, inside, left = g.starts, g.items, g.inside, g.left
    best, chosen = -np.inf, -1
    for a in range(low, high):
        s = g.free[a]
        if left[s] > 0:
            apart = g.weights[s] - 2.0 * common(starts, items, inside, s)
            if apart > best:
                best, chosen = apart, s
    return best, chosen


@njit(cache=True, nogil=True)
def next_in_line(g: Growth) -> int:
    """The next set of the queue that is free."""
    while g.left[g.queue[g.now[QUEUED]]] == 0:
        g.now[QUEUED] += 1
    return g.queue[g.now[QUEUED]]


@njit(cache=True, nogil=True)
def evaluate(g: Growth, low: int, high: int) -> None:
    """Bring the values of free[low:high] up to date."""
    starts, items, inside, left = g.starts, g.items, g.inside, g.left
    version = g.now[VERSION]
    for a in range(low, high):
        s = g.free[a]
        if left[s] > 0:
            g.value[s] = common(starts, items, inside, s)
            g.version[s] = version


@njit(cache=True, nogil=True)
def grow_from_all(g: Growth, seed: int, weight: float, k: int) -> None:
    """A class of the seed and the best of all free sets, one by one. Values are up to date, the
    closure is the seed; of equally good sets the first joins. Afterwards `free` may hold sets
    without free records, at most half of them."""
    starts, items, inside, left = g.starts, g.items, g.inside, g.left
    value, version, free = g.value, g.version, g.free
    s, size = seed, 0
    while True:
        size += _take(g, s, k - size)
        if size == k:
            break
        best, s, now = -1.0, -1, g.now[VERSION]
        for a in range(g.now[FREE]):
            other = free[a]
            if value[other] > best and left[other] > 0:
                if version[other] != now:
                    value[other] = common(starts, items, inside, other)
                    version[other] = now
                if value[other] > best:
                    best, s = value[other], other
                    if best >= weight:
                        break  # none has more than the whole closure
        if best < weight:
            _narrow(g, s)
            weight = best
    close_closure(g)
    g.now[CLASSES] += 1
    g.now[SEED] = seed


def drop_used(g: Growth) -> None:
    """`free` keeps the sets with free records, in order."""
    free = g.free[: g.now[FREE]]
    kept = free[g.left[free] > 0]
    g.free[: kept.size] = kept
    g.now[FREE] = kept.size


class Candidates(NamedTuple):
    """The sets that may join the class that grows, as many as `number[0]`."""

    found: Ints
    bound: Floats
    """What each has in common with the closure, or had when the closure was larger; -1 for those
    that are no longer free."""
    version: Ints
    """The closure to which each bound belongs."""
    number: Ints


@njit(cache=True, nogil=True)
def _in_buckets(
    g: Growth, near: Candidates, buckets: Buckets, s: int, share: int, state: Words
) -> None:
    """Candidates from the buckets of the set s, up to `share` of each."""
    met, found, count, label = g.met, near.found, near.number[0], g.now[CLASSES]
    for t in range(buckets.bucket.shape[0]):
        b = buckets.bucket[t, s]
        filled, order = buckets.filled[b], buckets.order
        low = buckets.begin[b]
        take = min(filled, share)
        at = low if take == filled else low + below(state, filled)
        for _ in range(take):
            if met[order[at]] != label:
                found[count] = order[at]
                met[order[at]] = label
                count += 1
            at += 1
            if at == low + filled:
                at = low
    near.number[0] = count


@njit(cache=True, nogil=True)
def _at_random(g: Growth, near: Candidates, sample: int, state: Words, anew: bool) -> None:
    """Candidates from all free sets: `sample` draws, or all where there are no more than that.
    Those that were candidates before only if `anew`."""
    met, found, count, label = g.met, near.found, near.number[0], g.now[CLASSES]
    free, number = g.free, g.now[FREE]
    for a in range(min(sample, number)):
        s = free[a] if number <= sample else free[below(state, number)]
        if anew or met[s] != label:
            found[count] = s
            met[s] = label
            count += 1
    near.number[0] = count


@njit(cache=True, nogil=True)
def _best(g: Growth, near: Candidates, low: int, best: float, chosen: int) -> tuple[float, int]:
    """The best candidate from place `low` on if it is better than `best`; of equal ones the first
    set."""
    starts, items, inside, left = g.starts, g.items, g.inside, g.left
    found, bound, version, now = near.found, near.bound, near.version, g.now[VERSION]
    for a in range(low, near.number[0]):
        if bound[a] < best:
            continue
        s = found[a]
        if left[s] == 0:
            bound[a] = -1.0
            continue
        if version[a] != now:
            bound[a] = common(starts, items, inside, s)
            version[a] = now
        if bound[a] > best or (bound[a] == best and s < chosen):
            best, chosen = bound[a], s
    return best, chosen


@njit(cache=True, nogil=True)
def _value(g: Growth, near: Candidates, low: int) -> None:
    """Bounds of the candidates from place `low` on."""
    starts, items, inside = g.starts, g.items, g.inside
    for a in range(low, near.number[0]):
        near.bound[a] = common(starts, items, inside, near.found[a])
        near.version[a] = g.now[VERSION]


@njit(cache=True, nogil=True)
def _shorten(near: Candidates, most: int) -> None:
    """Keep the `most` candidates that looked best: a class of many would meet ever more."""
    count = near.number[0]
    keys, order = -near.bound[:count], np.arange(count)
    select(keys, order, 0, count, most)
    stays = np.zeros(count, dtype=np.bool_)
    for a in range(most):
        stays[order[a]] = True
    near.number[0] = 0
    for a in range(count):
        if stays[a]:
            to = near.number[0]
            near.found[to], near.version[to] = near.found[a], near.version[a]
            near.bound[to] = near.bound[a]
            near.number[0] += 1


@njit(cache=True, nogil=True)
def _seed(g: Growth, sample: int, state: Words) -> int:
    """The set that differs most from the last seed, of a small sample: to be far is enough, the
    farthest are outliers. Of equal ones the first."""
    sample = max(1, sample // 5)
    open_closure(g, g.now[SEED])
    starts, items, inside, weights = g.starts, g.items, g.inside, g.weights
    free, number = g.free, g.now[FREE]
    apart, seed = -np.inf, -1
    for a in range(min(sample, number)):
        s = free[a] if number <= sample else free[below(state, number)]
        far = weights[s] - 2.0 * common(starts, items, inside, s)
        if far > apart or (far == apart and s < seed):
            apart, seed = far, s
    close_closure(g)
    return seed


@njit(cache=True, nogil=True)
def _next(
    g: Growth, near: Candidates, buckets: Buckets, last: int, weight: float, sample: int,
    state: Words,
) -> tuple[float, int]:  # fmt: skip
    """The set that joins after `last`, and its value."""
    best, s, low, tables = -0.5, int(np.int64(-1)), int(np.int64(0)), buckets.bucket.shape[0]
    for turn in range(3):
        if turn == 1:
            if near.number[0] > LONG * sample:
                _shorten(near, sample)
            low = near.number[0]
        elif turn == 2:
            # Nobody is left in the buckets, or only sets that were given up: draw anew.
            near.number[0] = 0
            low = int(near.number[0])
        if turn == 1 and tables > 0:
            _in_buckets(g, near, buckets, last, max(1, sample // tables), state)
        elif turn > 0:
            _at_random(g, near, sample, state, turn == 2)
        if turn > 0:
            _value(g, near, low)
        best, s = _best(g, near, low, best, s)
        # None has more than the whole closure.
        if best >= weight or (turn > 0 and s >= 0):
            break
    return best, s


@njit(cache=True, nogil=True)
def grow_from_sample(
    g: Growth, near: Candidates, buckets: Buckets, k: int, sample: int, state: Words, stop: int,
    far: bool | None,
) -> None:  # fmt: skip
    """Classes up to number `stop`, each from a seed and, one by one, the best of the candidates.

    Those are sets that share a bucket with one of the class, or `sample` random ones for each that
    joins where there are no buckets. No more are looked for while a candidate has all that the
    class has in common. There is room for every set and `sample` more candidates. Seeds come from
    the queue, or are far from the last one unless `far` is None: only what is used is compiled.
    """
    while g.now[RECORDS] >= k and g.now[CLASSES] < stop:
        if far is None:  # noqa: SIM108 - a branch that can be left out
            seed = next_in_line(g)
        else:
            seed = _seed(g, sample, state)
        weight = open_closure(g, seed)
        s, size = seed, 0
        near.number[0] = 0
        while True:
            size += _take(g, s, k - size)
            if g.left[s] == 0:
                g.now[FREE] -= 1
                other = g.free[g.now[FREE]]
                g.free[g.place[s]] = other
                g.place[other] = g.place[s]
                move(buckets, s, False)
            if size == k:
                break
            best, s = _next(g, near, buckets, s, weight, sample, state)
            if best < weight:
                _narrow(g, s)
                weight = best
        close_closure(g)
        g.now[CLASSES] += 1
        g.now[SEED] = seed
