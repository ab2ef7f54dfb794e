"""Random numbers that belong to records: Philox4x64-10 counted by the record's number.

Salmon, Moraes, Dror & Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3", SC11. A counter
of 256 bits is mixed with a key of 128 by ten rounds; the counter holds the record's number and
which of its numbers is drawn. So a record's numbers do not depend on the others', on their order,
or on where they are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.extending import intrinsic

if TYPE_CHECKING:
    from ..rng import Key

_WORDS = 4
"""Numbers of 64 bits that one counter gives."""


def _both_halves(typing: Any, a: Any, b: Any) -> Any:
    """The upper and the lower half of a product of 128 bits: one instruction of the processor."""
    both = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]

    def made(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(one, wide) for one in given))
        upper = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, both, (upper, builder.trunc(product, word)))

    return both(types.uint64, types.uint64), made


_product: Any = intrinsic(_both_halves)


@njit(cache=True, nogil=True, inline="always")
def _words(key: np.ndarray, number: Any, block: Any) -> Any:
    """The four words (uint64) of the counter (number, block, 0, 0)."""
    c0, c1, c2, c3 = number, block, uint64(0), uint64(0)
    k0, k1 = key[0], key[1]
    for _ in range(10):
        high0, low0 = _product(uint64(0xD2E7470EE14C6C93), c0)
        high1, low1 = _product(uint64(0xCA5A826395121157), c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + uint64(0x9E3779B97F4A7C15), k1 + uint64(0xBB67AE8584CAA73B)
    return c0, c1, c2, c3


@njit(cache=True, nogil=True, error_model="numpy")
def _bits(key: np.ndarray, numbers: np.ndarray, block: int, word: int, out: np.ndarray) -> None:
    for i in range(numbers.size):
        out[i] = _words(key, numbers[i], uint64(block))[word]


@njit(cache=True, nogil=True, error_model="numpy")
def _beside(key: np.ndarray, numbers: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
    for i in range(numbers.size):
        out[i] = _words(key, numbers[i], values[i])[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _summed(key: np.ndarray, numbers: np.ndarray, values: np.ndarray) -> Any:
    """The sums of two words of each record, without their carries."""
    first, second = uint64(0), uint64(0)
    for i in range(numbers.size):
        found = _words(key, numbers[i], values[i])
        first += found[0]
        second += found[1]
    return first, second


@njit(cache=True, nogil=True, error_model="numpy")
def _parts(
    key: np.ndarray, numbers: np.ndarray, block: int, word: int, kept: int, out: np.ndarray
) -> None:
    """So many bits as parts of one: of 53 the lower ends of their cells, of 52 the middles."""
    dropped, shift, cell = uint64(64 - kept), 0.5 * (53 - kept), 2.0**-kept
    for i in range(numbers.size):
        found = _words(key, numbers[i], uint64(block))[word] >> dropped
        out[i] = (float(np.int64(found)) + shift) * cell


class Draws:
    """The random numbers of some records under one key.

    `place` tells a record's numbers apart; columns have keys of their own (`of`).

    >>> from sfumato.rng import Key
    >>> some = Draws(Key.of_seed(7).of("noise"), np.arange(4, dtype=np.uint64))
    >>> bool((some.uniform()[2:] == some.at(np.array([2, 3])).uniform()).all())
    True
    """

    __slots__ = ("key", "numbers")

    def __init__(self, key: Key, numbers: np.ndarray) -> None:
        self.key = key
        self.numbers = np.ascontiguousarray(numbers, dtype=np.uint64)

    def __len__(self) -> int:
        return int(self.numbers.size)

    def of(self, *words: object) -> Draws:
        """The same records under a key of its own, such as that of a column."""
        return Draws(self.key.of(*words), self.numbers)

    def at(self, rows: np.ndarray) -> Draws:
        """Some of the records."""
        return Draws(self.key, self.numbers[rows])

    def beside(self, *values: np.ndarray) -> Draws:
        """Where numbers are to last, the records by what they hold (uint64), too: whose value is
        another in a later release gets another number, or both would tell by how much it changed.
        """
        if not self.key.lasting:
            return self
        numbers = self.numbers
        for place, held in enumerate(values):
            found = np.empty(len(self), dtype=np.uint64)
            _beside(self.key.of("beside", place).words, numbers, held, found)
            numbers = found
        return Draws(self.key, numbers)

    def digest(self, values: np.ndarray) -> tuple[int, int]:
        """Of the records and what they hold (uint64): the sum of what each of them adds, so that
        digests of parts can be added (modulo 2^64)."""
        first, second = _summed(self.key.words, self.numbers, values)
        return int(first), int(second)

    def bits(self, place: int = 0) -> np.ndarray:
        """uint64: 64 random bits for each record."""
        out = np.empty(len(self), dtype=np.uint64)
        _bits(self.key.words, self.numbers, *divmod(place, _WORDS), out)
        return out

    def uniform(self, place: int = 0) -> np.ndarray:
        """float64 in [0, 1), of 53 bits."""
        return self._parts(place, 53)

    def normal(self, place: int = 0) -> np.ndarray:
        """Standard normal, by the inverse of its distribution function."""
        from scipy.special import ndtri

        # The middle of the last of 2^53 cells would round to one, and its quantile be infinite.
        return np.asarray(ndtri(self._parts(place, 52)))

    def _parts(self, place: int, kept: int) -> np.ndarray:
        out = np.empty(len(self), dtype=np.float64)
        _parts(self.key.words, self.numbers, *divmod(place, _WORDS), kept, out)
        return out
