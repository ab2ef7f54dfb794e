"""What people are shown of each column before anything is masked: what it seems to be, how it is
spread, what is missing, and the records themselves. All of it is its owner's alone."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ...data.io import read_decided
from ...data.io.reading import ReadTable
from ...data.kinds import Misfit, fit, order_of
from ...data.recognize.codes import order_of as order_of_words
from ...data.schema import CATEGORICAL, Column, Kind, Role
from ...data.table import Table
from ...texts import one_line
from ..plan.draft import ROLES as _ROLES
from ..plan.guess import Guess, guess
from ..plan.plan import Plan
from ..records.run import reading_of, source_of
from ..report import figures
from ..report.columns import Picture, alone, day_text
from ..report.parts import clipped, number, percent
from ..report.spread import CannotDraw

RECORDS, FIGURES = "records.parquet", "figures.json"
ROLES = (
    *((str(role), meaning) for role, meaning in _ROLES),
    (str(Role.UNDECIDED), "Nobody said yet: the release waits for it."),
)
"""Every role, and what it means."""
KINDS = (
    ("nominal", "categories", "Words or codes without an order, such as a county."),
    ("ordinal", "categories in order", "Grades, such as low, middle, high."),
    ("boolean", "yes or no", "Two values: true or false."),
    ("integer", "whole numbers", "Counts, ages, years."),
    ("continuous", "numbers", "Measurements, with decimals."),
    ("date", "dates", "Days of the calendar."),
    ("set", "several items in a cell", "Diagnoses or purchases of one person, in one cell."),
    ("text", "free text", "Sentences; they often name people."),
)
"""Every kind: its word, in plain words, and an example."""
MOST_ORDERED = 40
"""Values that people put in order."""
_DRAWN = 400
_CELLS, _ROWS, _SOME, _LONG = 2_000_000, 100_000, 10_000, 200
_APART = ("others", "person", "reference", "given", "given_join", "given-join")
"""What `[input]` says that does not change how the file is read."""
_NUMBERED = (Kind.INTEGER, Kind.CONTINUOUS)


def reading(text: str) -> str:
    """A short name for how a plan's text has its file read: the same words, the same cells.

    >>> reading('[input]\\npath = "a.csv"') == reading('[input]\\npath = "a.csv"\\nothers = "drop"')
    True
    """
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    given, columns = said.get("input", {}), said.get("columns", {})
    if not isinstance(given, dict) or not isinstance(columns, dict):
        return ""
    how = {key: value for key, value in given.items() if key not in _APART}
    kinds = {
        name: [words.get("kind"), words.get("categories")]
        for name, words in columns.items()
        if isinstance(words, dict)
    }
    kinds = {name: one for name, one in kinds.items() if any(one)}
    return hashlib.sha256(json.dumps([how, kinds], default=str).encode()).hexdigest()[:16]


def read_sample(plan: Plan, base: Path) -> ReadTable:
    """The records of a plan, or some of a large file, without roles: what columns seem to be is
    then told of all."""
    options = reading_of(plan)
    for word in (*Role, "others", "person", "posets"):
        options.pop(str(word), None)
    return read_decided(source_of(plan, base), sample=True, **options)


def looked(read: ReadTable, folder: Path, guesses: Sequence[Guess] | None = None) -> dict[str, Any]:
    """What is shown of a table's columns, as plain values; figures and records go into a folder."""
    table = read.table
    made = guess(table) if guesses is None else guesses
    columns, drawn, rough = [], {}, False
    for i, one in enumerate(made):
        series, column, exactly = _as_guessed(table, one)
        rough |= not exactly
        found = _described(Table(series.to_frame(), _schema(column)), one)
        if i < _DRAWN:
            drawn[str(i)], found["notes"] = _drawn(series, column, i)
        columns.append(found)
    (folder / FIGURES).write_text(json.dumps(drawn), encoding="utf-8")
    shown = _written(table, folder / RECORDS, _ROWS if read.share == 1 else _SOME)
    of = table.height if read.share == 1 else round(table.height / read.share)
    return {
        "columns": columns,
        "records": table.height,
        "of": of,
        "shown": shown,
        "notes": [one_line(note) for note in read.notes],
        "rough": rough,
    }


def _as_guessed(table: Table, made: Guess) -> tuple[pl.Series, Column, bool]:
    """A column as the plan will have it, and whether that is what reading it again will give."""
    before = table.schema[made.name]
    series = table[made.name]
    again = bool(made.shape.dates or made.shape.missing)
    try:
        order = order_of(series, made.kind, made.shape.categories or before.categories)
        fitting = fit(series, made.kind, order)
    except Misfit:
        return series, before, False
    return fitting, before.with_(kind=made.kind, categories=order), not again


def _schema(column: Column) -> Any:
    from ...data.schema import Schema

    return Schema([column])


def _described(table: Table, made: Guess) -> dict[str, Any]:
    """A column's figures, and what it was taken for."""
    column = next(iter(table.schema))
    series = table[column.name]
    values = series.drop_nulls()
    distinct = _distinct(values)
    found: dict[str, Any] = {
        "name": column.name,
        "kind": str(column.kind),
        "role": str(made.role),
        "why": one_line(made.why),
        "confidence": made.confidence,
        "what": made.what,
        "missing": int(table.missing(column.name).sum()),
        "distinct": distinct,
        "label": one_line(column.label),
    }
    if column.kind in (*CATEGORICAL, *_NUMBERED) and 1 < distinct <= MOST_ORDERED:
        found["order"] = [*(column.categories or _in_order(values))]
    return found


def _distinct(values: pl.Series) -> int:
    return int(values.n_unique()) if len(values) else 0


def _in_order(values: pl.Series) -> list[str]:
    """The values as an order suggests itself: numbers, words that tell one, else the alphabet."""
    listed: list[str] = values.unique().sort().cast(pl.String).to_list()
    return [*(order_of_words(listed) or listed)]


def counted(table: Table) -> dict[str, list[int]]:
    """Missing and distinct values of every column."""
    return {
        name: [int(table.missing(name).sum()), _distinct(table[name].drop_nulls())]
        for name in table.names
    }


def _drawn(series: pl.Series, column: Column, i: int) -> tuple[str, list[str]]:
    """A small figure, or why there is none."""
    try:
        picture = alone(Table(series.to_frame(), _schema(column)), column.name)
    except CannotDraw as reason:
        return "", [f"Not drawn: {reason}."]
    title = f"Distribution of {clipped(one_line(column.name), 60)}"
    chart = figures.column_chart(picture)
    return figures.svg(chart, f"figure-{i}", title, _told(picture)), [*picture.notes]


def _told(picture: Picture) -> str:
    """A figure in words."""
    shares = picture.original
    if picture.form == "bars":
        names = figures.legible(picture.names)
        pairs = zip(names, shares.tolist(), strict=True)
        return "; ".join(f"{name}: {percent(share)}" for name, share in pairs)
    most = int(shares.argmax())
    ends = picture.edges[[0, -1, most, most + 1]].tolist()
    words = [day_text(end) if picture.form == "dates" else number(end) for end in ends]
    return f"From {words[0]} to {words[1]}; most lie between {words[2]} and {words[3]}."


def _written(table: Table, path: Path, most: int) -> int:
    """The records as they are shown, as text, so that a part of them is read in no time."""
    frame = table.frame.head(min(most, max(100, _CELLS // max(1, len(table.names)))))
    cells = []
    for i, name in enumerate(table.names):
        series = frame.get_column(name)
        if isinstance(series.dtype, pl.List):
            series = series.list.eval(pl.element().cast(pl.String)).list.join(", ")
        text = series.cast(pl.String, strict=False)
        cells.append(text.str.slice(0, _LONG + 1).alias(f"c{i}"))
    pl.DataFrame(cells).write_parquet(path, row_group_size=5_000)
    return frame.height


def records(path: Path, first: int, many: int) -> list[tuple[str | None, ...]]:
    """Some of the records, as they are shown; None is a missing cell."""
    return pl.scan_parquet(path).slice(first, many).collect().rows()


def figures_of(folder: Path) -> Mapping[str, str]:
    """The figures that were drawn, by the number of the column."""
    try:
        found = json.loads((folder / FIGURES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
