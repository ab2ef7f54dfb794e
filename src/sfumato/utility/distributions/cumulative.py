"""Distances between the distribution of some values and one that may be known by intervals only.

A published interval tells that its value is somewhere inside; the usual reading spreads it evenly.
Then the masked distribution function is a sum of jumps (at values) and of ramps (over intervals),
while the original's has jumps alone, and both distances have closed forms: nothing is sampled and
no grid is laid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, eq=False)
class Spread:
    """Mass at points, and mass spread evenly over intervals. Weights add up to 1.

    On a scale of whole steps an interval [a, b] holds the b - a + 1 whole numbers from a to b.
    """

    points: np.ndarray
    point_weights: np.ndarray
    low: np.ndarray
    high: np.ndarray
    interval_weights: np.ndarray
    whole: bool = False

    @staticmethod
    def of(values: np.ndarray) -> Spread:
        """Equal weights at the values."""
        points, counts = np.unique(values, return_counts=True)
        nothing = np.zeros(0)
        return Spread(points, counts / values.size, nothing, nothing, nothing)

    @property
    def _ramps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start, end and slope of each ramp of the distribution function.

        The ramp from a - 1 to b passes, at the whole numbers, through the steps of an even spread
        over a..b.
        """
        start = self.low - 1.0 if self.whole else self.low
        return start, self.high, self.interval_weights / (self.high - start)

    def at(self, x: np.ndarray) -> np.ndarray:
        """The share of the mass at or below each x."""
        jumped = _jumps(self.points, self.point_weights, x, "right")
        return np.add(jumped, self._ramped(x))

    def just_below(self, x: np.ndarray) -> np.ndarray:
        """The share of the mass below each x (each a whole number, on a scale of whole steps)."""
        jumped = _jumps(self.points, self.point_weights, x, "left")
        return np.add(jumped, self._ramped(x - 1.0 if self.whole else x))

    def _ramped(self, x: np.ndarray) -> np.ndarray:
        if not self.low.size:
            return np.zeros(x.size)
        start, end, slope = self._ramps
        return _rising(start, slope, x) - _rising(end, slope, x)

    def breaks(self) -> np.ndarray:
        """Where the distribution function changes its course."""
        start, end, _ = self._ramps
        return np.concatenate((self.points, start, end))


def _jumps(
    points: np.ndarray, weights: np.ndarray, x: np.ndarray, side: Literal["left", "right"]
) -> np.ndarray:
    order = np.argsort(points)
    running = np.concatenate(([0.0], np.cumsum(weights[order])))
    return running[np.searchsorted(points[order], x, side=side)]


def _rising(starts: np.ndarray, slopes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum over the ramps that have started of slope times the way since the start."""
    # Distances from a common origin keep the two sums small beside one another.
    origin = float(starts.min())
    order = np.argsort(starts)
    slope = np.concatenate(([0.0], np.cumsum(slopes[order])))
    lead = np.concatenate(([0.0], np.cumsum((slopes * (starts - origin))[order])))
    began = np.searchsorted(starts[order], x, side="right")
    return slope[began] * (x - origin) - lead[began]


def kolmogorov_smirnov(values: np.ndarray, other: Spread) -> float:
    """The largest difference between the distribution function of the values and the other one.

    Between two values the first stands still and the other never falls, so that it is enough to
    look at each value and just below it.
    """
    found = Spread.of(values)
    x = found.points
    upto = np.cumsum(found.point_weights)
    before = np.concatenate(([0.0], upto[:-1]))
    apart = max(np.abs(upto - other.at(x)).max(), np.abs(before - other.just_below(x)).max())
    return float(min(apart, 1.0))


def wasserstein(values: np.ndarray, other: Spread) -> float:
    """The area between the two distribution functions: how far the mass has to move, on average."""
    found = Spread.of(values)
    x = np.unique(np.concatenate((found.points, other.breaks())))
    if x.size < 2:
        return 0.0
    left = found.at(x[:-1]) - other.at(x[:-1])
    if other.whole and other.low.size:
        return _steps(left, found, other, x)
    right = found.at(x[:-1]) - other.just_below(x[1:])
    width = np.diff(x)
    crosses = left * right < 0
    with np.errstate(invalid="ignore", divide="ignore"):
        triangles = (left**2 + right**2) / (2.0 * np.abs(right - left))
    return float((np.where(crosses, triangles, np.abs(left + right) / 2.0) * width).sum())


def _steps(left: np.ndarray, found: Spread, other: Spread, x: np.ndarray) -> float:
    """The same on whole numbers: both functions stand still from one to the next.

    Over a stretch of n steps the difference runs left, left + s, left + 2s ...: two arithmetic
    series, before and after it changes its sign.
    """
    count = np.diff(x)
    last = found.at(x[1:] - 1.0) - other.at(x[1:] - 1.0)
    step = np.where(count > 1, (last - left) / np.maximum(count - 1.0, 1.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = np.where(left * last < 0, np.ceil(-left / step), count)
    turn = np.clip(turn, 0.0, count)
    first_part = turn * left + step * turn * (turn - 1.0) / 2.0
    rest = count - turn
    second_part = rest * (left + step * turn) + step * rest * (rest - 1.0) / 2.0
    return float((np.abs(first_part) + np.abs(second_part)).sum())
