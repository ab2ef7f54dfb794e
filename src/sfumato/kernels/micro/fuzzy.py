"""Fuzzy c-means: centres, and the degree to which each record belongs to those nearest to it.

Bezdek (1981), "Pattern Recognition with Fuzzy Objective Function Algorithms"; for microdata Torra &
Miyamoto (2004), "Evaluating fuzzy clustering algorithms for microdata protection", LNCS 3050. The
membership of record i in cluster j is d(i,j)^(-2/(m-1)), divided by the sum over the clusters, and
a centre is the mean of the records with weights membership^m. Both are found in turn.

With n/k clusters the full matrix of memberships has n^2/k cells, nearly all of them next to
nothing. Only the `neighbours` nearest centres of a record count; the others have membership 0. This
is exact fuzzy c-means when there are no more centres than that, and memory stays linear in n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.micro.size_repair import as_points
from sfumato.kernels.neighbours.blocks import order_in_blocks
from sfumato.progress import report

BLOCK = 65_536  # records whose memberships are held at a time
TOLERANCE = 1e-4
"""The centres have settled when none moves farther than this share of the points' spread."""


class Fuzzy(NamedTuple):
    """Centres, the rounds it took, and whether they had settled by then."""

    centres: NDArray[np.float64]
    rounds: int
    settled: bool


@njit(cache=True, nogil=True)
def memberships(apart: Floats, m: float) -> Floats:
    """Of each record in its nearest clusters, from their distances in ascending order.

    A record on a centre belongs to it wholly; on several, to each in equal parts.
    """
    out = np.empty(apart.shape)
    for i in range(apart.shape[0]):
        nearest = apart[i, 0]
        total = 0.0
        for c in range(apart.shape[1]):
            if nearest > 0.0:
                # Shares of the nearest: no power of a tiny distance can overflow.
                out[i, c] = (nearest / apart[i, c]) ** (2.0 / (m - 1.0))
            else:
                out[i, c] = 1.0 if apart[i, c] == 0.0 else 0.0
            total += out[i, c]
        for c in range(apart.shape[1]):
            out[i, c] /= total
    return out


@njit(cache=True, nogil=True)
def _gather(
    points: Floats, near: Ints, share: Floats, m: float, sums: Floats, weight: Floats
) -> None:
    """Add a block of records to the weighted sums of their clusters."""
    for i in range(points.shape[0]):
        for c in range(near.shape[1]):
            part = share[i, c] ** m
            weight[near[i, c]] += part
            for j in range(points.shape[1]):
                sums[near[i, c], j] += part * points[i, j]


def _near(points: Floats, centres: Floats, neighbours: int) -> tuple[Floats, Ints]:
    wanted = min(neighbours, len(centres))
    apart, near = cKDTree(centres).query(points, wanted, workers=-1)
    return apart.reshape(len(points), wanted), near.reshape(len(points), wanted)


def first_centres(points: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """One record drawn from each of `clusters` equal runs of neighbouring records.

    Equal ones are one centre: they would stay together for ever.
    """
    n = len(points)
    order = order_in_blocks(points, np.empty(0), np.arange(n), max(1, n // clusters))
    ends = np.linspace(0, n, clusters + 1).astype(np.int64)
    return np.unique(points[order[rng.integers(ends[:-1], ends[1:])]], axis=0)


def fuzzy_c_means(
    points: ArrayLike, clusters: int, m: float, neighbours: int, rounds: int,
    rng: np.random.Generator,
) -> Fuzzy:  # fmt: skip
    """Centres of `clusters` fuzzy clusters with exponent m > 1, after `rounds` rounds at most.

    There may be fewer centres where records are equal. A centre that no record has among its
    nearest stays where it is.

    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> found = fuzzy_c_means(x, 2, 2.0, 2, 50, np.random.default_rng(1))
    >>> sorted(found.centres[:, 0].round(2).tolist())
    [0.5, 9.5]
    """
    x = as_points(points, 1)
    if not 1 <= clusters <= len(x):
        raise ValueError(f"{len(x)} records form 1 to {len(x)} clusters, not {clusters}")
    if not m > 1:
        raise ValueError(f"the exponent m must be above 1, not {m}")
    centres = first_centres(x, clusters, rng)
    spread = float(np.sqrt(np.sum(x.var(axis=0))))
    for done in range(1, rounds + 1):
        sums, weight = np.zeros(centres.shape), np.zeros(len(centres))
        for low in range(0, len(x), BLOCK):
            part = x[low : low + BLOCK]
            apart, near = _near(part, centres, neighbours)
            _gather(part, near, memberships(apart, m), m, sums, weight)
        # A weight may underflow to nothing although it is not zero in principle.
        used = weight > 0
        moved = sums[used] / weight[used, None]
        step = np.sqrt(np.sum((moved - centres[used]) ** 2, axis=1)).max(initial=0.0)
        centres[used] = moved
        report("finding fuzzy clusters", done, rounds)
        if step <= TOLERANCE * spread:
            return Fuzzy(centres, done, True)
    return Fuzzy(centres, rounds, False)


def assign(
    points: ArrayLike, centres: Floats, m: float, neighbours: int, uniform: Floats | None
) -> NDArray[np.int64]:
    """The cluster of each record: its nearest, or, given uniform numbers, drawn by membership."""
    x = as_points(points, 1)
    label = np.empty(len(x), np.int64)
    for low in range(0, len(x), BLOCK):
        apart, near = _near(x[low : low + BLOCK], centres, neighbours)
        if uniform is None:
            label[low : low + BLOCK] = near[:, 0]
            continue
        upto = np.cumsum(memberships(apart, m), axis=1)
        u = uniform[low : low + BLOCK, None] * upto[:, -1:]
        place = np.minimum(np.sum(upto <= u, axis=1), near.shape[1] - 1)
        label[low : low + BLOCK] = near[np.arange(len(near)), place]
    return label
