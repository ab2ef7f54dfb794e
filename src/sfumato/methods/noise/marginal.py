"""Distribution functions of one column's noise, for deconvolution."""

from __future__ import annotations

import numpy as np

from ...kernels.statistics.deconvolution import Distribution


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
