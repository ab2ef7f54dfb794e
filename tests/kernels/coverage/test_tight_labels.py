"""What narrow labels need beside enumeration of all that members could hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.coverage.tight_labels import met, terms
from tests.oracle import hidden_cells as oracle


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(2, 4),
    st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=4),
)
@settings(max_examples=80, deadline=None)
def test_chances_are_those_of_all_that_could_be_held(
    seed: int, members: int, values: int, sets: list[set[int]]
) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.random((members, values)) * (rng.random((members, values)) < 0.8) + 1e-6
    chances /= chances.sum(axis=1, keepdims=True)
    needs = [{v for v in one if v < values} for one in sets]
    needs = [one for one in needs if one]
    masks = np.array([[v in one for v in range(values)] for one in needs], dtype=bool)
    found = met(chances, terms(masks.reshape(-1, values)))
    np.testing.assert_allclose(found, oracle.label_comes_about(chances, needs), atol=1e-9)


def test_children_of_a_node_take_few_terms() -> None:
    # 40 children of one value each: somebody is outside each of them.
    found = terms(~np.eye(40, dtype=bool))
    assert found.sign.size <= 42
    chances = np.full((3, 40), 1 / 40)
    assert met(chances, found)[0] == pytest.approx(np.full(40, 1 - 1 / 1600))


def test_more_values_than_can_be_counted_need_nothing() -> None:
    many = terms(np.eye(14, dtype=bool))
    assert many.sign.tolist() == [1.0]
    assert (met(np.full((20, 14), 1 / 14), many) == 1.0).all()
    assert terms(np.eye(10, dtype=bool)).sign.size == 1024
