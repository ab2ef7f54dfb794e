"""The attack on microaggregation of each column by itself."""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar

import numpy as np

from ..data.linkage.linked import Known, Numbers, touched
from ..data.linkage.rank_swapped import equal_codes
from ..data.schema import Kind
from ..errors import MeasureError
from ..kernels.neighbours.rank_windows import (
    Windows,
    gather,
    neighbour_windows,
    rank_windows,
    sort_column,
)
from ..protocols import Context
from .intersecting import intersect
from .linking import Found, LinkingAttack, People, Targets

METHOD = "individual-ranking"
_ROUNDING = 1e-9
"""Means of equal numbers may differ from them by this part of the largest."""


class IndividualRankingAttack(LinkingAttack):
    """Link records after univariate microaggregation by the two nearest centroids.

    Groups are runs of consecutive values, whatever their sizes and however they were chosen. A
    value lies within its group's range and so does the group's centroid, hence a target's centroid
    is the nearest one below its value or the nearest one above, and no other; where values were
    rounded to whole numbers, one that is within one half on either side does not count as below or
    above. The records that have one of these centroids in every known column are left, and the
    nearest of them is taken (`detail["naive"]` is the nearest of all). `detail["known"]` is the
    share of targets with a single record left, whom the intruder knows to have found if he knows
    that they are in the data; `detail["control"]` is the share of non-participants who leave a
    single record, who can be more than that, since a stranger need not leave any other.

    A column that no published step touched, categories among them, must be equal; one that a step
    other than individual-ranking changed counts in the distance alone. Without published steps
    every known column of numbers is taken to have been microaggregated, and categories count in
    the distance.
    """

    name: ClassVar[str] = "individual-ranking-attack"
    paper: ClassVar[str] = (
        "Nin & Torra (2009), Analysis of the univariate microaggregation disclosure risk, "
        "New Generation Computing 27(3)"
    )

    def attack(self, targets: Targets, context: Context) -> Found:
        file = targets.file
        grouped, loose = _grouped(file, context)
        return intersect(targets, lambda people: _windows(file, people, grouped, loose), loose)


def _grouped(file: Known, context: Context) -> tuple[set[str], dict[str, str]]:
    """The known columns that were microaggregated one by one, and why others have no limit."""
    steps = touched(context.mechanism, context.pair.original)
    if not context.mechanism:
        reason = "is not known to have been left alone"
        loose = dict.fromkeys(file.categories.names, reason)
        grouped = set(file.numbers.names)
    else:
        if not any(step.name == METHOD for step in context.mechanism):
            raise MeasureError(
                f"no step of the release is {METHOD}: its groups are not runs of one column",
                remedy="attack releases whose columns were microaggregated one by one",
            )
        loose, grouped = {}, set()
        for name in file.names:
            others = [step for step in steps.get(name, []) if step != METHOD]
            if others:
                loose[name] = f"was changed by {others[0]} too"
            elif name in steps and name in file.numbers.names:
                grouped.add(name)
            elif name in steps:
                loose[name] = "has no numbers in both tables"
    if not grouped:
        raise MeasureError(
            f"no known column was masked by {METHOD} alone",
            remedy="name other columns in `columns`",
        )
    return grouped, loose


def _windows(
    file: Known, people: People, grouped: Container[str], loose: Container[str]
) -> Windows:
    """Per column the records whose centroid is the nearest below a value, or above; or the records
    that are equal where nothing was changed."""
    numbers = file.numbers
    columns, runs = [], []
    for j, name in enumerate(numbers.names):
        if name in loose:
            continue
        column = sort_column(numbers.masked[:, j], numbers.hidden[:, j])
        x = people.x[:, j]
        columns.append(column)
        if name in grouped:
            runs.append(neighbour_windows(x, column, _slack(numbers, name, j)))
        else:
            runs.append(rank_windows(x, column, 0))
    for j, name in enumerate(file.categories.names):
        if name not in loose:
            column, run = equal_codes(file.categories, j, people.codes[:, j])
            columns.append(column)
            runs.append(run)
    return gather(columns, runs)


def _slack(numbers: Numbers, name: str, j: int) -> float:
    """How far a published centroid may lie from the mean of its group."""
    masked = numbers.pair.masked
    rounded = masked.schema[name].kind == Kind.DATE or masked[name].dtype.is_integer()
    half = 0.5 if rounded else 0.0
    largest = float(np.nanmax(np.abs(numbers.masked[:, j]), initial=0.0))
    return half + _ROUNDING * largest
