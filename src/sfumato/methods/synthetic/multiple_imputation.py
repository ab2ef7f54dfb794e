"""Multiple imputation: m releases whose confidential values are drawn from a model of the data."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import encode
from ...data.points.design import PREDICTS, Design, is_number, predictor, values_of
from ...data.schema import MEASURED, Role
from ...data.table import Table
from ...errors import MethodError
from ...kernels.synthesis.dichotomies import shared_leaves
from ...progress import report
from ...protocols import Method, Outcome
from ._imputation_models import CategoryModel, NumberModel, Task, Values

_DETERMINED = 1e-9
"""Unexplained share of a column's variance below which the others determine it."""


class MultipleImputation(Method):
    """Publish m copies whose chosen columns are drawn from a model.

    The columns are drawn one after the other, each given the columns that are left as they are and
    those drawn before it: together a draw from their joint distribution. The models are fitted to
    the original and their parameters are drawn anew for every release, so that the spread between
    releases shows how uncertain they are. `sfumato.combine` puts the analyses of the m releases
    together; the fact "combine" says by which rule.

    - "regression": linear regression with normal errors; the error variance and the coefficients
      from their posterior under the prior 1/variance.
    - "predictive-mean-matching": the value of one of the `donors` other records whose predicted
      mean is nearest (type 1: donors at the estimated, recipients at drawn coefficients). Only
      values that occur come out, and the shape of the distribution is kept; slopes come out a
      little flat in samples of a few hundred, where the outermost records have donors on one side.

    Categories are drawn by nested logistic regressions either way. With rows = "rare" only the
    records whose combination of quasi-identifiers fewer than `k` share are replaced, and models
    are fitted to these records alone: what singles them out is part of what they are (Reiter 2003).
    """

    name: ClassVar[str] = "multiple-imputation"
    perturbs: ClassVar[bool | None] = True
    roles: ClassVar[tuple[str, ...]] = (Role.QUASI, Role.CONFIDENTIAL)
    kinds: ClassVar[tuple[str, ...]] = PREDICTS
    paper: ClassVar[str] = (
        "Rubin 1993, Statistical disclosure limitation; Raghunathan, Reiter & Rubin 2003, Multiple "
        "imputation for statistical disclosure limitation; Reiter 2003, Inference for partially "
        "synthetic public use microdata sets"
    )

    m: int = Field(5, ge=1, le=200, description="releases to make")
    way: Literal["regression", "predictive-mean-matching"] = Field(
        "regression", description="how numbers are drawn"
    )
    donors: int = Field(
        5, ge=1, le=1000, description="nearest records to draw a value from, in matching"
    )
    given: tuple[str, ...] = Field(
        (), description="columns to predict from; all suitable others unless given"
    )
    rows: Literal["all", "rare"] = Field(
        "all", description="records to replace: all, or those with a rare combination of quasi"
    )
    k: int = Field(2, ge=2, description="a combination is rare where fewer records share it")
    fill: bool = Field(False, description="draw missing values too, instead of leaving them")
    whole: bool = Field(True, description="round integer columns to whole numbers")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.fill and self.rows != "all":
            raise ValueError('fill draws for every record: use rows = "all"')
        twice = [name for name in self.given if name in self.columns]
        if twice:
            raise ValueError(f"{twice[0]!r} cannot both be drawn and be given")
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        given = self._given(table, chosen)
        at_risk = self._at_risk(table)
        if not at_risk.any():
            raise MethodError(
                f"{self.name} found no record to replace",
                remedy='use rows = "all"' if table.height else "use a table that has records",
            )
        warnings = [f"{name} was left alone: it cannot be modelled" for name in left]
        original = {name: values_of(table, name) for name in [*given, *chosen]}
        _check_finite(original)
        models = self._fit(table, chosen, given, at_risk, original, warnings)
        releases = []
        for number in range(self.m):
            report("drawing releases", number, self.m)
            releases.append(self._release(table, models, original, rng))
        names = table.schema.of_role(Role.IDENTIFIER)
        linked = bool(set(table.names) - set(chosen) - set(names)) or self.rows == "rare"
        if not linked:  # nobody's record bears anybody's name
            releases = [made.without(names) for made in releases]
        facts: dict[str, Any] = {
            "columns": chosen,
            "given": given,
            "releases": self.m,
            "records replaced": int(at_risk.sum()),
            # Filled in and synthesized at once, the two spreads cannot be told apart; the rule
            # for missing values is then the safe one: its variance is never too small.
            "combine": "missing" if self.fill else "partial",
        }
        return Outcome(
            releases[0],
            facts=facts,
            warnings=tuple(warnings),
            linked=linked,
            copies=tuple(releases[1:]),
        )

    def _given(self, table: Table, chosen: list[str]) -> list[str]:
        """The columns to predict from that stay as they are."""
        for name in self.given:
            if name in chosen:
                raise MethodError(
                    f"column {name!r} is drawn, and cannot be given too",
                    remedy="name the columns to draw in `columns`",
                )
            if table.schema[name].kind not in PREDICTS:
                raise MethodError(
                    f"column {name!r} is {table.schema[name].kind}, and cannot predict",
                    remedy=f"name columns that are {', '.join(PREDICTS)}",
                )
        if self.given:
            return list(self.given)
        names_people = (Role.IDENTIFIER, Role.HOUSEHOLD)
        return [
            c.name
            for c in table.schema
            if c.name not in chosen and c.kind in PREDICTS and c.role not in names_people
        ]

    def _at_risk(self, table: Table) -> np.ndarray:
        if self.rows == "all":
            return np.ones(table.height, dtype=bool)
        quasi = table.schema.quasi
        if not quasi:
            raise MethodError(
                'rows = "rare" needs quasi-identifiers to count', remedy="give columns that role"
            )
        coded = pl.DataFrame(
            [pl.Series(f"{j}", encode(table[n]).codes) for j, n in enumerate(quasi)]
        )
        shared: np.ndarray = coded.select(pl.len().over(coded.columns)).to_series().to_numpy()
        return shared < self.k

    def _fit(
        self,
        table: Table,
        chosen: list[str],
        given: list[str],
        at_risk: np.ndarray,
        original: Values,
        warnings: list[str],
    ) -> list[NumberModel | CategoryModel]:
        """One model for each column, given the columns before it."""
        known = [predictor(table, name, original[name]) for name in given]
        warnings += [
            f"the {one.pooled:,} rarest categories of {one.name} predict as one"
            for one in known
            if one.pooled
        ]
        models = []
        for i, name in enumerate(chosen):
            report("fitting models", i, len(chosen))
            values = original[name]
            missing = np.isnan(values) if is_number(table.schema[name]) else values == 0
            fitted = np.flatnonzero(at_risk & ~missing)
            asked = np.flatnonzero(at_risk) if self.fill else fitted
            if fitted.size > 1:
                task = Task(table, name, Design(known), original, fitted, asked)
                models.append(self._model(task, warnings))
            elif fitted.size or self.fill:
                raise MethodError(
                    f"column {name!r} has {fitted.size} values to learn from",
                    remedy="leave it out of `columns`",
                )
            known.append(predictor(table, name, values))
        return models

    def _model(self, task: Task, warnings: list[str]) -> NumberModel | CategoryModel:
        if task.column.kind in MEASURED and not task.column.generalized:
            donors = self.donors if self.way == "predictive-mean-matching" else 0
            model = NumberModel.of(task, donors=donors, whole=self.whole)
            if model.unexplained < _DETERMINED and not donors:
                warnings.append(
                    f"{task.name} is determined by the columns it is drawn from: its values come "
                    "out nearly as they were; draw those columns too, or give fewer"
                )
            return model
        categories = CategoryModel.of(task)
        if rare := shared_leaves(categories.tree):
            warnings.append(
                f"{rare:,} categories of {task.name} are too rare to be modelled one by one: "
                "they are drawn by their frequencies"
            )
        return categories

    def _release(
        self,
        table: Table,
        models: list[NumberModel | CategoryModel],
        original: Values,
        rng: np.random.Generator,
    ) -> Table:
        """One draw of every column, each given those drawn before it."""
        values = dict(original)
        series, columns = [], []
        for model in models:
            drawn = model.draw(values, rng)
            values[model.task.name] = drawn.values
            series.append(drawn.series)
            columns.append(drawn.column)
        return table.with_columns(series, columns)


def _check_finite(values: Values) -> None:
    for name, column in values.items():
        if np.isinf(column).any():
            row = int(np.flatnonzero(np.isinf(column))[0]) + 1
            raise MethodError(
                f"column {name!r} is infinite in row {row}",
                remedy="make it missing, or leave the row out",
            )
