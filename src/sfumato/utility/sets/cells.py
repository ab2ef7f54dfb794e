"""A set-valued column before and after masking, as the measures of information loss see it.

Every item of the column is an attribute of its own, which a record has or lacks. A published item
is known: the record has it. One that is not published may have been left out. It counts as left
open if some record of the equivalence class has it: then the release cannot tell who does. One that
no record of the class has counts as absent, and exact. So a release that leaves nothing out leaves
nothing open, and a class that shows nothing leaves open whatever its records have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ...data.pair import Pair
from ...data.schema import Kind
from ...data.sets.item_places import places
from ...data.sets.item_utilities import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...errors import MeasureError
from ...kernels.sets.compared import Kept, Open, Rows, Weights, kept, opened
from ...kernels.sets.rows import weights_of


def holds_sets(pair: Pair, name: str) -> bool:
    """Whether a column holds sets in both tables, not labels of them."""
    return (
        name in pair.masked.schema
        and pair.original.schema[name].kind == Kind.SET
        and not pair.masked.schema[name].generalized
        and isinstance(pair.masked[name].dtype, pl.List | pl.Array)
    )


@dataclass(frozen=True, eq=False)
class SetPair:
    """A set-valued column of both tables, and which record became which."""

    name: str
    before: SetTable
    after: SetTable
    place: np.ndarray
    """int64: which of the original's items each published one is, -1 for none."""
    utilities: np.ndarray
    """float64: what each of the original's items is worth."""
    rows: np.ndarray
    matched: np.ndarray
    """Original and masked records that belong together."""
    dropped: bool = False
    """Whether the release lacks the column; its sets are then empty."""

    @classmethod
    def of(cls, pair: Pair, name: str, asking: str) -> SetPair:
        """The column of a pair that is aligned."""
        if pair.rows is None:
            raise MeasureError(
                f"{asking} must know which masked record belongs to which original, to see what "
                f"the sets of column {name!r} left out",
                remedy='align="position" or align="KEY"',
            )
        before = pair.original[name]
        dropped = name not in pair.masked.schema
        if dropped:
            after = pl.Series([], dtype=pl.List(pl.String)).extend_constant([], pair.masked.height)
        else:
            after = pair.masked[name]
        views = SetTable.from_column(before), SetTable.from_column(after)
        place = places(views[0].names, views[1].names)
        if (np.diff(place[place >= 0]) < 0).any():
            # Two types of items that sort differently: as text they sort alike.
            views = SetTable.from_column(_texts(before)), SetTable.from_column(_texts(after))
            place = places(views[0].names, views[1].names)
        worth = item_utilities(pair.original.schema[name], views[0].names)
        return cls(name, *views, place, worth, *pair.aligned_rows(), dropped)

    def __len__(self) -> int:
        return int(self.rows.size)

    @cached_property
    def kept(self) -> Kept:
        """What each pair of records kept."""
        return kept(
            _rows(self.before),
            _rows(self.after),
            self.place,
            self.rows,
            self.matched,
            self.utilities,
        )

    @property
    def frequencies(self) -> np.ndarray:
        """The share of the original's sets that hold each item; missing sets aside."""
        there = len(self.before) - int(self.before.missing.sum())
        found: np.ndarray = self.before.support / max(there, 1)
        return found

    @cached_property
    def _weights(self) -> Weights:
        """The bits of an absent item, of a present one, and of either on average."""
        f = self.frequencies
        with np.errstate(divide="ignore"):
            # Nobody has an item without a record, and nobody lacks one that all have.
            present = np.where(f > 0, -np.log2(f), 0.0)
            absent = np.where(f < 1, -np.log2(1 - f), 0.0)
        return Weights(absent, present, f * present + (1 - f) * absent)

    @property
    def entropies(self) -> np.ndarray:
        """The entropy of each item, in bits."""
        return self._weights.either

    def bits(self) -> np.ndarray:
        """What each original's set tells: -log2 f of an item that it has, -log2(1 - f) of one that
        it lacks, f the item's frequency. A missing set tells nothing."""
        absent = self._weights.absent
        gap = self._weights.present - absent
        own = weights_of(self.before.starts, self.before.items, gap)
        return np.where(self.before.missing, 0.0, float(absent.sum()) + own)

    def opened(self, labels: np.ndarray) -> Open:
        """What the classes of masked records leave open, in attributes and in bits."""
        row_of = np.full(len(self.after), -1, dtype=np.int64)
        # A set that was missing to begin with has no items that could be left out.
        there = ~self.before.missing[self.rows]
        row_of[self.matched[there]] = self.rows[there]
        return opened(
            _rows(self.before), _rows(self.after), self.place, row_of, labels, self._weights
        )


def set_columns(pair: Pair, named: Sequence[str], asking: str) -> list[str]:
    """The set-valued columns named, else the quasi-identifiers among them, else all."""
    schema = pair.original.schema
    for name in named:
        if schema[name].kind != Kind.SET:
            raise MeasureError(
                f"{asking} looks at sets, and column {name!r} is {schema[name].kind}",
                remedy="leave it out of `columns`",
            )
    every = [c.name for c in schema if c.kind == Kind.SET and not c.generalized]
    found = list(named) or [name for name in every if name in schema.quasi] or every
    if not found:
        raise MeasureError(
            f"{asking} looks at sets, and the original has no set-valued column",
            remedy='read a column of lists, or one of items with sets={"column": ...}',
        )
    for name in found:
        if name in pair.masked.schema and not holds_sets(pair, name):
            raise MeasureError(
                f"{asking} looks at sets, and column {name!r} was published as labels",
                remedy="measure ncp, which reads labels",
            )
    return found


def shows_nothing(table: Table, name: str) -> np.ndarray:
    """Which sets of a column hold no item; a missing set is not one of them."""
    found: np.ndarray = table[name].list.len().fill_null(1).to_numpy() == 0
    return found


def _rows(sets: SetTable) -> Rows:
    return Rows(sets.starts, sets.items)


def _texts(series: pl.Series) -> pl.Series:
    return series.cast(pl.List(pl.String))
