"""The distribution behind noisy values, by expectation maximization.

Where y = x + e and the distribution of e is known, the distribution of x is estimated on a grid:
each step gives every grid point the mean posterior probability that a noisy value stems from it
(Agrawal & Srikant 2000, "Privacy-preserving data mining"; Agrawal & Aggarwal 2001, "On the design
and quantification of privacy preserving data mining algorithms", who show that this is EM and that
it climbs to the maximum likelihood). Values are counted in bins first, so that a step costs bins
times grid points, however many records there are.

The maximum itself is no good estimate: with ever more steps the distribution breaks up into spikes
that fit the accidents of the sample. So the climb is stopped where a step gains next to nothing:
twice the log-likelihood grows by about 1 for a parameter that fits nothing but chance, and a step
that gains less than `tolerance` (0.2) of that has no more to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST_BINS = 512
BINS_PER_DEVIATION = 4
"""A normal distribution is smooth on a quarter of its deviation."""

Distribution = Callable[[np.ndarray], np.ndarray]
"""The distribution function of the noise."""


class Density(NamedTuple):
    """An estimated distribution, and how the estimation ended."""

    at: np.ndarray
    probability: np.ndarray
    steps: int
    converged: bool


def bins(
    values: np.ndarray, width: float, *, whole: bool = False, most: int = MOST_BINS
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the values in bins of about that width, and the bins' edges; of whole numbers the
    edges lie half-way between them.

    >>> bins(np.array([1.0, 1.0, 3.0]), 0.1, whole=True)
    (array([2, 0, 1]), array([0.5, 1.5, 2.5, 3.5]))
    """
    low, high = float(values.min()), float(values.max())
    if whole:
        step = max(1.0, np.ceil(max(width, (high - low + 1) / most)))
        edges = low - 0.5 + step * np.arange(np.ceil((high - low + 1) / step) + 1)
    elif high > low:
        wanted = (high - low) / width if width > 0 else np.inf
        edges = np.linspace(low, high, int(np.clip(np.ceil(wanted), 1, most)) + 1)
    else:
        return np.array([values.size]), np.array([low, low])
    return np.histogram(values, edges)[0], edges


def centres(edges: np.ndarray) -> np.ndarray:
    """The middle of each bin."""
    middle: np.ndarray = edges[:-1] + np.diff(edges) / 2
    return middle


def deconvolve(
    counts: np.ndarray,
    edges: np.ndarray,
    at: np.ndarray,
    noise: Distribution,
    *,
    tolerance: float = 0.2,
    most_steps: int = 2000,
) -> Density:
    """Probabilities of the grid points `at`, given how many noisy values fell between the edges.

    The first and the last bin are open: no noisy value lies outside.

    >>> coin = lambda t: (np.clip(np.floor(t), -2, 1) + 2) / 3  # the noise is -1, 0 or 1
    >>> counts, edges = np.array([1, 2, 2, 1]), np.array([-0.5, 0.5, 1.5, 2.5, 3.5])
    >>> found = deconvolve(counts, edges, np.arange(4.0), coin, tolerance=1e-9)
    >>> found.probability.round(2).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    limits = edges.astype(np.float64)
    limits[0], limits[-1] = -np.inf, np.inf
    with np.errstate(over="ignore"):
        reach = noise(limits[:, None] - at[None, :])
    given = np.clip(np.diff(reach, axis=0), 0.0, 1.0)
    seen = counts > 0
    given, found = given[seen], counts[seen].astype(np.float64)
    possible = given.max(axis=1) > 0
    if not possible.all():
        raise ValueError("some values are beyond the reach of the noise from every grid point")
    share = np.full(at.size, 1.0 / at.size)
    before, total = -np.inf, found.sum()
    for step in range(1, most_steps + 1):
        fitted = given @ share
        deviance = 2 * float(found @ np.log(fitted))
        if deviance - before < tolerance:
            return Density(at, share, step - 1, True)
        before = deviance
        share = share * (given.T @ (found / fitted)) / total
        share /= share.sum()
    return Density(at, share, most_steps, False)


def density(
    values: np.ndarray,
    noise: Distribution,
    deviation: float,
    *,
    whole: bool = False,
    back: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Density:
    """The distribution of x from the noisy values, where the noise has that standard deviation.

    `back` is increasing and leads from the values to x + e, where they were transformed after the
    noise was added; `deviation` is measured on the values as given. Whole numbers were rounded
    last.
    """
    counts, edges = bins(values, deviation / BINS_PER_DEVIATION, whole=whole)
    if counts.size == 1 or deviation <= 0:
        share = counts / counts.sum()
        where = centres(edges)
        return Density(where if back is None else back(where), share, 0, True)
    edges = edges if back is None else back(edges)
    return deconvolve(counts, edges, centres(edges), noise)
