"""Releases side by side: by their folders, by their original, in Python and by the command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.data.generators import hospital
from sfumato.errors import InputError, OutputError, ParameterError
from sfumato.explore.compare import Comparison

NAMES = ["sex", "birth_date", "zip", "sodium", "potassium"]


def _table() -> sf.Table:
    frame = hospital(300, seed=8).frame.select(NAMES)
    return sf.table(frame, quasi=NAMES[:3], confidential=NAMES[3:], kinds={"zip": "nominal"})


def _releases(table: sf.Table) -> tuple[sf.Release, sf.Release]:
    fine = sf.protect(table, sf.method("mondrian", k=3), require={"k-anonymity": 3}, seed=1)
    steps = [sf.method("drop", columns=("sodium",)), sf.method("mdav", k=20)]
    return fine, sf.protect(table, steps, require={"k-anonymity": 20}, seed=1)


def _values(found: Comparison, name: str) -> tuple[float | str | None, ...]:
    return next(line.values for line in found.lines if line.name == name)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[sf.Release, sf.Release]:
    """An original and two releases on disk."""
    monkeypatch.chdir(tmp_path)
    table = _table()
    sf.write(table, "original.csv")
    made = _releases(table)
    for release, name in zip(made, ("fine", "coarse"), strict=True):
        release.save(name, allow_guessable_seed=True)
    return made


def test_by_the_figures_that_the_private_twins_keep(
    folders: tuple[sf.Release, sf.Release],
) -> None:
    found = sf.compare("fine", "coarse")
    assert found.names == ("fine", "coarse")
    assert _values(found, "records") == (300, 300)
    assert _values(found, "columns") == (5, 4)
    fine, coarse = _values(found, "k-anonymity")
    assert str(fine).endswith(">= 3")
    assert str(coarse).endswith(">= 20")
    linkage = tuple(float(release.evidence["record-linkage"]) for release in folders)
    assert _values(found, "record-linkage") == pytest.approx(linkage)
    assert any("different columns" in note for note in found.notes)
    only = sf.compare("fine", "coarse", measures="uniques")
    assert {line.name for line in only.lines if line.about == "risk"} == {"uniques"}


def test_by_the_original_all_are_measured_on_the_same_columns(
    folders: tuple[sf.Release, sf.Release],
) -> None:
    found = sf.compare("fine", "coarse", original="original.csv")
    words = {"columns": tuple(NAMES), "unpublished": "suppressed"}
    losses = tuple(float(release.measure("marginals", **words)) for release in folders)
    assert _values(found, "marginals") == pytest.approx(losses, abs=1e-9)
    assert losses[0] < losses[1]
    linkage = tuple(float(release.evidence["record-linkage"]) for release in folders)
    assert _values(found, "record-linkage") == pytest.approx(linkage, abs=1e-9)
    assert str(_values(found, "k-anonymity")[0]).endswith(">= 3")
    held = sf.compare(*folders)
    assert held.names == ("release 1", "release 2")
    assert _values(held, "marginals") == pytest.approx(losses, abs=1e-9)
    # Nobody knows who became which record in a file of another tool's.
    shutil.copy("fine/data.csv", "other.csv")
    mixed = sf.compare(
        "other.csv", "coarse", original="original.csv", plan="coarse.private/plan.toml"
    )
    assert _values(mixed, "record-linkage")[0] is None
    assert any("other.csv: nobody can tell" in note for note in mixed.notes)


def test_what_cannot_be_compared_says_why(folders: tuple[sf.Release, sf.Release]) -> None:
    with pytest.raises(ParameterError, match="nothing to compare"):
        sf.compare("fine")
    shutil.rmtree("fine.private")
    with pytest.raises(InputError, match="no private twin") as caught:
        sf.compare("fine", "coarse")
    assert "--original" in caught.value.remedy
    # Its evidence tells the roles, and the rows were shuffled.
    found = sf.compare("fine", "coarse", original="original.csv")
    assert _values(found, "record-linkage")[0] is None
    with pytest.raises(ParameterError, match="is a table"):
        sf.compare(_table(), "coarse")
    with pytest.raises(ParameterError, match="a file and the other a table"):
        sf.compare("fine", "coarse", original=_table())
    with pytest.raises(InputError, match="there is no release"):
        sf.compare("fine", "nowhere", original="original.csv")
    with pytest.raises(OutputError, match="html"):
        sf.compare("coarse", "coarse", output="x.svg")
    Path("coarse.private/figures.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        sf.compare("coarse", "coarse")


def test_tables_of_any_tool(folders: tuple[sf.Release, sf.Release]) -> None:
    table = _table()
    found = sf.compare(folders[0].table, table, original=table)
    losses = _values(found, "marginals")
    assert losses[1] == 0.0
    assert isinstance(losses[0], float)
    assert losses[0] > 0
    assert _values(found, "record-linkage")[0] is None


def test_the_command_prints_and_writes(
    folders: tuple[sf.Release, sf.Release], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "fine", "coarse", "--original", "original.csv", "--output", "both.html"]
    with pytest.raises(SystemExit) as done:
        run(words)
    assert done.value.code == 0
    told = capsys.readouterr().out
    assert "marginals" in told
    assert "k-anonymity" in told
    page = Path("both.html").read_text("utf-8")
    assert "Releases side by side" in page
    assert "Keep private." in page
    with pytest.raises(SystemExit) as again:
        run(words)
    assert again.value.code == 4
    capsys.readouterr()
    with pytest.raises(SystemExit):
        run([*words, "--json", "--replace"])
    said = json.loads(capsys.readouterr().out)
    assert said["releases"] == ["fine", "coarse"]
    losses = next(one for one in said["figures"] if one["figure"] == "marginals")
    assert losses["better"] == "lower"
    assert losses["values"]["fine"] < losses["values"]["coarse"]
