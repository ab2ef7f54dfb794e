"""Tables as files of SPSS, Stata and SAS: what such a file cannot hold is refused, and nothing but
the cells and the labels of values that are held gets into it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from ....errors import InputError, OutputError
from ...schema import SUPPRESSED, Column, Kind, Schema
from ...table import Table
from ..render import hidden_cells, marked_cells, moments_as_text, refuse_first, sets_as_text
from ..source import Endpoint
from .labels import TRUTH, with_codes
from .reading import pyreadstat, read_stat

_MORE = 1 << 20
_OTHER = 'format = "csv" or "parquet"'
_EXACT = 2**53
_RESERVED = {
    "sav": r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with",
    "dta": r"_(all|b|coef|cons|n|pi|pred|rc|skip)|byte|double|float|if|in|int|long|str(l|\d*)|using"
    "|with",
    "xpt": r"_(null|numeric|character|all|infile|iorc|n|error)_",
}
_NAMES = {
    "sav": (re.compile(r"[^\W\d_][\w.@#$]*(?<![._])"), 64),
    "dta": (re.compile(r"[^\W\d]\w*"), 32),
    "xpt": (re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), 32),
}
_CLOCKS: dict[str, tuple[bytes, bytes]] = {
    "sav": (rb"(?s)\A(.{92}).{17}", b"01 Jan 7000:00:00"),
    "dta": (rb"(<timestamp>\x11)[^<]{17}", b"01 Jan 1970 00:00"),
    "xpt": (rb"()\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d", b"01JAN70:00:00:00"),
}
_HEAD = 1 << 10
_LONGEST = {"sav": 255, "dta": 80, "xpt": 255}
"""Bytes of a variable's label."""
_SHORT, _BRIEF = 8, 120
"""Bytes of a text that may have a label in SPSS, and of the label."""


@dataclass
class _Made:
    """What is handed to the writer."""

    columns: list[pl.Series] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[Any, str]] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)


def write_stat(table: Table, path: Path, format: str, *, suppressed: str = SUPPRESSED) -> None:
    """A file of SPSS (sav), Stata (dta) or SAS (xpt).

    Columns of labels and sets are text; so are moments that are not whole seconds. The file is
    read again, and refused where a cell does not come back as it was.
    """
    _check_names(table.names, format)
    made = _Made()
    for column in table.schema:
        _add(made, table, column, format, suppressed)
    frame = pl.DataFrame(made.columns)
    try:
        _write(frame, path, format, made)
        _stop_clock(path, format)
        _compare(frame, path, format, made)
    except Exception:
        _ask_disk(path)
        raise


def _ask_disk(path: Path) -> None:
    """The disk's own word where it took no more: pyreadstat does not pass it on, or misses it."""
    with path.open("ab") as file:
        file.write(bytes(_MORE))


def _check_names(names: list[str], format: str) -> None:
    shape, longest = _NAMES[format]
    seen: dict[str, str] = {}
    for name in names:
        twin = seen.setdefault(name.lower(), name)
        fits = shape.fullmatch(name) and len(name.encode()) <= longest
        if fits and not re.fullmatch(_RESERVED[format], name.lower()) and twin == name:
            continue
        what = f"differs from {twin!r} only in capitals" if twin != name else "cannot be a name"
        raise OutputError(
            f"column {name!r} {what} in a {format} file",
            remedy=f"rename it (at most {longest} letters, digits and _), or {_OTHER}",
        )


def _add(made: _Made, table: Table, column: Column, format: str, mark: str) -> None:
    name = column.name
    if not _holds_labels(column, format):
        column = column.with_(labels=())
    series, values = _stored(table, column, mark)
    made.columns.append(series)
    if column.label:
        # What a variable is called is for readers: its beginning will do.
        made.labels[name] = column.label.encode()[: _LONGEST[format]].decode(errors="ignore")
    if values and format != "xpt":
        whole = series.dtype.is_integer() or format == "dta"
        made.values[name] = {int(c) if whole else c: text for c, text in values.items()}
    made.measures[name] = {
        Kind.ORDINAL: "ordinal", Kind.INTEGER: "scale", Kind.CONTINUOUS: "scale"
    }.get(column.kind, "nominal") if not column.generalized else "nominal"  # fmt: skip
    if series.dtype.is_integer():
        made.formats[name] = f"F{max(8, len(str(series.max())), len(str(series.min())))}.0"


def _holds_labels(column: Column, format: str) -> bool:
    """Whether a format knows labels of such codes; where it does not, its cells are the labels."""
    codes = [code for code, _ in column.labels]
    if format == "dta":
        return all(isinstance(c, float) and c.is_integer() and abs(c) < 2**31 for c in codes)
    short = all(isinstance(c, float) or len(c.encode()) <= _SHORT for c in codes)
    brief = all(len(name.encode()) <= _BRIEF for _, name in column.labels)
    return format == "sav" and short and brief


def _stored(table: Table, column: Column, mark: str) -> tuple[pl.Series, dict[Any, str]]:
    """A column as these formats hold it, and the labels of the values in it."""
    series = table[column.name]
    dtype = series.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return _text(sets_as_text(series, mark, bare=False), table, mark), {}
    if dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum):
        return _coded(table, column) or (_text(series.cast(pl.String), table, mark), {})
    if dtype == pl.Boolean:
        held = {float(value): TRUTH[float(value)] for value in series.drop_nulls().unique()}
        return series.cast(pl.Int8), held
    if isinstance(dtype, pl.Datetime):
        return _moments(series), {}
    if dtype == pl.Date:
        return series, {}
    return _numbers(series, column)


def _coded(table: Table, column: Column) -> tuple[pl.Series, dict[Any, str]] | None:
    """Labels turned back into codes; None where a cell stands for several values or is hidden."""
    if not column.labels or hidden_cells(table, column.name).any():
        return None
    series = table[column.name]
    if series.dtype not in (pl.String, pl.Categorical) and not isinstance(series.dtype, pl.Enum):
        return None
    return with_codes(series, column.labels)


def uncoded(table: Table, before: Schema, format: str) -> list[str]:
    """A note on columns that had labels in place of codes, which cannot come back where the format
    could hold them: some of their cells are labels of groups, or hidden."""
    names = [
        c.name
        for c in before
        if c.labels
        and c.kind in (Kind.NOMINAL, Kind.ORDINAL)
        and c.name in table.schema
        and (table.schema[c.name].generalized or hidden_cells(table, c.name).any())
        and _coded(table, c) is None
    ]
    if format not in ("sav", "dta") or not names:
        return []
    return [
        f"text in place of codes and their labels: {', '.join(names)}, since some cells stand for "
        "several codes or are hidden"
    ]


def _numbers(series: pl.Series, column: Column) -> tuple[pl.Series, dict[Any, str]]:
    bad = series.cast(pl.Float64).is_infinite()
    if series.dtype.is_integer():
        bad = series.cast(pl.Int128).abs() > _EXACT
    refuse_first(bad, series, "{}, which the format cannot hold exactly", _OTHER)
    held = set(series.drop_nulls().unique().cast(pl.Float64).to_list()) if column.labels else ()
    names = {code: name for code, name in column.labels if code in held}
    return series, names


def _text(series: pl.Series, table: Table, mark: str) -> pl.Series:
    what = "an empty text, which the format cannot tell from a missing one"
    refuse_first(series == "", series, what, _OTHER)
    hidden = hidden_cells(table, series.name)
    return marked_cells(series, hidden, mark).replace("", None) if hidden.any() else series


def _moments(series: pl.Series) -> pl.Series:
    if not getattr(series.dtype, "time_zone", None) and (series.dt.nanosecond() == 0).all():
        return series.cast(pl.Datetime("us"))
    return moments_as_text(series)


def _write(frame: pl.DataFrame, path: Path, format: str, made: _Made) -> None:
    try:
        package = pyreadstat()
    except InputError as error:
        raise OutputError(error.message, remedy=error.remedy) from None
    labels: dict[str, Any] = {"column_labels": made.labels}
    if format == "sav":
        labels |= {"variable_value_labels": made.values, "variable_measure": made.measures}
        labels["variable_format"] = made.formats
        writer: Callable[..., None] = package.write_sav
    elif format == "dta":
        labels |= {"variable_value_labels": made.values, "version": 14}
        writer = package.write_dta
    else:
        writer = package.write_xport
    try:
        writer(frame, str(path), **labels)
    except (package.ReadstatError, package.PyreadstatError, ValueError, OverflowError) as error:
        raise OutputError(
            f"the table cannot be written as {format}: {error}", remedy=_OTHER
        ) from error


def _stop_clock(path: Path, format: str) -> None:
    """Put a fixed time where the writer put its own, so that the same table gives the same bytes
    and nobody learns when they were made."""
    pattern, fixed = _CLOCKS[format]
    with path.open("r+b") as file:
        head = file.read(_HEAD)
        stopped = re.sub(pattern, lambda found: found[1] + fixed, head)
        assert len(stopped) == len(head)
        assert fixed in stopped
        file.seek(0)
        file.write(stopped)


def _compare(frame: pl.DataFrame, path: Path, format: str, made: _Made) -> None:
    """Refuse the first cell that does not come back: blanks at the end, numbers too fine, text too
    long."""
    found, words, _ = read_stat(Endpoint(format, path.name, path))
    for name, values in made.values.items():
        if dict(words[name].values if name in words else ()) != values:
            raise OutputError(
                f"the labels of {name!r} are too long or too many for a {format} file",
                remedy=_OTHER,
            )
    for series in frame:
        got = found[series.name]
        wanted = series
        if series.dtype.is_numeric():
            wanted, got = series.cast(pl.Float64), got.cast(pl.Float64, strict=False)
        elif got.dtype != wanted.dtype:
            got = got.cast(wanted.dtype, strict=False)
        same = wanted.eq_missing(got)
        if not same.all():
            row = int((~same).arg_max() or 0)
            raise OutputError(
                f"column {series.name!r}, record {row + 1:,} holds {wanted[row]!r}, which a "
                f"{format} file cannot: it comes back as {got[row]!r}",
                remedy=_OTHER,
            )
