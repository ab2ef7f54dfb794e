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
ALIKE = 3.0
"""Standard errors by which two groups of the same people may differ in how hard they are."""


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
    s_in, e_in = _share(own, n)
    s_out, e_out = _share(others, m)
    counts = None
    if easy_inside is None and least == 0.0:
        # Guesses that share a success count for no more than is certain.
        counts = (math.floor(own + 1e-9), n, min(math.ceil(others - 1e-9), m), m)
    s_out = min(max(s_out, 0.0), 1.0)
    least_in, least_out = 0.0, least
    shared = None
    if beyond and easy_inside is not None and easy_outside is not None:
        least_in = float(np.std(inside - easy_inside)) / math.sqrt(n)
        least_out = max(least, float(np.std(outside - easy_outside)) / math.sqrt(m))
        moved = float(easy_inside.mean() - easy_outside.mean())
        # Half of the difference goes to each side, in proportion to how little each is known.
        s_in, s_out = s_in - moved * m / (n + m), s_out + moved * n / (n + m)
    elif variates := _variates(easy_inside, easy_outside, hard):
        shared = _Shared.of((inside, outside), variates)
        # Means as they are: what pulls shares to the middle is no small part of what is left.
        s_in, e_in = _share(own, n, shared.kept[0])
        s_out, e_out = _share(others, m, shared.kept[1])
        s_in = own / n - shared.moved[0] * m / (n + m)
        s_out = min(max(others / m, 0.0), 1.0) + shared.moved[1] * n / (n + m)
    s_in, s_out = min(max(s_in, 0.0), 1.0), min(max(s_out, 0.0), 1.0)
    e_in, e_out = max(e_in, least_in), max(e_out, least_out)
    if claims:
        value, by_in, by_out = s_in - s_out, 1.0, 1.0
    else:
        left = max(1.0 - s_out, 1.0 / (m + 2))
        value, by_in, by_out = max((s_in - s_out) / left, -1.0), 1.0 / left, (1.0 - s_in) / left**2
    apart = 0.0 if shared is None else shared.apart(by_in, by_out)
    error = math.hypot(e_in * by_in, e_out * by_out, apart)
    return Advantage(s_in, s_out, value, error, counts)


def _share(hits: float, n: int, kept: float = 1.0) -> tuple[float, float]:
    """Wilson's share and its standard error, of whose variance a part is `kept`: a share that was
    never hit keeps what Wilson adds."""
    centre, _ = wilson(hits, n)
    z = _QUANTILE
    variance = kept * max(hits * (n - hits), 0.0) / n**3 + (z / (2 * n)) ** 2
    return centre, math.sqrt(variance) / (1 + z * z / n)


Sides = tuple[Floats, Floats]


def _variates(easy_in: Floats | None, easy_out: Floats | None, hard: Sides | None) -> Sides | None:
    """The control variates (attempts, variates) of both sides; None where there are none.

    How hard attempts are is left out where the two sides differ in it by more than chance: then
    others are other people than those in the data, or know some of them, and what is adjusted away
    would be what leaks.
    """
    known = [] if easy_in is None or easy_out is None else [(easy_in, easy_out)]
    if hard is not None:
        error = math.hypot(*(float(side.std()) / math.sqrt(side.size) for side in hard))
        if abs(float(hard[0].mean() - hard[1].mean())) <= ALIKE * error:
            known.append(hard)
    if not known:
        return None
    own, others = zip(*known, strict=True)
    return np.column_stack(own), np.column_stack(others)


class _Shared(NamedTuple):
    """A regression of successes on the variates, on either side (Lin 2013, Agnostic notes on
    regression adjustments to experimental data, Annals of Applied Statistics 7(1))."""

    slopes: tuple[Floats, Floats]
    kept: tuple[float, float]
    """Which part of either variance it leaves."""
    difference: Floats
    """Of the variates' means."""
    rows: Floats
    """The variates of both sides, each less its mean."""

    @classmethod
    def of(cls, successes: Sides, variates: Sides) -> _Shared:
        """Of successes and variates (attempts, variates), inside and outside."""
        means = [x.mean(axis=0) for x in variates]
        centred = [x - mean for x, mean in zip(variates, means, strict=True)]
        slopes, kept = [], []
        for y, x in zip(successes, centred, strict=True):
            own = y - y.mean()
            slopes.append(np.linalg.lstsq(x, own, rcond=1e-9)[0])
            rest, whole = own - x @ slopes[-1], float(own @ own)
            free = max(y.size - 1 - x.shape[1], 1)
            left = float(rest @ rest) / whole * (y.size - 1) / free if whole > 0.0 else 1.0
            kept.append(min(left, 1.0))
        return cls(
            (slopes[0], slopes[1]), (kept[0], kept[1]), means[0] - means[1], np.concatenate(centred)
        )

    @property
    def moved(self) -> tuple[float, float]:
        """How much of the difference is that of the variates, by the slopes of either side."""
        return float(self.difference @ self.slopes[0]), float(self.difference @ self.slopes[1])

    def apart(self, by_in: float, by_out: float) -> float:
        """The error of adjusting both sides to the same people, where the slopes differ."""
        slope = by_in * self.slopes[0] - by_out * self.slopes[1]
        return float(np.linalg.norm(self.rows @ slope)) / len(self.rows)


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
