"""The cells of a published column: which hold labels, which are suppressed, which were missing.

Every measure of generalization gives each label a figure of its own, a suppressed cell another, and
a value that was missing to begin with none. A set is a row of attributes, of which those that its
class left open (set_cells.py) cost as much as suppressed ones. Who is suppressed is decided here,
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from ..criteria.classes import Classes, equivalence_classes
from ..data.generalized.label_places import Labels, distinct_labels, has_labels
from ..data.linkage.linking import require_records
from ..data.pair import Pair
from ..data.schema import SUPPRESSED
from ..engines.counts import Counts
from ..errors import MeasureError
from ..kernels.sets.compared import Open
from ..measurement import Measurement
from .columns import quasi_names, suppressed
from .sets.cells import SetPair, holds_sets

EXACT, HIDDEN = -1, -2
"""Places of cells without a label: those with a value or none to begin with; suppressed ones."""


@dataclass(frozen=True, eq=False)
class OpenSets:
    """What the cells of a set-valued column left open."""

    pair: SetPair
    classes: Classes
    open: Open
    count: np.ndarray
    """Attributes that each masked record's class left open; none where its set was missing."""
    attributes: int

    @property
    def share(self) -> np.ndarray:
        """The same as a share of all attributes."""
        return self.count / max(self.attributes, 1)


@dataclass
class Cells:
    """One column of a release."""

    name: str
    labels: list[str]
    """The distinct labels, without "*"."""
    place: np.ndarray
    """int64: each masked record's label, or EXACT, or HIDDEN."""
    reader: Labels | None
    """Who reads the labels; None where there are none."""
    plain: set[str] = field(default_factory=set)
    """Labels that are values of the column, however they look."""
    extra: int = 0
    """Suppressed cells whose rows are not known."""
    unjudged: int = 0
    """Empty cells that may have been missing or suppressed: nothing tells."""
    generalized: bool = True
    dropped: bool = False
    sets: OpenSets | None = None
    """What the sets left open; None where the column holds none."""

    def figures(self, of: Callable[[Labels, str], float], exact: float = 0.0) -> np.ndarray:
        """A figure for each label; values have `exact`."""
        if self.reader is None:
            return np.zeros(0)
        reader = self.reader
        return np.array(
            [exact if label in self.plain else of(reader, label) for label in self.labels],
            dtype=np.float64,
        )

    def spread(self, figures: np.ndarray, star: float, exact: float = 0.0) -> np.ndarray:
        """The labels' figures, handed to the cells; of a set, the star's for what is open."""
        # The last two entries are those of the places -2 and -1.
        handed: np.ndarray = np.concatenate((figures, [star, exact]))[self.place]
        if self.sets is not None:
            shown = self.place == EXACT
            handed[shown] += (star - exact) * self.sets.share[shown]
        return handed

    many: np.ndarray | None = None
    """int64: how many records have each of these cells, where each stands for all like it."""

    @property
    def hidden(self) -> int:
        """How many cells are suppressed."""
        gone = self.place == HIDDEN
        return int(gone.sum() if self.many is None else self.many[gone].sum()) + self.extra


def counted_cells(counts: Counts, name: str, measure: str) -> tuple[Cells, np.ndarray]:
    """The different cells of a column, and how many records have each."""
    height = counts.masked.height
    if name not in counts.masked.schema:
        gone = Cells(name, [], np.full(1, HIDDEN), None, dropped=True, many=np.array([height]))
        return gone, np.array([height])
    if holds_sets(Pair(counts.original.empty, counts.masked.empty, None), name):
        raise MeasureError(
            f"{measure} of sets ({name!r}) compares the records of each class",
            remedy='[engine] use = "local"',
        )
    before, after = counts.values("original", name), counts.values("masked", name)
    pair = Pair(before.table, after.table, None)
    cells = cells_of(pair, name, measure)
    cells.many, cells.extra, cells.unjudged = after.count, 0, 0
    # Steps mark what they suppress; of other empty cells only the number can be told.
    gaps = int(after.count[after.table.missing(name) & (cells.place != HIDDEN)].sum())
    missing = int(before.count[before.table[name].is_null().to_numpy()].sum())
    cells.extra = max(gaps - missing, 0)
    return cells, after.count


def quasi_cells(pair: Pair, measure: str) -> list[Cells]:
    """The cells of every quasi-identifier of the original."""
    require_records(pair, measure)
    names = quasi_names(pair, measure)
    published = [name for name in names if name in pair.masked.schema]
    some_sets = any(holds_sets(pair, name) for name in published)
    classes = equivalence_classes(pair.masked, published) if some_sets else None
    return [cells_of(pair, name, measure, classes) for name in names]


def certainty_penalties(cells: Sequence[Cells]) -> list[np.ndarray]:
    """For each column, the share of its domain that each masked record's cell leaves open."""
    return [c.spread(c.figures(Labels.measure), star=1.0) for c in cells]


def cells_of(pair: Pair, name: str, measure: str = "", classes: Classes | None = None) -> Cells:
    """The cells of one column; what sets left open is counted within `classes`, if given."""
    n = pair.masked.height
    if name not in pair.masked.schema:
        return Cells(name, [], np.full(n, HIDDEN), None, dropped=True)
    original, masked = pair.original.schema[name], pair.masked.schema[name]
    series, hidden = pair.masked[name], suppressed(pair, name)
    as_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    if as_text or has_labels(original, masked, series):
        found = _labelled(pair, name)
    elif classes is not None and holds_sets(pair, name):
        found = _sets(pair, name, measure, classes)
    else:
        found = Cells(name, [], np.full(n, EXACT), None, generalized=False)
    found.place[hidden] = HIDDEN
    _mark_gaps(pair, found, hidden)
    return found


def _labelled(pair: Pair, name: str) -> Cells:
    reader = Labels.of(pair.original, name)
    labels, place = distinct_labels(pair.masked[name])
    place = place.astype(np.int64)
    if SUPPRESSED in labels:
        # Suppressed cells are marked by the caller; here "*" may be a value of the column itself.
        at = labels.index(SUPPRESSED)
        labels = labels[:at] + labels[at + 1 :]
        place = np.where(place == at, EXACT, place - (place > at))
    plain: set[str] = set()
    if not pair.masked.schema[name].generalized and not reader.domain.dtype.is_nested():
        # In a column of values, "{a, b}" may be one of them.
        plain = set(reader.domain.cast(pl.String, strict=False).to_list())
    generalized = bool(set(labels) - plain)
    return Cells(name, labels, place, reader, plain, generalized=generalized)


def _sets(pair: Pair, name: str, measure: str, classes: Classes) -> Cells:
    sets = SetPair.of(pair, name, measure)
    opened = sets.opened(classes.labels)
    count = classes.of_records(opened.items)
    count[sets.matched[sets.before.missing[sets.rows]]] = 0
    return Cells(
        name,
        [],
        np.full(pair.masked.height, EXACT),
        None,
        generalized=bool(count.any()),
        sets=OpenSets(sets, classes, opened, count, len(sets.before.names)),
    )


def untold(pair: Pair, names: Sequence[str]) -> np.ndarray:
    """Masked records of which nothing is told: each of these columns is suppressed."""
    hidden = np.full(pair.masked.height, bool(names))
    for name in names:
        hidden &= suppressed(pair, name)
    return hidden


def _mark_gaps(pair: Pair, found: Cells, hidden: np.ndarray) -> None:
    """A cell that is empty now and was not before is suppressed, whether or not it says so."""
    before, after = pair.original[found.name], pair.masked[found.name]
    gaps = after.is_null().to_numpy() & ~hidden
    if pair.rows is not None:
        known = pair.rows >= 0
        lost = np.zeros(gaps.size, dtype=bool)
        was_missing = before.is_null().to_numpy()
        lost[known] = gaps[known] & ~was_missing[pair.rows[known]]
        found.place[lost] = HIDDEN
    elif before.len() == after.len():
        # Without alignment only their number can be told, and only where no record was dropped.
        found.extra = max(int(gaps.sum()) - before.null_count(), 0)
    else:
        found.unjudged = int(gaps.sum())


def facts(cells: Sequence[Cells], dropped: int) -> dict[str, Any]:
    """What the detail of a measurement says about the columns."""
    said: dict[str, Any] = {
        "quasi_identifiers": [c.name for c in cells],
        "suppressed_cells": sum(c.hidden for c in cells),
    }
    named = {
        "published_as_values": [c.name for c in cells if not c.generalized],
        "dropped_columns": [c.name for c in cells if c.dropped],
        "dropped_records": dropped,
        "empty_cells_taken_for_missing": sum(c.unjudged for c in cells),
    }
    said.update({key: found for key, found in named.items() if found})
    return said


def careful(found: Measurement, cells: Sequence[Cells]) -> Measurement:
    """The measurement, rounded for publication where it was counted on the original's own values:
    its sets, or a hierarchy that was made of them instead of being declared."""
    if any(c.sets is not None for c in cells):
        return replace(found, decimals=3, depends="values")
    if any(_made_of_values(c) for c in cells):
        return replace(found, depends="values")
    return found


def _made_of_values(cells: Cells) -> bool:
    reader = cells.reader
    if reader is None or not cells.generalized:
        return False
    source = reader.column.poset
    return source is not None and source.name not in ("interval", "value-set", "hierarchy")


def dropped_records(pair: Pair) -> int:
    """Records of the original that the release lacks."""
    return max(pair.original.height - pair.masked.height, 0)
