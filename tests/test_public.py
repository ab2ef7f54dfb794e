"""What is public, and what was: every name leads somewhere."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato import registry, things
from sfumato.cli.reference import stubs

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("file", ["__init__.pyi", "things.pyi"])
def test_editors_see_what_there_is(file: str) -> None:
    kept = (Path(sf.__path__[0]) / file).read_text("utf-8")
    assert kept == stubs()[file], "run `make docs`"


def test_every_public_name_is_there_and_written_down() -> None:
    page = (ROOT / "docs" / "reference" / "public.md").read_text("utf-8")
    written = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert [name for name, _ in written] == sf.__all__
    for name, meaning in written:
        assert getattr(sf, name) is not None
        assert len(meaning) > 10


def test_specialists_names_are_in_their_rooms() -> None:
    for module, names in sf._ROOMS.items():
        for name in names.split():
            assert getattr(importlib.import_module(f"sfumato.{module}"), name)
            with pytest.raises(AttributeError, match=f"from sfumato.{module} import {name}"):
                getattr(sf, name)


@pytest.mark.parametrize("name", list(sf._RENAMED))
def test_a_name_that_went_says_the_new_one(name: str) -> None:
    assert name not in sf.__all__
    with pytest.raises(AttributeError, match=rf"sf\.{name} is now (sf|release)\."):
        getattr(sf, name)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = sf.nosuch  # type: ignore[attr-defined]


def test_every_registered_class_is_in_one_place_and_made_by_name() -> None:
    built_in = [e for e in registry.entries() if e.target.startswith("sfumato.")]
    assert len(built_in) > 200
    for entry in built_in:
        cls = getattr(things, entry.target.rpartition(":")[2])
        assert cls is entry.load()
        made = sf.method(entry.name, **dict(cls.example))
        assert type(made) is cls
    with pytest.raises(AttributeError, match="Mdavv"):
        _ = things.Mdavv  # type: ignore[attr-defined]


def test_one_assess_for_tables_and_files(tmp_path: Path) -> None:
    before = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]})
    after = pl.DataFrame({"x": [1.5, 1.5, 3.5, 3.5], "y": ["a", "b", "a", "b"]})
    before.write_csv(tmp_path / "before.csv")
    after.write_csv(tmp_path / "after.csv")
    words = {"quasi": ["x"], "confidential": ["y"], "measures": ["sse", "record-linkage"]}
    # Four records are too few to tell which became which.
    assert not set(sf.assess(before, after, **words))
    words["align"] = "position"
    held = sf.assess(before, after, **words)
    read = sf.assess(tmp_path / "before.csv", tmp_path / "after.csv", **words)
    assert float(held["sse"]) == float(read["sse"]) == pytest.approx(20.0)
    assert float(held["record-linkage"]) == float(read["record-linkage"])
    assert set(held.measurements) == {"sse", "record-linkage"}


def test_dir_shows_public_names_alone() -> None:
    assert {name for name in dir(sf) if not name.startswith("__")} == set(sf.__all__)


def _people() -> sf.Table:
    frame = {"x": [1.0, 2.0, 9.0, 10.0], "g": ["a", "a", "b", "b"]}
    return sf.table(frame, quasi=["x"], others="insensitive")


def test_assess_reads_every_file_and_hears_every_word(tmp_path: Path) -> None:
    people = _people()
    names = [tmp_path / "before.csv", tmp_path / "after.csv"]
    for name in names:
        people.frame.write_csv(name)
    words = {"quasi": "x", "measures": "journalist-risk"}
    read = [sf.assess(*names, reference=one, **words) for one in (names[0], str(names[0]))]
    assert float(read[0]["journalist-risk"]) == float(read[1]["journalist-risk"]) == 0.5
    plan = sf.Plan.parse('[columns]\nx = { role = "quasi" }\n[measures]\nuniques = {}\n')
    assert list(sf.assess(*names, plan=plan).measurements) == ["uniques"]
    assert any("nobody can tell" in note for note in sf.assess(people, people).notes)
    assert not sf.assess(people, people, align="position").notes
    with pytest.raises(sf.errors.ParameterError, match="two files, or two tables"):
        sf.assess(people, names[1])
    with pytest.raises(sf.errors.ParameterError, match="two files, or two tables"):
        sf.assess(names[0], people)
    release = sf.protect(people, sf.method("mdav", k=2), seed=1)
    release.save(tmp_path / "release", allow_guessable_seed=True)
    found = sf.assess(names[0], tmp_path / "release", **words)
    assert any("aligned by" in note for note in found.notes)
    with pytest.raises(sf.errors.ParameterError, match=r"release\.evidence"):
        sf.assess(people, release)


def test_audit_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    cells = sf.tabulate(_people(), ["g"], "x")
    rule = sf.method("dominance", n=1, k=90)
    release = sf.protect(cells, rules=[rule], seed=1)
    assert repr(cells) == "CellTable(3 cells of x; dimensions: g)"
    assert repr(release) == "TableRelease(3 cells of x, 0 hidden)"
    release.save(tmp_path / "out", allow_guessable_seed=True)
    for given in (release, tmp_path / "out", str(tmp_path / "out")):
        assert sf.audit(given).safe
        assert sf.audit(given, None, []).safe
        with pytest.raises(sf.errors.ParameterError, match="it takes no rules"):
            sf.audit(given, rules=[rule])
        with pytest.raises(sf.errors.ParameterError, match="it takes no hidden, no rules"):
            sf.audit(given, release.outcome.hidden, [rule])
    with pytest.raises(sf.errors.ParameterError, match="it takes no narrow"):
        sf.audit(release, narrow=0.2)
    for rules in (rule, "stated", ["stated"], [rule]):
        assert sf.audit(cells, rules=rules).safe
        assert sf.protect(cells, rules=rules).audit.safe
    with pytest.raises(sf.errors.ParameterError, match="a Mdav is not a rule"):
        sf.audit(cells, rules=[sf.method("mdav")])


def test_protect_says_what_is_for_records_and_what_for_cells(tmp_path: Path) -> None:
    people = _people()
    text = '[table]\ndimensions = ["g"]\nvalue = "x"\nrules = ["p-percent"]\n'
    (tmp_path / "table.toml").write_text(text)
    for plan in (tmp_path / "table.toml", str(tmp_path / "table.toml"), sf.Plan.parse(text)):
        with pytest.raises(sf.errors.ParameterError, match=r"makes a table .*sf\.tabulate"):
            sf.protect(people, plan)
    with pytest.raises(sf.errors.ParameterError, match=r"hypercube protects cells"):
        sf.protect(people, sf.method("hypercube"))
    with pytest.raises(sf.errors.ParameterError, match=r"rules are for tables of cells"):
        sf.protect(people, sf.method("mdav", k=2), rules=[sf.method("p-percent")])
    with pytest.raises(sf.errors.ParameterError, match=r'sf\.method\("mdav", \.\.\.\)'):
        sf.protect(people, "mdav")
    with pytest.raises(sf.errors.ParameterError, match="nothing says how"):
        sf.protect(people)
    assert sf.step("mdav", then="generalize") == sf.step(sf.method("mdav"), then="generalize")
    with pytest.raises(sf.errors.ParameterError, match="not a step"):
        sf.step(sf.method("p-percent"))  # type: ignore[arg-type]
