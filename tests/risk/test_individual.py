"""Individual, household and global risk, against everybody compared with everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ReleaseRefused
from sfumato.kernels.statistics.individual_risk import approximate_risk
from sfumato.protocols import Context, Measurement
from sfumato.release.plan.step import build
from sfumato.release.remedies import trying
from sfumato.risk.individual import GlobalRisk, HouseholdRisk, IndividualRisk
from tests.oracle import individual_risk as oracle

MEASURES = (IndividualRisk, HouseholdRisk, GlobalRisk)
cells = st.sampled_from(["a", "b", None])
weights = st.sampled_from([0.5, 1.0, 2.5, 40.0])
homes = st.sampled_from([1, 2, None])
rows = st.lists(st.tuples(cells, cells, weights, homes), min_size=1, max_size=20)
Rows = list[tuple[Any, ...]]


def _table(records: Rows, **roles: Any) -> Table:
    schema = {"x": pl.String, "y": pl.String, "w": pl.Float64, "h": pl.Int64}
    frame = pl.DataFrame(records, schema=schema, orient="row")
    return table(frame, **({"quasi": ["x", "y"], "weight": "w", "household": "h"} | roles))


def _taken(measure: Any, original: Table, masked: Table | None = None, **more: Any) -> Measurement:
    pair = Pair.of(original, original if masked is None else masked, more.pop("align", "position"))
    found: Measurement = measure.measure(Context(pair, np.random.default_rng(0), **more))
    return found


@given(rows, rows, st.sampled_from(["category", "wildcard"]))
def test_the_figures_are_those_of_the_oracle(before: Rows, after: Rows, reading: Any) -> None:
    n = min(len(before), len(after))
    before, after = before[:n], after[:n]
    original, masked = _table(before), _table(after).without(["h"])

    def risks(records: Rows) -> list[float]:
        seen = [row[:2] for row in records]
        return oracle.risks(seen, [row[2] for row in records], wildcard=reading == "wildcard")

    risk, was = risks(after), risks(before)
    found = _taken(IndividualRisk(missing=reading, threshold=0.3), original, masked)
    assert found.per_record == pytest.approx(risk)
    assert (found.value, found.baseline) == pytest.approx((max(risk), max(was)))
    assert found.detail["records_at_risk"] == sum(r > 0.3 for r in risk)
    assert found.detail["share_at_risk"] == pytest.approx(sum(r > 0.3 for r in risk) / n)
    assert found.detail["mean"] == pytest.approx(sum(risk) / n)
    assert found.detail["expected_reidentifications"] == pytest.approx(sum(risk))
    assert found.detail["population"] == "estimated by the sum of the weights in w"

    found = _taken(GlobalRisk(missing=reading), original, masked)
    assert (found.value, found.baseline) == pytest.approx((sum(risk) / n, sum(was) / n))
    assert found.detail["expected_reidentifications"] == pytest.approx(sum(risk))

    # The household column is not published: it comes from the original.
    found = _taken(HouseholdRisk(missing=reading), original, masked)
    together = oracle.households(risk, [row[3] for row in before])
    assert found.per_record == pytest.approx(together)
    assert found.value == pytest.approx(max(together))
    assert found.baseline == pytest.approx(max(oracle.households(was, [r[3] for r in before])))


def test_the_sdcmicro_approximation_stands_beside() -> None:
    t = table({"q": list("aaaab"), "w": [10.0] * 5}, quasi=["q"], weight="w")
    found = _taken(GlobalRisk(), t)
    near = approximate_risk(np.array([4, 1]), np.array([40.0, 10.0]))
    assert found.detail["sdcmicro"] == pytest.approx((4 * near[0] + near[1]) / 5)
    assert found.detail["sdcmicro"] > found.value
    assert _taken(IndividualRisk(), t).detail["sdcmicro"] == pytest.approx(near[1])


def test_without_weights_the_sample_is_the_population() -> None:
    t = table({"q": list("aab")}, quasi=["q"])
    found = _taken(IndividualRisk(), t)
    assert found.per_record is not None
    assert found.per_record.tolist() == [0.5, 0.5, 1.0]
    assert "sample stands for the population" in found.detail["population"]
    # Weights that are not published estimate nothing, either.
    weighted = table({"q": list("aab"), "w": [9, 9, 9]}, quasi=["q"], weight="w")
    found = _taken(IndividualRisk(), weighted, weighted.without(["w"]))
    assert found.value == 1.0
    assert "no weights" in found.detail["population"]
    assert found.baseline is not None
    assert found.baseline < 0.3


def test_perturbed_weights_estimate_nothing() -> None:
    t = table({"q": list("aab"), "w": [9.0, 9, 9]}, quasi=["q"], weight="w")
    noise = build("method", "uncorrelated-noise", {"columns": ["w"]})
    found = _taken(IndividualRisk(), t, mechanism=(noise,))
    assert found.value == 1.0
    assert "uncorrelated-noise perturbed the weights" in found.detail["population"]
    assert found.detail["because"] == found.detail["population"]
    assert "because" not in _taken(IndividualRisk(), t).detail
    bare = _taken(IndividualRisk(), t, t.without(["w"]))
    assert bare.detail["because"].endswith("the weights are not published")
    # A sample's weights are multiplied by design.
    found = _taken(IndividualRisk(), t, mechanism=(build("method", "sampling", {}),))
    assert found.value < 0.3


def test_a_refusal_says_why_a_step_could_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "RUNS", 0)
    rng = np.random.default_rng(0)
    frame = {"q": rng.integers(0, 8, 200), "w": rng.choice([10.0, 60.0], 200)}
    t = table(pl.DataFrame(frame), quasi=["q"], weight="w")
    steps = [
        sf.method("noise", columns=["w"], amount=0.001),
        sf.method("local-suppression", until={"individual-risk": 0.005}),
    ]
    require = {"individual-risk": {"at-most": 0.005}, "exposure": {"at-most": 1.0}}
    with pytest.raises(ReleaseRefused, match=r"population: .* perturbed the weights"):
        sf.protect(t, steps, require=require, seed=1)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_order_of_records_decides_nothing(measure: Any) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        records = [
            (*rng.choice(["a", "b", "c"], 2).tolist(), float(rng.random()), int(rng.integers(9)))
            for _ in range(60)
        ]
        figures = {
            _taken(measure(), _table([records[i] for i in rng.permutation(60)])).value
            for _ in range(10)
        }
        assert len(figures) == 1


def test_weights_below_the_records_are_told() -> None:
    t = table({"q": list("aab"), "w": [0.5, 0.5, 9]}, quasi=["q"], weight="w")
    found = _taken(IndividualRisk(), t)
    assert found.value == 0.5
    assert found.detail["classes_with_weights_below_their_records"] == 1


@pytest.mark.parametrize("bad", [None, 0.0, -1.0, float("nan")])
def test_weights_that_are_none_are_named(bad: float | None) -> None:
    t = table({"q": list("ab"), "w": pl.Series([1.0, bad])}, quasi=["q"], weight="w")
    for measure in (IndividualRisk(), GlobalRisk()):
        with pytest.raises(MeasureError, match="'w', row 2"):
            _taken(measure, t)


def test_a_population_is_counted() -> None:
    t = table({"q": list("aab"), "w": [50, 50, 50]}, quasi=["q"], weight="w")
    others = table({"q": list("aaabc")}, quasi=["q"])
    found = _taken(IndividualRisk(), t, reference=others)
    assert found.per_record == pytest.approx([1 / 5, 1 / 5, 1 / 2])
    everybody = table({"q": list("aaabb")}, quasi=["q"])
    found = _taken(IndividualRisk(reference="population"), t, reference=everybody)
    assert found.per_record == pytest.approx([1 / 3, 1 / 3, 1 / 2])
    assert found.detail["population"] == "the reference table"
    with pytest.raises(MeasureError, match="not by wildcards"):
        _taken(IndividualRisk(missing="wildcard"), t, reference=others)


def test_people_are_counted_where_they_have_several_records() -> None:
    frame = {"pid": ["a", "a", "b", "c"], "q": list("xxxy"), "w": [10.0, 10, 30, 10]}
    t = table(frame, identifier=["pid"], quasi=["q"], weight="w")
    masked = t.without(["pid"])
    found = _taken(IndividualRisk(), t, masked)
    two = oracle.by_definition(2, 40.0)
    assert found.per_record == pytest.approx([two, two, two, oracle.by_definition(1, 10.0)])
    assert found.depends is None  # whose the records are is not published
    assert found.detail["people"] == found.detail["because"]
    others = _taken(IndividualRisk(), t, masked, reference=table({"q": ["x"]}, quasi=["q"]))
    assert others.per_record == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    everybody = table({"q": list("xxy")}, quasi=["q"])  # each of them once
    found = _taken(IndividualRisk(reference="population"), t, masked, reference=everybody)
    assert found.per_record == pytest.approx([1 / 2, 1 / 2, 1 / 2, 1])
    gap = masked.with_columns([pl.Series("q", ["x", "x", None, "y"])])
    with pytest.raises(MeasureError, match="several records"):
        _taken(IndividualRisk(missing="wildcard"), t, gap)


def test_households_must_be_known() -> None:
    t = _table([("a", "b", 1.0, 1), ("a", "b", 1.0, 1)])
    bare = t.without(["h"])
    with pytest.raises(MeasureError, match="role household; there is none"):
        _taken(HouseholdRisk(), bare)
    with pytest.raises(MeasureError, match="must know which masked record"):
        _taken(HouseholdRisk(), t, bare, align="none")
    # Nobody knows which of them a record without an original lives with.
    loose = Pair(t, bare, np.array([0, -1]))
    found = HouseholdRisk().measure(Context(loose, np.random.default_rng(0)))
    assert found.per_record == pytest.approx([0.5, 0.5])
    assert found.detail["households"] == 2
    assert found.depends is None
    # Households that are published are read off the release.
    told = t.with_columns([pl.Series("h", [7, 8])])
    found = _taken(HouseholdRisk(), t, told, align="none")
    assert found.per_record == pytest.approx([0.5, 0.5])
    assert found.depends == "values"


@pytest.mark.parametrize("measure", MEASURES)
def test_awkward_tables(measure: Any) -> None:
    empty = _table([("a", "b", 1.0, 1)]).take(np.array([], dtype=int))
    with pytest.raises(MeasureError, match="no records"):
        _taken(measure(), empty)
    one = _table([(None, None, 4.0, None)])
    for reading in ("category", "wildcard"):
        found = _taken(measure(missing=reading), one)
        assert found.value == pytest.approx(oracle.by_definition(1, 4.0))
    nothing = table({"x": [1, 2], "h": [1, 2]}, household="h")  # no quasi-identifiers
    assert _taken(measure(missing="wildcard"), nothing).value == pytest.approx(0.5)


PLAN = """
[input]
path = "sample.csv"

[columns]
area = "quasi"
sex = "quasi"
w = "weight"
home = "household"

[require]
individual-risk = { at-most = LIMIT }
household-risk = { at-most = 0.9 }
global-risk = 0.2

[measures]
individual-risk = { threshold = 0.05 }
global-risk = {}
household-risk = {}

[output]
path = "out"
"""


def test_plans_require_and_measure_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    frame = {"area": rng.choice(list("nsew"), 200), "sex": rng.choice(list("fm"), 200),
             "w": rng.choice([3.0, 5.0], 200), "home": rng.integers(0, 60, 200)}  # fmt: skip
    frame["area"][0] = "x"  # alone, and of one in three or five
    pl.DataFrame(frame).write_csv("sample.csv")
    Path("plan.toml").write_text(PLAN.replace("LIMIT", "0.3"))
    with pytest.raises(ReleaseRefused, match="individual-risk is 0"):
        sf.protect("sample.csv", "plan.toml", seed=0)
    Path("plan.toml").write_text(PLAN.replace("LIMIT", "0.6"))
    release = sf.protect("sample.csv", "plan.toml", seed=0)
    figure = release.evidence["individual-risk"]
    assert 0.3 < figure.value < 0.6
    assert figure.detail["records_at_risk"] == 1
    public = release.public().evidence
    assert public["individual-risk"].value == figure.value
    assert public["individual-risk"].per_record is None
    assert "home" not in release.table.names
    assert release.evidence["household-risk"].value >= figure.value
    assert "household-risk" not in public  # who lives together is the owner's


def test_where_many_are_alone_it_says_that_weights_are_not_enough() -> None:
    def said(values: list[int]) -> list[str]:
        people = sf.table({"q": values, "w": [9.0] * len(values)}, quasi=["q"], weight="w")
        return list(sf.measure("global-risk", people).detail.get("says", ()))

    nine = [0] * 9
    assert "1 of 10 records are alone" in said([*nine, 1])[0]
    assert said([*nine, 0, 1]) == []
    alone = sf.table({"q": range(10)}, quasi=["q"])  # without weights nothing is estimated
    assert "says" not in sf.measure("global-risk", alone).detail
