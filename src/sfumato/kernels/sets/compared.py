"""Sets before and after masking, record beside record: what was kept, and what was left open.

Both sides are compressed rows. Items of the masked side have numbers of their own; `place` says
which of the original's items each is, -1 for none, in ascending order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..threads import cores
from .rows import Items, even_cuts, fair_cuts, grouped, in_parts


class Rows(NamedTuple):
    """`items[starts[i]:starts[i + 1]]` are those of record i, sorted."""

    starts: Ints
    items: Items


class Weights(NamedTuple):
    """What items weigh in a record that lacks them, that has them, and on average."""

    absent: Floats
    present: Floats
    either: Floats


class Kept(NamedTuple):
    """What pairs of records kept."""

    items: Ints
    """Items of the original that are published, for each pair."""
    worth: Floats
    """Their utility."""
    by_item: Ints
    """How often each item is published of a record that has it."""


class Open(NamedTuple):
    """What groups of records that are published alike leave open."""

    items: Ints
    """Items of each group that some record of it has, and that are not published."""
    absent: Floats
    """The sum over these of what an absent item weighs."""
    either: Floats
    """The sum over these of what an item weighs, whatever it is."""
    own: Floats
    """For each masked record: what its items that are not published weigh beyond absent ones."""


@njit(cache=True, nogil=True)
def _kept(
    starts: Ints, items: Items, shown_starts: Ints, shown: Items, place: Ints, rows: Ints,
    matched: Ints, worth_of: Floats, low: int, high: int, count: Ints, worth: Floats,
) -> Ints:  # fmt: skip
    by_item = np.zeros(worth_of.size, dtype=np.int64)
    for i in range(low, high):
        e, stop = starts[rows[i]], starts[rows[i] + 1]
        kept, total = 0, 0.0
        for s in range(shown_starts[matched[i]], shown_starts[matched[i] + 1]):
            item = place[shown[s]]
            while e < stop and items[e] < item:
                e += 1
            if e < stop and items[e] == item:
                kept += 1
                total += worth_of[item]
                by_item[item] += 1
        count[i] = kept
        worth[i] = total
    return by_item


def kept(before: Rows, after: Rows, place: Ints, rows: Ints, matched: Ints, worth: Floats) -> Kept:
    """What masked record `matched[i]` publishes of the set of original record `rows[i]`."""
    count, total = np.zeros(rows.size, dtype=np.int64), np.zeros(rows.size)

    def run(low: int, high: int) -> Ints:
        return _kept(
            before.starts, before.items, after.starts, after.items, place, rows, matched, worth,
            low, high, count, total,
        )  # fmt: skip

    parts = in_parts(run, even_cuts(rows.size, 8 * cores()))
    by_item: Ints = np.sum(parts, axis=0) if parts else np.zeros(worth.size, dtype=np.int64)
    return Kept(count, total, by_item)


@njit(cache=True, nogil=True)
def _opened(
    starts: Ints, items: Items, shown_starts: Ints, shown: Items, place: Ints, row_of: Ints,
    order: Ints, bounds: Ints, absent: Floats, present: Floats, either: Floats, low: int,
    high: int, count: Ints, absent_sum: Floats, either_sum: Floats, own: Floats,
) -> None:  # fmt: skip
    d = absent.size
    # The last group in which an item was seen, or published: no array is cleared between groups.
    seen, told = np.full(d, -1, dtype=np.int64), np.full(d, -1, dtype=np.int64)
    for g in range(low, high):
        first = order[bounds[g]]
        for s in range(shown_starts[first], shown_starts[first + 1]):
            if place[shown[s]] >= 0:
                told[place[shown[s]]] = g
        for m in range(bounds[g], bounds[g + 1]):
            record = order[m]
            row = row_of[record]
            if row < 0:
                continue
            beyond = 0.0
            for e in range(starts[row], starts[row + 1]):
                item = items[e]
                if told[item] == g:
                    continue
                beyond += present[item] - absent[item]
                if seen[item] != g:
                    seen[item] = g
                    count[g] += 1
                    absent_sum[g] += absent[item]
                    either_sum[g] += either[item]
            own[record] = beyond


def opened(
    before: Rows, after: Rows, place: Ints, row_of: Ints, labels: Ints, weights: Weights
) -> Open:
    """What each group 0..g-1 leaves open; `labels` says which group a masked record is in.

    A group's records are published alike. `row_of` is the original of each masked record, -1 where
    there is none.
    """
    groups = int(labels.max(initial=-1)) + 1
    order, bounds = grouped(labels, groups)
    found = Open(
        np.zeros(groups, dtype=np.int64), np.zeros(groups), np.zeros(groups), np.zeros(labels.size)
    )

    def run(low: int, high: int) -> None:
        _opened(
            before.starts, before.items, after.starts, after.items, place, row_of, order, bounds,
            weights.absent, weights.present, weights.either, low, high,
            found.items, found.absent, found.either, found.own,
        )  # fmt: skip

    in_parts(run, fair_cuts(bounds, 4 * cores()))
    return found
