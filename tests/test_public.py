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
    held = sf.assess(before, after, **words)
    read = sf.assess(tmp_path / "before.csv", tmp_path / "after.csv", **words)
    assert float(held["sse"]) == float(read["sse"]) == pytest.approx(20.0)
    assert float(held["record-linkage"]) == float(read["record-linkage"])
    assert set(held.measurements) == {"sse", "record-linkage"}
    assert any("row i" in note for note in read.notes)
