"""What microaggregation publishes: one value for the whole group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, decode, encode, floats, from_floats
from ...data.partition import Cover, Partition, disjoint
from ...data.points.space import space_of
from ...data.schema import NUMERIC, ORDERED, Column, Kind, Role, Schema
from ...data.table import Table
from ...engines.blockwise import GroupVerb, cells_tally, cells_told, sizes_tally, sizes_told
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Told
from ...errors import MethodError
from ...kernels.groups import group_means, group_medians, group_modes
from ..suppression.cells import suppress

_OWN_VALUES = (
    "each group is represented by one member's own values: whoever knows them sees that this "
    "person took part, and in which group; the group's records are still alike"
)


class Centroid(GroupVerb):
    """Replace each value by its group's mean, median or mode.

    Numbers and dates take the mean (or median), ordinals the median, categories the mode (ties
    to the first in order). The geometric mean is that of the logarithms, for numbers that are all
    above zero; dates keep the plain mean, as do other numbers, which the facts name. The mean of
    whole numbers need not be whole; `whole` rounds it. Where some of a group miss a value and
    others do not, the whole group's cells are suppressed, else those who miss it would stand apart.

    `represented` publishes one member's values for the whole group instead, of the member nearest
    to the group's centre (standardized numbers, categories by how many of the group have them) or
    of one drawn at random: combinations that exist, and no decimals that nobody has. All k records
    of the group are alike, as ever; but the values are somebody's own, so that whoever knows them
    sees that this person took part, and where. It is therefore for quasi-identifiers alone: with a
    confidential value in it a member's record would be published as it is.
    """

    name: ClassVar[str] = "centroid"
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = (
        "Torra 2004, Microaggregation for categorical variables: a median based approach"
    )

    numeric: Literal["mean", "geometric", "median"] = Field(
        "mean",
        description="what replaces numbers and dates: the mean, the mean of logarithms for "
        "numbers above zero, or the median",
    )
    whole: bool = Field(False, description="round integer columns to whole numbers")
    represented: Literal["centre", "nearest", "drawn"] = Field(
        "centre",
        description="what stands for a group: each column's centre, or one of its records as a "
        "whole, the nearest to the centre or one drawn at random (quasi-identifiers only)",
    )

    @property
    def random(self) -> bool:
        return self.represented == "drawn"

    def local_only(self) -> str:
        if self.represented == "centre":
            return ""
        return f'represented = "{self.represented}" compares or draws members of all groups'

    def publish(
        self,
        part: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Part:
        partition = disjoint(partition, self.name)
        labels = partition.labels
        series, changed, marks, tally = [], [], {}, sizes_tally(partition)
        members: np.ndarray | None = None
        if self.represented != "centre":
            _check_roles(part, columns)
            members = _members(part, partition, columns, self.represented, rng)
        for name in columns:
            column = part.schema[name]
            if members is None:
                made = self._column(part, name, partition)
            else:
                made = part[name].gather(np.where(labels >= 0, members[labels], 0))
            if members is None and self._plain(part, name):
                tally = tally.plus(cells_tally("plain mean", {name: 1}))
            mixed = _mixed(part[name].is_null().to_numpy(), part.suppressed(name), partition)
            gone = (mixed[labels] & (labels >= 0)) | (labels < 0) if labels.size else labels > 0
            if gone.any():
                made = suppress(made, gone, column.generalized)
                marks[name] = gone | part.suppressed(name)
                tally = tally.plus(cells_tally("suppressed cells", {name: int(gone.sum())}))
            if column.kind == Kind.INTEGER and made.dtype.is_float():
                column = column.with_(kind=Kind.CONTINUOUS)
                parts = int((made % 1 != 0).fill_null(False).sum())
                tally = tally.plus(cells_tally("fractions", {name: parts}))
            series.append(made)
            changed.append(column)
        return Part(part.with_columns(series, changed, marks), tally=tally)

    def settled(self, made: Relation, before: Table, tally: Tally) -> Relation:
        found = cells_told("fractions", before.names, tally)
        # Integers stay integers where all means are whole.
        whole = {name: before[name].dtype for name, parts in found.items() if not parts}
        if not whole:
            return made
        columns = {name: before.schema[name] for name in whole}
        return made.map_parts(partial(_as_integers, whole, columns))[0]

    def told(self, schema: Schema, columns: Sequence[str], tally: Tally) -> Told:
        facts = sizes_told(tally)
        if plain := cells_told("plain mean", columns, tally):
            facts["plain mean"] = list(plain)
        if cells := cells_told("suppressed cells", columns, tally):
            facts["suppressed cells"] = cells
        return Told(facts, warnings=() if self.represented == "centre" else (_OWN_VALUES,))

    def _plain(self, table: Table, name: str) -> bool:
        """Whether a number takes the plain mean although the geometric one was asked for."""
        column = table.schema[name]
        number = column.kind in NUMERIC and not column.generalized
        return self.numeric == "geometric" and number and not _positive(table, name)

    def _column(self, table: Table, name: str, partition: Partition) -> pl.Series:
        column, given = table.schema[name], table[name]
        labels = partition.labels
        if column.generalized or column.kind not in ORDERED:
            found = encode(given)
            modes = group_modes(labels, found.codes, partition.groups)
            return decode(_spread(modes, labels, 0), found.domain, name)
        numbers = floats(given, column)
        if column.kind == Kind.ORDINAL or self.numeric == "median":
            lower = column.kind in (Kind.ORDINAL, Kind.DATE)
            centre = group_medians(labels, numbers, partition.groups, lower=lower)
        else:
            centre = group_means(labels, numbers, partition.groups)
            if self.numeric == "geometric" and column.kind in NUMERIC and _positive(table, name):
                # As parts of the plain mean, so that equal values keep theirs to the last bit.
                logs = np.log(numbers / _spread(centre, labels, 1.0))
                centre = centre * np.exp(group_means(labels, logs, partition.groups))
        values = _spread(centre, labels, np.nan)
        if column.kind == Kind.INTEGER and not self.whole:
            return pl.Series(name, values, nan_to_null=True)
        return from_floats(values, column, given, whole=self.whole)


def _as_integers(
    types: Mapping[str, pl.DataType], columns: Mapping[str, Column], part: Table, _: np.ndarray
) -> Part:
    """Columns of whole numbers as the integers that they were."""
    made = [
        part[name].cast(dtype if dtype.is_integer() else pl.Int64) for name, dtype in types.items()
    ]
    return Part(part.with_columns(made, columns.values()))


def _check_roles(table: Table, columns: Sequence[str]) -> None:
    for name in columns:
        if (role := table.schema[name].role) != Role.QUASI:
            raise MethodError(
                f"column {name!r} is {role}, and a group can be represented by a member's own "
                "values of quasi-identifiers only: with others a person's record would be "
                "published as it is",
                remedy='leave it out of the step\'s columns, or represented = "centre"',
            )


def _members(
    table: Table,
    partition: Partition,
    columns: Sequence[str],
    which: Literal["nearest", "drawn"],
    rng: np.random.Generator,
) -> np.ndarray:
    """int64 (groups,): the row of the member that stands for each group."""
    inside = np.flatnonzero(partition.labels >= 0)
    if which == "drawn":
        order = rng.permutation(inside)
        keys = np.zeros(order.size)
    else:
        order = inside
        keys = _from_centre(table, partition, columns)[inside]
    by_group = np.lexsort((keys, partition.labels[order]))
    _, first = np.unique(partition.labels[order][by_group], return_index=True)
    return order[by_group][first]


def _from_centre(table: Table, partition: Partition, columns: Sequence[str]) -> np.ndarray:
    """float64 (n,): squared distance from the group's centre, but for what a group has in common.

    A category is a corner of a simplex: the more of the group have it, the nearer it is.
    """
    space = space_of(Matrix(table, columns))
    labels = partition.labels
    away = np.zeros(labels.size)
    for numbers in space.numbers.T:
        centre = group_means(labels, numbers, partition.groups)
        away += (numbers - _spread(centre, labels, 0.0)) ** 2
    for codes, weight in zip(space.codes.T, space.code_weights, strict=True):
        kind = labels * (int(codes.max(initial=0)) + 1) + codes
        _, place, count = np.unique(kind, return_inverse=True, return_counts=True)
        away -= weight * count[place] / partition.sizes[np.maximum(labels, 0)]
    return away


def _positive(table: Table, name: str) -> bool:
    """Whether all numbers have a logarithm, missing ones aside."""
    whole = table.schema[name].whole
    return bool(((table[name] if whole is None else whole.values) > 0).all())


def _spread(by_group: np.ndarray, labels: np.ndarray, suppressed: float) -> np.ndarray:
    """Group values to records; suppressed records get the given filler."""
    if not by_group.size:
        return np.full(labels.size, suppressed)
    return np.where(labels >= 0, by_group[labels], suppressed)


def _mixed(missing: np.ndarray, suppressed: np.ndarray, partition: Partition) -> np.ndarray:
    """Which groups hold both missing and present values, or a value that was suppressed before."""
    inside = partition.labels >= 0
    labels, groups = partition.labels[inside], partition.groups
    count = np.bincount(labels, weights=missing[inside], minlength=groups)
    marks = np.bincount(labels, weights=suppressed[inside], minlength=groups)
    return ((count > 0) & (count < partition.sizes)) | (marks > 0)
