"""A release in every format: written, counted again on its bytes, and read by others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.io.source import WRITTEN
from sfumato.data.linkage.earlier import read_published
from sfumato.release.plan.plan import Plan

PLAN = """
[[steps]]
use = "drop"
[[steps]]
use = "mondrian"
k = 4
[[steps]]
use = "local-suppression"
k = 4
[require]
k-anonymity = 4
[output]
format = "{}"
shuffle = false
"""


@pytest.fixture(scope="module")
def register() -> sf.Table:
    found = sf.generators.hospital(120, seed=3)
    roles = {
        "identifier": [n for n in found.names if found.schema[n].role == "identifier"],
        "quasi": ["birth_date", "sex", "zip"],
        "confidential": ["diagnoses"],
    }
    kept = [*roles["identifier"], "birth_date", "sex", "zip", "diagnoses"]
    return sf.table(found.frame.select(kept), **roles)


@pytest.mark.parametrize("format", WRITTEN)
def test_promises_are_counted_on_the_bytes_of_every_format(
    format: str, register: sf.Table, tmp_path: Path
) -> None:
    if format in ("sav", "dta", "xpt"):
        pytest.importorskip("pyreadstat")
    release = sf.protect(register, Plan.parse(PLAN.format(format)), seed=1)
    folder = release.save(tmp_path / "release", allow_guessable_seed=True)
    assert (folder / f"data.{format}").is_file()
    evidence = json.loads((folder / "evidence.json").read_text())
    finding = evidence["requirements"][0]
    assert finding["met"]
    if format not in ("duckdb", "sqlite"):
        published = read_published(folder)
        assert published.names == release.table.names
        assert published.height == 120
        for name in ("birth_date", "zip"):
            assert published[name].to_list() == release.table[name].to_list()
    release.save(
        tmp_path / "release", replace=True, allow_guessable_seed=True
    )  # known as a release


def test_a_release_whose_names_look_like_values_keeps_its_header(tmp_path: Path) -> None:
    people = sf.table({"west": ["west", "east"] * 10, "f": ["f", "m"] * 10}, quasi=["west", "f"])
    plan = '[[steps]]\nuse = "mondrian"\nk = 5\n[require]\nk-anonymity = 5\n'
    folder = sf.protect(people, Plan.parse(plan), seed=1).save(
        tmp_path / "release", allow_guessable_seed=True
    )
    assert read_published(folder).names == ["west", "f"]
    assert read_published(folder).height == 20


def test_labels_go_through_a_release(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    import polars as pl

    rows = 40
    frame = pl.DataFrame(
        {
            "sex": [float(i % 2 + 1) for i in range(rows)],
            "age": [float(20 + i) for i in range(rows)],
            "mood": [float(i % 3 + 1) for i in range(rows)],
        }
    )
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels={"sex": "Sex of the respondent", "mood": "How do you feel?"},
        variable_value_labels={
            "sex": {1.0: "male", 2.0: "female"},
            "mood": {1.0: "bad", 2.0: "fair", 3.0: "good", 4.0: "never seen"},
        },
    )
    table = sf.read(path, quasi=["sex", "age"], confidential=["mood"])
    plan = (
        '[[steps]]\nuse = "mondrian"\nk = 5\n[require]\nk-anonymity = 5\n[output]\nformat = "sav"\n'
    )
    folder = sf.protect(table, Plan.parse(plan), seed=1).save(
        tmp_path / "release", allow_guessable_seed=True
    )
    found, meta = pyreadstat.read_sav(str(folder / "data.sav"), output_format="polars")
    assert meta.variable_value_labels["mood"] == {1.0: "bad", 2.0: "fair", 3.0: "good"}
    assert meta.column_names_to_labels["mood"] == "How do you feel?"
    assert sorted(found["mood"].to_list()) == sorted(frame["mood"].to_list())
    assert found["age"][0].startswith("[")
    assert b"never seen" not in (folder / "data.sav").read_bytes()
    report = (folder / "report.html").read_text()
    assert "How do you feel?" in report
    assert "never seen" not in report


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_statistics_are_recovered_from_every_kind_of_file(format: str, tmp_path: Path) -> None:
    people = sf.table(
        {"x": [float(i) for i in range(50)], "g": ["a", "b"] * 25},
        quasi=["x"],
        others="insensitive",
    )
    plan = f'[[steps]]\nuse = "noise"\namount = 0.1\n[output]\nformat = "{format}"\n'
    folder = sf.protect(people, Plan.parse(plan), seed=1).save(
        tmp_path / "release", allow_guessable_seed=True
    )
    assert "x" in str(sf.recover(folder))
