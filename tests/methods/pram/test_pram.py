"""Post-randomization beside fractions: its matrices, its draws, and what can be undone."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import sfumato as sf
from sfumato.errors import MethodError, SchemaError
from sfumato.kernels.masking.pram import cumulative, draw, recovered
from sfumato.methods.pram.pram import Pram
from sfumato.protocols import Outcome
from tests.oracle import pram as oracle

Z = 6.0
"""A normal deviate beyond it in 1 of 500 million draws."""

counts_of = st.lists(st.integers(1, 40), min_size=2, max_size=5)


def column(counts: list[int], name: str = "v", **more: Any) -> sf.Table:
    letters = [letter for letter, c in zip("abcdefgh", counts, strict=False) for _ in range(c)]
    return sf.table({name: letters, **more}, quasi=[name])


def masked(method: Pram, table: sf.Table, seed: int = 0) -> Outcome:
    return method.mask(table, np.random.default_rng(seed))


def matrix(outcome: Outcome, index: int = 0) -> np.ndarray:
    return np.array(outcome.facts["matrices"][index]["probabilities"])


@given(counts_of, st.sampled_from([Fraction(1, 2), Fraction(4, 5), Fraction(9, 10)]))
def test_made_matrices_are_those_of_the_oracle(counts: list[int], stay: Fraction) -> None:
    table = column(counts)
    k = len(counts)
    wanted = {
        "invariant": oracle.invariant(counts, stay),
        "uniform": oracle.uniform(k, stay),
        "proportional": oracle.proportional(counts, stay),
    }
    for form, rows in wanted.items():
        found = matrix(masked(Pram(form=form, stay=float(stay), least=1), table))
        np.testing.assert_allclose(found, np.array(rows, dtype=float), atol=1e-12)
        alpha = Fraction(1, 2)
        both = Pram(form=form, stay=float(stay), two_stage=True, alpha=0.5, least=1)
        expected = oracle.two_stage(rows, counts, alpha)
        found = matrix(masked(both, table))
        np.testing.assert_allclose(found, np.array(expected, dtype=float), atol=1e-12)
    grades = sf.table(
        table.frame, kinds={"v": "ordinal"}, categories={"v": list("abcdefgh")}, quasi=["v"]
    )
    found = matrix(masked(Pram(form="nearest", stay=float(stay)), grades))
    np.testing.assert_allclose(found, np.array(oracle.nearest(k, stay), dtype=float), atol=1e-12)


@given(counts_of, st.booleans(), st.sampled_from(["invariant", "uniform", "proportional"]))
def test_invariant_forms_keep_the_frequencies(counts: list[int], change: bool, form: str) -> None:
    how = {"change": 0.01} if change else {"stay": 0.6}
    made = masked(Pram(form=form, two_stage=form != "invariant", least=1, **how), column(counts))
    p, f = matrix(made), np.array(counts) / sum(counts)
    np.testing.assert_allclose(f @ p, f, atol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert (p >= 0).all()
    if change:
        assert made.facts["expected share changed"]["v"] == pytest.approx(0.01)
        assert 1 - f @ np.diagonal(p) == pytest.approx(0.01)


def test_invariance_holds_within_strata_and_for_compounds() -> None:
    rng = np.random.default_rng(3)
    frame = {"v": rng.choice(list("abc"), 600), "w": rng.choice(list("xy"), 600)}
    table = sf.table({**frame, "area": rng.choice(["n", "s"], 600)}, quasi=["v", "w"])
    for method in (Pram(strata=("area",)), Pram(strata=("area",), form="uniform", two_stage=True)):
        found = masked(method, table).facts["matrices"]
        assert [(one["columns"], one["stratum"]) for one in found] == [
            (["v"], {"area": "n"}),
            (["v"], {"area": "s"}),
            (["w"], {"area": "n"}),
            (["w"], {"area": "s"}),
        ]
        for one in found:
            part = table.frame.filter(pl.col("area") == one["stratum"]["area"])
            seen = Counter(part[one["columns"][0]].to_list())
            f = np.array([seen[category] for category in one["categories"]], dtype=float)
            np.testing.assert_allclose(f @ np.array(one["probabilities"]), f, rtol=1e-12)
    (one,) = masked(Pram(together=True), table).facts["matrices"]
    seen = Counter(zip(frame["v"], frame["w"], strict=True))
    f = np.array([seen[tuple(pair)] for pair in one["categories"]], dtype=float)
    assert len(f) == 6
    np.testing.assert_allclose(f @ np.array(one["probabilities"]), f, rtol=1e-12)


@given(st.data())
def test_draws_are_those_of_the_oracle(data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 5))
    weights = data.draw(st.lists(st.integers(0, 8), min_size=k * k, max_size=k * k))
    raw = np.array(weights, dtype=float).reshape(k, k) + np.eye(k)
    p = raw / raw.sum(axis=1, keepdims=True)
    values = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=20)))
    number = st.floats(0, 1, exclude_max=True)
    u = np.array(data.draw(st.lists(number, min_size=values.size, max_size=values.size)))
    found = draw(values, np.arange(k + 1) * k, cumulative(p).ravel(), u)
    assert (p[values, found] > 0).all(), "what is impossible is never drawn"
    sums = np.cumsum(p, axis=1)
    # Where a uniform meets a running sum to the last digits, both neighbours are right.
    clear = (np.abs(sums[values] - u[:, None]) > 1e-12).all(axis=1)
    expected = [oracle.drawn(v, p[v], x) for v, x in zip(values, u, strict=True)]
    assert found[clear].tolist() == np.array(expected)[clear].tolist()


def test_rounding_errors_lead_nowhere_impossible() -> None:
    """Ten tenths add up to less than 1, and the last column has no chance at all."""
    p = np.array([[0.1] * 10 + [0.0]])
    assert p.cumsum()[-1] < 1
    found = draw(np.array([0]), np.array([0, 11]), cumulative(p).ravel(), np.array([1 - 2**-53]))
    assert found.tolist() == [9]


@pytest.mark.parametrize("form", ["invariant", "uniform", "proportional", "two-stage"])
def test_values_change_as_the_matrix_says(form: str) -> None:
    """Every cell of every transition table within six standard errors."""
    counts = [12_000, 6_000, 2_000]
    method = Pram(form="uniform", two_stage=True) if form == "two-stage" else Pram(form=form)
    table = column(counts)
    made = masked(method, table, seed=5)
    p = matrix(made)
    for i, letter in enumerate("abc"):
        seen = Counter(made.table["v"].filter(table["v"] == letter).to_list())
        for j, other in enumerate("abc"):
            error = np.sqrt(counts[i] * p[i, j] * (1 - p[i, j]))
            assert abs(seen[other] - counts[i] * p[i, j]) < Z * error
    changed = (made.table["v"] != table["v"]).mean()
    assert changed == pytest.approx(made.secrets["share changed"]["v"])
    assert "share changed" not in made.facts, "of a few records it would say who"
    wanted = made.facts["expected share changed"]["v"]
    assert abs(changed - wanted) < Z * np.sqrt(wanted / sum(counts))


@pytest.mark.parametrize(
    "rows",
    [
        [["3/4", "1/4"], ["1/8", "7/8"]],
        [["1/2", "1/4", "1/4"], ["0", "3/4", "1/4"]],  # leads to a category that was not there
    ],
)
def test_recovery_is_unbiased_and_so_is_its_covariance(rows: list[list[str]]) -> None:
    """Over every way in which five records can change, with exact probabilities."""
    counts, p = [3, 2], [[Fraction(x) for x in row] for row in rows]
    whole = oracle.distribution_of_counts(counts, p)
    assert sum(whole.values()) == 1
    plain = np.array(p, dtype=float)
    found = [(float(q), *recovered(plain, np.array(key, float))) for key, q in whole.items()]
    mean = sum(q * estimate for q, estimate, _ in found)
    np.testing.assert_allclose(mean, counts, atol=1e-9)
    true = sum(q * np.outer(estimate - counts, estimate - counts) for q, estimate, _ in found)
    np.testing.assert_allclose(sum(q * cov for q, _, cov in found), true, atol=1e-9)


@pytest.mark.parametrize(
    "method",
    [
        Pram(form="uniform", stay=0.7),
        Pram(form="proportional", stay=0.7, strata=("area",)),
        Pram(form="uniform", stay=0.6, together=True),
        Pram(form="nearest", stay=0.7, columns=("grade",)),
        Pram(form="uniform", stay=0.7, missing="category"),
        Pram(),
    ],
    ids=str,
)
def test_recover_finds_the_frequencies_from_what_is_published(method: Pram) -> None:
    rng = np.random.default_rng(8)
    n = 6_000
    v = rng.choice(["a", "b", "c", None], n, p=[0.6, 0.25, 0.1, 0.05]).tolist()
    grade = rng.choice(["lo", "mid", "hi"], n, p=[0.2, 0.5, 0.3])
    table = sf.table(
        pl.DataFrame({"v": v, "grade": grade, "area": rng.choice(["n", "s"], n)}),
        kinds={"grade": "ordinal"},
        categories={"grade": ["lo", "mid", "hi"]},
        quasi=["v", "grade"],
    )
    made = masked(method, table, seed=2)
    facts = json.loads(json.dumps(made.facts))
    found = method.recover(made.table, facts)
    assert found["frequencies"]
    for label, estimates in found["frequencies"].items():
        names = label.split(" & ")
        kept = table.frame.select(names)
        if method.missing == "stay":
            kept = kept.drop_nulls()
        truth = Counter(
            " & ".join("missing" if x is None else str(x) for x in row) for row in kept.iter_rows()
        )
        assert set(estimates) == set(truth)
        assert sum(estimates.values()) == pytest.approx(kept.height)
        biased = 0.0
        for category, estimate in estimates.items():
            error = found["standard errors"][label][category]
            assert error == pytest.approx(found["covariances"][label][category][category] ** 0.5)
            assert abs(estimate - truth[category]) < Z * error
            biased = max(biased, abs(found["released"][label][category] - truth[category]) / error)
        if method.form == "uniform" and label == "v":
            assert biased > Z, "without recovery the frequencies would be far off"


def test_a_given_matrix_is_followed_and_may_recode() -> None:
    rows = {"a": {"a": 0.5, "x": 0.5}, "b": {"b": 1.0}, "c": {"c": 1.0}}
    method = Pram(matrix={"v": rows})
    table = column([4_000, 1_000])
    made = masked(method, table)
    seen = Counter(made.table["v"].to_list())
    assert seen["b"] == 1_000
    assert set(seen) == {"a", "b", "x"}
    assert abs(seen["x"] - 2_000) < Z * np.sqrt(1_000)
    (one,) = made.facts["matrices"]
    assert one["categories"] == ["a", "b", "c"], "the whole matrix, so that absence is no secret"
    assert one["to"] == ["a", "b", "c", "x"]
    back = method.recover(made.table, made.facts)["frequencies"]["v"]
    assert abs(back["a"] - 4_000) < Z * np.sqrt(4_000)
    flags = sf.table({"v": [True] * 50}, quasi=["v"])
    flipped = masked(Pram(matrix={"v": {"true": {"false": 1.0}}}), flags).table["v"]
    assert flipped.to_list() == [False] * 50


def test_a_given_matrix_must_fit_the_column() -> None:
    with pytest.raises(MethodError, match="what becomes of the category 'b'"):
        masked(Pram(matrix={"v": {"a": {"a": 1.0}}}), column([2, 2]))
    grades = sf.table(
        {"v": ["lo", "hi"]}, kinds={"v": "ordinal"}, categories={"v": ["lo", "hi"]}, quasi=["v"]
    )
    with pytest.raises(MethodError, match="'top', which the column cannot hold"):
        masked(Pram(matrix={"v": {"lo": {"top": 1.0}, "hi": {"hi": 1.0}}}), grades)
    with pytest.raises(ValidationError, match=r"add up to 0.9, not 1"):
        Pram(matrix={"v": {"a": {"a": 0.9}}})
    with pytest.raises(SchemaError, match="no such column"):
        masked(Pram(matrix={"w": {"a": {"a": 1.0}}}), column([2, 2]))


def test_an_estimated_matrix_is_the_observed_transitions() -> None:
    before = ["a"] * 8 + ["b"] * 4 + ["c"] + [None]
    after = ["a"] * 6 + ["b", "x"] + ["b"] * 3 + ["a"] + [None] + ["a"]
    table = sf.table({"v": before, "next": after}, quasi=["v"])
    made = masked(Pram(estimated={"v": "next"}, least=1), table)
    (one,) = made.facts["matrices"]
    assert one["to"] == ["a", "b", "c", "x"]
    expected = [[6 / 8, 1 / 8, 0, 1 / 8], [1 / 4, 3 / 4, 0, 0], [0, 0, 1, 0]]
    np.testing.assert_allclose(one["probabilities"], expected)
    assert any("1 categories of v stay" in warning for warning in made.warnings)
    assert made.table["v"][13] is None
    kept = masked(Pram(estimated={"v": "next"}, two_stage=True, least=1), table)
    f = np.array([8, 4, 1]) / 13
    np.testing.assert_allclose(f @ matrix(kept), f, atol=1e-12)
    mild = masked(Pram(estimated={"v": "next"}, stay=0.9, least=1), table)
    assert np.diagonal(matrix(mild)).min() == pytest.approx(0.9)


def test_missing_and_suppressed_cells_stay() -> None:
    rng = np.random.default_rng(0)
    values = rng.choice(["a", "b", None], 300).tolist()
    gone = np.arange(300) % 7 == 0
    values = [None if g else v for v, g in zip(values, gone, strict=True)]
    table = sf.table({"v": values}, quasi=["v"]).with_columns([], suppressed={"v": gone})
    for method in (Pram(stay=0.5), Pram(stay=0.5, missing="category")):
        made = masked(method, table)
        assert made.table["v"].is_null().to_numpy()[gone].all()
        assert (made.table.suppressed("v") == gone).all()
        was = np.array([v is None for v in values]) & ~gone
        same = made.table["v"].is_null().to_numpy()[~gone] == was[~gone]
        assert same.all() == (method.missing == "stay")
    labels = table.schema["v"].with_(generalized=True)
    starred = sf.table({"v": ["{a, b}", "*", "c", "*"] * 30}, quasi=["v"])
    starred = starred.with_schema(starred.schema.with_column(labels))
    out = masked(Pram(stay=0.5), starred).table["v"]
    assert ((out == "*") == (starred["v"] == "*")).all()


def test_what_cannot_be_reached_is_said() -> None:
    rare = column([99, 1])
    with pytest.raises(MethodError, match=r"change = 0.1 cannot be reached for v: 0.0198"):
        masked(Pram(change=0.1), rare)
    assert masked(Pram(change=0.1, form="uniform"), rare).facts["expected share changed"][
        "v"
    ] == pytest.approx(0.1)
    with pytest.raises(MethodError, match=r"stay = 0.2 cannot be reached"):
        masked(Pram(stay=0.2), column([50, 50]))
    one = masked(Pram(), column([9]))
    assert one.warnings == ("v is published as it is: it has a single category",)
    with pytest.raises(MethodError, match="entries"):
        masked(Pram(), sf.table({"v": [f"p{i}" for i in range(600)]}, quasi=["v"]))


def test_what_cannot_be_undone_is_said() -> None:
    half = {"a": {"a": 0.5, "b": 0.5}, "b": {"a": 0.5, "b": 0.5}}
    method = Pram(matrix={"v": half})
    made = masked(method, column([5, 5]))
    with pytest.raises(MethodError, match="singular"):
        method.recover(made.table, made.facts)
    made = masked(Pram(), column([30, 30]))
    other = made.table.with_columns([made.table["v"].replace("a", "z")])
    with pytest.raises(MethodError, match="v holds z, which no matrix leads to"):
        Pram().recover(other, made.facts)
    with pytest.raises(MethodError, match="'v' was not released"):
        Pram().recover(made.table.without(["v"]), made.facts)


def test_matrices_that_would_tell_on_few_stay_private() -> None:
    rng = np.random.default_rng(1)
    areas = ["big"] * 200 + ["small"] * 6
    frame = {"v": rng.choice(["a", "b"], 206), "w": rng.choice(["x", "y"], 206), "area": areas}
    table = sf.table(frame, quasi=["v", "w"])
    method = Pram(strata=("area",), columns=("v",))
    made = masked(method, table)
    assert [one["stratum"] for one in made.facts["matrices"]] == [{"area": "big"}]
    assert [one["stratum"] for one in made.secrets["matrices"]] == [{"area": "small"}]
    assert made.facts["matrices kept private"] == {"v": 1}
    with pytest.raises(MethodError, match="no matrix was published"):
        method.recover(made.table, made.facts)
    assert "v" not in made.facts["expected share changed"], "it follows from the counts"
    few = table.take(np.arange(20))
    assert not masked(Pram(together=True), few).facts["matrices"]
    assert masked(Pram(together=True, least=1), few).facts["matrices"]


@given(
    st.lists(st.lists(st.integers(0, 25), min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["invariant", "proportional", "two-stage"]),
)
def test_no_count_below_the_least_is_behind_what_is_published(
    counts: list[list[int]], form: str
) -> None:
    """An invariant matrix tells each count exactly: off the diagonal it is w times the shares."""
    rows = [(f"t{i}", c) for i, part in enumerate(counts) for c, n in zip("abc", part, strict=True)
            for _ in range(n)]  # fmt: skip
    if not rows:
        return
    table = sf.table({"town": [r[0] for r in rows], "v": [r[1] for r in rows]}, quasi=["v"])
    how: Any = {"form": "uniform", "two_stage": True} if form == "two-stage" else {"form": form}
    made = masked(Pram(strata=("town",), columns=("v",), stay=0.9, **how), table)
    seen = {one["stratum"]["town"]: one["categories"] for one in made.facts["matrices"]}
    for i, part in enumerate(counts):
        positive = [n for n in part if n]
        if len(positive) > 1 and min(positive) >= 10:
            assert len(seen[f"t{i}"]) == len(positive)
        else:
            assert f"t{i}" not in seen
    there = {place for place, _ in rows}
    assert len(made.secrets["matrices"]) == len(there) - len(seen)
    if len(seen) < len(there):
        assert made.facts["expected share changed"] == {}


def test_a_stratum_of_one_category_is_not_told_of() -> None:
    town = ["A"] * 10 + ["B"] * 40
    for form in ("invariant", "uniform"):
        table = sf.table(
            {"town": town, "v": ["yes"] * 10 + ["no"] * 30 + ["yes"] * 10}, quasi=["v"]
        )
        made = masked(Pram(columns=("v",), strata=("town",), form=form), table)
        assert [one["stratum"] for one in made.facts["matrices"]] == [{"town": "B"}]
        assert made.secrets["strata left as they are"] == {"v": [{"town": "A"}]}
        said = " ".join(made.warnings)
        assert "strata with a single category" in said
        assert "10 records" not in said


def test_a_rare_transition_keeps_the_matrix_private() -> None:
    frame = {"v": ["a"] * 30 + ["b"] * 20, "later": ["a"] * 29 + ["b"] + ["b"] * 20}
    method = Pram(estimated={"v": "later"})
    made = masked(method, sf.table(frame, confidential=["v", "later"]))
    assert made.facts["matrices"] == []
    assert made.secrets["matrices"][0]["probabilities"][0] == pytest.approx([29 / 30, 1 / 30])
    frame["later"] = ["a"] * 18 + ["b"] * 32
    assert masked(method, sf.table(frame, confidential=["v", "later"])).facts["matrices"]


def test_what_a_given_matrix_is_expected_to_change_tells_no_rare_count() -> None:
    """Where only "b" can change, its share is 0.5 times the number of b's, divided by 60."""
    method = Pram(matrix={"v": {"a": {"a": 1.0}, "b": {"b": 0.5, "a": 0.5}}})
    rare, common = masked(method, column([57, 3])), masked(method, column([40, 20]))
    assert rare.facts["expected share changed"] == {}
    assert rare.secrets["expected share changed"] == pytest.approx({"v": 0.025})
    assert rare.facts["matrices"], "which was there before the data"
    assert common.facts["expected share changed"] == pytest.approx({"v": 1 / 6})


def test_a_column_with_a_rare_category_is_reported_as_not_recovered() -> None:
    table = sf.table({"v": ["a"] * 59 + ["b"], "w": ["x"] * 30 + ["y"] * 30}, quasi=["v", "w"])
    made = masked(Pram(), table)
    assert [one["columns"] for one in made.facts["matrices"]] == [["w"]]
    assert list(made.facts["expected share changed"]) == ["w"]
    (said,) = [text for text in made.warnings if "private" in text]
    assert said.startswith("the matrix of v stays private")
    assert "merge rare categories, or use form = 'uniform'" in said
    found = Pram().recover(made.table, json.loads(json.dumps(made.facts)))
    assert list(found["frequencies"]) == ["w"]
    assert found["not recovered"] == ["v"]
    plain = masked(Pram(form="uniform"), table)
    assert [one["columns"] for one in plain.facts["matrices"]] == [["v"], ["w"]]
    assert plain.facts["expected share changed"] == pytest.approx({"v": 0.2, "w": 0.2})


def test_parameters_that_contradict_each_other_are_refused() -> None:
    given_matrix = {"v": {"a": {"a": 1.0}}}
    for words, why in (
        ({"stay": 0.5, "change": 0.1}, "not both"),
        ({"alpha": 0.5}, "two_stage"),
        ({"alpha": 0.5, "change": 0.1, "two_stage": True}, "not both"),
        ({"matrix": given_matrix, "estimated": {"v": "w"}}, "not both"),
        ({"matrix": given_matrix, "together": True}, "own matrix"),
        ({"matrix": given_matrix, "change": 0.1}, "itself"),
        ({"matrix": given_matrix, "strata": ("w",)}, "all strata"),
        ({"form": "nearest", "together": True}, "own matrix"),
    ):
        with pytest.raises(ValidationError, match=why):
            Pram(**words)
    table = sf.table({"v": ["a", "b"], "w": ["a", "b"]}, quasi=["v", "w"])
    with pytest.raises(MethodError, match="stratum and is to change"):
        masked(Pram(strata=("v",)), table)
    with pytest.raises(MethodError, match="other columns"):
        masked(Pram(matrix=given_matrix, columns=("w",)), table)
    with pytest.raises(MethodError, match="two columns"):
        masked(Pram(together=True, columns=("v",)), table)
    with pytest.raises(MethodError, match="cannot act"):
        masked(Pram(form="nearest", columns=("v",)), table)
    spelt_out = Pram(change=0.2).model_dump(mode="json")
    assert Pram(**spelt_out) == Pram(change=0.2), "evidence names every parameter"
