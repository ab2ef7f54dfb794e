"""How often a predicate would fit exactly one of n people, from how many of m others fit it.

Whether exactly one of n fits depends on n, so that people in the data and others are compared at
equal numbers. Of m > n others n can be drawn: a predicate that fits c of them fits exactly one of
those drawn with probability c t (1 - t)^(c - 1), t = n / m. From fewer others one extrapolates.
How many fit is Poisson, with means that differ from predicate to predicate. The means are taken to
follow a gamma distribution, found from how many predicates fit none, one, two and more of the m;
then each predicate has a posterior mean of fitting exactly one of n. (Giomi et al. 2023, who
extrapolate, too, take weights to be spread evenly from 0 to a greatest one.)
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats

_SEEN = 6
"""Counts above this are not told apart."""


def isolation(counts: Floats, people: int, others: int) -> Floats:
    """Of each predicate, the probability that it fits exactly one of so many people; `counts` of
    the others fit it.

    >>> isolation(np.array([0.0, 1.0, 2.0]), 10, 10).tolist()
    [0.0, 1.0, 0.0]
    >>> isolation(np.array([0.0, 1.0, 2.0]), 10, 20).tolist()
    [0.0, 0.5, 0.5]
    """
    c = np.asarray(counts, np.float64)
    if others >= people:
        t = people / others
        return np.asarray(c * t * (1.0 - t) ** np.maximum(c - 1.0, 0.0))
    if not c.size:
        return c
    share = others / people
    shape, rate = _gamma(c, share)
    a, b = shape + np.minimum(c, _SEEN), rate + share
    found = np.exp(np.log(a) + a * np.log(b) - (a + 1.0) * np.log1p(b))
    return np.asarray(np.where(c > _SEEN, 0.0, found))


def _gamma(c: Floats, share: float) -> tuple[float, float]:
    """Shape and rate of the means, at so many people as are in the data: most likely."""
    from scipy.optimize import minimize
    from scipy.special import gammaln

    seen = np.bincount(np.minimum(c, _SEEN + 1).astype(np.int64), minlength=_SEEN + 2)
    k = np.arange(_SEEN + 1)

    def loss(at: Floats) -> float:
        shape, mean = np.exp(np.clip(at, -12.0, 12.0))
        rate = shape / mean
        log = (
            gammaln(shape + k) - gammaln(shape) - gammaln(k + 1.0)
            - shape * np.log1p(share / rate) - k * np.log1p(rate / share)
        )  # fmt: skip
        more = max(1.0 - float(np.exp(log).sum()), 1e-12)
        return -float(seen[:-1] @ log + seen[-1] * np.log(more))

    mean = np.log(max(float(np.minimum(c, _SEEN + 1).mean()) / share, 0.1 / c.size))
    begun = [[0.0, mean], [-1.0, mean], [0.0, mean + 0.5]]
    best = minimize(loss, begun[0], method="Nelder-Mead", options={"initial_simplex": begun}).x
    shape, found = np.exp(np.clip(best, -12.0, 12.0))
    return float(shape), float(shape / found)
