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
_WARM = 30
"""Steps of EM before the first extrapolation, which from afar could land at another peak."""


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


def _log(bits: Floats, chance: Floats, seen: Floats | None = None) -> Floats:
    """Logarithm of the probability of each pattern where columns agree independently; columns that
    are not seen tell nothing."""
    never = np.log1p(-chance)
    on = bits @ (np.log(chance) - never)
    return on + (never.sum() if seen is None else seen @ never)


class _Patterns:
    """The patterns that occur, and one step of EM over them."""

    def __init__(
        self, bits: Floats, weight: Floats, fixed: bool, seen: Floats | None = None
    ) -> None:
        self.bits, self.weight, self.fixed, self.seen = bits, weight, fixed, seen
        self.total = float(weight.sum())
        self.agree: Floats = weight @ bits

    @classmethod
    def counted(cls, counts: NDArray[np.int64], fixed: bool) -> _Patterns:
        # Most of the 2^v patterns have no pair once there are many columns.
        here = np.flatnonzero(counts)
        columns = int(counts.size).bit_length() - 1
        bits: Floats = ((here[:, None] >> np.arange(columns)) & 1).astype(np.float64)
        return cls(bits, counts[here].astype(np.float64), fixed)

    def compared(self, weight: Floats) -> Floats | float:
        """The weight of the pairs in which each column is seen."""
        return float(weight.sum()) if self.seen is None else np.asarray(weight @ self.seen)

    def step(self, now: Floats) -> tuple[Floats, float]:
        """The probabilities (m, u and the share of matches, one after another) that follow, and
        the log-likelihood of those that are given."""
        v = self.bits.shape[1]
        share = float(now[-1])
        match = np.log(share) + _log(self.bits, now[:v], self.seen)
        other = np.log1p(-share) + _log(self.bits, now[v : 2 * v], self.seen)
        both = np.logaddexp(match, other)
        matched = self.weight * np.exp(match - both)
        found, on = float(matched.sum()), matched @ self.bits
        matches = self.compared(matched)
        others = self.compared(self.weight) - matches
        after = np.concatenate(
            (
                on / np.maximum(matches, LEAST),
                (self.agree - on) / np.maximum(others, LEAST),
                [share if self.fixed else found / self.total],
            )
        )
        return _inside(after), float(self.weight @ both)


def _inside(chance: Floats) -> Floats:
    return np.clip(chance, LEAST, 1 - LEAST)


def _leap(first: Floats, second: Floats, third: Floats) -> Floats:
    """Where three successive estimates are heading: SQUAREM's extrapolation, scheme 3."""
    step = second - first
    bend = (third - second) - step
    turn = float(np.linalg.norm(bend))
    far = max(1.0, float(np.linalg.norm(step)) / turn) if turn > 0 else 1.0
    return _inside(first + 2.0 * far * step + far**2 * bend)


def estimate(
    counts: NDArray[np.int64],
    share: float,
    *,
    fixed_share: bool = True,
    m_start: float = 0.9,
    tolerance: float = 1e-9,
    gain: float = 1e-13,
    most: int = 5_000,
    accelerated: bool = True,
) -> Estimate:
    """m and u from the counts of the 2^v patterns, columns independent in matches and in others.

    `share` is the share of matches among the pairs: known, or a first guess that EM goes on from.
    EM starts from u = the share of all pairs that agree, for matches are few, and from an m that
    lies the part `m_start` of the way from u to 1: above u, or EM would look for pairs that are
    less alike than others.

    Plain EM creeps where columns tell little. After its first steps, which choose the peak to
    climb, every two are therefore followed by an extrapolation (SQUAREM: Varadhan & Roland 2008,
    "Simple and globally convergent methods for accelerating the convergence of any EM algorithm",
    Scandinavian Journal of Statistics 35), taken only where the likelihood is no less for it. EM
    stops when no probability changes by more than `tolerance` in a step, or when the log-likelihood
    has gained no more than the part `gain` of itself, which is near its rounding; it gives up after
    `most` steps. Without acceleration `tolerance` alone decides.
    """
    patterns = _Patterns.counted(counts, fixed_share)
    return _climb(patterns, share, m_start, tolerance, gain, most, accelerated)


def estimate_seen(
    bits: Floats, seen: Floats, weight: Floats, share: float, *, fixed_share: bool = True
) -> Estimate:
    """The same from patterns of which only some columns are seen: `bits` and `seen` are (patterns,
    columns), 1.0 where a column agrees and where it is compared; what is not seen tells nothing.

    >>> bits = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    >>> seen = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> found = estimate_seen(bits, seen, np.array([10.0, 90.0, 500.0]), 0.1)
    >>> bool(found.m.min() > 0.9), bool(found.u.max() < 0.1)
    (True, True)
    """
    patterns = _Patterns(bits * seen, weight, fixed_share, seen)
    return _climb(patterns, share, 0.9, 1e-9, 1e-13, 5_000, True)


def _climb(
    patterns: _Patterns,
    share: float,
    m_start: float,
    tolerance: float,
    gain: float,
    most: int,
    accelerated: bool,
) -> Estimate:
    u = _inside(patterns.agree / np.maximum(patterns.compared(patterns.weight), LEAST))
    now = np.concatenate((_inside(u + m_start * (1.0 - u)), u, _inside(np.array([share]))))
    steps, converged, reached = 0, False, -np.inf
    while steps < most and not converged:
        first = now
        second, here = patterns.step(first)
        steps += 1
        converged = bool(np.abs(second - first).max() <= tolerance)
        if accelerated:
            converged |= here - reached <= gain * abs(here)
        now, reached = second, here
        if not accelerated or converged or steps <= _WARM or steps + 2 > most:
            continue
        third, middle = patterns.step(second)
        after, there = patterns.step(_leap(first, second, third))
        steps += 2
        now = after if there >= middle else third
    v = (now.size - 1) // 2
    return Estimate(now[:v], now[v : 2 * v], float(now[-1]), steps, converged, reached)


def weights(found: Estimate) -> Floats:
    """The weight log2(P(pattern | match) / P(pattern | other)) of each pattern."""
    bits = bits_of(found.m.size)
    return (_log(bits, found.m) - _log(bits, found.u)) / np.log(2.0)


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


def chances(found: Estimate) -> tuple[Floats, Floats]:
    """The probability of each pattern in a match and in another pair."""
    bits = bits_of(found.m.size)
    return np.exp(_log(bits, found.m)), np.exp(_log(bits, found.u))


def thresholds(
    weight: Floats, match: Floats, other: Floats, false_links: float, missed: float
) -> tuple[float, float]:
    """The weights from which pairs are links, and up to which they are none.

    `match` and `other` are the probabilities of each kind of pair in matches and in other pairs.
    Kinds are links from the highest weight down as long as all of them together have at most the
    probability `false_links` in other pairs, and no links from the lowest up as long as they have
    at most `missed` in matches (Fellegi & Sunter 1969, theorem 1, where the kind that would go
    beyond is left to review instead of being decided by lot). What is a link is not also none.

    >>> weight = np.array([-4.0, -1.0, 1.0, 5.0])
    >>> match, other = np.array([0.01, 0.09, 0.2, 0.7]), np.array([0.8, 0.15, 0.04, 0.01])
    >>> thresholds(weight, match, other, 0.02, 0.05)
    (5.0, -4.0)
    """
    level = levels(weight)
    linked = np.cumsum(np.bincount(level, other)[::-1])[::-1] <= false_links * (1 + 1e-9)
    apart = np.cumsum(np.bincount(level, match)) <= missed * (1 + 1e-9)
    first = int(np.count_nonzero(~linked))
    last = min(int(np.count_nonzero(apart)), first)
    upper = float(weight[level == first].min(initial=np.inf))
    lower = float(weight[level == last - 1].max(initial=-np.inf))
    return upper, lower
