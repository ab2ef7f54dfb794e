"""What a plan says about a file, and what a draft writes about it."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

import pytest

from sfumato.data.io import write_file
from sfumato.data.table import table
from sfumato.errors import PlanError
from sfumato.release.plan.draft import draft_plan
from sfumato.release.plan.plan import Plan
from sfumato.release.records.run import read_input

NO_HEADER = "".join(f"{20 + i},{'fm'[i % 2]},Town {i % 4}\n" for i in range(30))


def read_by(text: str, folder: Path) -> list[tuple[object, ...]]:
    return read_input(Plan.parse(text), folder)[0].frame.rows()


def test_every_word_of_input_reaches_the_reader(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(
        "1.234|31/12/1999|N|-|é\n9|01/02/2000|7|999|b\n".encode("cp1252")
    )
    text = """
    [input]
    path = "t.txt"
    delimiter = "|"
    encoding = "cp1252"
    thousands = "."
    decimal = ","
    missing = ["-"]
    sentinels = { column_3 = ["N"], "*" = [999] }
    header = false
    dates = { column_2 = ["%Y-%m-%d", "%d/%m/%Y"] }
    """
    assert read_by(text, tmp_path) == [
        (1234, dt.date(1999, 12, 31), None, None, "é"),
        (9, dt.date(2000, 2, 1), 7, None, "b"),
    ]
    again = Plan.parse(Plan.parse(text).to_toml())
    assert again.input == Plan.parse(text).input


def test_a_sheet_is_named(tmp_path: Path) -> None:
    write_file(table({"a": [1, 2]}), tmp_path / "t.xlsx")
    assert read_by('[input]\npath = "t.xlsx"\nsheet = "data"', tmp_path) == [(1,), (2,)]


@pytest.mark.parametrize(
    "line", ['thousands = "x"', "sentinels = [true]", "header = 3", 'format = "pdf"']
)
def test_wrong_words_are_refused(line: str) -> None:
    section = "output" if line.startswith("format") else "input"
    with pytest.raises(PlanError):
        Plan.parse(f"[{section}]\n{line}\n")


def drafted(path: Path, **options: object) -> tuple[dict[str, object], str]:
    text = draft_plan(path, path=path.name, **options)
    return tomllib.loads(text), text


def test_a_draft_of_a_file_without_a_header_publishes_nobody(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(NO_HEADER)
    plan, text = drafted(path)
    assert plan["input"] == {"path": "t.csv", "header": False}
    assert list(plan["columns"]) == ["column_1", "column_2", "column_3"]
    assert "# The reader noted: the first line holds a record" in text
    assert read_input(Plan.parse(text), tmp_path)[0].height == 30


def test_a_draft_writes_what_was_decided_and_given(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{i}'000;{i},5;{999 if i % 7 == 0 else i}\n" for i in range(1, 31))
    path.write_text("pay;share;age\n" + rows)
    plan, text = drafted(path, sentinels={"age": [999]}, missing=("", "none"))
    assert plan["input"] == {
        "path": "t.csv",
        "decimal": ",",
        "thousands": "'",
        "missing": ["none"],
        "sentinels": {"age": [999]},
    }
    found = read_input(Plan.parse(text), tmp_path)[0]
    assert found["pay"].to_list()[:2] == [1000, 2000]
    assert found["share"].to_list()[:2] == [1.5, 2.5]
    assert found["age"].null_count() == 4


@pytest.mark.parametrize(("suffix", "format"), [("xlsx", "xlsx"), ("ods", "ods"), ("csv", "csv")])
def test_a_release_keeps_the_format_of_workbooks(suffix: str, format: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    write_file(table({"age": [31, 40], "sex": ["f", "m"]}), path)
    assert drafted(path)[0]["output"]["format"] == format  # type: ignore[index]


def test_a_draft_shows_labels_and_says_what_is_only_read(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    import polars as pl

    path = tmp_path / "t.zsav"
    pyreadstat.write_sav(
        pl.DataFrame({"sex": [1.0, 2.0], "age": [30.0, 40.0]}),
        str(path),
        compress=True,
        column_labels={"sex": "Sex of the\nrespondent"},
        variable_value_labels={"sex": {1.0: "male", 2.0: "female"}},
    )
    plan, text = drafted(path)
    assert plan["output"]["format"] == "sav"  # type: ignore[index]
    assert "zsav is read but not written" in text
    assert "Sex of the respondent: 1 male, 2 female" in text
    assert read_input(Plan.parse(text), tmp_path)[0]["sex"].to_list() == ["male", "female"]


def test_nothing_in_a_file_becomes_a_line_of_the_plan(tmp_path: Path) -> None:
    rows = "".join(f'{i},"N\n[output]\npath = ""x"""\n' for i in range(5))
    rows += "".join(f"{i},{i}\n" for i in range(20)) + "9999999,7\n"
    path = tmp_path / "t.csv"
    path.write_text('"a\n[steps]","b\x01"\n' + rows)
    plan, text = drafted(path)
    assert set(plan) == {"input", "columns", "steps", "require", "output"}
    assert plan["output"]["path"] == "t-release"  # type: ignore[index]
    assert "9999999" in text
