"""Models of a table by its columns' distributions and their rank correlations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from ...data.schema import Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.rank_correlation import (
    completed,
    known_pairs,
    latent_correlation,
    nearest_correlation,
    rank_correlation,
)
from ...protocols import Outcome
from .drawn import Synthesizer, refuse, whole_table
from .marginals import Marginal, marginals_of, telling

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

    kinds: ClassVar[tuple[str, ...]] = (
        Kind.CONTINUOUS,
        Kind.INTEGER,
        Kind.ORDINAL,
        Kind.NOMINAL,
        Kind.BOOLEAN,
        Kind.DATE,
    )

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
                absent = inverse_of_indicator(drawn.u[:, at], model.numbers[:, at])
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


def inverse_of_indicator(u: np.ndarray, indicator: np.ndarray) -> np.ndarray:
    """Where a column of zeros and ones is one: the upper end, as large as its share of ones."""
    return np.asarray(u > 1.0 - indicator.mean())
