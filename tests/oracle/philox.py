"""Philox4x64-10 in Python's own whole numbers, as the paper writes it."""

from __future__ import annotations

from collections.abc import Sequence

_WORD = 2**64


def philox(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """The four words of a counter of four words, by a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1 = (second // _WORD) ^ c1 ^ k0, second % _WORD
        c2, c3 = (first // _WORD) ^ c3 ^ k1, first % _WORD
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) % _WORD, (k1 + 0xBB67AE8584CAA73B) % _WORD
    return c0, c1, c2, c3
