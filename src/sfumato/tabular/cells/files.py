"""Frames and files of cells and of relations, read as they are: codes stay text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...bounds import Limits, unpacked
from ...data.exact import exactly
from ...data.schema import missing_column, refuse_names
from ...data.table import as_frame
from ...errors import InputError
from ...kernels.arrays import Floats, Ints
from ...poset.values.text import text
from .relations import Relations


def frame_of(given: Any, what: str) -> pl.DataFrame:
    """A frame from a file (CSV, also compressed, or Parquet), a frame of any kind, or rows."""
    frame = _frame_of(given, what)
    refuse_names(frame.columns, what)
    return frame


def _frame_of(given: Any, what: str) -> pl.DataFrame:
    if not isinstance(given, str | Path):
        if isinstance(given, Sequence) and not given:
            raise InputError(f"there are no {what}", remedy="give one row to each")
        return _rows(given, what)
    path = Path(given)
    try:
        raw = path.read_bytes()
        if path.suffix == ".parquet":
            return pl.read_parquet(raw)
        raw = unpacked(raw, path.name, Limits())
        head = raw.partition(b"\n")[0].decode("utf-8-sig")
        separator = max((",", ";", "\t"), key=head.count)
        return pl.read_csv(raw, separator=separator, infer_schema=False)
    except (OSError, EOFError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(
            f"{what}: {path.name} cannot be read: {reason}", remedy="give a CSV or Parquet file"
        ) from error


def _rows(given: Any, what: str) -> pl.DataFrame:
    """Rows as a frame, from a frame of any kind or a list of mappings."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        if any(not isinstance(row, Mapping) for row in given):
            raise InputError(
                f"{what} are rows of codes", remedy='[{"region": "North", "status": "sensitive"}]'
            )
        columns = list(dict.fromkeys(str(key) for row in given for key in row))
        return pl.DataFrame(
            {c: pl.Series(c, [row.get(c) for row in given], strict=False) for c in columns}
        )
    return as_frame(given)[0]


def numbers(frame: pl.DataFrame, name: str, marks: Sequence[str] = ()) -> Floats:
    """A column of numbers; NaN where it is missing, or has a mark in place of a number."""
    if marks and frame[name].dtype == pl.String:
        marked = exactly(name).str.strip_chars().str.to_lowercase().is_in(marks)
        frame = frame.select(pl.when(~marked).then(exactly(name)))
    try:
        cast = frame[name].cast(pl.Float64)
    except pl.exceptions.PolarsError as error:
        wrong = frame[name].cast(pl.String).str.strip_chars()
        bad = wrong.filter(wrong.cast(pl.Float64, strict=False).is_null() & wrong.is_not_null())
        raise InputError(
            f"column {name!r}: {bad[0] if len(bad) else 'a value'!r} is not a number",
            remedy="mend it, or leave it empty",
        ) from error
    return cast.fill_null(np.nan).to_numpy().copy()


def column(frame: pl.DataFrame, *names: str) -> str | None:
    """The first of these names that is a column."""
    return next((name for name in names if name in frame.columns), None)


def needed(frame: pl.DataFrame, name: str, what: str) -> str:
    """The column, or a clear error."""
    if name not in frame.columns:
        complaint = missing_column(name, frame.columns)
        raise InputError(f"{what}: there is no column {name!r}", remedy=complaint.remedy)
    return name


def texts(series: pl.Series) -> list[str | None]:
    """The values as text."""
    if series.dtype == pl.String:
        return [None if value is None else value.strip() for value in series.to_list()]
    return [None if value is None else text(value) for value in series.to_list()]


def numbered(frame: pl.DataFrame) -> tuple[dict[str, int], list[str]]:
    """Cell names by row, from the column "cell" or the rows' own numbers from 0."""
    if "cell" not in frame.columns:
        names = [str(row) for row in range(frame.height)]
        return dict(zip(names, range(frame.height), strict=True)), names
    at: dict[str, int] = {}
    for row, name in enumerate(texts(frame["cell"])):
        if name is None:
            raise InputError(f"cells, row {row + 1}: it has no cell number", remedy="give it one")
        if name in at:
            raise InputError(
                f"cells: rows {at[name] + 1} and {row + 1} are both cell {name}",
                remedy="keep one of them",
            )
        at[name] = row
    return at, list(at)


def relations_from(given: Any, at: Mapping[str, int]) -> tuple[Relations, list[str]]:
    """Relations between the cells, and their names, from rows of relation, cell, coef."""
    if isinstance(given, Relations):
        if given.n != len(at):
            raise InputError(
                f"the relations are between {given.n:,} cells, but there are {len(at):,}",
                remedy="give both for the same table",
            )
        return given, [str(i) for i in range(len(given))]
    frame = frame_of(given, "relations")
    for name in ("relation", "cell", "coef"):
        needed(frame, name, "relations")
    number: dict[str, int] = {}
    row: list[int] = []
    cell: list[int] = []
    pairs = zip(texts(frame["relation"]), texts(frame["cell"]), strict=True)
    for line, (relation, named) in enumerate(pairs, 1):
        if relation is None or named is None or named not in at:
            what = "it names no relation" if relation is None else f"there is no cell {named}"
            raise InputError(
                f"relations, row {line}: {what}"
                + ("" if relation is None else f" (relation {relation})"),
                remedy="give every cell of a relation a row among the cells",
            )
        row.append(number.setdefault(relation, len(number)))
        cell.append(at[named])
    coef = numbers(frame, "coef")
    if not np.isfinite(coef).all():
        line = int(np.flatnonzero(~np.isfinite(coef))[0])
        raise InputError(f"relations, row {line + 1}: its coef is missing", remedy="-1 or 1")
    rows, cells = np.array(row, np.int64), np.array(cell, np.int64)
    _check_pairs(rows, cells, list(number), len(at))
    return Relations.of(rows, cells, coef, len(at)), list(number)


def _check_pairs(rows: Ints, cells: Ints, names: Sequence[str], n: int) -> None:
    _, first, counts = np.unique(rows * n + cells, return_index=True, return_counts=True)
    if (counts > 1).any():
        at = int(first[np.argmax(counts > 1)])
        raise InputError(
            f"relation {names[int(rows[at])]} names a cell twice (row {at + 1})",
            remedy="add its coefs up to one",
        )
