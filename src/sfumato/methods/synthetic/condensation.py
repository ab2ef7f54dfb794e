"""Condensation: each group drawn anew along its principal components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...errors import MethodError
from ...kernels.statistics.covariance import moments
from ...kernels.statistics.shrinkage import Shrunk, towards_pooled
from ...kernels.synthesis.condensation import condense, deviations_of, divisor_of
from ...kernels.synthesis.frames import strata_of
from ..verbs.base import DrawingVerb, Drawn, Numbers, PublishedDomain, alike_blocks

Covariance = Literal["small", "ledoit-wolf", "group"]

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

    The covariance of a group with no more records than columns is singular, and draws from it stay
    in the plane of the original records. With `covariance = "small"` those of such groups are drawn
    towards the one that they have in common, as far as Ledoit & Wolf say: the same share for
    all of them, so that the whole still keeps its covariance. With "ledoit-wolf" this is done in
    all groups, with "group" in none, as printed. Where columns depend on one another, draws stay in
    a plane all the same; a record alone stays as it is. `facts` counts such groups and warnings
    name them. Records of a group that miss the same values are a group of their own; a
    record alone in that is suppressed. Integers, dates, ordinals, booleans and categories are
    published as by `micro-perturbation`.
    """

    name: ClassVar[str] = "condensation"
    paper: ClassVar[str] = (
        "Aggarwal & Yu 2004, A condensation approach to privacy preserving data mining, EDBT; "
        "Ledoit & Wolf 2003, Improved estimation of the covariance matrix of stock returns"
    )

    centre: bool = Field(
        True, description="exact means in each group; false: independent draws, as printed"
    )
    covariance: Covariance = Field(
        "small",
        description="whose covariance is drawn towards that of all groups (Ledoit & Wolf): of "
        "groups with no more records than columns, of all (ledoit-wolf) or of none (group)",
    )
    domain: PublishedDomain = "statistics"

    def draw(self, numbers: Numbers, groups: Partition, rng: np.random.Generator) -> Drawn:
        """Numbers drawn from each group's moments."""
        return condensed(numbers.x, groups, rng, centre=self.centre, covariance=self.covariance)


def condensed(
    x: np.ndarray,
    partition: Partition,
    rng: np.random.Generator,
    *,
    centre: bool,
    covariance: Covariance = "small",
) -> Drawn:
    """New numbers drawn from each group's moments."""
    y = np.full(x.shape, np.nan)
    gone = np.zeros(x.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = _scale(x)
    made = flat = alone = 0
    listed = list(alike_blocks(strata_of(np.isnan(x)), partition, 2, gone))
    targets = _targets(x, scale, listed, centre, covariance)
    for block, present in listed:
        alone += len(block) if block.shape[1] == 1 else 0
        cells = np.ix_(block.reshape(-1), present)
        shape = (*block.shape, present.size)
        shrunk = targets.get(_columns(present)) if _is_shrunk(block, present, covariance) else None
        found = condense(x[cells].reshape(shape), scale[present], rng, centre=centre, shrunk=shrunk)
        y[cells] = found.y.reshape(-1, present.size)
        made += len(block)
        flat += int((found.ranks < present.size).sum())
    facts: dict[str, Any] = {
        "draws": "recentred in each group" if centre else "independent",
        "numeric columns": x.shape[1],
        "groups with a singular covariance": flat,
    }
    if targets:
        facts["share of the common covariance"] = [round(t.share, 2) for t in targets.values()]
    if np.isnan(x).any():
        facts["groups by what they miss"] = made
    if lost := int(gone.any(axis=1).sum()):
        facts["records suppressed where no other of a group misses the same"] = lost
    return Drawn(y, facts, _warnings(made, flat, alone), gone)


def _is_shrunk(block: np.ndarray, present: np.ndarray, covariance: Covariance) -> bool:
    """Whether the covariance of groups of this size is drawn to the common one."""
    if covariance == "group" or block.shape[1] < 2:
        return False
    return covariance == "ledoit-wolf" or bool(block.shape[1] <= present.size)


def _columns(present: np.ndarray) -> tuple[int, ...]:
    return tuple(present.tolist())


def _targets(
    x: np.ndarray,
    scale: np.ndarray,
    listed: Sequence[tuple[np.ndarray, np.ndarray]],
    centre: bool,
    covariance: Covariance,
) -> dict[tuple[int, ...], Shrunk]:
    """What the covariances are drawn to, for the groups that have the same columns."""
    parts: dict[tuple[int, ...], tuple[list[np.ndarray], list[float]]] = {}
    for block, present in listed:
        cells = x[np.ix_(block.reshape(-1), present)]
        _check(cells)
        if _is_shrunk(block, present, covariance):
            groups, divisors = parts.setdefault(_columns(present), ([], []))
            _, apart = deviations_of(cells.reshape(*block.shape, present.size), scale[present])
            groups.append(apart)
            divisors.append(divisor_of(block.shape[1], centre=centre))
    return {columns: towards_pooled(*part) for columns, part in parts.items()}


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
