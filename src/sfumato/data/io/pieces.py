"""A source that is read piece by piece: what is decided on its first piece holds for all of it.

A whole source is judged by all of its values; a piece at a time, it cannot be. So a later value
that does not fit the first piece's decision stops the reading, and the error names the file, the
record, the column and what to write into the plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
import polars as pl

from ...errors import Complaint, InputError, SchemaError
from ..exact import each
from ..table import Table
from .content import typed
from .folders import ROW
from .reading import ReadTable, Request
from .source import Endpoint


def refuse_whole_sets(request: Request) -> None:
    """Sets that are made of several records, or of all values, need all of the source at once."""
    for spec in request.sets:
        if set(spec) - {"column", "separator"}:
            raise InputError(
                f"{request.end.label}: sets = {spec!r} needs all records at once",
                remedy='make the sets beforehand, or [engine] use = "local"',
            )


class Pieces:
    """Frames of a source with types of their own, as tables that are alike."""

    def __init__(self, request: Request, first: pl.DataFrame) -> None:
        refuse_whole_sets(request)
        self.read: ReadTable = request.made(typed(first, [], request.end, request.asked))
        self.empty: Table = self.read.table.take(np.empty(0, dtype=np.int64))
        self._request = request.of(self.read.table)

    def lean(self) -> Pieces:
        """The same for workers, who need not get the records that were read first."""
        found = copy(self)
        found.read = self.read._replace(table=self.empty)
        return found

    def table(self, frame: pl.DataFrame, part: Endpoint, before: int) -> Table:
        """A piece with some of the columns; `before` records of its file come before it."""
        names = [name for name in self.empty.names if name in frame.columns]
        request = self._request.only(names)
        try:
            content = typed(frame.select(each(names)), [], part, request.asked)
            made = request.made(content).table
        except SchemaError as error:
            raise SchemaError(part.label, moved(error.complaints, before)) from None
        return fitted(made, self.empty, part)


def fitted(made: Table, empty: Table, part: Endpoint) -> Table:
    """The piece with the types and the schema of the first one."""
    complaints, series, types = [], [], empty.frame.schema
    for column in made.frame:
        wanted = types[column.name]
        if column.dtype != wanted and column.null_count() == len(column):
            column = pl.Series(column.name, [None] * len(column), dtype=wanted)
        if column.dtype != wanted:
            what = f"holds {column.dtype}, and {wanted} in the first piece"
            complaints.append(Complaint(column.name, what, remedy(column.name, "nominal")))
        series.append(column)
    if complaints:
        raise SchemaError(part.label, complaints)
    return Table(pl.DataFrame(series), empty.schema.only(made.names))


def remedy(name: str, kind: str) -> str:
    """What a plan says to settle what a column is."""
    return f'[columns] {name} = {{ kind = "{kind}" }}'


def moved(complaints: Sequence[Complaint], before: int) -> list[Complaint]:
    """The complaints about a piece, with the rows of its file."""

    def counted(found: re.Match[str]) -> str:
        return f"{found[1]} {int(found[2].replace(',', '')) + before:,}"

    return [replace(one, what=ROW.sub(counted, one.what)) for one in complaints]
