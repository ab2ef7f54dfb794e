"""The minimal-suppression attack, beside an oracle that recounts the table for every value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sfumato as sf
from sfumato.attacks.minimal_suppression import MinimalSuppression
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.kernels.statistics.individual_risk import people_needed
from sfumato.kernels.suppression.unsuppress import (
    Everyone,
    candidates_by_class,
    candidates_by_match,
)
from sfumato.methods.noise.additive import UncorrelatedNoise
from sfumato.methods.suppression.local import LocalSuppression
from sfumato.methods.suppression.values import RandomSuppression
from sfumato.protocols import Context, Measurement, Method
from tests.oracle import minimal_suppression as oracle


def attack(
    original: sf.Table,
    masked: sf.Table,
    method: Method | None = None,
    reference: sf.Table | None = None,
    **parameters: Any,
) -> Measurement:
    pair = Pair.of(original, masked)
    mechanism = () if method is None else (method,)
    context = Context(pair, np.random.default_rng(0), reference=reference, mechanism=mechanism)
    return MinimalSuppression(**parameters).measure(context)


def released(original: sf.Table, method: Method, seed: int = 0) -> sf.Table:
    return method.mask(original, np.random.default_rng(seed)).table


@pytest.mark.golden
@pytest.mark.parametrize("search", ["best", "greedy", "optimal-per-record"])
def test_ninety_men_and_ten_suppressed(
    search: Any, golden_record: Callable[[str, object, object], None]
) -> None:
    """Lasko 2.3.2: all ten are women."""
    sex = ["male"] * 90 + ["female"] * 10
    table = sf.table({"sex": sex}, quasi=["sex"])
    method = LocalSuppression(k=11, reading="wildcard", search=search)
    masked = released(table, method)
    assert masked["sex"].to_list() == ["male"] * 90 + [None] * 10
    others = sf.table({"sex": ["male"] * 45 + ["female"] * 5}, quasi=["sex"])
    found = attack(table, masked, method, others)
    assert found.value == 1.0
    assert found.detail["certain"] == found.detail["certain_and_right"] == 1.0
    golden_record(f"lasko 2.3.2: women among ten suppressed, {search}", 1.0, found.value)
    assert found.detail["naive"] == 0.0
    assert found.detail["gain"] == 1.0
    assert found.baseline == 0.5
    # Of people who are not in the data one in ten is a woman.
    assert found.detail["control"] == pytest.approx(0.1)
    assert found.per_record is not None
    assert found.per_record[90:].tolist() == [1.0] * 10
    assert np.isnan(found.per_record[:90]).all()


@st.composite
def releases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    codes = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(1, 3)))
    gone = draw(hnp.arrays(bool, (n, d)))
    missing = draw(st.just(np.zeros((n, d), bool)) | hnp.arrays(bool, (n, d)))
    return codes, gone, missing & ~gone


def told(
    release: tuple[np.ndarray, np.ndarray, np.ndarray],
    reading: str,
    weights: np.ndarray | None = None,
) -> tuple[list[list[object]], Everyone]:
    """A release as the oracle and as the kernel is told of it."""
    codes, gone, missing = release
    table: list[list[object]] = [
        [
            oracle.GONE if gone[i, j] else oracle.MISSING if missing[i, j] else int(codes[i, j])
            for j in range(codes.shape[1])
        ]
        for i in range(len(codes))
    ]
    shown = np.where(gone | missing, 0, codes)
    if reading == "wildcard":
        return table, candidates_by_match(shown, weights)
    return table, candidates_by_class(shown, gone, 3, weights)


@given(releases(), st.sampled_from(["category", "wildcard"]))
def test_what_remains_beside_the_oracle(
    release: tuple[np.ndarray, np.ndarray, np.ndarray], reading: str
) -> None:
    codes, gone, _ = release
    assume(gone.any())
    table, everyone = told(release, reading)
    k = oracle.k_of(table, reading)
    needs = np.append(0.0, np.full(len(codes), float(k)))
    assert everyone.counts.min() == k
    for j in range(codes.shape[1]):
        rows = np.flatnonzero(gone[:, j])
        if not rows.size:
            continue
        found = everyone.ask(needs, j, rows, np.array([1, 2, 3]))
        for t, row in enumerate(rows):
            left = oracle.remaining(
                table, int(row), j, [1, 2, 3], lambda trial: oracle.k_of(trial, reading) >= k
            )
            assert [v for v in (1, 2, 3) if not found.safe[found.which[t], v - 1]] == left


@given(releases(), st.sampled_from(["category", "wildcard"]), st.data())
def test_what_remains_by_risk_beside_the_oracle(
    release: tuple[np.ndarray, np.ndarray, np.ndarray], reading: str, data: st.DataObject
) -> None:
    gone = release[1]
    assume(gone.any())
    some = st.sampled_from([0.5, 1.0, 2.0, 7.0, 40.0])
    weights = np.array(data.draw(st.lists(some, min_size=len(gone), max_size=len(gone))))
    table, everyone = told(release, reading, weights)
    # From what is just kept to what nobody could miss.
    limit = oracle.risk_of(table, weights.tolist(), reading)
    limit *= data.draw(st.sampled_from([1 + 1e-12, 1.1, 1.5, 3.0]))
    row, j = data.draw(st.sampled_from(np.argwhere(gone).tolist()))
    needs = people_needed(len(gone), limit)
    asked = np.flatnonzero(gone[:, j])
    found = everyone.ask(needs, j, asked, np.array([1, 2, 3]))
    left = oracle.remaining(
        table,
        row,
        j,
        [1, 2, 3],
        lambda trial: oracle.risk_of(trial, weights.tolist(), reading) <= limit * (1 + 1e-11),
    )
    safe = found.safe[found.which[asked.tolist().index(row)]]
    assert [v for v in (1, 2, 3) if not safe[v - 1]] == left


def survey(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    return sf.table(
        {
            "sex": rng.choice(["f", "m"], n, p=[0.3, 0.7]),
            "place": rng.choice(["a", "b", "c", "d"], n, p=[0.55, 0.25, 0.15, 0.05]),
            "job": rng.choice(["p", "q", "r"], n, p=[0.6, 0.3, 0.1]),
        },
        quasi=["sex", "place", "job"],
    )


def test_a_minimal_suppression_is_undone_and_a_random_one_is_not() -> None:
    table = survey(400, 1)
    minimal = LocalSuppression(k=8, reading="wildcard")
    undone = attack(table, released(table, minimal), minimal)
    assert undone.detail["gain"] > 0.25
    assert undone.detail["not_minimal"] < 0.05
    # The certain inferences of a minimal suppression are never wrong.
    assert undone.detail["certain_and_right"] == undone.detail["certain"] > 0.2
    gains = []
    for seed in range(5):
        blind = RandomSuppression(k=8)
        found = attack(table, released(table, blind, seed), blind)
        gains.append(found.detail["gain"])
    assert max(gains) < 0.02


def test_the_class_reading_gives_less_away() -> None:
    table = survey(400, 2)
    method = LocalSuppression(k=5)
    found = attack(table, released(table, method), method)
    assert found.detail["reading"] == "category"
    assert 0 <= found.value <= 1
    assert found.detail["k"] == 5
    assert found.detail["certain"] < 0.5


def test_k_and_reading_are_counted_where_nobody_says() -> None:
    table = sf.table({"sex": ["m"] * 20 + ["f"] * 3, "x": ["a"] * 23}, quasi=["sex", "x"])
    masked = released(table, LocalSuppression(k=4, reading="wildcard"))
    found = attack(table, masked)
    assert found.detail["k"] == 23  # the three match everybody, and so does everybody else
    assert attack(table, masked, k=4).value == 1.0


@pytest.mark.parametrize("given", [(), ("sex",)])
def test_k_was_sought_in_the_columns_of_the_step(given: tuple[str, ...]) -> None:
    """Income is a quasi-identifier too, but k was not sought in it."""
    rng = np.random.default_rng(0)
    original = sf.table(
        {"sex": ["m"] * 95 + ["f"] * 5, "income": rng.normal(size=100)}, quasi=["sex", "income"]
    )
    step = LocalSuppression(k=10, columns=("sex",), reading="wildcard")
    noise = UncorrelatedNoise(columns=("income",))
    masked = released(released(original, step), noise)
    context = Context(Pair.of(original, masked), np.random.default_rng(0), mechanism=(step, noise))
    found = MinimalSuppression(columns=given).measure(context)
    assert found.detail["columns"] == ["sex"]
    assert found.value == found.detail["certain_and_right"] == 1.0
    # What another step suppressed is named.
    other = LocalSuppression(k=3, columns=("job",))
    people = survey(60, 5)
    both = released(released(people, other), LocalSuppression(k=8, columns=("place",)))
    last = LocalSuppression(k=8, columns=("place",))
    context = Context(Pair.of(people, both), np.random.default_rng(0), mechanism=(other, last))
    said = MinimalSuppression().measure(context).detail
    assert said["columns"] == ["place"]
    if both.suppressed("job").any():
        assert "not a column of local-suppression" in said["left_out"]["job"]


def test_missing_cells_and_awkward_columns_are_named() -> None:
    frame = pl.DataFrame(
        {
            "sex": ["m"] * 30 + ["f", "f", None],
            "pay": [float(i // 8) for i in range(33)],
            "age": [20] * 33,
        }
    )
    table = sf.table(frame, quasi=["sex", "pay", "age"])
    gone = np.zeros(33, dtype=bool)
    gone[[0, 30, 31, 32]] = True
    hide = pl.Series(~gone)
    masked = table.with_columns(
        [
            table[name].zip_with(hide, pl.Series([None], dtype=table[name].dtype))
            for name in ("sex", "pay")
        ],
        suppressed={"sex": gone, "pay": gone},
    )
    found = attack(table, masked, k=3, values=4)
    assert found.detail["cells_missing_in_the_original"] == 1
    assert found.detail["left_out"] == {"pay": "has 5 values, more than 4"}
    assert found.detail["cells"] == 3
    with pytest.raises(MeasureError, match="no suppressed cell"):
        attack(table, table)
    with pytest.raises(MeasureError, match="more than 4"):
        attack(table.without(["sex"]), masked.without(["sex"]), values=4)
    with pytest.raises(MeasureError, match="no column"):
        attack(table, masked, reference=table.without(["age"]))


def test_the_order_of_the_release_does_not_matter() -> None:
    table = survey(200, 4)
    method = LocalSuppression(k=6, reading="wildcard")
    masked = released(table, method)
    order = np.random.default_rng(3).permutation(200)
    pair = Pair(table, masked.take(order), order)
    context = Context(pair, np.random.default_rng(0), mechanism=(method,))
    assert MinimalSuppression().measure(context).value == attack(table, masked, method).value


SEARCHES = ("greedy", "optimal-per-record")


@pytest.mark.parametrize("reading", ["category", "wildcard"])
@pytest.mark.parametrize("k", [3, 5, 8])
def test_without_weights_a_limit_of_one_in_k_is_k(reading: Any, k: int) -> None:
    table = survey(300, k)
    until = LocalSuppression(until={"individual-risk": 1 / k}, reading=reading, search="greedy")
    masked = released(table, until)
    found = attack(table, masked, until)
    same = attack(table, masked, until, k=k)
    assert found.value == same.value
    np.testing.assert_array_equal(found.per_record, same.per_record)
    said, others = dict(found.detail), dict(same.detail)
    assert (said.pop("individual_risk"), others.pop("k")) == (1 / k, k)
    assert said == others


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("limit", [0.1, 0.05, 0.02])
def test_the_limit_and_the_weights_are_used(search: Any, limit: float) -> None:
    """A rare value that nearly only light records have."""
    n, rng = 600, np.random.default_rng(5)
    weights = [50.0] * 560 + [1.0] * 40
    weights[561] = weights[562] = 900.0
    table = sf.table(
        {
            "job": [f"j{x}" for x in rng.integers(0, 2, n)],
            "age": [f"a{x}" for x in rng.integers(0, 2, n)],
            "sex": ["m"] * 560 + ["f"] * 40,
            "w": weights,
        },
        quasi=["job", "age", "sex"],
        weight="w",
    )
    method = LocalSuppression(until={"individual-risk": limit}, reading="wildcard", search=search)
    found = attack(table, released(table, method), method)
    assert found.detail["individual_risk"] == limit
    assert found.value == found.detail["certain"] == found.detail["certain_and_right"] == 1.0


def sample(seed: int) -> sf.Table:
    """Light records, and some so heavy that they may stay alone."""
    n, rng = 600, np.random.default_rng(seed)
    job, age = rng.zipf(1.7, n).clip(1, 12), rng.integers(0, 5, n)
    sex = rng.choice(2, n, p=[0.93, 0.07])
    columns = {"job": job, "age": age, "sex": sex}
    return sf.table(
        {name: [f"{name}{x}" for x in column] for name, column in columns.items()}
        | {"w": rng.choice([2.0, 400.0], n, p=[0.9, 0.1])},
        quasi=[*columns],
        weight="w",
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limit", [0.05, 0.02])
def test_heavy_records_that_stay_alone_do_not_hide_the_others(seed: int, limit: float) -> None:
    table = sample(seed)
    method = LocalSuppression(until={"individual-risk": limit}, search="optimal-per-record")
    masked = released(table, method)
    found = attack(table, masked, method)
    # The smallest company is one, with which nothing is in need of anything.
    assert attack(table, masked, method, k=1).detail["gain"] == 0.0
    assert found.value >= attack(table, masked, method, k=2).value > found.detail["naive"]
    assert found.detail["not_minimal"] < 0.05


@pytest.mark.parametrize("figure", ["global-risk", "household-risk"])
@pytest.mark.parametrize("reading", ["category", "wildcard"])
def test_of_other_risks_the_highest_counted_is_taken(figure: Any, reading: Any) -> None:
    table = sample(0)
    homes = pl.Series("home", np.arange(600) // 2)
    table = sf.table(
        table.frame.with_columns(homes), quasi=["job", "age", "sex"], weight="w", household="home"
    )
    limit = 0.01 if figure == "global-risk" else 0.1
    until = LocalSuppression(until={figure: limit}, reading=reading, search="greedy")
    outcome = until.mask(table, np.random.default_rng(0))
    found = attack(table, outcome.table, until)
    secret = outcome.secrets["highest individual risk allowed"]
    assert 0 < found.detail["individual_risk"] <= secret * (1 + 1e-9)
    assert found.value > found.detail["naive"]
    # Knowing it would be as good as having it published.
    known = until.model_copy(update={"until": {"individual-risk": found.detail["individual_risk"]}})
    assert attack(table, outcome.table, known).value == found.value


def test_where_k_counts_people_so_does_the_intruder() -> None:
    table = sample(0)
    method = LocalSuppression(k=10, weights="count", search="optimal-per-record")
    masked = released(table, method)
    found = attack(table, masked, method)
    records = attack(table, masked, LocalSuppression(k=10, search="optimal-per-record"))
    assert found.detail["k"] == 10
    assert found.value > records.value


def test_cells_may_be_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sample(1)
    method = LocalSuppression(until={"individual-risk": 0.05}, reading="wildcard", search="greedy")
    masked, others = released(table, method), table.take(np.arange(300))
    whole = attack(table, masked, method, others)
    monkeypatch.setattr("sfumato.attacks.minimal_suppression._GUESSES", 30)
    monkeypatch.setattr("sfumato.kernels.suppression.unsuppress.CHUNK", 25)
    parts = attack(table, masked, method, others)
    assert parts.value == whole.value
    assert parts.detail == whole.detail
    np.testing.assert_array_equal(parts.per_record, whole.per_record)


def test_a_column_with_nothing_but_missing_cells_holds_none_to_infer() -> None:
    columns = {"sex": ["m"] * 8 + ["f"], "x": [None] * 9}
    table = sf.table(pl.DataFrame(columns, schema_overrides={"x": pl.String}), quasi=["sex", "x"])
    gone = np.arange(9) == 8
    blank = pl.Series("sex", ["m"] * 8 + [None])
    masked = table.with_columns([blank], suppressed={"sex": gone, "x": gone})
    found = attack(table, masked, k=2)
    assert (found.detail["cells"], found.detail["cells_missing_in_the_original"]) == (1, 1)


def test_weights_that_are_none_are_named() -> None:
    table = sample(0)
    method = LocalSuppression(until={"individual-risk": 0.05}, search="greedy")
    masked = released(table, method)
    spoilt = masked.with_columns([pl.Series("w", [0.0] + [1.0] * 599)])
    with pytest.raises(MeasureError, match="column 'w', row 1"):
        attack(table, spoilt, method)
