"""How far a release by global recoding stands from the original in the lattice of levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...data.codec import domain_values
from ...data.generalized.label_places import Labels
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import SUPPRESSED
from ...errors import MeasureError
from ...kernels.sets.compared import Rows, kept
from ...kernels.sets.rows import take_rows
from ...poset.values.text import text
from ...protocols import Context, Measurement
from ..cells import HIDDEN, Cells, cells_of
from ..columns import quasi_names, suppressed
from ..loss import RecordLoss
from ..sets.cells import SetPair, holds_sets, shows_nothing


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
    reader = cells.reader or Labels(pair.original, name)
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
    shown = [_word(cells, at) for at in pairs[:, 1].tolist()]
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


def _word(cells: Cells, place: int) -> str:
    return SUPPRESSED if place == HIDDEN else "" if place < 0 else cells.labels[place]


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
