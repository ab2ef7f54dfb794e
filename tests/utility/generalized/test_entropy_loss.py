"""Non-uniform entropy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.protocols import Context
from sfumato.utility.generalized.precision import EntropyLoss
from tests.oracle import information as oracle

PERSON = st.tuples(
    st.sampled_from(list(oracle.PATHS)), st.sampled_from([20, 23, 25, 31, 40]),
    st.sampled_from(oracle.KINDS), st.just("flu"),
)  # fmt: skip
ENDS = [("Ulm", 20, "a", "flu"), ("Lyon", 40, "c", "flu"), ("Nice", 30, "b", "flu")]


@given(st.lists(PERSON, max_size=12), st.data())
def test_it_is_the_share_of_the_bits(more: object, data: st.DataObject) -> None:
    rows = ENDS + more
    rungs = st.tuples(*[st.integers(0, 3)] * 3)
    levels = [data.draw(rungs) for _ in rows]
    pair = Pair.of(oracle.people(rows), oracle.published(rows, levels))
    found = EntropyLoss().measure(Context(pair, np.random.default_rng(0)))
    shares = []
    for j in range(3):
        covered = [
            oracle.under(j, oracle.ladder(j, row[j])[rung[j]])
            for row, rung in zip(rows, levels, strict=True)
        ]
        shares.append(oracle.entropy_lost([row[j] for row in rows], covered))
    assert [c["share"] for c in found.detail["by_column"].values()] == pytest.approx(shares)
    assert found.value == pytest.approx(oracle.mean(shares))
    entropies = [oracle.entropy([row[j] for row in rows]) for j in range(3)]
    assert [c["entropy"] for c in found.detail["by_column"].values()] == pytest.approx(entropies)
    bits = sum(s * h for s, h in zip(shares, entropies, strict=True))
    assert found.per_record.mean() == pytest.approx(bits)


def test_a_rare_value_loses_more_by_the_same_label() -> None:
    original = table({"v": ["a", "b", "b", "b", "c", "d", "e", "f"]}, quasi="v")
    masked = {"v": ["{a, b}"] * 4 + ["c", "d", "e", "f"]}
    found = sf.measure("entropy-loss", original, masked)
    assert found.per_record[0] == pytest.approx(2.0)
    assert found.per_record[1] == pytest.approx(-math.log2(0.75))
    # By labels alone, both have the entropy of one in four.
    assert found.detail["label_entropy"] == pytest.approx(0.8112781244591328 / 2)
    assert sf.measure("entropy-loss", original, {"v": ["*"] * 8}).value == 1.0
    assert sf.measure("entropy-loss", original, original).value == 0.0


def test_missing_dropped_and_false_labels() -> None:
    original = table({"v": ["a", "b", None, "c"]}, quasi="v")
    assert sf.measure("entropy-loss", original, {"v": ["a", "b", None, "*"]}).value == (
        pytest.approx(1 / 3)
    )
    # A label that does not cover the value tells nothing of it.
    assert sf.measure("entropy-loss", original, {"v": ["{b, c}", "b", None, "c"]}).value == (
        pytest.approx(1 / 3)
    )
    pair = Pair(original, original.take(np.array([0, 2])), np.array([0, 2]))
    found = EntropyLoss().measure(Context(pair, np.random.default_rng(0)))
    assert found.value == pytest.approx(2 / 3)
    with pytest.raises(MeasureError, match="align"):
        EntropyLoss().measure(Context(Pair(original, original, None), np.random.default_rng(0)))
