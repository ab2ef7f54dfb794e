"""marginals beside its definition, and where columns, cells or values are missing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.generalized.bins import crossed as module
from sfumato.data.generators import hospital
from sfumato.errors import MeasureError
from tests.oracle import marginals as oracle

LETTERS = "abcde"


def measured(before: Any, after: Any, **words: Any) -> sf.Measurement:
    return sf.measure("marginals", before, after, align="none", **words)


def _label(cell: Any, everything: frozenset[Any]) -> Any:
    """A cell as a release writes it."""
    if not isinstance(cell, frozenset):
        return None if cell is None else str(cell)
    if cell == everything:
        return "*"
    if any(isinstance(value, int) for value in cell):
        return f"[{min(cell)}, {max(cell)}]"
    return "{" + ", ".join(sorted(cell)) + "}"


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[Any]], dict[str, list[Any]], dict[str, list]]:
    """An original, a release in cells, and the same as published."""
    before: dict[str, list[Any]] = {}
    after: dict[str, list[Any]] = {}
    shown: dict[str, list[Any]] = {}
    n, m = draw(st.integers(2, 25)), draw(st.integers(1, 25))
    for j in range(draw(st.integers(1, 3))):
        number = draw(st.booleans())
        values = (
            st.integers(0, draw(st.sampled_from([4, 60]))) if number else st.sampled_from(LETTERS)
        )
        column = draw(st.lists(st.none() | values, min_size=n, max_size=n))
        if all(value is None for value in column):
            column[0] = 3 if number else "a"
        known = sorted({value for value in column if value is not None})
        whole = list(range(known[0], known[-1] + 1)) if number else known
        exact = st.none() | st.sampled_from(known)
        several = _several(whole, number)
        marks = st.sampled_from(["*"])
        cells = draw(st.lists(exact | several | marks, min_size=m, max_size=m))
        gaps = None in column or None in cells
        everything = frozenset([*whole, *([None] if gaps else [])])
        before[f"c{j}"] = column
        after[f"c{j}"] = [everything if cell == "*" else cell for cell in cells]
        shown[f"c{j}"] = ["*" if cell == "*" else _label(cell, frozenset()) for cell in cells]
    return before, after, shown


def _several(whole: list[Any], number: bool) -> st.SearchStrategy[frozenset[Any]]:
    if len(whole) < 2:
        return st.nothing()
    if not number:
        return st.frozensets(st.sampled_from(whole), min_size=2)
    ends = st.lists(st.sampled_from(whole), min_size=2, max_size=2, unique=True)
    return ends.map(lambda pair: frozenset(range(min(pair), max(pair) + 1)))


@given(tables())
def test_every_pair_is_as_defined(given_: Any) -> None:
    before, after, shown = given_
    found = measured(before, pl.DataFrame(shown, schema=dict.fromkeys(shown, pl.String)))
    expected = oracle.marginals(before, after)
    assert found.private["by_pair"] == pytest.approx(
        {" x ".join(names): apart for names, apart in expected.items()}, abs=1e-12
    )
    assert found.value == pytest.approx(np.mean(list(expected.values())), abs=1e-12)


@given(tables())
def test_large_tables_are_counted_the_same(given_: Any) -> None:
    before, _, shown = given_
    frame = pl.DataFrame(shown, schema=dict.fromkeys(shown, pl.String))
    found = measured(before, frame).value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE", 0)
        assert measured(before, frame).value == pytest.approx(found, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(2, 60))
def test_numbers_and_their_gaps(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = (
        {
            name: [None if v > 70 else int(v) for v in rng.integers(0, top, size)]
            for name, top in (("x", 80), ("y", 12))
        }
        for size in (n, m)
    )
    for column in before.values():
        column[0] = 1
    frames = [pl.DataFrame(t, schema=dict.fromkeys(t, pl.Int64)) for t in (before, after)]
    found = measured(*frames, quantiles=4)
    expected = oracle.marginals(before, after, quantiles=4)
    assert found.value == pytest.approx(expected["x", "y"], abs=1e-12)
    assert 0.0 <= found.value <= 1.0


def test_nothing_changed_is_nothing_lost_in_any_order() -> None:
    register = hospital(300, seed=3)
    order = np.random.default_rng(0).permutation(300)
    assert measured(register, register.take(order)).value == 0.0


def test_a_group_is_a_third_dimension() -> None:
    before = {"g": ["a", "b"] * 2, "x": ["u", "v", "u", "v"], "y": ["s", "s", "t", "t"]}
    after = {"g": ["b", "a"] * 2, "x": ["u", "v", "u", "v"], "y": ["s", "s", "t", "t"]}
    assert measured(before, after, columns=("x", "y")).value == 0.0
    assert measured(before, after, group="g").value == 1.0
    hidden = pl.DataFrame(after).with_columns(g=pl.lit("*"))
    # Half of the mass of each cell lies in each group.
    assert measured(before, hidden, group="g").value == pytest.approx(0.5)
    with pytest.raises(MeasureError, match="group column 'h'"):
        measured(before, after, group="h")


def test_one_column_and_constant_columns() -> None:
    assert measured({"x": [1, 1, 2, 2]}, {"x": [1, 2, 2, 2]}).value == 0.25
    assert measured({"x": [5, 5]}, {"x": [5, 5, 5]}).value == 0.0
    assert measured({"x": [5, 5]}, {"x": [7, 7]}).value == 1.0


def test_everything_suppressed_is_spread_over_everything_and_counted() -> None:
    before = sf.table({"x": ["a", "a", "a", "b"], "y": ["s", "t", "s", "t"]}, quasi=["x", "y"])
    found = measured(before, {"x": ["*"] * 3, "y": ["*"] * 3})
    # a quarter on each pair: against 1/2, 1/4, 0 and 1/4.
    assert found.value == pytest.approx(0.25)
    assert found.detail["suppressed_records"] == 3
    assert found.detail["suppressed_cells"] == 6


def test_the_original_never_tells_where_hidden_cells_lie() -> None:
    before = sf.table({"x": ["a"] * 9 + ["b"]}, quasi=["x"])
    hidden = measured(before, {"x": ["*"] * 10}).value
    assert hidden == pytest.approx(0.4)
    # One exact cell: (1 + 1/2) / 2 of each other cell goes with it.
    assert measured(before, {"x": ["b"] + ["*"] * 9}).value == pytest.approx(0.9 - 9 * 0.25 / 10)


def test_dates_ranges_and_averages_are_compared_alike() -> None:
    register = hospital(400, seed=1)
    plain = sf.method("drop", columns=("name", "record_no"))
    steps = {
        "coarse": sf.method("mondrian", k=50),
        "fine": sf.method("mondrian", k=3),
        "averages": sf.method("mdav", k=50),
        "noise": sf.method("rank-swap", p=5),
    }
    loss = {
        name: float(sf.protect(register, [plain, step], seed=1, measures=[]).measure("marginals"))
        for name, step in steps.items()
    }
    assert 0 < loss["fine"] < loss["coarse"] < 1
    assert loss["averages"] > 0.01
    assert loss["noise"] > 0.01


def test_columns_that_are_not_published() -> None:
    before = sf.table({"x": ["a", "b"] * 4, "y": ["s", "t"] * 4}, quasi=["x", "y"])
    after = {"x": ["a", "b"] * 4}
    found = measured(before, after)
    assert found.value == 0.0
    assert found.detail["left_out"] == {"y": "is not in the masked table"}
    assert measured(before, after, unpublished="suppressed").value == pytest.approx(0.5)
    with pytest.raises(MeasureError, match="'y'"):
        measured(before, after, columns=("x", "y"))
    with pytest.raises(MeasureError, match="no column to compare"):
        measured(before, {"z": [1, 2]})


def test_items_of_sets_are_there_or_not() -> None:
    before = {"s": [["p"], ["p", "q"], [], None], "x": ["a", "a", "b", "b"]}
    assert measured(before, before).value == 0.0
    less = {"s": [["p"], ["p"], [], None], "x": ["a", "a", "b", "b"]}
    # q went from one record of four: a quarter for q, nothing for p.
    assert measured(before, less).value == pytest.approx(0.125)
    lone = {"s": [["p"], ["p"]]}
    assert measured(lone, {"s": [["q"], ["p"]]}).value == pytest.approx(0.5)


def test_labels_of_trees_sets_of_numbers_and_ranges_of_dates() -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(d) for d in range(4)]
    tree = sf.method("prefix", lengths=[2, 1])
    before = sf.table(
        {"zip": ["11", "12", "21", "22"], "n": [1, 2, 3, 9], "day": days},
        quasi=["zip", "n", "day"],
        kinds={"zip": "nominal"},
        posets={"zip": tree},
    )
    after = {
        "zip": ["1*", "11", "21", "22"],
        "n": ["{1, 9}", "2", "3", "9"],
        "day": ["[2020-01-01, 2020-01-02]", "2020-01-02", "2020-01-03", "2020-01-04"],
    }
    cells = {
        "zip": [frozenset({"11", "12"}), "11", "21", "22"],
        "n": [frozenset({1, 9}), 2, 3, 9],
        "day": [frozenset({0, 1}), 1, 2, 3],
    }
    plain = {"zip": ["11", "12", "21", "22"], "n": [1, 2, 3, 9], "day": [0, 1, 2, 3]}
    expected = oracle.marginals(plain, cells)
    assert measured(before, after).private["by_pair"] == pytest.approx(
        {" x ".join(names): apart for names, apart in expected.items()}
    )


def test_rare_categories_are_one() -> None:
    before = {"x": [f"v{i}" for i in range(40)] * 2 + ["often"] * 20}
    swapped = {"x": [f"v{(i * 7) % 40}" for i in range(40)] * 2 + ["often"] * 20}
    lost = {"x": ["v0"] * 80 + ["often"] * 20}
    assert measured(before, swapped).value == 0.0
    assert measured(before, lost).value > 0.7
    # Beyond the two most frequent, nobody tells them apart.
    assert measured(before, lost, categories=2).value == pytest.approx(0.78)


def test_what_cannot_be_read_is_lost() -> None:
    before = sf.table({"x": [1, 2, 3, 4]}, quasi=["x"])
    assert measured(before, {"x": ["1", "2", "3", "who knows"]}).value == pytest.approx(0.25)
    assert measured({"x": ["a", "b"]}, {"x": ["a", "c"]}).value == pytest.approx(0.5)


def test_why_a_column_was_left_out_quotes_no_value_in_public() -> None:
    huge = 2**60 + 1
    before = sf.table({"n": [huge, 1, 2], "x": ["a", "b", "a"]}, quasi=["n", "x"])
    found = measured(before, before)
    assert found.detail["left_out"] == {"n": "cannot be compared"}
    assert str(huge) in found.private["left_out"]["n"]
    assert str(huge) not in str(found.public().to_dict())
    with pytest.raises(sf.SfumatoError, match=str(huge)):
        measured(before, before, columns=("n",))


def test_only_two_decimals_and_no_pair_are_public() -> None:
    register = hospital(200, seed=2)
    found = measured(register, register.take(np.arange(0, 200, 3))).public()
    assert found.value == round(found.value, 2)
    assert found.private == {}
    assert "by_pair" not in found.detail
