"""A set-valued column before and after masking, and conditions on what it holds.

Every item of the column is an attribute of its own, which a record has or lacks. A published item
is known: the record has it. One that is not published may have been left out. It counts as left
open if some record of the equivalence class has it: then the release cannot tell who does. One that
no record of the class has counts as absent, and exact. So a release that leaves nothing out leaves
nothing open, and a class that shows nothing leaves open whatever its records have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import polars as pl

from ...data.pair import Pair
from ...data.schema import Kind
from ...data.sets.items import item_utilities, places
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
        return self.before.support / max(there, 1)

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


class SetConditions:
    """One column of sets of some records of both tables."""

    def __init__(self, pair: Pair, name: str, rows: np.ndarray, others: np.ndarray) -> None:
        self.before = SetTable.from_column(_some(pair.original[name], rows))
        after = SetTable.from_column(_some(pair.masked[name], others))
        d = len(self.before.names)
        self._holders = _holders(self.before, np.arange(d), d)
        self._shown = _holders(after, places(self.before.names, after.names), d)
        self._filled = np.flatnonzero(self.before.sizes > 0)
        self._published = len(after)
        share = np.array([h.size for h in self._holders]) / max(len(self.before), 1)
        shown = np.array([h.size for h in self._shown]) / max(len(after), 1)
        # Of those who do not show the item, so many have it.
        self._left = np.clip((share - shown) / np.where(shown < 1, 1 - shown, 1.0), 0.0, 1.0)

    @property
    def empty(self) -> bool:
        """Whether no set holds anything to ask about."""
        return not self._filled.size

    def draw(self, most: int, rng: np.random.Generator) -> np.ndarray:
        """One to `most` items that some record holds together, the frequent ones more often."""
        items = self.before[int(rng.choice(self._filled))]
        size = int(rng.integers(1, min(most, items.size) + 1))
        return np.asarray(rng.choice(items, size, replace=False), dtype=np.int64)

    def truth(self, items: np.ndarray) -> np.ndarray:
        """Which original records hold all of the items, 0 or 1."""
        return _marks(self._holders, items, len(self.before))

    def answer(self, items: np.ndarray) -> np.ndarray:
        """Which masked records show all of the items, 0 or 1."""
        return _marks(self._shown, items, self._published)

    def spread(self, items: np.ndarray) -> np.ndarray:
        """How likely each masked record holds all of the items, for who knows how frequent each is
        in the original: one that is not shown is as likely as it must have been left out, each
        independently."""
        found = np.ones(self._published)
        for item in items.tolist():
            chance = np.full(self._published, self._left[item])
            chance[self._shown[item]] = 1.0
            found *= chance
        return found


def _some(series: pl.Series, rows: np.ndarray) -> pl.Series:
    return series if rows.size == len(series) else series.gather(rows)


def _holders(sets: SetTable, place: np.ndarray, d: int) -> list[np.ndarray]:
    """The records that hold each of the original's items."""
    item = place[sets.items]
    record = np.repeat(np.arange(len(sets)), sets.sizes)
    order = np.argsort(item, kind="stable")
    ends = np.searchsorted(item[order], np.arange(d + 1))
    return np.split(record[order], ends)[1:-1]


def _marks(holders: list[np.ndarray], items: np.ndarray, n: int) -> np.ndarray:
    lists = [holders[item] for item in items.tolist()]
    both = reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), lists)
    found = np.zeros(n)
    found[both] = 1.0
    return found
