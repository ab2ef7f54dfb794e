"""Local suppression by other searches, with hierarchies and weights, recounted independently."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.errors import SfumatoError
from sfumato.methods.suppression.local import LocalSuppression
from sfumato.methods.suppression.values import RandomSuppression
from sfumato.poset.trees.sources import Hierarchy
from tests.oracle import suppression as oracle

SEARCHES: list[dict[str, Any]] = [
    {"search": search, "reading": reading}
    for search in ("best", "greedy", "optimal-per-record")
    for reading in ("category", "wildcard")
]
PLACES = [
    ["Bonn", "Rhine", "Germany", "*"],
    ["Mainz", "Rhine", "Germany", "*"],
    ["Ulm", "Danube", "Germany", "*"],
    ["Nice", "Coast", "France", "*"],
    ["Cannes", "Coast", "France", "*"],
]


def people(n: int, seed: int, *, missing: float = 0.0) -> sf.Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "place": rng.choice([row[0] for row in PLACES], n),
            "age": rng.integers(20, 26, n),
            "sex": rng.choice(["f", "m"], n, p=[0.8, 0.2]),
            "w": rng.choice([1.0, 2.0, 50.0], n),
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(n) < missing)).then(None).otherwise(pl.col(c)).alias(c)
            for c in ("place", "age", "sex")
        )
    posets = {"place": Hierarchy(levels=PLACES)}
    return sf.table(frame, posets=posets, quasi=["place", "age", "sex"], weight="w")


def recounted(table: sf.Table, reading: str) -> int:
    """k, counted from what is published by the oracle alone."""
    names = table.schema.quasi
    texts = [table[name].cast(pl.String).to_list() for name in names]
    domain = {text: i for i, text in enumerate(sorted({t for c in texts for t in c if t}))}
    codes = np.array([[domain.get(t or "", 0) for t in column] for column in texts]).T
    gone = np.column_stack([table.suppressed(name) for name in names])
    missing = np.column_stack([table.missing(name) for name in names])
    if reading == "wildcard":
        return oracle.fewest_matches(codes, gone | missing)
    return oracle.smallest_class(oracle.appearance(codes, missing, gone, "own"))


@pytest.mark.parametrize("options", SEARCHES)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_k_is_reached_and_nothing_else_changes(options: dict[str, Any], missing: float) -> None:
    table = people(80, 3, missing=missing)
    outcome = LocalSuppression(k=4, **options).mask(table, np.random.default_rng(0))
    assert recounted(outcome.table, options["reading"]) >= 4
    assert KAnonymity(k=4, missing=options["reading"]).check(outcome.table).met
    cells = 0
    for name in table.schema.quasi:
        gone = outcome.table.suppressed(name)
        kept = pl.Series(~gone)
        assert outcome.table[name].filter(kept).equals(table[name].filter(kept), null_equal=True)
        cells += int((gone & ~table.missing(name)).sum())
    assert sum(outcome.facts["suppressed cells"].values()) == cells > 0


def test_the_best_search_costs_least_and_wildcards_less_still() -> None:
    table = people(400, 5)
    share = {
        (o["search"], o["reading"]): LocalSuppression(k=5, **o)
        .mask(table, np.random.default_rng(0))
        .facts["share of cells"]
        for o in SEARCHES
    }
    for reading in ("category", "wildcard"):
        assert share["best", reading] <= share["optimal-per-record", reading]
        assert share["best", reading] <= share["greedy", reading]
    assert share["optimal-per-record", "wildcard"] <= share["optimal-per-record", "category"]


@pytest.mark.parametrize("search", ["greedy", "optimal-per-record"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_cells_climb_before_they_are_suppressed(search: Any, missing: float) -> None:
    table = people(60, 8, missing=missing)
    outcome = LocalSuppression(k=3, search=search, ladder=True).mask(
        table, np.random.default_rng(0)
    )
    assert recounted(outcome.table, "category") >= 3
    assert KAnonymity(k=3).check(outcome.table).met
    assert outcome.facts["broadened cells"]["place"] > 0
    assert outcome.table.schema["place"].generalized
    above = {row[0]: row for row in PLACES}
    for value, label in zip(table["place"], outcome.table["place"], strict=True):
        if value is None:
            assert label in (None, "*")
        else:
            assert label in above[value]
    assert any("age has no hierarchy" in warning for warning in outcome.warnings)
    # A parent costs less than nothing at all, so that fewer cells go.
    plain = LocalSuppression(k=3, search=search).mask(table, np.random.default_rng(0))
    lost = outcome.facts["suppressed cells"]["place"]
    assert lost < plain.facts["suppressed cells"]["place"]


def test_a_masked_hierarchy_column_can_be_suppressed_further() -> None:
    table = people(60, 8)
    once = LocalSuppression(k=2, search="greedy", ladder=True).mask(table, np.random.default_rng(0))
    twice = LocalSuppression(k=9, search="greedy", ladder=True).mask(
        once.table, np.random.default_rng(0)
    )
    assert recounted(twice.table, "category") >= 9


def test_weights_as_company_and_as_cost() -> None:
    table = people(80, 2)
    weight = table["w"].to_numpy()
    for search in ("greedy", "optimal-per-record"):
        method = LocalSuppression(k=20, search=search, weights="count")  # type: ignore[arg-type]
        outcome = method.mask(table, np.random.default_rng(0))
        sums = outcome.table.frame.group_by("place", "age", "sex").agg(pl.col("w").sum())
        assert sums["w"].min() >= 20
        assert "population" in outcome.warnings[0]
    heavy = LocalSuppression(k=4, weights="cost").mask(table, np.random.default_rng(0))
    plain = LocalSuppression(k=4).mask(table, np.random.default_rng(0))

    def weighed(outcome: Any) -> float:
        gone = sum(outcome.table.suppressed(name) for name in ("place", "age", "sex"))
        return float(weight @ gone)

    assert recounted(heavy.table, "category") >= 4
    assert weighed(heavy) < weighed(plain)


def test_what_does_not_go_together_is_refused() -> None:
    for bad, word in (
        ({"ladder": True}, "ladder goes with search"),
        ({"ladder": True, "search": "greedy", "reading": "wildcard"}, "reading"),
        ({"weights": "count"}, 'weights = "count"'),
    ):
        with pytest.raises((SfumatoError, ValueError), match=word):
            LocalSuppression(**bad)  # type: ignore[arg-type]
    table = people(20, 1)
    unweighted = sf.table(table.frame, quasi=["age", "sex"])
    with pytest.raises(SfumatoError, match="one weight column"):
        LocalSuppression(weights="cost").mask(unweighted, np.random.default_rng(0))
    zero = table.with_columns([pl.Series("w", [0.0] * 20)])
    with pytest.raises(SfumatoError, match="row 1"):
        LocalSuppression(weights="cost").mask(zero, np.random.default_rng(0))
    wide = sf.table({f"v{j}": [0, 1, 2] for j in range(18)}, quasi=[f"v{j}" for j in range(18)])
    with pytest.raises(SfumatoError, match="262,144 sets"):
        LocalSuppression(k=2, search="optimal-per-record").mask(wide, np.random.default_rng(0))


@pytest.mark.parametrize("reading", ["category", "wildcard"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_random_suppression_reaches_k(reading: Any, missing: float) -> None:
    table = people(60, 6, missing=missing)
    method = RandomSuppression(k=3, reading=reading)
    outcome = method.mask(table, np.random.default_rng(1))
    assert recounted(outcome.table, reading) >= 3
    assert outcome.facts["share of cells"] > 0
    again = method.mask(table, np.random.default_rng(1))
    assert again.table.frame.equals(outcome.table.frame, null_equal=True)


def test_random_suppression_does_not_look_at_rarity() -> None:
    """Among 1,000 draws the rare value is suppressed as often as the common one (z-test)."""
    rng = np.random.default_rng(11)
    sex = np.array(["f"] * 5 + ["m"] * 35)
    table = sf.table({"sex": sex, "age": np.arange(40) % 4}, quasi=["sex", "age"])
    gone = np.zeros(40)
    draws = 1000
    shares = []
    for _ in range(draws):
        found = RandomSuppression(k=3).mask(table, rng).table.suppressed("sex")
        gone += found
        shares.append(found[:5].mean() - found[5:].mean())
    z = np.mean(shares) / (np.std(shares, ddof=1) / np.sqrt(draws))
    assert abs(z) < 4.9  # one false alarm in a million
    assert 0 < gone.sum() < 40 * draws
    # A minimal suppression takes the rare ones.
    best = LocalSuppression(k=3, reading="wildcard").mask(table, rng).table.suppressed("sex")
    assert best[5:].sum() == 0


def test_dear_columns_go_more_slowly() -> None:
    table = people(100, 9)
    outcome = RandomSuppression(k=3, importance={"age": 20.0}).mask(table, np.random.default_rng(3))
    lost = outcome.facts["suppressed cells"]
    assert lost["age"] < lost["place"] / 3
    assert lost["age"] < lost["sex"] / 3
