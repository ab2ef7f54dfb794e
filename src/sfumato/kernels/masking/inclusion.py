"""Drawing records without replacement with given chances, in strata: all strata at once.

`stratum` holds labels 0..h-1 for each record and `counts` how many to draw of each.
"""

from __future__ import annotations

import numpy as np

NEVER = np.uint64(2**64 - 1)


def pareto(pi: np.ndarray, u: np.ndarray) -> np.ndarray:
    """uint64: Pareto sampling (Rosen 1997) takes the lowest of these, as many as it should: the
    odds of u over the odds of pi. Of fixed size; its chances are pi up to terms that vanish as the
    sample grows.

    >>> pareto(np.array([0.0, 0.2, 0.9, 1.0]), np.full(4, 0.5)).argsort().tolist()
    [3, 2, 1, 0]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds = np.where(pi >= 1, 0.0, u / (1 - u) * ((1 - pi) / pi))
    # Numbers above zero are in the order of their bits; who is sure comes before all of them.
    found = odds.view(np.uint64) + (pi < 1).astype(np.uint64)
    return np.where(pi > 0, found, NEVER)


def systematic(
    pi: np.ndarray, stratum: np.ndarray, counts: np.ndarray, u: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Systematic sampling in random order (Madow 1949; Hartley & Rao 1962): walk through each
    stratum, and take a record wherever the sum of the chances passes a whole number above the
    stratum's random start in [0, 1), in the order of u. Exact chances and a fixed size."""
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
