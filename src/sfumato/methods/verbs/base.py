"""Columns as numbers for the verbs that draw new values, and the drawn numbers back as columns.

Numbers, dates and ordinals have numbers; booleans and categories with two values are 0 and 1, as
Li & Sarkar (2013) code them. What cannot be told apart by a number (three categories or more, sets,
labels) has none.

Masked numbers go back to values of the original domain by rank within the group: of a group's
values the smallest goes to the record with the smallest masked number, and so on. Each group keeps
its own values, so that means and standard deviations are exact, in the group and in the whole
table. Of three ways this one keeps correlations best where there are binary and discrete columns.
Measured with micro-perturbation of MDAV groups of five on range-scaled columns (NMES1988 in
numbers, 21 columns without `chronic`, mean of five seeds), ABICO is 42 %, against 103 % by rank in
the whole column and 98 % by the nearest value that occurs, which besides moves means by 27 % and
deviations by 7 %; unmapped it is 23 %. The price is linkage: 27.7 % of the records, against 21.5 %
and 22.0 %, since a group's own values stay in it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, encode, floats, from_floats
from ...data.partition import Cover, Partition, disjoint
from ...data.schema import MEASURED, ORDERED, Column, Kind
from ...data.table import Table
from ...kernels.synthesis.frames import Stratum
from ...protocols import Outcome, Verb
from ..suppression.cells import suppress
from .centroid import Centroid

Domain = Literal["statistics", "original"]
PublishedDomain = Annotated[
    Domain,
    Field(
        description="publish the drawn numbers, which keep the statistics, or values of the "
        "original domain (a group's own values, in the order of the drawn numbers)"
    ),
]

_PAIR = 2


@dataclass(frozen=True, eq=False)
class Numbers:
    """The chosen columns that have numbers, and those that have none."""

    names: list[str]
    x: np.ndarray
    """float64 (n, p); NaN is missing."""
    without: list[str]
    """Columns of categories, sets and labels."""


@dataclass(eq=False)
class Published:
    """Columns ready for `Table.with_columns`, and what is to be told of them."""

    series: list[pl.Series] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    marks: dict[str, np.ndarray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Drawn:
    """New numbers for all groups, and what the evidence must say of them."""

    y: np.ndarray
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    gone: np.ndarray | None = None
    """Cells that must be suppressed."""


class DrawingVerb(Verb):
    """A verb that draws new numbers for every group."""

    perturbs: ClassVar[bool | None] = True
    domain: PublishedDomain = "statistics"

    @abstractmethod
    def draw(self, numbers: Numbers, groups: Partition, rng: np.random.Generator) -> Drawn:
        """New numbers for all groups."""

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        groups = disjoint(partition, self.name)
        numbers = numbers_of(table, columns)
        return _outcome(table, numbers, self.draw(numbers, groups, rng), groups, self.domain, rng)


def _outcome(
    table: Table,
    numbers: Numbers,
    drawn: Drawn,
    groups: Partition,
    domain: Domain,
    rng: np.random.Generator,
) -> Outcome:
    """The table with the drawn numbers in place of its own; columns without numbers take their
    group's mode."""
    made = publish(table, numbers, drawn.y, groups, domain, rng, gone=drawn.gone)
    facts: dict[str, Any] = {
        "groups": groups.groups,
        "smallest group": groups.smallest,
        **drawn.facts,
        **made.facts,
    }
    result = table.with_columns(made.series, made.columns, made.marks)
    warnings = [*drawn.warnings, *made.warnings]
    if numbers.without:
        result, mode_facts, warned = by_mode(result, groups, numbers.without, rng)
        facts |= mode_facts
        warnings += warned
    return Outcome(result, partition=groups, facts=facts, warnings=tuple(warnings))


def alike_blocks(
    strata: Iterable[Stratum], partition: Partition, fewest: int, gone: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Records of a group that miss the same values, as groups of their own.

    They come as matrices (groups, size) of rows, one for each size, with the columns that they
    have. Where fewer than `fewest` of a larger group miss the same, their cells are marked in
    `gone` instead.
    """
    labels = partition.labels
    for stratum in strata:
        rows = stratum.rows[labels[stratum.rows] >= 0]
        if not stratum.present.size or not rows.size:
            continue
        for block in _by_size(rows, labels[rows]):
            if block.shape[1] < fewest:
                part = block.shape[1] < partition.sizes[labels[block[:, 0]]]
                gone[np.ix_(block[part].reshape(-1), stratum.present)] = True
                block = block[~part]
            if block.size:
                yield block, stratum.present


def _by_size(rows: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Rows of all groups of one size as a matrix (groups, size), for each size that occurs."""
    order = rows[np.argsort(labels, kind="stable")]
    _, sizes = np.unique(labels, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


def by_mode(
    table: Table, partition: Partition, names: Sequence[str], rng: np.random.Generator
) -> tuple[Table, dict[str, Any], list[str]]:
    """Columns without numbers, as `centroid` publishes them."""
    found = Centroid().apply(table, partition, names, rng)
    facts: dict[str, Any] = {"replaced by the group's mode": list(names)}
    if gone := found.facts.get("suppressed cells"):
        facts["cells suppressed in groups that miss some values"] = gone
    warning = (
        f"{', '.join(names)}: categories without numbers cannot be perturbed; each took its "
        "group's mode, which loses the spread within the group"
    )
    return found.table, facts, [warning]


def numbers_of(table: Table, columns: Sequence[str]) -> Numbers:
    """The numbers of the columns that have them, two categories as 0 and 1."""
    names, without = [], []
    coded: dict[str, np.ndarray] = {}
    for name in columns:
        column = table.schema[name]
        if column.generalized or column.kind == Kind.SET:
            without.append(name)
            continue
        if column.kind not in ORDERED:
            found = _two_valued(table[name], column)
            if found is None:
                without.append(name)
                continue
            coded[name] = found
        names.append(name)
    ordered = Matrix(table, [name for name in names if name not in coded])
    place = {name: j for j, name in enumerate(ordered.names)}
    x = np.empty((table.height, len(names)))
    for j, name in enumerate(names):
        x[:, j] = coded[name] if name in coded else ordered.numeric[:, place[name]]
    return Numbers(names, x, without)


def _two_valued(series: pl.Series, column: Column) -> np.ndarray | None:
    """0 and 1 for the two values of a column, in their order; None where there are more."""
    if column.kind == Kind.BOOLEAN:
        return floats(series, column)
    found = encode(series)
    if len(found.domain) > _PAIR:
        return None
    return np.where(found.codes == 0, np.nan, found.codes - 1.0)


def exchange(
    labels: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """For each record the row of its group whose value of `x` has the rank of its own `y`.

    Records that miss x, or are in no group, get -1. Equal masked numbers are ordered at random.

    >>> labels, x = np.array([0, 0, 0, 1]), np.array([5.0, 7.0, 6.0, 9.0])
    >>> exchange(labels, x, np.array([3.0, 1.0, 2.0, 0.0]), np.random.default_rng(0)).tolist()
    [1, 0, 2, 3]
    """
    rows = np.flatnonzero(~np.isnan(x) & (labels >= 0))
    group = labels[rows]
    source = np.full(labels.size, -1, dtype=np.int64)
    by_mask = np.lexsort((rng.random(rows.size), y[rows], group))
    by_value = np.lexsort((x[rows], group))
    source[rows[by_mask]] = rows[by_value]
    return source


def publish(
    table: Table,
    numbers: Numbers,
    y: np.ndarray,
    partition: Partition,
    domain: Domain,
    rng: np.random.Generator,
    gone: np.ndarray | None = None,
) -> Published:
    """The masked numbers as columns. Missing stays missing; records without a group are suppressed.

    `gone` are more cells to suppress. A value that goes back to its domain would come back as it
    was if no other record of its group had one: it is suppressed too, unless the record is alone.
    """
    labels = partition.labels
    made = Published()
    mapped, beyond, suppressed = [], {}, {}
    for j, name in enumerate(numbers.names):
        column, given = table.schema[name], table[name]
        hidden = (labels < 0) | (False if gone is None else gone[:, j])
        x = np.where(hidden, np.nan, numbers.x[:, j])
        # Published as values that occur in it: always where a column has no others.
        if domain == "original" or column.kind not in MEASURED:
            mapped.append(name)
            hidden = hidden | _lone(x, partition)
            source = pl.Series(exchange(labels, x, y[:, j], rng))
            source = source.zip_with(source >= 0, pl.Series([None], dtype=pl.Int64))
            series = given.gather(source.cast(pl.UInt32)).alias(name)
        else:
            masked = np.where(np.isnan(x), np.nan, y[:, j])
            series = from_floats(masked, column, given)
            if outside := _outside(numbers.x[:, j], masked):
                beyond[name] = outside
        if hidden.any():
            series = suppress(series, hidden, generalized=False)
            made.marks[name] = hidden | table.suppressed(name)
            suppressed[name] = int(hidden.sum())
        made.series.append(series)
        real = column.kind == Kind.INTEGER and not series.dtype.is_integer()
        made.columns.append(column.with_(kind=Kind.CONTINUOUS) if real else column)
    made.facts = {
        key: value
        for key, value in (
            ("values of the original domain", mapped),
            ("values beyond the original's range", beyond),
            ("suppressed cells", suppressed),
        )
        if value
    }
    telling = [name for name in mapped if _telling(table[name], table.schema[name])]
    if telling:
        made.warnings.append(
            f"{', '.join(telling)}: most values occur once and are published as they are, each in "
            "its own group: who knows one knows the group"
        )
    alone = int((partition.sizes == 1).sum())
    if alone and mapped:
        made.warnings.append(
            f"{alone:,} records are alone in their group: their values of {', '.join(mapped)} are "
            "published as they are; use larger groups"
        )
    return made


def _telling(series: pl.Series, column: Column) -> bool:
    """Whether most of a column's values occur once, so that each points to one record."""
    if column.kind not in MEASURED:
        return False
    present = series.drop_nulls()
    return 2 * int(present.is_unique().sum()) > len(present)


def _lone(x: np.ndarray, partition: Partition) -> np.ndarray:
    """Values that no other record of their group has, in groups of two records or more."""
    here = ~np.isnan(x) & (partition.labels >= 0)
    labels = np.where(here, partition.labels, 0)
    count = np.bincount(partition.labels[here], minlength=max(partition.groups, 1))
    sizes = partition.sizes if partition.groups else np.zeros(1, dtype=np.int64)
    found: np.ndarray = here & (count[labels] == 1) & (sizes[labels] > 1)
    return found


def _outside(x: np.ndarray, y: np.ndarray) -> int:
    present, drawn = x[~np.isnan(x)], y[~np.isnan(y)]
    if not present.size:
        return 0
    return int(((drawn < present.min()) | (drawn > present.max())).sum())
