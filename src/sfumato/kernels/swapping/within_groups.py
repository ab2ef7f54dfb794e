"""Rows exchanged inside groups: all of them at random, or in pairs up to a given share.

Labels are int64, 0 and up, and -1 for a row that takes no part. Random numbers are an argument.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..groups import group_order
from .rank import checked_uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _mixed(order: Ints, offsets: Ints, uniforms: Floats) -> Ints:
    """The rows, group by group, each group in random order (Fisher & Yates)."""
    mixed = order.copy()
    for g in range(offsets.size - 1):
        first = offsets[g]
        for at in range(offsets[g + 1] - 1, first, -1):
            size = at - first + 1
            other = first + min(int(uniforms[at] * size), size - 1)
            mixed[at], mixed[other] = mixed[other], mixed[at]
    return mixed


def permute_within(labels: NDArray[np.int64], uniforms: ArrayLike) -> Ints:
    """For each row the row whose value it receives: a random permutation inside each group.

    Every permutation of a group is equally likely, that which changes nothing included. `uniforms`
    holds a number from [0, 1) for each row.

    >>> permute_within(np.array([0, 1, 0, -1, 1]), [0.0] * 5).tolist()
    [2, 4, 0, 3, 1]
    """
    order, offsets = group_order(labels)
    source = np.arange(labels.size)
    source[order] = _mixed(order, offsets, checked_uniforms(uniforms, labels.size))
    return source


@njit(cache=True, nogil=True)
def _pairs(mixed: Ints, offsets: Ints, rate: float, rounding: Floats, source: Ints) -> None:
    for g in range(offsets.size - 1):
        size = offsets[g + 1] - offsets[g]
        wanted = rate * size / 2.0
        pairs = int(wanted)
        if rounding[g] < wanted - pairs:
            pairs += 1
        for j in range(min(pairs, size // 2)):
            a, b = mixed[offsets[g] + 2 * j], mixed[offsets[g] + 2 * j + 1]
            source[a], source[b] = b, a


def pair_within(
    labels: NDArray[np.int64], rate: float, uniforms: ArrayLike, rounding: ArrayLike
) -> Ints:
    """For each row the row whose value it receives: pairs inside each group change places.

    A group of s rows has rate * s / 2 pairs, rounded up or down at random so that this is their
    expected number, but no more than it can have. Every set of pairs is equally likely. `uniforms`
    holds a number from [0, 1) for each row and `rounding` one for each group.

    >>> pair_within(np.array([0, 0, 0, 1]), 1.0, [0.0] * 4, [0.9, 0.0]).tolist()
    [0, 2, 1, 3]
    """
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate = {rate} must lie in [0, 1]")
    order, offsets = group_order(labels)
    source = np.arange(labels.size)
    mixed = _mixed(order, offsets, checked_uniforms(uniforms, labels.size))
    _pairs(mixed, offsets, float(rate), checked_uniforms(rounding, offsets.size - 1), source)
    return source
