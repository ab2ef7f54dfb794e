"""Synthetic records whose ranks go together as those of the originals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from ...candidate import Candidate
from ...data.schema import Column
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.covariance import normal_rows
from ...kernels.statistics.rank_correlation import (
    completed,
    known_pairs,
    latent_correlation,
    nearest_correlation,
    rank_correlation,
)
from ...kernels.statistics.rank_refinement import refined_ranks
from ...kernels.statistics.scores import normal_distribution
from ...kernels.statistics.tails import inverse
from ...protocols import Outcome
from ..numeric.base import SINGLE_VALUES, refuse
from .drawn import Marginal, Synthesizer, marginals_of, telling, whole_table

MOST_COLUMNS = 1_000
"""Columns and indicators of missing values that a matrix of correlations is made for."""
_MOST_COMPLETED = 200
"""Beyond this, correlations that cannot be seen are taken as zero, which takes no time."""


@dataclass(frozen=True, eq=False)
class RankModel:
    """What is drawn from: numbers by column, their rank correlations, and normal ones that give
    them. `numbers` ends with the indicators of missing values."""

    numbers: np.ndarray
    ranks: np.ndarray
    """NaN where none can be seen."""
    latent: np.ndarray
    changed: float
    """How much the normal correlations had to change to be those of any data."""


class Points(NamedTuple):
    """Where in its distribution each drawn value lies (0..1), and what is to be told."""

    u: np.ndarray
    facts: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


class RankSynthesizer(Synthesizer):
    """Draws points of the unit cube, and looks up the columns' distributions at them."""

    kinds: ClassVar[tuple[str, ...]] = SINGLE_VALUES

    smooth: bool = Field(
        True, description="numbers and dates between those that occur too, by straight lines"
    )
    tails: float = Field(
        0.02,
        ge=0,
        le=0.2,
        description="share of the values at either end that are drawn from a fitted tail "
        "instead, so that extremes are nobody's; 0: none (only where smooth)",
    )
    whole: bool = Field(True, description="round integer columns to whole numbers")

    @abstractmethod
    def points(self, model: RankModel, rows: int, rng: np.random.Generator) -> Points:
        """float64 (rows, columns of the model) in 0..1."""

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        rows = self.rows_of(table)
        marginals = marginals_of(table, chosen)
        gaps = [j for j, one in enumerate(marginals) if np.isnan(one.numbers).any()]
        model = self._model(marginals, gaps)
        drawn = self.points(model, rows, rng)
        series: list[pl.Series] = []
        columns: list[Column] = []
        for j, one in enumerate(marginals):
            values = one.values_at(drawn.u[:, j], smooth=self.smooth, tail=self.tails)
            refuse(self, np.isinf(values)[:, None], [chosen[j]])
            if j in gaps:
                at = len(marginals) + gaps.index(j)
                # The upper end of the indicator's range, as large as its share of ones.
                absent = drawn.u[:, at] > 1.0 - model.numbers[:, at].mean()
                values = np.where(absent, np.nan, values)
            made, column = one.published(values, whole=self.whole)
            series.append(made)
            columns.append(column)
        out, warnings = whole_table(table, rows, series, columns)
        facts: dict[str, Any] = {"columns": chosen, "records": rows, **drawn.facts}
        if gaps:
            facts["missing values drawn in"] = [chosen[j] for j in gaps]
        if model.changed > 0:
            facts["largest change to make the correlations possible"] = model.changed
        if names := telling(marginals):
            warnings.append(
                f"{', '.join(names)}: some categories are one record's alone and may be drawn as "
                "they are; recode them first"
            )
        return Outcome(out, facts=facts, warnings=(*drawn.warnings, *warnings), linked=False)

    def _model(self, marginals: list[Marginal], gaps: list[int]) -> RankModel:
        p = len(marginals)
        if p + len(gaps) > MOST_COLUMNS:
            raise MethodError(
                f"{self.name} cannot take {p + len(gaps):,} columns (missing values count as one "
                f"more each), at most {MOST_COLUMNS:,}",
                remedy="name fewer in `columns`",
            )
        numbers = np.column_stack(
            [one.numbers for one in marginals]
            + [np.isnan(marginals[j].numbers).astype(np.float64) for j in gaps]
        )
        ranks = rank_correlation(numbers)
        latent = latent_correlation(numbers, ranks)
        if gaps:
            known = known_pairs(numbers)
            ranks = np.where(known | np.eye(len(ranks), dtype=bool), ranks, np.nan)
            if len(ranks) <= _MOST_COMPLETED:
                latent = completed(latent, known)
        latent, changed = nearest_correlation(latent)
        return RankModel(numbers, ranks, latent, changed)


class LatinHypercube(RankSynthesizer):
    """Draw records by Latin hypercube sampling with refined rank correlations.

    The range of each column is cut into as many equally likely strata as there are rows, and every
    stratum is drawn from once, so that columns keep their distributions closer than by chance. The
    strata of the columns are matched by a random order that is given the original's rank
    correlations (Lasko 2.12, read as correlations of ranks), again and again while that brings them
    closer, until the largest gap is within `tolerance`. Ties are reckoned with: the gap is that of
    the values as they are published. Values come from the inverse empirical distributions (2.13).

    `within = "middle"` takes i / (m + 1) as printed. With as many rows as the original these are
    the original's own values, each exactly once: then it is a swap of values between records, and
    every extreme is published. "random" draws within each stratum.

    All kinds but sets and text take part, and missing values too, as for `gaussian-copula`.
    """

    name: ClassVar[str] = "latin-hypercube"
    aliases: ClassVar[tuple[str, ...]] = ("lhs",)
    paper: ClassVar[str] = (
        "Dandekar, Cohen & Kirkendall 2002, Sensitive micro data protection using Latin hypercube "
        "sampling technique; Iman & Conover 1982, A distribution-free approach to inducing rank "
        "correlation among input variables; Lasko 2007, 2.12-2.13"
    )

    within: Literal["random", "middle"] = Field(
        "random", description="where in its stratum a value lies; middle: i / (m + 1), as printed"
    )
    tolerance: float = Field(
        1e-3, gt=0, le=1, description="largest gap of a rank correlation to be content with"
    )
    rounds: int = Field(20, ge=0, le=200, description="most rounds of rank correlation refinement")

    def points(self, model: RankModel, rows: int, rng: np.random.Generator) -> Points:
        middles = np.arange(1.0, rows + 1) / (rows + 1)
        found = refined_ranks(
            model.latent,
            model.ranks,
            np.column_stack([_published_ranks(middles, column) for column in model.numbers.T]),
            rng,
            tolerance=self.tolerance,
            rounds=self.rounds,
        )
        facts: dict[str, Any] = {
            "largest gap of a rank correlation": found.gap,
            "rounds of refinement": found.rounds,
        }
        warnings: tuple[str, ...] = ()
        if found.gap > self.tolerance:
            warnings = (
                f"refinement ended with a rank correlation off by {found.gap:.2g}, more than "
                f"{self.tolerance:g}: with few rows, many ties or columns that determine one "
                "another no order comes closer",
            )
        if self.within == "middle":
            return Points((found.ranks + 1.0) / (rows + 1), facts, warnings)
        return Points((found.ranks + rng.random(found.ranks.shape)) / rows, facts, warnings)


def _published_ranks(middles: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The mean rank of what is looked up at each of the rising points, ties alike."""
    values = inverse(middles, numbers, interpolate=False)
    _, start, count = np.unique(values, return_index=True, return_counts=True)
    return np.repeat(start + (count - 1) / 2, count)


class GaussianCopula(RankSynthesizer):
    """Draw records that keep every column's distribution and the rank correlations.

    Each column is taken as a rising function of a standard normal variable (Lasko 2.14); rows are
    drawn from N(0, Q) and go back by the columns' inverse distribution functions (2.16 and 2.17,
    where the thesis prints the distribution function for its inverse). The means of the normal
    variables are zero by construction. For columns without ties Q = 2 sin(pi R/6) with Spearman's R
    (2.15). Ties weaken rank correlations; for columns that have them Q is the matrix that gives the
    original's R once more after the values have been looked up, found by Mehler's expansion. A Q
    that no data could have becomes the nearest correlation matrix, and the facts say by how much.

    All kinds but sets and text take part. A category with three values or more is one variable, its
    values in the order in which they differ most in the other columns: association beyond that one
    axis is lost, as is every interaction of higher order. Whether a value is missing is drawn too,
    by a variable of its own that keeps its rank correlations with the other columns; how it goes
    with the very value that is missing nobody can see, and is taken from the others (missing at
    random given them; in tables of more than 200 such variables, as if there were no such link).

    Rows stem from no single record, but values may: see `smooth` and `tails`.
    """

    name: ClassVar[str] = "gaussian-copula"
    aliases: ClassVar[tuple[str, ...]] = ("copula",)
    paper: ClassVar[str] = (
        "Clemen & Reilly 1999, Correlations and copulas for decision and risk analysis, "
        "Management Science 45(2); Lasko 2007, 2.14-2.17"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "synthesis",
        when="each column by itself and how columns rise and fall together are enough",
        unless="columns depend on each other otherwise, as by groups or thresholds",
        scopes=("all",),
        linked=False,
        million=(5.9, 1.1),
    )

    def points(self, model: RankModel, rows: int, rng: np.random.Generator) -> Points:
        return Points(normal_distribution(normal_rows(model.latent, rows, rng)))
