"""Rank swapping against its oracle, and what every swap must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.swapping.rank import rank_swap
from tests.oracle.rank_swap import rank_swap as oracle

LAST = np.nextafter(1.0, 0.0)


@given(st.data(), st.integers(0, 80), st.integers(0, 100))
def test_agrees_with_the_oracle(data: st.DataObject, n: int, p_count: int) -> None:
    uniform = st.floats(0, LAST) | st.sampled_from([0.0, 0.5, LAST])
    uniforms = data.draw(st.lists(uniform, min_size=n, max_size=n))
    found = rank_swap(n, p_count, uniforms)
    assert found.tolist() == oracle(n, p_count, uniforms)
    assert sorted(found.tolist()) == list(range(n))
    assert found[found].tolist() == list(range(n))
    assert all(abs(i - other) <= p_count for i, other in enumerate(found.tolist()))


def test_many_positions_agree_with_the_oracle() -> None:
    uniforms = np.random.default_rng(1).random(3000)
    for p_count in (1, 7, 600):
        assert rank_swap(3000, p_count, uniforms).tolist() == oracle(3000, p_count, uniforms)


def test_every_free_position_in_reach_has_the_same_share() -> None:
    # Position 0 takes position 2; position 1 then has 3, 4 and 5 in reach, a third of [0, 1) each.
    partners = [
        int(rank_swap(8, 4, [0.25, u, 0, 0, 0, 0, 0, 0])[1]) for u in np.arange(0.005, 1, 0.01)
    ]
    assert [partners.count(position) for position in range(8)] == [0, 0, 0, 33, 34, 33, 0, 0]


def test_an_odd_one_out_stays() -> None:
    assert rank_swap(3, 1, [0.0, 0.0, 0.0]).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("n", "p_count", "uniforms", "message"),
    [
        (2, 1, [0.5], "2 uniforms"),
        (1, -1, [0.5], "negative"),
        (1, 1, [1.0], r"\[0, 1\)"),
        (1, 1, [np.nan], r"\[0, 1\)"),
    ],
)
def test_refusals_name_the_fault(n: int, p_count: int, uniforms: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank_swap(n, p_count, uniforms)
