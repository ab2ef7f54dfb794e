"""The order in which combinations of tokens are asked: neighbours begin with the same tokens."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Codes, Floats, Ints


@njit(cache=True, nogil=True)
def arrange(starts: Ints, tokens: Codes) -> None:
    """Sort the tokens of each combination: the rarest come first."""
    for c in range(starts.size - 1):
        tokens[starts[c] : starts[c + 1]] = np.sort(tokens[starts[c] : starts[c + 1]])


@njit(cache=True, nogil=True)
def first_tokens(starts: Ints, tokens: Codes) -> Ints:
    """The first three tokens of each combination as one number."""
    keys = np.zeros(starts.size - 1, dtype=np.int64)
    for c in range(keys.size):
        for t in range(3):
            keys[c] <<= 21
            if starts[c] + t < starts[c + 1]:
                keys[c] |= min(np.int64(tokens[starts[c] + t]) + 1, (1 << 21) - 1)
    return keys


@njit(cache=True, nogil=True)
def shared_tokens(starts: Ints, tokens: Codes, chosen: Ints) -> Ints:
    """How many first tokens each chosen combination shares with the one before it."""
    found = np.zeros(chosen.size, dtype=np.int64)
    for a in range(1, chosen.size):
        c, b = chosen[a], chosen[a - 1]
        most = min(starts[c + 1] - starts[c], starts[b + 1] - starts[b])
        t = 0
        while t < most and tokens[starts[c] + t] == tokens[starts[b] + t]:
            t += 1
        found[a] = t
    return found


@njit(cache=True, nogil=True)
def sums_over(starts: Ints, tokens: Codes, share: Floats) -> Floats:
    """The summed shares of the tokens of each combination."""
    found = np.zeros(starts.size - 1)
    for c in range(found.size):
        for e in range(starts[c], starts[c + 1]):
            found[c] += share[tokens[e]]
    return found
