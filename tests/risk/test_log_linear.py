"""Log-linear risk of samples from populations that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ReleaseRefused
from sfumato.protocols import Context, Measurement
from sfumato.risk.log_linear import LogLinearRisk
from tests.oracle import log_linear as oracle

NAMES = ["a", "b", "c", "d", "e"]


def _measured(t: Table, before: Table | None = None, **parameters: Any) -> Measurement:
    pair = Pair(before or t, t, None)
    return LogLinearRisk(**parameters).measure(Context(pair, np.random.default_rng(0)))


def _people(seed: int, *, tied: bool) -> tuple[np.random.Generator, np.ndarray]:
    """100,000 people whose columns are independent, or of whom b mostly follows from a."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.choice(d, 100_000, p=rng.dirichlet(np.full(d, 2.0))) for d in (10, 10, 10, 10, 8)
    ]
    people = np.column_stack(columns)
    if tied:
        follows = rng.random(len(people)) < 0.9
        people[:, 1] = np.where(follows, (people[:, 0] * 7) % 10, people[:, 1])
    return rng, people


def _truth(people: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """Sample uniques that are unique in the population, and the sum of 1/F over them."""
    cell = np.unique(people, axis=0, return_inverse=True)[1].reshape(-1)
    size = np.bincount(cell)
    drawn = np.bincount(cell[rows], minlength=size.size)
    of = size[drawn == 1]
    return float((of == 1).sum()), float((1 / of).sum())


def _table(rows: np.ndarray, weight: np.ndarray | None = None) -> Table:
    frame = pl.DataFrame(rows, schema=NAMES)
    if weight is None:
        return table(frame, quasi=NAMES)
    return table(frame.with_columns(w=pl.Series(weight)), quasi=NAMES, weight="w")


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns(seed: int) -> None:
    rng, people = _people(seed, tied=False)
    rows = rng.choice(len(people), 5_000, replace=False)
    found = _measured(_table(people[rows]), share=0.05)
    one, match = _truth(people, rows)
    assert found.detail["model"] == "a + b + c + d + e"
    assert found.detail["fits"] is True
    for mixture in ("poisson", "gamma"):
        assert found.detail[mixture]["tau1"] == pytest.approx(one, rel=0.12)
        assert found.detail[mixture]["tau2"] == pytest.approx(match, rel=0.06)
    assert found.value == found.detail["poisson"]["tau2"] / 5_000
    assert found.interval[0] < match / 5_000 < found.interval[1]
    assert found.per_record.sum() / 5_000 == pytest.approx(found.value)
    assert (found.per_record > 0).sum() == found.detail["sample_uniques"]


@pytest.mark.parametrize("seed", range(5))
def test_an_interaction_is_found_and_mends_the_estimate(seed: int) -> None:
    rng, people = _people(seed, tied=True)
    rows = rng.choice(len(people), 5_000, replace=False)
    found = _measured(_table(people[rows]), share=0.05)
    one, match = _truth(people, rows)
    steps = found.detail["steps"]
    assert (steps[0]["added"], steps[1]["added"]) == ("independence", "a*b")
    assert steps[0]["z"] > 50 > 2 > abs(steps[-1]["z"])
    assert found.detail["fits"] is True
    assert "a*b" in found.detail["model"]
    assert found.detail["poisson"]["tau1"] == pytest.approx(one, rel=0.15)
    assert found.detail["poisson"]["tau2"] == pytest.approx(match, rel=0.1)
    assert _untied(people[rows]) > 1.5 * one


def _untied(rows: np.ndarray) -> float:
    """tau1 by the independence model."""
    kept, counts = np.unique(rows, axis=0, return_counts=True)
    shares = [np.bincount(column) / len(rows) for column in rows.T]
    chances = np.prod([share[kept[:, j]] for j, share in enumerate(shares)], axis=0)
    lam = len(rows) / 0.05 * chances[counts == 1]
    return float(np.exp(-lam * 0.95).sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("by", ["a column", "something else"])
def test_unequal_weights(seed: int, by: str) -> None:
    rng, people = _people(seed, tied=False)
    stratum = people[:, 4] % 4 if by == "a column" else rng.integers(4, size=len(people))
    chance = np.array([0.02, 0.04, 0.08, 0.16])[stratum]
    rows = np.flatnonzero(rng.random(len(people)) < chance)
    found = _measured(_table(people[rows], 1 / chance[rows]))
    one, match = _truth(people, rows)
    assert found.detail["sampling_share_from"] == "the sampling weights in w"
    assert found.detail["poisson"]["tau1"] == pytest.approx(one, rel=0.15)
    assert found.detail["poisson"]["tau2"] == pytest.approx(match, rel=0.1)


def test_equal_weights_are_a_share() -> None:
    rng, people = _people(0, tied=False)
    rows = people[rng.choice(len(people), 1_000, replace=False)]
    given = _measured(_table(rows), share=0.05)
    weighed = _measured(_table(rows, np.full(1_000, 20.0)))
    assert weighed.value == pytest.approx(given.value)
    # Whoever gives a share means it, whatever the weights.
    assert _measured(_table(rows, np.full(1_000, 3.0)), share=0.05).value == given.value


def test_a_small_table_by_hand() -> None:
    rows = [("f", "x"), ("f", "x"), ("f", "y"), ("m", "x"), ("m", "z"), (None, "z")]
    t = table({"sex": [a for a, _ in rows], "job": [b for _, b in rows]}, quasi=["sex", "job"])
    found = _measured(t, share=0.25)
    codes = [({"f": 0, "m": 1, None: 2}[a], "xyz".index(b)) for a, b in rows]
    mu = oracle.proportional_fit(oracle.full_table(codes, [1.0] * 6), [[0], [1]])
    wanted = [oracle.poisson_risk(4 * mu[code], 0.25) for code in codes[2:]]
    assert found.detail["model"] == "sex + job"
    assert found.detail["cells"] == 9.0
    assert found.detail["poisson"]["tau1"] == pytest.approx(sum(one for one, _ in wanted))
    assert found.per_record == pytest.approx([0, 0, *(match for _, match in wanted)])
    assert _measured(t, share=0.25, mixture="gamma").value == pytest.approx(
        found.detail["gamma"]["tau2"] / 6
    )


def test_who_holds_everybody_knows_who_is_alone() -> None:
    t = table({"q": [1, 2, 2, 3], "r": list("aabb")}, quasi=["q", "r"])
    found = _measured(t, share=1.0)
    assert found.value == 1.0
    told = {"tau1": 4.0, "tau1_error": 0.0, "tau2": 4.0, "tau2_error": 0.0}
    assert found.detail["poisson"] == told
    weighed = table({"q": [1, 2, 2], "w": [0.5, 0.5, 0.5]}, quasi="q", weight="w")
    assert _measured(weighed).value == pytest.approx(1 / 3)  # nobody is there less than once


def test_nobody_is_alone() -> None:
    found = _measured(table({"q": [1, 1, 2, 2]}, quasi="q"), share=0.1)
    assert (found.value, found.interval) == (0.0, (0.0, 0.0))
    assert found.per_record.tolist() == [0.0] * 4
    nothing = _measured(table({"x": [1, 2, 3]}), share=0.1)
    assert (nothing.value, nothing.detail["occupied_cells"]) == (0.0, 1)


def test_the_figure_before_masking_is_the_baseline() -> None:
    rng, people = _people(1, tied=False)
    rows = people[rng.choice(len(people), 1_000, replace=False)]
    before = _table(rows)
    coarse = rows.copy()
    coarse[:, :2] //= 5
    found = _measured(_table(coarse), before, share=0.05)
    assert found.baseline == pytest.approx(_measured(before, share=0.05).value)
    assert found.value < found.baseline
    kept = _measured(_table(coarse[:500]), before, share=0.025)
    assert kept.baseline == found.baseline  # of twice the records, twice the share


def test_more_cells_than_a_number_can_tell() -> None:
    rng = np.random.default_rng(0)
    names = [f"q{j}" for j in range(92)]
    rows = np.column_stack([rng.permutation(2_000) for _ in names])
    found = _measured(table(pl.DataFrame(rows, schema=names), quasi=names), share=0.1)
    assert found.detail["cells"] == 1e300
    assert found.value == pytest.approx(1.0)


def test_the_share_must_be_known() -> None:
    with pytest.raises(MeasureError, match="what share of the population"):
        _measured(table({"q": [1, 2]}, quasi="q"))
    weighed = table({"q": [1, 2], "w": [3.0, -1.0]}, quasi="q", weight="w")
    with pytest.raises(MeasureError, match="column 'w', row 2"):
        _measured(weighed)


@pytest.mark.parametrize(("limit", "kept"), [(0.9, True), (0.001, False)])
def test_it_can_be_required_by_a_plan(limit: float, kept: bool) -> None:
    rng, people = _people(2, tied=False)
    t = _table(people[rng.choice(len(people), 500, replace=False)])
    steps = '[[steps]]\nuse = "drop"\ncolumns = ["e"]\n'
    require = f"[require]\nlog-linear-risk = {{ at-most = {limit}, share = 0.05 }}\n"
    plan = sf.Plan.parse(steps + require)
    if kept:
        figure = sf.protect(t, plan, seed=2**80).measure("log-linear-risk", share=0.05)
        assert 0.001 < figure.value <= limit
        assert figure.value < sf.measure("log-linear-risk", t, t, share=0.05).value
    else:
        with pytest.raises(ReleaseRefused, match="log-linear-risk"):
            sf.protect(t, plan, seed=2**80)


def _hardly_ever_apart(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """400,000 people of whom b is a but for a few, and the rows of 4 %."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(5, size=400_000), rng.integers(2, size=400_000)
    b = np.where(rng.random(a.size) < 0.9995, a, rng.integers(5, size=a.size))
    return np.column_stack([a, b, c]), rng.choice(a.size, 16_000, replace=False)


@pytest.mark.parametrize("seed", range(5))
def test_a_misfit_of_large_cells_is_found(seed: int) -> None:
    # By independence every cell has 8,000 people, and exp(-8000) is no number.
    people, rows = _hardly_ever_apart(seed)
    t = table(pl.DataFrame(people[rows], schema=["a", "b", "c"]), quasi=["a", "b", "c"])
    found = _measured(t, share=0.04)
    assert found.detail["steps"][0]["z"] > 100
    assert found.detail["steps"][1]["added"] == "a*b"
    assert found.detail["model"] == "a*b + c"


def _everybody_differs() -> Table:
    rng = np.random.default_rng(0)
    return table({"id": range(2_000), "sex": rng.choice(["f", "m"], 2_000)}, quasi=["id", "sex"])


@pytest.mark.parametrize("share", [0.05, 0.001, 0.0001])
def test_a_figure_whose_model_does_not_fit_says_so_and_keeps_no_limit(share: float) -> None:
    t = _everybody_differs()
    found = _measured(t, share=share)
    assert found.detail["fits"] is False
    (said,) = found.detail["says"]
    assert "no model of id, sex fits" in said
    assert said.endswith("far too low")
    limit = {"at-most": 0.9, "share": share}
    require = {"log-linear-risk": limit, "exposure": False}
    with pytest.raises(ReleaseRefused, match=r"no model of id, sex fits.*fewer categories"):
        sf.protect(t, [], require=require)


def test_nobody_alone_is_no_question_of_the_model() -> None:
    # Tied in a way that no model may hold: nobody is alone all the same.
    t = table({"q": [*range(500)] * 2}, quasi="q")
    found = _measured(t, share=0.5)
    assert (found.value, found.detail["fits"]) == (0.0, False)
    assert "refuses" not in found.detail
    assert "says" not in found.detail


def test_people_are_counted_not_their_records() -> None:
    columns = {"q": [1, 1, 1, 2, 2, 3, 3], "r": list("aaabbaa")}
    who = ["p1", "p1", "p1", "p2", "p3", "p4", "p4"]
    t = table({"who": who, **columns}, quasi=["q", "r"], identifier="who")
    once = table({"q": [1, 2, 2, 3], "r": list("abba")}, quasi=["q", "r"])
    found, wanted = _measured(t, share=0.2), _measured(once, share=0.2)
    assert found.value == pytest.approx(wanted.value)
    assert found.value > 0
    assert found.detail["sample_uniques"] == 2
    assert found.detail["people"].endswith("4 of 7 records")
    assert "people" not in wanted.detail
    alone = wanted.per_record
    assert found.per_record == pytest.approx([alone[0]] * 3 + [0, 0] + [alone[3]] * 2)
    assert found.interval == pytest.approx(wanted.interval)


def test_records_of_one_person_share_their_weight() -> None:
    who, q, r = list("xxyzuu"), [1, 1, 2, 2, 3, 3], list("aabbaa")
    w = [30.0, 30.0, 10.0, 10.0, 40.0, 40.0]
    t = table({"who": who, "q": q, "r": r, "w": w}, quasi=["q", "r"], identifier="who", weight="w")
    one = table(
        {"q": [1, 2, 2, 3], "r": list("abba"), "w": [30.0, 10.0, 10.0, 40.0]},
        quasi=["q", "r"],
        weight="w",
    )
    assert _measured(t).value == pytest.approx(_measured(one).value)


def test_who_is_one_person_is_the_owners_where_it_is_not_published() -> None:
    who = [f"p{j // 2}" for j in range(40)]
    t = table({"patient": who, "q": [j // 4 for j in range(40)]}, quasi="q", identifier="patient")
    pair = Pair(t, t.without(["patient"]), np.arange(t.height))
    found = LogLinearRisk(share=0.5).measure(Context(pair, np.random.default_rng(0)))
    assert found.detail["people"].endswith("20 of 40 records")
    assert found.depends is None
    assert _measured(t, share=0.5).depends == "release"
