"""Taking noise out of a table by its principal components.

Noise that is independent from column to column spreads over all directions alike, while the data
lie along a few. In units of the noise the covariance is that of the data plus the identity, so a
direction of variance l carries l - 1 of data and 1 of noise. Keeping the directions with more data
than noise, l > 2, has the least squared error of all ways to keep and drop (Guo & Wu 2006, "On the
use of spectral filtering for privacy preserving data mining"); shrinking each by (l - 1) / l has
the least of all linear ones (Wiener; the Bayes estimate of Huang, Du & Chen 2005 for normal data).
The method is that of Kargupta, Datta, Wang & Sivakumar (2003), "On the privacy preserving
properties of random data perturbation techniques".
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from sfumato.kernels.arrays import Floats
from sfumato.kernels.statistics.covariance import moments

Rule = Literal["components", "wiener"]


class Filtered(NamedTuple):
    """What is left when the noise is taken out."""

    values: Floats
    """NaN where the noisy value is missing"""
    kept: Floats
    """the share of each direction that was kept, from the strongest direction on"""


def strip_noise(y: Floats, deviation: Floats, rule: Rule = "components") -> Filtered:
    """Estimate x from y = x + e, where e is independent from column to column and has the given
    standard deviations.

    A column without noise (deviation 0) is left as it is, and takes no part. A missing value counts
    as the mean of its column while directions are taken, and stays missing. The strongest direction
    is always kept: were all dropped, nothing would be left to tell records apart.

    >>> x = np.outer(np.arange(-50.0, 51.0), np.ones(8))
    >>> noise = 20.0 * np.random.default_rng(0).standard_normal(x.shape)
    >>> found = strip_noise(x + noise, np.full(8, 20.0))
    >>> found.kept.tolist(), round(float(np.std(found.values - x) / np.std(noise)), 2)
    ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.39)
    """
    noisy = deviation > 0
    out = np.array(y, np.float64)
    if not noisy.any() or len(y) < 2:
        return Filtered(out, np.ones(int(noisy.sum())))
    mean = moments(y[:, noisy])[0]
    z = (y[:, noisy] - mean) / deviation[noisy]
    variance, directions = np.linalg.eigh(moments(z)[1])
    # The strongest first.
    variance, directions = variance[::-1], directions[:, ::-1]
    if rule == "components":
        kept = (variance > 2.0).astype(np.float64)
        kept[0] = 1.0
    else:
        # Noise alone reaches this variance by chance (Marchenko & Pastur 1967).
        edge = (1.0 + np.sqrt(z.shape[1] / len(z))) ** 2
        kept = np.where(variance > edge, 1.0 - 1.0 / np.maximum(variance, 1.0), 0.0)
        kept[0] = 1.0 - 1.0 / max(float(variance[0]), 2.0)
    scores = np.where(np.isnan(z), 0.0, z) @ directions
    clean = mean + (scores * kept) @ directions.T * deviation[noisy]
    out[:, noisy] = np.where(np.isnan(z), np.nan, clean)
    return Filtered(out, kept)


def spread_in_groups(y: Floats) -> Floats:
    """How far values lie from the group means that replaced them, estimated from the means alone.

    The standard deviation by column of univariate microaggregation's error. A group of consecutive
    values reaches about half-way to the means beside it, and its values are taken as uniform in
    between: their variance is the width squared over 12. The outermost groups are taken to reach
    as far out as in.

    >>> round(float(spread_in_groups(np.repeat([1.0, 3.0, 5.0], 4)[:, None])[0]), 3)
    0.577
    """
    found = np.zeros(y.shape[1])
    for j in range(y.shape[1]):
        centres, counts = np.unique(y[~np.isnan(y[:, j]), j], return_counts=True)
        if centres.size < 2:
            continue
        gaps = np.diff(centres)
        width = (np.concatenate((gaps[:1], gaps)) + np.concatenate((gaps, gaps[-1:]))) / 2
        # In units of the widest: squares of very large or small numbers leave the floats.
        unit = float(width.max())
        found[j] = unit * np.sqrt(np.average((width / unit) ** 2, weights=counts) / 12)
    return found
