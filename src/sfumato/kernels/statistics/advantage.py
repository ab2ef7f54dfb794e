"""What an attack gains by people being in the data, with its uncertainty.

A guess that is right for a share s_in of the people in the data and for s_out of others has the
advantage (s_in - s_out) / (1 - s_out): of what others leave to be guessed, how much more it gets.
A claim of membership has the advantage TPR - FPR. (Giomi, Boenisch, Wehmeyer & Tasnadi 2023; Yeom,
Giacomelli, Fredrikson & Jha 2018)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Floats

CONFIDENCE = 0.95
_QUANTILE = 1.959963984540054


class Advantage(NamedTuple):
    """An advantage and its standard error."""

    inside: float
    """share of successes among people in the data"""
    outside: float
    """among others, as far as both groups are equally easy to guess"""
    value: float
    error: float
    counts: tuple[int, int, int, int] | None = None
    """Successes and attempts inside, then outside, where nothing but these counts."""

    def upper(self, level: float = CONFIDENCE) -> float:
        """The one-sided upper confidence bound."""
        return self.value + normal_quantile(level) * self.error

    def lower(self, level: float = CONFIDENCE) -> float:
        """The one-sided lower confidence bound."""
        return self.value - normal_quantile(level) * self.error

    @property
    def chance(self) -> float:
        """How often as many more would succeed inside by chance alone: Fisher's exact test, since
        normal errors are too small where nearly all succeed, or nearly nobody. 0 where no counts
        are known."""
        if self.counts is None:
            return 0.0
        from scipy.stats import hypergeom

        hits, n, others, m = self.counts
        return float(hypergeom.sf(hits - 1, n + m, hits + others, n))

    @property
    def interval(self) -> tuple[float, float]:
        """The two-sided interval at 95 %."""
        half = _QUANTILE * self.error
        return self.value - half, self.value + half


def wilson(hits: float, n: int, z: float = _QUANTILE) -> tuple[float, float]:
    """Wilson's estimate of a share and its half-width.

    >>> [round(x, 4) for x in wilson(0, 100)]
    [0.0185, 0.0185]
    """
    centre = (hits + z * z / 2) / (n + z * z)
    half = z * math.sqrt(max(hits * (n - hits), 0.0) / n + z * z / 4) / (n + z * z)
    return centre, half


def advantage(
    inside: Floats,
    outside: Floats,
    easy_inside: Floats | None = None,
    easy_outside: Floats | None = None,
    *,
    claims: bool = False,
    beyond: bool = False,
    least: float = 0.0,
    hard: tuple[Floats, Floats] | None = None,
) -> Advantage:
    """The advantage of successes (0 to 1, one to an attempt) inside over outside.

    `easy` is what a guess gets that has nothing to do with who is in the data, attempt by attempt.
    By it the two groups are made equally easy: what both share is no difference between them, and
    the error is that of the rest (a control variate). Where it does know who is in the data, what
    is got `beyond` it counts: all of it is taken off on both sides. How `hard` each attempt is, as
    learnt of others, is a second control variate. Shares are Wilson's, so that a
    success that never occurred has an error, too; the error of the quotient is by the delta method.
    Successes of others that were extrapolated may lie beyond 0 and 1, and have an error of at
    `least` so much.

    >>> found = advantage(np.ones(400), np.repeat([0.0, 1.0], 200))
    >>> round(found.value, 2), round(found.error, 3)
    (0.99, 0.005)
    """
    n, m = inside.size, outside.size
    own, others = float(inside.sum()), float(outside.sum())
    s_in, half_in = wilson(own, n)
    s_out, half_out = wilson(others, m)
    counts = None
    if easy_inside is None and least == 0.0:
        # Guesses that share a success count for no more than is certain.
        counts = (math.floor(own + 1e-9), n, min(math.ceil(others - 1e-9), m), m)
    s_out = min(max(s_out, 0.0), 1.0)
    kept_in = kept_out = 1.0
    least_in, least_out = 0.0, least
    moved = [0.0, 0.0]
    apart = 0.0
    if beyond and easy_inside is not None and easy_outside is not None:
        least_in = float(np.std(inside - easy_inside)) / math.sqrt(n)
        least_out = max(least, float(np.std(outside - easy_outside)) / math.sqrt(m))
        moved = [float(easy_inside.mean() - easy_outside.mean())] * 2
    else:
        known = [(easy_inside, easy_outside), hard or (None, None)]
        sides = [[one for one in side if one is not None] for side in zip(*known, strict=True)]
        if sides[0]:
            variates = np.column_stack(sides[0]), np.column_stack(sides[1])
            moved, (kept_in, kept_out), apart = _shared((inside, outside), variates)
    if any(moved):
        # Half of the difference goes to each side, in proportion to how little each is known.
        s_in = min(max(s_in - moved[0] * m / (n + m), 0.0), 1.0)
        s_out = min(max(s_out + moved[1] * n / (n + m), 0.0), 1.0)
    e_in = math.hypot(max(half_in / _QUANTILE * math.sqrt(kept_in), least_in), apart)
    e_out = max(half_out / _QUANTILE * math.sqrt(kept_out), least_out)
    if claims:
        return Advantage(s_in, s_out, s_in - s_out, math.hypot(e_in, e_out), counts)
    left = max(1.0 - s_out, 1.0 / (m + 2))
    value = (s_in - s_out) / left
    error = math.hypot(e_in / left, e_out * (1.0 - s_in) / left**2)
    return Advantage(s_in, s_out, max(value, -1.0), error, counts)


def _shared(
    successes: tuple[Floats, Floats], variates: tuple[Floats, Floats]
) -> tuple[list[float], list[float], float]:
    """How much of the difference is that of the variates (attempts, variates), by a regression on
    either side; which part of either variance it leaves; and the error of adjusting both sides to
    the same people where the slopes differ (Lin 2013, Agnostic notes on regression adjustments,
    Annals of Applied Statistics 7(1))."""
    means = [x.mean(axis=0) for x in variates]
    slopes, kept = [], []
    for y, x, mean in zip(successes, variates, means, strict=True):
        own, beside = y - y.mean(), x - mean
        slopes.append(np.linalg.lstsq(beside, own, rcond=1e-9)[0])
        rest, whole = own - beside @ slopes[-1], float(own @ own)
        free = max(y.size - 1 - x.shape[1], 1)
        left = float(rest @ rest) / whole * (y.size - 1) / free if whole > 0.0 else 1.0
        # Never less than a share that was never hit could have.
        kept.append(min(max(left, 1.0 / y.size), 1.0))
    both = np.concatenate([x - mean for x, mean in zip(variates, means, strict=True)])
    apart = float(np.linalg.norm(both @ (slopes[0] - slopes[1]))) / len(both)
    return [float((means[0] - means[1]) @ slope) for slope in slopes], kept, apart


def holm(found: Sequence[Advantage], limit: float, confidence: float = CONFIDENCE) -> list[float]:
    """The one-sided upper bounds of several advantages, corrected after Holm (1979).

    All of them are below the limit just where Holm's procedure rejects, at the family's level, each
    hypothesis that an advantage exceeds it.

    >>> far, near = Advantage(0, 0, 0.0, 0.01), Advantage(0, 0, 0.03, 0.01)
    >>> [round(bound, 4) for bound in holm([far, near], 0.05)]
    [0.0196, 0.0464]
    """
    scores = [(limit - one.value) / max(one.error, 1e-12) for one in found]
    bounds = [0.0] * len(found)
    for rank, i in enumerate(sorted(range(len(found)), key=lambda i: -scores[i])):
        bounds[i] = found[i].upper(1.0 - (1.0 - confidence) / (len(found) - rank))
    return bounds


def normal_quantile(level: float) -> float:
    """The standard normal quantile."""
    from scipy.special import ndtri

    return float(ndtri(level))
