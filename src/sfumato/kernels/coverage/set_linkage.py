"""Linkage to a file of published sets: which are nearest to a set that the intruder knows.

Two sets are as far apart as the share of what either holds that only one of them does, by utility
(the weighted Jaccard distance). The worth of what they share is added up along lists of who holds
each item, so that a query costs no more than its items' holders. Other columns add what
`blocks.distance_to` says. Every published record is looked at, with or without sets. Rows of the
result do not depend on one another, nor on the number of threads.
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
_ROUNDING = 1e-9


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
def add_apart(side: SetSide, q: int, shared: Floats, total: Floats, fits: Flags) -> None:
    """Add each published set's distance to query q; it fits if it is a part of the query's."""
    m = total.size
    if side.missing[q]:
        for c in range(m):
            if not (side.covers[c] or side.shown_missing[c]):
                total[c] += 1.0
                fits[c] = False
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
            fits[c] = False
            continue
        both = side.whole[q] + side.shown[c] - shared[c]
        fits[c] &= shared[c] >= side.shown[c] * (1.0 - _ROUNDING)
        if both > 0:
            total[c] += max(both - shared[c], 0.0) / both


@njit(cache=True, nogil=True)
def _others(
    records: Records, tables: Tables, runs: Codes, sets: Codes, x: Floats, total: Floats
) -> None:
    for c in range(total.size):
        total[c] += distance_to(records, tables, c, runs, sets, x, np.inf)


@njit(cache=True, nogil=True)
def _fitting(
    records: Records, tables: Tables, runs: Codes, sets: Codes, x: Floats, fits: Flags
) -> None:
    for c in range(fits.size):
        fits[c] = distance_to(records, tables, c, runs, sets, x, 0.0) == 0.0


@njit(cache=True, nogil=True)
def _pick(total: Floats, copies: Ints, own: int, tolerance: float) -> tuple[float, int, bool]:
    """The least distance, who ties at it, and whether one's own does."""
    least = total.min()
    limit, ties = least * (1.0 + tolerance) + 1e-12, 0
    for c in range(total.size):
        if total[c] <= limit:
            ties += copies[c]
    return least, ties, own >= 0 and total[own] <= limit


@njit(cache=True, nogil=True)
def _pick_fitting(
    total: Floats, fits: Flags, left: Floats, copies: Ints, own: int, tolerance: float
) -> tuple[float, int, bool]:
    """The same among the records that fit and leave least open; infinite where none fits."""
    least, near = np.inf, np.inf
    for c in range(total.size):
        if fits[c]:
            least = min(least, left[c])
    for c in range(total.size):
        if fits[c] and left[c] <= least * (1.0 + tolerance):
            near = min(near, total[c])
    ties, tied = 0, False
    for c in range(total.size):
        if fits[c] and left[c] <= least * (1.0 + tolerance) and total[c] <= near + 1e-12:
            ties += copies[c]
            tied |= c == own
    return least, ties, tied


class Fitting(NamedTuple):
    """How published records fit queries: numbers as codes, too, and how much each leaves open."""

    queries: Queries
    published: Published
    left: Floats
    """(m,): how much each published record leaves open, below 1"""


class Compared:
    """Each query with every published record, one query after another."""

    def __init__(
        self,
        sides: Sequence[SetSide],
        queries: Queries,
        published: Published,
        fitting: Fitting | None = None,
    ) -> None:
        self.sides, self.queries, self.published, self.fitting = sides, queries, published, fitting
        self._near = published.records, published.tables
        self._fits = None if fitting is None else fitting.published
        self._code = None if self._fits is None else (self._fits.records, self._fits.tables)

    def with_all(self, q: int, total: Floats, fits: Flags, shared: Floats) -> None:
        """The distance of query q to each published record, and which of them fit."""
        total[:], fits[:] = 0.0, True
        runs, sets, x = (part[q] for part in self.queries)
        _others(*self._near, runs, sets, x, total)
        if self.fitting is not None and self._code is not None:
            runs, sets, x = (part[q] for part in self.fitting.queries)
            _fitting(*self._code, runs, sets, x, fits)
        for side in self.sides:
            add_apart(side, q, shared, total, fits)

    def costs(self, low: int, high: int) -> Floats:
        """(high - low, m): what a record leaves open where it fits, else 1 and its distance."""
        m = self.published.copies.size
        total, fits, shared = np.empty((high - low, m)), np.empty(m, np.bool_), np.empty(m)
        for q in range(low, high):
            row = total[q - low]
            self.with_all(q, row, fits, shared)
            row += 1.0
            if self.fitting is not None:
                row[fits] = self.fitting.left[fits]
        return total


def nearest_sets(compared: Compared, own: Ints, *, tolerance: float = 1e-9) -> tuple[Found, Found]:
    """For each query the least distance to a published record, and how many attain it; and the same
    among the records that fit and leave least open, with what these leave open for a distance.

    `own[i]` is the distinct published record that masks query i, -1 where there is none.
    """
    n, m = own.size, compared.published.copies.size
    copies = compared.published.copies
    left = np.zeros(m) if compared.fitting is None else compared.fitting.left
    found, fit = (
        Found(np.empty(n), np.empty(n, np.int64), np.empty(n, np.bool_), np.full(n, np.inf))
        for _ in range(2)
    )

    def run(low: int, high: int) -> None:
        total, fits, shared = np.empty(m), np.empty(m, np.bool_), np.empty(m)
        for q in range(low, high):
            compared.with_all(q, total, fits, shared)
            mine = int(own[q])
            found.distance[q], found.ties[q], found.own_tied[q] = _pick(
                total, copies, mine, tolerance
            )
            fit.distance[q], fit.ties[q], fit.own_tied[q] = _pick_fitting(
                total, fits, left, copies, mine, tolerance
            )
            if mine >= 0:
                found.own[q] = total[mine]
                fit.own[q] = left[mine] if fits[mine] else np.inf

    in_parts(run, even_cuts(n, 8 * cores()))
    return found, fit
