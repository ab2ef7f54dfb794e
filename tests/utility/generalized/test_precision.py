"""PREC and Vinterbo's sum of heights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Context, Measure, Measurement
from sfumato.utility.generalized.mutual_information import ColumnInformation
from sfumato.utility.generalized.ncp import Ncp
from sfumato.utility.generalized.precision import Precision, WeightedHeight
from tests.oracle import information as oracle

PERSON = st.tuples(
    st.sampled_from(list(oracle.PATHS)), st.sampled_from([20, 23, 25, 31, 40]),
    st.sampled_from(oracle.KINDS), st.sampled_from(["flu", "cut"]),
)  # fmt: skip
# Two people who span the ages, so that the domain is always the same.
ENDS = [("Ulm", 20, "a", "flu"), ("Lyon", 40, "c", "cut"), ("Nice", 30, "b", "cut")]
RUNGS = st.tuples(*[st.integers(0, 3)] * 3)


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[oracle.Person], list[tuple[int, ...]]]:
    rows = ENDS + draw(st.lists(PERSON, min_size=1, max_size=12))
    return rows, [draw(RUNGS) for _ in rows]


def take(measure: Measure, rows: list[oracle.Person], levels: object) -> Measurement:
    pair = Pair.of(oracle.people(rows), oracle.published(rows, levels))
    return measure.measure(Context(pair, np.random.default_rng(0)))


@given(releases())
def test_it_is_the_mean_height_of_the_cells(made: object) -> None:
    rows, levels = made
    heights = [
        [oracle.height_share(j, oracle.ladder(j, row[j])[rung]) for j, rung in enumerate(rungs)]
        for row, rungs in zip(rows, levels, strict=True)
    ]
    found = take(Precision(), rows, levels)
    by_row = [1 - oracle.mean(row) for row in heights]
    assert found.per_record == pytest.approx(by_row)
    assert found.value == pytest.approx(oracle.mean(by_row))
    weights = {"city": 2.0, "kind": 0.0}
    summed = take(WeightedHeight(weights=weights), rows, levels)
    by_row = [2 * city + age for city, age, _ in heights]
    assert summed.per_record == pytest.approx(by_row)
    assert summed.value == pytest.approx(oracle.mean(by_row))
    assert summed.baseline == 3.0
    plain = take(WeightedHeight(), rows, levels)
    assert plain.value == pytest.approx(3 * (1 - found.value))


@given(releases(), st.data())
def test_generalizing_further_never_gains(made: object, data: st.DataObject) -> None:
    """Monotone: precision, weighted height, column information and ncp, record by record."""
    rows, levels = made
    higher = [tuple(data.draw(st.integers(rung, 3)) for rung in rungs) for rungs in levels]
    measures: list[tuple[Measure, int]] = [
        (Precision(), -1), (WeightedHeight(weights={"age": 0.3}), 1),
        (ColumnInformation(target="ill", rare=1), 1), (Ncp(), 1),
    ]  # fmt: skip
    for measure, sign in measures:
        before, after = take(measure, rows, levels), take(measure, rows, higher)
        assert before.per_record is not None
        assert after.per_record is not None
        assert np.all(sign * (after.per_record - before.per_record) >= -1e-12), measure.name
        assert sign * (after.value - before.value) >= -1e-12


@pytest.mark.golden
def test_figure_5_of_the_thesis(
    golden_record: Callable[[str, object, object], None],
) -> None:
    """Whichever of the three fields is generalized, PREC of the row is 0.66 (two thirds)."""
    yes_no = Hierarchy(levels=[["True", "*"], ["False", "*"]])
    posets = {
        "gender": Hierarchy(levels=[["M", "*"], ["F", "*"]]),
        "hiv": yes_no,
        "renal": yes_no,
    }
    row = {"gender": "M", "hiv": "False", "renal": "True"}
    original = table(pl.DataFrame([row] * 4), quasi=list(row), posets=posets)
    masked = [row, *({**row, name: "*"} for name in row)]
    found = sf.measure("precision", original, pl.DataFrame(masked))
    shown = [f"{int(prec * 100) / 100:.2f}" for prec in found.per_record]
    golden_record("katirai figure 5: PREC of the four rows", "1.00 0.66 0.66 0.66", " ".join(shown))
    assert shown == ["1.00", "0.66", "0.66", "0.66"]
    assert found.value == pytest.approx(0.75)


def test_what_is_lost_counts_as_suppressed() -> None:
    original = table({"x": ["a", "b", "c", None], "y": [1, 2, 3, 4]}, quasi=["x", "y"])
    masked = table({"x": ["a", None, "*", None]}, quasi=["x"])
    found = sf.measure("precision", original, masked)
    assert found.per_record.tolist() == [0.5, 0.0, 0.0, 0.5]
    assert found.detail["dropped_columns"] == ["y"]
    assert found.detail["suppressed_cells"] == 6
    fewer = Pair(original, masked.take(np.arange(2)), np.arange(2))
    value = Precision().measure(Context(fewer, np.random.default_rng(0)))
    assert value.value == pytest.approx(1 / 8)
    assert value.detail["dropped_records"] == 2
    # Without alignment the number of gaps still tells.
    unaligned = Pair(original, masked, None)
    assert Precision().measure(Context(unaligned, np.random.default_rng(0))).value == found.value


def test_intervals_are_named_and_errors_have_a_remedy() -> None:
    original = table({"age": [20, 30, 40]}, quasi="age")
    found = sf.measure("precision", original, {"age": ["[20, 30]", "[20, 30]", "40"]})
    assert found.detail["share_of_the_domain_as_height"] == ["age"]
    assert found.value == pytest.approx(1 - 1 / 3)
    with pytest.raises(MeasureError, match="no quasi-identifier"):
        sf.measure("weighted-height", original, original, weights={"shoe": 1.0})
    with pytest.raises(MeasureError, match="role"):
        sf.measure("precision", table({"age": [1]}), table({"age": [1]}))
