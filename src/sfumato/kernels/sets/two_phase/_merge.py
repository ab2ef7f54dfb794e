"""The first phase of two-phase: sets lose items until every set that is left is shared by k.

A cluster is known by the row that it began as and by how many of its first items it still has.
Every step takes one item away, so clusters of one size can be worked through from the longest sets
to the shortest: only those one item shorter matter for a step, and a table of these is all that is
looked into. One cluster goes after the other, and each sees what those before it did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..rows import Items, Words
from ._reach import _ID, _MARK, item_words, put, reach_of
from ._rows import Rows

_SLICE = 20_000_000
"""Lookups between two reports."""


class _Clusters(NamedTuple):
    """Clusters by the distinct row that each began as; arrays that the steps change."""

    begin: Ints  # where the items of each begin
    size: Ints  # records; 0 once merged into another
    depth: NDArray[np.int32]  # items left
    word: Words  # the key of those items
    into: NDArray[np.int32]  # the cluster that each was merged into, or itself
    reach: NDArray[np.int32]
    arrived: NDArray[np.int32]  # the one that came to the same depth before, or -1


@njit(cache=True, nogil=True)
def _start(ranks: Items, words: Words, clusters: _Clusters) -> None:
    for c in range(clusters.size.size):
        word = np.uint64(0)
        for e in range(clusters.begin[c], clusters.begin[c] + clusters.depth[c]):
            word += words[ranks[e]]
        clusters.word[c] = word


@njit(cache=True, nogil=True)
def _by_depth(clusters: _Clusters, live: Ints, deepest: int) -> tuple[Ints, Ints, Ints]:
    """The live clusters; in order of their depth; and where each depth begins there."""
    kept = 0
    begin = np.zeros(deepest + 2, dtype=np.int64)
    for i in range(live.size):
        c = live[i]
        if clusters.size[c] > 0:
            live[kept] = c
            kept += 1
            begin[clusters.depth[c] + 1] += 1
    begin = np.cumsum(begin)
    free = begin[:-1].copy()
    order = np.empty(kept, dtype=np.int64)
    for i in range(kept):
        s = clusters.depth[live[i]]
        order[free[s]] = live[i]
        free[s] += 1
    return live[:kept], order, begin


@njit(cache=True, nogil=True)
def _waiting(clusters: _Clusters, listed: Ints, came: Any, size: int, depth: int) -> Ints:
    """The clusters of one size and depth, by number: those listed and those that came."""
    count, c = 0, came
    while c >= 0:
        count += 1
        c = np.int64(clusters.arrived[c])
    found = np.empty(listed.size + count, dtype=np.int64)
    kept, c = 0, came
    while c >= 0:
        if clusters.size[c] == size and clusters.depth[c] == depth:
            found[kept] = c
            kept += 1
        c = np.int64(clusters.arrived[c])
    for i in range(listed.size):
        if clusters.size[listed[i]] == size:
            found[kept] = listed[i]
            kept += 1
    return np.sort(found[:kept])


@njit(cache=True, nogil=True)
def _same(ranks: Items, long: int, without: int, short: int, size: int) -> bool:
    """Whether `size + 1` items, one of them left out, are the `size` others."""
    t = 0
    while t < size and ranks[long + t + (t >= without)] == ranks[short + t]:
        t += 1
    return t == size


@njit(cache=True, nogil=True)
def _steps(
    ranks: Items,
    worth: Floats,
    words: Words,
    clusters: _Clusters,
    size: int,
    depth: int,
    order: Ints,
    begin: Ints,
    came: Ints,
    table: Words,
    least_loss: bool,
) -> tuple[int, int, Words]:
    """Work off the clusters of `size` from `depth` on until enough lookups were made.

    What is left to do begins at the depth that is returned; with the number of clusters that are
    no longer of that size, and the table, which may have grown.
    """
    made, settled = 0, 0
    seen = np.empty(max(depth, 1), dtype=np.uint64)
    while depth > 0 and made < _SLICE:
        waiting = _waiting(
            clusters, order[begin[depth] : begin[depth + 1]], came[depth], size, depth
        )
        depth -= 1
        if waiting.size == 0:
            continue
        # All that are one item shorter, and room for those that come.
        shorter = order[begin[depth] : begin[depth + 1]]
        count, c = waiting.size + shorter.size, came[depth]
        while c >= 0:
            count, c = count + 1, np.int64(clusters.arrived[c])
        room = 2
        while room < 2 * count:
            room *= 2
        if room > table.size:
            table = np.empty(room, dtype=np.uint64)
        table[:room] = 0
        mask, wrap = np.uint64(room - 1), np.int64(room - 1)
        for i in range(shorter.size):
            if clusters.size[shorter[i]] > 0:
                put(table, mask, clusters.word[shorter[i]], shorter[i])
        c = came[depth]
        while c >= 0:
            put(table, mask, clusters.word[c], c)
            c = np.int64(clusters.arrived[c])
        for i in range(waiting.size):
            c = waiting[i]
            at, word = clusters.begin[c], clusters.word[c]
            if depth > clusters.reach[c]:
                # Nothing can be met before: there at once.
                s = clusters.reach[c] + 1
                for t in range(s, depth + 1):
                    word -= words[ranks[at + t]]
                clusters.depth[c], clusters.word[c] = s, word
                clusters.arrived[c], came[s] = came[s], c
                continue
            made += depth + 1
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
                    q = np.int64(entry & _ID) - 1
                    if (entry ^ target) & _MARK == 0 and _same(
                        ranks, at, t, clusters.begin[q], depth
                    ):
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
                clusters.arrived[c], came[depth] = came[depth], c
    return depth, settled, table


@njit(cache=True, nogil=True)
def _ends(into: NDArray[np.int32]) -> None:
    """Let every cluster know the one that it is in at last."""
    for c in range(into.size):
        end = c
        while into[end] != end:
            end = into[end]
        at = c
        while into[at] != end:
            into[at], at = end, into[at]


@njit(cache=True, nogil=True)
def _join_the_rest(ranks: Items, worth: Floats, clusters: _Clusters, k: int) -> None:
    """Fewer than k that have nothing left join the cluster that has least to lose."""
    rest, other, least = -1, -1, np.inf
    for c in range(clusters.size.size):
        if 0 < clusters.size[c] < k:
            rest = c  # only the empty set can be left over, and there is one
    if rest < 0:
        return
    for c in range(clusters.size.size):
        if clusters.size[c] == 0 or c == rest:
            continue
        stake = 0.0
        for e in range(clusters.begin[c], clusters.begin[c] + clusters.depth[c]):
            stake += worth[ranks[e]]
        stake *= clusters.size[c]
        if other < 0 or stake < least:
            other, least = c, stake
    if other >= 0:
        clusters.size[other] += clusters.size[rest]
        clusters.size[rest] = 0
        clusters.into[rest] = other


def merge(
    rows: Rows,
    k: int,
    *,
    least_loss: bool = False,
    threads: int,
    tell: Callable[[float], None] = lambda share: None,
) -> NDArray[np.int32]:
    """The cluster of each distinct row, as the number of a distinct row; all have k records.

    The smallest clusters go first, among equals those with most items, then the first rows.
    """
    words = item_words(rows.worth.size)
    sizes = np.diff(rows.starts)[rows.head[:-1]]
    distinct, deepest = sizes.size, int(sizes.max(initial=0))
    clusters = _Clusters(
        begin=rows.starts[rows.head[:-1]],
        size=np.diff(rows.head),
        depth=sizes.astype(np.int32),
        word=np.empty(distinct, dtype=np.uint64),
        into=np.arange(distinct, dtype=np.int32),
        reach=reach_of(rows, words, threads),
        arrived=np.full(distinct, -1, dtype=np.int32),
    )
    tell(0.3)
    _start(rows.ranks, words, clusters)
    live = np.arange(distinct)
    table = np.empty(2, dtype=np.uint64)
    done, of = 0.0, sum(size**-2.0 for size in range(1, k))
    for size in range(1, k):
        live, order, begin = _by_depth(clusters, live, deepest)
        clusters.arrived[live] = -1
        came = np.full(deepest + 1, -1, dtype=np.int64)
        waits, settled, depth = int((clusters.size[live] == size).sum()), 0, deepest
        while depth > 0:
            depth, more, table = _steps(
                rows.ranks, rows.worth, words, clusters, size, depth, order, begin, came, table,
                least_loss,
            )  # fmt: skip
            settled += more
            tell(0.3 + 0.7 * (done + settled / max(waits, 1) * size**-2.0) / of)
        done += size**-2.0
    _join_the_rest(rows.ranks, rows.worth, clusters, k)
    _ends(clusters.into)
    return clusters.into
