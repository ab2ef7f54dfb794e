"""Categories on the one axis along which they differ most in other columns.

This is correspondence analysis of the categories by coarse bins of the other columns: shares are
centred, divided by the root of what is expected, and weighted by how many records a category has.

An axis that was chosen among many fits its own records by chance. Where it is to be tested on them,
each half of the records is scored by the axis of the other half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

COARSE = 16
"""Bins of another column."""
_MOST_COLUMNS = 24
"""Other columns that are looked at, evenly from first to last."""
_MOST_CELLS = 4_000_000
"""Shares that are held at once."""
_SHRINK = 5.0
"""Records' worth of doubt in a category's shares."""


def coarse(codes: NDArray[np.int32], levels: int, *, nominal: bool) -> NDArray[np.uint8]:
    """A column's codes in 16 bins: neighbours together, or the frequent ones and all others.

    >>> coarse(np.array([0, 15, 16, 31], dtype=np.int32), 32, nominal=False).tolist()
    [0, 7, 8, 15]
    """
    if not nominal:
        return (codes.astype(np.int64) * COARSE // max(levels, COARSE)).astype(np.uint8)
    held = np.bincount(codes, minlength=levels)
    place = np.full(levels, COARSE - 1, dtype=np.uint8)
    frequent = np.argsort(-held, kind="stable")[: COARSE - 1]
    place[frequent] = np.arange(frequent.size)
    return np.asarray(place[codes])


def crossed_scores(
    codes: NDArray[np.int64], count: int, others: NDArray[np.uint8], first: NDArray[np.bool_]
) -> Floats:
    """A score for each record: its category's on the axis of the half to which it does not belong,
    the two halves' axes pointing the same way and each centred."""
    axes = [category_axis(codes[half], count, others[:, half]) for half in (first, ~first)]
    held = [np.bincount(codes[half], minlength=count) for half in (first, ~first)]
    # What either half knows nothing of cannot tell which way the other points.
    weight = np.sqrt(held[0] * held[1])
    way = float(np.sum(weight * axes[0] * axes[1]))
    scores = np.where(first, axes[1][codes], np.sign(way or 1.0) * axes[0][codes])
    for half in (first, ~first):
        scores[half] -= scores[half].mean() if half.any() else 0.0
    return scores


def category_axis(codes: NDArray[np.int64], count: int, others: NDArray[np.uint8]) -> Floats:
    """A score for each of `count` categories, given other columns (p, n) in coarse bins."""
    held = np.bincount(codes, minlength=count).astype(np.float64)
    room = max(_MOST_CELLS // (COARSE * count), 1)
    few = min(len(others), _MOST_COLUMNS, room)
    if not few or not codes.size:
        return np.arange(count, dtype=np.float64)
    parts = []
    for j in np.linspace(0, len(others) - 1, few).round().astype(int):
        cells = np.bincount(codes * COARSE + others[j], minlength=count * COARSE)
        share = np.bincount(others[j], minlength=COARSE) / codes.size
        there = share > 0
        apart = cells.reshape(count, COARSE)[:, there] - held[:, None] * share[there]
        parts.append(apart / np.sqrt(share[there]))
    means = np.concatenate(parts, axis=1) / (held[:, None] + _SHRINK)
    _, axes = np.linalg.eigh((means * held[:, None]).T @ means)
    axis = axes[:, -1]
    # The sign of an axis is arbitrary; this one does not depend on the library.
    axis = axis * (1.0 if axis[np.argmax(np.abs(axis))] >= 0 else -1.0)
    return np.asarray(means @ axis, dtype=np.float64)
