"""Tables given as cells: with relations, with codes, and as other tools protected them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.generators import torra_towns
from sfumato.errors import InputError, ParameterError
from sfumato.poset.trees.sources import Prefix
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.given import from_cells, read_protected
from sfumato.tabular.cells.table import PUBLISH, SAFE, SENSITIVE, ZERO, CellTable

CELLS = pl.DataFrame(
    {
        "cell": [0, 1, 2, 3],
        "value": [10.0, 6.0, 4.0, 0.0],
        "sensitive": [0, 1, 0, 0],
        "upl": [0.0, 8.0, 0.0, 0.0],
        "lb": [0, 1, 0, 0],
        "ub": [20, 12, 4, 0],
    }
)
RELATIONS = pl.DataFrame({"relation": [0] * 4, "cell": [0, 1, 2, 3], "coef": [-1, 1, 1, 1]})
PARTS = {"a": "north", "b": "north", "c": "south"}


def test_cells_with_relations(tmp_path: Path) -> None:
    CELLS.write_csv(tmp_path / "cells.csv", separator=";")
    RELATIONS.write_parquet(tmp_path / "relations.parquet")
    tables = [
        from_cells(CELLS, RELATIONS),
        from_cells(tmp_path / "cells.csv", tmp_path / "relations.parquet"),
        from_cells(CELLS.to_dicts(), from_cells(CELLS, RELATIONS).relations),
        from_cells(CELLS.drop("cell"), RELATIONS.to_pandas()),
    ]
    for found in tables:
        assert found.values.tolist() == [10, 6, 4, 0]
        assert found.status.tolist() == [SAFE, SENSITIVE, SAFE, ZERO]
        assert found.upper.tolist() == [20, 12, 4, 0]
        # The level holds on both sides, and ends at the known bounds.
        assert found.needs is not None
        assert [level[1] for level in found.needs] == [6, 5]
        assert found.name(2) == "cell=2"
    known = from_cells(CELLS.with_columns(lb=pl.Series([0, 1, 4, 0])), RELATIONS)
    assert known.status.tolist() == [SAFE, SENSITIVE, PUBLISH, ZERO]


def test_cells_with_codes_become_a_cube() -> None:
    people = torra_towns()
    made = from_microdata(people, ["town", "profession"], "salary")
    assert made.contributions is not None
    frame = made.labels.with_columns(
        value=made.values,
        freq=made.frequency,
        top1=made.contributions.top[:, 0],
        top2=made.contributions.top[:, 1],
    )
    found = from_cells(frame.sample(fraction=1, shuffle=True, seed=1), measure="salary")
    _same(made, found)
    assert found.contributions is not None
    cell = found.find(town="M3", profession="P5")
    assert found.contributions.top[cell].tolist() == [350, 4]
    assert found.contributions.count[cell] == 5
    assert (np.diff(np.sort(found.contributions.who[found.contributions.who >= 0])) > 0).all()
    # From the inner cells alone, all totals are added up.
    inner = frame.filter((pl.col("town") != "Total") & (pl.col("profession") != "Total"))
    summed = from_cells(inner)
    _same(made, summed)
    assert summed.contributions is None
    assert summed.frequency is not None
    assert summed.frequency[summed.find()] == 346


def _same(one: CellTable, other: CellTable) -> None:
    assert one.n == other.n
    assert len(one.relations) == len(other.relations)
    for cell in range(one.n):
        same = other.find(**one.labels.row(cell, named=True))
        assert one.values[cell] == other.values[same]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_codes_give_back_the_cube_they_came_from(seed: int, negative: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    frame = pl.DataFrame(
        {
            "t": rng.choice(["a", "b", "c"], n),
            "s": rng.choice(["1", "2"], n),
            "x": rng.integers(-5 if negative else 0, 6, n).astype(float),
        }
    )
    made = from_microdata(frame, ["t", "s"], "x", hierarchies={"t": PARTS})
    rows = made.labels.with_columns(value=made.values, freq=made.frequency)
    _same(made, from_cells(rows, hierarchies={"t": PARTS}))
    # Rows of empty cells may be left out, and totals too.
    fewer = rows.filter(pl.col("freq") > 0)
    fewer = fewer.filter(pl.col("t").is_in(list(PARTS)) & (pl.col("s") != "Total"))
    found = from_cells(fewer, hierarchies={"t": PARTS})
    for cell in range(found.n):
        same = made.find(**found.labels.row(cell, named=True))
        assert found.values[cell] == made.values[same]
    assert not found.relations.sums(found.values).any()


def test_codes_by_prefix_and_totals_by_name() -> None:
    frame = pl.DataFrame(
        {"code": ["*", "1", "11", "12", "2", "21"], "value": [6.0, 3.0, 1.0, 2.0, 3.0, 3.0]}
    )
    found = from_cells(frame, hierarchies={"code": Prefix(lengths=(2, 1), pad="")})
    assert found.cubes[0].dimensions[0].codes == ("*", "1", "11", "12", "2", "21")
    assert len(found.relations) == 3
    named = frame.with_columns(pl.col("code").replace("*", "everything"))
    assert from_cells(named, totals={"code": "everything"}, tolerance=1).find() == 0
    none = frame.with_columns(pl.col("code").replace("*", None)).filter(
        pl.col("code").is_null() | (pl.col("code").str.len_chars() == 2)
    )
    assert from_cells(none).values.tolist() == [6, 1, 2, 3]


def _protected() -> pl.DataFrame:
    rows = [
        *(("Total", s, v, "S") for s, v in (("Total", 21.0), ("1", 5.0), ("2", 16.0))),
        *(("north", s, v, "S") for s, v in (("Total", 9.0), ("1", 3.0), ("2", 6.0))),
        ("a", "Total", 5.0, "S"), ("a", "1", None, "U"), ("a", "2", None, "M"),
        ("b", "Total", 4.0, "S"), ("b", "1", None, "M"), ("b", "2", None, "M"),
        ("c", "Total", 12.0, "S"), ("c", "1", 2.0, "S"), ("c", "2", 10.0, "P"),
        *(("south", s, v, "S") for s, v in (("Total", 12.0), ("1", 2.0), ("2", 10.0))),
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["t", "s", "value", "status"], orient="row")


def test_a_protected_table_of_another_tool() -> None:
    frame = _protected()
    found, hidden = read_protected(frame, hierarchies={"t": PARTS})
    assert hidden.sum() == 4
    assert np.isnan(found.values[hidden]).all()
    assert not np.isnan(found.values[~hidden]).any()
    assert found.status[found.find(t="a", s="1")] == SENSITIVE
    assert found.status[found.find(t="c", s="2")] == PUBLISH
    # With the true values beside, the same cells are hidden.
    known = dict(zip(itertools.product("ab", "12"), (1.0, 4.0, 2.0, 2.0), strict=True))
    truth = frame.with_columns(
        true=pl.Series([known.get((t, s), v) for t, s, v, *_ in frame.rows()])
    )
    again, same = read_protected(truth, true="true", hierarchies={"t": PARTS})
    assert (same == hidden).all()
    assert again.values[again.find(t="a", s="2")] == 4
    assert not again.relations.sums(again.values).any()
    # Values that a file still holds where the status says hidden are true values as well.
    filled = frame.with_columns(value=truth["true"])
    both, third = read_protected(filled, hierarchies={"t": PARTS})
    assert (third == hidden).all()
    assert (both.values == again.values).all()


def test_marks_and_intervals_in_place_of_numbers(tmp_path: Path) -> None:
    frame = _protected().with_columns(pl.col("value").cast(pl.String).fill_null(" X "))
    frame.write_csv(tmp_path / "table.csv")
    for given_ in (frame, tmp_path / "table.csv"):
        found, hidden = read_protected(given_, hierarchies={"t": PARTS})
        assert hidden.sum() == 4
        assert np.isnan(found.values[hidden]).all()
    with pytest.raises(InputError, match="is not a number"):
        from_cells(frame)
    shown = frame.with_columns(
        pl.col("status").replace({"U": "interval", "M": "suppressed"}),
        low=pl.when(status="U").then(0.5),
        high=pl.when(status="U").then(2.5),
    )
    found, hidden = read_protected(shown, hierarchies={"t": PARTS})
    cell = found.find(t="a", s="1")
    assert hidden.sum() == 4
    assert (found.lower[cell], found.upper[cell]) == (0.5, 2.5)


def test_rows_that_are_not_there() -> None:
    frame = _protected().drop("status")
    # The hidden cells and a subtotal were left out of the file altogether.
    fewer = frame.filter(pl.col("value").is_not_null() & (pl.col("t") != "north"))
    found, hidden = read_protected(fewer, absent="hidden", hierarchies={"t": PARTS})
    assert found.n == frame.height
    assert hidden.sum() == 7
    with pytest.raises(InputError, match='absent = "hidden"'):
        read_protected(fewer, hierarchies={"t": PARTS})
    # A subtotal alone: it was not published, so it is hidden.
    only = frame.filter(pl.col("t") != "north")
    found, hidden = read_protected(only, hierarchies={"t": PARTS})
    assert hidden[[found.find(t="north", s=s) for s in ("Total", "1", "2")]].all()
    with pytest.raises(ParameterError, match='"zero" or "hidden"'):
        read_protected(only, absent="gone")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "relations", "said"),
    [
        ({"value": [10.0, 6.0, 5.0, 0.0]}, {}, "relation 0 does not add up.*leaves 1"),
        ({"cell": [0, 1, 1, 3]}, {}, "rows 2 and 3 are both cell 1"),
        ({}, {"cell": [0, 1, 2, 9]}, "row 4: there is no cell 9"),
        ({}, {"cell": [0, 1, 2, 2]}, "relation 0 names a cell twice"),
        ({"value": [10.0, None, 4.0, 0.0]}, {}, "row 2: it has no value.*read_protected"),
        ({"value": ["10", "six", "4", "0"]}, {}, "'six' is not a number"),
        ({"ub": [20, 5, 4, 0]}, {}, "cell=1 is 6, outside of its known bounds"),
        ({"cost": [1.0, -1.0, 0.0, 0.0]}, {}, "row 2: its cost is negative"),
        ({"status": ["S", "U", "Q", "E"]}, {}, "row 3: there is no status 'Q'"),
    ],
)
def test_bad_cells_are_named(cells: dict[str, Any], relations: dict[str, Any], said: str) -> None:
    frame = CELLS.with_columns(*(pl.Series(k, v) for k, v in cells.items()))
    rows = RELATIONS.with_columns(*(pl.Series(k, v) for k, v in relations.items()))
    with pytest.raises(InputError, match=said):
        from_cells(frame, rows)


def test_bad_codes_are_named(tmp_path: Path) -> None:
    frame = _protected()
    with pytest.raises(InputError, match="row 4: t has the code 'north'"):
        read_protected(frame, hierarchies={"t": {"a": "nord", "b": "nord", "c": "south"}})
    with pytest.raises(InputError, match="rows 1 and 19 are both t=Total, s=Total"):
        read_protected(pl.concat((frame, frame[:1])), hierarchies={"t": PARTS})
    with pytest.raises(ParameterError, match="'u' is no dimension"):
        read_protected(frame, hierarchies={"u": PARTS})
    with pytest.raises(InputError, match="no column 'valeu'"):
        from_cells(frame, value="valeu")
    with pytest.raises(InputError, match="neither relations nor codes"):
        from_cells(CELLS)
    with pytest.raises(InputError, match=r"none\.csv cannot be read"):
        from_cells(tmp_path / "none.csv")


def test_a_total_of_one_record_has_the_contributor_of_its_addend() -> None:
    rows = [("A", "x", 10.0, 1, 10.0, 0.0), ("A", "y", 0.0, 0, 0.0, 0.0)]
    rows += [("A", "Total", 10.0, 1, 10.0, 0.0), ("B", "x", 300.0, 9, 40.0, 39.0)]
    rows += [("B", "y", 310.0, 9, 40.0, 39.0), ("B", "Total", 610.0, 18, 40.0, 40.0)]
    rows += [("Total", "x", 310.0, 10, 40.0, 39.0), ("Total", "y", 310.0, 9, 40.0, 39.0)]
    rows += [("Total", "Total", 620.0, 19, 40.0, 40.0)]
    names = ["r", "c", "value", "freq", "top1", "top2"]
    table = from_cells(pl.DataFrame(rows, schema=names, orient="row"), dimensions=["r", "c"])
    assert table.contributions is not None
    who = table.contributions.who
    assert who[table.find(r="A"), 0] == who[table.find(r="A", c="x"), 0] >= 0
    rest = who[who >= 0]
    assert np.unique(rest).size == rest.size - 1


@pytest.mark.parametrize("name", ["low", "lower", "ub", "up", "freq", "status", "sensitive"])
def test_a_code_column_is_nothing_else(name: str) -> None:
    rows = [("1", 4.0), ("2", 6.0), ("Total", 10.0)]
    frame = pl.DataFrame(rows, schema=[name, "value"], orient="row")
    table = from_cells(frame, dimensions=[name])
    assert table.lower.tolist() == [0, 0, 0]
    assert np.isinf(table.upper).all()
    assert table.frequency is None
    assert table.needs is None
    assert (table.status == SAFE).all()
