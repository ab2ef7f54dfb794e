"""White noise of two humps, coloured by the data's covariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pydantic import Field

from .base import Noise, RestoredNoise
from .marginal import mixture
from .shape import Shape, correlation_root

_MOST_PLACES = 2048
"""Places that the sum of the humps' means is kept at; they are this much finer than its spread."""


class ColouredMixtureNoise(RestoredNoise):
    """Add noise from a mixture of normals, coloured by the root of the data's covariance.

    e = sqrt(b) S^(1/2) s, where the elements of s are independent and come from
    sum_i w_i N(mu_i, v) with mean 0 and variance 1 (Lasko 2.9-2.11). The mu_i are pairs +-m_i of
    equal weight with m_i in proportion to h, h + 1, ..., 2h - 1 for h `pairs`, scaled so that their
    mean square is 1 - v, v = `within`. S^(1/2) = D C^(1/2) with the symmetric root of the
    correlation matrix C: of all roots the one that keeps each element of s nearest to its column.

    No element of s is near zero, but a column's noise is a weighted sum of them, in which they may
    cancel. Means and, with `restore`, covariances are kept in expectation; both are recovered, and
    so are the distributions of the columns, whose noise has a known one.
    """

    name: ClassVar[str] = "coloured-mixture-noise"
    aliases: ClassVar[tuple[str, ...]] = ("colored-mixture-noise",)
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "distribution")
    paper: ClassVar[str] = (
        "Yancey, Winkler & Creecy (2002), Disclosure risk assessment in perturbative microdata "
        "protection; Lasko (2007), Spectral anonymization of data, section 2.3.1"
    )

    within: float = Field(
        0.1, gt=0, lt=1, description="share of the noise's variance inside its components"
    )
    pairs: int = Field(1, ge=1, le=10, description="pairs of components, one on each side of zero")

    @property
    def means(self) -> np.ndarray:
        """The components' means above zero; the others are their negatives."""
        steps = np.arange(self.pairs, 2 * self.pairs, dtype=np.float64)
        found: np.ndarray = steps * np.sqrt((1 - self.within) / np.mean(steps**2))
        return found

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        white = self.means[rng.integers(0, self.pairs, z.shape)] * rng.choice([-1.0, 1.0], z.shape)
        white += np.sqrt(self.within) * rng.standard_normal(z.shape)
        return Noise(
            np.sqrt(self.amount) * white @ shape.symmetric.T,
            self.amount,
            {"components": 2 * self.pairs},
        )

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        deviation = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
        scale = np.where(deviation > 0, deviation, 1.0)
        correlation = covariance / np.outer(scale, scale)
        root, _ = correlation_root(correlation)
        shape = Shape(scale, scale, scale, root, False)
        both = np.concatenate([-self.means, self.means])
        found = []
        for row, size in zip(shape.symmetric, np.sqrt(amount) * scale, strict=True):
            weights, places = _sum_of(row, both)
            inside = self.within * float(row @ row)
            found.append(mixture(weights, size * places, size**2 * inside))
        return found


def _sum_of(factors: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and places of the sum of independent terms, each a factor times one of the values,
    all equally likely. Places that nearly agree are joined."""
    weights: np.ndarray = np.ones(1)
    places: np.ndarray = np.zeros(1)
    spread = float(np.sqrt(np.mean(values**2) * (factors @ factors)))
    for factor in factors[np.abs(factors) > 1e-9]:
        places = np.add.outer(places, factor * values).ravel()
        weights = np.repeat(weights, values.size) / values.size
        if places.size > _MOST_PLACES:
            cell = np.rint(places / (8 * spread / _MOST_PLACES)).astype(np.int64)
            _, where = np.unique(cell, return_inverse=True)
            joined = np.bincount(where, weights)
            places = np.bincount(where, weights * places) / joined
            weights = joined
    return weights, places
