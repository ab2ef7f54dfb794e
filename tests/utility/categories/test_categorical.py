"""Categorical information loss beside its formulas, and Torra's New York with the right number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.methods.pram.pram import Pram
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Context, Measure, Measurement
from sfumato.utility.categories.compared import CategoricalDistance, Ctbil, displaced
from sfumato.utility.categories.noisy_channel import Ebil, Pril
from tests.oracle import categorical as oracle

ORDER = ["lo", "mid", "hi", "top"]
cell = st.sampled_from(["a", "b", "c", None])
grade = st.sampled_from([*ORDER, None])
pairs = st.lists(st.tuples(cell, cell, grade, grade), min_size=1, max_size=25)


def made(v: Any, g: Any = None) -> sf.Table:
    frame = {"v": pl.Series(v, dtype=pl.String)}
    if g is None:
        return sf.table(pl.DataFrame(frame), quasi=["v"])
    frame["g"] = pl.Series(g, dtype=pl.String)
    return sf.table(
        pl.DataFrame(frame), kinds={"g": "ordinal"}, categories={"g": ORDER}, quasi=["v", "g"]
    )


def take(
    measure: Measure, before: sf.Table, after: sf.Table, rows: Any = "same", mechanism: Any = ()
) -> Measurement:
    place = np.arange(before.height) if isinstance(rows, str) else rows
    pair = Pair(before, after, None if place is None else np.asarray(place, dtype=np.int64))
    return measure.measure(Context(pair, np.random.default_rng(0), mechanism=mechanism))


@given(pairs, st.randoms(use_true_random=False))
def test_distances_are_those_of_the_oracle(rows: list[Any], shuffle: Any) -> None:
    before = made([r[0] for r in rows], [r[2] for r in rows])
    kept = [i for i in range(len(rows)) if shuffle.random() < 0.8] or [0]
    shuffle.shuffle(kept)
    after = made([rows[i][1] for i in kept], [rows[i][3] for i in kept])
    found = take(CategoricalDistance(), before, after, kept)
    expected = np.ones((len(rows), 2))
    for i in kept:
        v, w, g, h = rows[i]
        expected[i] = oracle.nominal(v, w), oracle.ordinal(g, h, ORDER)
    assert found.value == pytest.approx(expected.mean())
    assert found.per_record is not None
    np.testing.assert_allclose(found.per_record, expected.mean(axis=1))
    assert found.detail.get("dropped_records", 0) == len(rows) - len(kept)
    assert found.detail["by_column"]["g"] == pytest.approx(expected[:, 1].mean())


def test_a_category_is_at_no_distance_from_itself() -> None:
    """The slide's count, from which one has to be subtracted, would give 1/|D|."""
    same = made(["a"], ["mid"])
    assert take(CategoricalDistance(), same, same).value == 0.0
    ends = take(CategoricalDistance(columns=("g",)), made(["a"], ["lo"]), made(["a"], ["top"]))
    assert ends.value == pytest.approx(3 / 4)


@given(pairs, st.integers(1, 3))
def test_contingency_tables_are_those_of_the_oracle(rows: list[Any], k: int) -> None:
    before, after = (
        made([r[0] for r in rows], [r[2] for r in rows]),
        made([r[1] for r in rows], [r[3] for r in rows]),
    )
    columns = [[[r[j] for r in rows] for j in side] for side in ((0, 2), (1, 3))]
    found = take(Ctbil(k=k), before, after, None)
    assert found.value == oracle.ctbil(*columns, k)
    assert found.detail["tables"] == (2 if k == 1 else 3)
    assert 0 <= found.detail["share_displaced"] <= 1
    assert sum(found.detail["by_size"].values()) == found.value
    assert sum(found.private["by_table"].values()) == found.value


def test_contingency_tables_with_other_categories_and_sizes() -> None:
    found = take(Ctbil(k=1), made(["a", "a", "b"]), made(["a", "z"]), None)
    assert found.value == oracle.ctbil([["a", "a", "b"]], [["a", "z"]], 1) == 3
    assert found.detail["per_cell"] == pytest.approx(1.0)
    nothing = take(Ctbil(k=1), made(["a"] * 4), made(["b"] * 4), None)
    assert nothing.detail["share_displaced"] == 1.0


def test_wide_tables_are_counted_without_their_empty_cells() -> None:
    rng = np.random.default_rng(0)
    before = [rng.integers(0, 100, 300) for _ in range(4)]
    after = [np.where(rng.random(300) < 0.3, rng.integers(0, 100, 300), one) for one in before]
    names = [[str(v) for v in one] for one in before], [[str(v) for v in one] for one in after]
    whole = oracle.ctbil(*names, 4) - oracle.ctbil(*names, 3)
    assert displaced(before, after, [100] * 4) == whole
    wide = sf.table({f"c{j}": ["a", "b"] for j in range(40)})
    with pytest.raises(MeasureError, match="tables"):
        take(Ctbil(k=5), wide, wide)


@given(pairs)
def test_entropies_are_those_of_the_oracle(rows: list[Any]) -> None:
    v, w = [r[0] for r in rows], [r[1] for r in rows]
    found = take(Ebil(), made(v), made(w))
    assert found.value == pytest.approx(oracle.ebil(v, w), abs=1e-9)
    each = take(Pril(), made(v), made(w))
    assert each.per_record is not None
    np.testing.assert_allclose(each.per_record, oracle.pril(v, w), atol=1e-9)
    assert each.value == pytest.approx(sum(oracle.pril(v, w)), abs=1e-9)
    # With estimated probabilities both are n times the same conditional entropy.
    assert each.value == pytest.approx(found.value, abs=1e-9)
    for one in (found, each):
        assert one.baseline is not None
        assert one.value <= one.baseline + 1e-9, "a release never tells less than none"
        assert one.detail["mean"] == pytest.approx(one.value / len(rows))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("abx")), min_size=1, max_size=20))
def test_a_matrix_takes_the_place_of_what_was_observed(rows: list[tuple[str, str]]) -> None:
    matrix = {"a": {"a": 0.5, "b": 0.25, "x": 0.25}, "b": {"a": 0.125, "b": 0.625, "x": 0.25}}
    v, w = [r[0] for r in rows], [r[1] for r in rows]
    before, after = made(v), made(w)
    for measure, wanted in (
        (Ebil(matrix={"v": matrix}), oracle.ebil(v, w, matrix=matrix)),
        (Pril(matrix={"v": matrix}), sum(oracle.pril(v, w, matrix=matrix))),
    ):
        found = take(measure, before, after)
        assert found.value == pytest.approx(wanted, abs=1e-9)
        assert found.detail["by_column"]["v"]["matrix"] == "given"
    declared = take(Ebil(), before, after, mechanism=(Pram(matrix={"v": matrix}),))
    assert declared.value == pytest.approx(oracle.ebil(v, w, matrix=matrix), abs=1e-9)
    assert declared.detail["by_column"]["v"]["matrix"] == "declared by the mechanism"
    made_matrix = take(Ebil(), before, after, mechanism=(Pram(),))
    assert made_matrix.value == pytest.approx(oracle.ebil(v, w), abs=1e-9)


def test_entropy_needs_no_alignment_where_the_matrix_is_known() -> None:
    matrix = {"a": {"a": 0.5, "b": 0.5}, "b": {"b": 1.0}}
    before, after = made(["a", "a", "b"]), made(["b", "a", "b"])
    wanted = take(Ebil(matrix={"v": matrix}), before, after).value
    assert take(Ebil(matrix={"v": matrix}), before, after, None).value == pytest.approx(wanted)
    for measure in (Ebil(), Pril(matrix={"v": matrix})):
        with pytest.raises(MeasureError, match="align"):
            take(measure, before, after, None)


def test_a_matrix_must_allow_what_happened() -> None:
    matrix = {"a": {"a": 1.0}, "b": {"b": 1.0}}
    with pytest.raises(MeasureError, match="no chance to what row 2"):
        take(Pril(matrix={"v": matrix}), made(["a", "a"]), made(["a", "b"]))
    with pytest.raises(MeasureError, match="no chance to what row 1"):
        take(Ebil(matrix={"v": matrix}), made(["a", "b"]), made(["z", "b"]))
    with pytest.raises(MeasureError, match="what becomes of 'b'"):
        take(Ebil(matrix={"v": {"a": {"a": 1.0}}}), made(["b"]), made(["a"]))
    with pytest.raises(MeasureError, match="'w', which it does not look at"):
        take(Ebil(matrix={"w": matrix}), made(["b"]), made(["a"]))


STATE, CITY, ALBANY = 17_990_455, 7_322_564, 101_082
PEOPLE = {"Albany": ALBANY, "New York City": CITY, "elsewhere": STATE - CITY - ALBANY}
ROWS = [["Albany", "NY", "*"], ["New York City", "NY", "*"], ["elsewhere", "NY", "*"]]


def households(published: str = "NY") -> tuple[sf.Table, sf.Table]:
    places = Hierarchy(levels=[*ROWS, ["Boston", "MA", "*"]])
    towns = ["Albany", "New York City", "New York City"]
    before = sf.table({"town": towns}, quasi=["town"], posets={"town": places})
    column = before.schema["town"].with_(generalized=True)
    after = before.with_columns([pl.Series("town", [published] * 3)], [column])
    return before, after


@pytest.mark.golden
def test_new_york_with_the_right_number(
    golden_record: Callable[[str, object, object], None],
) -> None:
    """101,082 of 17,990,455 are 0.0056, not the 0.05 of the slide; 0.407 for the city is right."""
    found = take(Pril(population={"town": PEOPLE}), *households())
    assert found.per_record is not None
    albany, city, _ = found.per_record
    shown = f"{2**-albany:.4f} {2**-city:.3f}"
    golden_record("torra: Albany (printed 0.05) and New York City", "0.0056 0.407", shown)
    assert albany == pytest.approx(-math.log2(101_082 / 17_990_455))
    assert 2**-albany == pytest.approx(0.0056, abs=5e-5)
    assert city == pytest.approx(-math.log2(7_322_564 / 17_990_455))
    assert 2**-city == pytest.approx(0.407, abs=5e-4)
    assert found.value == pytest.approx(albany + 2 * city)
    shares = np.array(list(PEOPLE.values())) / STATE
    entropy = take(Ebil(population={"town": PEOPLE}), *households())
    assert entropy.value == pytest.approx(-3 * float(shares @ np.log2(shares)))


def test_people_whom_no_record_names_go_to_their_own_label() -> None:
    places = Hierarchy(levels=[*ROWS, ["Boston", "MA", "*"], ["Salem", "MA", "*"]])
    before = sf.table({"town": ["Albany", "Boston"]}, quasi=["town"], posets={"town": places})
    column = before.schema["town"].with_(generalized=True)
    after = before.with_columns([pl.Series("town", ["NY", "MA"])], [column])
    people = {"Albany": 10, "Boston": 30, "Salem": 90, "New York City": 70}
    found = take(Pril(population={"town": people}), before, after)
    np.testing.assert_allclose(found.per_record, [3.0, 2.0])


def test_a_population_beside_the_labels() -> None:
    with_boston = {**PEOPLE, "Boston": 574_283}
    found = take(Pril(population={"town": with_boston}), *households())
    assert found.per_record is not None
    assert found.per_record[0] == pytest.approx(-math.log2(ALBANY / STATE)), "Boston is no NY"
    assert found.detail["by_column"]["town"]["population_values_under_no_label"] == 1
    with pytest.raises(MeasureError, match="how many have 'New York City'"):
        take(Pril(population={"town": {"Albany": 5}}), *households())
    people = {"a": 10.0, "b": 30.0, "c": 60.0}
    with pytest.raises(MeasureError, match="'c', which no record has"):
        take(Pril(population={"v": people}), made(["a", "b"]), made(["a", "a"]))
    partly = take(
        Pril(population={"v": {"a": 10.0, "b": 30.0}}),
        made(["a", "b", None]),
        made(["a", "a", None]),
    )
    assert partly.per_record is not None
    np.testing.assert_allclose(partly.per_record, [2.0, -math.log2(0.75), 0.0])
    assert partly.detail["by_column"]["v"]["records_without_original_value"] == 1


def test_labels_are_compared_only_where_they_can_be() -> None:
    before, after = households()
    for measure in (CategoricalDistance(), Ctbil()):
        with pytest.raises(MeasureError, match="holds labels in the masked table"):
            take(measure, before, after)
    wide = before.with_columns([pl.Series("sex", ["f", "m", "f"])])
    masked = after.with_columns([pl.Series("sex", ["f", "m", "m"])])
    for measure in (CategoricalDistance(), Ctbil()):
        found = take(measure, wide, masked)
        assert found.detail["left_out"] == {"town": "holds labels in the masked table"}
        assert found.detail["columns"] == ["sex"]
    assert take(Ebil(), before, after).value == pytest.approx(oracle.ebil(*_texts(before, after)))
    hidden = households("*")[1]
    assert take(Pril(), before, hidden).value == pytest.approx(
        sum(oracle.pril(*_texts(before, hidden)))
    )
    numbers = sf.table({"x": [1, 2]})
    with pytest.raises(MeasureError, match="is integer and has no categories"):
        take(Ctbil(columns=("x",)), numbers, numbers)


def _texts(*tables: sf.Table) -> list[list[str]]:
    return [table["town"].to_list() for table in tables]


def test_more_change_costs_more() -> None:
    rng = np.random.default_rng(4)
    table = sf.table({"v": rng.choice(list("abc"), 3_000)}, quasi=["v"])
    losses = []
    for stay in (0.95, 0.8, 0.6):
        after = Pram(form="uniform", stay=stay).mask(table, np.random.default_rng(1)).table
        losses.append(
            [take(m, table, after).value for m in (CategoricalDistance(), Ebil(), Pril())]
        )
    assert (np.diff(losses, axis=0) > 0).all()
