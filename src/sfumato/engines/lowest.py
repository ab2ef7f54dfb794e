"""The records that come first in each group, by a number of their own: how many is known, and where
to cut is found by counting, so that nothing but counts leaves the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data.table import Table
from .relation import Relation

Ranked = Callable[[Table, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Of a part and its records' numbers: each record's group (int64, 0..groups-1), and what it is
ranked by in it (uint64). Picklable."""
_CELLS = 1 << 18
"""Counts of all groups that a part gives at once, if the groups are fewer than half as many."""
_MOST_BITS = 16
_LAST = np.uint64(2**64 - 1)


class Cuts(NamedTuple):
    """Where each group is cut: who ranks lower is in, and at the cut whose number is not higher."""

    some: np.ndarray
    """bool: whether any record of the group is in."""
    rank: np.ndarray
    """uint64."""
    number: np.ndarray
    """uint64."""

    def holds(self, group: np.ndarray, rank: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """bool: which records are in."""
        cut = self.rank[group]
        at = (rank == cut) & (numbers <= self.number[group])
        found: np.ndarray = self.some[group] & ((rank < cut) | at)
        return found


def lowest(data: Relation, columns: Sequence[str], ranked: Ranked, counts: np.ndarray) -> Cuts:
    """The cuts that let in exactly so many records of each group, which has as many at least.

    An interval that holds the cut is divided into cells, and the cell found by counting, until the
    cut lies between two cells. Ranks at random among n records take about log(n) / log(cells)
    rounds, any others four at most where groups are few. Equal ranks are cut by number.
    """
    groups = counts.size
    named = list(columns) or data.schema.names[:1]
    cuts = Cuts(counts > 0, np.full(groups, _LAST), np.full(groups, _LAST))
    low, left, shift = np.zeros(groups, dtype=np.uint64), counts.astype(np.int64), 64
    open_ = counts > 0
    bits = min(max((_CELLS // max(groups, 1)).bit_length() - 1, 1), _MOST_BITS)
    while open_.any() and shift:
        window = _Window(low, open_, shift, max(shift - bits, 0))
        cells = np.sum(data.fold(named, partial(_counted, ranked, window)), axis=0)
        upto = np.cumsum(cells, axis=1)
        chosen = np.argmax(upto >= left[:, None], axis=1)
        rows = np.arange(groups)
        left = np.where(open_, left - (upto - cells)[rows, chosen], left)
        shift = window.after
        low += np.where(open_, chosen, 0).astype(np.uint64) << np.uint64(shift)
        done = open_ & (cells[rows, chosen] == left)
        cuts.rank[done] = low[done] + np.uint64(2**shift - 1)
        open_ &= ~done
    if open_.any():
        parts = data.fold(named, partial(_tied, ranked, low, open_))
        group, number = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        for g in np.flatnonzero(open_).tolist():
            cuts.rank[g] = low[g]
            cuts.number[g] = np.sort(number[group == g])[left[g] - 1]
    return cuts


class _Window(NamedTuple):
    """The intervals of 2^before ranks that hold the cuts, and what they are divided into."""

    low: np.ndarray
    open_: np.ndarray
    before: int
    after: int


def _counted(ranked: Ranked, window: _Window, part: Table, numbers: np.ndarray) -> np.ndarray:
    """int64 (groups, cells): how many records lie where."""
    group, rank = ranked(part, numbers)
    cells = 1 << (window.before - window.after)
    inside = window.open_[group]
    if window.before < 64:
        before = np.uint64(window.before)
        inside &= (rank >> before) == (window.low[group] >> before)
    group, rank = group[inside], rank[inside]
    cell = (rank - window.low[group]) >> np.uint64(window.after)
    place = group * cells + cell.astype(np.int64)
    found = np.bincount(place, minlength=window.low.size * cells)
    return found.reshape(window.low.size, cells).astype(np.int64)


def _tied(
    ranked: Ranked, low: np.ndarray, open_: np.ndarray, part: Table, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Group and number of the records that rank at the cut."""
    group, rank = ranked(part, numbers)
    at = open_[group] & (rank == low[group])
    return group[at], numbers[at]
