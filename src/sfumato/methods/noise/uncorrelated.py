"""Noise for each column by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .base import AdditiveNoise, Noise
from .marginal import normal
from .shape import Shape


class UncorrelatedNoise(AdditiveNoise):
    """Add independent normal noise to each column.

    x'_j = x_j + e_j with e_j ~ N(0, b var(x_j)), independent of one another (Lasko 2.3). Means
    and covariances of different columns are kept in expectation; variances grow by 1 + b, so that
    correlations shrink by 1 / (1 + b). What the noise did to variances and covariances can be
    undone, and the distribution of each column estimated. Against an intruder it is the weakest of
    all: with several columns records can be linked, and where the columns are correlated the noise
    can be filtered out. It is here as a yardstick.
    """

    name: ClassVar[str] = "uncorrelated-noise"
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "distribution")
    correlated: ClassVar[bool] = False
    paper: ClassVar[str] = (
        "Spruill (1983), The confidentiality and analytic usefulness of masked business microdata; "
        "Brand (2002), Microdata protection through noise addition"
    )

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        return Noise(np.sqrt(self.amount) * rng.standard_normal(z.shape), self.amount)

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        return [normal(amount * variance) for variance in np.diag(covariance)]
