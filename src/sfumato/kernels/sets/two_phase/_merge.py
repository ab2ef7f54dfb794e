"""The first phase of two-phase: sets lose items until every set that is left is shared by k.

A cluster is known by the row that it began as and by how many of its first items it still has.
Every step takes one item away, so clusters of one size can be worked through from the longest sets
to the shortest: only those one item shorter matter for a step, and a table of these is all that is
looked into. One cluster goes after the other, and each sees what those before it did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Codes, Floats, Ints
from ..rows import Items, Words, weights_of
from ._reach import ID, MARK, item_words, put, reach_of
from ._rows import Rows


class _Clusters(NamedTuple):
    """Clusters by the distinct row that each began as; arrays that the steps change."""

    begin: Ints  # where the items of each begin
    size: Ints  # records; 0 once merged into another
    depth: Codes  # items left
    word: Words  # the key of those items
    into: Codes  # the cluster that each was merged into, or itself
    reach: Codes


@njit(cache=True, nogil=True)
def _start(ranks: Items, words: Words, clusters: _Clusters) -> None:
    for c in range(clusters.size.size):
        word = np.uint64(0)
        for e in range(clusters.begin[c], clusters.begin[c] + clusters.depth[c]):
            word += words[ranks[e]]
        clusters.word[c] = word


@njit(cache=True, nogil=True)
def _same(ranks: Items, long: int, without: int, short: int, size: int) -> bool:
    """Whether `size + 1` items, one of them left out, are the `size` others."""
    t = 0
    while t < size and ranks[long + t + (t >= without)] == ranks[short + t]:
        t += 1
    return t == size


@njit(cache=True, nogil=True)
def _shorten(
    ranks: Items, worth: Floats, words: Words, clusters: _Clusters, size: int, depth: int,
    waiting: Ints, shorter: Ints, table: Words, least_loss: bool,
) -> int:  # fmt: skip
    """The clusters of `size` that wait lose one item, down to `depth`, or join one of those that
    are that short; how many are no longer of that size. `table` has room for all, and is empty."""
    settled = 0
    seen = np.empty(depth + 1, dtype=np.uint64)
    mask, wrap = np.uint64(table.size - 1), np.int64(table.size - 1)
    for i in range(shorter.size):
        put(table, mask, clusters.word[shorter[i]], shorter[i])
    for i in range(waiting.size):
        c = waiting[i]
        at, word = clusters.begin[c], clusters.word[c]
        if depth > clusters.reach[c]:
            # Nothing can be met before: there at once.
            s = clusters.reach[c] + 1
            for t in range(s, depth + 1):
                word -= words[ranks[at + t]]
            clusters.depth[c], clusters.word[c] = s, word
            continue
        total = 0.0
        for t in range(depth + 1):
            seen[t] = table[np.int64((word - words[ranks[at + t]]) & mask)]
            total += worth[ranks[at + t]]
        best, most, other = np.int64(-1), 0.0, np.int64(0)
        for t in range(depth, -1, -1):
            entry = seen[t]
            if entry == 0:
                continue
            target = word - words[ranks[at + t]]
            slot = np.int64(target & mask)
            while entry != 0:
                q = np.int64(entry & ID) - 1
                if (entry ^ target) & MARK == 0 and _same(ranks, at, t, clusters.begin[q], depth):
                    left = total - worth[ranks[at + t]]
                    if least_loss:
                        better = left > most or (left == most and clusters.size[q] > other)
                        value = left
                    else:
                        value = (clusters.size[q] + size) * left
                        better = value > most
                    if best < 0 or better:
                        best, most, other = q, value, clusters.size[q]
                    break
                slot = (slot + 1) & wrap
                entry = table[slot]
        if best >= 0:
            settled += 1 + (clusters.size[best] == size)
            clusters.size[best] += size
            clusters.size[c] = 0
            clusters.into[c] = best
        else:
            word -= words[ranks[at + depth]]
            clusters.depth[c], clusters.word[c] = depth, word
            put(table, mask, word, c)
    return settled


def _join_the_rest(rows: Rows, clusters: _Clusters, k: int) -> None:
    """Fewer than k that have nothing left join the cluster that has least to lose."""
    rest = np.flatnonzero((clusters.size > 0) & (clusters.size < k))
    others = np.flatnonzero(clusters.size >= k)
    if not rest.size or not others.size:
        return
    # Only the empty set can be left over, and there is one. Every other row is the gap to the next.
    begin = clusters.begin[others]
    bounds = np.append(np.column_stack((begin, begin + clusters.depth[others])), begin[-1])
    stakes = weights_of(bounds, rows.ranks, rows.worth)[::2] * clusters.size[others]
    other = others[np.argmin(stakes)]
    clusters.size[other] += clusters.size[rest[-1]]
    clusters.size[rest[-1]] = 0
    clusters.into[rest[-1]] = other


def merge(
    rows: Rows,
    k: int,
    *,
    least_loss: bool = False,
    threads: int,
    tell: Callable[[float], None] = lambda share: None,
) -> Codes:
    """The cluster of each distinct row, as the number of a distinct row; all have k records.

    The smallest clusters go first, among equals those with most items, then the first rows.
    """
    words = item_words(rows.worth.size)
    sizes = np.diff(rows.starts)[rows.head[:-1]]
    clusters = _Clusters(
        begin=rows.starts[rows.head[:-1]],
        size=np.diff(rows.head),
        depth=sizes.astype(np.int32),
        word=np.empty(sizes.size, dtype=np.uint64),
        into=np.arange(sizes.size, dtype=np.int32),
        reach=reach_of(rows, words, threads),
    )
    tell(0.3)
    _start(rows.ranks, words, clusters)
    done, of = 0.0, sum(size**-2.0 for size in range(1, k))
    for size in range(1, k):
        live = np.flatnonzero(clusters.size > 0)
        waits, settled = int((clusters.size == size).sum()), 0
        for depth in range(int(sizes.max(initial=0)) - 1, -1, -1):
            depths, records = clusters.depth[live], clusters.size[live]
            waiting = live[(depths == depth + 1) & (records == size)]
            if not waiting.size:
                continue
            shorter = live[(depths == depth) & (records > 0)]
            room = 1 << max(1, (2 * (waiting.size + shorter.size) - 1).bit_length())
            settled += _shorten(
                rows.ranks, rows.worth, words, clusters, size, depth, waiting, shorter,
                np.zeros(room, dtype=np.uint64), least_loss,
            )  # fmt: skip
            tell(0.3 + 0.7 * (done + settled / max(waits, 1) * size**-2.0) / of)
        done += size**-2.0
    _join_the_rest(rows, clusters, k)
    into = clusters.into
    while not np.array_equal(into, into[into]):
        into = into[into]
    return into
