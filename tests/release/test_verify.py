"""A release checked by its public folder alone."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import InputError
from sfumato.release.verify import BROKEN, HOLDS, NOT_CHECKED, Verified, verify

SEED = 2**90 + 5
PROMISES = {
    "k-anonymity": 3,
    "l-diversity": {"column": "ill", "at-least": 2},
    "t-closeness": {"column": "ill", "at-most": 0.9, "distance": "equal"},
}
FORMATS = (
    *("csv", "tsv", "parquet", "parts", "arrow", "duckdb", "sqlite"),
    *("xlsx", "ods", "sav", "dta", "xpt"),
)


def _people() -> sf.Table:
    rng = np.random.default_rng(1)
    ages, sexes = np.repeat(np.arange(20, 40), 6), rng.choice(["f", "m"], 120)
    return sf.table(
        {"age": ages, "sex": sexes, "ill": np.tile(["flu", "gout", "cold"], 40)},
        quasi=["age", "sex"],
        confidential=["ill"],
    )


def _saved(folder: Path, format: str = "csv", **more: Any) -> Path:
    text = f'[[steps]]\nuse = "mondrian"\nk = 3\n[output]\nformat = "{format}"\n'
    plan = sf.Plan.parse(text)
    release = sf.protect(_people(), plan, SEED, require=PROMISES, measures=(), **more)
    return release.save(folder)


def _states(found: Verified) -> dict[str, set[str]]:
    told: dict[str, set[str]] = {}
    for one in found.checks:
        told.setdefault(one.about, set()).add(one.state)
    return told


def _redigested(folder: Path) -> None:
    """The evidence as if these had been its files all along."""
    evidence = folder / "evidence.json"
    told = json.loads(evidence.read_text())
    told["sha256"] = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path != evidence
    }
    evidence.write_text(json.dumps(told))


@pytest.mark.parametrize("format", FORMATS)
def test_a_release_holds_in_every_format(tmp_path: Path, format: str) -> None:
    found = verify(_saved(tmp_path / "out", format))
    assert found.holds, found.broken
    data = "data/part-00000.parquet" if format == "parts" else f"data.{format}"
    states = _states(found)
    assert states[data] >= {HOLDS}
    assert states["report.html"] == {HOLDS}
    for promise in ("k-anonymity", "l-diversity of ill", "t-closeness of ill"):
        assert states[promise] == {HOLDS}, found.checks


def test_digests_are_over_public_bytes_alone(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "out")
    told = json.loads((folder / "evidence.json").read_text())["sha256"]
    assert told == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("data.csv", "report.html")
    }


@pytest.mark.parametrize("name", ["data.csv", "report.html"])
@given(data=st.data())
def test_any_byte_that_changes_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp() / "bytes"
    if not folder.exists():
        _saved(folder)
    whole = (folder / name).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != whole[at]))
    try:
        (folder / name).write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
        assert name in {one.about for one in verify(folder).broken}
    finally:
        (folder / name).write_bytes(whole)
    assert verify(folder).holds


@pytest.mark.parametrize("format", ["csv", "parquet", "parts", "xlsx"])
def test_a_cell_that_breaks_k_is_counted_though_the_digest_fits(
    tmp_path: Path, format: str
) -> None:
    folder = _saved(tmp_path / "out", format)
    file = folder / ("data/part-00000.parquet" if format == "parts" else f"data.{format}")
    frame = {
        "csv": lambda: pl.read_csv(file, infer_schema=False),
        "xlsx": lambda: pl.read_excel(file),
    }.get(format, lambda: pl.read_parquet(file))()
    first = pl.int_range(pl.len()) == 0
    changed = frame.with_columns(
        pl.when(first)
        .then(pl.lit("somebody"))
        .otherwise(pl.col("age").cast(pl.String))
        .alias("age")
    )
    writers: dict[str, Callable[[Path], Any]] = {
        "csv": changed.write_csv,
        "xlsx": lambda path: sf.write(sf.table(changed), path, replace=True),
    }
    writers.get(format, changed.write_parquet)(file)
    _redigested(folder)
    found = verify(folder)
    assert {one.about for one in found.broken} == {"k-anonymity", "l-diversity of ill"}
    assert "1 in the data, at least 3 promised" in {one.said for one in found.broken}


def test_records_and_columns_are_those_of_the_evidence(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "out")
    frame = pl.read_csv(folder / "data.csv", infer_schema=False)
    pl.concat([frame, frame]).write_csv(folder / "data.csv")
    _redigested(folder)
    (broken,) = verify(folder).broken
    assert broken.said == "240 records, and 120 by the evidence"
    frame.with_columns(who=pl.lit("x")).write_csv(folder / "data.csv")
    told = json.loads((folder / "evidence.json").read_text())
    hidden = {"name": "who", "role": "identifier", "kind": "nominal", "published": False}
    told["columns"].append(hidden)
    (folder / "evidence.json").write_text(json.dumps(told))
    _redigested(folder)
    (broken,) = verify(folder).broken
    assert "'who', which was not published" in broken.said


def test_a_part_that_is_gone_and_a_file_too_many(tmp_path: Path) -> None:
    source = tmp_path / "people.parquet"
    _people().frame.write_parquet(source)
    plan = sf.Plan.parse(
        '[engine]\nuse = "duckdb"\n[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "quasi"\n'
        '[columns.ill]\nrole = "confidential"\n[[steps]]\nuse = "mondrian"\nk = 3\n'
        '[output]\nformat = "parts"\n[require.k-anonymity]\nk = 3\n'
    )
    folder = tmp_path / "out"
    sf.protect(source, plan, SEED, output=folder, measures=())
    assert verify(folder).holds
    part = next((folder / "data").iterdir())
    copy = part.with_name("part-00077.parquet")
    shutil.copy(part, copy)
    assert {one.about for one in verify(folder).broken} == {f"data/{copy.name}", "data"}
    part.rename(copy)
    found = {one.about: one.said for one in verify(folder).broken}
    assert found[f"data/{part.name}"] == "it is missing"
    assert found[f"data/{copy.name}"] == "it is no part of the release"
    shutil.rmtree(folder / "data")
    assert f"data/{part.name}" in {one.about for one in verify(folder).broken}


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "data/x.parquet", "empty/", "link"])
def test_whatever_else_lies_there_is_named(tmp_path: Path, name: str) -> None:
    folder = _saved(tmp_path / "out")
    more = folder / name
    if name == "link":
        more.symlink_to(folder / "data.csv")
    elif name.endswith("/"):
        more.mkdir()
    else:
        more.parent.mkdir(exist_ok=True)
        more.write_text("x")
    assert name.rstrip("/") in {one.about for one in verify(folder).broken}


def test_the_evidence_cannot_point_outside_nor_leave_files_out(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "out")
    evidence = folder / "evidence.json"
    whole = json.loads(evidence.read_text())
    secret = tmp_path / "secret"
    secret.write_text("x")
    outside = {"../secret": hashlib.sha256(b"x").hexdigest()}
    evidence.write_text(json.dumps({**whole, "sha256": {**whole["sha256"], **outside}}))
    assert [one.about for one in verify(folder).broken] == ["../secret"]
    without = {"data.csv": whole["sha256"]["data.csv"]}
    evidence.write_text(json.dumps({**whole, "sha256": without}))
    assert "report.html" in {one.about for one in verify(folder).broken}
    evidence.write_text(json.dumps({**whole, "sha256": {}}))
    assert {"report.html", "data", "data.csv"} <= {one.about for one in verify(folder).broken}


def test_a_release_of_before_has_no_digests_and_is_counted_all_the_same(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "out")
    evidence = folder / "evidence.json"
    told = json.loads(evidence.read_text())
    del told["sha256"]
    evidence.write_text(json.dumps(told))
    found = verify(folder)
    assert found.holds
    assert [(one.about, one.said) for one in found.not_checked] == [
        ("files", "the release was made before releases had digests")
    ]
    (folder / "more.txt").write_text("x")
    (folder / "data.csv").write_bytes(b"\xff\xfe\x00")
    assert {one.about for one in verify(folder).broken} >= {"more.txt", "data.csv"}


def test_several_copies_are_each_counted(tmp_path: Path) -> None:
    people = sf.table(
        {"age": np.repeat([1, 5], 20), "pay": np.linspace(1.0, 8.0, 40)},
        quasi=["age"],
        confidential=["pay"],
    )
    step = sf.method("multiple-imputation", columns=["pay"], m=2)
    require = {"k-anonymity": 3}
    release = sf.protect(people, step, SEED, require=require, measures=())
    folder = release.save(tmp_path / "out")
    found = verify(folder)
    assert found.holds
    assert {"data-1.csv", "data-2.csv"} <= _states(found).keys()
    assert sum(one.about == "k-anonymity" for one in found.checks) == 2
    text = (folder / "data-2.csv").read_text().splitlines()
    (folder / "data-2.csv").write_text("\n".join([text[0], "7,1.0", *text[2:]]) + "\n")
    _redigested(folder)
    assert [one.about for one in verify(folder).broken] == ["k-anonymity"]


def test_people_who_have_several_records_are_not_public(tmp_path: Path) -> None:
    people = sf.table(
        {"who": [i // 2 for i in range(40)], "age": [1] * 20 + [2] * 20},
        quasi=["age"], identifier=["who"],
    )  # fmt: skip
    plan = sf.Plan.parse('[[steps]]\nuse = "mondrian"\nk = 10\n')
    release = sf.protect(people, plan, SEED, require={"k-anonymity": 5}, measures=())
    folder = release.save(tmp_path / "out")
    (one,) = (c for c in verify(folder).checks if c.about == "k-anonymity")
    assert one.state == NOT_CHECKED
    assert "whose they are is not public" in one.said
    # Fewer records than people cannot be.
    text = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join([text[0], "7", *text[2:]]) + "\n")
    _redigested(folder)
    assert "k-anonymity" in {one.about for one in verify(folder).broken}


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_tables_of_cells(tmp_path: Path, format: str) -> None:
    rng = np.random.default_rng(2)
    people = {"age": rng.choice(list("abcd"), 30), "sex": rng.choice(["f", "m"], 30)}
    cells = sf.tabulate(sf.table(people), ["age", "sex"], seed=1)
    rule = sf.method("minimum-frequency", minimum=4)
    release = sf.protect(cells, "optimal-suppression", SEED, rules=[rule])
    output = release.plan.output.model_copy(update={"format": format})
    folder = replace(release, plan=release.plan.with_(output=output)).save(tmp_path / "out")
    found = verify(folder)
    assert found.holds, found.broken
    assert {one.about for one in found.not_checked} == {"audit", "sensitive-cells"}
    if format != "csv":
        return
    frame = pl.read_csv(folder / "data.csv")
    assert (frame["status"] == "suppressed").any()
    measure = json.loads((folder / "evidence.json").read_text())["table"]["measure"]
    frame.with_columns(pl.col(measure).fill_null(1)).write_csv(folder / "data.csv")
    _redigested(folder)
    (broken,) = verify(folder).broken
    assert "suppressed cells hold a number" in broken.said
    frame.with_columns(status=pl.lit("published")).write_csv(folder / "data.csv")
    _redigested(folder)
    assert any("suppressed" in one.said for one in verify(folder).broken)


def test_what_is_no_release(tmp_path: Path) -> None:
    for made in ("{", "[]", "{}", json.dumps({"sfumato": "1", "records": 7})):
        (tmp_path / "evidence.json").write_text(made)
        (tmp_path / "data.csv").write_text("a\n1\n")
        (tmp_path / "report.html").write_text("")
        with pytest.raises(InputError):
            verify(tmp_path)
    with pytest.raises(InputError, match="no release"):
        verify(tmp_path / "nothing")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def command(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            run(["verify", *words])
        return int(ended.value.code or 0), capsys.readouterr().out

    folder = _saved(tmp_path / "out")
    code, said = command(str(folder))
    assert code == 0
    assert "k-anonymity: 3 in the data, at least 3 promised" in said
    assert hashlib.sha256((folder / "evidence.json").read_bytes()).hexdigest() in said
    (folder / "report.html").write_text("")
    code, said = command(str(folder))
    assert code == 3
    assert "BROKEN       report.html: its bytes are not those" in said
    code, said = command(str(folder), "--json")
    told = json.loads(said)
    assert code == 3
    assert not told["holds"]
    assert [c["about"] for c in told["checks"] if c["state"] == BROKEN] == ["report.html"]
    assert command(str(tmp_path))[0] == 2


def _cheated(folder: Path, change: Callable[[dict[str, Any]], None], data: str = "") -> Verified:
    """A publisher's evidence that fits what he did to the data."""
    evidence = folder / "evidence.json"
    told = json.loads(evidence.read_text())
    if data:
        (folder / "data.csv").write_text(data)
        told["sha256"]["data.csv"] = hashlib.sha256(data.encode()).hexdigest()
    change(told)
    evidence.write_text(json.dumps(told))
    return verify(folder)


def test_a_publisher_does_not_turn_a_promise_about(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "out")

    def turned(told: dict[str, Any]) -> None:
        for one in told["requirements"]:
            one["at_least"], one["limit"] = not one["at_least"], 10**6

    assert "k-anonymity" in {one.about for one in _cheated(folder, turned).broken}


@pytest.mark.parametrize("name", ["name", "Name", "age"])
def test_a_publisher_adds_no_column(tmp_path: Path, name: str) -> None:
    folder = _saved(tmp_path / "out")
    lines = (folder / "data.csv").read_text().splitlines()
    more = [f"{lines[0]},{name}", *(f"{line},p{i}" for i, line in enumerate(lines[1:]))]
    assert _cheated(folder, lambda told: None, "\n".join(more) + "\n").broken


def test_a_publisher_adds_no_file_and_claims_no_table(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "out")
    (folder / "persons.csv").write_text("x")
    digest = hashlib.sha256(b"x").hexdigest()
    found = _cheated(folder, lambda told: told["sha256"].update({"persons.csv": digest}))
    assert "persons.csv" in {one.about for one in found.broken}
    table = {"database": "postgresql://db/x", "name": "t", "sha256": "0"}
    found = _cheated(folder, lambda told: told.update(table=table))
    assert "data" in {one.about for one in found.broken}


def test_a_name_forges_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _saved(tmp_path / "out")
    (folder / "x\x1b[2J\nout holds").write_text("x")
    with pytest.raises(SystemExit) as ended:
        run(["verify", str(folder)])
    assert ended.value.code == 3
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert not any(line.startswith("out holds") for line in said.splitlines())
