"""Numbers and words for "no answer": pointed out, and applied only where they are named."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.io import read_with_notes
from sfumato.data.io.cells.sentinels import suspects
from sfumato.errors import InputError, SchemaError


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 60},{'N' if i % 3 else 1000 + 7 * i},{i % 5 + 1}\n" for i in range(60)]
    rows += ["999,N,9\n"] * 3
    path = tmp_path / "survey.csv"
    path.write_text("age,income,mood\n" + "".join(rows))
    return path


def test_candidates_are_noted_and_kept(survey: Path) -> None:
    found, notes = read_with_notes(survey)
    assert found["age"].max() == 999
    assert found["income"].dtype == pl.String
    said = "\n".join(notes)
    assert 'sentinels = { "age" = [999] }' in said
    assert 'sentinels = { "income" = ["N"] }' in said
    assert 'sentinels = { "mood" = [9] }' in said


def test_named_ones_are_missing(survey: Path) -> None:
    found, notes = read_with_notes(survey, sentinels={"income": "N", "age": [999]})
    assert found["income"].dtype == pl.Int64
    assert found["income"].null_count() == 43
    assert found["age"].max() == 79
    assert found["mood"].max() == 9
    assert "missing: 999 in 'age' (3 cells, as you said)" in notes
    assert not any('"age" = ' in note for note in notes)


def test_for_all_columns(survey: Path) -> None:
    found = sf.read(survey, sentinels=["N", 999, 9])
    assert [found[name].max() for name in ("age", "mood")] == [79, 5]
    assert found["income"].dtype == pl.Int64


def test_in_typed_files_too(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1.0, -9.0], "w": ["a", "N"]}).write_parquet(tmp_path / "t.parquet")
    found = sf.read(tmp_path / "t.parquet", sentinels=[-9, "N"])
    assert found.frame.rows() == [(1.0, "a"), (None, None)]


def test_wrong_ones_are_refused(survey: Path) -> None:
    with pytest.raises(SchemaError, match="there is no such column"):
        sf.read(survey, sentinels={"incme": ["N"]})
    with pytest.raises(InputError, match="True cannot stand for a missing value"):
        sf.read(survey, sentinels=[True])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([*range(20, 70), 999], [999]),
        ([*range(20, 70), 997, 998, 999], [997, 998, 999]),
        ([*range(1, 100)], []),  # 99 is one of them
        ([*range(1, 6)] * 5 + [9], [9]),
        ([*range(40), -9, -8], [-9, -8]),
        ([*range(-9, 40)], []),  # a temperature
        ([1.5 + i / 10 for i in range(40)] + [9999], [9999]),
        ([999] * 30, []),
        ([1000 * i for i in range(30)] + [99999], [99999]),
        ([1000 * i for i in range(99)] + [99999], []),
    ],
)
def test_suspects(values: list[float], expected: list[float]) -> None:
    assert suspects(pl.Series(values, strict=False)) == expected


@pytest.mark.parametrize(
    "numbers", [["1'234.50", "12.00"], ["1.234,5", "7"], ["1999-12-31", "01.02.2000"]]
)
def test_words_beside_numbers_and_dates_of_any_style_are_noted(
    numbers: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x;k\n" + "".join(f"{n};a\n" for n in [*numbers, "N", "N"] * 3))
    found, notes = read_with_notes(path)
    assert found["x"].dtype == pl.String
    assert any('sentinels = { "x" = ["N"] }' in note for note in notes)
    assert sf.read(path, sentinels={"x": ["N"]})["x"].dtype != pl.String
