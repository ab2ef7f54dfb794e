"""Local suppression: take out single cells until nobody stands alone."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import code, encode
from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...errors import MethodError
from ...kernels.suppression.ladders import MOST_CHOICES, Ladder, choices, climb, two_steps
from ...kernels.suppression.local import MOST_COLUMNS, local_suppression
from ...kernels.suppression.searches import cell_by_cell, cheapest_sets
from ...poset.trees.tree import Tree
from ...protocols import Method, Outcome
from ..counts import weights_of


class LocalSuppression(Method):
    """Suppress the fewest cells that make every record k-anonymous.

    By default a suppressed cell is a value of its own, so that the k recounted on the file is
    the k that is meant. With reading = "wildcard" a suppressed or missing cell matches every
    value: fewer cells go, but the promise is weaker, and a k-anonymity requirement must then say
    missing = "wildcard" too.

    Three searches. "best" builds groups over all sets of columns and improves them by local search;
    it suppresses least. "optimal-per-record" gives each record in need the cheapest set of its own
    cells that is enough given the others: exact over all sets of columns, and blind to what records
    could do for one another. With suppressed as a value of its own the others in need must choose
    alike, so those whose choice too few share choose again, and the last ones, fewer than k, are
    joined to the class that it costs least to widen; a million records of ten columns may take
    minutes. "greedy" suppresses cell by cell, in each
    round the cell of each record in need that brings most company, up to k, for its cost.

    With `ladder`, a cell of a column with a hierarchy climbs to its parent before it is suppressed;
    a broader label costs the share of the domain that it leaves open (NCP) times the column's
    importance, a suppressed cell the importance itself.
    """

    name: ClassVar[str] = "local-suppression"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    regroups: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Samarati & Sweeney 1998; de Waal & Willenborg 1998, Optimal local suppression in "
        "microdata, Journal of Official Statistics 14; Willenborg & de Waal 2001, chapter 5"
    )

    k: int = Field(3, ge=2, description="records that must share each combination")
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="cost of a cell by column (1 unless given): dear columns are kept",
    )
    reading: Literal["category", "wildcard"] = Field(
        "category", description="what a missing or suppressed cell matches: its like, or anything"
    )
    search: Literal["best", "optimal-per-record", "greedy"] = Field(
        "best", description="over groups of records, record by record, or cell by cell"
    )
    ladder: bool = Field(
        False, description="climb a column's hierarchy before suppressing (not with best)"
    )
    weights: Literal["none", "cost", "count"] = Field(
        "none",
        description="the weight column: not used, what a record's cells cost, or how many "
        "people of the population a record counts for towards k",
    )

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.ladder and self.search == "best":
            raise ValueError('ladder goes with search = "greedy" or "optimal-per-record"')
        if self.ladder and self.reading == "wildcard":
            raise ValueError(
                'ladder goes with reading = "category": a broader label matches its like only'
            )
        if self.weights == "count" and (self.search == "best" or self.reading == "wildcard"):
            raise ValueError(
                'weights = "count" goes with search = "greedy" or "optimal-per-record" and '
                'reading = "category"'
            )
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen = checked_columns(self, table, self.k, self.importance)
        weight = None if self.weights == "none" else weights_of(table, self.name)
        cells = Cells.of(table, chosen)
        if self.reading == "category" and self.search != "best":
            return self._climb(table, chosen, cells, weight)
        costs = np.array([self.importance.get(name, 1.0) for name in chosen])
        if self.search == "best":
            gone = local_suppression(
                cells.codes,
                self.k,
                costs,
                missing=cells.missing,
                already=cells.already,
                weights=weight,
                reading=self.reading,
                mark="own",
            )
        else:
            wild = cells.missing | cells.already
            if self.search == "optimal-per-record":
                self._check_choices(2.0 ** len(chosen))
            search = cheapest_sets if self.search == "optimal-per-record" else cell_by_cell
            gone = search(cells.codes, wild, self.k, costs)
        return suppressed_outcome(table, chosen, gone, cells, {"reading": self.reading})

    def _check_choices(self, found: float) -> None:
        if found > MOST_CHOICES:
            raise MethodError(
                f"optimal-per-record would try {found:,.0f} sets of levels, more than "
                f"{MOST_CHOICES:,}",
                remedy='search = "greedy", fewer columns, or hierarchies of fewer levels',
            )

    def _climb(
        self, table: Table, chosen: list[str], cells: Cells, weight: np.ndarray | None
    ) -> Outcome:
        """Suppression where suppressed is a value of its own: the last step of a ladder."""
        count = weight if self.weights == "count" else None
        if count is not None and count.sum() < self.k:
            raise MethodError(
                f"the weights sum to {count.sum():g}: nobody has the company of {self.k}",
                remedy="lower k, or mend the weights",
            )
        codes, ladders, posets = cells.codes.astype(np.int64), [], {}
        for j, name in enumerate(chosen):
            price = self.importance.get(name, 1.0)
            found = code(table, name) if self.ladder else None
            if found is not None and (tree := found.structure.tree) is not None:
                codes[:, j] = found.codes
                ladders.append(tree_ladder(tree, price))
                posets[name] = tree
            else:
                ladders.append(two_steps(int(codes[:, j].max(initial=0)) + 1, price))
        if self.search == "optimal-per-record":
            self._check_choices(choices(ladders))
        shown = climb(
            codes,
            ladders,
            self.k,
            already=cells.already,
            count=count,
            weight=weight if self.weights == "cost" else None,
            search="greedy" if self.search == "greedy" else "optimal",
        )
        gone = shown == np.array([ladder.top for ladder in ladders])
        gone &= ~cells.already
        series, columns, broader = [], [], {}
        for j, name in enumerate(chosen):
            if name not in posets:
                continue
            leaves = ladders[j].labels[0, codes[:, j]]
            broader[name] = int(
                ((shown[:, j] != leaves) & ~gone[:, j] & ~cells.already[:, j]).sum()
            )
            if broader[name]:
                series.append(tree_labels(name, posets[name], shown[:, j]))
                columns.append(table.schema[name].with_(generalized=True, bound=posets[name]))
        more: dict[str, Any] = {"reading": self.reading}
        warnings: tuple[str, ...] = ()
        if self.ladder:
            more["broadened cells"] = broader
            warnings = tuple(
                f"{name} has no hierarchy to climb: its cells were suppressed at once"
                for name in chosen
                if name not in posets
            )
        if count is not None:
            warnings += (
                "k counts people of the population by the weights: "
                "a class may hold fewer than k records of the file",
            )
        table = table.with_columns(series, columns)
        return suppressed_outcome(table, chosen, gone, cells, more, warnings)


class Cells(NamedTuple):
    """The chosen columns as codes, and which cells are missing or suppressed already."""

    codes: np.ndarray
    missing: np.ndarray
    already: np.ndarray

    @classmethod
    def of(cls, table: Table, chosen: list[str]) -> Cells:
        """The cells of these columns."""
        return cls(
            np.column_stack([encode(table[name]).codes.astype(np.int32) for name in chosen]),
            np.column_stack([table.missing(name) for name in chosen]),
            np.column_stack([table.suppressed(name) for name in chosen]),
        )


def checked_columns(
    method: Method, table: Table, k: int, importance: dict[str, float]
) -> list[str]:
    """The columns to suppress in, or what stands in the way."""
    chosen, _ = method.targets(table)
    if table.height < k:
        raise MethodError(
            f"a table of {table.height} cannot be made {k}-anonymous",
            remedy="release nothing, or lower k",
        )
    if len(chosen) > MOST_COLUMNS:
        raise MethodError(
            f"{method.name} takes up to {MOST_COLUMNS} columns, not {len(chosen)}",
            remedy="name the columns that others may really know",
        )
    stray = [name for name in importance if name not in chosen]
    if stray:
        raise MethodError(
            f"importance names {stray[0]!r}, which is not among the columns to suppress in",
            remedy=f"the columns are {', '.join(chosen)}",
        )
    return chosen


def suppressed_outcome(
    table: Table,
    chosen: list[str],
    gone: np.ndarray,
    cells: Cells,
    more: dict[str, Any],
    warnings: tuple[str, ...] = (),
) -> Outcome:
    """The table with these cells suppressed, and how many they are."""
    series, marks = [], {}
    for j, name in enumerate(chosen):
        if not gone[:, j].any():
            continue
        series.append(suppress(table[name], gone[:, j], table.schema[name].generalized))
        marks[name] = gone[:, j] | table.suppressed(name)
    lost = gone & ~cells.missing
    facts: dict[str, Any] = {
        "suppressed cells": {n: int(lost[:, j].sum()) for j, n in enumerate(chosen)},
        "share of cells": float(lost.mean()),
        "missing cells marked alike": int((gone & cells.missing).sum()),
        **more,
    }
    return Outcome(table.with_columns(series, suppressed=marks), facts=facts, warnings=warnings)


def suppress(series: pl.Series, gone: np.ndarray, generalized: bool) -> pl.Series:
    """The column with some cells suppressed: "*" among labels, null among values."""
    keep = pl.Series(~gone)
    if not generalized:
        return series.zip_with(keep, pl.Series([None], dtype=series.dtype))
    return series.cast(pl.String).zip_with(keep, pl.Series([SUPPRESSED], dtype=pl.String))


def tree_ladder(tree: Tree, importance: float) -> Ladder:
    """The levels of a hierarchy as a ladder over codes 0 (missing), 1..m; the root is the top."""
    nodes = len(tree.label_of_node)
    labels = np.stack([tree.nodes_at(level) for level in range(tree.levels)]).astype(np.int64)
    labels[:-1, 0] = nodes  # missing is a label of its own until it is suppressed
    labels[-1] = tree.root
    price = np.append(tree.node_costs(), 0.0) * importance
    price[tree.root] = importance
    return Ladder(labels, price)


def tree_labels(name: str, tree: Tree, nodes: np.ndarray) -> pl.Series:
    """The labels of these nodes; one beyond the last is missing, the root is "*"."""
    shown = np.append(tree.shown, tree.shown.size)[nodes]
    used, place = np.unique(shown, return_inverse=True)
    texts = [
        None if node == len(tree.label_of_node)
        else SUPPRESSED if node == tree.root
        else tree.label_of_node[node]
        for node in used.tolist()
    ]  # fmt: skip
    domain = pl.Series(name, texts, dtype=pl.Enum([text for text in texts if text is not None]))
    return domain.gather(pl.Series(place.reshape(-1)))
