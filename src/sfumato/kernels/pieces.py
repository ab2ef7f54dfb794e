"""A density of pieces, uniform on each: what is fitted where no family of distributions does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Pieces(NamedTuple):
    """Intervals from `low` to `high`, each with its probability; low = high is a single value."""

    low: Floats
    high: Floats
    share: Floats


def fit_pieces(x: Floats, count: int, least: int = 1, *, whole: bool = False) -> Pieces:
    """About `count` pieces of equal weight over the values of x.

    A value that holds a piece's share of the records or more is a piece of its own. The others go
    together in order until a piece has its share, and `least` records. Such a piece reaches
    half-way to the values next to it; the ends are the least and the largest value. For whole
    numbers a piece runs from its first number to its last, and those between are equally likely.

    >>> found = fit_pieces(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]), 4)
    >>> found.low.tolist(), found.high.tolist(), (found.share * 7).round().tolist()
    ([0.0, 0.5, 2.5], [0.0, 2.5, 4.0], [3.0, 2.0, 2.0])
    """
    values, counts = np.unique(x, return_counts=True)
    share = max(x.size / count, float(least))
    heavy = counts >= share
    bounds = [0]
    start = 0
    # A run ends before and after each heavy value, and at the end.
    for end in np.flatnonzero(np.concatenate((heavy[1:] | heavy[:-1], [True]))).tolist():
        upto = np.cumsum(counts[start : end + 1])
        held = 0
        while upto[-1] - held >= 2 * share and not heavy[start]:
            at = int(np.searchsorted(upto, held + share))
            held = int(upto[at])
            if upto[-1] - held < least:
                break
            bounds.append(start + at + 1)
        bounds.append(end + 1)
        start = end + 1
    cuts = np.unique(bounds)
    first, last = cuts[:-1], cuts[1:] - 1
    low, high = values[first].copy(), values[last].copy()
    if not whole:
        spread = ~heavy[first]
        middle = low[1:] / 2 + high[:-1] / 2
        high[:-1] = np.where(spread[:-1], middle, high[:-1])
        low[1:] = np.where(spread[1:], middle, low[1:])
    return Pieces(low, high, np.add.reduceat(counts, first) / x.size)


def draw_pieces(pieces: Pieces, n: int, rng: np.random.Generator, *, whole: bool = False) -> Floats:
    """n numbers: a piece by its share, then a number anywhere in it."""
    upto = np.cumsum(pieces.share)
    at = np.minimum(np.searchsorted(upto, rng.random(n) * upto[-1], "right"), upto.size - 1)
    low, high = pieces.low[at], pieces.high[at]
    u = rng.random(n)
    if whole:
        return np.minimum(np.floor(low + u * (high - low + 1)), high)
    drawn: Floats = low * (1 - u) + high * u
    return drawn
