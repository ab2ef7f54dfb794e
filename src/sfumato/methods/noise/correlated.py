"""Noise that looks like the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .base import Noise, RestoredNoise
from .marginal import normal
from .shape import Shape


class CorrelatedNoise(RestoredNoise):
    """Add noise with the covariance of the data.

    x' = x + e, e ~ N(0, b S) (Lasko 2.4). The mean is kept in expectation and the covariance grows
    to (1 + b) S, so that correlations are kept; with `restore` (Kim's correction) x' is pulled
    back, x' = x'/d1 + (d2/d1) m with d1 = sqrt(1 + b) and d2 = d1 - 1, so that the covariance is
    kept in expectation too. Exact linear relations between columns hold in the masked ones. Moments
    are taken over the values that are present, and a missing value stays missing. Either way means,
    covariances and the distribution of each column can be recovered.
    """

    name: ClassVar[str] = "correlated-noise"
    aliases: ClassVar[tuple[str, ...]] = ("noise",)
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "distribution")
    paper: ClassVar[str] = (
        "Kim (1986), A method for limiting disclosure in microdata based on random noise and "
        "transformation"
    )

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        drawn = rng.standard_normal((z.shape[0], shape.root.shape[1])) @ shape.root.T
        return Noise(np.sqrt(self.amount) * drawn, self.amount)

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        return [normal(amount * variance) for variance in np.diag(covariance)]
