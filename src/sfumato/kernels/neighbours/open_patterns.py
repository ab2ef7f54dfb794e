"""Agreement of records with published ones that may leave cells open.

In each column a published record agrees with a record, disagrees, or tells nothing because its cell
was suppressed. Which columns tell something is the same for all pairs of a published record: its
mask. Equal published records are given once, with the number of their copies.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.coverage.blocks import Records, Tables
from sfumato.kernels.neighbours.rank_windows import Places, apart

Patterns = NDArray[np.uint32]


@njit(cache=True, nogil=True)
def agree_in_windows(
    place: Places, low: Places, high: Places, tail: Ints, bits: Ints, out: Patterns
) -> None:
    """Set bit bits[j] where the place of a published record is in the window of column j."""
    for j in range(bits.size):
        bit = np.uint32(1) << np.uint32(bits[j])
        for c in range(out.size):
            p = place[c, j]
            if (p >= low[j] and p < high[j]) or p >= tail[j]:
                out[c] |= bit


@njit(cache=True, nogil=True)
def agree_by_cover(
    records: Records, tables: Tables, runs: Codes, sets: Codes, bits: Ints, out: Patterns
) -> None:
    """Set a bit where the label covers the value: first the columns of runs, then those of sets."""
    low, high, labels, _, _ = records
    words, start, width = tables
    for j in range(runs.size):
        bit = np.uint32(1) << np.uint32(bits[j])
        for c in range(out.size):
            if runs[j] >= low[c, j] and runs[j] <= high[c, j]:
                out[c] |= bit
    for j in range(sets.size):
        bit = np.uint32(1) << np.uint32(bits[runs.size + j])
        at, shift = start[j] + (sets[j] >> 6), np.uint64(sets[j] & 63)
        for c in range(out.size):
            if (words[at + labels[c, j] * width[j]] >> shift) & np.uint64(1):
                out[c] |= bit


@njit(cache=True, nogil=True)
def tally(
    patterns: Patterns, mask: Ints, copies: Ints, counts: NDArray[np.int64], agreed: Ints
) -> None:
    """Add the pairs of one record: by mask and pattern (masks below 0 are left out), and for each
    column and published record whether they agree."""
    for c in range(patterns.size):
        if mask[c] >= 0:
            counts[mask[c], patterns[c]] += copies[c]
        for j in range(agreed.shape[0]):
            agreed[j, c] += (patterns[c] >> np.uint32(j)) & np.uint32(1)


@njit(cache=True, nogil=True)
def score(patterns: Patterns, agree: Floats, differ: Floats, out: Floats) -> None:
    """Add up what agreement and disagreement are worth, (columns, published records) each."""
    out[:] = 0.0
    for j in range(agree.shape[0]):
        for c in range(out.size):
            on = (patterns[c] >> np.uint32(j)) & np.uint32(1)
            out[c] += agree[j, c] if on else differ[j, c]


@njit(cache=True, nogil=True)
def pick(
    scores: Floats, copies: Ints, own: int, za: Floats, zb: Floats, price: Floats, tolerance: float
) -> tuple[float, int, bool]:
    """The highest score, how many published records have it, and whether the own one does; the
    nearest of them alone, by the numbers za and zb, unless these have no columns."""
    best = scores.max()
    least = np.inf
    far = np.zeros(scores.size)
    for c in range(scores.size):
        if scores[c] >= best - tolerance:
            if za.size:
                far[c] = price[c] + apart(za, zb[c])
            least = min(least, far[c])
    ties, tied = 0, False
    for c in range(scores.size):
        if scores[c] >= best - tolerance and far[c] <= least * (1.0 + tolerance):
            ties += copies[c]
            tied |= c == own
    return best, ties, tied
