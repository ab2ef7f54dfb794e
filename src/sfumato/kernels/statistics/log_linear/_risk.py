"""What a fitted model says of sample uniques, and how far its own word can be trusted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ._cells import Fit

_SHAPES = (-7.0, 14.0)
"""Logarithms of the shapes that are tried; with the last, a gamma mixture is Poisson."""

_ALL = 1.0 - 1e-9
"""A share above it is 1, but for rounding."""


class Diagnostic(NamedTuple):
    """B1, the model's estimated bias, in records that are unique in the population."""

    b1: float
    error: float
    """Its standard error, if the model is right."""
    drawing_error: float
    """The part of B1 that comes of drawing cells, as a standard error; 0 where all were added."""
    z: float
    """B1 in standard errors, also where both vanish: above 2, interactions are lacking; below -2,
    there are too many. 0 where everybody was drawn."""


def poisson_risk(lam: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(F = 1 | f = 1) and E(1/F | f = 1): beside the one that was drawn, the cell has a Poisson
    number of people who were not, with mean lam (1 - share).

    >>> one, match = poisson_risk(np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    >>> one.round(4).tolist(), match.round(4).tolist()
    ([1.0, 0.3679], [1.0, 0.6321])
    """
    others = lam * (1.0 - share)
    some = others > 0
    safe = np.where(some, others, 1.0)
    return np.exp(-others), np.where(some, -np.expm1(-safe) / safe, 1.0)


def gamma_risk(lam: np.ndarray, share: np.ndarray, shape: float) -> tuple[np.ndarray, np.ndarray]:
    """The same where cells with equal fits differ: their means are gamma with mean lam.

    >>> one, match = gamma_risk(np.array([2.0]), np.array([0.5]), 1e9)
    >>> one.round(4).tolist(), match.round(4).tolist()
    ([0.3679], [0.6321])
    """
    rate = shape / lam
    unseen = 1.0 - share
    fewer = np.log1p(-unseen / (rate + 1.0))
    one = np.exp((shape + 1.0) * fewer)
    some = unseen > 0
    safe = np.where(some, unseen, 1.0)
    match = (rate + share) / (shape * safe) * -np.expm1(shape * fewer)
    return one, np.where(some, np.minimum(match, 1.0), 1.0)


def risks(fit: Fit, cells: np.ndarray, shape: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The same for some occupied cells of a fit: Poisson, or mixed by this shape."""
    mu, lam = fit.mu[cells], fit.lam[cells]
    share = _share(mu, lam)
    return poisson_risk(lam, share) if shape is None else gamma_risk(lam, share, shape)


def _share(mu: np.ndarray, lam: np.ndarray) -> np.ndarray:
    share = mu / lam
    return np.where(share < _ALL, share, 1.0)


def _coefficients(mu: np.ndarray, lam: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each cell in B1, times exp(least), and that of its second term beside its
    first. No cell of which some were not drawn has a mean below `least`."""
    share = _share(mu, lam)
    scale = lam * np.exp(np.minimum(least - lam, 0.0)) * (1.0 - share)
    return scale, (1.0 - share) / (2.0 * share)


def _terms(
    f: np.ndarray | float, mu: np.ndarray, coefficients: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """What a cell with f records adds to B1."""
    scale, half = coefficients
    apart = f - mu
    return np.asarray(scale * (apart + half * (apart**2 - f)))


def diagnose(fit: Fit, counts: np.ndarray) -> Diagnostic:
    """Skinner & Shlomo's B1, over all cells.

    The risk of a unique cell, h(lam) = exp(-(1 - pi) lam), is off by about h' d + h'' d^2 / 2 where
    the fitted mean exceeds the true one by d. f - mu estimates -pi d, (f - mu)^2 - f estimates
    (pi d)^2, and a cell is unique with chance mu exp(-mu). So B1 adds up
    lam exp(-lam) (1 - pi) {(f - mu) + (1 - pi) [(f - mu)^2 - f] / (2 pi)}.
    f - mu and (f - mu)^2 - f are the first Charlier polynomials: where the model is right they have
    mean 0, variances mu and 2 mu^2, and no correlation, whence the standard error. Margins that
    were fitted leave less to f - mu than that, so that the error is rather too large.
    """
    every = fit.everywhere
    # exp(-lam) vanishes from about 700 on, and its square from half of that, from B1 and from its
    # error alike: z is taken of both times exp(least). Where everybody was drawn, nothing errs.
    means = np.concatenate((every.lam, fit.lam))
    erring = _share(np.concatenate((every.mu, fit.mu)), means) < 1.0
    if not erring.any():
        return Diagnostic(0.0, 0.0, 0.0, 0.0)
    least = float(means[erring].min())
    scale, half = here = _coefficients(every.mu, every.lam, least)
    empty = _terms(0.0, every.mu, here)
    there = _coefficients(fit.mu, fit.lam, least)
    occupied = _terms(counts, fit.mu, there) - _terms(0.0, fit.mu, there)
    b1 = every.total(empty) + float(occupied.sum())
    error = float(np.sqrt(every.total(scale**2 * (every.mu + 2.0 * half**2 * every.mu**2))))
    back = float(np.exp(-least))
    return Diagnostic(b1 * back, error * back, every.error(empty) * back, b1 / error)


def gamma_shape(fit: Fit, counts: np.ndarray) -> float:
    """The shape of the gamma mixture by maximum likelihood, given the means: counts are negative
    binomial, with variance mu + mu^2 / shape."""
    from scipy.optimize import minimize_scalar

    every = fit.everywhere

    def loss(log_shape: float) -> float:
        a = np.exp(log_shape)
        occupied = gammaln(counts + a) - gammaln(a) - counts * np.log(fit.mu + a)
        return a * every.total(np.log1p(every.mu / a)) - float(occupied.sum())

    return float(np.exp(minimize_scalar(loss, bounds=_SHAPES, method="bounded").x))
