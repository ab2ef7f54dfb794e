"""Resampling: each value is replaced by an average of bootstrap values of the same rank."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...kernels.masking.resampling import mean_order_statistics
from ...kernels.statistics.scores import order_of
from .base import NumericMethod


class Resampling(NumericMethod):
    """Replace each value by the average of its rank in t samples with replacement.

    For every column on its own: t samples of its n values are drawn with replacement and sorted,
    the j-th values are averaged, and the record of rank j receives the j-th average (equal values
    share their ranks at random). Ranks are kept, the mean is kept in expectation, and no value
    leaves the column's range. The larger t, the nearer the averages come to the values' expected
    order statistics and the weaker the protection; with t = 1 original values are published, in
    places that are not quite their own. A missing value stays missing.
    """

    name: ClassVar[str] = "resampling"
    paper: ClassVar[str] = (
        "Heer 1993, A bootstrap procedure to preserve statistical confidentiality in contingency "
        "tables; Domingo-Ferrer & Mateo-Sanz 1999, On resampling for statistical confidentiality "
        "in contingency tables, Computers & Mathematics with Applications 38"
    )

    t: int = Field(3, ge=1, le=1000, description="samples that are averaged")

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        made = np.full(x.shape, np.nan)
        for j in range(x.shape[1]):
            order = order_of(x[:, j], rng)
            if order.size:
                made[order, j] = mean_order_statistics(x[order, j], self.t, rng)
        return made
