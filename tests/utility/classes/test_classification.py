"""Iyengar's classification metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.protocols import Context
from sfumato.utility.classes.sizes import ClassificationMetric
from tests.oracle import information as oracle


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", "*"]), st.sampled_from("123")),
        min_size=1, max_size=25,
    )
)  # fmt: skip
def test_it_counts_minorities_and_suppressed_records(rows: object) -> None:
    n = len(rows)
    original = table(
        {"q": [str(i) for i in range(n)], "r": ["x"] * n, "ill": [row[2] for row in rows]},
        quasi=["q", "r"], confidential="ill",
    )  # fmt: skip
    published = [("*" if r == "*" else q, r) for q, r, _ in rows]
    masked = table(
        {"q": [q for q, _ in published], "r": [r for _, r in published], "ill": original["ill"]},
        quasi=["q", "r"],
    )
    answers = [row[2] for row in rows]
    wrong = oracle.misclassified(published, answers)
    cost = [1 if q == r == "*" else w for (q, r), w in zip(published, wrong, strict=True)]
    for alignment in (np.arange(n), None):
        pair = Pair(original, masked, alignment)
        found = ClassificationMetric().measure(Context(pair, np.random.default_rng(0)))
        assert found.per_record.tolist() == cost
        assert found.value == pytest.approx(oracle.mean(cost))
    alone = oracle.misclassified([0] * n, answers)
    assert found.detail["most_frequent_class_alone"] == pytest.approx(oracle.mean(alone))
    assert found.baseline == 0.0


def test_numbers_are_cut_and_dropped_records_cost() -> None:
    n = 40
    pay = np.arange(n, dtype=float)
    original = table({"q": list(range(n)), "pay": pay}, quasi="q", target="pay")
    masked = {"q": ["[0, 9]"] * 10 + ["[10, 29]"] * 20 + ["[30, 39]"] * 10, "pay": pay}
    found = sf.measure("classification-metric", original, masked)
    # Quarters: the middle class holds two of them, one of which is the majority.
    assert found.value == pytest.approx(10 / 40)
    kept = np.arange(20)
    pair = Pair(original, original.take(kept), kept)
    dropped = ClassificationMetric().measure(Context(pair, np.random.default_rng(0)))
    assert dropped.value == 0.5
    assert dropped.detail["suppressed_records"] == 20


def test_a_target_among_the_quasi_identifiers_does_not_tell_itself() -> None:
    rows = {"q": ["a", "a", "b"], "ill": ["x", "y", "x"]}
    original = table(rows, quasi=["q", "ill"])
    found = sf.measure("classification-metric", original, original, target="ill")
    assert found.value == pytest.approx(1 / 3)
    without = original.without(["ill"])
    with pytest.raises(MeasureError, match="align"):
        ClassificationMetric(target="ill").measure(
            Context(Pair(original, without, None), np.random.default_rng(0))
        )
