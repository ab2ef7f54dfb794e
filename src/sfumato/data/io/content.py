"""The content of a source: its columns with their types, before anybody says what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from ...bounds import Limits
from ...errors import Complaint, InputError
from ..schema import NUMERIC, refuse_names
from . import numbers
from .cells.infer import Formats, declare, interpret
from .cells.sentinels import by_column, point_out
from .files import read_arrow, read_parquet, settle
from .folders import alike, unread_folders
from .sets import parse_fimi
from .sheets import read_sheet
from .source import DATABASES, SHEETS, STAT, TEXT, Endpoint, load
from .sql import in_order, read_duckdb, read_sqlite
from .stat import Labelled, labelled, read_stat
from .text.csv import Parsed, check_cells, headed, parse
from .text.sniff import Dialect

_MARKS = ("decimal", "thousands")
USABLE = {
    "table": DATABASES,
    "query": DATABASES,
    "key": (*DATABASES, "spark"),
    "sheet": SHEETS,
    "delimiter": TEXT,
    "encoding": (*TEXT, "fimi", *STAT),
    "decimal": TEXT,
    "thousands": (*TEXT, *SHEETS),
    "header": (*TEXT, *SHEETS),
    "missing": (*TEXT, *SHEETS),
}
"""The formats of which a reader can be told something; the rest can be told of all."""
MISSING = ("",)
"""What an unquoted cell of a text file holds where it is missing, unless the caller says more."""


@dataclass(frozen=True)
class Asked:
    """What the caller says about a source."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None
    query: str | None = None
    sheet: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: bool | int | None = None
    missing: tuple[str, ...] = MISSING
    sentinels: Any = None
    dates: Mapping[str, Formats] = field(default_factory=dict)
    as_text: tuple[str, ...] = ()
    """Columns to be cut into sets."""
    sample: bool = False
    key: str | None = None
    """What numbers the records of a database's table."""
    limits: Limits = field(default_factory=Limits)

    def check(self, end: Endpoint) -> None:
        """An option that the format would ignore is an error, not a wish unheard."""
        given = {**vars(self), "missing": None if self.missing == MISSING else self.missing}
        idle = [
            name
            for name, formats in USABLE.items()
            if given[name] is not None and end.format not in formats
        ]
        if idle:
            raise InputError(
                f"{' and '.join(idle)} cannot be used with {end.format} ({end.label})",
                remedy="leave out",
            )
        if self.header not in (None, True, False, 2):
            raise InputError(f"a header of {self.header} lines", remedy="header=2, or leave it out")
        self._check_marks()

    def _check_marks(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise InputError(
                f"{self.decimal!r} is not a decimal mark", remedy='decimal="." or decimal=","'
            )
        if self.thousands is None:
            return
        if self.thousands not in numbers.THOUSANDS or self.thousands == self.decimal:
            raise InputError(
                f"{self.thousands!r} cannot stand between thousands",
                remedy='thousands="\'", thousands=" " or the mark that is not the decimal one',
            )


@dataclass
class Content:
    """A source's columns, and what was decided about them."""

    frame: pl.DataFrame
    notes: list[str]
    kinds: dict[str, str] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    decided: dict[str, Any] = field(default_factory=dict)
    words: Mapping[str, Labelled] = field(default_factory=dict)
    share: float = 1.0
    absent: Mapping[str, list[str]] = field(default_factory=dict)
    """Texts that were taken for missing cells, by column."""
    heights: Sequence[int] = ()
    """Of a folder, how many records each file has."""


def read_content(end: Endpoint, asked: Asked) -> Content:
    """Read a source as its format asks."""
    if end.parts:
        found = _folder(end, asked)
    elif end.format in (*TEXT, *SHEETS):
        found = _untyped(end, asked)
    elif end.format in STAT:
        found = _stat(end, asked)
    else:
        frame, notes = typed_source(end, asked.table, asked.query, asked.encoding, asked.limits)
        refuse_names(frame.columns, end.label)
        frame = in_order(frame, asked.key, end.label) if asked.key else frame
        found = typed(frame, notes, end, asked)
    named = by_column(asked.sentinels, found.frame.columns, end.label)
    found.notes += point_out(found.frame, named)
    return found


def _folder(end: Endpoint, asked: Asked) -> Content:
    """The files of a folder as one table; what was found out about the first holds for the
    others."""
    if end.format in TEXT:
        first = _parsed(end.parts[0], asked)
        known = replace(asked, delimiter=first.dialect.delimiter, header=first.header)
        frames = [first.frame, *(_parsed(part, known).frame for part in end.parts[1:])]
        found = untyped(first._replace(frame=alike(frames, end.parts)), end, asked)
    else:
        frames = [typed_source(part, limits=asked.limits)[0] for part in end.parts]
        found = typed(alike(frames, end.parts), [], end, asked)
    found.notes += unread_folders(end)
    return replace(found, heights=[frame.height for frame in frames])


def _untyped(end: Endpoint, asked: Asked) -> Content:
    """Cells that are text; a sheet's are judged as those of a text file."""
    return untyped(_parsed(end, asked), end, asked)


def untyped(parsed: Parsed, end: Endpoint, asked: Asked) -> Content:
    """The content of cells that are text."""
    sheet = end.format in SHEETS
    refuse_names(parsed.frame.columns, end.label)
    reading = interpret(
        parsed.frame,
        kinds={**asked.kinds, **dict.fromkeys(asked.as_text, "nominal")},
        missing=asked.missing,
        decimal="." if sheet else asked.decimal,  # a sheet's numbers have points everywhere
        thousands=asked.thousands,
        delimiter=parsed.dialect.delimiter,
        formats=asked.dates,
        sentinels=by_column(asked.sentinels, parsed.frame.columns, end.label),
        sheet=sheet,
    )
    decided = {k: v for k, v in reading.decided.items() if not sheet or k not in _MARKS}
    if not parsed.header or (
        asked.header is None and any("header = " in note for note in parsed.notes)
    ):
        decided["header"] = parsed.header
    if parsed.encoding:
        decided["encoding"] = parsed.encoding
    return Content(
        reading.frame,
        parsed.notes + reading.notes,
        reading.kinds,
        reading.complaints,
        decided,
        share=parsed.share,
        absent=reading.absent,
    )


def _parsed(end: Endpoint, asked: Asked) -> Parsed:
    if end.format in SHEETS:
        cells, notes = read_sheet(end, asked.sheet, asked.limits)
        frame, header, more = headed(cells, asked.header, end.label)
        return Parsed(frame, Dialect(","), notes + more, header)
    return parse(
        load(end, asked.limits),
        end.label,
        delimiter=asked.delimiter,
        encoding=asked.encoding,
        header=asked.header,
        sample=asked.sample,
        limits=asked.limits,
    )


def _stat(end: Endpoint, asked: Asked) -> Content:
    frame, words, notes = read_stat(end, asked.encoding, asked.limits)
    refuse_names(frame.columns, end.label)
    # A code that means "no answer" is one before it is shown by its label.
    sentinels = by_column(asked.sentinels, frame.columns, end.label)
    frame = declare(frame, {}, None, sentinels).frame
    columns, kinds, shown, partly = [], {}, [], []
    for series in frame:
        known = words.get(series.name, Labelled())
        # Whoever asks for numbers gets the codes.
        codes = asked.kinds.get(series.name) in NUMERIC
        made, kind = (series, None) if codes else labelled(series, known)
        columns.append(made)
        if kind is not None:
            kinds[series.name] = str(kind)
            shown.append(series.name)
        elif known.values:
            partly.append(series.name)
    if shown:
        notes.append(f"labels are shown in place of codes in {', '.join(map(repr, shown))}")
    if partly:
        listed = ", ".join(map(repr, partly))
        notes.append(f"codes stay in {listed}: some have no label of their own; sentinels=...?")
    found = typed(pl.DataFrame(columns), notes, end, asked)
    return Content(found.frame, found.notes, kinds, found.complaints, found.decided, words)


def typed(frame: pl.DataFrame, notes: list[str], end: Endpoint, asked: Asked) -> Content:
    """The content of a source whose columns have types of their own."""
    asked.limits.check_columns(frame.width, end.label)
    check_cells(frame, end.label, asked.limits)
    refuse_names(frame.columns, end.label)
    frame, more = settle(frame, end.label)
    sentinels = by_column(asked.sentinels, frame.columns, end.label)
    declared = declare(frame, asked.kinds, asked.dates, sentinels)
    notes = [*notes, *more, *declared.notes]
    return Content(declared.frame, notes, complaints=declared.complaints)


def typed_source(
    end: Endpoint,
    table: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    limits: Limits | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """A source whose columns have types of their own."""
    if end.format == "fimi":
        return parse_fimi(load(end, limits), end.label, encoding)
    if end.format == "parquet":
        return read_parquet(end, limits), []
    if end.format == "arrow":
        return read_arrow(end, limits), []
    if end.format == "duckdb":
        return read_duckdb(end, table, query)
    if end.format == "sqlite":
        return read_sqlite(end, table, query)
    if end.format in STAT:
        return read_stat(end, limits=limits)[0], []
    if end.format == "spark":
        raise InputError(f"{end.label} is a table of Spark's", remedy='[engine] use = "spark"')
    from .postgres import read_postgres

    return read_postgres(end, table, query)
