"""Noise from narrow distributions that all lie away from zero."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from .base import Noise, RestoredNoise
from .shape import Shape


class MixtureNoise(RestoredNoise):
    """Add noise from a mixture of normals whose means are bounded away from zero.

    e ~ sum_i w_i N(mu_i, c S) (Lasko 2.8). No solver is needed for means that give the mixture
    exactly the mean 0 and the covariance b S. Let S = R R^T have rank r, and take a random
    orthonormal frame q_1..q_r. The 2 r components +-mu_k, mu_k = sqrt(r (b - c)) R q_k, all of
    weight 1 / (2 r), have mean 0 by symmetry, and since sum_k q_k q_k^T = I they spread by
    sum_k mu_k mu_k^T / r = (b - c) R R^T; with c S inside each component that makes b S. Several
    frames share the weight. Every mu_k is at the same Mahalanobis distance sqrt(r (b - c)) from
    zero, the root mean square of all that is not inside the components, and c = `within` b.

    Means and, with `restore`, covariances are kept in expectation, and both are recovered. The
    frames stay private: an intruder who had them could try the 2 r places where a record's original
    would then be, and the smaller `within` is, the more exactly.
    """

    name: ClassVar[str] = "mixture-noise"
    paper: ClassVar[str] = (
        "Roque (2003), Application and analysis of the mixture-of-normals approach to masking "
        "public-use microdata"
    )

    within: float = Field(
        0.1, gt=0, lt=1, description="share of the noise's variance inside its components"
    )
    frames: int = Field(
        10, ge=1, le=10_000, description="random frames, each of two components a column"
    )

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        n, rank = z.shape[0], shape.root.shape[1]
        if rank == 0:
            return Noise(np.zeros(z.shape), self.amount)
        axes = np.concatenate([random_frame(rank, rng) for _ in range(self.frames)])
        means = np.sqrt(rank * (1 - self.within)) * axes
        white = means[rng.integers(0, len(means), n)] * rng.choice([-1.0, 1.0], n)[:, None]
        white += np.sqrt(self.within) * rng.standard_normal((n, rank))
        facts = {"components": 2 * len(means), "variance_within": self.within * self.amount}
        return Noise(np.sqrt(self.amount) * white @ shape.root.T, self.amount, facts)


def random_frame(rank: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that are orthonormal, and in no preferred direction (Stewart 1980)."""
    q, r = np.linalg.qr(rng.standard_normal((rank, rank)))
    frame: np.ndarray = (q * np.sign(np.diag(r))).T
    return frame
