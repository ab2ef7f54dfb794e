"""Chances that a value becomes another one, for each way of masking: square matrices over the bins
of one column, a row for what a value was.

Bins have shares of the release, in their order; ranks run from 0 to 1 over them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

POINTS = 5
"""Ranks within a bin at which a chance is taken that cannot be added up over the bin."""


def ends(shares: np.ndarray) -> np.ndarray:
    """The ranks at which bins begin and end."""
    found = np.concatenate(([0.0], np.cumsum(shares)))
    return np.asarray(found / max(found[-1], 1e-300))


def rows(weights: np.ndarray) -> np.ndarray:
    """Weights as chances; a row without any stays as it is."""
    total = weights.sum(axis=1, keepdims=True)
    stay: np.ndarray = np.eye(*weights.shape)
    np.divide(weights, total, out=stay, where=total > 0)
    return stay


def drawn_anew(shares: np.ndarray, rate: float) -> np.ndarray:
    """A share `rate` of the values is exchanged for any other record's."""
    return np.asarray((1.0 - rate) * np.eye(shares.size) + rate * shares[None, :])


def by_distance(shares: np.ndarray, twice: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Chances by how far apart two ranks are, added up over all pairs of ranks of two bins.

    `twice` is the chance of a distance integrated twice from 0, which makes the sum exact however
    the bins lie beside the distances.
    """
    at = ends(shares)
    found = twice(np.abs(at[:, None] - at[None, :]))
    sums = found[:-1, 1:] + found[1:, :-1] - found[:-1, :-1] - found[1:, 1:]
    # Where a bin is empty only rounding is left.
    sums[(shares[:, None] <= 0) | (shares[None, :] <= 0)] = 0.0
    return rows(np.maximum(sums, 0.0))


def swapped_within(shares: np.ndarray, width: float) -> np.ndarray:
    """Rank swapping: each rank not yet swapped is exchanged with a free one of the next `width`.

    Of the ranks ahead those near have been taken more often already, by the ones before. In the
    long run a rank at the distance d is free with probability 2^(d / width - 1), which therefore is
    the shape of the distances too, either way.

    >>> swapped_within(np.full(4, 0.25), 0.25).round(3).tolist()[1]
    [0.279, 0.443, 0.279, 0.0]
    """
    rate = np.log(2.0) / width

    def twice(d: np.ndarray) -> np.ndarray:
        near = np.minimum(d, width)
        return np.asarray(np.expm1(rate * near) / rate - near + np.maximum(d - width, 0.0))

    return by_distance(shares, twice)


def within_blocks(shares: np.ndarray, width: float) -> np.ndarray:
    """Any rank of the same block alike, where blocks this wide begin nobody knows where."""

    def twice(d: np.ndarray) -> np.ndarray:
        near = np.minimum(d, width)
        return np.asarray(
            near**2 / 2.0 - near**3 / (6.0 * width) + np.maximum(d - width, 0.0) * width / 2.0
        )

    return by_distance(shares, twice)


def at_distances(shares: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    """Ranks at normal distances, either way."""

    def twice(d: np.ndarray) -> np.ndarray:
        low, high = -mean / deviation, (d - mean) / deviation
        share = ndtr(high) - ndtr(low)
        peaks = np.exp(-(low**2) / 2.0) - np.exp(-(high**2) / 2.0)
        return np.asarray((d - mean) * share - deviation * peaks / np.sqrt(2.0 * np.pi))

    return by_distance(shares, twice)


def between_buckets(shares: np.ndarray, buckets: int, ratio: float) -> np.ndarray:
    """Ranks of buckets of equal length, less likely by `ratio` with each bucket in between.

    A value that is exchanged within its bucket takes two of it, and one that goes farther one of
    either side, so that to each side half as many go as the ratio says.
    """
    at, cuts = ends(shares), np.linspace(0.0, 1.0, buckets + 1)
    inside = np.minimum(at[1:, None], cuts[None, 1:]) - np.maximum(at[:-1, None], cuts[None, :-1])
    inside = np.maximum(inside, 0.0)
    apart = np.abs(np.subtract.outer(np.arange(buckets), np.arange(buckets)))
    return rows(inside @ np.where(apart > 0, ratio**apart / 2.0, 1.0) @ inside.T)


def normal(means: np.ndarray, deviation: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Normal numbers of these means and deviations, in bins with these edges."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (edges[None, :] - means[:, None]) / deviation[:, None]
    # Without deviation every number stays in its bin.
    below = (edges[None, :] >= means[:, None]).astype(np.float64)
    found = np.diff(np.where(deviation[:, None] > 0, ndtr(z), below), axis=1)
    return rows(np.maximum(found, 0.0))


def normal_scores(shares: np.ndarray, amount: float) -> np.ndarray:
    """Normal noise of this relative variance on normal scores, which is pulled back."""
    at = ends(shares)
    edges = np.concatenate(([-np.inf], ndtri(np.clip(at[1:-1], 1e-12, 1.0 - 1e-12)), [np.inf]))
    spread = np.full(shares.size, np.sqrt(amount / (1.0 + amount)))
    found = np.zeros((shares.size, shares.size))
    for inner in (np.arange(POINTS) + 0.5) / POINTS:
        ranks = at[:-1] + inner * np.diff(at)
        scores = ndtri(np.clip(ranks, 1e-9, 1.0 - 1e-9))
        found += normal(scores / np.sqrt(1.0 + amount), spread, edges)
    return np.asarray(found / POINTS)
