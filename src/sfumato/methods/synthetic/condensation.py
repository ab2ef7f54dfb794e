"""Condensation: each group drawn anew along its principal components."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...errors import MethodError
from ...kernels.statistics.covariance import moments
from ...kernels.synthesis.condensation import condense
from ...kernels.synthesis.frames import strata_of
from ..verbs.base import DrawingVerb, Drawn, Numbers, PublishedDomain, alike_blocks

_LARGEST = 1e150
"""Beyond this the square of a number is no number."""


class Condensation(DrawingVerb):
    """Replace each group by uniform draws along its principal components.

    Of a group only the mean vector and the covariance matrix are used. Its records are drawn along
    the eigenvectors, independently and uniformly, with the eigenvalues as variances.

    With `centre` the draws of a group are moved to its mean: group means are exact, and the
    covariance matrix of each group and of the whole table is the original's in expectation. Without
    it the draws are independent, as printed, with the covariance by the divisor n: a group's mean
    is kept in expectation, and the covariance of the whole but for the n-th part of what lies
    within the groups; a group's own sample covariance is then too small by 1/n of it.

    In groups with no more records than columns, or where columns depend on one another, draws stay
    in the plane of the original records; a record alone stays as it is. `facts` counts such groups
    and warnings name them. Records of a group that miss the same values are a group of their own; a
    record alone in that is suppressed. Integers, dates, ordinals, booleans and categories are
    published as by `micro-perturbation`.
    """

    name: ClassVar[str] = "condensation"
    paper: ClassVar[str] = (
        "Aggarwal & Yu 2004, A condensation approach to privacy preserving data mining, EDBT"
    )

    centre: bool = Field(
        True, description="exact means in each group; false: independent draws, as printed"
    )
    domain: PublishedDomain = "statistics"

    def draw(self, numbers: Numbers, groups: Partition, rng: np.random.Generator) -> Drawn:
        """Numbers drawn from each group's moments."""
        return condensed(numbers.x, groups, rng, centre=self.centre)


def condensed(
    x: np.ndarray, partition: Partition, rng: np.random.Generator, *, centre: bool
) -> Drawn:
    """New numbers drawn from each group's moments."""
    y = np.full(x.shape, np.nan)
    gone = np.zeros(x.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = _scale(x)
    made = flat = alone = 0
    for block, present in alike_blocks(strata_of(np.isnan(x)), partition, 2, gone):
        alone += len(block) if block.shape[1] == 1 else 0
        cells = np.ix_(block.reshape(-1), present)
        _check(x[cells])
        shape = (*block.shape, present.size)
        found = condense(x[cells].reshape(shape), scale[present], rng, centre=centre)
        y[cells] = found.y.reshape(-1, present.size)
        made += len(block)
        flat += int((found.ranks < present.size).sum())
    facts: dict[str, Any] = {
        "draws": "recentred in each group" if centre else "independent",
        "numeric columns": x.shape[1],
        "groups with a singular covariance": flat,
    }
    if np.isnan(x).any():
        facts["groups by what they miss"] = made
    if lost := int(gone.any(axis=1).sum()):
        facts["records suppressed where no other of a group misses the same"] = lost
    return Drawn(y, facts, _warnings(made, flat, alone), gone)


def _check(x: np.ndarray) -> None:
    if x.size and float(np.abs(x).max()) > _LARGEST:
        raise MethodError(
            f"condensation cannot square numbers as large as {float(np.abs(x).max()):.3g}",
            remedy="rescale the column",
        )


def _warnings(made: int, flat: int, alone: int) -> tuple[str, ...]:
    found = []
    if flat > alone:
        found.append(
            f"{flat:,} of {made:,} groups have a singular covariance: their draws stay in the "
            "plane of the original records"
        )
    if alone:
        found.append(
            f"{alone:,} records are alone in their group, which leaves their numbers as they are; "
            "use larger groups"
        )
    return tuple(found)


def _scale(x: np.ndarray) -> np.ndarray:
    """Deviations by column, so that large columns take no digits from small ones."""
    spread = np.sqrt(np.diag(moments(x)[1])) if len(x) else np.zeros(x.shape[1])
    return np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
