"""Scores that are nobody's own: each is drawn anew between its neighbours in rank.

Scores that only change places are all in the release, to the last digit. Whoever knows a person's
record can look on every component whether its score is there. After this, what is there are draws.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from ..arrays import Floats, Ints
from ..threads import cores

SAME = 1e-9  # deviations: scores nearer than that are equal but for rounding
AROUND = 10  # steps to either side, at least, beside which a step is judged to be a gap
GROUP = 4  # scores that are a group of their own beyond a gap; fewer are the end of another
FARTHEST = 2.0  # by how many means the outermost draw may exceed the least that it can be


@njit(cache=True, nogil=True)
def _groups(s: Floats, w: int) -> list[int]:
    """Where groups of sorted scores end: at steps wider than all the others around together."""
    n, v = s.size, max(w, AROUND)
    ends, last = [0], 0
    for k in range(GROUP, n - GROUP + 1):
        around = s[min(k + v, n - 1)] - s[max(k - 1 - v, 0)]
        if k - last >= GROUP and 2.0 * (s[k] - s[k - 1]) > around:
            ends.append(k)
            last = k
    ends.append(n)
    return ends


@njit(cache=True, nogil=True)
def _draw(s: Floats, w: int, same: float, uniform: Floats, made: Floats) -> None:
    """Draws for one group of sorted scores."""
    n = s.size
    w = min(w, n // 4)
    if w == 0:
        made[:] = s
        return
    jumps = np.zeros(n, np.int64)  # steps upwards among the first i + 1 scores
    for i in range(1, n):
        jumps[i] = jumps[i - 1] + (1 if s[i] - s[i - 1] > same else 0)
    if jumps[n - 1] == 0:
        made[:] = s
        return
    below, above = 0.0, 0.0
    for i in range(w):
        below += (s[w] - s[i]) / w
        above += (s[n - 1 - i] - s[n - 1 - w]) / w
    for i in range(n):
        middle = min(max(i, w), n - 1 - w)
        tied = jumps[middle + w] - jumps[middle - w] <= w
        outer = min(i, n - 1 - i)
        low, high = max(i - w, w), min(i + w, n - 1 - w)  # windows do not reach into the ends
        if outer < w:  # one draw to each step of the ends, lest all pass over the only one
            low = i if i < w else i - 1
            high = low + 1
        if tied:  # between two ranks, so that few draws lie between two categories
            place = low + uniform[i] * (high - low)
            k = min(int(place), n - 2)
            made[i] = s[k] + (place - k) * (s[k + 1] - s[k])
        elif outer < w:
            # One from each w-th of the exponential distribution: independent draws would now and
            # then put an end far beyond anything that was there.
            least = math.exp(-FARTHEST) if outer == 0 else 0.0
            drawn = -math.log((outer + 1.0 - uniform[i] * (1.0 - least)) / w)
            made[i] = s[w] - below * drawn if i < w else s[n - 1 - w] + above * drawn
        else:
            made[i] = s[low] + uniform[i] * (s[high] - s[low])


@njit(cache=True, nogil=True)
def _drawn(s: Floats, w: int, same: float, uniform: Floats) -> Floats:
    """Draws for sorted scores, group by group."""
    made = np.empty(s.size)
    ends = _groups(s, w)
    for g in range(len(ends) - 1):
        a, b = ends[g], ends[g + 1]
        _draw(s[a:b], w, same, uniform[a:b], made[a:b])
    return made


def smoothed(
    scores: Floats, width: int, rng: np.random.Generator, *, threads: int | None = None
) -> Floats:
    """Each column of scores (n, r) drawn anew near its own values, with its mean and deviation.

    A score becomes a uniform draw between those `width` ranks below and above it. The outermost
    `width` scores at either end become exponential draws beyond the next one, with the mean that
    they have, and no other window reaches among them: nobody's extreme is published, nor does it
    bound a draw. `width` is at most a quarter of the scores; with 0 nothing changes.

    Categories stay categories. Where a step is wider than the `width` (or 10) steps to either side
    of it together, the scores beyond it are a group of their own if there are four or more, with
    ends of their own, and equal scores stay as they are. Where half of the steps in a window are
    none at all, the draw is between two ranks that are next to each other. `threads` never alters
    the result.

    >>> smoothed(np.arange(8.0)[:, None], 1, np.random.default_rng(1))[:, 0].round(2).tolist()
    [-0.4, 1.32, 2.33, 3.11, 3.41, 6.11, 5.56, 6.57]
    """
    n, r = scores.shape
    made = np.array(scores, dtype=np.float64, order="F")
    # Each column has a generator of its own, keyed by this one, whoever draws it.
    keys = rng.integers(0, 2**64, size=(r, 2), dtype=np.uint64)

    def draw(j: int) -> None:
        own = np.random.Generator(np.random.Philox(key=keys[j]))
        column = made[:, j].copy()
        mean, deviation = float(column.mean()), float(column.std())
        order: Ints = np.argsort(column, kind="stable")  # equal scores, everywhere alike
        drawn = _drawn(column[order], width, SAME * deviation, own.random(column.size))
        drawn -= drawn.mean()
        if (now := float(drawn.std())) > 0.0:  # else it was constant
            made[order, j] = drawn * (deviation / now) + mean

    if min(width, n // GROUP) > 0:
        with ThreadPoolExecutor(cores(threads)) as pool:
            list(pool.map(draw, range(r)))
    return made
