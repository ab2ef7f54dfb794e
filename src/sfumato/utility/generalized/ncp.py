"""How much of its domain a published value leaves open, by entries and by levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...data.codec import domain_values
from ...data.generalized.label_places import Labels
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import SUPPRESSED, Kind, Schema
from ...engines.counts import Counts
from ...errors import MeasureError
from ...kernels.sets.compared import Rows, kept
from ...kernels.sets.rows import take_rows
from ...measurement import Depends
from ...poset.values.text import text
from ...protocols import Context, Measurement
from ..cells import (
    HIDDEN,
    Cells,
    careful,
    cells_of,
    certainty_penalties,
    counted_cells,
    dropped_records,
    facts,
    quasi_cells,
)
from ..columns import quasi_names, suppressed
from ..loss import RecordLoss, TableLoss
from ..sets.cells import SetPair, holds_sets, shows_nothing
from ..sets.kept import HANDFUL


class Ncp(TableLoss):
    """Normalized certainty penalty, 0 to 1.

    The mean over all cells of the quasi-identifiers of the share of the domain that the published
    label covers: (leaves below it - 1) / (leaves - 1) in a hierarchy, width / width of the
    original's range for an interval, (|s| - 1) / (|D| - 1) for a set of values. In a set-valued
    column each item is an attribute with two values, and the cell costs the share of the attributes
    that are left open: items that are not published, though some record of its equivalence class
    has them. A suppressed cell costs 1, and so does every cell of a record or a column that was
    dropped; a value that was missing to begin with costs 0. Values that were perturbed, swapped or
    averaged are as precise as before and cost 0: that loss is another measure's business, and
    `detail` names the columns. The per-record vector holds each masked record's mean. In
    hierarchies it is Iyengar's loss metric, LM, divided by the number of cells.

    >>> import sfumato as sf
    >>> original = sf.table({"age": [20, 30, 40], "sex": ["f", "m", "m"]}, quasi=["age", "sex"])
    >>> masked = {"age": ["[20, 30]", "[20, 30]", "40"], "sex": ["*", "*", "m"]}
    >>> round(sf.measure("ncp", original, masked).value, 3)
    0.5
    """

    name: ClassVar[str] = "ncp"
    paper: ClassVar[str] = (
        "Xu, Wang, Pei, Wang, Shi & Fu (2006), Utility-based anonymization using local recoding, "
        "KDD; "
        "Iyengar (2002), Transforming data to satisfy privacy constraints, KDD"
    )
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "domain"
    usual: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    by_counts: ClassVar[bool] = True

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        cells = quasi_cells(pair, self.name)
        costs = certainty_penalties(cells)
        n, by_record = pair.masked.height, np.zeros(pair.masked.height)
        for cost in costs:
            by_record += cost / len(costs)
        lost = [float(cost.sum()) for cost in costs]
        found = self._of(cells, lost, n, dropped_records(pair))
        return replace(found, per_record=by_record)

    def uncounted(self, schema: Schema) -> str:
        sets = [name for name in schema.quasi if schema[name].kind == Kind.SET]
        what = f"{self.name} of sets compares the records of each class"
        return f"{what} ({sets[0]!r})" if sets else ""

    def from_counts(self, counts: Counts) -> Measurement:
        n, m = counts.original.height, counts.masked.height
        found = [counted_cells(counts, name, self.name) for name in counts.original.schema.quasi]
        lost = [float(c.spread(c.figures(Labels.measure), star=1.0) @ many) for c, many in found]
        return self._of([c for c, _ in found], lost, m, max(n - m, 0))

    def _of(self, cells: Sequence[Cells], lost: list[float], n: int, dropped: int) -> Measurement:
        """The figure of cells that cost so much together, in n records."""
        by_column = {
            c.name: (cost + c.extra + dropped) / (n + dropped)
            for c, cost in zip(cells, lost, strict=True)
        }
        detail: dict[str, Any] = {**facts(cells, dropped), "by_column": by_column}
        read_by = {
            c.name: sorted({c.reader.read_by(label) for label in c.labels})
            for c in cells
            if c.reader is not None and c.figures(Labels.measure).any()
        }
        if read_by:
            detail["read_by"] = read_by
        return careful(self.result(float(np.mean(list(by_column.values()))), detail=detail), cells)


class SuppressedEntries(TableLoss):
    """Entries that were published as nothing at all: items left out, cells suppressed.

    Counted over the quasi-identifiers: a cell that had a value and is suppressed is one entry, an
    item of a set that is not published is one entry. Dropped columns and records lose all of
    theirs; what was missing to begin with was no entry. Generalized cells are not counted, however
    vague: the figure compares releases by suppression only, as its papers do. The per-record vector
    holds each masked record's lost entries; `detail` has the percentage of all entries.

    Where sets are published the count is rounded to tens and percentages of fewer than ten entries
    are left out: what sets lost cannot be seen in the release itself.

    >>> import sfumato as sf
    >>> columns = {"sex": ["f", "m"], "buys": [["tea", "milk"], ["tea"]]}
    >>> original = sf.table(columns, quasi=["sex", "buys"])
    >>> sf.measure("suppressed-entries", original, {"sex": ["*", "m"], "buys": [["tea"]] * 2}).value
    2.0
    """

    name: ClassVar[str] = "suppressed-entries"
    leverage: ClassVar[float] = float("inf")
    paper: ClassVar[str] = (
        "Meyerson & Williams (2004), On the complexity of optimal k-anonymity, PODS; "
        "Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas & Zhu (2005), Approximation "
        "algorithms for k-anonymity, Journal of Privacy Technology"
    )
    decimals: ClassVar[int | None] = None
    unit: ClassVar[str] = "entries"

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        names = quasi_names(pair, self.name)
        sets = [name for name in names if _of_sets(pair, name)]
        by_record = np.zeros(pair.masked.height)
        counts: dict[str, tuple[float, float]] = {}
        for name in names:
            count = self._items if name in sets else _cells
            own, gone, entries = count(pair, name)
            by_record += own
            counts[name] = (float(own.sum()) + gone, entries)
        lost, entries = (sum(part) for part in zip(*counts.values(), strict=True))
        percents = {name: _percent(*counts[name]) for name in names}
        detail: dict[str, Any] = {
            "quasi_identifiers": names,
            "by_column": {name: counts[name][0] for name in names},
            "percent": _percent(lost, entries),
            "percent_by_column": {name: p for name, p in percents.items() if p is not None},
        }
        if detail["percent"] is None:
            del detail["percent"]
        if sets:
            detail["sets"] = sets
        if dropped := dropped_records(pair):
            detail["dropped_records"] = dropped
        made = self.result(lost, per_record=by_record, detail=detail)
        return replace(made, decimals=-1) if sets else made

    def _items(self, pair: Pair, name: str) -> tuple[np.ndarray, float, float]:
        """Items that each masked record lost, those of dropped records, and all there were."""
        found = SetPair.of(pair, name, self.name)
        own, sizes = np.zeros(pair.masked.height), found.before.sizes
        own[found.matched] = sizes[found.rows]
        own[found.matched] -= found.kept.items
        left = np.bincount(found.rows, minlength=sizes.size) == 0
        return own, float(sizes[left].sum()), float(sizes.sum())


def _cells(pair: Pair, name: str) -> tuple[np.ndarray, float, float]:
    """The same of the cells of a column."""
    cells, before = cells_of(pair, name), pair.original[name]
    own = (cells.place == HIDDEN).astype(np.float64)
    dropped, entries = dropped_records(pair), before.len() - before.null_count()
    if pair.rows is None:
        # Who was dropped is not known: they had as many gaps as the others.
        return own, cells.extra + dropped * entries / before.len(), entries
    there = before.is_not_null().to_numpy()
    known = pair.rows >= 0
    own[known] *= there[pair.rows[known]]
    left = np.bincount(pair.rows[known], minlength=there.size) == 0
    return own, cells.extra + float((there & left).sum()), entries


def _of_sets(pair: Pair, name: str) -> bool:
    """Whether a column's entries are items: it holds sets, and is published as sets or not at
    all."""
    is_set = pair.original.schema[name].kind == Kind.SET
    return holds_sets(pair, name) or (is_set and name not in pair.masked.schema)


def _percent(lost: float, entries: float) -> int | None:
    """A whole percentage; None where it would tell of a handful of entries."""
    if lost and (lost < HANDFUL or entries - lost < HANDFUL):
        return None
    return round(100 * lost / entries) if entries else 0


class DghDistance(RecordLoss):
    """Steps that columns climbed in their hierarchies, for release by one level per column.

    A global recoding publishes every value of a column at the same level of its hierarchy (the
    domain generalization hierarchy): it is a node of the lattice of levels, and its distance from
    the original is the sum over the quasi-identifiers of the levels climbed. A column without a
    hierarchy has two levels, its values and "*". An item of a set is an attribute with two levels,
    too: it is published wherever it occurs, which is level 0, or nowhere, which is one step. The
    baseline is the top of the lattice, `detail["levels"]` the node. Records of which every
    quasi-identifier is suppressed, and dropped ones, stand outside of the recoding.

    Where a column was published at several levels, or an item in some sets only, there is no such
    node, and the measure says so: `precision` measures heights cell by cell. Ranges and merged
    categories of a column without a hierarchy are one step, if every value has one label.

    >>> import sfumato as sf
    >>> columns = {"sex": ["f", "m"], "buys": [["tea", "gin"], ["tea"]]}
    >>> original = sf.table(columns, quasi=["sex", "buys"])
    >>> masked = {"sex": ["*", "*"], "buys": [["tea"], ["tea"]]}
    >>> sf.measure("dgh-distance", original, masked).detail["levels"]
    {'sex': 1, 'buys': 1}
    """

    name: ClassVar[str] = "dgh-distance"
    paper: ClassVar[str] = (
        "Samarati (2001), Protecting respondents' identities in microdata release, IEEE TKDE "
        "13(6); LeFevre, DeWitt & Ramakrishnan (2005), Incognito, SIGMOD"
    )
    decimals: ClassVar[int | None] = None
    unit: ClassVar[str] = "steps"

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        names = quasi_names(pair, self.name)
        rows, matched = pair.aligned_rows()
        published = [name for name in names if name in pair.masked.schema]
        inside = ~_outside(pair, published)[matched]
        # Where everything is suppressed, that is the top of the lattice.
        inside |= not inside.any()
        levels, tops = {}, {}
        for name in names:
            if holds_sets(pair, name):
                sets = SetPair.of(pair, name, self.name)
                levels[name], tops[name] = _items_gone(sets, inside), len(sets.before.names)
            else:
                levels[name], tops[name] = _level(pair, name, rows[inside], matched[inside])
        detail: dict[str, Any] = {
            "quasi_identifiers": names,
            "levels": levels,
            "highest_levels": tops,
            "baseline": "every column at its highest level",
        }
        return self.result(sum(levels.values()), baseline=sum(tops.values()), detail=detail)


def _outside(pair: Pair, names: Sequence[str]) -> np.ndarray:
    """Masked records of which no column tells anything: suppressed ones, and sets that show no
    item."""
    outside = np.full(pair.masked.height, bool(names))
    for name in names:
        shows = shows_nothing(pair.masked, name) if holds_sets(pair, name) else False
        outside &= suppressed(pair, name) | shows
    return outside


def _items_gone(sets: SetPair, inside: np.ndarray) -> int:
    """Items that no set shows; each of the others must be shown by every set that has it."""
    before, after = sets.before, sets.after
    rows, matched = sets.rows[inside], sets.matched[inside]
    had = np.bincount(take_rows(before.starts, before.items, rows)[1], minlength=len(before.names))
    shown = kept(
        Rows(before.starts, before.items), Rows(after.starts, after.items), sets.place, rows,
        matched, sets.utilities,
    ).by_item  # fmt: skip
    some = np.flatnonzero((shown > 0) & (shown < had))
    if some.size:
        raise _local(
            sets.name, f"item {before.names[int(some[0])]!r} is published in some sets only"
        )
    return int(((shown == 0) & (before.support > 0)).sum())


def _level(pair: Pair, name: str, rows: np.ndarray, matched: np.ndarray) -> tuple[int, int]:
    """The level at which a column was published, and the highest there is."""
    cells = cells_of(pair, name)
    reader = cells.reader or Labels.of(pair.original, name)
    tree = reader.poset(SUPPRESSED).structure.tree
    top = tree.levels - 1 if tree is not None and tree.levels > 1 else 1
    if cells.dropped:
        return top, top
    codes = reader.codes[rows].astype(np.int64)
    place = cells.place[matched]
    there = codes > 0
    # Every pair of a value and what it was published as, once.
    pairs = np.unique(np.column_stack((codes[there], place[there])), axis=0)
    if not pairs.size:
        return 0, top
    if bool((pairs[:, 1] == HIDDEN).all()):
        return top, top
    if cells.reader is None:
        if bool((pairs[:, 1] == HIDDEN).any()):
            raise _local(name, "some of its cells are suppressed, and others are not")
        if not _unchanged(pair, name, rows, matched):
            raise _local(name, "its values were changed, not generalized")
        return 0, top
    values = domain_values(reader.column, reader.domain)
    texts = [text(value) for value in values]
    shown = [
        SUPPRESSED if at == HIDDEN else "" if at < 0 else cells.labels[at]
        for at in pairs[:, 1].tolist()
    ]
    if all(texts[code - 1] == word for code, word in zip(pairs[:, 0], shown, strict=True)):
        return 0, top
    if tree is not None:
        for level in range(1, tree.levels):
            words = tree.at_level(values, level)
            root = level == tree.levels - 1
            if all(
                words[code - 1] == word or (root and word == SUPPRESSED)
                for code, word in zip(pairs[:, 0], shown, strict=True)
            ):
                return level, top
        raise _local(name, "its values do not stand at one level of its hierarchy")
    if np.unique(pairs[:, 0]).size < len(pairs) or SUPPRESSED in shown:
        raise _local(name, "some value was published in two ways")
    return 1, top


def _unchanged(pair: Pair, name: str, rows: np.ndarray, matched: np.ndarray) -> bool:
    before, after = pair.original[name].gather(rows), pair.masked[name].gather(matched)
    if before.dtype != after.dtype:
        before, after = before.cast(after.dtype, strict=False), after
    return bool(before.eq_missing(after).all())


def _local(name: str, why: str) -> MeasureError:
    return MeasureError(
        f"dgh-distance measures releases at one level per column, and column {name!r} is not one: "
        f"{why}",
        remedy="measure precision, which looks at every cell",
    )
