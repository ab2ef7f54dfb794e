"""Whatever is written reads back: by the release's reader, and by the reader for everyone."""

from __future__ import annotations

import datetime as dt
import math
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.io import read, read_back, write_file
from sfumato.data.schema import Kind
from sfumato.data.table import Table, table

FILES = ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow", "t.duckdb", "t.sqlite"]
BINARY = ("t.parquet", "t.arrow", "t.duckdb")
EXAMPLES = settings().max_examples // 2  # each example opens several files

# Text that has broken readers before, and any other; NUL and lone surrogates are not text.
TEXTS = st.sampled_from(
    [
        "",
        " ",
        '"',
        '""',
        ",",
        "\n",
        "\r",
        "\r\n",
        "'",
        "=1+1",
        "@x",
        "-5",
        "007",
        "1,5",
        "1e5",
        "NA",
        "*",
        "true",
        "null",
        "\\.",
        "\\",
        "[",
        "[]",
        "2000-01-01",
        "é",
        "é",
        "🙂",
        "\u2028",
        "a b",
    ]
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59))


@st.composite
def tables(draw: st.DrawFn, *, nan: bool = True) -> Table:
    rows = draw(st.integers(0, 6))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(st.none() | values, min_size=rows, max_size=rows))

    categories = ["lo", "mid", "hi"]
    frame = pl.DataFrame(
        {
            "n": pl.Series(column(st.integers(-(2**63), 2**63 - 1)), dtype=pl.Int64),
            "x": pl.Series(column(st.floats(allow_nan=nan)), dtype=pl.Float64),
            "w": pl.Series(column(TEXTS), dtype=pl.String),
            'odd "n,ame"\n': pl.Series(column(TEXTS), dtype=pl.String),
            "o": pl.Series(column(st.sampled_from(categories)), dtype=pl.Enum(categories)),
            "b": pl.Series(column(st.booleans()), dtype=pl.Boolean),
            "d": pl.Series(column(st.dates()), dtype=pl.Date),
            "m": pl.Series(column(MOMENTS), dtype=pl.Datetime("us")),
            "s": pl.Series(column(st.lists(TEXTS, max_size=3)), dtype=pl.List(pl.String)),
        }
    )
    # `table` reads NaN as missing, but a method may put one into a masked table.
    return table(frame).with_columns([frame["x"]])


@contextmanager
def written(given: Table, name: str, **options: Any) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_file(given, path, **options)
        yield path


def bits(value: Any) -> Any:
    """A float by its bytes; text has one word for all the NaNs, so they count as one."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack("d", value)
    return value


def assert_same(found: Table, expected: Table, *, exact_zero: bool = True) -> None:
    assert found.names == expected.names
    for name in expected.names:
        got, wanted = found[name].to_list(), expected[name].to_list()
        if not exact_zero:
            wanted = [0.0 if isinstance(v, float) and v == 0 else v for v in wanted]
        assert [bits(v) for v in got] == [bits(v) for v in wanted], name


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_the_release_reads_back_bit_for_bit(name: str, data: st.DataObject) -> None:
    # SQLite has no NaN, and stores -0.0 as 0.0.
    given_table = data.draw(tables(nan=name != "t.sqlite"))
    escape = name not in (*BINARY, "t.sqlite") and data.draw(st.booleans())
    # "*" among the values is a value only if another mark is chosen.
    with written(given_table, name, escape_formulas=escape, suppressed="<hidden>") as path:
        back = read_back(path, given_table.schema, suppressed="<hidden>", escape_formulas=escape)
    assert back.schema == given_table.schema
    assert_same(back, given_table, exact_zero=name != "t.sqlite")
    assert not any(back.suppressed(column).any() for column in back.names)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_everyone_reads_the_same_values(name: str, data: st.DataObject) -> None:
    given_table = data.draw(tables(nan=False))
    with written(given_table, name, suppressed="<hidden>") as path:
        if name in BINARY:
            found = read(path)
        elif name == "t.sqlite":
            found = read(path, kinds={"o": "ordinal"}, categories={"o": ["lo", "mid", "hi"]})
        else:
            # Text files hold no types; the caller's word makes the reading exact.
            names = [c.strip() for c in given_table.names]
            kinds = dict(zip(names, (str(c.kind) for c in given_table.schema), strict=True))
            delimiter = "\t" if name == "t.tsv" else ","
            order = {"o": ["lo", "mid", "hi"]}
            found = read(path, kinds=kinds, categories=order, delimiter=delimiter, header=True)
            renamed = found.frame.rename(dict(zip(names, given_table.names, strict=True)))
            found = Table(renamed, given_table.schema)
    assert_same(found, given_table, exact_zero=name != "t.sqlite")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_suppressed_and_missing_stay_apart(name: str, data: st.DataObject) -> None:
    given_table = data.draw(tables())
    rows = given_table.height
    masks = {
        column: np.array(
            data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), dtype=bool
        )
        for column in given_table.names
    }
    hidden = given_table.with_columns(
        [
            pl.Series(
                n, [None if h else v for v, h in zip(given_table[n], masks[n], strict=True)]
            ).cast(given_table[n].dtype)
            for n in given_table.names
            if not isinstance(given_table[n].dtype, pl.List)
        ],
        suppressed={n: m for n, m in masks.items() if n != "s"},
    )
    with written(hidden, name, suppressed="<hidden>") as path:
        back = read_back(path, hidden.schema, suppressed="<hidden>")
    assert_same(back, hidden)
    for column in hidden.names:
        textual = hidden.schema[column].kind in (Kind.NOMINAL, Kind.ORDINAL)
        expected = hidden.suppressed(column) if name == "t.csv" or textual else np.zeros(rows, bool)
        assert back.suppressed(column).tolist() == expected.tolist(), column


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_are_inferred_exactly(values: list[float]) -> None:
    with written(table({"x": values, "y": ["k"] * len(values)}), "t.csv") as path:
        assert [bits(v) for v in read(path)["x"].to_list()] == [bits(v) for v in values]
