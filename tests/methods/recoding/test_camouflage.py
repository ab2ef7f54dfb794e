"""Camouflage: the truth is in every answer, and no set of answers narrows a protection interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError, ParameterError
from sfumato.kernels.masking.camouflage import (
    floor_of,
    hide_absolute,
    hide_share,
    highest_minimum,
    lowest_mean,
    secret_weights,
)
from sfumato.methods.recoding.camouflage import Camouflage, Camouflaged, Interval, camouflage
from tests.contract.tables import ordinary
from tests.oracle import camouflage as oracle

values = st.lists(
    st.floats(0.5, 1e6) | st.floats(-1e6, -0.5) | st.integers(1, 100).map(float),
    min_size=1,
    max_size=8,
)
seeds = st.integers(0, 10_000)


@given(values, st.integers(3, 6), st.floats(0.01, 0.5), seeds)
def test_the_hull_holds_the_truth_and_spans_the_protection(
    a: list[float], k: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = np.array(a)
    weights = secret_weights(k, rng)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= floor_of(k)
    hulls = {
        "share": (hide_share(x, share, weights, rng), np.abs(x) * share),
        "absolute": (hide_absolute(x, np.full(x.size, 7.0), weights, rng), np.full(x.size, 7.0)),
    }
    for hull, reach in hulls.values():
        assert hull @ weights == pytest.approx(x, rel=1e-12, abs=1e-9)
        slack = 1e-9 * (1 + np.abs(x))
        assert (hull.min(axis=1) <= x - reach + slack).all()
        assert (hull.max(axis=1) >= x + reach - slack).all()


def test_neither_middle_nor_width_tells_the_value() -> None:
    """Ends of a share's span are fixed multiples, and an absolute span has one width; so two
    values cannot be told by the shape, and the middle misses the value by a lot."""
    rng = np.random.default_rng(4)
    x = rng.lognormal(3, 1, 2000)
    weights = secret_weights(3, rng)
    ratio = (h := hide_share(x, 0.1, weights, rng)).max(axis=1) / h.min(axis=1)
    assert np.ptp(ratio) < 1e-9
    flat = hide_absolute(x, np.full(x.size, 2.0), weights, rng)
    assert np.ptp(flat.max(axis=1) - flat.min(axis=1)) < 1e-9
    off = np.abs(flat.mean(axis=1) - x)
    assert np.median(off) > 0.2


@given(st.integers(1, 12), st.integers(3, 5), seeds)
@settings(max_examples=40)
def test_highest_minimum(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hull = rng.normal(size=(n, k))
    found = highest_minimum(hull)
    sampled = oracle.highest_minimum(hull, 4000, rng)
    assert found >= sampled - 1e-12
    assert found <= hull.max(axis=1).min() + 1e-12
    # Among so many vectors one comes near, in few dimensions at least.
    if k == 3:
        assert found - sampled < 0.15


def test_highest_minimum_is_exact_in_a_known_case() -> None:
    # x = mu_1, y = mu_2, z = mu_3: the smallest is at most a third.
    assert highest_minimum(np.eye(3)) == pytest.approx(1 / 3, abs=1e-9)
    assert highest_minimum(np.vstack([np.eye(3), np.full((500, 3), 2.0)])) == pytest.approx(1 / 3)


@given(st.floats(-9, 9), st.integers(0, 4), st.lists(st.floats(-9, 9), min_size=1, max_size=7))
def test_lowest_mean(total: float, count: int, extra: list[float]) -> None:
    total = total if count else 0.0
    expected = oracle.lowest_mean(total, count, extra)
    assert lowest_mean(total, count, np.array(extra)) == pytest.approx(expected, abs=1e-9)


def people(n: int, seed: int) -> tuple[pl.DataFrame, sf.Table]:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "dept": rng.integers(0, 3, n),
            "sex": rng.choice(["f", "m"], n),
            "pay": np.round(rng.lognormal(3, 0.5, n), 1),
            "debt": np.round(rng.normal(0, 30, n), 1),
        }
    )
    return frame, sf.table(frame, quasi=["dept", "sex"], confidential=["pay", "debt"])


CONDITIONS = (
    "",
    "dept = 1",
    "sex = 'f' AND dept < 2",
    "pay > 20",
    "NOT pay <= 15 OR dept = 0",
    "debt BETWEEN -10 AND 25",
    "pay < debt",
    "pay >= 18 AND sex <> 'm'",
)


def truths(frame: pl.DataFrame, where: str) -> np.ndarray:
    if not where:
        return np.ones(frame.height, dtype=bool)
    return frame.select(pl.sql_expr(where)).to_series().fill_null(False).to_numpy()


@given(st.integers(2, 14), seeds)
@settings(max_examples=12)
def test_the_truth_and_every_vector_of_the_hull_agree_with_every_answer(n: int, seed: int) -> None:
    """Why unlimited questions are safe: no vector of the hull is ever excluded."""
    frame, table = people(n, seed)
    rng = np.random.default_rng(seed)
    asked = Camouflaged(table, {"pay": 0.1, "debt": {"absolute": 5}}, rng)
    pays = oracle.vectors_of(asked._hulls["pay"], 8, rng)
    debts = oracle.vectors_of(asked._hulls["debt"], 8, rng)
    worlds = [
        frame,
        *(
            frame.with_columns(pay=pl.Series(p), debt=pl.Series(d))
            for p, d in zip(pays, debts, strict=True)
        ),
    ]
    for where in CONDITIONS:
        count = asked.count(where)
        answers: dict[tuple[str, str], Interval] = {}
        for column in ("pay", "debt"):
            answers["sum", column] = asked.sum(column, where)
            if count.high:
                for kind in ("mean", "min", "max"):
                    answers[kind, column] = getattr(asked, kind)(column, where)
        for world in worlds:
            members = truths(world, where)
            assert members.sum() in count, where
            for (kind, column), interval in answers.items():
                exact = oracle.answer(kind, world[column].to_list(), members.tolist())
                slack = 1e-9 * (1 + abs(exact or 0))
                inside = exact is None or interval.low - slack <= exact <= interval.high + slack
                assert inside, (where, kind, column)


@given(st.integers(2, 6), seeds, st.sampled_from([0.05, 0.1, 0.3]))
@settings(max_examples=8)
def test_an_intruder_with_a_solver_learns_nothing_below_the_protection(
    n: int, seed: int, share: float
) -> None:
    """Every subset is asked for its sum, differences and all; what is left open still covers each
    record's protection interval."""
    rng = np.random.default_rng(seed)
    pay = np.round(rng.lognormal(3, 1, n), 1) + 0.1
    table = sf.table({"i": list(range(n)), "pay": pay}, quasi=["i"], confidential=["pay"])
    asked = Camouflaged(table, {"pay": share}, rng)
    answers = []
    for chosen in range(1, 1 << n):
        members = [i for i in range(n) if chosen >> i & 1]
        where = f"i IN ({', '.join(map(str, members))})"
        total = asked.sum("pay", where)
        answers.append((np.isin(np.arange(n), members).astype(float), total.low, total.high))
        mean = asked.mean("pay", where)
        answers.append((answers[-1][0] / len(members), mean.low, mean.high))
    for record in range(n):
        low, high = oracle.intruder(n, answers, record)
        assert low <= pay[record] * (1 - share) * (1 + 1e-7)
        assert high >= pay[record] * (1 + share) * (1 - 1e-7)


def test_protection_by_columns() -> None:
    table = sf.table({"pay": [10.0, 20.0], "lo": [9.0, 5.0], "hi": [14.0, 20.0]})
    asked = camouflage(table, {"pay": {"low": "lo", "high": "hi"}}, seed=3, public=[])
    for row, (low, high) in enumerate([(9.0, 14.0), (5.0, 20.0)]):
        span = asked._hulls["pay"][row]
        assert span.min() <= low
        assert span.max() >= high
    with pytest.raises(MethodError, match="row 2"):
        camouflage(
            sf.table({"pay": [1.0, 5.0], "lo": [0.0, 6.0], "hi": [2.0, 7.0]}),
            {"pay": {"low": "lo", "high": "hi"}},
        )


def test_public_answers_are_exact_and_missing_values_are_left_out() -> None:
    table = sf.table({"age": [30, None, 50], "pay": [10.0, 20.0, None]}, quasi=["age"])
    asked = camouflage(table, {"pay": 0.1}, seed=1)
    assert asked.sum("age") == Interval(80, 80)
    assert asked.mean("age").exact
    assert asked.count("age IS NULL") == Interval(1, 1)
    assert asked.count("pay IS NULL") == Interval(1, 1)
    assert 30.0 in asked.sum("pay")
    assert asked.sum("pay", "age = 50") == Interval(0, 0)
    with pytest.raises(MethodError, match="no record"):
        asked.mean("pay", "age = 50")


def test_conditions_on_camouflaged_columns_read_surely_and_possibly() -> None:
    _, table = people(12, 5)
    asked = camouflage(table, {"pay": 0.2, "debt": {"absolute": 5}}, seed=2)
    low, high = (asked._hulls["pay"].min(axis=1), asked._hulls["pay"].max(axis=1))
    tests: list[tuple[str, Any]] = [
        ("pay > 20", lambda v: v > 20),
        ("pay <= 20", lambda v: v <= 20),
        ("NOT pay > 20", lambda v: not v > 20),
        ("pay BETWEEN 15 AND 25", lambda v: 15 <= v <= 25),
        ("20 < pay", lambda v: v > 20),
    ]
    for where, test in tests:
        sure, possible = asked._records.select(where)
        for i in range(12):
            for_all, for_some = oracle.holds_for_some(test, low[i], high[i])
            # A grid can miss some values of a span, but never finds too many.
            assert sure[i] == for_all or (where.startswith("pay B") and not sure[i])
            assert possible[i] >= for_some


@pytest.mark.parametrize(
    "where",
    [
        "1=1; DROP TABLE records",
        "1=1) UNION SELECT (1",
        "1=1) ORDER BY (1",
        "1=1) LIMIT (1",
        "1=1) GROUP BY (1",
        "dept > (SELECT 1)",
        "EXISTS (SELECT 1 FROM records)",
        "dept IN (SELECT low0 FROM records)",
        "low0 > 1",
        "row = 1",
        "rowid = 1",
        "#1 = 1",
        "COLUMNS('low.*') > 1",
        "records.dept = 1",
        "debt > 1",
        "random() < 0.5",
        "row_number() OVER () = 1",
        "pay * 2 > 3",
        "abs(pay) > 3",
        "CASE WHEN pay > 3 THEN true ELSE false END",
        "read_text('/etc/hostname') IS NULL",
        "dept = 1 /*",
        "dept = 'x'",
        "(",
    ],
)
def test_conditions_that_are_refused(where: str) -> None:
    _, table = people(6, 1)
    asked = camouflage(table, {"pay": 0.1}, seed=0)
    with pytest.raises(MethodError):
        asked.count(where)
    # And the table is whole after it.
    assert asked.count() == Interval(6, 6)


def test_conditions_that_are_allowed() -> None:
    frame, table = people(30, 2)
    asked = camouflage(table, {"pay": 0.1}, seed=0)
    for where in ("dept::int = 1 -- comment", "upper(SEX) = 'F'", "sex LIKE 'f%' AND dept + 1 > 1"):
        assert asked.count(where).exact
    assert asked.count("upper(sex) = 'F'").low == (frame["sex"] == "f").sum()


def test_confidential_columns_are_closed_unless_camouflaged() -> None:
    _, table = people(6, 1)
    asked = camouflage(table, {"pay": 0.1}, seed=0)
    assert asked.public == ("dept", "sex")
    with pytest.raises(MethodError, match="neither public"):
        asked.sum("debt")
    with pytest.raises(ParameterError, match="public and protected"):
        camouflage(table, {"pay": 0.1}, public=["pay"])


@pytest.mark.parametrize(
    ("protect", "match"),
    [
        ({}, "nothing"),
        ({"pay": 0.0}, "share"),
        ({"pay": 0.6}, "more vectors"),
        ({"pay": {"percent": 3}}, "share"),
        ({"pay": {"absolute": -1}}, "above 0"),
        ({"pay": "much"}, "not a number"),
    ],
)
def test_protection_must_make_sense(protect: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        camouflage(people(5, 0)[1], protect)


def test_zero_has_no_share() -> None:
    with pytest.raises(MethodError, match="row 2"):
        camouflage({"pay": [1.0, 0.0]}, {"pay": 0.1})
    assert 0.0 in camouflage({"pay": [1.0, 0.0]}, {"pay": {"absolute": 1}}).min("pay")


def test_same_seed_same_answers() -> None:
    _, table = people(9, 3)
    first, second, third = (camouflage(table, {"pay": 0.1}, seed=s).sum("pay") for s in (1, 1, 2))
    assert first == second != third
    assert tuple(first) == (first.low, first.high)
    assert str(first).startswith("[")
    assert first.width == first.high - first.low


@pytest.mark.parametrize("words", [{"share": 0.2}, {"absolute": 500.0}])
def test_the_method_publishes_intervals_that_hold_the_protection(words: dict[str, float]) -> None:
    table = ordinary(missing=True)
    outcome = Camouflage(**words).mask(table, np.random.default_rng(0))
    column = outcome.table.schema["pay"]
    assert column.generalized
    assert column.bound is not None
    width = []
    for value, label in zip(table["pay"], outcome.table["pay"], strict=True):
        assert (value is None) == (label is None)
        if value is None:
            continue
        low, high = map(float, label.strip("[]").split(", "))
        reach = words.get("absolute", value * words.get("share", 0))
        assert low <= value - reach
        assert high >= value + reach
        assert column.bound.leq(value, label)
        width.append((high - low) / reach)
    # Twice as wide as the protection interval, but for rounding outwards.
    if "absolute" in words:
        assert max(width) < 4.1
    assert outcome.warnings == ("illness was left alone: it is not a number",)


@given(
    st.lists(st.floats(1e-300, 1e300) | st.floats(-1e300, -1e-300), min_size=1, max_size=12), seeds
)
def test_labels_never_cut_into_the_interval(a: list[float], seed: int) -> None:
    table = sf.table({"x": a}, confidential="x")
    outcome = Camouflage(share=0.1).mask(table, np.random.default_rng(seed))
    for value, label in zip(a, outcome.table["x"], strict=True):
        low, high = map(float, label.strip("[]").split(", "))
        assert low <= min(value * 0.9, value * 1.1) * (1 + 1e-12 * (1 if value < 0 else -1))
        assert high >= max(value * 0.9, value * 1.1) * (1 - 1e-12 * (1 if value > 0 else -1))


def test_place_in_the_interval_is_uniform() -> None:
    """The value is log-uniform over the part of the interval that it can have."""
    from scipy.stats import kstest

    x = np.full(4000, 100.0)
    low, high = Camouflage(share=0.2)._ends(x, "x", np.random.default_rng(5))
    ratio = np.log(1.2 / 0.8)
    assert np.log(high / low) == pytest.approx(2 * ratio)
    place = (np.log(x / low) + np.log(0.8)) / ratio
    assert kstest(place, "uniform").pvalue > 1e-6


def test_integers_get_whole_ends() -> None:
    table = sf.table({"n": [10, 500, None]}, confidential="n")
    labels = Camouflage().mask(table, np.random.default_rng(1)).table["n"].to_list()
    assert labels[2] is None
    assert all(end.lstrip("-").isdigit() for t in labels[:2] for end in t.strip("[]").split(", "))
