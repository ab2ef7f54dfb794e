"""Special uniques: the worked example of a practice guide, and tables against every set."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, ReleaseRefused
from sfumato.kernels.uniques.scores import dis_suda
from sfumato.protocols import Context, Measurement
from sfumato.risk.uniqueness import suda as measure
from sfumato.risk.uniqueness.suda import Suda
from tests.oracle import uniqueness as oracle

NAMES = ["a", "b", "c", "d"]
Cells = list[tuple[str | None, ...]]
rows = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from(["x", "y", None]),
        st.sampled_from(["x", "y", "*"]),
        st.sampled_from(["x", "y", "hidden"]),
    ),
    min_size=1,
    max_size=12,
)


def _table(cells: Cells) -> Table:
    """Column c has cells published as "*", column d cells that a method has marked."""
    frame = pl.DataFrame(cells, schema=dict.fromkeys(NAMES, pl.String), orient="row")
    hidden = (frame["d"] == "hidden").to_numpy()
    made = table(frame.with_columns(d=pl.when(~pl.lit(pl.Series(hidden))).then("d")), quasi=NAMES)
    return Table(made.frame, made.schema, {"d": hidden})


def _with_person(one: Table, whose: list[str]) -> Table:
    column = table({"pid": whose}, identifier=["pid"], person="pid").schema["pid"]
    return one.with_columns([pl.Series("pid", whose)], [column])


def _shown(cells: Cells) -> list[list[object]]:
    return [[oracle.HIDDEN if v in ("*", "hidden") else v for v in row] for row in cells]


def _measured(masked: Table, original: Table | None = None, **given: object) -> Measurement:
    pair = Pair.of(masked if original is None else original, masked, "none")
    return Suda(**given).measure(Context(pair, np.random.default_rng(0)))


@given(rows, rows, st.integers(1, 5), st.sampled_from([0.01, 0.3, 1.0]))
def test_the_same_as_by_looking_at_all_sets(
    after: Cells, before: Cells, size: int, share: float
) -> None:
    found = _measured(_table(after), _table(before), size=size, share=share)
    size = min(size, 3)
    sets, were = (oracle.minimal_uniques(_shown(cells), size) for cells in (after, before))
    assert found.value == sum(map(bool, sets)) / len(after)
    assert found.baseline == sum(map(bool, were)) / len(before)
    counted = Counter(one for mine in sets for one in mine)
    told = {tuple(NAMES.index(c) for c in s["columns"]): s["records"] for s in found.detail["sets"]}
    assert told == counted  # of four columns there are no more sets than are told
    assert found.detail["sets_found"] == len(counted)
    by_size = Counter(len(one) for mine in sets for one in mine)
    assert found.detail["by_size"] == {f"{k}": by_size[k] for k in sorted(by_size)}
    scores = [oracle.score(mine, 4, size) for mine in sets]
    assert found.per_record is not None
    if any(scores):
        chance, unique = oracle.dis(after, share)
        assert found.detail["dis"] == pytest.approx(chance)
        chances = oracle.dis_suda(scores, 4, unique, chance)
        assert found.per_record.tolist() == pytest.approx(chances)
        for j, name in enumerate(NAMES):
            holding = [oracle.score([s for s in mine if j in s], 4, size) for mine in sets]
            assert found.detail["columns"][name] == pytest.approx(sum(holding) / sum(scores))
    else:
        assert not found.per_record.any()
    riskiest = found.private["riskiest"]
    assert [one["score"] for one in riskiest] == sorted((s for s in scores if s), reverse=True)
    for one in riskiest:
        mine = sets[one["row"] - 1]
        assert tuple(NAMES.index(c) for c in one["unique_by"]) in mine
        assert len(one["unique_by"]) == min(map(len, mine))
        assert one["minimal_uniques"] == len(mine)


GUIDE = """
Urban Female secondary-incomplete Employed
Urban Female secondary-incomplete Employed
Urban Female primary-incomplete Non-LF
Urban Male secondary-complete Employed
Rural Female secondary-complete Unemployed
Urban Male secondary-complete Employed
Urban Female primary-complete Non-LF
Urban Male post-secondary Unemployed
Urban Female secondary-incomplete Non-LF
Urban Female secondary-incomplete Non-LF
"""


def test_the_example_of_the_practice_guide() -> None:
    """Benschop, Machingauta & Welch, Statistical disclosure control: a practice guide, section 4.5:
    the scores of ten records, and the minimal uniques of the fifth."""
    names = ["residence", "gender", "education", "labour"]
    cells = [line.split() for line in GUIDE.split("\n") if line]
    t = table(pl.DataFrame(cells, schema=names, orient="row"), quasi=names)
    found = _measured(t, size=3)
    assert [(one["row"], one["score"]) for one in found.private["riskiest"]] == [
        (5, 12), (8, 10), (3, 6), (7, 6),
    ]  # fmt: skip
    fifth = found.private["riskiest"][0]
    assert (fifth["unique_by"], fifth["minimal_uniques"]) == (["residence"], 4)
    assert {tuple(one["columns"]) for one in found.detail["sets"]} >= {
        ("education", "labour"), ("gender", "labour"), ("gender", "education"),
    }  # fmt: skip
    # The guide's chances are of older scores: (2^(4 - k) - 1) k! (4 - k)! / 4! for a set of k.
    older = np.array([0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    chances = dis_suda(older, 4, np.array([2, 1, 2, 1, 1, 1, 2]), 0.01)
    assert chances[[2, 4, 6, 7]].round(4).tolist() == [0.0051, 0.0107, 0.0051, 0.0088]


def test_the_sampling_share_comes_from_weights_or_is_supposed() -> None:
    cells = {"q": [1, 2, 2, 3], "r": [1, 1, 2, 2], "w": [5.0] * 4}
    told = _measured(table(cells, quasi=["q", "r"], weight="w")).detail
    assert (told["sampling_share"], "weights in w" in told["sampling_share_from"]) == (0.2, True)
    told = _measured(table(cells, quasi=["q", "r"], confidential=["w"])).detail
    assert (told["sampling_share"], "supposed" in told["sampling_share_from"]) == (0.01, True)
    cells["w"][2] = -1.0
    with pytest.raises(MeasureError, match=r"'w', row 3, is -1\.0"):
        _measured(table(cells, quasi=["q", "r"], weight="w"))


def test_one_record_one_column_none() -> None:
    one = _measured(table({"q": [1], "r": ["x"]}, quasi=["q", "r"]))
    assert (one.value, one.detail["by_size"]) == (1.0, {"1": 2})
    assert _measured(table({"q": [1, 1, 2]}, quasi=["q"])).value == pytest.approx(1 / 3)
    assert _measured(table({"q": [None, None]}, quasi=["q"])).value == 0
    assert _measured(table({"q": [1, 2]}, confidential=["q"])).value == 0
    with pytest.raises(MeasureError, match="no records"):
        _measured(table({"q": pl.Series([], dtype=pl.Int64)}, quasi=["q"]))


def test_many_columns_have_scores_for_chances() -> None:
    """Above 27 columns a higher score would be a lower chance."""
    cells = {f"c{j:02}": [0, 0, int(j == 3), 0, 0] for j in range(28)}
    few, many = (
        _measured(table(dict([*cells.items()][:m]), quasi=[*cells][:m]), size=1) for m in (27, 28)
    )
    assert few.per_record is not None
    assert many.per_record is not None
    assert 0 < few.per_record[2] <= 1
    assert few.detail["largest_chance"] == few.per_record.max()
    assert many.per_record.tolist() == [0, 0, 27, 0, 0]
    assert "28 columns" in many.detail["no_chances"]
    assert "chance" not in many.private["riskiest"][0]


def test_too_many_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {f"c{j:02}": [0, 1] for j in range(65)}
    with pytest.raises(MeasureError, match="65 are quasi-identifiers"):
        _measured(table(cells, quasi=[*cells]))
    t = table(cells, quasi=[*cells][:64])
    with pytest.raises(MeasureError, match="sets of at most 4") as refused:
        _measured(t, size=4)
    assert "size = 3" in str(refused.value.remedy)
    assert _measured(t, size=3).value == 1
    monkeypatch.setattr(measure, "_BITS", 64 * 2)
    assert _measured(t, size=2).value == 1
    with pytest.raises(MeasureError) as refused:
        _measured(t, size=3)
    assert "size = 2" in str(refused.value.remedy)


PLAN = """
[input]
path = "d.csv"
[columns]
id = "identifier"
a = "quasi"
b = "quasi"
c = "quasi"
[[steps]]
use = "drop"
columns = ["id"]
[require]
suda = { at-most = 0.25, size = 2 }
[measures]
suda = { size = 2 }
"""


LINES = ("1,1,1,1", "2,1,1,1", "3,1,2,2", "4,1,2,2", "5,2,1,2", "6,2,1,2", "7,1,1,3", "8,2,2,1")
"""Two of eight are unique by two of the last three columns."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "d.csv").write_text("\n".join(["id,a,b,c", *LINES]) + "\n")
    made = tmp_path / "plan.toml"
    made.write_text(PLAN)
    return made


def test_a_plan_may_require_it(plan: Path) -> None:
    people = sf.read(plan.with_name("d.csv"))
    kept = sf.protect(people, plan, seed=2**70)
    finding = next(one for one in kept.evidence.findings if one.requirement == "suda")
    assert (finding.value, finding.met) == (0.25, True)
    plan.write_text(PLAN.replace("0.25", "0.24"))
    with pytest.raises(ReleaseRefused, match="most often by c: 1 of 8 records"):
        sf.protect(people, plan, seed=2**70)


def test_who_is_unique_stays_with_the_owner(plan: Path) -> None:
    release = sf.protect(sf.read(plan.with_name("d.csv")), plan, seed=2**70)
    release.save(out := plan.with_name("out"))
    public = json.loads((out / "evidence.json").read_text())["measures"]["suda"]
    assert (public["value"], public["detail"]["by_size"]) == (0.25, {"1": 1, "2": 3})
    assert "riskiest" not in json.dumps(public)
    owners = release.evidence["suda"]
    assert [one["unique_by"] for one in owners.private["riskiest"]] == [["a", "b"], ["c"]]
    chances = pl.read_parquet(plan.with_name("out.private") / "risk-published.parquet")["suda"]
    assert (chances > 0).sum() == 2


def test_a_steward_reads_by_which_columns_people_are_unique(tmp_path: Path) -> None:
    rows = {"age": [30, 30, 41, 41], "job": ["cook", "cook", "cook", "diver"]}
    people = sf.table({**rows, "area": ["n", "s", "n", "s"]}, quasi=["age", "job", "area"])
    page = tmp_path / "page.html"
    found = sf.assess(people, measures="suda", output=page)["suda"]
    assert found.detail["says"][0] == "4 records are unique by age and area"
    assert "record 4 is unique by job" in found.private["says"]
    assert "record 4 is unique by job" in page.read_text()  # the owner's page
    asked = {"exposure": False, "uniques": {"at-most": 1}}
    release = sf.protect(people, [], require=asked, measures=[sf.method("suda")], seed=1 << 64)
    home = release.save(tmp_path / "out")
    told = (home / "report.html").read_text(), (home / "evidence.json").read_text()
    assert all("4 records are unique by age and area" in text for text in told)
    assert not any("is unique by job" in text.replace("1 record is", "") for text in told)
    owners = (tmp_path / "out.private" / "report.html").read_text()
    assert "is unique by job" in owners.replace("1 record is", "")


@given(rows, st.lists(st.sampled_from(["p", "q", "r", "s"]), min_size=12, max_size=12))
def test_records_of_one_person_are_no_company(cells: Cells, people: list[str]) -> None:
    whose = [*people[: len(cells)], "last", "last"]  # somebody has several records
    cells = [*cells, ("x", "x", "x", "x"), ("x", "x", "x", "y")]
    original = _with_person(_table(cells), whose)
    sets = oracle.minimal_uniques(_shown(cells), 3, whose)
    pair = Pair.of(original, original.without(["pid"]))
    found = Suda().measure(Context(pair, np.random.default_rng(0)))
    assert found.value == found.baseline == sum(map(bool, sets)) / len(cells)
    assert found.detail["people"]
    assert found.depends is None  # whose the records are is not published
    assert _measured(original).depends == "release"


@pytest.mark.parametrize("seed", range(5))
def test_equal_records_of_a_person_count_as_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = {name: rng.integers(0, 3, 40) for name in NAMES}
    once = _measured(table(frame, quasi=NAMES))
    thrice = table({name: np.repeat(one, 3) for name, one in frame.items()}, quasi=NAMES)
    found = _measured(_with_person(thrice, [f"p{i // 3}" for i in range(120)]))
    assert found.value == once.value > 0
    assert found.detail["dis"] == once.detail["dis"]
    assert found.per_record is not None
    assert once.per_record is not None
    assert found.per_record == pytest.approx(np.repeat(once.per_record, 3))
