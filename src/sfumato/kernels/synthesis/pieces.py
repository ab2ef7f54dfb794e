"""A density of pieces, uniform on each: what is fitted where no family of distributions does."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Pieces(NamedTuple):
    """Intervals from `low` to `high`, each with its probability; low = high is a single value."""

    low: Floats
    high: Floats
    share: Floats


@dataclass(slots=True)
class _Run:
    """Neighbouring values while pieces are made of them."""

    low: float
    high: float
    records: int
    single: bool
    """A heavy value, which is a piece of its own."""


def fit_pieces(x: Floats, count: int, least: int = 1, *, whole: bool = False) -> Pieces:
    """About `count` pieces of equal weight over the values of x, each of `least` records or more.

    A value that holds a piece's share of the records or more is a piece of its own. The others go
    together in order until a piece has its share, and `least` records. Such a piece reaches
    half-way to the piece next to it, or as far as a value that is a piece of its own; the ends are
    the least and the largest value. For whole numbers a piece runs from its first number to its
    last, and those between are equally likely.

    The records between two heavy values, or beyond the last, may be fewer than `least`. Their piece
    then takes in as many records of the heavy values beside it as it lacks, and reaches from the
    one to the other, so that a lone value is not drawn as itself; where those have none to spare,
    the smaller goes into it as a whole. Fewer than `least` numbers in all are a single piece.

    >>> found = fit_pieces(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]), 4)
    >>> found.low.tolist(), found.high.tolist(), (found.share * 7).round().tolist()
    ([0.0, 0.0, 2.5], [0.0, 2.5, 4.0], [3.0, 2.0, 2.0])
    >>> found = fit_pieces(np.array([0.0] * 9 + [7.25] + [10.0] * 20), 4, 3)
    >>> found.low.tolist(), found.high.tolist(), (found.share * 30).round().tolist()
    ([0.0, 0.0, 10.0], [0.0, 10.0, 10.0], [9.0, 3.0, 18.0])
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
    runs = [
        _Run(float(values[a]), float(values[b]), int(held), bool(heavy[a]))
        for a, b, held in zip(first, last, np.add.reduceat(counts, first), strict=True)
    ]
    _fill(runs, least)
    if not whole:
        _close_gaps(runs)
    made = np.array([(run.low, run.high, run.records) for run in runs])
    return Pieces(made[:, 0], made[:, 1], made[:, 2] / x.size)


def _fill(runs: list[_Run], least: int) -> None:
    """Give every run `least` records, from the heavy values beside it or together with a run."""
    while len(runs) > 1 and min(run.records for run in runs) < least:
        at = next(i for i, run in enumerate(runs) if run.records < least)
        run = runs[at]
        beside = [runs[i] for i in (at - 1, at + 1) if 0 <= i < len(runs)]
        spare = [one.records - least if one.single else 0 for one in beside]
        if run.records + sum(spare) < least:
            other = min(beside, key=lambda one: one.records)
            run.records += other.records
            taken = [other]
            runs.remove(other)
        else:
            taken = [one for one in beside if one.single]
            for one, most in sorted(zip(beside, spare, strict=True), key=lambda pair: -pair[1]):
                given = min(most, least - run.records)
                one.records -= given
                run.records += given
        run.low = min(run.low, *(one.low for one in taken))
        run.high = max(run.high, *(one.high for one in taken))


def _close_gaps(runs: list[_Run]) -> None:
    """Let neighbours meet: half-way, or at the heavy value that one of them is. Half-way to a heavy
    value, which everybody knows, would tell the value on the other side."""
    for one, other in itertools.pairwise(runs):
        if one.single:
            edge = one.high
        else:
            edge = other.low if other.single else one.high / 2 + other.low / 2
        if not one.single:
            one.high = edge
        if not other.single:
            other.low = edge


def draw_pieces(pieces: Pieces, n: int, rng: np.random.Generator, *, whole: bool = False) -> Floats:
    """n numbers: a piece by its share, then a number anywhere in it."""
    upto = np.cumsum(pieces.share)
    at = np.minimum(np.searchsorted(upto, rng.random(n) * upto[-1], "right"), upto.size - 1)
    low, high = pieces.low[at], pieces.high[at]
    u = rng.random(n)
    if whole:
        return np.minimum(np.floor(low + u * (high - low + 1)), high)
    return low * (1 - u) + high * u
