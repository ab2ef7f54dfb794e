"""Linkage to a file of published sets: which are nearest to a set that the intruder knows.

Two sets are as far apart as the share of what either holds that only one of them does, by utility
(the weighted Jaccard distance). The worth of what they share is added up along lists of who holds
each item, so that a query costs no more than its items' holders. Other columns add what
`cover_blocks.distance_to` says. Rows of the result do not depend on one another, nor on the number
of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Floats, Ints
from ..sets.rows import Items, even_cuts, in_parts
from ..threads import cores
from .blocks import Published, Queries, Records, Tables, distance_to
from .linkage import Found

Flags = NDArray[np.bool_]


class SetSide(NamedTuple):
    """Queries of one column of sets, and who of the published holds each of their items."""

    starts: Ints
    items: Items
    missing: Flags
    worth: Floats
    """What each item is worth."""
    whole: Floats
    """What each query's set is worth."""
    holders_at: Ints
    holders: Ints
    """`holders[holders_at[i]:holders_at[i + 1]]` are the published sets that show item i."""
    shown: Floats
    """What each published set is worth."""
    shown_missing: Flags
    covers: Flags
    """Which published sets were suppressed, and could be anything."""


@njit(cache=True, nogil=True)
def _add_apart(side: SetSide, q: int, shared: Floats, total: Floats) -> None:
    """Add each published set's distance to query q."""
    m = total.size
    if side.missing[q]:
        for c in range(m):
            if not (side.covers[c] or side.shown_missing[c]):
                total[c] += 1.0
        return
    shared[:] = 0.0
    for e in range(side.starts[q], side.starts[q + 1]):
        item = side.items[e]
        worth = side.worth[item]
        for h in range(side.holders_at[item], side.holders_at[item + 1]):
            shared[side.holders[h]] += worth
    for c in range(m):
        if side.covers[c]:
            continue
        if side.shown_missing[c]:
            total[c] += 1.0
            continue
        both = side.whole[q] + side.shown[c] - shared[c]
        if both > 0:
            total[c] += max(both - shared[c], 0.0) / both


@njit(cache=True, nogil=True)
def _others(
    records: Records, tables: Tables, runs: Codes, sets: Codes, x: Floats, total: Floats
) -> None:
    for c in range(total.size):
        total[c] += distance_to(records, tables, c, runs, sets, x, np.inf)


@njit(cache=True, nogil=True)
def _pick(total: Floats, copies: Ints, own: int, tolerance: float) -> tuple[float, int, bool]:
    """The least distance, who ties at it, and whether one's own does."""
    least = total.min()
    limit, ties = least * (1.0 + tolerance) + 1e-12, 0
    for c in range(total.size):
        if total[c] <= limit:
            ties += copies[c]
    return least, ties, own >= 0 and total[own] <= limit


def nearest_sets(
    sides: Sequence[SetSide],
    queries: Queries,
    published: Published,
    own: Ints,
    *,
    tolerance: float = 1e-9,
) -> Found:
    """For each query the least distance to a published record, and how many attain it.

    `own[i]` is the distinct published record that masks query i, -1 where there is none.
    """
    n, m = own.size, published.copies.size
    found = Found(np.empty(n), np.empty(n, np.int64), np.empty(n, np.bool_), np.full(n, np.inf))
    records: Records = (published.low, published.high, published.sets, published.numbers)
    width = np.array([table.shape[1] for table in published.bits], dtype=np.int64)
    sizes = [0, *(table.size for table in published.bits)]
    start = np.cumsum(sizes)[:-1].astype(np.int64)
    words = np.concatenate([np.zeros(0, np.uint64), *(t.reshape(-1) for t in published.bits)])
    tables: Tables = (words, start, width)
    plain = published.low.shape[1] + published.sets.shape[1] + published.numbers.shape[1] > 0

    def run(low: int, high: int) -> None:
        shared, total = np.empty(m), np.empty(m)
        for q in range(low, high):
            total[:] = 0.0
            if plain:
                _others(
                    records, tables, queries.runs[q], queries.sets[q], queries.numbers[q], total
                )
            for side in sides:
                _add_apart(side, q, shared, total)
            found.distance[q], found.ties[q], found.own_tied[q] = _pick(
                total, published.copies, own[q], tolerance
            )
            if own[q] >= 0:
                found.own[q] = total[own[q]]

    in_parts(run, even_cuts(n, 8 * cores()))
    return found
