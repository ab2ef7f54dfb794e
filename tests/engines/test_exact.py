"""Exact sums over relations: the same bits for any division and order."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engines.exact import exact_sums
from tests.oracle.divided import Divided


def squares(part: sf.Table) -> np.ndarray:
    x = part.frame.to_numpy()
    return np.array([x[:, 0], x[:, 0] * x[:, 1]])


@given(st.lists(st.tuples(*[st.floats(-1e9, 1e9)] * 2), min_size=1, max_size=30), st.data())
def test_sums_do_not_depend_on_parts(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    table = sf.table({"x": [a for a, _ in rows], "y": [b for _, b in rows]})
    order = data.draw(st.permutations(range(len(rows))))
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=4))
    found = exact_sums(Divided(table, order, cuts), ["x", "y"], squares)
    assert found.tolist() == [math.fsum(a for a, _ in rows), math.fsum(a * b for a, b in rows)]
