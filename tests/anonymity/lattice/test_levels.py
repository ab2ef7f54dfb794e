"""Levels that are fixed or bounded, and columns that are averaged: published and refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.lattice.full_domain import FullDomain
from sfumato.data.table import Table
from sfumato.errors import MethodError, ParameterError
from tests.anonymity.lattice.test_full_domain import smallest_class, tables
from tests.oracle import lattice as oracle

STRATEGIES = ("optimal", "samarati", "incognito", "datafly", "ola", "top-down", "bottom-up")


def people() -> Table:
    """Forty people; the levels of age are 0 to 3, those of sex 0 and 1."""
    rng = np.random.default_rng(0)
    rows = tuple((str(a), f"{a // 5 * 5}+", f"{a // 10 * 10}s", "*") for a in range(20, 60))
    return sf.table(
        {"age": rng.integers(20, 60, 40), "sex": rng.choice(["f", "m"], 40)},
        quasi=["age", "sex"],
        posets={"age": sf.method("hierarchy", levels=rows)},
    )


def mask(table: Table, **words: Any) -> Any:
    return FullDomain(**words).mask(table, np.random.default_rng(0))


def test_a_node_is_published_as_it_is() -> None:
    table = people()
    found = mask(table, k=2, suppress=0.2, levels={"age": 2, "sex": 0})
    assert found.facts["levels"] == {"age": 2, "sex": 0}
    assert found.facts["highest levels"] == {"age": 3, "sex": 1}
    assert found.facts["nodes"] == 1
    kept = ~found.table.suppressed("age")
    assert set(found.table["age"].filter(kept).to_list()) <= {"20s", "30s", "40s", "50s", "*"}
    assert set(found.table["sex"].to_list()) <= {"f", "m", None}
    free = mask(table, k=2, suppress=0.2, levels={"sex": 0})
    assert free.facts["levels"]["sex"] == 0
    assert free.facts["loss"] <= found.facts["loss"]


def test_what_a_fixed_node_would_take() -> None:
    table = people()
    with pytest.raises(MethodError) as caught:
        mask(table, k=5, levels={"age": 0, "sex": 0})
    message = str(caught.value)
    assert "the levels age = 0, sex = 0 do not satisfy k = 5 with 0.0% of the records" in message
    share = float(message.partition("suppress = ")[2].split()[0])
    found = mask(table, k=5, levels={"age": 0, "sex": 0}, suppress=share)
    assert smallest_class(found.table) >= 5


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_stays_within_its_levels(strategy: str) -> None:
    table = people()
    words = {"lowest": {"age": 1}, "highest": {"age": 2, "sex": 0}}
    found = mask(table, k=3, suppress=0.3, strategy=strategy, **words)
    assert 1 <= found.facts["levels"]["age"] <= 2
    assert found.facts["levels"]["sex"] == 0
    assert smallest_class(found.table) >= 3
    with pytest.raises(MethodError, match="at the highest levels that it may choose, ") as caught:
        mask(table, k=15, strategy=strategy, **words)
    assert "or raise highest" in str(caught.value)
    sure = "no combination of levels" if strategy == "optimal" else "found no levels"
    assert sure in str(caught.value)


@settings(max_examples=40)
@given(tables(), st.integers(1, 3), st.data())
def test_windows_hold_what_the_whole_lattice_holds(
    given_table: Any, k: int, data: st.DataObject
) -> None:
    """The classes, figures and labels of a node do not depend on what else might be chosen."""
    table, _, _, _ = given_table
    whole = FullDomain(k=k, suppress=0.5).lattice(table, table.schema.quasi)
    node = tuple(data.draw(st.integers(0, top)) for top in whole.top)
    fixed = dict(zip(table.schema.quasi, node, strict=True))
    one = FullDomain(k=k, suppress=0.5, levels=fixed)
    here = one.lattice(table, table.schema.quasi)
    judged, wanted = here.judge(here.bottom), whole.judge(node)
    assert judged.allowed == wanted.allowed
    assert judged.suppressed == wanted.suppressed
    if wanted.allowed:
        assert here.published(judged.value) == pytest.approx(whole.published(wanted.value))
        labels = one.mask(table, np.random.default_rng(0)).partition.labels
        same = whole.labels(node)
        assert np.array_equal(labels < 0, same < 0)
        assert len(set(zip(labels, same, strict=True))) == len(set(labels)) == len(set(same))


def test_complaints_about_levels() -> None:
    table = people()
    with pytest.raises(MethodError, match="levels names 'town'") as caught:
        mask(table, k=2, levels={"town": 1})
    assert "the columns are age, sex" in str(caught.value)
    with pytest.raises(MethodError, match="column 'age' has no level 7") as caught:
        mask(table, k=2, highest={"age": 7})
    assert "its levels are 0 (the values) to 3" in str(caught.value)
    for words, why in (
        ({"levels": {"age": 1}, "lowest": {"age": 1}}, "the level of age is fixed"),
        ({"lowest": {"age": 2}, "highest": {"age": 1}}, "lowest level of age is above its highest"),
        ({"levels": {"age": -1}}, "greater than or equal to 0"),
        ({"measure": "height", "aggregate": "maximum"}, "aggregate goes with the measures loss"),
        ({"measure": "payout", "coding": 0.2}, "coding goes with the measures loss"),
        ({"target": "sex"}, "target goes with measure"),
        ({"economics": {"gain": 3}}, "economics goes with measure"),
        ({"measure": "payout", "economics": {"benefit": 0}}, "a benefit of 0"),
        ({"measure": "ambiguity", "microaggregate": {"age": "mean"}}, "an average is none"),
    ):
        with pytest.raises(ParameterError, match=why):
            FullDomain.build(words)
    with pytest.raises(MethodError, match="the target 'sex' is among the columns"):
        mask(table, k=2, measure="classification", target="sex")


def test_averages_with_missing_and_suppressed_values() -> None:
    """Those without a value are never averaged with others, and nobody stands apart."""
    ages: list[int | None] = [30, 32, 34, 50, 54, None, None, 70, 71, None]
    table = sf.table({"age": ages, "sex": ["f"] * 10}, quasi=["age", "sex"])
    mark = np.array([False] * 9 + [True])
    table = table.with_columns([table["age"]], [table.schema["age"]], {"age": mark})
    found = mask(table, k=2, suppress=0.4, microaggregate={"age": "mean"}, levels={"age": 1})
    assert smallest_class(found.table) >= 2
    # The one that was suppressed before is given company: those whose value is missing.
    assert np.flatnonzero(found.table.suppressed("age")).tolist() == [5, 6, 9]
    mean = np.mean([age for age in ages if age is not None])
    assert found.table["age"].drop_nulls().unique().to_list() == pytest.approx([mean])
    # Without enough suppression nothing of the column is left: a lone "*" would stand apart.
    none = mask(table, k=2, suppress=0.2, microaggregate={"age": "mean"})
    assert none.facts["levels"]["age"] == none.facts["highest levels"]["age"] == 2
    assert set(none.table["age"].to_list()) == {"*"}
    assert smallest_class(none.table) == 10


@settings(max_examples=80)
@given(
    st.lists(st.one_of(st.integers(0, 9), st.integers(0, 9), st.none()), min_size=6, max_size=20),
    st.sampled_from(["mean", "median", "mode"]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(1, 3),
    st.data(),
)
def test_gaps_are_never_averaged(
    ages: list[int | None], how: Any, share: float, k: int, data: st.DataObject
) -> None:
    n = len(ages)
    marks = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    marks &= np.array([age is not None for age in ages]) & data.draw(st.booleans())
    kept = [None if mark else age for age, mark in zip(ages, marks, strict=True)]
    rows = tuple((str(a), "*" if a == 7 else f"d{a // 3}", "*") for a in range(10))
    sex = ["fm"[i % 2] for i in range(n)]
    table = sf.table(
        pl.DataFrame({"age": pl.Series(kept, dtype=pl.Int64), "sex": sex}),
        quasi=["age", "sex"],
        posets={"age": sf.method("hierarchy", levels=rows)},
    )
    table = table.with_columns([table["age"]], [table.schema["age"]], {"age": marks})
    found = mask(table, k=k, suppress=share, microaggregate={"age": how})
    assert smallest_class(found.table) >= k
    if found.facts["levels"]["age"] == 3:
        assert found.table["age"].to_list() == ["*"] * n
        return
    labels, shown = found.partition.labels, found.table["age"].to_list()
    for label in set(labels.tolist()):
        inside = np.flatnonzero(labels == label).tolist()
        values = [kept[i] for i in inside]
        known = [value for value in values if value is not None]
        assert label < 0 or len(known) in (0, len(values))
        wanted = None if label < 0 or not known else oracle.average(known, how)
        assert [shown[i] for i in inside] == [wanted and pytest.approx(wanted)] * len(inside)
        hidden = [True] * len(inside) if label < 0 else marks[inside].tolist()
        assert found.table.suppressed("age")[inside].tolist() == hidden


def test_values_that_end_early_are_averaged_apart_from_the_suppressed() -> None:
    """A hierarchy in which some values are "*" at once."""
    rows = (("1", "*", "*"), ("2", "low", "*"), ("3", "low", "*"), ("9", "*", "*"))
    table = sf.table(
        {"q": [1, 9, 2, 3, 2, 3, 1, 1]},
        quasi="q",
        posets={"q": sf.method("hierarchy", levels=rows)},
    )
    mark = np.array([False] * 6 + [True] * 2)
    nothing = (
        table["q"].to_frame().with_columns(pl.when(pl.Series(~mark)).then(pl.col("q")).alias("q"))
    )
    table = table.with_columns([nothing["q"]], [table.schema["q"]], {"q": mark})
    found = mask(table, k=2, microaggregate={"q": "mean"}, levels={"q": 1})
    assert found.table["q"].to_list() == [5.0, 5.0, 2.5, 2.5, 2.5, 2.5, None, None]
    assert found.table.suppressed("q").tolist() == mark.tolist()
    assert smallest_class(found.table) == 2


def test_averages_of_every_kind() -> None:
    n = 12
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=2 * i) for i in range(n)]
    table = sf.table(
        {
            "pay": [float(2**i) for i in range(n)],
            "born": days,
            "grade": [["low", "mid", "high"][i % 3] for i in range(n)],
            "town": ["a"] * 8 + ["b"] * 4,
        },
        quasi=["pay", "born", "grade", "town"],
        kinds={"grade": "ordinal"},
        categories={"grade": ["low", "mid", "high"]},
    )
    how = {"pay": "geometric-mean", "born": "mean", "grade": "median", "town": "mode"}
    found = mask(table, k=n, microaggregate=how)
    assert found.table["pay"].unique().to_list() == pytest.approx([2**5.5])
    assert found.table["born"].unique().to_list() == [dt.date(2020, 1, 12)]
    assert found.table["grade"].unique().to_list() == ["mid"]
    assert found.table["town"].unique().to_list() == ["a"]
    assert found.facts["levels"] == dict.fromkeys(how, 1)
    assert "every quasi-identifier" not in " ".join(found.warnings)
    # The mode of towns is wrong for 4 of 12; dates lose their whole variance.
    assert 0 < found.facts["loss"] < 1
    release = sf.protect(
        table, sf.method("full-domain", k=6, microaggregate=how), require={"k-anonymity": 6}, seed=1
    )
    assert smallest_class(release.table) >= 6


def test_complaints_about_averages() -> None:
    table = people()
    with pytest.raises(MethodError, match="column 'sex' is nominal, and has no mean"):
        mask(table, k=2, microaggregate={"sex": "mean"})
    negative = sf.table({"q": [-1.0, 2.0, 3.0]}, quasi="q")
    with pytest.raises(MethodError, match="not above zero"):
        mask(negative, k=2, microaggregate={"q": "geometric-mean"})
    labels = mask(table, k=2, suppress=0.2, levels={"age": 1}).table
    with pytest.raises(MethodError, match="labels of an earlier step"):
        mask(labels, k=2, microaggregate={"age": "mode"})
    assert (
        "looks at the values of every class"
        in FullDomain(microaggregate={"age": "mean"}).local_only()
    )
    assert "target of every record" in FullDomain(measure="classification").local_only()


def test_averages_keep_criteria_and_whole_numbers() -> None:
    rng = np.random.default_rng(4)
    ages = rng.integers(20, 30, 60) * 2
    table = sf.table(
        {"age": ages, "ill": rng.choice(["a", "b"], 60)}, quasi="age", confidential="ill"
    )
    rule = {"use": "l-diversity", "l": 2}
    found = mask(table, k=5, suppress=0.3, microaggregate={"age": "median"}, criteria=[rule])
    assert found.table["age"].dtype.is_integer()
    assert FullDomain(criteria=[rule]).criteria[0].check(found.table).met
    assert smallest_class(found.table) >= 5


def test_payout_has_an_upper_bound_when_it_ends_early() -> None:
    rng = np.random.default_rng(3)
    names = [f"q{j}" for j in range(6)]
    table = sf.table({name: rng.integers(0, 4, 100) for name in names}, quasi=names)
    found = mask(table, k=3, suppress=0.1, measure="payout", strategy="top-down", steps=9)
    full = mask(table, k=3, suppress=0.1, measure="payout")
    assert found.facts["ended early"] == "after its steps"
    assert found.facts["payout"] <= full.facts["payout"] <= found.facts["upper bound"] + 1e-4
