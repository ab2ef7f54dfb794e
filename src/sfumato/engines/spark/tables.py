"""Spark's own tables: read in the order of a key, and written as such."""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from ...data.io.pieces import Pieces
from ...data.io.reading import Request
from ...data.io.sql import check_key
from ...data.ordered import from_arrow
from ...data.schema import missing_column
from ...data.table import Table
from ...errors import InputError, OutputError, SchemaError, SfumatoError
from . import workers
from .cells import MADE, batch_of, rows_of_part, schema_of_cells, told
from .inputs import numbered, stored_parts

if TYPE_CHECKING:
    from .engine import Spark
    from .relation import SparkRelation

_FIRST = 1 << 16
"""Records on which it is decided what the columns are."""
_MARK, _SESSION = "sfumato.release", "spark_catalog"
"""The property of a table that a release made; the catalog that a session has by itself."""


def table_of(engine: Spark, request: Request) -> SparkRelation:
    """The records of a table; their numbers are the ranks of their keys."""
    key, label = request.asked.key, request.end.label
    if not key:
        raise InputError(
            f"the records of {label} have no order, so that nothing numbers them",
            remedy='[input] key = "a column without repeats"',
        )
    frame = engine.session.run(f"looking for {label}", lambda: _known(engine, request))
    if key not in frame.columns:
        raise SchemaError(label, [missing_column(key, frame.columns)])
    ordered = frame.orderBy(frame[f"`{key}`"])
    first = engine.session.fetched("reading", ordered.limit(_FIRST))
    pieces = Pieces(request, check_key(from_arrow(first), key, label, None))
    width = len(pieces.empty.names)
    made = ordered.mapInArrow(_ranked(pieces.lean(), request, width), schema_of_cells(width))
    return numbered(engine, "reading", made, pieces.empty)[0]


def _known(engine: Spark, request: Request) -> Any:
    """The table, where a catalog has it: Spark would take csv.`/etc/passwd` for one, too."""
    if not engine.given.catalog.tableExists(request.end.url):
        raise InputError(
            f"Spark has no table {request.end.url}", remedy="spark://CATALOG.DATABASE.TABLE"
        )
    return engine.given.table(request.end.url)


def _ranked(pieces: Pieces, request: Request, width: int) -> workers.Work:
    """The records of a task, which are in the order of their keys, as are the tasks."""
    key, label, rows = str(request.asked.key), request.end.label, rows_of_part(pieces.empty)

    def tables(batches: Iterable[pa.RecordBatch]) -> Iterator[Table]:
        last, before = None, 0
        for arrow in _together(batches, rows):
            frame = check_key(from_arrow(arrow), key, label, last)
            last = frame.get_column(key)[-1]
            yield pieces.table(frame, request.end, before)
            before += frame.height

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get().partitionId()
        many = yield from stored_parts(tables(batches), task, width)
        yield batch_of({MADE: told((task, many, None))}, width)

    return workers.Guarded(work, lambda raw: batch_of({MADE: raw}, width))


def _together(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        if sum(one.num_rows for one in held) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


class SparkTable:
    """The table of Spark's that the records of a release become.

    It is filled under a name of its own, read back, and gets its name at the end. What a run that
    died left under such a name is dropped by the next one for the same release.
    """

    def __init__(
        self, engine: Spark, name: str, aside: Path, *, replacing: bool, own: bool
    ) -> None:
        """`aside` is the hidden folder in which the release is made; `replacing` says that a table
        of that name is the one of the release that is replaced, `own` that Spark ends with it."""
        self._engine, self._replacing, self._own = engine, replacing, own
        *self._place, self._last = name.split(".")
        _, release, token, _ = aside.name.rsplit(".", 3)
        said = f"{socket.gethostname()} {aside.parent / release}"
        self._ours = f"{self._last}__sfumato_{hashlib.sha256(said.encode()).hexdigest()[:8]}"
        self._aside, self._staged = aside, f"{self._ours}_{token}"

    def check(self) -> None:
        """Refuse early where the table could not be made anyway."""
        if self._forgotten():
            raise OutputError(
                f"the table {self._last} would be gone with Spark: its catalog is in memory",
                remedy='[engine] conf = { "spark.sql.catalogImplementation" = "hive" }, or a '
                "catalog of its own",
            )
        self._sweep()
        if self._exists(self._last) and not (self._replacing and self._is_ours()):
            raise OutputError(
                f"Spark has a table {self._last} already",
                remedy="another name; --replace takes the place of the table that the replaced "
                "release has made, and of no other",
            )

    def fill(self, parts: Sequence[Path], back: Path) -> str:
        """Write the records of all parts, read them back into a folder, and tell the digest of
        what was sent."""
        digest, records = hashlib.sha256(), 0
        for part in parts:
            with part.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
            records += parquet.read_metadata(part).num_rows
        session = self._engine.session
        plainly = session.spark.read.option("__globPaths__", "false")  # "[1]" is a name
        frame = plainly.parquet(*(f"file://{part.absolute()}" for part in parts))
        writer = frame.writeTo(self._named(self._staged))
        writer = writer.tableProperty(_MARK, digest.hexdigest())
        self._told("writing", writer.create)
        again = session.spark.table(self._named(self._staged))
        self._told("reading back", lambda: again.write.parquet(f"file://{back.absolute()}"))
        if sum(parquet.read_metadata(one).num_rows for one in back.glob("part-*")) != records:
            raise OutputError("records were lost on the way", remedy="see Spark's log")
        return digest.hexdigest()

    @contextmanager
    def appearing(self) -> Iterator[None]:
        """The table gets its name when the block ends without an error."""
        yield
        self.check()  # nobody else was faster
        old = f"{self._staged}_old" if self._exists(self._last) else ""
        if old:
            self._rename(self._last, old)
        try:
            self._rename(self._staged, self._last)
        except BaseException:
            if old:
                self._rename(old, self._last)
            raise
        if old:
            self._drop(old)

    def close(self) -> None:
        """Forget what did not get its name."""
        if self._exists(self._staged):
            self._drop(self._staged)

    def _sweep(self) -> None:
        """Drop what runs for this release left that live no longer: each has a folder."""
        place = f" IN {_quoted(self._place)}" if self._place else ""
        pattern = f"{self._ours}_*"
        for row in self._sql(f"SHOW TABLES{place} LIKE '{pattern}'").collect():
            token = row["tableName"].removeprefix(f"{self._ours.lower()}_").removesuffix("_old")
            folder = re.sub(r"[^.]*\.staging$", f"{token}.staging", self._aside.name)
            if not (self._aside.parent / folder).exists():
                self._drop(row["tableName"])

    def _forgotten(self) -> bool:
        """Whether Spark stops with this run, and its catalog with it."""
        if not self._own or (len(self._place) > 1 and self._place[0] != _SESSION):
            return False
        how = self._engine.given.conf.get("spark.sql.catalogImplementation", "in-memory")
        return bool(how == "in-memory")

    def _exists(self, last: str) -> bool:
        return bool(self._engine.given.catalog.tableExists(self._named(last)))

    def _is_ours(self) -> bool:
        """Whether a release made the table that is there."""
        listed = self._sql(f"SHOW TBLPROPERTIES {self._named(self._last)}").collect()
        return any(row["key"] == _MARK for row in listed)

    def _rename(self, one: str, other: str) -> None:
        # The new name is one within the same catalog, which it does not name.
        place = self._place[1:] if len(self._place) > 1 else self._place
        self._sql(f"ALTER TABLE {self._named(one)} RENAME TO {_quoted([*place, other])}")

    def _drop(self, last: str) -> None:
        self._sql(f"DROP TABLE IF EXISTS {self._named(last)}")

    def _named(self, last: str) -> str:
        return _quoted([*self._place, last])

    def _sql(self, statement: str) -> Any:
        return self._told("tables", lambda: self._engine.given.sql(statement))

    def _told(self, what: str, work: Callable[[], Any]) -> Any:
        try:
            return self._engine.session.run(what, work)
        except OutputError:
            raise
        except SfumatoError as error:
            raise OutputError(
                f"the table {self._last} cannot be written: {error.message}",
                remedy="give another name, or a catalog in which tables can be renamed",
            ) from error


def _quoted(parts: Iterable[str]) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)
