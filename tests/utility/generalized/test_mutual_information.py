"""What columns and values tell about a target."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.protocols import Context
from sfumato.utility.generalized.mutual_information import ColumnInformation, ValueInformation
from sfumato.utility.generalized.precision import Precision
from tests.oracle import information as oracle

PERSON = st.tuples(
    st.sampled_from(list(oracle.PATHS)), st.sampled_from([20, 23, 25, 31, 40]),
    st.sampled_from(oracle.KINDS), st.sampled_from(["flu", "cut", "no"]),
)  # fmt: skip
ENDS = [("Ulm", 20, "a", "flu"), ("Lyon", 40, "c", "cut"), ("Nice", 30, "b", "cut")]
RUNGS = st.tuples(*[st.integers(0, 3)] * 3)


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[oracle.Person], list[tuple[int, ...]]]:
    # Twice: each age twice, so that ages are values and not cut into ranges.
    rows = 2 * (ENDS + draw(st.lists(PERSON, min_size=1, max_size=6)))
    return rows, [draw(RUNGS) for _ in rows]


@given(releases())
def test_both_against_the_oracle(made: object) -> None:
    rows, levels = made
    original = oracle.people(rows)
    pair = Pair.of(original, oracle.published(rows, levels))
    context = Context(pair, np.random.default_rng(0))
    ill = [row[3] for row in rows]
    columns = [[row[j] for row in rows] for j in range(3)]
    labels = [
        [oracle.ladder(j, row[j])[rung] for j, rung in enumerate(rungs)]
        for row, rungs in zip(rows, levels, strict=True)
    ]
    weights = [oracle.mutual_information(column, ill) for column in columns]
    found = ColumnInformation(target="ill", rare=2).measure(context)
    assert list(found.detail["weights"].values()) == pytest.approx(weights, abs=1e-9)
    lost = [
        sum(w * oracle.height_share(j, row[j]) for j, w in enumerate(weights)) for row in labels
    ]
    assert found.per_record == pytest.approx(lost, abs=1e-9)
    assert found.baseline == pytest.approx(sum(weights), abs=1e-9)

    told = [
        sum(
            0.0 if label == "*" else
            oracle.information_of(oracle.under(j, label), columns[j], ill, rare=2)
            for j, label in enumerate(row)
        )
        for row in labels
    ]  # fmt: skip
    found = ValueInformation(target="ill", rare=2).measure(context)
    assert found.per_record == pytest.approx(told, abs=1e-9)
    assert found.value == pytest.approx(oracle.mean(told), abs=1e-9)
    exact = [
        sum(oracle.information_of({column[i]}, column, ill, rare=2) for column in columns)
        for i in range(len(rows))
    ]
    assert found.baseline == pytest.approx(oracle.mean(exact), abs=1e-9)


def test_value_information_is_not_monotone() -> None:
    """A generalization may tell more than the value: FORMULAS.md, and the thesis says so."""
    # Ulm is half ill, half not, as everybody is; Bonn and Köln are always ill.
    rows = (
        [("Ulm", 20, "a", "flu")] * 3 + [("Ulm", 40, "a", "no")] * 3
        + [("Bonn", 20, "a", "flu")] * 6 + [("Köln", 20, "a", "flu")] * 6
        + [("Nice", 20, "b", "no")] * 12
    )  # fmt: skip
    exact = oracle.published(rows, [(0, 0, 0)] * len(rows))
    higher = oracle.published(rows, [(2, 0, 0) if r[0] == "Ulm" else (0, 0, 0) for r in rows])
    original = oracle.people(rows)
    before = sf.measure("value-information", original, exact, target="ill")
    after = sf.measure("value-information", original, higher, target="ill")
    assert after.value > before.value + 0.05
    # The same step costs by the heights.
    assert sf.measure("precision", original, higher) < sf.measure("precision", original, exact)
    assert Precision.direction == ValueInformation.direction == "higher"


def test_a_sure_column_is_worth_a_bit_and_stars_nothing() -> None:
    rows = {"q": ["a", "b"] * 10, "r": ["x"] * 20, "ill": [True, False] * 10}
    original = table(rows, quasi=["q", "r"], target="ill")
    same = sf.measure("value-information", original, original)
    assert same.value == same.baseline == pytest.approx(1.0)
    stars = sf.measure("value-information", original, {**rows, "q": ["*"] * 20})
    assert stars.value == 0.0
    assert stars.detail["kept"] == 0.0
    assert stars.detail["by_column"]["q"] == {"before": 1.0, "after": 0.0}
    gone = sf.measure("value-information", original, {"r": rows["r"], "ill": rows["ill"]})
    assert gone.value == 0.0
    assert sf.measure("column-information", original, {**rows, "q": ["*"] * 20}).value == 1.0


def test_numbers_that_hardly_recur_count_by_ranges() -> None:
    x = np.arange(200) / 7
    original = table({"x": x, "ill": np.where(x > 14, "yes", "no")}, quasi="x", confidential="ill")
    same = sf.measure("value-information", original, original)
    assert same.value == pytest.approx(1.0, abs=0.05)
    moved = table({"x": x + 0.001, "ill": original["ill"]}, quasi="x")
    assert sf.measure("value-information", original, moved) == pytest.approx(same.value, abs=0.02)
    half = [f"[{x[0]}, {x[97]}]" if v <= 14 else f"[{x[98]}, {x[-1]}]" for v in x]
    coarse = pl.DataFrame({"x": half, "ill": original["ill"]})
    assert sf.measure("value-information", original, coarse).value > 0.8
    assert sf.measure("column-information", original, coarse).detail["weights"]["x"] > 0.9


def test_rare_values_are_set_aside_and_errors_name_the_column() -> None:
    rows = {"q": list("aaaaaaabcdef"), "ill": ["no"] * 7 + ["yes"] * 5}
    original = table(rows, quasi="q", confidential="ill")
    assert sf.measure("column-information", original, original).detail["weights"]["q"] == 0.0
    close = sf.measure("column-information", original, original, rare=1)
    assert close.detail["weights"]["q"] == pytest.approx(0.9798687566511528)
    with pytest.raises(MeasureError, match="'shoe'"):
        sf.measure("value-information", original, original, target="shoe")
    with pytest.raises(MeasureError, match="target"):
        sf.measure("value-information", table({"q": ["a"]}, quasi="q"), {"q": ["a"]})
