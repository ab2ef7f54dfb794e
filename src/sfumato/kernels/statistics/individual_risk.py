"""The chance to find a record of a sample in its population, by sampling weights.

A class has f records in the sample, whose weights sum to F, and p = f / F. How many people the
class has in the population is then taken to be negative binomial, and the risk of each record is
the mean of one over that number (Benedetti & Franconi 1998; Franconi & Polettini 2004):

    r = (p^f / f) 2F1(f, f; f + 1; q),  q = 1 - p

which Euler's transformation makes (p / f) 2F1(1, 1; f + 1; q), a series of positive terms, and
which is also the integral of u^(f - 1) / (1 + u q / p) over 0..1. The series is summed unless p is
small and f, too; there the integral is stepped from f = 1, where it is a logarithm, up to f, by
steps that shrink errors. No two like numbers are ever subtracted, so that nearly all digits hold.

The risk falls with f and with F. (It is the integral of e^-v / (f + (F - f) e^(-v / f)) over all
v > 0, and the denominator rises with both.) So joining classes never raises anybody's risk, and
1 / F <= r <= 1 / f.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Bools, Floats, Ints

_MOST_STEPS = 20
"""From more records on the series is short, whatever p."""
_SMALL_P = 1 / 3
"""Below, a step at least halves the error."""
_DIGITS = 12
"""Of a figure of many risks that do not depend on the order in which they are added up."""


@njit(cache=True, nogil=True)
def _risk(f: float, total: float) -> float:
    p, q = f / total, (total - f) / total
    if p < _SMALL_P and f <= _MOST_STEPS:
        odds = q / p
        found = math.log1p(odds) / odds
        for i in range(1, int(f)):
            found = (1.0 / i - found) / odds
        return found
    term, found, n = 1.0, 1.0, 1.0
    while term > 1e-17 * found:
        term *= q * n / (f + n)
        found += term
        n += 1.0
    return p / f * found


@njit(cache=True, nogil=True)
def _risks(records: Floats, people: Floats) -> Floats:
    found = np.empty(records.size)
    for i in range(records.size):
        found[i] = _risk(records[i], max(records[i], people[i]))
    return found


def individual_risk(records: Ints | Floats, people: Ints | Floats) -> Floats:
    """The risk of the records of classes with so many records and so large a sum of weights.

    Records are whole numbers. A class whose weights sum to less is the whole of its population.

    >>> individual_risk(np.array([1, 2, 3, 5, 10]), np.array([10, 20, 30, 50, 100])).round(5)
    array([0.25584, 0.08268, 0.04637, 0.02424, 0.01098])
    """
    f, total = np.broadcast_arrays(
        np.asarray(records, dtype=np.float64), np.asarray(people, dtype=np.float64)
    )
    return _risks(f.ravel(), total.ravel()).reshape(f.shape)


def people_needed(most: int, limit: float) -> Floats:
    """What the weights of 0, 1, ... `most` records must sum to, for a risk within the limit; 0 for
    as many records as are enough whatever they weigh.

    >>> people_needed(4, 1 / 3).round(3)
    array([0.   , 6.711, 3.574, 0.   , 0.   ])
    """
    found = np.zeros(most + 1)
    limit *= 1 + 1e-9  # sums of weights are not exact
    # The risk of f records is at most 1 / f.
    f = np.arange(1, 1 + (most if most * limit < 1 else int(1 / limit)))
    f = f[f * limit < 1]
    low = f.astype(np.float64)
    high: Floats = low * 2
    while (above := individual_risk(f, high) > limit).any():
        low, high = np.where(above, high, low), np.where(above, 2 * high, high)
    for _ in range(40):
        middle = (low + high) / 2
        above = individual_risk(f, middle) > limit
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    found[f] = high
    return found


def approximate_risk(records: Ints | Floats, people: Ints | Floats) -> Floats:
    """The same where classes of three and more are taken as p / (f - q), as sdcMicro takes them.

    >>> approximate_risk(np.array([1, 2, 3, 5]), np.array([10, 20, 30, 50])).round(5)
    array([0.25584, 0.08268, 0.04762, 0.02439])
    """
    f, exact = np.asarray(records, dtype=np.float64), individual_risk(records, people)
    total = np.maximum(people, f)
    few: Bools = f <= 2
    return np.where(few, exact, f / (total * f - (total - f)))


def household_risk(risk: Floats, homes: Ints) -> Floats:
    """Of each record, the chance that anybody of its household 0.. is found.

    >>> household_risk(np.array([0.5, 0.5, 0.1]), np.array([0, 0, 1])).round(4)
    array([0.75, 0.75, 0.1 ])
    """
    with np.errstate(divide="ignore"):  # of whoever is found for sure
        missed = np.bincount(homes, np.log1p(-risk))
    return np.asarray(-np.expm1(missed[homes]))


def settled(figure: float) -> float:
    """A figure of many risks without the digits that change with the order of the records: the same
    table keeps a limit or does not, however it is shuffled.

    >>> settled(0.1 + 0.1 + 0.1), settled(2 / 3)
    (0.3, 0.666666666667)
    """
    return float(f"{figure:.{_DIGITS}g}")


def highest_allowed(risk: Floats, limit: float, figure: Callable[[Floats], float]) -> float:
    """The largest risk to which all that are higher can be lowered, so that a figure of the risks
    is within its limit; the highest of them where it is already. The figure rises with each.

    >>> round(highest_allowed(np.array([0.01, 0.02, 0.5, 0.9]), 0.05, np.mean), 6)
    0.085
    """
    low, high = 0.0, float(risk.max())
    if figure(risk) <= limit:
        return high
    for _ in range(64):
        middle = (low + high) / 2
        if figure(np.minimum(risk, middle)) <= limit:
            low = middle
        else:
            high = middle
    return low
