"""Where the data lie and how they spread, and how one column's noise is distributed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels.statistics.covariance import moments, root
from ...kernels.statistics.deconvolution import Distribution

WIDTHS = 2.0**0.125
"""By how much the next wider noise is wider, where noise is to last."""
_NO_NOISE = 1e-13
"""Share of the variance below which a direction of the data is an exact linear relation."""


class Shape(NamedTuple):
    """Means, deviations and correlations over the values that are present.

    Each column is measured in a unit of its own, a power of two near its largest value: dividing by
    it is exact, and squares neither overflow nor vanish.
    """

    unit: np.ndarray
    mean: np.ndarray
    """In units."""
    deviation: np.ndarray
    """In units; zero where a column does not vary."""
    root: np.ndarray
    """(p, r): root root^T is the correlation matrix, r its rank."""
    repaired: bool
    """Whether the correlations of present pairs were those of no data, and had to be mended."""

    def standardized(self, x: np.ndarray) -> np.ndarray:
        """The values as z-scores; zero where a column does not vary."""
        spread = np.where(self.deviation > 0, self.deviation, 1.0)
        found: np.ndarray = (x / self.unit - self.mean) / spread
        return found

    @property
    def symmetric(self) -> np.ndarray:
        """(p, p): the symmetric root of the correlation matrix, which varies smoothly with it."""
        axes = self.root / np.linalg.norm(self.root, axis=0)
        found: np.ndarray = self.root @ axes.T
        return found


def shape_of(x: np.ndarray) -> Shape:
    """The shape of float64 (n, p), NaN where missing."""
    unit = units(x)
    return shaped(unit, *moments(x / unit))


def shaped(unit: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> Shape:
    """The shape of data with these moments, in units."""
    deviation = np.sqrt(np.diag(covariance))
    # A constant whose mean cannot be written exactly leaves dust, which must not become noise.
    deviation = np.where(deviation > 1e-14 * np.abs(mean), deviation, 0.0)
    scale = np.where(deviation > 0, deviation, 1.0)
    correlation = covariance / np.outer(scale, scale)
    correlation[deviation == 0, :] = correlation[:, deviation == 0] = 0.0
    made, repaired = correlation_root(correlation)
    return Shape(unit, mean, deviation, made, repaired)


def next_width(deviation: np.ndarray) -> np.ndarray:
    """The next of few deviations, at or above each; zero stays.

    >>> next_width(np.array([0.0, 1.0, 1.01, 1.08])).round(3).tolist()
    [0.0, 1.0, 1.091, 1.091]
    """
    above = np.where(deviation > 0, deviation, 1.0)
    return np.where(deviation > 0, WIDTHS ** np.ceil(np.log2(above) * 8 - 1e-9), 0.0)


def units(x: np.ndarray) -> np.ndarray:
    """For each column the power of two at or below its largest absolute value; 1 for zeros."""
    return units_below(np.where(np.isnan(x), 0.0, np.abs(x)).max(axis=0, initial=0.0))


def units_below(largest: np.ndarray) -> np.ndarray:
    """The powers of two at or below these numbers; 1 for zeros."""
    return np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)


def correlation_root(correlation: np.ndarray) -> tuple[np.ndarray, bool]:
    """(p, r) with root root^T = correlation, and whether it had to be mended.

    Correlations over different pairs of present values may fit no data at all. The nearest that
    do have variances above 1; they are brought back to 1, so that each column gets its due.
    """
    full = root(correlation)
    kept = full[:, (full**2).sum(axis=0) > _NO_NOISE]
    # An eigenvector's sign is left open; fixed, the same seed gives the same noise everywhere.
    size = np.abs(kept)
    leading = np.argmax(size > (1 - 1e-6) * size.max(axis=0, initial=0.0), axis=0)
    kept = kept * np.sign(kept[leading, np.arange(kept.shape[1])])
    reached = (kept**2).sum(axis=1)
    wanted = np.diag(correlation)
    repaired = bool((np.abs(reached - wanted) > 1e-6).any())
    scale = np.sqrt(np.where(reached > 0, wanted / np.where(reached > 0, reached, 1.0), 0.0))
    return kept * scale[:, None], repaired


def normal(variance: float, mean: float = 0.0) -> Distribution:
    """Of N(mean, variance)."""
    from scipy.special import ndtr

    deviation = np.sqrt(max(variance, 0.0)) or 1.0
    return lambda t: np.asarray(ndtr((t - mean) / deviation))


def mixture(weights: np.ndarray, means: np.ndarray, variance: float) -> Distribution:
    """Of a mixture of normal distributions with one variance."""
    from scipy.special import ndtr

    deviation = np.sqrt(variance)

    def function(t: np.ndarray) -> np.ndarray:
        found = np.zeros(np.shape(t))
        for weight, mean in zip(weights, means, strict=True):
            found += weight * ndtr((t - mean) / deviation)
        return found

    return function
