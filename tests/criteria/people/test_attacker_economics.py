"""Criteria on attackers who act for money, beside the oracle and at their limits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.people.attacker_economics import NoAttack, PositivePayout
from sfumato.criteria.people.population import KMap
from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ParameterError, ReleaseRefused
from sfumato.registry import find
from tests.oracle import economics as oracle

WORTH = oracle.Worth(*(Fraction(one) for one in (100, 160, 90, 30)))
AMOUNTS = dict(zip(WORTH._fields, map(float, WORTH), strict=True))
# Labels and what they cost: ages from 20 to 40, one of three kinds.
AGES = [("[20, 30]", Fraction(1, 2)), ("25", Fraction(0)), ("*", Fraction(1)), (None, Fraction(0))]
KINDS = [("{a, b}", Fraction(1, 2)), ("c", Fraction(0)), ("*", Fraction(1))]
Cell = tuple[str | None, Fraction]
released = st.lists(
    st.tuples(st.sampled_from(AGES), st.sampled_from(KINDS)), min_size=1, max_size=25
)


def _original() -> Table:
    return table({"age": [20, 25, 40], "kind": ["a", "b", "c"]}, quasi=["age", "kind"])


def _masked(rows: list[tuple[Cell, Cell]]) -> Table:
    texts = [(age, kind) for (age, _), (kind, _) in rows]
    frame = pl.DataFrame(texts, schema={"age": pl.String, "kind": pl.String}, orient="row")
    return Table(frame, Schema(c.with_(generalized=True) for c in _original().schema))


def _pair(rows: list[tuple[Cell, Cell]]) -> Pair:
    return Pair(_original(), _masked(rows), None)


@given(released)
def test_the_figures_are_those_of_the_oracle(rows: list[tuple[Cell, Cell]]) -> None:
    pair = _pair(rows)
    alike = oracle.alike([(age, kind) for (age, _), (kind, _) in rows])
    pays = [oracle.pays(Fraction(f), WORTH) for f in alike]
    found = NoAttack(gain=90, cost=30).check_pair(pair)
    assert found.met == (not any(pays))
    assert found.value == pytest.approx(max(90 / f for f in alike))
    assert found.detail["records_in_broken_classes"] == sum(pays)

    losses = [(age + kind) / 2 for (_, age), (_, kind) in rows]
    paid = [oracle.payout(loss, Fraction(f), WORTH) for loss, f in zip(losses, alike, strict=True)]
    told = [one for one, loss in zip(paid, losses, strict=True) if loss < 1]
    found = PositivePayout(**AMOUNTS).check_pair(pair)
    assert found.met == all(one > 0 for one in told)
    assert found.detail["records_in_broken_classes"] == sum(one <= 0 for one in told)
    assert found.value == pytest.approx(float(min(told, default=0)))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 8))
def test_without_attacks_is_k_anonymity_of_gain_over_cost(codes: list[int], k: int) -> None:
    t = table({"q": codes}, quasi=["q"])
    for cost in (1.0, 0.1, 7.3):
        even, more = NoAttack(gain=k * cost, cost=cost), NoAttack(gain=k * cost * 1.001, cost=cost)
        assert even.check(t).met == KAnonymity(k=k).check(t).met
        assert more.check(t).met == KAnonymity(k=k + 1).check(t).met


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=30),
    st.integers(1, 12),
)
def test_a_journalist_finds_who_fits_the_population(rows: list[tuple[int, int]], k: int) -> None:
    codes, weights = [code for code, _ in rows], [float(weight) for _, weight in rows]
    t = table({"q": codes, "w": weights}, quasi=["q"], weight=["w"])
    people = table({"q": codes * 3})
    for words in ({}, {"share": 0.25}, {"population": people}):
        asked = NoAttack(gain=float(k), cost=1.0, intruder="journalist", **words)
        assert asked.check(t).met == KMap(k=k, **words).check(t).met


def test_a_search_hears_what_a_release_is_judged_by() -> None:
    rng = np.random.default_rng(0)
    t = table({"age": rng.integers(20, 60, 80), "sex": rng.choice(["f", "m"], 80)}, quasi=["age"])
    labels = (t["age"].to_numpy() - 20) // 5
    grouping = Grouping.of(t, labels)
    for criterion in (NoAttack(gain=10, cost=1), PositivePayout(penalty=160, above=1065)):
        shown = grouping.shown.take(labels)
        found = criterion.check_pair(Pair(t, shown, np.arange(80)))
        kept = criterion.keeps(grouping)
        assert 0 < int((~kept).sum()) == found.broken < 8


@pytest.mark.parametrize(
    "criterion",
    [
        {"use": "no-attack", "gain": 6.0, "cost": 1.0},
        {"use": "payout", "benefit": 10.0, "penalty": 50.0, "gain": 50.0, "cost": 1.0},
    ],
    ids=["no-attack", "payout"],
)
@pytest.mark.parametrize("search", ["full-domain", "local-recoding", "certainty-bottom-up"])
def test_searches_keep_them(search: str, criterion: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 90), "sex": rng.choice(["f", "m"], 90)})
    posets = {"age": {"kind": "bins", "edges": [0, 30, 45]}}
    t = sf.table(frame, quasi=["age", "sex"], posets=posets)
    more = {"steps": 200} if search == "local-recoding" else {}
    step = sf.method(search, k=2, criteria=[criterion], **more)
    words = {key: value for key, value in criterion.items() if key != "use"}
    name = find(criterion["use"], "criterion").name
    require = {name: words}
    assert sf.protect(t, step, seed=1, require=require, measures=()).evidence.met
    with pytest.raises(ReleaseRefused):
        sf.protect(t, sf.method("mondrian", k=2), seed=1, require=require, measures=())


def test_what_is_suppressed_is_not_published() -> None:
    stars: list[tuple[Cell, Cell]] = [(("*", Fraction(1)), ("*", Fraction(1)))]
    others = [(AGES[1], KINDS[1])] * 9
    asked = PositivePayout(**AMOUNTS, above=50.0)
    assert asked.check_pair(_pair(stars + others)).met
    assert asked.check_pair(_pair(stars)).met  # nothing is published
    # Whether somebody is found there is another question, and one suppressed record is alone.
    assert not NoAttack(gain=90, cost=30).check_pair(_pair(stars + others)).met


def test_names_lead_to_both() -> None:
    assert find("no-attack").kind == find("no-attack", "criterion").kind == "criterion"
    assert find("no-attack", "measure", "attack").name == "paying-attacks"
    assert find("payout").kind == "measure"
    assert find("payout", "criterion").name == "positive-payout"
    words = "[require]\nno-attack = { gain = 9.0 }\n[measures]\nno-attack = true\n"
    plan = sf.Plan.parse(words)
    assert [r.name for r in plan.requirements] == ["no-attack"]
    assert [m.name for m in plan.measures or ()] == ["paying-attacks"]


@pytest.mark.parametrize(
    "words",
    [
        {"gain": 0.0},
        {"cost": 0.0},
        {"gain": float("inf")},
        {"share": 0.5},
        {"intruder": "journalist", "share": 0.5, "population": "people.csv"},
    ],
)
def test_amounts_that_mean_nothing_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        NoAttack.build(words)


def test_what_cannot_be_counted_is_said() -> None:
    t = table({"q": list("ab")})
    for criterion in (NoAttack(), PositivePayout()):
        with pytest.raises(MeasureError, match="without quasi-identifiers"):
            criterion.check(t)
    quasi = table({"q": list("ab")}, quasi=["q"])
    with pytest.raises(MeasureError, match="what share of the population"):
        NoAttack(intruder="journalist").check(quasi)
