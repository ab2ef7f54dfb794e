"""A text file, or a folder of them, piece by piece.

Delimiter, header, marks in numbers, formats of dates and kinds are decided on the first piece of
the first file, and on the first that has values of a column where that one has none; later pieces
are read by the same reader, which has to come to the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ...errors import Complaint, InputError, SchemaError
from ..kinds import kind_of
from ..schema import Kind
from ..table import Table
from .content import Content, untyped
from .dates import by_formats, dates
from .folders import check_alike
from .pieces import fitted, moved, refuse_whole_sets, remedy
from .reading import ReadTable, Request
from .source import Endpoint, present
from .text.blocks import blocks
from .text.csv import Parsed, parse


class TextPieces:
    """The records of text files as tables that are alike, each of about `size` bytes of text."""

    def __init__(self, request: Request, size: int) -> None:
        refuse_whole_sets(request)
        self.parts: Sequence[Endpoint] = request.end.parts or (request.end,)
        self._size, self._asked = size, request.asked
        self._first = self._parsed(next(self._blocks(self.parts[0], '"')), self.parts[0])
        self._first = self._first._replace(frame=self._with_values(self._first.frame))
        content = untyped(self._first, request.end, request.asked)
        self.read: ReadTable = request.made(content)
        self.empty: Table = self.read.table.take(np.empty(0, dtype=np.int64))
        self._request = request.of(self.read.table)
        self._types = content.frame.schema
        self._words = {name: _stripped(cells) for name, cells in content.absent.items()}
        self._fix(content)

    def _with_values(self, first: pl.DataFrame) -> pl.DataFrame:
        """The first piece, and below it later records that have values of columns which have none
        there: of no values nothing can be told."""
        known = {*self._asked.kinds, *self._asked.dates}
        empty = {name for name in first.columns if name not in known and _valueless(first[name])}
        found = [first]
        for part in self.parts if empty else ():
            for i, block in enumerate(self._blocks(part, self._first.dialect.quote)):
                if not empty or not block.strip():
                    continue
                cells = self._cells(block, part, first=i == 0)
                here = {name for name in empty if not _valueless(cells[name])}
                if here:
                    found.append(cells)
                    empty -= here
            if not empty:
                break
        return pl.concat(found) if len(found) > 1 else first

    def _fix(self, content: Content) -> None:
        """What the first piece decided, in the words that a caller would use."""
        asked, raw = self._asked, self._first.frame
        kinds, formats = dict(asked.kinds), dict(asked.dates)
        self._blank = []
        for name, dtype in self._types.items():
            if dtype.is_temporal() and name not in formats:
                known = self._formats(content.frame[name])
                formats |= {name: known} if known else {}
                kinds |= {name: str(Kind.DATE)} if known else {}
            elif name not in kinds and name not in asked.as_text and dtype == pl.String:
                self._settled(name)
                kinds[name] = str(Kind.NOMINAL)
                if not raw[name].equals(content.frame[name]) and _blank(raw[name]):
                    self._blank.append(name)
        marks: dict[str, Any] = {
            key: content.decided[key]
            for key in ("decimal", "thousands", "missing", "sentinels")
            if key in content.decided
        }
        self._later = replace(
            asked, **{"decimal": asked.decimal or ".", **marks, "kinds": kinds, "dates": formats}
        )

    def _formats(self, values: pl.Series) -> tuple[str, ...]:
        """By which formats a column's dates are read again; none where its cells can be read in
        one way only."""
        text = self._first.frame[values.name]
        found = dates(text.str.strip_chars(), asked=values.name in self._asked.kinds)
        if found is None or not by_formats(text, found.formats).equals(values):
            return ()
        return found.formats

    def _settled(self, name: str) -> None:
        """Refuse a column whose dates later records might settle otherwise."""
        found = dates(self._first.frame[name].str.strip_chars())
        if found is not None and found.values is None:
            raise InputError(
                f"the dates in {name!r} could be {' or '.join(found.formats)}",
                remedy=f'[input] dates = {{ {name} = "{found.formats[0]}" }}',
            )

    def lean(self) -> TextPieces:
        """The same for workers, who need not get the records that were read first."""
        found = copy(self)
        found.read = self.read._replace(table=self.empty)
        found._first = self._first._replace(frame=self._first.frame.clear())
        return found

    @property
    def words(self) -> Mapping[str, set[str]]:
        """The words for missing that were met in each column."""
        return self._words

    def agree(self, words: Mapping[str, set[str]]) -> None:
        """Refuse words for missing that were met elsewhere and are not those met here."""
        self._one_word({name: sorted(found) for name, found in words.items()}, self.parts[0])

    def tables(self) -> Iterator[Table]:
        """All records, in order."""
        for file in range(len(self.parts)):
            yield from self.tables_of(file)

    def tables_of(self, file: int) -> Iterator[Table]:
        """The records of one file, in order."""
        part, before = self.parts[file], 0
        for i, block in enumerate(self._blocks(part, self._first.dialect.quote)):
            if not block.strip():
                continue
            cells = self._cells(block, part, first=i == 0)
            yield self._table(cells, part, before)
            before += cells.height

    def _blocks(self, part: Endpoint, quote: str) -> Iterator[bytes]:
        asked = self._asked
        yield from blocks(
            present(part), part.label, asked.encoding, quote, self._size, asked.limits
        )
        if not part.file.stat().st_size:
            raise InputError(
                f"{part.label} is empty", remedy="give a file with a header and records"
            )

    def _parsed(self, block: bytes, part: Endpoint) -> Parsed:
        asked = self._asked
        return parse(
            block, part.label, delimiter=asked.delimiter, encoding="utf-8", header=asked.header,
            limits=asked.limits,
        )  # fmt: skip

    def _cells(self, block: bytes, part: Endpoint, *, first: bool) -> pl.DataFrame:
        """The cells of a block under their names."""
        known = self._first
        if first:
            found = parse(
                block,
                part.label,
                delimiter=known.dialect.delimiter,
                encoding="utf-8",
                header=known.header,
                limits=self._asked.limits,
            ).frame
            check_alike(found.schema, part, known.frame.schema, self.parts[0])
            return found
        found = parse(
            block, part.label, encoding="utf-8", header=False, dialect=known.dialect,
            limits=self._asked.limits,
        ).frame  # fmt: skip
        if found.width != known.frame.width:
            raise InputError(
                f"{part.label} has records of {found.width} cells where the first line has "
                f"{known.frame.width}",
                remedy="quote cells that hold the delimiter, or give delimiter=...",
            )
        return found.rename(dict(zip(found.columns, known.frame.columns, strict=True)))

    def _table(self, cells: pl.DataFrame, part: Endpoint, before: int) -> Table:
        cells = cells.with_columns(self._unblanked(cells[n], part, before) for n in self._blank)
        content = untyped(self._first._replace(frame=cells, notes=[]), part, self._later)
        try:
            if content.complaints:
                raise SchemaError(part.label, content.complaints)
            self._one_word(content.absent, part)
            frame = self._conform(cells, content.frame, part)
            made = self._request.made(Content(frame, [])).table
        except SchemaError as error:
            raise SchemaError(part.label, moved(error.complaints, before)) from None
        return fitted(made, self.empty, part)

    def _unblanked(self, text: pl.Series, part: Endpoint, before: int) -> pl.Series:
        bad = ~text.str.starts_with(" ").fill_null(True)
        if bad.any():
            row = before + int(bad.arg_max() or 0) + 1
            what = f"record {row:,} has no blank before it, as all had in the first piece"
            raise SchemaError(part.label, [Complaint(text.name, what, "write all in one way")])
        return text.str.strip_prefix(" ")

    def _one_word(self, absent: Mapping[str, list[str]], part: Endpoint) -> None:
        """Refuse several words for missing: nobody said that they mean it."""
        for name, cells in absent.items():
            known = self._words.setdefault(name, set())
            known |= _stripped(cells)
            if len(known) > 1:
                shown = sorted(known)
                what = f"beside values it holds {' and '.join(map(repr, shown))}"
                raise SchemaError(part.label, [Complaint(name, what, f"[input] missing = {shown}")])

    def _conform(self, cells: pl.DataFrame, frame: pl.DataFrame, part: Endpoint) -> pl.DataFrame:
        """The columns in the types of the first piece, where their values allow it."""
        columns = []
        for series in frame:
            wanted = self._types[series.name]
            if series.dtype == wanted:
                columns.append(series)
            elif series.null_count() == len(series) or (
                wanted == pl.Float64 and series.dtype == pl.Int64
            ):
                columns.append(series.cast(wanted, strict=False))
            else:
                raise SchemaError(part.label, [self._misfit(cells[series.name], series, wanted)])
        return pl.DataFrame(columns)

    def _misfit(self, cells: pl.Series, found: pl.Series, wanted: Any) -> Complaint:
        """The complaint about a column that is something else than in the first piece."""
        name, kind = cells.name, kind_of(pl.Series([], dtype=wanted))
        asked = replace(self._later, kinds={name: str(kind)}, dates={}, sentinels=None)
        again = untyped(self._first._replace(frame=cells.to_frame()), self.parts[0], asked)
        broad = "continuous" if found.dtype == pl.Float64 else "nominal"
        if again.complaints:
            what = f"{again.complaints[0].what}, as the first piece has it"
            return Complaint(name, what, remedy(name, broad))
        what = f"is {kind_of(found)} from here on, and {kind} in the first piece"
        return Complaint(name, what, remedy(name, broad))


def _valueless(text: pl.Series) -> bool:
    return bool(text.is_null().all()) or not (text.drop_nulls().str.strip_chars() != "").any()


def _stripped(cells: Sequence[str]) -> set[str]:
    return {word for cell in cells if (word := cell.strip())}


def _blank(text: pl.Series) -> bool:
    return bool(text.drop_nulls().str.starts_with(" ").all())
