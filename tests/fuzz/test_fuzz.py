"""The fuzzer finds what is planted, and what it once found stays mended."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from tests.fuzz.__main__ import summary
from tests.fuzz.cases import STEPS, case
from tests.fuzz.recount import recount
from tests.fuzz.running import leaks, outcome, protect
from tests.fuzz.soak import PLAN, Soak

CORPUS = Path(__file__).parent / "corpus" / "cases.tsv"
PARTS = 4


def corpus() -> list[tuple[str, int, int, str]]:
    with CORPUS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [(row["mode"], int(row["seed"]), int(row["case"]), row["outcome"]) for row in rows]


@pytest.mark.parametrize(("mode", "seed", "number", "kind"), corpus())
def test_cases_of_the_corpus_end_as_they_did(mode: str, seed: int, number: int, kind: str) -> None:
    found = outcome(case(seed, number, cycle=mode == "property"))
    assert found.kind == kind, found


@pytest.mark.parametrize("part", range(PARTS))
def test_every_method_keeps_its_word_on_a_random_table(part: int) -> None:
    found = [outcome(case(2, n, cycle=True)) for n in range(part, len(STEPS), PARTS)]
    faults = [str(one) for one in found if one.kind == "fault"]
    assert not faults, "\n".join(faults)
    released = sum(one.kind == "released" for one in found)
    assert released > 0.6 * len(found), summary(found)


def test_a_case_is_made_by_its_number_alone() -> None:
    first, again, other = case(1, 7), case(1, 7), case(1, 8)
    assert first.text() == again.text()
    assert first.people.frame.equals(again.people.frame)
    assert first.text() != other.text()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with two releases of the same people, with k of 2 and of 3."""
    soak = Soak(tmp_path, 1, fills=False)
    for name, k in (("other", 2), ("out", 3)):
        step = f'use = "mondrian"\nk = {k}'
        text = PLAN.format(step=step, k=k, format="csv", engine="local")
        plan = soak.work / f"{name}.toml"
        plan.write_text(text.replace('"out"', f'"{name}"'))
        assert protect(plan, 2**64 + k, "--ledger-exception", "a test")[0] == 0
    assert soak.whole() == str(2**64 + 3)
    return soak.work


@pytest.mark.parametrize("key", ["value", "limit"])
def test_a_figure_that_is_not_so_is_found(made: Path, key: str) -> None:
    path = made / "out" / "evidence.json"
    evidence = json.loads(path.read_text())
    assert not recount(made / "out").wrong
    said = next(one for one in evidence["requirements"] if one["requirement"] == "k-anonymity")
    said[key] += 1
    path.write_text(json.dumps(evidence))
    assert [text for text in recount(made / "out").wrong if text.startswith("k-anonymity")]


def test_a_record_that_is_gone_is_found(made: Path) -> None:
    path = made / "out" / "data.csv"
    pd.read_csv(path, dtype=str).iloc[1:].to_csv(path, index=False)
    assert recount(made / "out").wrong


def test_a_name_in_the_public_half_is_found(made: Path) -> None:
    some = next(one for n in range(99) if "who" in (one := case(1, n)).people.columns)
    page = made / "out" / "report.html"
    assert not leaks(some, made / "out")
    page.write_text(page.read_text() + some.people.frame["who"][0])
    assert leaks(some, made / "out")


@pytest.mark.parametrize("half", ["out", "out.private"])
def test_halves_of_two_releases_are_found(made: Path, half: str, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    soak = Soak(tmp_path / "again", 1, fills=False)
    shutil.rmtree(soak.work)
    made.rename(soak.work)
    assert soak.whole() == str(2**64 + 3)
    shutil.rmtree(soak.work / half)
    shutil.copytree(soak.work / half.replace("out", "other"), soak.work / half)
    with pytest.raises(AssertionError, match="another release"):
        soak.whole()


def test_a_public_folder_without_its_private_one_is_found(made: Path) -> None:
    soak = Soak.__new__(Soak)
    soak.work = made
    shutil.rmtree(made / "out.private")
    with pytest.raises(AssertionError, match="without its private"):
        soak.whole()
