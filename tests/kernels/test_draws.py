"""Random numbers of records: numpy's own Philox, and independence of order and division."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import kstest

from sfumato.kernels.draws import Draws
from sfumato.rng import Key
from tests.oracle.philox import philox

words = st.integers(0, 2**64 - 1)


def draws(key: Key, *numbers: int) -> Draws:
    return Draws(key, np.array(numbers, dtype=np.uint64))


@given(words, st.integers(0, 11), st.integers(0, 99))
def test_bits_are_those_of_the_paper(number: int, place: int, seed: int) -> None:
    key = Key.of_seed(seed).of("step")
    found = int(draws(key, number).bits(place)[0])
    assert found == philox((number, place // 4, 0, 0), key.words.tolist())[place % 4]


@given(st.integers(1, 2**64 - 1), st.integers(0, 99))
def test_bits_are_those_of_numpy(number: int, seed: int) -> None:
    """Which counts up before it draws."""
    key = Key.of_seed(seed)
    before = np.array([number - 1, 0, 0, 0], dtype=np.uint64)
    numpy_s = np.random.Philox(key=key.words, counter=before).random_raw(4)
    assert [int(draws(key, number).bits(p)[0]) for p in range(4)] == numpy_s.tolist()


@given(st.lists(words, unique=True, min_size=1, max_size=40), st.randoms(), st.integers(0, 9))
def test_neither_order_nor_division_matters(numbers: list[int], random: object, at: int) -> None:
    key = Key.of_seed(3).of("noise", "age")
    whole = dict(zip(numbers, draws(key, *numbers).normal(at).tolist(), strict=True))
    random.shuffle(numbers)  # type: ignore[attr-defined]
    for part in (numbers[: len(numbers) // 3], numbers[len(numbers) // 3 :]):
        assert draws(key, *part).normal(at).tolist() == [whole[n] for n in part]
    rows = np.array([len(numbers) - 1, 0])
    assert draws(key, *numbers).at(rows).uniform().tolist() == [
        draws(key, numbers[row]).uniform()[0] for row in rows
    ]


def test_places_columns_and_steps_have_numbers_of_their_own() -> None:
    some = draws(Key.of_seed(1), *range(50))
    found = [
        some.bits(),
        some.bits(1),
        some.bits(4),
        some.of("age").bits(),
        some.of("pay").bits(),
        some.of("age", 0.1).bits(),
        some.of(["age", 0.1]).bits(),
        draws(Key.of_seed(2), *range(50)).bits(),
    ]
    assert np.unique(np.concatenate(found)).size == 50 * len(found)


def test_uniform_and_normal_are_distributed_as_they_say() -> None:
    some = draws(Key.of_seed(5), *range(200_000))
    assert kstest(some.uniform(), "uniform").pvalue > 1e-6
    assert kstest(some.of("x").normal(), "norm").pvalue > 1e-6
    assert abs(np.corrcoef(some.of("x").normal(), some.of("y").normal())[0, 1]) < 5.5 / 447
    assert abs(np.corrcoef(some.normal()[1:], some.normal()[:-1])[0, 1]) < 5.5 / 447


def test_uniform_and_normal_are_what_their_bits_say() -> None:
    some = draws(Key.of_seed(5), *range(1000))
    assert some.uniform().tolist() == [(b >> 11) / 2**53 for b in some.bits().tolist()]
    middle = [(2 * (b >> 12) + 1) / 2**53 for b in some.bits().tolist()]
    assert some.normal().tolist() == ndtri(middle).tolist()
    # The last bits that there are give a number below one, and so a finite one.
    assert np.isfinite(ndtri([1 / 2**53, (2 * (2**52 - 1) + 1) / 2**53])).all()


def test_a_key_does_not_show_itself() -> None:
    assert repr(Key.of_seed(7).of("x")) == "Key(...)"
