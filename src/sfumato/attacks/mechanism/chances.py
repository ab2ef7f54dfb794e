"""Chances that a value becomes another one, for each way of masking: square matrices over the bins
of one column, a row for what a value was.

Bins have shares of the release, in their order; ranks run from 0 to 1 over them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

POINTS = 5
"""Ranks within a bin at which a chance that depends on ranks is taken."""


def ends(shares: np.ndarray) -> np.ndarray:
    """The ranks at which bins begin and end."""
    found = np.concatenate(([0.0], np.cumsum(shares)))
    return found / max(found[-1], 1e-300)


def rows(weights: np.ndarray) -> np.ndarray:
    """Weights as chances; a row without any stays as it is."""
    total = weights.sum(axis=1, keepdims=True)
    stay = np.eye(*weights.shape)
    return np.divide(weights, total, out=stay, where=total > 0)


def drawn_anew(shares: np.ndarray, rate: float) -> np.ndarray:
    """A share `rate` of the values is exchanged for any other record's."""
    return (1.0 - rate) * np.eye(shares.size) + rate * shares[None, :]


def within_ranks(shares: np.ndarray, width: float) -> np.ndarray:
    """Any rank within `width` of the own one alike.

    >>> within_ranks(np.full(4, 0.25), 0.25).round(3).tolist()[1]
    [0.25, 0.5, 0.25, 0.0]
    """
    at = ends(shares)
    low, high = at[:-1], at[1:]

    def up_to(step: float) -> np.ndarray:
        """Pairs of ranks of two bins of which the second exceeds the first by `step` at most."""

        def half(z: np.ndarray) -> np.ndarray:
            return np.asarray(np.maximum(z, 0.0) ** 2 / 2.0)

        a0, a1 = low[:, None] + step, high[:, None] + step
        return half(a1 - low) - half(a0 - low) - half(a1 - high) + half(a0 - high)

    return rows(np.maximum(up_to(width) - up_to(-width), 0.0))


def by_distance(shares: np.ndarray, chance: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Chances by how far apart two ranks are."""
    at = ends(shares)
    inner = (np.arange(POINTS) + 0.5) / POINTS
    points = at[:-1, None] + inner * np.diff(at)[:, None]
    found = np.zeros((shares.size, shares.size))
    for k in range(POINTS):
        for other in range(POINTS):
            found += chance(np.abs(points[:, k, None] - points[None, :, other]))
    return rows(found * shares[None, :])


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
    scores = ndtri(np.clip((at[:-1] + at[1:]) / 2.0, 1e-9, 1.0 - 1e-9))
    edges = np.concatenate(([-np.inf], ndtri(np.clip(at[1:-1], 1e-12, 1.0 - 1e-12)), [np.inf]))
    spread = np.full(shares.size, np.sqrt(amount / (1.0 + amount)))
    return normal(scores / np.sqrt(1.0 + amount), spread, edges)
