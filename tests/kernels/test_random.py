"""Random numbers in compiled code: the published numbers of splitmix64, and their ranges."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.random import below, draw, pick

WORDS = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
"""The first numbers of splitmix64 from the state 0, as published with it."""


def test_draws_are_those_of_splitmix64() -> None:
    state = np.zeros(1, np.uint64)
    assert [draw(state) for _ in WORDS] == [(word >> 11) / 2**53 for word in WORDS]


def test_whole_numbers_follow_from_the_same_words() -> None:
    state, other = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    assert [pick(state, 10) for _ in WORDS] == [int((word >> 11) / 2**53 * 10) for word in WORDS]
    assert [below(other, 10) for _ in WORDS] == [(word >> 1) % 10 for word in WORDS]


def test_every_number_below_the_bound_comes_and_no_other() -> None:
    state = np.array([7], np.uint64)
    assert (
        {pick(state, 3) for _ in range(200)} == {below(state, 3) for _ in range(200)} == {0, 1, 2}
    )
