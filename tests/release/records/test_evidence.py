"""The two faces: what the public half says, and what only the owner's half does."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError, OutputError, UnknownName
from sfumato.measurement import Depends, Finding, Measurement
from sfumato.protocols import Context, Measure
from sfumato.release.plan.requirement import Requirement
from sfumato.release.plan.step import build
from sfumato.release.records.evidence import Evidence, Measuring

SEED = 2**70 + 1


def exact() -> Measurement:
    detail = {"mean": 1.23456, "each": [1.23456, 2], "by": {"a": 0.98765}, "says": "so"}
    return Measurement(
        "mean-difference",
        1.23456,
        "higher",
        bounds=(0.0, math.inf),
        interval=(1.23411, 1.23499),
        baseline=0.55558,
        per_record=np.ones(3),
        detail=detail,
        private={"level": 7.0},
        decimals=2,
    )


def test_what_is_published_of_a_measurement() -> None:
    shown = exact().public()
    assert (shown.value, shown.interval, shown.baseline) == (1.23, (1.23, 1.23), 0.56)
    assert shown.detail == {"mean": 1.23, "each": [1.23, 2], "by": {"a": 0.99}, "says": "so"}
    assert shown.per_record is None
    assert shown.private == {}
    plain = shown.to_dict()
    assert plain["bounds"] == [0.0, None]
    assert "level" not in str(plain)
    bare = Measurement("x", 1.23456).public()
    assert (bare.value, bare.interval, bare.baseline) == (1.23456, None, None)
    assert set(bare.to_dict()) == {"value", "direction", "bounds"}
    assert bare.to_dict()["bounds"] == [None, None]


def test_a_measurement_compares_like_its_value() -> None:
    one = Measurement("x", 1.5)
    assert one == 1.5
    assert one == Measurement("x", 1.5)
    assert one != Measurement("y", 1.5)
    assert one != Measurement("x", 1.0)
    assert hash(one) == hash(Measurement("x", 1.5))
    assert (one < 1.5, one <= 1.5, one > 1.5, one >= 1.5) == (False, True, False, True)
    assert (one < 2, one > 1, float(one), f"{one:.2f}") == (True, True, 1.5, "1.50")


def finding(**more: object) -> Finding:
    words = {"value": 0.123456, "limit": 0.1, "met": False, "at_least": False, **more}
    return Finding("t-closeness", "t-closeness of ill", **words)  # type: ignore[arg-type]


def test_what_is_published_of_a_finding() -> None:
    assert finding().public().value == 0.123456
    assert finding(decimals=2).public().value == 0.12
    assert str(finding()) == "t-closeness of ill is 0.1235 (limit 0.1)"
    told = finding(broken=2, of=1000, detail={"because": "of him"})
    assert str(told).endswith(" in 2 of 1,000 classes (of him)")
    assert "of him" not in str(finding(met=True, detail={"because": "of him"}))
    assert "detail" not in finding().to_dict()
    assert told.to_dict()["detail"] == {"because": "of him"}


def test_the_evidence_of_a_release() -> None:
    evidence = Evidence(
        {"mean-difference": exact()},
        not_taken={"dbrl": "Smith has no match"},
        findings=(finding(decimals=2), finding(met=True)),
    )
    assert not evidence.met
    assert Evidence({}, findings=(finding(met=True),)).met
    assert Evidence({}).met
    assert evidence["mean-difference"].value == 1.23456
    assert ("mean-difference" in evidence, "dbrl" in evidence) == (True, False)
    assert list(evidence) == ["mean-difference"]
    with pytest.raises(MeasureError, match="dbrl was not measured: Smith"):
        evidence["dbrl"]
    with pytest.raises(UnknownName):
        evidence["nothing"]
    ((name, about, value, before),) = evidence.rows()
    assert (name, value, before) == ("mean-difference", "1.235", "0.5556")
    assert about
    page = evidence._repr_html_()
    assert page.count("NOT MET") == 1
    assert page.count("<td>met</td>") == 1
    assert "mean-difference=1.235" in repr(evidence)
    (row,) = Evidence({"unknown": Measurement("unknown", 1e-12)}).rows()
    assert row == ("unknown", "", "0", "")


def people(n: int = 40) -> sf.Table:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "name": [f"Person{i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "pay": rng.normal(100, 10, n).round(3),
        }
    )
    return sf.table(frame, identifier=["name"], quasi=["age"], confidential=["pay"])


PUBLIC = {"data.csv", "evidence.json", "report.html"}
OWNERS = {"alignment.parquet", "figures.json", "people.parquet", "plan.toml", "report.html"}
OWNERS |= {"seed.json"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[sf.Release, Path]:
    steps = [sf.method("mondrian", k=4)]
    measures = [build("measure", name, {}) for name in ("record-linkage", "mean-difference")]
    release = sf.protect(people(), steps, SEED, require={"k-anonymity": 4}, measures=measures)
    return release, release.save(tmp_path_factory.mktemp("faces") / "out")


def test_which_files_lie_where(written: tuple[sf.Release, Path]) -> None:
    _, folder = written
    private = folder.with_name("out.private")
    assert {p.name for p in folder.iterdir()} == PUBLIC
    vectors = {"mapping.csv", "lineage.parquet"}
    found = {p.name for p in private.iterdir()}
    assert found - {"risk-published.parquet", "risk-original.parquet"} == OWNERS | vectors
    assert found & {"risk-published.parquet", "risk-original.parquet"}
    alignment = pl.read_parquet(private / "alignment.parquet")
    assert alignment["published_row"].to_list() == list(range(40))
    rows = alignment["original_row"].to_numpy()
    assert sorted(rows) == list(range(40))
    assert not np.array_equal(rows, np.arange(40))
    data = pl.read_csv(folder / "data.csv")
    assert data["pay"].to_list() == people()["pay"].gather(rows).to_list()
    assert json.loads((private / "seed.json").read_text())["seed"] == SEED
    assert pl.read_parquet(private / "people.parquet").height == 40
    lineage = pl.read_parquet(private / "lineage.parquet")
    assert lineage.columns == ["1-mondrian"]
    labels = lineage["1-mondrian"].to_numpy()[rows]
    assert len(set(zip(labels, data["age"], strict=True))) == len(set(labels))


def test_the_risk_of_every_record_is_the_owners(written: tuple[sf.Release, Path]) -> None:
    release, folder = written
    seen = set()
    for side, name in (("masked", "published"), ("original", "original")):
        path = folder.with_name("out.private") / f"risk-{name}.parquet"
        vectors = {
            measure: m.per_record.tolist()
            for measure, m in release.evidence.measurements.items()
            if m.per_record is not None and m.per_record_of == side
        }
        assert path.exists() == bool(vectors)
        if vectors:
            assert pl.read_parquet(path).to_dict(as_series=False) == vectors
        seen |= set(vectors)
    assert "record-linkage" in seen


def test_what_the_public_folder_tells(written: tuple[sf.Release, Path]) -> None:
    release, folder = written
    text = "".join(p.read_text("utf-8") for p in folder.iterdir())
    assert str(SEED) not in text
    assert "Person1" not in text
    evidence = json.loads((folder / "evidence.json").read_text("utf-8"))
    assert evidence["suppressed"] == "*"
    assert evidence["requirements"][0]["met"]
    assert evidence["records"] == {"original": 40, "published": 40}
    assert {c["name"]: c["published"] for c in evidence["columns"]} == {
        "name": False,
        "age": True,
        "pay": True,
    }
    assert "per_record" not in text
    assert str(SEED) not in repr(release) + repr(release.private) + release._repr_html_()
    assert "1 requirement met" in repr(release)
    noted = release.with_note("one more")
    assert noted.evidence.notes == (*release.evidence.notes, "one more")


def test_where_and_how_a_release_is_saved(written: tuple[sf.Release, Path]) -> None:
    release, folder = written
    with pytest.raises(OutputError, match="the release has no path"):
        release.save()
    with pytest.raises(OutputError, match="exists already"):
        release.save(folder)
    assert release.save(folder, replace=True) == folder
    lone = sf.table({"x": [1, None, 1, None]}, quasi=["x"])
    made = sf.protect(lone, sf.method("mondrian", k=2), seed=1, measures=())
    for format, good in (("csv", False), ("tsv", False), ("parquet", True)):
        plan = made.plan.with_(output=made.plan.output.model_copy(update={"format": format}))
        target = folder.with_name(f"lone-{format}")
        if good:
            assert replace(made, plan=plan).save(target, allow_guessable_seed=True).is_dir()
            continue
        with pytest.raises(OutputError, match="skip empty lines"):
            replace(made, plan=plan).save(target, allow_guessable_seed=True)
        assert not target.exists()


def test_measures_of_a_release_are_its_own(written: tuple[sf.Release, Path]) -> None:
    release, _ = written
    assert release.measure("record-linkage") == release.evidence["record-linkage"]
    assert release.mapping().height > 0
    assert release.data.shape == (40, 2)
    assert release.tables == (release.table,)


def test_keys_and_who_took_part_stay_with_the_owner(tmp_path: Path) -> None:
    plan = sf.Plan.parse(
        "[input]\nreference = 0.25\n[[steps]]\nuse = 'pseudonymize'\ncolumns = ['name']\n"
        "[measures]\n"
    )
    release = sf.protect(people(), plan, SEED)
    folder, private = release.save(tmp_path / "out"), tmp_path / "out.private"
    assert {p.name for p in folder.iterdir()} == PUBLIC
    keys = json.loads((private / "keys.json").read_text())
    assert list(keys) == ["1-pseudonymize"]
    public = (folder / "evidence.json").read_text() + (folder / "report.html").read_text()
    assert not any(str(key) in public for key in keys["1-pseudonymize"].values())
    kept = pl.read_parquet(private / "participants.parquet")["original_row"].to_numpy()
    assert 0 < kept.size < 40
    rows = pl.read_parquet(private / "alignment.parquet")["original_row"].to_numpy()
    assert sorted(rows) == sorted(kept)
    data = pl.read_csv(folder / "data.csv")
    assert data["pay"].to_list() == people()["pay"].gather(rows).to_list()


class Odd(Measure):
    """Tells what JSON has no words for; nothing of it is any one person's."""

    name: ClassVar[str] = "odd"
    needs_alignment: ClassVar[bool] = False
    depends: ClassVar[Depends | None] = "release"

    def measure(self, context: Context) -> Measurement:
        detail = {
            "whole": np.int64(3),
            "half": np.float32(0.5),
            "each": np.arange(2),
            "kinds": {"a"},
            "day": dt.date(2020, 2, 29),
        }
        return Measurement(self.name, 1.0, detail=detail, depends="release")


def test_what_is_told_becomes_plain_words(tmp_path: Path) -> None:
    release = sf.protect(people(), sf.method("mondrian", k=4), SEED, measures=[Odd()])
    release = replace(release, private=replace(release.private, secrets={"key": np.int64(7)}))
    written = json.loads((release.save(tmp_path / "out") / "evidence.json").read_text())
    assert written["measures"]["odd"]["detail"] == {
        "whole": 3,
        "half": 0.5,
        "each": [0, 1],
        "kinds": ["a"],
        "day": "2020-02-29",
    }
    assert json.loads((tmp_path / "out.private" / "keys.json").read_text()) == {"key": 7}


class Aligned(Odd):
    """Must know who is who, and does not ask."""

    needs_alignment: ClassVar[bool] = True


def test_a_measure_of_each_person_needs_to_know_who_is_who() -> None:
    nobody = Pair(people(), people(), None)
    assert Measuring(0).take(Odd(), nobody).value == 1.0
    assert Measuring(0).take(Aligned(), Pair.of(people(), people())).value == 1.0
    with pytest.raises(MeasureError):
        Measuring(0).take(Aligned(), nobody)


class Once(Odd):
    """Can be taken before writing, and not of what was written."""

    taken: ClassVar[list[float]] = []

    def measure(self, context: Context) -> Measurement:
        if self.taken:
            raise MeasureError("the file tells nothing")
        self.taken.append(1.0)
        return Measurement(self.name, 1.0)


def test_a_promise_that_cannot_be_counted_on_the_file_is_not_published(tmp_path: Path) -> None:
    require = [Requirement(Once(), at_most=1.0), Requirement(KAnonymity(k=4))]
    steps = sf.method("mondrian", k=4)
    release = sf.protect(people(), steps, SEED, require=require, measures=())
    with pytest.raises(MeasureError, match="the file tells nothing"):
        release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_owners_half_shows_nothing_of_itself(written: tuple[sf.Release, Path]) -> None:
    release, _ = written
    private = replace(release.private, input_rows=np.arange(40))
    assert repr(private) == "Private()"
    assert str(SEED) not in repr(release)


def test_findings_count_as_counted_again_only_on_what_was_written(
    written: tuple[sf.Release, Path],
) -> None:
    release, folder = written
    assert not release.evidence.recounted
    assert "Counted on the published file" in (folder / "report.html").read_text()


class Counted(Odd):
    """Says how often it was asked."""

    name: ClassVar[str] = "counted"
    asked: ClassVar[list[Pair]] = []

    def measure(self, context: Context) -> Measurement:
        self.asked.append(context.pair)
        return Measurement(self.name, 1.0)


def test_a_figure_that_is_required_is_measured_once_and_again_on_the_file(tmp_path: Path) -> None:
    Counted.asked.clear()
    release = sf.protect(
        people(),
        sf.method("mondrian", k=4),
        SEED,
        require=[Requirement(Counted(), at_most=1.0)],
        measures=[Counted()],
    )
    assert release.evidence["counted"].value == 1.0
    assert Counted.asked == [release.pair]
    release.save(tmp_path / "out")
    assert len(Counted.asked) == 2
    assert Counted.asked[1] is not release.pair
