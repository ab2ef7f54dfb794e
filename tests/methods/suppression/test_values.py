"""Rare values: no gap that says who is in it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from tests.oracle.nonperturbative import without_rare_values

LETTERS = st.lists(st.sampled_from([*"aaaabbbccd", None]), min_size=6, max_size=40)


@settings(max_examples=60, deadline=None)
@given(LETTERS, st.integers(2, 5))
def test_a_gap_has_the_company_of_k_and_what_is_left_is_common(
    values: list[str | None], k: int
) -> None:
    table = sf.table({"x": values, "y": list(range(len(values)))}, quasi=["x"])
    counts = Counter(v for v in values if v is not None)
    method = sf.method("rare-values", k=k)
    if 0 < counts.total() < k:
        with pytest.raises(MethodError, match="fewer than"):
            method.mask(table, np.random.default_rng(0))
        return
    masked = method.mask(table, np.random.default_rng(0)).table
    shown = masked["x"].to_list()
    gone = [v for v, s in zip(values, shown, strict=True) if v is not None and s is None]
    assert all(s in (None, v) for v, s in zip(values, shown, strict=True))
    assert all(counts[v] >= k for v in shown if v is not None)
    rare = [v for v in counts if counts[v] < k]
    assert set(rare) <= set(gone)
    if rare:
        assert len(gone) >= k
        # No value went that need not: without the most frequent of them the gap is too small.
        extra = [v for v in set(gone) if v not in rare]
        assert not extra or len(gone) - max(counts[v] for v in extra) < k
    else:
        assert not gone
    marked = [v is not None and s is None for v, s in zip(values, shown, strict=True)]
    assert masked.suppressed("x").tolist() == marked


@settings(max_examples=60, deadline=None)
@given(LETTERS, LETTERS, st.integers(2, 4))
def test_records_go_until_no_rare_value_is_left(
    first: list[str | None], second: list[str | None], k: int
) -> None:
    n = min(len(first), len(second))
    table = sf.table({"x": first[:n], "y": second[:n]}, quasi=["x", "y"])
    left = without_rare_values([first[:n], second[:n]], k)
    method = sf.method("rare-values", k=k, remove="records")
    if not left:
        with pytest.raises(MethodError, match="every record has a value"):
            method.mask(table, np.random.default_rng(0))
        return
    outcome = method.mask(table, np.random.default_rng(0))
    assert outcome.rows is not None
    assert outcome.rows.tolist() == left
