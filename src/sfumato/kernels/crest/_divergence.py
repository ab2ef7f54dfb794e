"""How far the class distribution of a group lies from that of the whole table.

Kullback-Leibler divergence, Jensen-Shannon divergence (Lin 1991, "Divergence measures based on the
Shannon entropy", IEEE Trans. Information Theory 37(1)) and its weighted mean over groups, as in
Li & Sarkar (2013), "Class restricted clustering and micro-perturbation for data privacy",
Management Science 59(4), definitions 1, 2 and 4. Logarithms have base 2, so that the
Jensen-Shannon divergence lies between 0 and 1.

The Jensen-Shannon divergence is summed class by class: with f the share of a class in the group,
F its share in the table and M their mean, a class gives f log(f / M) + F log(F / M), and the
divergence is half of the sum. A class that the group lacks gives F, so that the classes which a
small group does have are all that need be looked at (`class_term`).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""How far the shares of a distribution may sum from 1."""


@njit(cache=True, nogil=True)
def class_term(f: float, share: float) -> float:
    """What one class adds to twice the Jensen-Shannon divergence: `f` here, `share` overall."""
    if f == share:
        return 0.0
    middle = 0.5 * (f + share)
    total = 0.0
    if f > 0.0:
        total += f * np.log2(f / middle)
    if share > 0.0:
        total += share * np.log2(share / middle)
    return total


@njit(cache=True, nogil=True)
def jsd_of_counts(counts: NDArray[np.int64], shares: Floats) -> float:
    """Jensen-Shannon divergence of the classes counted in a group from their shares overall."""
    size = counts.sum()
    total = 0.0
    for c in range(counts.size):
        total += class_term(counts[c] / size, shares[c])
    return min(max(0.5 * total, 0.0), 1.0)


@njit(cache=True, nogil=True)
def _jsd_of_rows(counts: NDArray[np.int64], shares: Floats) -> Floats:
    out = np.empty(counts.shape[0])
    for g in range(counts.shape[0]):
        out[g] = jsd_of_counts(counts[g], shares)
    return out


def kld(f: ArrayLike, g: ArrayLike) -> float:
    """Kullback-Leibler divergence of the distribution f from g, in bits; infinite where g lacks a
    class of f.

    >>> round(kld([1, 0], [2 / 3, 1 / 3]), 3), kld([0.5, 0.5], [1, 0])
    (0.585, inf)
    """
    p, q = _distributions(f, g)
    has = p > 0
    if (q[has] == 0).any():
        return float("inf")
    return max(float(np.sum(p[has] * np.log2(p[has] / q[has]))), 0.0)


def jsd(f: ArrayLike, g: ArrayLike) -> float:
    """Jensen-Shannon divergence of two distributions, from 0 (equal) to 1 (no class in common).

    >>> round(jsd([1, 0], [1 / 3, 2 / 3]), 3)
    0.459
    """
    p, q = _distributions(f, g)
    total = sum(class_term(a, b) for a, b in zip(p.tolist(), q.tolist(), strict=True))
    return float(min(max(0.5 * total, 0.0), 1.0))


def group_jsd(counts: ArrayLike, shares: ArrayLike | None = None) -> Floats:
    """Jensen-Shannon divergence of each group from the table.

    `counts[g, c]` are the records of class c in group g; `shares` are the classes' shares in the
    table, those of all the groups together unless given.

    >>> group_jsd([[3, 0], [0, 3], [0, 3]]).round(3).tolist()
    [0.459, 0.191, 0.191]
    """
    table, overall = _counted(counts, shares)
    return np.asarray(_jsd_of_rows(table, overall))


def weighted_jsd(counts: ArrayLike, shares: ArrayLike | None = None) -> float:
    """Mean Jensen-Shannon divergence of the groups, each weighted by its records (equation 7).

    The paper's worked example prints 0.323 where its own definition gives 0.280: it puts a
    Kullback-Leibler divergence in the place of the first group's.

    >>> round(weighted_jsd([[3, 0], [0, 3], [0, 3]]), 3)
    0.28
    """
    table, overall = _counted(counts, shares)
    sizes = table.sum(axis=1)
    return float(np.sum(sizes * _jsd_of_rows(table, overall)) / sizes.sum())


def _distributions(f: ArrayLike, g: ArrayLike) -> tuple[Floats, Floats]:
    p, q = np.asarray(f, dtype=np.float64), np.asarray(g, dtype=np.float64)
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(f"two distributions over the same classes, not {p.shape} and {q.shape}")
    for one in (p, q):
        if not np.all(one >= 0) or abs(one.sum() - 1.0) > TOLERANCE:
            raise ValueError("the shares of a distribution are not negative and sum to 1")
    return p, q


def _counted(counts: ArrayLike, shares: ArrayLike | None) -> tuple[NDArray[np.int64], Floats]:
    given = np.asarray(counts)
    if given.ndim != 2 or given.dtype.kind not in "iu" or not np.all(given >= 0):
        raise ValueError("counts are a matrix of whole numbers, groups by classes")
    table = np.ascontiguousarray(given, dtype=np.int64)
    if not len(table) or not np.all(table.sum(axis=1) > 0):
        raise ValueError("every group needs at least one record")
    if shares is None:
        return table, np.asarray(table.sum(axis=0) / table.sum())
    overall = np.asarray(shares, dtype=np.float64)
    _distributions(overall, overall)
    if overall.size != table.shape[1]:
        raise ValueError(f"{table.shape[1]} classes were counted and {overall.size} have a share")
    return table, np.ascontiguousarray(overall)
