"""Noise that looks like the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from ..data.codec import Matrix, from_floats
from ..data.schema import Kind
from ..errors import MethodError
from ..kernels.covariance import moments, normal_rows
from ..protocols import Method, Outcome

if TYPE_CHECKING:
    from ..data.table import Table


class CorrelatedNoise(Method):
    """Add noise with the covariance of the data.

    x' = x + e, e ~ N(0, b S). The mean is kept in expectation and the covariance grows to (1 +
    b) S; with `restore` (Kim's correction) x' is pulled back, x' = m + (x + e - m) / sqrt(1 +
    b), so that the covariance is kept in expectation too. Moments are taken over
    the values that are present, and a missing value stays missing.
    """

    name: ClassVar[str] = "correlated-noise"
    random: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("noise",)
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    perturbs: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)
    paper: ClassVar[str] = (
        "Kim 1986, A method for limiting disclosure in microdata based on random "
        "noise and transformation"
    )

    amount: Annotated[
        float, Field(gt=0, le=10, description="b: variance of the noise relative to the data's")
    ] = 0.1
    restore: Annotated[
        bool, Field(description="pull back so that means and covariances are kept in expectation")
    ] = True
    whole: Annotated[bool, Field(description="round integer columns to whole numbers")] = True

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        x = Matrix(table, chosen).numeric
        if x.shape[0] < 2:
            raise MethodError(
                "correlated-noise needs two records or more to know the data's covariance",
                remedy="use another method for a table this small",
            )
        mean, covariance = moments(x)
        noise = normal_rows(covariance, x.shape[0], rng) * np.sqrt(self.amount)
        masked = x + noise
        if self.restore:
            masked = mean + (masked - mean) / np.sqrt(1.0 + self.amount)
        series, columns = [], []
        for j, name in enumerate(chosen):
            column = table.schema[name]
            made = from_floats(masked[:, j], column, table[name], whole=self.whole)
            series.append(made)
            columns.append(column.with_(kind=Kind.CONTINUOUS) if made.dtype.is_float() else column)
        facts = {"columns": chosen, "relative_variance": self.amount, "restored": self.restore}
        return Outcome(table.with_columns(series, columns), facts=facts)
