"""Synthetic records drawn column by column from trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...candidate import Candidate, settings
from ...data.codec import decode, encode, from_floats
from ...data.schema import MEASURED, Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.synthesis.category_axis import coarse, crossed_scores
from ...kernels.synthesis.leaf_numbers import LeafNumbers, middle_ranks, places, quantile_edges
from ...kernels.synthesis.trees import Tree, descend, grow
from ...progress import report
from ...protocols import Outcome
from ..numeric.base import SINGLE_VALUES, finite, refuse, widened
from .drawn import Synthesizer, whole_table

_CLASSES = 32
"""Bins of a number while its tree is grown; its leaves hold the numbers themselves."""
_BINS = 255
"""Bins of a number that is a predictor."""
_CATEGORIES = 1000
"""Categories of a predictor that are told apart, the most frequent ones."""


_UNITS = (1.0, 24.0, 1440.0, 86400.0)
"""Days, hours, minutes and seconds, to the day."""
_SHARED = 5
"""So many times `rare` records share a number that is drawn as it is, and more in large tables,"""
_ROOT = 0.6
"""where so many times the root of how many records there are do."""
_LEAF = 10
"""So many times `rare` records a leaf of numbers has at least."""
_TWINS = 4.0
"""How much more cautious cuts are where every record has a twin."""


class SequentialTrees(Synthesizer):
    """Draw records column by column, each from a tree grown on the columns before it.

    The first column is drawn from its frequencies. For every further one a tree is grown on the
    originals that parts them by the columns before it; a drawn record goes down by its own values
    and takes the value of a donor in the leaf that it reaches. Categories are cut in two in the
    order of what they mean for the column in that node, however many there are. A cut is made where
    the two sides differ by more than chance explains, see `caution`, so that what is kept is what
    the originals have in common, not what one of them is. (The axis along which a column's own
    categories differ is found by the other half of the records, since one fitted to a record
    would be cut by it.) Donors are drawn at random, so that counts are no surer than a sample's.
    Put a column first (`order`) that others are compared by, such as the place.

    Missing is a category; of numbers, whether one is missing is drawn first. A category of fewer
    than `rare` records is never drawn. A number is drawn as it is where five times as many share it
    (of n records, 0.6 times the root of n, if that is more), any other as one between those around
    it in its leaf, with as many decimals as nearly all have; nobody far out shows in where these
    end. No record is rejected or changed because it equals a person's: a person who is not in the
    data meets as many equals by chance, and avoiding them would tell who is.

    Cuts are more cautious where records have twins. There a table is dense: its relations show in
    any case, and a model that fits too closely meets real records most often. Which records have
    twins is asked of the chosen columns, and makes the threshold up to five times `caution`.

    Relations that are weaker than the threshold are lost. Rules between columns (sums, a part that
    is no more than its whole) hold as far as cuts express them.
    """

    name: ClassVar[str] = "sequential-trees"
    aliases: ClassVar[tuple[str, ...]] = ("cart",)
    kinds: ClassVar[tuple[str, ...]] = SINGLE_VALUES
    paper: ClassVar[str] = (
        "Reiter 2005, Using CART to generate partially synthetic public use microdata, Journal of "
        "Official Statistics 21(3); Nowok, Raab & Dibben 2016, synthpop: bespoke creation of "
        "synthetic data in R, Journal of Statistical Software 74(11)"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "synthesis",
        when="tables of any two columns must come out about the same; no row need be a person's",
        unless="records must be joined with others later, or columns are many and people few",
        ladder=settings("caution", 1.3, 1.8, 2.3, 3.0, 4.0, 6.0, 10.0),
        usual=1,
        scopes=("all",),
        linked=False,
        million=(11, 0.75),
    )

    leaf: int = Field(20, ge=2, description="donors that a leaf has at least")
    caution: float = Field(
        1.8,
        ge=0,
        description="standard deviations beyond chance that a cut must be; up to five times as "
        "many where records have twins",
    )
    rare: int = Field(
        5,
        ge=1,
        description="records that must share a value for it to be drawn as it is; 1: any value",
    )
    order: tuple[str, ...] = Field(
        (), description="columns to draw first; the others follow in the order of the table"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        rows = self.rows_of(table)
        if rows > table.height:
            # Numbers lie anywhere between two originals: many of them would show where these are.
            raise MethodError(
                f"{rows:,} records drawn of {table.height:,} would show which numbers these have",
                remedy=f"records = {table.height} at most",
            )
        columns = pl.DataFrame([table[name] for name in chosen])
        twins = int(columns.is_duplicated().sum()) / max(table.height, 1)
        drawing = _Drawing(self, table.height, rows, len(chosen), twins, rng)
        made: dict[str, tuple[pl.Series, Column]] = {}
        for j, name in enumerate(self._ordered(chosen)):
            report(f"drawing {name}", j, len(chosen))
            column, like = table.schema[name], table[name]
            if column.kind in MEASURED and not column.generalized:
                made[name] = drawing.number(like, column)
            else:
                made[name] = drawing.category(like, column), column
        series = [made[name][0] for name in chosen]
        out, warnings = whole_table(table, rows, series, [made[name][1] for name in chosen])
        facts: dict[str, Any] = {"columns": chosen, "records": rows}
        told = tuple(
            f"{name}: {count} {'category' if count == 1 else 'categories'} of fewer than "
            f"{self.rare} records {'is' if count == 1 else 'are'} not drawn"
            for name, count in drawing.left_out.items()
        )
        return Outcome(
            out, facts=facts, warnings=tuple(warnings), owner_warnings=told, linked=False
        )

    def _ordered(self, chosen: Sequence[str]) -> list[str]:
        for name in self.order:
            if name not in chosen:
                raise MethodError(
                    f"column {name!r} is in `order`, but is not drawn",
                    remedy="leave it out of `order`, or name it in `columns`",
                )
        first = list(dict.fromkeys(self.order))
        return first + [name for name in chosen if name not in first]


class _Drawing:
    """The columns so far, of the originals and of the records that are drawn."""

    def __init__(
        self,
        method: SequentialTrees,
        height: int,
        rows: int,
        columns: int,
        twins: float,
        rng: np.random.Generator,
    ) -> None:
        self._method = method
        self._least = method.caution * (1.0 + _TWINS * twins)
        self._rng = rng
        # A constant comes first, so that there always is a predictor.
        self._known = np.zeros((columns + 1, height), dtype=np.int32)
        self._drawn = np.zeros((columns + 1, rows), dtype=np.int32)
        self._coarse = np.zeros((columns + 1, height), dtype=np.uint8)
        self._nominal = np.zeros(columns + 1, dtype=bool)
        self._levels = np.ones(columns + 1, dtype=np.int32)
        self._done = 1
        self.left_out: dict[str, int] = {}

    def category(self, like: pl.Series, column: Column) -> pl.Series:
        """A drawn column of categories, missing among them."""
        coded = encode(like)
        codes = coded.codes.astype(np.int64)
        counts = np.bincount(codes, minlength=len(coded.domain) + 1)
        kept = counts >= self._method.rare
        if not kept[1:].any():
            if counts[1:].any():
                raise MethodError(
                    f"column {column.name!r} has no value that {self._method.rare} records share: "
                    "what is drawn would tell whose it is",
                    remedy="recode it, leave it out of `columns`, or lower `rare`",
                )
            kept[0] = True
        if few := int(((counts[1:] > 0) & ~kept[1:]).sum()):
            self.left_out[column.name] = few
        here = np.flatnonzero(kept[codes])
        nominal = column.kind != Kind.ORDINAL or column.generalized
        if nominal and self._done > 1:
            half = self._rng.permutation(here.size) % 2 == 0
            others = self._coarse[1 : self._done, here]
            scores = crossed_scores(codes[here], counts.size, others, half)
        else:
            scores = middle_ranks(codes[here], counts.size)[codes[here]]
        tree, leaf = self._tree(codes[here], scores, here, None)
        donors = codes[here][tree.rows]
        donors = donors[np.lexsort((donors, tree.first()))]
        drawn = donors[self._donors(tree, leaf)]
        if nominal:
            place = _told_apart(counts, kept)
            self._add(place[codes], place[drawn], int(place.max()) + 1, nominal=True)
        else:
            self._add(codes, drawn, counts.size, nominal=False)
        return decode(drawn, coded.domain, column.name)

    def number(self, like: pl.Series, column: Column) -> tuple[pl.Series, Column]:
        """A drawn column of numbers or dates."""
        x = finite(like, column)
        absent = np.isnan(x)
        here = np.flatnonzero(~absent)
        rare = self._method.rare
        values = np.full(self._drawn.shape[1], np.nan)
        edges = np.empty(0)
        if 0 < here.size < rare:
            raise MethodError(
                f"column {column.name!r} has {here.size} values, fewer than {rare}: what is drawn "
                "would tell them",
                remedy="leave it out of `columns`, or lower `rare`",
            )
        if here.size:
            wanted = self._present(absent)
            classes = np.searchsorted(quantile_edges(x[here], _CLASSES), x[here], side="right")
            scores = middle_ranks(classes, int(classes.max()) + 1)[classes]
            tree, leaf = self._tree(classes, scores, here, wanted, _LEAF * rare)
            common = max(_SHARED * rare, round(_ROOT * here.size**0.5)) if rare > 1 else 1
            found = LeafNumbers.of(tree, x[here], rare, common)
            made = found.drawn(self._donors(tree, leaf), self._rng)
            refuse(self._method, ~np.isfinite(made)[:, None], [column.name])
            values[wanted] = _as_fine(made, x[here], column.kind, rare)
            edges = quantile_edges(x[here], _BINS)
        series = from_floats(values, column, like, whole=True)
        self._add(_binned(x, edges), _binned(values, edges), edges.size + 2, nominal=False)
        return series, widened(column, series)

    def _present(self, absent: np.ndarray) -> np.ndarray:
        """The drawn records that have a number, where some originals lack one."""
        if absent.sum() < self._method.rare:
            return np.arange(self._drawn.shape[1])
        tree, leaf = self._tree(absent.astype(np.int64), absent.astype(np.float64), None, None)
        donors = absent[tree.rows]
        donors = donors[np.lexsort((donors, tree.first()))]
        return np.flatnonzero(~donors[self._donors(tree, leaf)])

    def _tree(
        self,
        classes: np.ndarray,
        scores: np.ndarray,
        here: np.ndarray | None,
        wanted: np.ndarray | None,
        least: int = 0,
    ) -> tuple[Tree, np.ndarray]:
        """The tree of these originals, and where these drawn records end up in it."""
        known, drawn = self._known[: self._done], self._drawn[: self._done]
        if here is not None and here.size < known.shape[1]:
            known = np.ascontiguousarray(known[:, here])
        if wanted is not None and wanted.size < drawn.shape[1]:
            drawn = np.ascontiguousarray(drawn[:, wanted])
        nominal = self._nominal[: self._done]
        tree = grow(
            known,
            nominal,
            self._levels[: self._done],
            classes.astype(np.int32),
            scores,
            leaf=max(self._method.leaf, least),
            least=self._least,
        )
        return tree, descend(tree, drawn, nominal)

    def _donors(self, tree: Tree, node: np.ndarray) -> np.ndarray:
        """A random record of each node, as its place in the tree's rows."""
        return places(tree, node, self._rng.random(node.size))

    def _add(self, known: np.ndarray, drawn: np.ndarray, levels: int, *, nominal: bool) -> None:
        """One more predictor."""
        at = self._done
        self._known[at], self._drawn[at] = known, drawn
        self._coarse[at] = coarse(self._known[at], levels, nominal=nominal)
        self._nominal[at], self._levels[at] = nominal, levels
        self._done += 1


def _told_apart(counts: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """For each code its code as a predictor: the frequent ones have their own, the others one."""
    frequent = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    own = np.sort(frequent[kept[frequent]])
    place = np.zeros(counts.size, dtype=np.int32)
    place[own] = np.arange(1, own.size + 1)
    return place


def _binned(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Missing is 0, and bins count from 1."""
    return np.where(np.isnan(x), 0, np.searchsorted(edges, x, side="right") + 1)


def _as_fine(made: np.ndarray, x: np.ndarray, kind: Kind, rare: int) -> np.ndarray:
    """Drawn numbers with as many decimals, moments with as fine units, as all but fewer than
    `rare` of the originals have: whoever has more would show in all."""
    if kind == Kind.DATE:
        units: Iterable[float] = _UNITS
    else:
        units = (10.0**d for d in range(10)) if kind == Kind.CONTINUOUS else ()
    for unit in units:
        if (np.abs(np.round(x * unit) / unit - x) > 1e-12 * np.abs(x)).sum() < rare:
            return np.asarray(np.round(made * unit) / unit)
    return made
