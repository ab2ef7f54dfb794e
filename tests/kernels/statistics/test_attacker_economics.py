"""What publishing pays, beside exact fractions; the limit itself does not pay an attack."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.statistics.attacker_economics import Economics, attacked, payouts
from tests.oracle import economics as oracle

sizes = st.integers(1, 10**6)
cents = st.integers(1, 10**7)
shares = st.sampled_from([Fraction(i, 12) for i in range(13)])


@given(sizes, cents)
def test_an_attack_that_just_breaks_even_does_not_pay(size: int, cost: int) -> None:
    success, price = np.array([1.0 / size]), cost / 100
    even = price * size
    assert not attacked(success, Economics(1.0, 1.0, even, price))[0]
    assert not attacked(success, Economics(1.0, 1.0, even * (1 - 1e-9), price))[0]
    assert attacked(success, Economics(1.0, 1.0, even * (1 + 1e-9), price))[0]
    # One person more in the class, and the same gain no longer pays; one less, and it does.
    assert not attacked(np.array([1.0 / (size + 1)]), Economics(1.0, 1.0, even, price))[0]
    if size > 1:
        assert attacked(np.array([1.0 / (size - 1)]), Economics(1.0, 1.0, even, price))[0]


@given(st.lists(st.tuples(shares, sizes), min_size=1, max_size=20), *[cents] * 4)
def test_payouts_are_those_of_exact_fractions(
    records: list[tuple[Fraction, int]], benefit: int, penalty: int, gain: int, cost: int
) -> None:
    worth = oracle.Worth(*(Fraction(cent, 100) for cent in (benefit, penalty, gain, cost)))
    amounts = Economics(*(float(amount) for amount in worth))
    loss = np.array([float(lost) for lost, _ in records])
    people = np.array([size for _, size in records])
    expected = [float(oracle.payout(lost, Fraction(size), worth)) for lost, size in records]
    assert payouts(loss, 1.0 / people, amounts).tolist() == pytest.approx(expected, abs=1e-6)
    found = attacked(1.0 / people, amounts).tolist()
    assert found == [oracle.pays(Fraction(size), worth) for _, size in records]


def test_the_input_is_not_modified() -> None:
    loss, success = np.array([0.25, 1.0]), np.array([1.0, 1.0])
    payouts(loss, success, Economics(8.0, 1.0, 1.0, 0.5))
    assert (loss.tolist(), success.tolist()) == ([0.25, 1.0], [1.0, 1.0])
