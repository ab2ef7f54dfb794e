"""How often a predicate fits exactly one person, among people in the data and among others.

Whether exactly one of n fits depends on n, so that the two are compared at equal numbers. Of m > n
others n can be drawn: a predicate that fits c of them fits exactly one of those drawn with
probability c t (1 - t)^(c - 1), t = n / m. Where others are fewer, m of the people in the data are
drawn in the same way, and what is found beyond the others there is taken to be n / m times as much
among all n: that is what the correction of Giomi et al. (2023), the integral of n u (1 - u)^(n - 1)
over weights u from 0 to w, becomes of light predicates. It assumes nothing of how weights are
distributed: where the two kinds of people are the same, nothing is expected to be found, whatever
the predicates. Of predicates that fit others, too, it takes what is found to be more than it is.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats, Ints

Fitting = tuple[Floats, Ints]
"""How many people fit each predicate, and one of them."""


def drawn_alone(counts: Floats, share: float) -> Floats:
    """The probability that exactly one of those who fit is in a share of the people."""
    c = np.asarray(counts, np.float64)
    return np.asarray(c * share * (1.0 - share) ** np.maximum(c - 1.0, 0.0))


def isolation(
    own: Fitting, theirs: Fitting, people: int, others: int
) -> tuple[Floats, Floats, float]:
    """Which predicates fit exactly one of the people, and the same of as many others; from how many
    of either fit each, and who. From fewer others one extrapolates: then values may lie beyond 0
    and 1, and the standard error of their mean is told; else it is 0.

    >>> counts, who = np.array([0.0, 1.0, 2.0]), np.array([-1, 3, 4])
    >>> [found.tolist() for found in isolation((counts, who), (counts, who), 10, 10)[:2]]
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    >>> isolation((counts, who), (counts, who), 10, 20)[1].tolist()
    [0.0, 0.5, 0.5]
    >>> isolation((counts, who), (np.zeros(3), who), 10, 5)[1].tolist()
    [0.0, 0.0, -1.0]
    """
    inside = np.asarray(own[0] == 1.0, np.float64)
    if others >= people or not inside.size:
        return inside, drawn_alone(theirs[0], min(people / others, 1.0)), 0.0
    share, alone = others / people, np.asarray(theirs[0] == 1.0, np.float64)
    beyond = drawn_alone(own[0], share) - alone
    outside = inside - beyond / share
    # Few of them may fit: how often that is to be expected the people in the data tell better.
    often = (max(float((beyond + alone).sum()), float(alone.sum())) + 2.0) / inside.size
    spread = max(often / share**2, float(outside.var()))
    times = max(_together(inside, own[1]), _together(alone, theirs[1]))
    return inside, outside, math.sqrt(times * spread / inside.size)


def _together(alone: Floats, who: Ints) -> float:
    """How many times the variance is that of as many predicates about people of their own: with
    each person come and go all predicates that they alone fit."""
    each = np.bincount(who[alone > 0.0]).astype(np.float64)
    return float(each @ each / max(each.sum(), 1.0)) or 1.0
