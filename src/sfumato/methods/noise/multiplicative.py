"""Multiplying by random factors with mean 1."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.codec import Matrix
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.covariance import moments
from ...kernels.statistics.deconvolution import (
    BINS_PER_DEVIATION,
    Distribution,
    bins,
    centres,
    deconvolve,
    is_coarse,
)
from ...protocols import Outcome
from ..numeric.base import Masked
from .base import (
    COARSE,
    SMALL_BESIDE_ROUNDING,
    Distributed,
    FromStream,
    Points,
    Published,
    Undone,
    also_said,
    published,
)
from .higher_moments import of_factors
from .shape import normal, shape_of, units

Family = Literal["lognormal", "gamma", "uniform", "truncated"]

_TRUNCATED_AT = 2.0
"""Deviations from 1 at which the truncated normal distribution ends."""


def _truncated_share() -> tuple[float, float]:
    """How much of a normal distribution is left, and what variance that has."""
    from scipy.special import ndtr

    kept = 1 - 2 * float(ndtr(-_TRUNCATED_AT))
    density = np.exp(-(_TRUNCATED_AT**2) / 2) / np.sqrt(2 * np.pi)
    return kept, 1 - 2 * _TRUNCATED_AT * density / kept


def most_variance(family: Family) -> float:
    """The variance at which the least factor would be zero."""
    if family == "uniform":
        return 1 / 3
    if family == "truncated":
        return _truncated_share()[1] / _TRUNCATED_AT**2
    return np.inf


def draw(
    family: Family, variance: float, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Positive factors with mean 1 and that variance."""
    if family == "lognormal":
        s2 = np.log1p(variance)
        return np.asarray(np.exp(np.sqrt(s2) * rng.standard_normal(shape) - s2 / 2))
    if family == "gamma":
        return rng.gamma(1 / variance, variance, shape)
    if family == "uniform":
        half = np.sqrt(3 * variance)
        return rng.uniform(1 - half, 1 + half, shape)
    from scipy.special import ndtr, ndtri

    kept, left = _truncated_share()
    standard = ndtri(ndtr(-_TRUNCATED_AT) + kept * rng.random(shape))
    found: np.ndarray = 1 + np.sqrt(variance / left) * standard
    return found


def log_distribution(family: Family, variance: float) -> Distribution:
    """The distribution function of the factor's logarithm."""
    if family == "lognormal":
        s2 = float(np.log1p(variance))
        return normal(s2, -s2 / 2)
    from scipy.special import gammainc, ndtr

    if family == "gamma":
        return lambda t: np.asarray(gammainc(1 / variance, np.exp(t) / variance))
    if family == "uniform":
        half = np.sqrt(3 * variance)
        return lambda t: np.clip((np.exp(t) - 1 + half) / (2 * half), 0.0, 1.0)
    kept, left = _truncated_share()
    deviation = np.sqrt(variance / left)
    tail = float(ndtr(-_TRUNCATED_AT))
    return lambda t: np.clip((ndtr((np.exp(t) - 1) / deviation) - tail) / kept, 0.0, 1.0)


def raw_moments(family: Family, variance: float) -> tuple[float, float, float]:
    """The second, third and fourth raw moment of factors with mean 1 and that variance."""
    second = 1 + variance
    if family == "lognormal":
        return second, second**3, second**6
    if family == "gamma":
        third = second * (1 + 2 * variance)
        return second, third, third * (1 + 3 * variance)
    fourth = 1.8 * variance**2
    if family == "truncated":
        kept, left = _truncated_share()
        density = np.exp(-(_TRUNCATED_AT**2) / 2) / np.sqrt(2 * np.pi)
        fourth = (3 * left - 2 * _TRUNCATED_AT**3 * density / kept) * (variance / left) ** 2
    return second, 1 + 3 * variance, 1 + 6 * variance + float(fourth)


_LEAST = 2
"""Records that a covariance needs."""


class MultiplicativeNoise(FromStream):
    """Multiply each value by a random factor with mean 1.

    x' = x e with E e = 1 and var e = s2 (`amount`), independently for each value. Means and the
    covariances of different columns are kept in expectation; since E x'^2 = (1 + s2) E x^2 the
    variances are recovered by var(x) = (var(x') + m^2) / (1 + s2) - m^2, and the distribution of a
    column by deconvolution of its logarithms. Zeros stay zero and signs are kept: who has none, or
    owes, can be told.

    With `correlated` (Kim & Winkler's second scheme) noise N(0, b C), C the covariance of the
    logarithms and b the `amount`, is added to the logarithms of values that must all be positive.
    Half its variance is subtracted there, so that factors have mean 1 (the scheme as published has
    exp(b c_jj / 2), which biases the means); second moments are divided by exp(b c_ij) to recover
    them. Where values are missing, a covariance is that of the records that have both.
    """

    name: ClassVar[str] = "multiplicative-noise"
    recovers: ClassVar[tuple[str, ...]] = ("mean", "covariance", "moments", "distribution")
    paper: ClassVar[str] = (
        "Kim & Winkler (2003), Multiplicative noise for masking continuous data; "
        "Hwang (1986), Multiplicative errors-in-variables models with applications to recent data "
        "released by the U.S. Department of Energy"
    )

    amount: float = Field(
        0.04,
        gt=0,
        le=10,
        description="variance of the factor; if correlated, of the noise relative to the logs'",
    )
    factor: Family = Field(
        "lognormal", description="the factor's distribution; truncated is normal up to 2 deviations"
    )
    correlated: bool = Field(
        False, description="factors whose logarithms have the covariance of the data's"
    )

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.correlated and self.factor != "lognormal":
            raise ValueError("correlated factors are lognormal")
        if not self.correlated and self.amount >= most_variance(self.factor):
            raise ValueError(
                f"{self.factor} factors with mean 1 are positive only for an amount below "
                f"{most_variance(self.factor):.3g}"
            )
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        x = Matrix(table, chosen).numeric
        if self.correlated and (x <= 0).any():
            row, j = map(int, np.argwhere(x <= 0)[0])
            raise MethodError(
                f"{self.name} takes logarithms, and column {chosen[j]!r} is {x[row, j]:g} in row "
                f"{row + 1}",
                remedy="leave the column out, or set correlated = false",
            )
        made = super().mask(table, rng)
        zeros = [name for name, any_ in zip(chosen, (x == 0).any(axis=0), strict=True) if any_]
        warned = [f"{name}: its zeros stay zero" for name in zeros]
        return Outcome(made.table, facts=made.facts, warnings=(*made.warnings, *warned))

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> Masked:
        if not self.correlated:
            with np.errstate(over="ignore"):
                return Masked(x * draw(self.factor, self.amount, x.shape, rng))
        shape = shape_of(np.log(x))
        deviation = np.sqrt(self.amount) * shape.deviation * shape.unit
        noise = rng.standard_normal((x.shape[0], shape.root.shape[1])) @ shape.root.T
        warnings: tuple[str, ...] = ()
        if shape.repaired:
            warnings = (
                "the correlations of the logarithms that are present fit no data, because of the "
                "missing ones: the factors have the nearest that do",
            )
        with np.errstate(over="ignore"):
            made = x * np.exp(deviation * noise - deviation**2 / 2)
        return Masked(made, warnings=warnings)

    def recover(self, table: Table, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Means, covariances, higher moments and distributions, from the masked table."""
        found = published(table, facts)
        notes: dict[str, str] = {}
        logs = self._log_covariance(found, notes)
        growth = (
            np.exp(self.amount * logs) if self.correlated else 1 + self.amount * np.eye(len(logs))
        )
        # Sheppard's 1/12 for values whose noise is not small beside whole numbers.
        spread = np.sqrt(np.diag(growth) - 1)
        moved = np.nanmean(np.abs(found.x) * spread >= SMALL_BESIDE_ROUNDING, axis=0)
        rounding = np.diag(np.where(found.rounded, moved / 12, 0.0))
        pairs, covariance, products = _over_pairs(found.x)
        # E cov(x', y') = cov(x, y) + (1 - 1 / growth) E mean(x' y'), exactly, for any number of
        # records; both over the records that have both values, or the means would not fit.
        covariance -= rounding + (1 - 1 / growth) * (products - rounding)
        few = pairs < _LEAST
        covariance[few] = 0.0
        for name in found.named(np.any(few, axis=0)):
            also_said(notes, name, "covariances that have fewer than 2 records are given as zero")
        back = found.recovered(covariance, notes)
        back["moments"] = {
            name: of_factors(
                found.x[:, j],
                *raw_moments(self.factor, float(growth[j, j]) - 1),
                float(moved[j]) if found.rounded[j] else 0.0,
            )
            for j, name in enumerate(found.names)
        }
        back |= found.distributions(self._of_part(logs), notes)
        return back | ({"notes": notes} if notes else {})

    def distribution_of(self, table: Table, facts: Mapping[str, Any]) -> Undone:
        found = published(table, facts)
        return found, self._of_part(self._log_covariance(found, {}))

    def _of_part(self, logs: np.ndarray) -> Distributed:
        return lambda part, j, notes: self._distribution(part, j, float(logs[j, j]), notes)

    def _log_covariance(self, found: Published, notes: dict[str, str]) -> np.ndarray:
        """Of the original's logarithms, where they carried the noise."""
        p = len(found.names)
        if not self.correlated:
            return np.zeros((p, p))
        positive = found.x > 0
        rounded_away = (~positive & ~np.isnan(found.x)).any(axis=0)
        said = "values that were rounded to zero have no logarithm, and were left out"
        notes |= dict.fromkeys(found.named(rounded_away), said)
        _, covariance = moments(np.log(np.where(positive, found.x, np.nan)))
        return covariance / (1 + self.amount)

    def _distribution(
        self, found: Published, j: int, log_variance: float, notes: MutableMapping[str, str]
    ) -> Points:
        """Each sign by itself, since a factor keeps it; zero is known."""
        values = found.x[:, j]
        values = values[~np.isnan(values)]
        if self.correlated:
            s2 = self.amount * log_variance
            noise = normal(s2, -s2 / 2)
        else:
            s2 = float(np.log1p(self.amount))
            noise = log_distribution(self.factor, self.amount)
        at, probability = [np.zeros(0)], [np.zeros(0)]
        coarse = False
        for sign in (-1.0, 1.0):
            size = sign * values[sign * values > 0]
            if size.size:
                where, share, wide = _of_sizes(
                    size, noise, float(np.sqrt(s2)), bool(found.rounded[j])
                )
                coarse |= wide
                at.append(sign * where[:: int(sign)])
                probability.append(share[:: int(sign)] * size.size / values.size)
            if sign < 0 and (values == 0).any():
                at.append(np.zeros(1))
                probability.append(np.array([(values == 0).mean()]))
        if coarse:
            also_said(notes, found.names[j], COARSE)
        return {
            "at": np.concatenate(at).tolist(),
            "probability": np.concatenate(probability).tolist(),
        }


def _over_pairs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each two columns, over the records that have both (NaN is missing): their number, the
    covariance (by their number less one), and the mean product."""
    unit = units(x)
    present = ~np.isnan(x)
    has = present.astype(np.float64)
    mean = np.where(present, x / unit, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    # About the columns' means, so that no digits are lost.
    centred = np.where(present, x / unit - mean, 0.0)
    pairs = has.T @ has
    some = np.maximum(pairs, 1)
    cross = centred.T @ centred
    own = centred.T @ has  # [i, j]: the sum of i over the records that have j too
    covariance = (cross - own * own.T / some) / np.maximum(pairs - 1, 1)
    products = cross / some + (own * mean + (own * mean).T) / some + np.outer(mean, mean)
    scale = np.outer(unit, unit)
    return pairs, covariance * scale, products * scale


def _of_sizes(
    size: np.ndarray, noise: Distribution, deviation: float, whole: bool
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Where positive values were before they were multiplied, with what probability, and whether
    the grid is too coarse to say."""
    logs = np.log(size)
    counts, edges = bins(logs, deviation / BINS_PER_DEVIATION)
    coarse = is_coarse(counts, edges, deviation)
    if whole:
        # Edges half-way between whole numbers, so that rounding moves nothing across them.
        halves = np.floor(np.exp(edges)) + 0.5
        edges = np.log(np.unique(np.concatenate([[size.min() - 0.5], halves, [size.max() + 0.5]])))
        counts = np.histogram(logs, edges)[0]
    if counts.size == 1 or deviation <= 0:
        return np.exp(centres(edges)), counts / counts.sum(), False
    found = deconvolve(counts, edges, centres(edges), noise)
    return np.exp(found.at), found.probability, coarse
