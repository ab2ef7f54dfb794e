"""What microaggregation publishes: one value for the whole group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, decode, encode, floats, from_floats
from ...data.partition import Cover, Partition, disjoint
from ...data.points.space import space_of
from ...data.schema import NUMERIC, ORDERED, Kind, Role
from ...data.table import Table
from ...errors import MethodError
from ...kernels.groups import group_means, group_medians, group_modes
from ...protocols import Outcome, Verb
from ..suppression.local import suppress

_OWN_VALUES = (
    "each group is represented by one member's own values: whoever knows them sees that this "
    "person took part, and in which group; the group's records are still alike"
)


class Centroid(Verb):
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

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        partition = disjoint(partition, self.name)
        labels = partition.labels
        series, changed, marks = [], [], {}
        facts: dict[str, Any] = {"groups": partition.groups, "smallest group": partition.smallest}
        members: np.ndarray | None = None
        warnings: tuple[str, ...] = ()
        if self.represented != "centre":
            _check_roles(table, columns)
            members = _members(table, partition, columns, self.represented, rng)
            warnings = (_OWN_VALUES,)
        for name in columns:
            column = table.schema[name]
            if members is None:
                made = self._column(table, name, partition)
            else:
                made = table[name].gather(np.where(labels >= 0, members[labels], 0))
            if members is None and self._plain(table, name):
                facts.setdefault("plain mean", []).append(name)
            mixed = _mixed(table[name].is_null().to_numpy(), table.suppressed(name), partition)
            gone = (mixed[labels] & (labels >= 0)) | (labels < 0)
            if gone.any():
                made = suppress(made, gone, column.generalized)
                marks[name] = gone | table.suppressed(name)
                facts.setdefault("suppressed cells", {})[name] = int(gone.sum())
            series.append(made)
            whole = column.kind != Kind.INTEGER or made.dtype.is_integer()
            changed.append(column if whole else column.with_(kind=Kind.CONTINUOUS))
        made_table = table.with_columns(series, changed, marks)
        return Outcome(made_table, partition=partition, facts=facts, warnings=warnings)

    def _plain(self, table: Table, name: str) -> bool:
        """Whether a number takes the plain mean although the geometric one was asked for."""
        column = table.schema[name]
        number = column.kind in NUMERIC and not column.generalized
        return self.numeric == "geometric" and number and not _positive(table[name])

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
            if self.numeric == "geometric" and column.kind in NUMERIC and _positive(given):
                # As parts of the plain mean, so that equal values keep theirs to the last bit.
                logs = np.log(numbers / _spread(centre, labels, 1.0))
                centre = centre * np.exp(group_means(labels, logs, partition.groups))
        return from_floats(_spread(centre, labels, np.nan), column, given, whole=self.whole)


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


def _positive(series: pl.Series) -> bool:
    """Whether all numbers have a logarithm, missing ones aside."""
    return bool((series > 0).all())


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
