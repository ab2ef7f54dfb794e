"""How probable agreement is in matches and in other pairs, by EM over agreement patterns.

Fellegi & Sunter (1969), "A theory for record linkage", JASA 64(328); Jaro (1989), "Advances in
record-linkage methodology as applied to matching the 1985 census of Tampa, Florida", JASA 84(406),
for the EM algorithm. All that is needed of the pairs is how many have each pattern.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 1e-9
"""Probabilities are kept this far from 0 and 1, so that no single column decides alone for ever."""


class Estimate(NamedTuple):
    """What EM found."""

    m: Floats
    """probability that each column agrees in a match"""
    u: Floats
    """probability that it agrees in another pair"""
    share: float
    """matches among all pairs"""
    iterations: int
    converged: bool
    loglikelihood: float


def bits_of(columns: int) -> Floats:
    """(2^v, v): 1.0 where bit j of the pattern is set."""
    patterns = np.arange(2**columns, dtype=np.int64)
    return ((patterns[:, None] >> np.arange(columns)) & 1).astype(np.float64)


def marginal(counts: NDArray[np.int64], known: list[int]) -> NDArray[np.int64]:
    """The counts of the patterns of some of the columns, in the order given.

    >>> marginal(np.array([5, 1, 2, 4]), [1]).tolist()
    [6, 6]
    """
    columns = int(counts.size).bit_length() - 1
    # The last axis of the box is the lowest bit.
    box = counts.reshape((2,) * columns)
    others = tuple(columns - 1 - j for j in range(columns) if j not in known)
    kept = [j for j in range(columns - 1, -1, -1) if j in known]
    summed = box.sum(axis=others)
    return summed.transpose([kept.index(j) for j in reversed(known)]).reshape(-1)


def _log(bits: Floats, chance: Floats) -> Floats:
    """Logarithm of the probability of each pattern where columns agree independently."""
    found: Floats = bits @ np.log(chance) + (1.0 - bits) @ np.log1p(-chance)
    return found


def estimate(
    counts: NDArray[np.int64],
    share: float,
    *,
    fixed_share: bool = True,
    m_start: float = 0.9,
    tolerance: float = 1e-9,
    most: int = 5_000,
) -> Estimate:
    """m and u from the counts of the 2^v patterns, columns independent in matches and in others.

    `share` is the share of matches among the pairs: known, or a first guess that EM goes on from.
    EM starts from u = the share of all pairs that agree, for matches are few, and from an m that
    lies the part `m_start` of the way from u to 1: above u, or EM would look for pairs that are
    less alike than others. It stops when no probability changes by more than `tolerance`.
    """
    columns = int(counts.size).bit_length() - 1
    here = np.flatnonzero(counts)
    bits, weight = bits_of(columns)[here], counts[here].astype(np.float64)
    total = float(weight.sum())
    u = np.clip(weight @ bits / total, LEAST, 1 - LEAST)
    m = np.clip(u + m_start * (1.0 - u), LEAST, 1 - LEAST)
    share = float(np.clip(share, LEAST, 1 - LEAST))
    converged, steps, likelihood = False, 0, -np.inf
    while steps < most and not converged:
        steps += 1
        match = np.log(share) + _log(bits, m)
        other = np.log1p(-share) + _log(bits, u)
        both = np.logaddexp(match, other)
        likelihood = float(weight @ both)
        matched = weight * np.exp(match - both)
        rest = weight * np.exp(other - both)
        before = np.concatenate((m, u, [share]))
        m = np.clip(matched @ bits / max(matched.sum(), LEAST), LEAST, 1 - LEAST)
        u = np.clip(rest @ bits / max(rest.sum(), LEAST), LEAST, 1 - LEAST)
        if not fixed_share:
            share = float(np.clip(matched.sum() / total, LEAST, 1 - LEAST))
        converged = bool(np.abs(np.concatenate((m, u, [share])) - before).max() <= tolerance)
    return Estimate(m, u, share, steps, converged, likelihood)


def weights(found: Estimate) -> Floats:
    """The weight log2(P(pattern | match) / P(pattern | other)) of each pattern."""
    bits = bits_of(found.m.size)
    ratio: Floats = (_log(bits, found.m) - _log(bits, found.u)) / np.log(2.0)
    return ratio


def levels(weight: Floats, tolerance: float = 1e-9) -> NDArray[np.int64]:
    """Weights as ranks 0, 1, ...; those that differ by rounding alone are equal.

    >>> levels(np.array([2.0, -1.0, 2.0 + 1e-13])).tolist()
    [1, 0, 1]
    """
    order = np.argsort(weight, kind="stable")
    gaps = np.diff(weight[order], prepend=weight[order[:1]]) > tolerance
    found = np.empty(weight.size, np.int64)
    found[order] = np.cumsum(gaps)
    return found
