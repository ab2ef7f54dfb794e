"""Noise and its recovery, one value at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np


def em_step(
    counts: Sequence[int],
    edges: Sequence[float],
    at: Sequence[float],
    share: Sequence[float],
    noise: Callable[[float], float],
) -> list[float]:
    """Agrawal & Srikant's update: the mean over the values of the posterior of each grid point."""
    bins = len(counts)
    after = [0.0] * len(at)
    for b in range(bins):
        joint = []
        for point, prior in zip(at, share, strict=True):
            below = 0.0 if b == 0 else noise(edges[b] - point)
            above = 1.0 if b == bins - 1 else noise(edges[b + 1] - point)
            joint.append(prior * (above - below))
        for k, value in enumerate(joint):
            after[k] += counts[b] * value / math.fsum(joint)
    return [value / sum(counts) for value in after]


def normal_cdf(t: float) -> float:
    return 0.5 * math.erfc(-t / math.sqrt(2))


def kth_distance(x: np.ndarray, k: int) -> list[float]:
    """All distances to the others, sorted."""
    found = []
    for i, row in enumerate(x):
        others = [math.dist(row, other) for j, other in enumerate(x) if j != i]
        found.append(sorted(others)[k - 1])
    return found


def equivalents(original: np.ndarray, masked: np.ndarray) -> list[int]:
    """How many other masked rows are at least as near to each original as its own."""
    found = []
    for i, row in enumerate(original):
        own = math.dist(row, masked[i])
        others = [math.dist(row, other) for j, other in enumerate(masked) if j != i]
        found.append(sum(distance <= own for distance in others))
    return found


def whitened(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Coordinates in which distance is Mahalanobis distance by the covariance of `like`."""
    return x @ np.linalg.inv(np.linalg.cholesky(np.cov(like.T))).T


def multiplied_variance(masked: Sequence[float], variance: float) -> float:
    """var(x) = (var(x') + mean^2) / (1 + s2) - mean^2, with variances that divide by n."""
    n = len(masked)
    mean = math.fsum(masked) / n
    population = math.fsum((y - mean) ** 2 for y in masked) / n
    return (population + mean**2) / (1 + variance) - mean**2


def value_at(values: Sequence[float], u: float) -> float:
    """The least value with at least a share u of the values up to it."""
    return next(
        v for v in sorted(values) if sum(other <= v for other in values) >= u * len(values) - 1e-12
    )


def wasserstein(at: np.ndarray, probability: np.ndarray, values: np.ndarray) -> float:
    """Area between two distribution functions, one on a grid and one of values."""
    places = np.sort(np.concatenate([at, values]))
    first = np.array([probability[at <= place].sum() for place in places[:-1]])
    second = np.array([(values <= place).mean() for place in places[:-1]])
    return float((np.abs(first - second) * np.diff(places)).sum())


def moments_without(masked: Sequence[float], noise: Sequence[float]) -> list[float]:
    """Raw moments 0..4 of x where y = x + e and the raw moments 0..4 of e are given: from
    E y^k = sum_i C(k, i) E x^i E e^(k - i), one after the other."""
    found: list[float] = []
    for k in range(5):
        known = math.fsum(math.comb(k, i) * found[i] * noise[k - i] for i in range(k))
        found.append(math.fsum(y**k for y in masked) / len(masked) - known)
    return found


def central(raw: Sequence[float]) -> tuple[float, float]:
    """The third and fourth central moment from raw ones."""
    _, m, two, three, four = raw
    return three - 3 * m * two + 2 * m**3, four - 4 * m * three + 6 * m**2 * two - 3 * m**4


def assigned(
    values: Sequence[float], at: Sequence[float], probability: Sequence[float]
) -> list[float]:
    """Agrawal & Srikant's assignment: the lowest values to the first grid point, as many as its
    share asks for, and so on; a value on the border goes where its middle lies."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    for rank, i in enumerate(order):
        total = 0.0
        for point, share in zip(at, probability, strict=True):
            total += share
            found[i] = point
            if total >= (rank + 0.5) / len(values):
                break
    return found
