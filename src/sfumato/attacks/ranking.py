"""Attacks on columns masked one by one: a target's record must be possible in all of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, ClassVar

import numpy as np

from ..data.linkage.linked import TOLERANCE, Credit, Known, Numbers, touched
from ..data.linkage.rank_swapped import (
    KnownLimit,
    equal_codes,
    in_given_orders,
    reaches,
    windows_of,
)
from ..data.schema import Kind
from ..errors import MeasureError
from ..kernels.neighbours.rank_windows import (
    Survivors,
    Windows,
    gather,
    neighbour_windows,
    rank_windows,
    sort_column,
    survivors,
)
from ..protocols import Context, Measurement
from .linking import Found, LinkingAttack, People, Targets, plain_match


def intersect(
    targets: Targets, windows: Callable[[People], Windows], loose: Mapping[str, str]
) -> Found:
    """Link each target to the nearest record that is in the windows of all columns that have one.

    The distance is taken over all known columns; `loose` names those without a window, and why they
    have none. `detail` says how many targets have a single record left (`known`: the intruder knows
    that he is right, and `known_right` says how often he is), how many are left on average, and
    how many have none. The control is the share of strangers with a single record left, whom the
    intruder would wrongly be certain to have found.
    """
    numbers = targets.numbers
    # Both files in the same units: their deviations differ by what was masked, not by the people.
    placed = numbers.as_published(targets.known.x)
    found = _left(targets, targets.known, targets.own, windows, loose)
    naive = plain_match(targets, (placed, numbers.shown))
    single = found.remaining == 1
    detail: dict[str, Any] = {
        "columns": [name for name in targets.file.names if name not in loose],
        "known": float(single.mean()),
        "left": float(found.remaining.mean()),
        "none_left": int((found.remaining == 0).sum()),
    }
    if loose:
        detail["by_distance_alone"] = dict(loose)
    if single.any():
        detail["known_right"] = float((found.own_left & single).sum() / single.sum())
    control = None
    if targets.strangers is not None:
        nobody = np.full(len(targets.strangers.x), -1, dtype=np.int64)
        others = _left(targets, targets.strangers, nobody, windows, loose)
        control = float((others.remaining == 1).mean())
        detail["control_is"] = "share of non-participants with a single record left"
    return Found(Credit.of(found.own_tied, found.ties), naive, detail, control)


def _left(
    targets: Targets,
    people: People,
    own: np.ndarray,
    windows: Callable[[People], Windows],
    loose: Mapping[str, str],
) -> Survivors:
    # Categories that have a window are equal there.
    at = [j for j, name in enumerate(targets.categories.names) if name in loose]
    return survivors(
        windows(people),
        targets.numbers.as_published(people.x),
        targets.numbers.published,
        own,
        codes_a=people.codes[:, at],
        codes_b=targets.categories.masked[:, at],
        tolerance=TOLERANCE,
    )


class RankSwapAttack(KnownLimit, LinkingAttack):
    """Link records after rank swapping, knowing how far ranks can have moved.

    A target's record must lie within p ranks in every known column that was swapped, and be equal
    in every one that no step touched, categories among them; of those that do, the nearest is
    taken. Columns that another method changed count in the distance alone. The measure `rs-rl` is
    the same linkage without these; here it stands beside the nearest match of anybody who does not
    know p (`detail["naive"]`). `detail["known"]` is the share of targets with
    a single record left, whom the intruder knows to have found if he knows that they are in the
    data; `detail["control"]` is the share of non-participants who leave a single record, for whom
    that certainty would be wrong.
    """

    name: ClassVar[str] = "rank-swap-attack"
    paper: ClassVar[str] = (
        "Nin, Herranz & Torra (2008), Rethinking rank swapping to decrease disclosure risk, "
        "Data & Knowledge Engineering 64(1)"
    )
    example: ClassVar[dict[str, Any]] = {"p": 5.0}

    def measure(self, context: Context) -> Measurement:
        return super().measure(in_given_orders(context))

    def attack(self, targets: Targets, context: Context) -> Found:
        file = targets.file
        reach, loose = reaches(context.mechanism, file, p=self.p, count=self.count)
        found = intersect(
            targets,
            lambda people: windows_of(file.numbers, file.categories, people.x, people.codes, reach),
            loose,
        )
        ranks = {name: sum(ranks) for name, ranks in reach.items()}
        return Found(found.credit, found.naive, {**found.detail, "ranks": ranks}, found.control)


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
