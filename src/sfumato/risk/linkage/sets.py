"""Published sets beside the sets that an intruder knows, as the linkage kernel takes them."""

from __future__ import annotations

import numpy as np

from ...data.generalized.label_places import has_labels
from ...data.pair import Pair
from ...data.schema import Kind
from ...data.sets.item_places import places
from ...data.sets.item_utilities import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...kernels.coverage.set_linkage import SetSide
from ...kernels.sets.rows import weights_of

_COMPARISONS = 60_000_000
"""Pairs of a record and a distinct published one that are looked at, a second's work."""
_FEWEST = 300


def links_sets(pair: Pair, name: str) -> bool:
    """Whether a column holds sets in both tables, not labels of them."""
    before, after = pair.original.schema[name], pair.masked.schema[name]
    labels = has_labels(before, after, pair.masked[name])
    return before.kind == Kind.SET and after.kind == Kind.SET and not labels


def most_queries(published: int) -> int:
    """How many records are linked by their sets: every one is compared with all published ones."""
    return max(_COMPARISONS // max(published, 1), _FEWEST)


def set_side(pair: Pair, name: str, table: Table, rows: np.ndarray, first: np.ndarray) -> SetSide:
    """The sets of some rows of a table, and those of the distinct published records."""
    known = SetTable.from_column(table[name].gather(rows))
    shown = SetTable.from_column(pair.masked[name].gather(first))
    column = pair.original.schema[name]
    worth = item_utilities(column, known.names)
    item = places(known.names, shown.names)[shown.items]
    holder = np.repeat(np.arange(len(shown)), shown.sizes)
    order = np.argsort(item, kind="stable")
    at = np.searchsorted(item[order], np.arange(len(known.names) + 1)).astype(np.int64)
    return SetSide(
        known.starts,
        known.items,
        known.missing,
        worth,
        weights_of(known.starts, known.items, worth),
        at,
        holder[order],
        weights_of(shown.starts, shown.items, item_utilities(column, shown.names)),
        shown.missing,
        pair.masked.suppressed(name)[first],
    )
