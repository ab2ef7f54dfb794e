"""Covariances of small groups, drawn towards the one that they have in common.

Ledoit & Wolf (2003), "Improved estimation of the covariance matrix of stock returns", Journal of
Empirical Finance 10(5), and (2004), "A well-conditioned estimator for large-dimensional covariance
matrices", Journal of Multivariate Analysis 88(2): of all (1 - d) S + d T the one with the least
expected squared error has d = E|S - E S|^2 / E|S - T|^2, both of which the sample estimates. Here T
is the pooled covariance within the groups and d is one for all of them, so that the covariances
still sum to what they summed to: shrinking moves covariance between groups and adds none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Shrunk(NamedTuple):
    """What group covariances are drawn to, and how far."""

    share: float
    """0: each keeps its own; 1: all have the pooled one."""
    pooled: np.ndarray


def towards_pooled(groups: Sequence[np.ndarray], divisors: Sequence[float]) -> Shrunk:
    """The pooled covariance of groups, arrays (g, size, p) of deviations from the groups' means,
    and how far Ledoit & Wolf draw each to it. Of two records nothing can be estimated: such groups
    take the share that the others have, or the pooled covariance itself.

    >>> towards_pooled([np.array([[[1.0], [-1.0]], [[2.0], [-2.0]]])], [1.0])
    Shrunk(share=1.0, pooled=array([[5.]]))
    """
    weight = sum(len(dev) * divisor for dev, divisor in zip(groups, divisors, strict=True))
    scatter = np.array([np.einsum("gni,gnj->ij", dev, dev) for dev in groups])
    pooled: np.ndarray = scatter.sum(axis=0) / weight
    noise = gap = 0.0
    for dev, divisor in zip(groups, divisors, strict=True):
        if dev.shape[1] > 2:
            noise += float(error_of(dev).sum())
            own = dev.transpose(0, 2, 1) @ dev / divisor
            gap += float(((own - pooled) ** 2).sum())
    return Shrunk(min(noise / gap, 1.0) if gap > 0 else 1.0, pooled)


def error_of(deviations: np.ndarray) -> np.ndarray:
    """Ledoit & Wolf's estimate of E|S - E S|^2 for each group: (1/n^2) sum |z z' - S|^2."""
    n = deviations.shape[1]
    own = deviations.transpose(0, 2, 1) @ deviations / n
    lengths = (deviations**2).sum(axis=2) ** 2  # |z z'|^2
    found: np.ndarray = (lengths.sum(axis=1) - n * (own**2).sum(axis=(1, 2))) / n**2
    return np.maximum(found, 0.0)
