"""The attack on microaggregation of each column by itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..data.linked import Numbers, acted_on
from ..data.schema import Kind
from ..errors import MeasureError
from ..kernels.rank_windows import Windows, gather, neighbour_windows, sort_column
from ..protocols import Context
from .intersecting import intersect
from .linking import Found, LinkingAttack, Targets

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

    Columns that a step other than individual-ranking changed are left out. Without published steps
    every known column is taken to have been microaggregated.
    """

    name: ClassVar[str] = "individual-ranking-attack"
    paper: ClassVar[str] = (
        "Nin & Torra (2009), Analysis of the univariate microaggregation disclosure risk, "
        "New Generation Computing 27(3)"
    )

    def attack(self, targets: Targets, left_out: dict[str, str], context: Context) -> Found:
        names = self._usable(targets.numbers, left_out, context)
        targets = targets.only(names)
        windows = _windows(targets.numbers, targets.known)
        strangers = None
        if targets.strangers is not None:
            strangers = _windows(targets.numbers, targets.strangers)
        return intersect(targets, windows, strangers)

    def _usable(self, numbers: Numbers, left_out: dict[str, str], context: Context) -> list[str]:
        if not context.mechanism:
            return list(numbers.names)
        if not any(step.name == METHOD for step in context.mechanism):
            raise MeasureError(
                f"no step of the release is {METHOD}: its groups are not runs of one column",
                remedy="attack releases whose columns were microaggregated one by one",
            )
        for step in context.mechanism:
            if step.name == METHOD:
                continue
            changed = set(acted_on(step, context.pair.original)) & set(numbers.names)
            left_out |= dict.fromkeys(sorted(changed), f"was changed by {step.name} too")
        names = [name for name in numbers.names if name not in left_out]
        if not names:
            raise MeasureError(
                f"no known column was masked by {METHOD} alone",
                remedy="name other columns in `columns`",
            )
        return names


def _windows(numbers: Numbers, x: np.ndarray) -> Windows:
    """Per column the records whose centroid is the nearest below a value, or above."""
    columns, runs = [], []
    for j, name in enumerate(numbers.names):
        column = sort_column(numbers.masked[:, j], numbers.hidden[:, j])
        columns.append(column)
        runs.append(neighbour_windows(x[:, j], column, _slack(numbers, name, j)))
    return gather(columns, runs)


def _slack(numbers: Numbers, name: str, j: int) -> float:
    """How far a published centroid may lie from the mean of its group."""
    masked = numbers.pair.masked
    rounded = masked.schema[name].kind == Kind.DATE or masked[name].dtype.is_integer()
    half = 0.5 if rounded else 0.0
    largest = float(np.nanmax(np.abs(numbers.masked[:, j]), initial=0.0))
    return half + _ROUNDING * largest
