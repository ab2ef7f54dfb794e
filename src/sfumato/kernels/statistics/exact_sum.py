"""Sums of float64 without any error, so that neither order nor division of the records matters.

Every number is a whole multiple of 2^-1074, the least of all. A sum is kept as such a multiple, in
limbs of 32 bits with room for carries (Kulisch & Miranker 1986, "The arithmetic of the digital
computer: a new approach", SIAM Review 28): limbs of parts are added limb by limb. NaN and infinity
are no numbers, and the caller leaves them aside.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

Limbs = NDArray[np.int64]
"""int64 (m, LIMBS): limb i of a sum counts multiples of 2^(32 i - 1074); all but the last are from
0 to 2^32 - 1, so that equal sums have equal limbs."""
LIMBS = 68
"""2098 bits that numbers have, and 2^63 of them."""
_LEAST = 1074
_BITS = 32
_ROOM = 1 << 30
"""Numbers that limbs take between carries."""
_NONE = np.zeros(1, dtype=np.int64)
_NO_SUM = np.zeros((0, LIMBS), dtype=np.int64)


def limbs_of(columns: Iterable[np.ndarray]) -> Limbs:
    """The sum of each of these columns (float64), NaN left aside.

    >>> rounded(limbs_of([np.array([1e300, 1.0, -1e300])])).tolist()
    [1.0]
    """
    return np.concatenate([limbs_by(column, _NONE, 1) for column in columns] or [_NO_SUM])


def limbs_by(values: np.ndarray, group: np.ndarray, groups: int) -> Limbs:
    """The sums of float64 values by their group (int64, 0..groups-1), NaN left aside."""
    made = np.zeros((groups, LIMBS), dtype=np.int64)
    _add(np.ascontiguousarray(values, dtype=np.float64), group, made)
    return made


def merged(parts: list[Limbs]) -> Limbs:
    """The sums over all parts, of which there is one at least."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
        _carry(total)
    return total


def exactly(limbs: Limbs) -> list[Fraction]:
    """The sums as they are."""
    whole = [sum(int(limb) << (_BITS * i) for i, limb in enumerate(row)) for row in limbs]
    return [Fraction(one, 1 << _LEAST) for one in whole]


def rounded(limbs: Limbs) -> np.ndarray:
    """float64 (m): the nearest numbers to the sums, the even one of two; infinity beyond all."""
    return np.array([nearest(one) for one in exactly(limbs)])


def nearest(exact: Fraction) -> float:
    """The nearest number."""
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def _add(values: np.ndarray, group: np.ndarray, limbs: np.ndarray) -> None:
    """Add values to the sum of their group; where there is but one, it is not asked for."""
    bits = values.view(np.uint64)
    one = limbs.shape[0] == 1
    mask = uint64(0xFFFFFFFF)
    for i in range(bits.size):
        exponent = int64((bits[i] >> uint64(52)) & uint64(0x7FF))
        mantissa = bits[i] & uint64(0xFFFFFFFFFFFFF)
        if exponent == 0x7FF:
            continue
        if exponent:
            mantissa |= uint64(1) << uint64(52)
            exponent -= 1
        g = 0 if one else group[i]
        place, shift = exponent >> 5, uint64(exponent & 31)
        low, high = (mantissa & mask) << shift, (mantissa >> uint64(32)) << shift
        sign = int64(1) - int64(2) * int64(bits[i] >> uint64(63))
        limbs[g, place] += sign * int64(low & mask)
        limbs[g, place + 1] += sign * int64((low >> uint64(32)) + (high & mask))
        limbs[g, place + 2] += sign * int64(high >> uint64(32))
        if i & (_ROOM - 1) == _ROOM - 1:
            _carry(limbs)
    _carry(limbs)


@njit(cache=True, nogil=True, error_model="numpy")
def _carry(limbs: np.ndarray) -> None:
    """Bring all limbs but the last into their range."""
    for g in range(limbs.shape[0]):
        for i in range(limbs.shape[1] - 1):
            over = limbs[g, i] >> 32
            limbs[g, i] -= over << 32
            limbs[g, i + 1] += over
