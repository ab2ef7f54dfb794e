"""What a draft says about a file reads the table that the draft was made from."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.io import read_decided, write_file
from sfumato.data.table import table
from sfumato.errors import InputError
from sfumato.release.plan.draft import draft_plan
from sfumato.release.plan.plan import Plan
from sfumato.release.records.run import read_input
from tests.data.recognize.people_files import PeopleFile
from tests.data.recognize.scoring import developed, far, held_out

OWN = {one.name: one for one in (*developed(), *held_out(), *far())}
ROWS = 120
WORDS = ("N/A", "NA", ".", " ")


def read_twice(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cells as the draft saw them and as its plan reads them, what is missing as null."""
    seen = read_decided(path).table
    plan = Plan.parse(draft_plan(path, path=path.name))
    again = read_input(plan, path.parent)[0]
    proposed = plan.input.sentinels
    assert isinstance(proposed, dict) or not proposed
    first, second = [], []
    for name in seen.names:
        words = list(map(str, dict(proposed).get(name, ())))
        text = seen[name].cast(pl.String)
        taken = text.is_null() | text.str.strip_chars().is_in(words).fill_null(False)
        alike = seen[name].dtype == again[name].dtype and not words
        first.append(seen[name] if alike else taken)
        second.append(again[name] if alike else again[name].is_null())
    return pl.DataFrame(first), pl.DataFrame(second)


def sprinkled(one: PeopleFile, word: str) -> str:
    """The first records with a word for missing in every seventh cell of its numbers."""
    columns = {
        name: [word if i % 7 == 6 and is_numeral(values) else values[i] for i in range(ROWS)]
        for name, values in one.columns.items()
    }
    return PeopleFile(one.name, columns, one.truth).csv()


def is_numeral(values: list[str]) -> bool:
    return all(value.isdigit() and value[0] != "0" for value in values if value)


@pytest.mark.parametrize("name", OWN)
def test_a_draft_reads_what_it_saw(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    word = WORDS[len(name) % len(WORDS)]
    path.write_text(sprinkled(OWN[name], word), encoding="utf-8")
    first, second = read_twice(path)
    assert first.columns == second.columns
    for one, other in zip(first, second, strict=True):
        assert one.equals(other, check_names=True, null_equal=True), one.name


ANSWERS = ["1", "2", "3", "4", "5", "N/A", "2", "3"]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("beside", ["x", "N/A"])
def test_words_for_no_answer_are_named_in_the_draft(
    suffix: str, beside: str, tmp_path: Path
) -> None:
    path = tmp_path / f"t.{suffix}"
    content = {
        **{f"q{i}": ANSWERS[i:] * 10 + ANSWERS[:i] * 10 for i in range(5)},
        "shop": [f"Market {i % 3}" if i % 5 else beside for i in range(80)],
    }
    write_file(table(content, others="insensitive"), path)
    plan = Plan.parse(draft_plan(path, path=path.name))
    again = read_input(plan, tmp_path)[0]
    for i in range(5):
        assert str(plan.columns[f"q{i}"].kind) == "ordinal"
        assert again[f"q{i}"].null_count() == 10
        assert set(again[f"q{i}"].drop_nulls()) == {"1", "2", "3", "4", "5"}
    # In a column of words the same word may be one of them.
    assert again["shop"].null_count() == 0
    assert ("N/A" in plan.input.missing) == (beside == "x")


@pytest.mark.parametrize("zone", ["Z", "+02:00"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_moments_with_zones_are_released(suffix: str, zone: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    texts = [f"2024-{1 + i % 3:02}-{1 + i % 20:02}T{i % 24:02}:00:00{zone}" for i in range(200)]
    moments: pl.Series = pl.Series(texts).str.to_datetime("%Y-%m-%dT%H:%M:%S%#z")
    content = {"seen": texts if suffix == "csv" else moments, "sex": ["f", "m"] * 100}
    write_file(table(content, others="insensitive"), path)
    text = draft_plan(path, path=path.name)
    assert "time zones" in text
    found = read_input(Plan.parse(text), tmp_path)[0]
    assert found["seen"].dtype == pl.Datetime("us")
    assert found["seen"][12].hour == (12 if zone == "Z" else 10)
    path.with_name("p.toml").write_text(text)
    assert sf.protect(found, path.with_name("p.toml")).data.height > 0


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_second_line_of_names_is_no_record(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    content = {
        "age": ["in years", *(str(20 + i % 60) for i in range(90))],
        "sex": ["of the person", *("fm"[i % 2] for i in range(90))],
        "seen": ["first visit", *(f"2023-0{1 + i % 9}-1{i % 9}" for i in range(90))],
    }
    write_file(table(content, others="insensitive"), path)
    text = draft_plan(path, path=path.name)
    plan = Plan.parse(text)
    assert plan.input.header == 2
    assert "# The reader noted: the second line holds words" in text
    found = read_input(plan, tmp_path)[0]
    assert (found.height, found["age"].dtype) == (90, pl.Int64)


@pytest.mark.parametrize(
    "first", [["", "f", "2023-01-01"], ["N/A", "f", "unknown"], ["31", "f", "spring"]]
)
def test_a_record_with_odd_cells_stays_one(first: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{20 + i % 60},{'fm'[i % 2]},2023-0{1 + i % 9}-1{i % 9}" for i in range(90)]
    path.write_text("\n".join(["age,sex,seen", ",".join(first), *rows]))
    assert read_decided(path).table.height == 91


def test_nothing_is_drafted_for_no_records(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("age,sex\n")
    with pytest.raises(InputError, match="no records"):
        sf.draft_plan(tmp_path / "empty.csv")
