"""What would be published though it hardly protects is said, and must be accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.studio.desk import Desk
from sfumato.studio.rooms import doubtful, protect, publish
from tests.studio.here import PLAN, at_once, desk, do, page, people

OPEN = """
[input]
path = "people.csv"

[columns]
id = "identifier"
age = "insensitive"
sex = "insensitive"
disease = "insensitive"

[[steps]]
use = "drop"

[require]
exposure = false

[output]
path = "out"
"""
SAID = "does not protect as releases usually do"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    people(tmp_path)
    at_once(monkeypatch)
    return tmp_path


def said(at: Desk) -> str:
    return " ".join(doubtful.doubts(at, at.current("protect")))


def test_a_plan_that_protects_raises_no_doubt(folder: Path) -> None:
    at = desk(folder, PLAN)
    do(protect.ROOM, "run", at)
    assert said(at) == ""
    assert "before you publish" not in page(protect.ROOM, at)
    assert SAID not in page(publish.ROOM, at)
    do(publish.ROOM, "write", at)
    assert (folder / "out" / "data.csv").exists()


def test_a_release_without_the_exposure_check_is_accepted_first(folder: Path) -> None:
    at = desk(folder, OPEN)
    do(protect.ROOM, "run", at)
    assert "switched off" in said(at)
    assert "Three columns find" in said(at)
    assert "No column is said to be known" in said(at)
    assert "before you publish" in page(protect.ROOM, at)
    shown = page(publish.ROOM, at)
    assert SAID in shown
    assert 'id="doubtful"' in shown
    with pytest.raises(InputError, match="does not protect"):
        do(publish.ROOM, "write", at)
    assert not (folder / "out").exists()
    do(publish.ROOM, "write", at, doubtful="yes")
    assert (folder / "out" / "data.csv").exists()


def test_a_wide_limit_is_doubted_where_people_are_found(folder: Path) -> None:
    wide = OPEN.replace("exposure = false", "exposure = { at-most = 1.0 }")
    at = desk(folder, wide)
    assert "100" in said(at)  # before a trial the limit itself is doubted
    do(protect.ROOM, "run", at)
    job = at.current("protect")
    assert job is not None
    assert job.state == "done", job.error
    assert "are found by three columns" in said(at)
    shown = page(protect.ROOM, at)
    assert "✓" not in shown[shown.index("before you publish") : shown.index("publish it")]


def test_a_wide_limit_that_nobody_needs_is_not_doubted(folder: Path) -> None:
    at = desk(folder, PLAN.replace("[require]", "[require]\nexposure = 0.9"))
    do(protect.ROOM, "run", at)
    assert said(at) == ""


@pytest.mark.parametrize(("k", "words"), [(1, "nobody is hidden"), (2, "of the two"), (3, "")])
@pytest.mark.parametrize("form", ["{}", "{{ k = {} }}"])
def test_groups_of_two_hide_nobody(k: int, words: str, form: str, folder: Path) -> None:
    at = desk(folder, PLAN.replace("k-anonymity = 5", f"k-anonymity = {form.format(k)}"))
    assert words in said(at)
    assert bool(said(at)) == bool(words)


def test_the_largest_group_that_is_asked_for_counts(folder: Path) -> None:
    both = "[[require.k-anonymity]]\nk = 2\n\n[[require.k-anonymity]]\nk = 5\n"
    assert said(desk(folder, PLAN.replace("[require]\nk-anonymity = 5  # by law\n", both))) == ""
