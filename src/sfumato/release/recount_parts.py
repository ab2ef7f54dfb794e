"""Promises counted on a release that is larger than memory: `part-*.parquet` in a folder.

DuckDB deals the published records into buckets by a hash of their quasi-identifiers, so that every
class lies whole in one bucket; each bucket is then a table, on which criteria count as they count
on any. What they find is made one, and the counts of the whole's values are handed to each.

This file shares nothing with the code that made the release. `import-linter` keeps it so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..data.domain import Domain
from ..data.exact import each
from ..data.io.back import restored
from ..data.linkage.earlier import PARTS
from ..data.schema import SUPPRESSED, Column, Kind, Role, Schema
from ..data.table import Table
from ..errors import InputError, MeasureError
from ..measurement import Finding
from ..progress import report
from ..protocols import Criterion
from .sql_recount import connected, source_of, text_of

if TYPE_CHECKING:
    import duckdb

    from .plan.requirement import Requirement

MEMORY = 2 << 30
_PERSON, _KEY = "person", "__person"
"""Who a record is about: what that column is called unless it is told, and beside the records."""
_LABELS = 1_000_000
"""Different texts of a column that are numbered; where there are more, texts stay texts."""
_EACH, _CELL = 120, 24
"""Bytes that counting takes for a record, and for each of its cells."""


def gaps(requirements: Iterable[Requirement], schema: Schema) -> list[str]:
    """What of this cannot be counted on parts, and why."""
    things = [r.thing for r in requirements if isinstance(r.thing, Criterion)]
    return [f"{thing.name}: {why}" for thing in things if (why := thing.gap(schema))]


def recount_parts(
    folder: Path,
    schema: Schema,
    requirements: Iterable[Requirement],
    *,
    memory: int = MEMORY,
    temporary: Path | None = None,
    threads: int = 0,
    people: Path | None = None,
    called: str = _PERSON,
    suppressed: str = SUPPRESSED,
    buckets: int = 0,
) -> list[Finding]:
    """Each criterion, counted on the parts of a release; `schema` is that of the masked table.

    `people` is a folder of parts, too, of the same records in the same order, whose column `called`
    so tells who has several records. Limits on measures are judged where these are taken.
    """
    listed = list(requirements)
    asked = [(r.name, r.thing) for r in listed if isinstance(r.thing, Criterion)]
    if not asked:
        return []
    if left := gaps(listed, schema):
        raise MeasureError(
            f"cannot be counted on parts: {left[0]}", remedy='[engine] use = "local"'
        )
    needed = _needed([thing for _, thing in asked], schema)
    with connected(memory // 2, temporary, threads) as base:
        parts = _Parts(base, folder, schema.only(needed), people, called, suppressed)
        many = buckets or _buckets(parts.records, len(needed), memory)
        counted: list[list[Finding]] = [[] for _ in asked]
        records = []
        with parts.dealt(many, temporary) as tables:
            for done, table in enumerate(tables):
                report("counting again", done, many)
                records.append(table.height)
                for found, (_, thing) in zip(counted, asked, strict=True):
                    found.append(_checked(thing, table, people is not None))
        named = [
            thing.joined(found, records).named(name)
            for (name, thing), found in zip(asked, counted, strict=True)
        ]
        return named if people is None else [parts.of_people(one) for one in named]


def _checked(thing: Criterion, table: Table, several: bool) -> Finding:
    return thing.check_people(table, _KEY) if several else thing.check(table)


def _needed(things: Sequence[Criterion], schema: Schema) -> list[str]:
    """The columns that are counted: of values only where a criterion speaks of them."""
    chosen = {*schema.quasi, *schema.of_role(Role.HOUSEHOLD)}
    for thing in things:
        if thing.on_parts != "sizes":
            named = str(thing.parameters().get("column", ""))
            chosen |= {named} if named in schema else {*schema.confidential}
    return [name for name in schema.names if name in chosen]


def _buckets(records: int, columns: int, memory: int) -> int:
    """So many that counting one of them takes a third of the memory: buckets are not alike."""
    return max(1, -(-records * (_EACH + _CELL * columns) * 3 // memory))


@dataclass(frozen=True, eq=False)
class _Parts:
    """What was written, as SQL sees it."""

    base: duckdb.DuckDBPyConnection
    folder: Path
    schema: Schema
    people: Path | None
    called: str
    mark: str

    @cached_property
    def _columns(self) -> dict[str, str]:
        """What each column is called here: SQL does not tell capitals apart, and names of the file
        may be ours."""
        return {name: f"c{i}" for i, name in enumerate(_names(self.folder))}

    @property
    def _source(self) -> str:
        if self.people is None:
            return _renamed(self.folder)
        shown = _placed(self.base, self.folder)
        who = _placed(self.base, self.people)
        person = f"p.c{_names(self.people).index(self.called)} AS {_KEY}"
        return f"(SELECT d.*, {person} FROM ({shown}) d JOIN ({who}) p USING (__row))"

    @cached_property
    def records(self) -> int:
        """How many there are; those whose person is told nowhere are missed."""
        ((many,),) = self.base.execute(f"SELECT count(*) FROM {source_of(self.folder)}").fetchall()
        if not many:
            raise InputError(f"{self.folder} holds no records")
        return int(many)

    def _frame(self, sql: str) -> pl.DataFrame:
        return pl.DataFrame(self.base.sql(sql).to_arrow_table())

    @cached_property
    def labels(self) -> dict[str, pl.Series]:
        """By generalized column: its labels, where they are few enough to be numbered."""
        found = {}
        for column in self.schema:
            if not column.generalized:
                continue
            name, source = self._columns[column.name], _renamed(self.folder)
            sql = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL"
            texts = self._frame(f"{sql} LIMIT {_LABELS + 1}").to_series().sort()
            if len(texts) <= _LABELS and not (
                self.mark != SUPPRESSED and SUPPRESSED in texts and self.mark in texts
            ):
                found[column.name] = texts
        return found

    @contextmanager
    def dealt(self, buckets: int, temporary: Path | None) -> Iterator[Iterator[Table]]:
        """The records as so many tables at most, each class in one of them."""
        with tempfile.TemporaryDirectory(dir=temporary, prefix="sfumato-") as place:
            shown = [self._shown(name) for name in self.schema.names]
            shown += [] if self.people is None else [_KEY]
            keys = ", ".join(self._columns[name] for name in self.schema.quasi)
            bucket = f"hash({keys}) % {buckets}" if keys and buckets > 1 else "0"
            told = f"SELECT {', '.join(shown)} FROM {self._source}"
            sql = f"SELECT *, {bucket} AS __bucket FROM ({told})"
            target = f"{place}/dealt"
            self.base.execute(
                f"COPY ({sql}) TO {text_of(target)} "
                "(FORMAT parquet, PARTITION_BY (__bucket), COMPRESSION lz4)"
            )
            yield (self._table(path) for path in sorted(Path(target).glob("*")))

    def _shown(self, name: str) -> str:
        """A column as it is dealt: labels as their numbers, each a type of DuckDB's."""
        own = self._columns[name]
        if name not in self.labels or self.labels[name].is_empty():
            return own
        number = self.schema.names.index(name)
        listed = ", ".join(map(text_of, self.labels[name]))
        self.base.execute(f"CREATE OR REPLACE TYPE labels_{number} AS ENUM ({listed})")
        return f"enum_code({own}::labels_{number}) AS {own}"

    def _table(self, folder: Path) -> Table:
        frame = pl.read_parquet(
            sorted(folder.glob("*.parquet")), glob=False, hive_partitioning=False
        )
        held = {own: name for name, own in self._columns.items() if own in frame.columns}
        frame = frame.rename(held)
        series = []
        for name, texts in self.labels.items():
            words = texts.replace(self.mark, SUPPRESSED)
            codes = frame.get_column(name).cast(pl.UInt32)
            series.append(codes.cat.to(pl.Enum(words)).alias(name))
        plain = [name for name in self.schema.names if name not in self.labels]
        values = restored(frame.select(each(plain)), self.schema.only(plain), suppressed=self.mark)
        series += values.frame.get_columns()
        if self.people is not None:
            series.append(frame.get_column(_KEY))
        made = pl.DataFrame(series).select(each([*self.schema.names, *self._person_column]))
        schema = Schema([*(self._known(column) for column in self.schema), *self._person_columns])
        return Table(made, schema, values.marks)

    @property
    def _person_columns(self) -> list[Column]:
        return [] if self.people is None else [Column(_KEY, Kind.NOMINAL, Role.IDENTIFIER)]

    @property
    def _person_column(self) -> list[str]:
        return [column.name for column in self._person_columns]

    def _known(self, column: Column) -> Column:
        """With the counts of the whole, where values are counted."""
        if column.role in (Role.QUASI, Role.HOUSEHOLD) or column.kind == Kind.SET:
            return column
        return column.with_(whole=self._domain(column.name))

    def _domain(self, name: str) -> Domain:
        if name not in self._domains:
            self._domains[name] = self._counted(name)
        return self._domains[name]

    @cached_property
    def _domains(self) -> dict[str, Domain]:
        return {}

    def _counted(self, name: str) -> Domain:
        own = self._columns[name]
        sql = f"SELECT {own}, count(*) AS n FROM {_renamed(self.folder)} GROUP BY {own}"
        frame = self._frame(sql)
        held = frame.get_column(own).alias(name).to_frame()
        values = restored(held, self.schema.only([name]), suppressed=self.mark)[name]
        values = values.fill_nan(None) if values.dtype.is_float() else values
        counted = pl.DataFrame({"v": values, "n": frame.get_column("n")}).group_by("v").sum()
        known = counted.filter(pl.col("v").is_not_null()).sort("v")
        missing = counted.filter(pl.col("v").is_null())["n"].sum()
        counts = known["n"].to_numpy().astype(np.int64)
        return Domain(known["v"].alias(name), counts, int(missing))

    def of_people(self, found: Finding) -> Finding:
        """The finding with how many people there are, who may be in several buckets."""
        if "people" not in found.detail:
            return found
        assert self.people is not None
        person = _names(self.people).index(self.called)
        sql = f"SELECT count(DISTINCT c{person}) FROM {_renamed(self.people)}"
        ((people,),) = self.base.execute(sql).fetchall()
        because = f"{people:,} people have {self.records:,} records, by `{self.called}`"
        detail = {**found.detail, "people": int(people), "by": self.called, "because": because}
        return replace(found, detail=detail)


def _names(folder: Path) -> list[str]:
    """The columns of the parts, as the first of them has them; or of the only file."""
    if folder.is_dir() or folder.suffix == ".parquet":
        file = min(folder.glob(PARTS)) if folder.is_dir() else folder
        return list(pl.read_parquet_schema(file))
    with connected(MEMORY, None, 0) as base:
        return base.sql(f"SELECT * FROM {source_of(folder)}").columns


def _renamed(folder: Path, *more: str) -> str:
    """The records, their columns named by their places; with `more` that DuckDB knows of them."""
    listed = ", ".join([*(f"c{i}" for i in range(len(_names(folder)))), *more])
    asked = "".join(f", {name} = true" for name in more)
    shown = f"* EXCLUDE ({', '.join(more)}), {', '.join(more)}" if more else "*"
    return f"(SELECT {shown} FROM {source_of(folder)[:-1]}{asked})) AS d({listed})"


def _placed(base: duckdb.DuckDBPyConnection, folder: Path) -> str:
    """The records of all parts, with their place (`__row`) in the order of the parts."""
    files = source_of(folder).removeprefix("read_parquet")
    sql = (
        "SELECT parse_filename(file_name) AS f, num_rows "
        f"FROM parquet_file_metadata{files} ORDER BY f"
    )
    first, listed = 0, []
    for name, rows in base.execute(sql).fetchall():
        listed.append(f"({text_of(name)}, {first})")
        first += int(rows)
    strange = {"filename", "file_row_number"} & {name.lower() for name in _names(folder)}
    if strange:
        raise InputError(
            f"a column is called {min(strange)!r}, as one of DuckDB's is", remedy="rename it"
        )
    files = _renamed(folder, "filename", "file_row_number")
    return (
        "SELECT d.* EXCLUDE (filename, file_row_number), o.first + d.file_row_number AS __row "
        f"FROM {files} JOIN (VALUES {', '.join(listed)}) o(f, first) "
        "ON parse_filename(d.filename) = o.f"
    )
