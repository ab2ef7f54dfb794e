"""assess: by a key, by an order that rows speak for, or not at all; and its report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.data.generators import hospital
from sfumato.errors import OutputError

NAMES = ["sex", "birth_date", "zip", "sodium", "potassium"]
PANEL = ["record-linkage", "marginals"]


def _table(n: int = 400) -> sf.Table:
    frame = hospital(n, seed=7).frame.select(NAMES)
    return sf.table(frame, quasi=NAMES, kinds={"zip": "nominal"})


def test_a_shuffled_release_is_not_linked_by_position() -> None:
    table = _table()
    release = sf.protect(table, sf.method("mdav", k=5), seed=1)
    found = sf.assess(table, release.data, measures=PANEL)
    assert set(found) == {"marginals"}
    assert "shuffled" in found.not_taken["record-linkage"]
    assert "alignment.parquet" in found.not_taken["record-linkage"]
    assert any("nobody can tell" in note for note in found.notes)
    back = release.table.take(np.argsort(release.pair.rows))
    ordered = sf.assess(table, back, measures=PANEL)
    assert float(ordered["record-linkage"]) == float(release.evidence["record-linkage"])
    assert any("by position" in note for note in ordered.notes)


def test_asking_for_positions_that_do_not_fit_is_heard_and_warned_of() -> None:
    table = _table()
    release = sf.protect(table, sf.method("mdav", k=5), seed=1)
    found = sf.assess(table, release.data, align="position", measures=PANEL)
    assert float(found["record-linkage"]) < 0.5 * float(release.evidence["record-linkage"])
    assert any(note.startswith("warning") for note in found.notes)
    one = sf.measure("record-linkage", table, release.table)
    assert "not to be believed" in one.detail["warning"]
    assert "warning" not in sf.measure("marginals", table, release.table).detail
    assert "warning" not in sf.measure("record-linkage", table, table).detail
    with pytest.raises(sf.errors.MeasureError):
        sf.measure("record-linkage", table, release.table, align="auto")


def test_tables_of_different_length_need_a_key() -> None:
    table = _table()
    found = sf.assess(table, table.take(np.arange(300)), measures=PANEL)
    assert "differ in length" in found.not_taken["record-linkage"]
    keyed = hospital(400, seed=7)
    half = keyed.take(np.random.default_rng(0).permutation(400)[:200])
    linked = sf.assess(keyed, half, measures="record-linkage")
    assert any("'record_no'" in note for note in linked.notes)
    assert float(linked["record-linkage"]) == 0.5  # the other half was not released


def test_a_report_is_written_for_the_owner_alone(tmp_path: Path) -> None:
    table = _table(120)
    page = tmp_path / "assessment.html"
    sf.assess(table, table, output=page)
    text = page.read_text("utf-8")
    assert "Assessment of a release" in text
    assert "Keep private." in text
    assert "The plan has no steps" not in text
    assert os.stat(page).st_mode & 0o077 == 0
    with pytest.raises(OutputError, match="html"):
        sf.assess(table, table, measures="marginals", output=tmp_path / "assessment.pdf")
    with pytest.raises(OutputError, match="folder"):
        sf.assess(table, table, measures="marginals", output=tmp_path / "no" / "a.html")


def test_the_command_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = _table(200)
    sf.write(table, "o.csv")
    sf.write(table.take(np.random.default_rng(2).permutation(200)), "m.csv")
    words = ["assess", "o.csv", "m.csv", "--measures", ",".join(PANEL), "--output", "a.html"]
    with pytest.raises(SystemExit) as done:
        run([*words, "--json"])
    assert done.value.code == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said["measures"]) == ["marginals"]
    assert "record-linkage" in said["not_measured"]
    assert Path("a.html").is_file()
    with pytest.raises(SystemExit) as again:
        run(words)
    assert again.value.code == 4


def test_a_folder_of_a_release_tells_roles_and_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    register = hospital(300, seed=2)
    sf.write(register, "o.csv")
    steps = [sf.method("drop", columns=("name", "record_no")), sf.method("mondrian", k=5)]
    release = sf.protect(register, steps, seed=1)
    release.save("out", allow_guessable_seed=True)
    found = sf.assess("o.csv", "out")
    for name in ("record-linkage", "marginals", "ncp", "items-kept"):
        assert float(found[name]) == pytest.approx(float(release.evidence[name]), abs=1e-9), name
    evidence = Path("out/evidence.json")
    evidence.write_text(json.dumps({"columns": [{"name": "sex", "role": "?", "kind": "nominal"}]}))
    with pytest.raises(sf.errors.InputError, match="no role or kind"):
        sf.assess("o.csv", "out")
    evidence.write_text("{")
    with pytest.raises(sf.errors.InputError, match="cannot be read"):
        sf.assess("o.csv", "out")


def test_without_a_masked_table_the_original_is_measured_as_it_is() -> None:
    table = _table()
    found = sf.assess(table)
    assert "nothing is masked" in found.notes[0]
    assert "sse" not in found
    assert float(found["uniques"]) == float(sf.measure("uniques", table))
    # Sex alone is shared by many.
    assert float(sf.measure("uniques", table.frame.select("sex"))) == 0.0
    whole = sf.assess(table, household="zip", measures="uniques")  # which leaves the keys
    assert whole["uniques"].detail["quasi_identifiers"] == [n for n in NAMES if n != "zip"]
