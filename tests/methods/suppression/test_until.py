"""Local suppression until a risk is reached, recounted by the measures and by the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.errors import SfumatoError
from sfumato.kernels.statistics.individual_risk import highest_allowed
from sfumato.methods.suppression.local import LocalSuppression
from sfumato.protocols import Context, Outcome
from sfumato.registry import find
from tests.methods.suppression.test_local import SEARCHES, people
from tests.oracle import individual_risk as oracle
from tests.oracle import suppression_searches as searches

FIGURES = ("individual-risk", "household-risk", "global-risk")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Few people with weights and households, some cells missing and some suppressed before."""
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    names = ["age", "job", "town"]
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 24, n),
            "job": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
            "town": rng.choice(["x", "y"], n),
            "w": rng.choice([0.5, 3.0, 40.0, 500.0], n),
            "home": rng.integers(0, n, n),
        }
    )
    gone = rng.random((n, 3)) < draw(st.sampled_from([0.0, 0.1, 0.4]))
    frame = frame.with_columns(
        pl.when(pl.Series(gone[:, j])).then(None).otherwise(pl.col(name)).alias(name)
        for j, name in enumerate(names)
    )
    made = sf.table(frame, quasi=names, weight="w", household="home")
    before = rng.random((n, 3)) < 0.5
    marks = {name: gone[:, j] & before[:, j] for j, name in enumerate(names)}
    return made.with_columns([], suppressed=marks)


def taken(name: str, original: Table, masked: Table, reading: str) -> float:
    context = Context(Pair.of(original, masked), np.random.default_rng(0))
    return float(find(name).load()(missing=reading).measure(context).value)


def masked(table: Table, **options: Any) -> Outcome:
    return LocalSuppression(**options).mask(table, np.random.default_rng(0))


def gone(outcome: Outcome, before: Table) -> np.ndarray:
    """The cells that the step took away."""
    names = before.schema.quasi
    return np.column_stack([outcome.table.suppressed(n) & ~before.suppressed(n) for n in names])


@pytest.mark.parametrize("options", SEARCHES)
@pytest.mark.parametrize("figure", FIGURES)
@given(tables(), st.floats(0.0, 1.0))
@settings(max_examples=25)
def test_the_limit_is_kept_and_what_cannot_be_kept_is_refused(
    options: dict[str, Any], figure: str, table: Table, how_far: float
) -> None:
    reading = options["reading"]
    everything = table.frame.with_columns(
        pl.lit(None).cast(table[name].dtype).alias(name) for name in table.schema.quasi
    )
    nothing = sf.table(everything, quasi=table.schema.quasi, weight="w", household="home")
    least, before = (taken(figure, table, one, reading) for one in (nothing, table))
    limit = least + how_far * (before - least)
    try:
        outcome = masked(table, until={figure: limit}, **options)
    except SfumatoError as error:
        # All that can be lowered is lowered to what a suppressed record has.
        assert limit < before
        assert "with every cell suppressed" in str(error)
        assert how_far < 1e-6
        return
    assert taken(figure, table, outcome.table, reading) <= limit
    lost = gone(outcome, table)
    assert not lost.any() or before > limit
    for j, name in enumerate(table.schema.quasi):
        kept = pl.Series(~lost[:, j])
        assert outcome.table[name].filter(kept).equals(table[name].filter(kept), null_equal=True)


@pytest.mark.parametrize("options", SEARCHES)
def test_just_inside_and_just_outside(options: dict[str, Any]) -> None:
    table, reading = people(80, 3, missing=0.05), options["reading"]
    for figure in ("individual-risk", "global-risk"):
        now = taken(figure, table, table, reading)
        assert not gone(masked(table, until={figure: now}, **options), table).any()
        below = now * (1 - 1e-9)
        outcome = masked(table, until={figure: below}, **options)
        assert gone(outcome, table).any()
        assert taken(figure, table, outcome.table, reading) <= below


@pytest.mark.parametrize("options", SEARCHES)
@given(tables(), st.floats(0.02, 0.5))
@settings(max_examples=25)
def test_who_is_safe_loses_nothing_unless_as_company(
    options: dict[str, Any], table: Table, limit: float
) -> None:
    reading = options["reading"]
    try:
        outcome = masked(table, until={"individual-risk": limit}, **options)
    except SfumatoError:
        return
    context = Context(Pair.of(table, table), np.random.default_rng(0))
    risk = find("individual-risk").load()(missing=reading).measure(context).per_record
    lost = gone(outcome, table)
    names = table.schema.quasi
    after = outcome.table
    shown = [
        tuple(None if after.suppressed(n)[i] else ("is", after[n][i]) for n in names)
        for i in range(table.height)
    ]
    for i in np.flatnonzero((risk <= limit) & lost.any(axis=1)).tolist():
        assert reading == "category"
        assert any(shown[j] == shown[i] and risk[j] > limit for j in range(table.height))


@given(tables(), st.floats(0.05, 0.5))
@settings(max_examples=25)
def test_each_record_pays_its_own_optimum(table: Table, limit: float) -> None:
    """Where suppressed cells match anything: by trying every set of cells of each record."""
    reading, names = "wildcard", table.schema.quasi
    try:
        outcome = masked(
            table, until={"individual-risk": limit}, search="optimal-per-record", reading=reading
        )
    except SfumatoError:
        return
    lost = gone(outcome, table)
    rows = [list(row) for row in table.frame.select(names).iter_rows()]
    weights = table["w"].to_list()
    for i, row in enumerate(rows):
        cheapest = min(
            sum(cell is not None and j in chosen for j, cell in enumerate(row))
            for chosen in ([j for j in range(3) if mask >> j & 1] for mask in range(8))
            if _safe(row, i, chosen, rows, weights, limit)
        )
        assert lost[i].sum() == cheapest


def _safe(
    row: list[Any], i: int, chosen: list[int], rows: list[Any], weights: list[float], limit: float
) -> bool:
    mine = [None if j in chosen else cell for j, cell in enumerate(row)]
    alike = [w for j, (other, w) in enumerate(zip(rows, weights, strict=True))
             if j == i or searches.matches(mine, other)]  # fmt: skip
    # By far nearer than any limit that Hypothesis draws: both sides round.
    return oracle.by_definition(len(alike), max(sum(alike), len(alike))) <= limit * (1 + 1e-12)


def test_a_heavy_record_may_stay_alone() -> None:
    table = sf.table(
        {"q": ["a", "b", "c", "d"], "w": [1000.0, 2.0, 2.0, 900.0]}, quasi=["q"], weight="w"
    )
    outcome = masked(table, until={"individual-risk": 0.5})
    assert outcome.table.suppressed("q").tolist() == [False, True, True, False]
    assert "may stay alone" in outcome.warnings[0]
    # Without weights every record is one person.
    bare = table.without(["w"])
    assert masked(bare, until={"individual-risk": 0.25}).table.suppressed("q").all()
    with pytest.raises(SfumatoError, match=r"no record's risk may be above 0.2, .* is 0.25"):
        masked(bare, until={"individual-risk": 0.2})


def test_people_with_several_records_are_refused() -> None:
    """The measures count people, of whom a class of five records may hold one."""
    pid = np.repeat(np.arange(12), 5)
    frame = {"pid": [f"p{i}" for i in pid], "q": pid % 4, "r": pid % 3}
    table = sf.table(frame, identifier=["pid"], quasi=["q", "r"])
    with pytest.raises(SfumatoError, match=r"12 people have 60 records, by `pid`") as caught:
        masked(table, until={"individual-risk": 0.2})
    assert "one record of each person" in caught.value.remedy
    once = table.take(np.arange(0, 60, 5))
    outcome = masked(once, until={"individual-risk": 0.2})
    assert taken("individual-risk", once, outcome.table, "category") <= 0.2


@pytest.mark.parametrize("seed", range(5))
def test_a_limit_that_is_met_exactly_is_met_however_records_are_shuffled(seed: int) -> None:
    rng = np.random.default_rng(247)
    frame = pl.DataFrame({"a": rng.integers(0, 6, 100), "b": rng.integers(0, 5, 100)})
    release = sf.protect(
        sf.table(frame, quasi=["a", "b"]),
        sf.method("local-suppression", until={"global-risk": 0.2}),
        require={"global-risk": {"at-most": 0.2}, "exposure": {"at-most": 1.0}},
        seed=seed,
    )
    assert release.evidence.met


def test_cells_climb_hierarchies_first() -> None:
    table = people(60, 8)
    outcome = masked(table, until={"individual-risk": 0.2}, search="greedy", ladder=True)
    assert outcome.facts["broadened cells"]["place"] > 0
    assert taken("individual-risk", table, outcome.table, "category") <= 0.2
    limits = {"individual-risk": 0.2, "global-risk": 0.01}
    outcome = masked(table, until=limits, search="optimal-per-record", ladder=True)
    for name, limit in limits.items():
        assert taken(name, table, outcome.table, "category") <= limit


def test_best_is_the_cheaper_search() -> None:
    table = people(200, 5)
    for figure, limit in (("individual-risk", 0.05), ("global-risk", 0.01)):
        lost = {
            search: gone(masked(table, until={figure: limit}, search=search), table).sum()
            for search in ("best", "greedy", "optimal-per-record")
        }
        assert 0 < lost["best"] <= min(lost["greedy"], lost["optimal-per-record"])
    wide = {f"v{j}": [0, 1, 2] for j in range(18)}  # more sets of columns than can be tried
    outcome = masked(sf.table(wide, quasi=[*wide]), until={"individual-risk": 0.4})
    assert taken("individual-risk", sf.table(wide, quasi=[*wide]), outcome.table, "category") < 0.4


def test_the_global_limit_is_nearly_used_up() -> None:
    """The risk that is enough by itself is lower than the one at which the limit holds."""
    table = people(300, 2)
    context = Context(Pair.of(table, table), np.random.default_rng(0))
    risk = find("individual-risk").load()().measure(context).per_record
    enough = highest_allowed(risk, 0.02, np.mean)
    outcome, first = (
        masked(table, until=until) for until in ({"global-risk": 0.02}, {"individual-risk": enough})
    )
    assert taken("global-risk", table, first.table, "category") <= 0.02
    assert gone(outcome, table).sum() < gone(first, table).sum()
    assert 0.015 < taken("global-risk", table, outcome.table, "category") <= 0.02
    assert outcome.secrets["highest individual risk allowed"] > enough


def test_what_does_not_go_together_is_refused() -> None:
    for bad, word in (
        ({"k": 3}, "give no k"),
        ({"blocks": 100}, "without blocks"),
        ({"weights": "count", "search": "greedy"}, "weighs all records itself"),
    ):
        with pytest.raises((SfumatoError, ValueError), match=word):
            LocalSuppression(until={"individual-risk": 0.1}, **bad)  # type: ignore[arg-type]
    for limits in ({"risk": 0.1}, {"individual-risk": 0.0}, {"global-risk": 1.5}):
        with pytest.raises((SfumatoError, ValueError), match="until"):
            LocalSuppression(until=limits)  # type: ignore[arg-type]
    table = people(20, 1)
    with pytest.raises(SfumatoError, match="role household; there is none"):
        masked(table, until={"household-risk": 0.5})
    zero = table.with_columns([pl.Series("w", [1.0] * 19 + [0.0])])
    with pytest.raises(SfumatoError, match="row 20"):
        masked(zero, until={"individual-risk": 0.5})
    assert "all records that look alike" in LocalSuppression(
        until={"individual-risk": 0.1}
    ).local_only()


PLAN = """
[input]
path = "sample.csv"

[columns]
area = "quasi"
age = "quasi"
w = "weight"

[[steps]]
use = "local-suppression"
until = { individual-risk = 0.05, global-risk = 0.01 }

[require]
individual-risk = { at-most = 0.05 }
global-risk = { at-most = 0.01 }

[output]
path = "out"
"""


def test_a_plan_reaches_what_it_requires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    ages = rng.integers(20, 60, 400)
    frame = pl.DataFrame({"area": rng.choice([*"abcde"], 400), "age": ages, "w": 5.0 + ages % 7})
    frame.write_csv("sample.csv")
    Path("plan.toml").write_text(PLAN)
    release = sf.protect("sample.csv", "plan.toml", seed=0)
    assert release.evidence.met
    assert sum(release.evidence.steps[0]["did"]["suppressed cells"].values()) > 0
    assert release.evidence.steps[0]["parameters"]["k"] is None
    release.save("out", allow_guessable_seed=True)  # recounted on the bytes
    assert (tmp_path / "out" / "evidence.json").exists()
