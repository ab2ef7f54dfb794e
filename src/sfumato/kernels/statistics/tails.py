"""An empirical distribution turned round, with smooth tails.

The largest values of a column are those of known people. Beyond a share of the records at either
end the distribution is that of Pareto's generalized law, whose mean excess is the tail's own, with
the shape by probability weighted moments (Hosking & Wallis 1987, Parameter and quantile estimation
for the generalized Pareto distribution, Technometrics 29).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .scores import from_uniform

LEAST = 10
"""Records that a tail is fitted to where there are enough."""
FEWEST = 3
"""No tail is fitted to fewer."""
_STEEPEST = 0.75
"""A heavier tail would have draws beyond all reason, though it still has a mean."""


class Tail(NamedTuple):
    """Excesses over a threshold: scale ((1 - u)^-shape - 1) / shape."""

    threshold: float
    scale: float
    shape: float

    def excess(self, left: np.ndarray) -> np.ndarray:
        """The excess that a share `left` of the tail's records surpass."""
        if abs(self.shape) < 1e-9:
            return np.asarray(-self.scale * np.log(left))
        return np.asarray(self.scale * (left**-self.shape - 1.0) / self.shape)


def fit_tail(excesses: np.ndarray, threshold: float) -> Tail:
    """The law of sorted excesses; its mean is theirs."""
    mean = float(excesses.mean())
    if not mean > 0:
        return Tail(threshold, 0.0, 0.0)
    c = excesses.size
    weighted = float(((1.0 - (np.arange(1, c + 1) - 0.35) / c) * excesses).mean())
    gap = mean - 2.0 * weighted
    shape = 2.0 - mean / gap if gap > 0 else -1.0
    shape = float(np.clip(shape, -1.0, _STEEPEST))
    return Tail(threshold, mean * (1.0 - shape), shape)


def tail_size(m: int, share: float) -> int:
    """How many of m values make a tail; 0 where there are too few."""
    if share <= 0:
        return 0
    size = min(max(int(np.ceil(share * m)), LEAST), m // 4)
    return size if size >= FEWEST else 0


def inverse(
    u: np.ndarray, x: np.ndarray, *, interpolate: bool = True, tail: float = 0.0
) -> np.ndarray:
    """The distribution of x inverted at u, by straight lines between its values or by its values
    alone, and in the tails (a share `tail` of the values at either end) by a fitted law.

    Where x has no negative number, none is made.
    """
    found = from_uniform(u, x, interpolate=interpolate)
    values = np.sort(x[~np.isnan(x)])
    size = tail_size(values.size, tail)
    if not size:
        return found
    share = size / values.size
    # Where the middle ends, so that the tails go on from there.
    low, high = from_uniform(np.array([share, 1.0 - share]), x, interpolate=interpolate).tolist()
    upper = fit_tail(values[-size:] - high, high)
    lower = fit_tail((low - values[:size])[::-1], low)
    top, bottom = u > 1.0 - share, u < share
    found[top] = upper.threshold + upper.excess((1.0 - u[top]) / share)
    found[bottom] = lower.threshold - lower.excess(u[bottom] / share)
    if values[0] >= 0:
        found[bottom] = np.maximum(found[bottom], 0.0)
    return found
