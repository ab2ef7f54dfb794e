"""Random numbers in compiled code: splitmix64 (Steele, Lea & Flood 2014), one word of state."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Random = NDArray[np.uint64]
"""The state of a stream, an array of one word."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True, inline="always")
def mixed(word: np.uint64) -> np.uint64:
    """The number that belongs to a state."""
    z = (word ^ (word >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def draw(random: Random) -> float:
    """A number in [0, 1)."""
    random[0] += GOLDEN
    return float(mixed(random[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True, inline="always")
def pick(random: Random, bound: int) -> int:
    """A whole number from 0 to bound - 1."""
    return min(int(draw(random) * bound), bound - 1)


@njit(cache=True, nogil=True)
def below(random: Random, bound: int) -> int:
    """A whole number from 0 to bound - 1: the remainder of a word, so other ones than `pick`."""
    random[0] += GOLDEN
    return int(np.int64(mixed(random[0]) >> np.uint64(1)) % bound)
