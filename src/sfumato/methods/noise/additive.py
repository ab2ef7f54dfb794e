"""Additive noise: independent, like the data, of two humps, or more where records are sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...candidate import Candidate, settings
from ...kernels.draws import Draws
from ...kernels.neighbours.kth_neighbour import BLOCK, kth_neighbour
from .base import Noise, RestoredNoise, StreamedNoise
from .keyed import KeyedNoise
from .shape import Shape, correlation_root, mixture, normal


class UncorrelatedNoise(KeyedNoise):
    """Add independent normal noise to each column.

    x'_j = x_j + e_j with e_j ~ N(0, b var(x_j)), independent of one another (Lasko 2.3). Means
    and covariances of different columns are kept in expectation; variances grow by 1 + b, so that
    correlations shrink by 1 / (1 + b). What the noise did to variances and covariances can be
    undone, and the higher moments and the distribution of each column estimated. Against an
    intruder it is the weakest of all: with several columns records can be linked, and where the
    columns are correlated the noise can be filtered out. It is here as a yardstick.
    """

    name: ClassVar[str] = "uncorrelated-noise"
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "moments", "distribution")
    correlated: ClassVar[bool] = False
    paper: ClassVar[str] = (
        "Spruill (1983), The confidentiality and analytic usefulness of masked business microdata; "
        "Brand (2002), Microdata protection through noise addition"
    )

    def noise(
        self, names: Sequence[str], shape: Shape, draws: Sequence[Draws]
    ) -> Iterator[np.ndarray]:
        sizes = (shape.unit * shape.deviation).tolist()
        for name, size, own in zip(names, sizes, draws, strict=True):
            yield np.sqrt(self.amount) * own.of(name, size).normal()

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        return [normal(amount * variance) for variance in np.diag(covariance)]


class CorrelatedNoise(KeyedNoise, RestoredNoise):
    """Add noise with the covariance of the data.

    x' = x + e, e ~ N(0, b S) (Lasko 2.4). The mean is kept in expectation and the covariance grows
    to (1 + b) S, so that correlations are kept; with `restore` (Kim's correction) x' is pulled
    back, x' = x'/d1 + (d2/d1) m with d1 = sqrt(1 + b) and d2 = d1 - 1, so that the covariance is
    kept in expectation too. Exact linear relations between columns hold in the masked ones. Moments
    are taken over the values that are present, and a missing value stays missing. Either way means,
    covariances, higher moments and the distribution of each column can be recovered.
    """

    name: ClassVar[str] = "correlated-noise"
    aliases: ClassVar[tuple[str, ...]] = ("noise",)
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "moments", "distribution")
    paper: ClassVar[str] = (
        "Kim (1986), A method for limiting disclosure in microdata based on random noise and "
        "transformation"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "exchange",
        when="means, variances and correlations of numbers are analysed",
        unless="numbers are skewed or small counts, or most columns are categories",
        ladder=settings("amount", 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0),
        usual=1,
        scopes=("all",),
        rest="pram",
        million=(0.72, 0.59),
    )

    def noise(
        self, names: Sequence[str], shape: Shape, draws: Sequence[Draws]
    ) -> Iterator[np.ndarray]:
        size = (shape.unit * shape.deviation).tolist()
        own = draws[0].of(list(names), size, shape.root.tolist())
        white = [own.of(k).normal() for k in range(shape.root.shape[1])]
        for row in np.sqrt(self.amount) * shape.root:
            made = np.zeros(len(own))
            for factor, one in zip(row, white, strict=True):
                made += factor * one
            yield made

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        return [normal(amount * variance) for variance in np.diag(covariance)]


class MixtureNoise(StreamedNoise, RestoredNoise):
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
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "moments")
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

    def fourth(self, covariance: np.ndarray, facts: Mapping[str, Any]) -> np.ndarray:
        """On average over the frames: for a fixed u and a random q of length 1 in r dimensions,
        E (u q)^4 = 3 / (r (r + 2))."""
        rank = facts.get("components", 0) / (2 * self.frames)
        spread = self.amount * np.diag(covariance)
        return np.asarray(-6 * (1 - self.within) ** 2 / (rank + 2) * spread**2)


def random_frame(rank: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that are orthonormal, and in no preferred direction (Stewart 1980)."""
    q, r = np.linalg.qr(rng.standard_normal((rank, rank)))
    return (q * np.sign(np.diag(r))).T


_MOST_PLACES = 2048
"""Places that the sum of the humps' means is kept at; they are this much finer than its spread."""


class ColouredMixtureNoise(StreamedNoise, RestoredNoise):
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
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "moments", "distribution")
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

    def fourth(self, covariance: np.ndarray, facts: Mapping[str, Any]) -> np.ndarray:
        rows, scale = _symmetric(covariance)
        inside = self.within
        of_one = np.mean(self.means**4) + 6 * (1 - inside) * inside + 3 * inside**2 - 3
        return np.asarray(of_one * self.amount**2 * scale**4 * (rows**4).sum(axis=1))

    def marginals(self, covariance: np.ndarray, amount: float) -> list[Callable[..., np.ndarray]]:
        rows, scale = _symmetric(covariance)
        both = np.concatenate([-self.means, self.means])
        found = []
        for row, size in zip(rows, np.sqrt(amount) * scale, strict=True):
            weights, places = _sum_of(row, both)
            inside = self.within * float(row @ row)
            found.append(mixture(weights, size * places, size**2 * inside))
        return found


def _symmetric(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The symmetric root of the correlations, row by row, and the deviations."""
    deviation = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    scale = np.where(deviation > 0, deviation, 1.0)
    root, _ = correlation_root(covariance / np.outer(scale, scale))
    return Shape(scale, scale, scale, root, False).symmetric, scale


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


EXACT_RECORDS = 50_000
VISITS = 32
"""Blocks of neighbours that each of more records looks through."""


class DensityNoise(StreamedNoise):
    """Add noise in proportion to the distance to each record's k-th neighbour.

    Lasko's data-dependent noise: a record in a sparse region needs more of it than one in a crowd.
    In the space of z-scores (a missing value counts as the mean) let d_i be the distance of record
    i to its k-th nearest neighbour; its noise is N(0, (a d_i)^2 / p) in each of the p columns,
    independently. So with a = `amount` = 1 a record is moved about as far as its k-th neighbour is
    away, and k others lie as near to where it was. Duplicates have distance zero: no record gets
    less noise than the deviation `floor`, in deviations of the columns.

    Means are kept in expectation. Noise is independent of the sign of everything, so covariances of
    different columns are kept too, and the variance of column j grows by 1 + v_j, where v_j is the
    mean noise variance of the records that have a value in it (a missing one goes with dense or
    sparse regions as it likes). The v_j are published as a fact, in the order of the columns:
    variances are recovered. A column's distribution is not, since the noise depends on the record.

    Above 50,000 records d_i is looked for among the 32 nearest blocks of 64 records, not all: it
    may then come out too large, never too small.
    """

    name: ClassVar[str] = "density-noise"
    correlated: ClassVar[bool] = False
    paper: ClassVar[str] = (
        "Chawla, Dwork, McSherry, Smith & Wee (2005), Toward privacy in public databases; Lasko "
        "(2007), Spectral anonymization of data, section 2.3.1"
    )

    amount: float = Field(
        1.0, gt=0, le=10, description="a: how far records move, in distances to neighbour k"
    )
    neighbours: int = Field(
        5, ge=1, le=1000, description="k: which nearest neighbour sets the scale"
    )
    floor: float = Field(
        0.05, ge=0, le=10, description="least deviation of the noise, in the columns' own"
    )

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        n, p = z.shape
        k = min(self.neighbours, n - 1)
        exact = n <= EXACT_RECORDS
        distance = kth_neighbour(np.nan_to_num(z), k, visits=None if exact else VISITS)
        deviation = np.maximum(self.amount * distance / np.sqrt(p), self.floor)
        facts: dict[str, Any] = {"neighbours": k}
        if not exact:
            facts["neighbours_sought_among"] = VISITS * BLOCK
        warnings = () if k == self.neighbours else (f"there are no more than {k} neighbours",)
        drawn = deviation[:, None] * rng.standard_normal((n, p))
        present = ~np.isnan(z)
        total = (deviation**2) @ present
        return Noise(drawn, total / np.maximum(present.sum(axis=0), 1), facts, warnings)
