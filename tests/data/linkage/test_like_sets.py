"""Sets of a release that was written as text, read with the original's schema; Python's sets."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.data.linkage.earlier import read_like, read_published, read_release
from sfumato.data.linkage.like import like_original
from sfumato.errors import InputError

_FIGURES = ("ncp", "record-linkage", "utility-kept")


def _original(sets: list[Any], **more: Any) -> sf.Table:
    return sf.table(pl.DataFrame({"s": pl.Series(sets, **more)}), quasi=["s"])


@pytest.mark.parametrize(
    ("sets", "cells", "expected"),
    [
        ([["a", "b"], ["c"]], ["a b", ""], [["a", "b"], []]),
        ([["a b"], ["c"]], ['["a b", "c"]', "[]"], [["a b", "c"], []]),
        ([[2, 10], [2]], ["2 10", "2"], [[2, 10], [2]]),
        ([[0.5], [2.0]], ["0.5 2.0", ""], [[0.5, 2.0], []]),
        ([[True], [False]], ["false true", "true"], [[False, True], [True]]),
        ([[dt.date(2020, 1, 2)], []], ["2020-01-02", ""], [[dt.date(2020, 1, 2)], []]),
    ],
)
def test_text_becomes_sets_of_the_original_items(
    sets: list[Any], cells: list[str], expected: list[Any]
) -> None:
    before = _original(sets)
    read = like_original(pl.DataFrame({"s": cells}), before)
    assert read["s"].to_list() == expected
    assert read["s"].dtype == before["s"].dtype
    assert not read.schema["s"].generalized
    assert read.schema.quasi == ["s"]


def test_marks_stay_suppressed_and_missing_stays_missing() -> None:
    read = like_original(pl.DataFrame({"s": ["a", "*", None]}), _original([["a"], ["b"], None]))
    assert read["s"].to_list() == [["a"], None, None]
    assert read.suppressed("s").tolist() == [False, True, False]
    assert read.missing("s").tolist() == [False, False, True]


def test_labels_stay_labels() -> None:
    read = like_original(pl.DataFrame({"s": ["{a}+", "*"]}), _original([["a", "b"], ["b"]]))
    assert read.schema["s"].generalized


def test_cells_of_one_number_each() -> None:
    before = _original([["13", "14"], ["14"], ["15"]])
    read = like_original(pl.DataFrame({"s": [13, None, 14]}), before)
    assert read["s"].to_list() == [["13"], [], ["14"]]


def test_numbers_that_hide_what_a_cell_was_are_refused() -> None:
    with pytest.raises(InputError, match="empty sets from missing ones"):
        like_original(pl.DataFrame({"s": [13, None]}), _original([["13"], None]))
    with pytest.raises(InputError, match=r"1\.50 from 1\.5"):
        like_original(pl.DataFrame({"s": [1.5, 2.0]}), _original([["1.50"], ["2.0"]]))


def test_items_of_another_type_are_named() -> None:
    with pytest.raises(InputError, match=r"column 's', record 2 .*'x'"):
        like_original(pl.DataFrame({"s": ["1", "2 x"]}), _original([[1], [2]]))


def test_files_are_read_as_their_cells_stand(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text('s\n13\n""\n014\n')
    before = _original([["13", "1"], None, ["014"]])
    assert read_like(tmp_path / "data.csv", before)["s"].to_list() == [["13"], [], ["014"]]
    (tmp_path / "data.csv").write_text('s\n13\n""\n14\n')
    (tmp_path / "evidence.json").write_text("{}")
    read = read_release(tmp_path, _original([["13", "1"], None, ["14"]]))
    assert read["s"].to_list() == [["13"], [], ["14"]]


def test_a_release_without_its_original_has_sets(tmp_path: Path) -> None:
    table = sf.table({"s": [[1, 2], [1, 2], [1], [3], [3]]}, quasi=["s"])
    release = sf.protect(table, sf.method("set-mondrian", k=2), seed=1)
    release.save(tmp_path / "out", allow_guessable_seed=True)
    read = read_published(tmp_path / "out")
    assert str(read.schema["s"].kind) == "set"
    assert [sorted(map(int, s)) for s in read["s"].to_list()] == release.table["s"].to_list()


@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.parametrize("text", [False, True])
def test_assess_gives_the_figures_of_protect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], k: int, text: bool
) -> None:
    frame = sf.generators.targeting(200, d=30, mean=5, seed=3).frame.select("items")
    if text:
        frame = frame.select(
            pl.col("items").list.eval(pl.format("item {}", pl.element().cast(pl.String)))
        )
    frame.write_parquet(tmp_path / "sets.parquet")
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "sets.parquet"\n[columns]\nitems = { role = "quasi", kind = "set" }\n'
        f'[[steps]]\nuse = "set-mondrian"\nk = {k}\n[require]\nk-anonymity = {k}\n'
        '[output]\npath = "out"\nformat = "csv"\n'
    )

    def figures(*words: str) -> dict[str, float]:
        with pytest.raises(SystemExit) as ended:
            run([*words, "--json"])
        shown = capsys.readouterr()
        assert not ended.value.code, shown.err
        found = json.loads(shown.out)["measures"]
        return {name: found[name]["value"] for name in _FIGURES}

    plan = str(tmp_path / "plan.toml")
    made = figures("protect", plan)
    again = figures(
        "assess",
        str(tmp_path / "sets.parquet"),
        str(tmp_path / "out" / "data.csv"),
        "--plan",
        plan,
    )
    assert made["ncp"] > 0
    assert again == pytest.approx(made)


@pytest.mark.parametrize(
    "source",
    [
        {"b": [{"b", "a"}, None, frozenset()]},
        pd.DataFrame({"b": [{"b", "a"}, None, frozenset()]}),
        pl.DataFrame({"b": [{"b", "a"}, None, frozenset()]}, strict=False),
    ],
)
def test_sets_of_python_are_sets(source: Any) -> None:
    table = sf.table(source, quasi=["b"])
    assert str(table.schema["b"].kind) == "set"
    assert table["b"].to_list() == [["a", "b"], None, []]
    if isinstance(source, pd.DataFrame):
        assert source["b"][0] == {"a", "b"}  # what came in is left as it was


def test_sets_beside_other_values_are_no_column_of_sets() -> None:
    assert str(sf.table({"b": [[1], {2}], "c": ["x", None]}).schema["b"].kind) == "set"
    assert str(sf.table({"b": [{2, "x"}, {1.5}]}).schema["b"].kind) == "set"
