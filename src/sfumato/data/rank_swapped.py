"""What rank swapping gives away to whoever knows p: how far each column's values can have gone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MeasureError
from ..kernels.rank_windows import Survivors, Windows, gather, rank_windows, sort_column, survivors
from .linked import TOLERANCE, Numbers, acted_on

if TYPE_CHECKING:
    from ..protocols import Method, Partitioner
    from .table import Table

RANK_SWAP = "rank-swap"


def reaches(
    mechanism: Iterable[Method | Partitioner],
    original: Table,
    names: Sequence[str],
    *,
    p: float | None = None,
    count: int = 0,
) -> tuple[dict[str, int], dict[str, str]]:
    """How many ranks each column's values can have moved, and why other columns are left out.

    `p` (percent of the records that have a value, rounded up) or `count` is taken for every column
    where one is given. Else the published steps say so: swaps add up, a column that no step touches
    keeps its values, and one that another method changed as well has no known limit.
    """
    if p is not None or count:
        return {name: count or _ranks(p or 0.0, _present(original, name)) for name in names}, {}
    steps = list(mechanism)
    if not any(step.name == RANK_SWAP for step in steps):
        raise MeasureError(
            "no step of the release is a rank-swap: how far ranks may differ is not known",
            remedy="give p (percent of the records) or count (ranks)",
        )
    found, left = dict.fromkeys(names, 0), {}
    for step in steps:
        for name in acted_on(step, original):
            if name not in found:
                continue
            if step.name == RANK_SWAP:
                found[name] += _reach(step, _present(original, name))
            else:
                left[name] = f"was changed by {step.name} too"
    found = {name: reach for name, reach in found.items() if name not in left}
    if not found:
        raise MeasureError(
            "no known column was masked by rank-swap alone",
            remedy="give p (percent of the records) or count (ranks)",
        )
    return found, left


def _present(original: Table, name: str) -> int:
    return original.height - int(original[name].null_count())


def _reach(step: Any, present: int) -> int:
    return int(step.reach(present))


def _ranks(p: float, present: int) -> int:
    """p percent of the ranks. Files of other tools may have been rounded either way: upwards leaves
    no true record out."""
    return max(1, math.ceil(p / 100 * present - 1e-9))


def windows_of(numbers: Numbers, x: np.ndarray, reach: Mapping[str, int]) -> Windows:
    """The masked records that each row of x can have become, column by column."""
    columns, runs = [], []
    for j, name in enumerate(numbers.names):
        column = sort_column(numbers.masked[:, j], numbers.hidden[:, j])
        columns.append(column)
        runs.append(rank_windows(x[:, j], column, reach[name]))
    return gather(columns, runs)


def survivors_of(
    numbers: Numbers, x: np.ndarray, own: np.ndarray, reach: Mapping[str, int]
) -> Survivors:
    """What is left of the masked file for each row of x, and the nearest of it."""
    windows = windows_of(numbers, x, reach)
    return survivors(windows, numbers.known(x), numbers.published, own, tolerance=TOLERANCE)
