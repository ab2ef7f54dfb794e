"""Growing a set of k records around one: the record that leaves most in common joins next.

What another record shares with the owner is a mask over the owner's items, so nothing else of it
matters. What is common so far shrinks at most as often as the owner has items: between two
shrinkages all records that contain what is left join for nothing. Once few items are left, records
with the same pattern of them are counted together. The choices are those of the plain algorithm,
only found sooner.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ..rows import Words

FEW = 10
"""So few items are left that all patterns of them are counted."""


@njit(cache=True, nogil=True)
def ones(word: np.uint64) -> int:
    """How many bits are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    # The type first: a plain int of an unsigned word would stay unsigned, and mix into floats.
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@njit(cache=True, nogil=True)
def fill_worths(worths: Floats, own: Floats) -> None:
    """`worths[b, byte]`: what the items of byte b of a mask are worth. `own` are the utilities of
    the owner's items, in the order of the mask's bits."""
    for b in range((own.size + 7) // 8):
        worths[b, 0] = 0.0
        for bit in range(8):
            worth = own[8 * b + bit] if 8 * b + bit < own.size else 0.0
            for byte in range(1 << bit):
                worths[b, byte + (1 << bit)] = worths[b, byte] + worth


@njit(cache=True, nogil=True)
def _worth(mask: Words, common: Words, worths: Floats) -> tuple[float, bool]:
    """The utility of what a record shares of what is common, and whether that is all of it."""
    total, whole = 0.0, True
    for w in range(common.size):
        shared = mask[w] & common[w]
        whole = whole and shared == common[w]
        b = 8 * w
        while shared != 0:
            total += worths[b, np.int64(shared & np.uint64(255))]
            shared >>= np.uint64(8)
            b += 1
    return total, whole


@njit(cache=True, nogil=True)
def _by_pattern(
    masks: Words, copies: Ints, own: Floats, k: int, common: Words, picks: Ints, used: int
) -> int:
    """The rest of the growing, on counts of the patterns of the few items that are left."""
    at_word, at_bit = np.empty(FEW, dtype=np.int64), np.empty(FEW, dtype=np.uint64)
    worth = np.zeros(1 << FEW)
    bits = 0
    for w in range(common.size):
        for bit in range(64):
            if common[w] >> np.uint64(bit) & np.uint64(1):
                at_word[bits], at_bit[bits] = w, bit
                for p in range(1 << bits):
                    worth[p + (1 << bits)] = worth[p] + own[64 * w + bit]
                bits += 1
    size = 1 << bits
    count, first = np.zeros(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    direct = common.size == 1 and bits > 0 and at_bit[bits - 1] == bits - 1
    for j in range(copies.size):
        if direct:
            p = int(np.int64(masks[j, 0] & np.uint64(size - 1)))
        else:
            p = 0
            for b in range(bits):
                p |= int(np.int64(masks[j, at_word[b]] >> at_bit[b] & np.uint64(1))) << b
        if first[p] < 0:
            first[p] = j
        count[p] += copies[j]
    left = size - 1
    while True:
        free, best, chosen = 0, -1.0, -1
        for p in range(size):
            if first[p] < 0:
                continue
            if p & left == left:
                free += count[p]
                continue
            found = worth[p & left]
            if found > best or (found == best and first[p] < first[chosen]):
                best, chosen = found, p
        if free >= k or chosen < 0:
            break
        picks[used] = first[chosen]
        used += 1
        left &= chosen
    for b in range(bits):
        if left >> b & 1 == 0:
            common[at_word[b]] &= ~(np.uint64(1) << at_bit[b])
    return used


@njit(cache=True, nogil=True)
def grow(
    masks: Words, copies: Ints, own: Floats, k: int, worths: Floats, bounds: Floats,
    common: Words, picks: Ints,
) -> int:  # fmt: skip
    """Shrink `common`, all of the owner's items at first, until k records contain it.

    `masks[j]` is what record j shares with the owner, who is one of them; `copies[j]` is how often
    it occurs. `picks` receives those whose joining made `common` shrink, in order; their number is
    returned. `bounds` and `worths` are room to work in. Of equals the first is taken.
    """
    fill_worths(worths, own)
    used, size = 0, own.size
    bounds[: copies.size] = np.inf
    all_worth = np.inf
    while size > FEW:
        free, best, chosen = 0, -1.0, -1
        for j in range(copies.size):
            # What a record was worth when more was common bounds what it is worth now.
            if bounds[j] <= best and bounds[j] < all_worth:
                continue
            found, whole = _worth(masks[j], common, worths)
            bounds[j] = found
            if whole:
                free += copies[j]
            elif found > best:
                best, chosen = found, j
        if free >= k or chosen < 0:
            return used
        picks[used] = chosen
        used += 1
        size = 0
        for w in range(common.size):
            common[w] &= masks[chosen, w]
            size += ones(common[w])
        all_worth = _worth(common, common, worths)[0]
    return _by_pattern(masks, copies, own, k, common, picks, used)
