"""The models that multiple imputation draws from: one column, given others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from ...data.codec import Codes, decode, encode, from_floats
from ...data.points.design import Design, is_number, predictor
from ...data.schema import Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.synthesis.dichotomies import Leaf, Question, along_predictors, draw_tree, fit_tree
from ...kernels.synthesis.donors import Donors
from ...kernels.synthesis.regression import Linear, fit_linear
from ..numeric.base import widened

Values = dict[str, np.ndarray]
"""Columns as predictors take them (data/points/design.py)."""

LEAST = 20
"""Records below which a category's odds are not modelled."""
_MOST_QUESTIONS = 200


class Drawn(NamedTuple):
    """A column of one release, and its values as a predictor of the columns after it."""

    series: pl.Series
    column: Column
    values: np.ndarray


@dataclass(frozen=True)
class Task:
    """What a model is fitted to: the records with a value, and those to draw for."""

    table: Table
    name: str
    design: Design
    original: Values
    fitted: np.ndarray
    asked: np.ndarray

    @property
    def column(self) -> Column:
        """The column to draw."""
        return self.table.schema[self.name]

    @property
    def series(self) -> pl.Series:
        """Its original values."""
        return self.table[self.name]


@dataclass(frozen=True)
class NumberModel:
    """A linear regression, and either normal errors or the values of donors."""

    task: Task
    fit: Linear
    centre: float
    scale: float
    donors: int
    """0 for normal errors."""
    whole: bool

    @classmethod
    def of(cls, task: Task, *, donors: int, whole: bool) -> NumberModel:
        """Fitted to the original."""
        y = task.original[task.name]
        scaling = predictor(task.table, task.name, y)
        # In units in which its squares can be summed.
        centre, scale = scaling.centre * scaling.unit, scaling.scale * scaling.unit

        def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
            for part, x in task.design.blocks(task.original, task.fitted):
                yield x, y[task.fitted[part]] / scale - centre / scale

        fit = fit_linear(blocks, task.design.width)
        if fit.freedom < 1:
            raise MethodError(
                f"{task.fitted.size:,} records with a value of {task.name!r} cannot be modelled by "
                f"{task.design.width:,} coefficients",
                remedy="name fewer columns in `given`",
            )
        return cls(task, fit, centre, scale, donors, whole)

    @property
    def unexplained(self) -> float:
        """The share of the variance that the predictors leave; 1 for a constant."""
        return self.fit.rss / self.fit.total if self.fit.total > 0 else 1.0

    def draw(self, values: Values, rng: np.random.Generator) -> Drawn:
        """New values for the records asked for, given the release's values so far."""
        task = self.task
        coefficients, spread = self.fit.draw(rng)
        mean = task.design.times(values, task.asked, coefficients)
        if self.donors:
            made = self._from_donors(mean, rng)
        else:
            error = spread * rng.standard_normal(mean.size)
            with np.errstate(over="ignore"):
                made = self.centre + self.scale * (mean + error)
        if not np.isfinite(made).all():
            raise MethodError(
                f"values drawn for column {task.name!r} are too large to be numbers",
                remedy="rescale the column",
            )
        if (task.column.kind == Kind.INTEGER and self.whole) or task.series.dtype == pl.Date:
            made = np.rint(made)
        out = task.original[task.name].copy()
        out[task.asked] = made
        series = from_floats(out, task.column, task.series, whole=self.whole)
        return Drawn(series, widened(task.column, series), out)

    def _from_donors(self, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        task = self.task
        own = np.full(task.table.height, -1, dtype=np.int64)
        own[task.fitted] = np.arange(task.fitted.size)
        found = self._pool.draw(mean, own[task.asked], self.donors, rng.random(mean.size))
        result: np.ndarray = task.original[task.name][task.fitted[found]]
        return result

    @cached_property
    def _pool(self) -> Donors:
        """The records with a value, by their means at the estimated coefficients."""
        task = self.task
        return Donors(task.design.times(task.original, task.fitted, self.fit.coefficients))


@dataclass(frozen=True)
class CategoryModel:
    """Nested logistic regressions."""

    task: Task
    tree: Leaf | Question
    codes: Codes

    @classmethod
    def of(cls, task: Task) -> CategoryModel:
        """Fitted to the original."""
        codes = encode(task.series)
        seen = codes.codes.astype(np.int64)[task.fitted]

        def make(rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
            return task.design.blocks(task.original, task.fitted[rows])

        ordered = task.column.kind == Kind.ORDINAL and not task.column.generalized
        width = task.design.width
        order = np.unique(seen) if ordered else along_predictors(seen, make, width)
        least = max(LEAST, seen.size // _MOST_QUESTIONS)
        return cls(task, fit_tree(seen, order, make, width, least), codes)

    def draw(self, values: Values, rng: np.random.Generator) -> Drawn:
        """New values for the records asked for, given the release's values so far."""
        task = self.task
        blocks = task.design.blocks(values, task.asked)
        made = draw_tree(self.tree, blocks, task.asked.size, rng)
        out = self.codes.codes.astype(np.int64)
        out[task.asked] = made
        series = decode(out, self.codes.domain, task.name)
        return Drawn(series, task.column, self._as_predictor(out))

    def _as_predictor(self, codes: np.ndarray) -> np.ndarray:
        """Codes, but an ordinal predicts by the rank of its category."""
        if not is_number(self.task.column):
            return codes
        ranks = self.codes.domain.to_physical().to_numpy().astype(np.float64)
        found: np.ndarray = np.concatenate(([np.nan], ranks))[codes]
        return found
