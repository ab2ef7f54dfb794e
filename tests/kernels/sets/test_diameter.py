"""Diameters of groups of sets: exact in small groups, bounds in large ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.diameter import SetColumns, set_diameters
from tests.oracle import set_losses as oracle

SETS = st.lists(
    st.tuples(st.frozensets(st.sampled_from("abcdef"), max_size=4), st.integers(0, 2)),
    min_size=1, max_size=20,
)  # fmt: skip
WORTH = {"a": 3.0, "b": 0.5, "c": 0.0}


def _columns(columns: list[list[Any]]) -> SetColumns:
    starts, items, at = [], [], 0
    for sets in columns:
        starts.append(at + np.concatenate(([0], np.cumsum([len(one) for one in sets]))))
        items += [ord(item) - ord("a") for one in sets for item in sorted(one)]
        at = len(items)
    worth = np.array([WORTH.get(item, 1.0) for item in "abcdef"] * len(columns))
    missing = np.zeros((len(columns), len(columns[0])), dtype=bool)
    return SetColumns(
        np.array(starts, dtype=np.int64), np.array(items, dtype=np.uint16), missing, worth,
        np.arange(len(columns), dtype=np.int64) * 6,
    )  # fmt: skip


@given(SETS, st.sampled_from([1, 256]))
def test_bounds_hold_and_small_groups_are_exact(rows: Any, small: int) -> None:
    sets = [one for one, _ in rows]
    # Two columns: the second holds the same sets in another order.
    columns = [sets, sets[::-1]]
    labels = np.unique([label for _, label in rows], return_inverse=True)[1].astype(np.int64)
    least, most = set_diameters(
        _columns(columns), None, np.arange(len(sets), dtype=np.int64), labels, small=small
    )
    records = list(zip(*columns, strict=True))

    def apart(a: Any, b: Any) -> float:
        return sum(oracle.jaccard(x, y, WORTH) for x, y in zip(a, b, strict=True))

    wanted = np.array(oracle.diameters(records, labels.tolist(), apart))
    assert (least[labels] <= wanted + 1e-9).all()
    assert (most[labels] >= wanted - 1e-9).all()
    if small > len(sets):
        assert least == pytest.approx(most)
