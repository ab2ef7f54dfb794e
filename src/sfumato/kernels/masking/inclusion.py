"""Drawing records without replacement with given chances, in strata: all strata at once.

`stratum` holds labels 0..h-1 for each record and `counts` how many to draw of each.
"""

from __future__ import annotations

import numpy as np


def chances(size: np.ndarray, stratum: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Inclusion probabilities n_h x_i / sum x, those above one cut to one and the rest shared out
    again, until none is above (Sarndal, Swensson & Wretman 1992, section 3.6).

    >>> chances(np.array([1.0, 1.0, 8.0]), np.zeros(3, dtype=int), np.array([2])).tolist()
    [0.5, 0.5, 1.0]
    """
    groups = counts.size
    sure = np.zeros(size.size, dtype=bool)
    while True:
        left = counts - np.bincount(stratum[sure], minlength=groups)
        total = np.bincount(stratum, weights=np.where(sure, 0.0, size), minlength=groups)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(total > 0, left / total, 0.0)
        pi = np.where(sure, 1.0, size * scale[stratum])
        # A stratum that is drawn whole comes out at one but for rounding.
        more = ~sure & (pi >= 1.0 - 1e-12)
        if not more.any():
            return pi
        sure |= more


def simple(stratum: np.ndarray, counts: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Simple random sampling in each stratum: the `counts` records with the smallest u."""
    return _smallest(u, stratum, counts)


def pareto(pi: np.ndarray, stratum: np.ndarray, counts: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Pareto sampling (Rosen 1997): the smallest odds of u over the odds of pi. Of fixed size; its
    chances are pi up to terms that vanish as the sample grows."""
    odds = np.full(pi.size, np.inf)
    inside = (pi > 0) & (pi < 1)
    odds[inside] = u[inside] / (1 - u[inside]) * (1 - pi[inside]) / pi[inside]
    odds[pi >= 1] = -1.0
    return _smallest(odds, stratum, counts)


def poisson(pi: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Poisson sampling: each record on its own. Exact chances, a size that varies."""
    return np.flatnonzero(u < pi)


def systematic(
    pi: np.ndarray, stratum: np.ndarray, counts: np.ndarray, u: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Systematic sampling in random order (Madow 1949; Hartley & Rao 1962): walk through each
    stratum, and take a record wherever the sum of the chances passes a whole number above the
    stratum's random start in [0, 1). Exact chances and a fixed size."""
    order = np.lexsort((u, stratum))
    group = stratum[order]
    ends = np.cumsum(pi[order])
    first = np.searchsorted(group, np.arange(counts.size))
    before = np.concatenate(([0.0], ends))[first]
    ends -= before[group]
    # The last end of a stratum is its size exactly, whatever the rounding.
    last = np.searchsorted(group, np.arange(counts.size), side="right") - 1
    filled = last >= first
    ends[last[filled]] = counts[filled]
    ends = np.minimum(ends, counts[group])
    passed = np.floor(ends + start[group])
    earlier = np.concatenate(([0.0], passed[:-1]))
    earlier[first[filled]] = 0.0
    return np.sort(order[passed > earlier])


def _smallest(key: np.ndarray, stratum: np.ndarray, counts: np.ndarray) -> np.ndarray:
    order = np.lexsort((key, stratum))
    group = stratum[order]
    rank = np.arange(group.size) - np.searchsorted(group, np.arange(counts.size))[group]
    return np.sort(order[rank < counts[group]])
