"""Where to cut numbers into ranges: equally wide, or equally frequent.

Cuts are printed, and must not tell more than where ranges begin. Equally wide ranges have round
widths and begin at multiples of them, so that they do not give away the extremes; a cut between two
neighbouring values is a number there with the fewest digits, not one of the two unless they are as
round as that.
"""

from __future__ import annotations

import math

import numpy as np

_NICE = (1.0, 2.0, 5.0)


def round_between(low: float, high: float) -> float:
    """A number with the fewest digits that is above `low` and at most `high`: the middle one.

    >>> round_between(27.31, 31.2), round_between(0.1234, 0.1239), round_between(-3.0, 8.0)
    (30.0, 0.1237, 0.0)
    """
    if low < 0 <= high or low == high == 0.0:
        return 0.0
    for power in range(math.ceil(math.log10(max(abs(low), abs(high)))) + 1, -308, -1):
        unit = 10.0 ** abs(power)
        scaled = (low / unit, high / unit) if power >= 0 else (low * unit, high * unit)
        first, last = math.floor(scaled[0]) + 1, math.floor(scaled[1])
        if first > last:
            continue
        middle = (first + last) // 2
        found = middle * unit if power >= 0 else middle / unit
        if low < found <= high:
            return found
    return high


def equal_width(low: float, high: float, bins: int, *, whole: bool = False) -> list[float]:
    """The cuts of about so many ranges of one round width, at its multiples.

    >>> equal_width(17.0, 93.0, 4, whole=True), equal_width(0.031, 0.097, 3)
    ([20.0, 40.0, 60.0, 80.0], [0.04, 0.06, 0.08])
    """
    raw = (high - low) / bins
    if not (raw > 0 and math.isfinite(raw)):
        return []
    power = 10.0 ** math.floor(math.log10(raw))
    width = min(
        (nice * power for nice in (*_NICE, 10.0)), key=lambda nice: abs(math.log(nice / raw))
    )
    if whole:
        width = max(1.0, width)
    first, last = math.floor(low / width) + 1, math.floor(high / width)
    digits = max(0, -math.floor(math.log10(width)))
    return [round(i * width, digits) for i in range(first, last + 1)]


def equal_frequency(weights: np.ndarray, bins: int) -> list[int]:
    """After which of the distinct rising values to cut, for at most so many ranges of about the
    same weight.

    `weights` is what each value weighs. Each cut is where the weight below it is nearest to its
    share; fewer ranges come out where one value weighs more than a share.

    >>> equal_frequency(np.array([1.0, 1.0, 1.0, 3.0]), 2)
    [2]
    """
    below = np.cumsum(weights)[:-1]
    if not below.size:
        return []
    shares = weights.sum() * np.arange(1, bins) / bins
    right = np.clip(np.searchsorted(below, shares), 0, below.size - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(shares - below[left] < below[right] - shares, left, right)
    return [int(i) for i in np.unique(nearest)]
