"""The distribution behind noisy values, by expectation maximization.

Where y = x + e and the distribution of e is known, the distribution of x is estimated on a grid:
each step gives every grid point the mean posterior probability that a noisy value stems from it
(Agrawal & Srikant 2000, "Privacy-preserving data mining"; Agrawal & Aggarwal 2001, "On the design
and quantification of privacy preserving data mining algorithms", who show that this is EM and that
it climbs to the maximum likelihood). Values are counted in bins first, so that a step costs bins
times grid points, however many records there are.

The maximum itself is no good estimate: with ever more steps the distribution breaks up into spikes
that fit the accidents of the sample. So the climb is stopped where a step gains next to nothing:
twice the log-likelihood grows by about 1 for a parameter that fits nothing but chance, and a step
that gains less than `tolerance` (0.2) of that has no more to tell.

Bins are as fine as the noise asks for while they are few enough. Heavy tails, or noise that is
small beside the range, would take more: the bins are then narrow where the values crowd and wide
where they are few (see `bins`), and `Density.coarse` says where that was not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappush, heapreplace
from typing import NamedTuple

import numpy as np

MOST_BINS = 512
BINS_PER_DEVIATION = 4
"""A normal distribution is smooth on a quarter of its deviation."""
_COARSE = 0.5
"""Deviations beyond which a bin no longer shows what the noise did within it."""
_MOST_COARSE = 0.1
"""Share of the values that may lie in such bins (a tail) before it must be said."""
_FINEST = 2**40
"""Parts of the range that are told apart: an index of them is exact in floating point."""

Distribution = Callable[[np.ndarray], np.ndarray]
"""The distribution function of the noise."""


class Density(NamedTuple):
    """An estimated distribution, and how the estimation ended."""

    at: np.ndarray
    probability: np.ndarray
    steps: int
    converged: bool
    coarse: bool = False
    """Whether so many values lie in bins wider than the noise that the noisy values themselves
    may show the distribution better."""


def bins(
    values: np.ndarray, width: float, *, whole: bool = False, most: int = MOST_BINS
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the values in bins of about that width, and the bins' edges; of whole numbers the
    edges lie half-way between them.

    Where that takes more than `most` bins they differ in width: from the whole range on, the bin
    with the largest product of count and width is halved, until there are so many. The widths then
    go by the density to the power -1/2, for which the mean distance of a value to the middle of its
    bin is the least. None is narrower than asked for.

    >>> bins(np.array([1.0, 1.0, 3.0]), 0.1, whole=True)
    (array([2, 0, 1]), array([0.5, 1.5, 2.5, 3.5]))
    >>> bins(np.array([0.0, 1.0, 2.0, 8.0]), 1.0, most=4)[1].tolist()
    [0.0, 1.0, 2.0, 4.0, 8.0]
    """
    low, high = float(values.min()), float(values.max())
    if whole:
        step = float(np.ceil(max(1.0, width, (high - low + 1) / _FINEST)))
        start, parts = low - 0.5, int(np.ceil((high - low + 1) / step))
    elif high > low:
        wanted = (high - low) / width if width > 0 else np.inf
        parts = int(np.clip(np.ceil(wanted), 1, _FINEST))
        start, step = low, (high - low) / parts
    else:
        return np.array([values.size]), np.array([low, low])
    at = np.arange(parts + 1) if parts <= most else _halved(values, start, step, parts, most)
    edges = start + step * at
    if not whole:
        edges[-1] = high  # which rounding must not leave outside
    edges = np.unique(edges)
    return np.histogram(values, edges)[0], edges


def _halved(values: np.ndarray, start: float, step: float, parts: int, most: int) -> np.ndarray:
    """Which of the `parts` + 1 edges to keep, so that they bound `most` bins."""
    place = np.sort(np.clip(np.floor((values - start) / step), 0, parts - 1))
    heap = [(-float(values.size) * parts, 0, parts)]
    edges = [0, parts]
    while len(edges) <= most and heap[0][0] < 0:
        _, first, last = heap[0]
        middle = (first + last) // 2
        edges.append(middle)
        before, inside, after = np.searchsorted(place, [first, middle, last])
        halves = [
            # A bin of one part is not divided any more.
            (-float(count) * (end - begin) if end - begin > 1 else 0.0, begin, end)
            for begin, end, count in (
                (first, middle, inside - before),
                (middle, last, after - inside),
            )
        ]
        heapreplace(heap, halves[0])
        heappush(heap, halves[1])
    return np.sort(np.array(edges, dtype=np.float64))


def centres(edges: np.ndarray) -> np.ndarray:
    """The middle of each bin."""
    return edges[:-1] + np.diff(edges) / 2


def places(values: np.ndarray, edges: np.ndarray, width: float) -> np.ndarray:
    """A grid point for each bin: its middle; for a bin wider than `width` the mean of the values
    in it, since these may all lie to one side."""
    at = centres(edges)
    wide = np.diff(edges) > width
    if not wide.any():
        return at
    owner = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, at.size - 1)
    count = np.bincount(owner, minlength=at.size)
    # Distances from the middle, so that no sum overflows or loses digits.
    off = np.bincount(owner, weights=values - at[owner], minlength=at.size)
    return np.where(wide & (count > 0), at + off / np.maximum(count, 1), at)


def is_coarse(counts: np.ndarray, edges: np.ndarray, deviation: float) -> bool:
    """Whether too many values lie in bins that are wide beside the noise."""
    wide = np.diff(edges) > _COARSE * deviation * (1 + 1e-9)
    return bool(counts[wide].sum() > _MOST_COARSE * counts.sum())


def deconvolve(
    counts: np.ndarray,
    edges: np.ndarray,
    at: np.ndarray,
    noise: Distribution,
    *,
    tolerance: float = 0.2,
    most_steps: int = 2000,
) -> Density:
    """Probabilities of the grid points `at`, given how many noisy values fell between the edges.

    The first and the last bin are open: no noisy value lies outside.

    >>> coin = lambda t: (np.clip(np.floor(t), -2, 1) + 2) / 3  # the noise is -1, 0 or 1
    >>> counts, edges = np.array([1, 2, 2, 1]), np.array([-0.5, 0.5, 1.5, 2.5, 3.5])
    >>> found = deconvolve(counts, edges, np.arange(4.0), coin, tolerance=1e-9)
    >>> found.probability.round(2).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    limits = edges.astype(np.float64)
    limits[0], limits[-1] = -np.inf, np.inf
    with np.errstate(over="ignore"):
        reach = noise(limits[:, None] - at[None, :])
    given = np.clip(np.diff(reach, axis=0), 0.0, 1.0)
    seen = counts > 0
    given, found = given[seen], counts[seen].astype(np.float64)
    possible = given.max(axis=1) > 0
    if not possible.all():
        raise ValueError("some values are beyond the reach of the noise from every grid point")
    share = np.full(at.size, 1.0 / at.size)
    before, total = -np.inf, found.sum()
    for step in range(1, most_steps + 1):
        fitted = given @ share
        deviance = 2 * float(found @ np.log(fitted))
        if deviance - before < tolerance:
            return Density(at, share, step - 1, True)
        before = deviance
        share = share * (given.T @ (found / fitted)) / total
        share /= share.sum()
    return Density(at, share, most_steps, False)


def density(
    values: np.ndarray,
    noise: Distribution,
    deviation: float,
    *,
    whole: bool = False,
    back: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Density:
    """The distribution of x from the noisy values, where the noise has that standard deviation.

    `back` is increasing and leads from the values to x + e, where they were transformed after the
    noise was added; `deviation` is measured on the values as given. Whole numbers were rounded
    last.
    """
    width = deviation / BINS_PER_DEVIATION
    counts, edges = bins(values, width, whole=whole)
    at = places(values, edges, max(width * _COARSE * BINS_PER_DEVIATION, 1.0 if whole else 0.0))
    if counts.size == 1 or deviation <= 0:
        share = counts / counts.sum()
        return Density(at if back is None else back(at), share, 0, True)
    # Whole numbers cannot be told apart any finer, and no bin of theirs is too coarse.
    coarse = is_coarse(counts, edges, max(deviation, 2.0 if whole else 0.0))
    if back is not None:
        edges, at = back(edges), back(at)
    return deconvolve(counts, edges, at, noise)._replace(coarse=coarse)


def in_order(values: np.ndarray, at: Sequence[float], probability: Sequence[float]) -> np.ndarray:
    """The values of a distribution in place of noisy ones, in their order: the least noisy value
    becomes the least (Agrawal & Srikant 2000). A missing one (NaN) stays missing.

    >>> in_order(np.array([9.0, -3.0, 4.0, 5.0]), [0.0, 1.0], [0.5, 0.5]).tolist()
    [1.0, 0.0, 0.0, 1.0]
    """
    made = values.copy()
    present = np.flatnonzero(~np.isnan(values))
    if present.size:
        order = present[np.argsort(values[present], kind="stable")]
        middles = (np.arange(order.size) + 0.5) / order.size
        place = np.searchsorted(np.cumsum(probability), middles)
        made[order] = np.asarray(at)[np.minimum(place, len(at) - 1)]
    return made
