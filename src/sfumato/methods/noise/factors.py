"""Random factors with mean 1, and the distribution functions of their logarithms."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...kernels.statistics.deconvolution import Distribution
from .marginal import normal

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
    drawn: np.ndarray = 1 + np.sqrt(variance / left) * standard
    return drawn


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
