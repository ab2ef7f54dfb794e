"""Predictive mean matching: for each recipient, one of the d donors with the nearest score."""

from __future__ import annotations

import numpy as np
from numba import njit


class Donors:
    """Donors in the order of their scores, sorted once for any number of draws."""

    def __init__(self, scores: np.ndarray) -> None:
        self._order = np.argsort(scores)
        self._scores = scores[self._order]
        self._place = np.empty(scores.size, dtype=np.int64)
        self._place[self._order] = np.arange(scores.size)

    def draw(self, recipients: np.ndarray, own: np.ndarray, d: int, u: np.ndarray) -> np.ndarray:
        """For each recipient, given by its score, the index of its donor.

        own[i] is the donor that recipient i is itself, which never gives to it, or -1. u[i] in
        [0, 1) chooses among the d nearest; where more than d donors have the recipient's very
        score, among all of these, so that ties favour nobody.
        """
        at = np.where(own >= 0, self._place[own], -1)
        # In the order of the scores, so that both lists are walked once.
        order = np.argsort(recipients)
        chosen = np.empty(recipients.size, dtype=np.int64)
        chosen[order] = _draw(self._scores, recipients[order], at[order], d, u[order])
        return self._order[chosen]


@njit(cache=True, nogil=True)
def _draw(
    scores: np.ndarray, recipients: np.ndarray, own: np.ndarray, d: int, u: np.ndarray
) -> np.ndarray:
    n = scores.size
    out = np.empty(recipients.size, dtype=np.int64)
    low = high = 0
    for i in range(recipients.size):
        # Donors low..high-1 have the recipient's score.
        while low < n and scores[low] < recipients[i]:
            low += 1
        while high < n and scores[high] <= recipients[i]:
            high += 1
        self_at = own[i]
        tied = high - low
        if low <= self_at < high:
            tied -= 1
        if tied >= d:
            chosen = low + int(u[i] * tied)
            if low <= self_at <= chosen:
                chosen += 1
            out[i] = chosen
            continue
        others = n - 1 if self_at >= 0 else n
        wanted = int(u[i] * min(d, others))
        # Walk outwards from the recipient's place, the nearer side first.
        left, right = low - 1, low
        chosen = -1
        seen = -1
        while seen < wanted:
            if right >= n or (
                left >= 0 and recipients[i] - scores[left] <= scores[right] - recipients[i]
            ):
                chosen = left
                left -= 1
            else:
                chosen = right
                right += 1
            if chosen != self_at:
                seen += 1
        out[i] = chosen
    return out
