"""`Spark`: where the records of a plan lie in a Spark cluster, or in one on this machine."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ...data.table import Table
from ...errors import ParameterError
from ..scratch import Scratch
from .cells import BUCKET, MADE, PART, ROWS, batch_of, heard, row_of, rows_of_part
from .layers import Division, Layer, cells_like
from .relation import SparkRelation
from .session import STORED, Session, is_here, running, started, stopped

_BUCKET_BYTES = 128 << 20
_FILES = "file://"


class Owner:
    """What is stored in a folder, until nobody needs it."""


@dataclass(frozen=True)
class Stored:
    """Rows that Spark has committed to a folder, and what their workers told."""

    frame: Any
    rows: int
    made: Sequence[Any]
    owner: Owner


class Spark:
    """Runs in a Spark session: a given one, one that runs already, or one of its own."""

    name: ClassVar[str] = "spark"

    def __init__(
        self,
        *,
        master: str = "",
        conf: Mapping[str, str] | None = None,
        threads: int | None = None,
        memory: int | None = None,
        temporary: str | Path = "",
        partitions: int = 0,
        session: Any = None,
    ) -> None:
        session = session or running()
        here = is_here(master) if session is None else Session(session).here
        with ExitStack() as opened:
            self._folder = _folder(str(temporary), here, opened)
            if session is None:
                own = self._folder.removeprefix(_FILES)
                session = started(master, conf or {}, threads, memory, own)
                opened.callback(stopped, session)
            self.given, self.session = session, Session(session)
            if not self._folder.startswith(_FILES):
                opened.callback(_removed, self.session.context, self._folder)
            self._closing = opened.pop_all()
        side_by_side = self.session.side_by_side
        self.partitions = partitions or side_by_side
        self.session.spark.conf.set("spark.sql.files.minPartitionNum", str(self.partitions))
        self.session.spark.conf.set("spark.sql.shuffle.partitions", str(self.partitions))
        # Of what a worker may hold, an eighth: records are gathered, sorted, masked and packed.
        self.bucket_bytes = memory * 2 // 3 // side_by_side // 8 if memory else _BUCKET_BYTES

    def open(self, source: Any, options: Mapping[str, Any] | None = None) -> SparkRelation:
        """The records of a source: Parquet or text files that all executors can read, or a table
        of Spark's (spark://NAME)."""
        from .inputs import opened

        return opened(self, source, options or {})

    def of(self, given: Table, numbers: np.ndarray | None = None) -> SparkRelation:
        """Records that are in memory here, such as a table to look things up in."""
        known = np.arange(given.height, dtype=np.uint64) if numbers is None else numbers
        like = given.take(np.empty(0, dtype=np.int64))
        size = max(1, min(rows_of_part(like), -(-given.height // self.partitions)))
        starts = range(0, max(given.height, 1), size)
        parts = [np.arange(at, min(at + size, given.height)) for at in starts]
        width = len(like.names)
        rows = (row_of(given.take(part), known[part]) for part in parts)
        arrow = pa.Table.from_batches([batch_of(row, width, i) for i, row in enumerate(rows)])
        arrow = arrow.append_column(BUCKET, pa.array(np.arange(len(parts), dtype=np.int32)))
        frame = self.session.spark.createDataFrame(arrow).repartitionById(self.partitions, BUCKET)
        layer = Layer(Division(given.height), frame, cells_like(like), given.height)
        return SparkRelation(self, like, dict.fromkeys(like.names, layer), (layer,))

    def stored(self, what: str, frame: Any) -> Stored:
        """The rows of a frame, computed and committed once."""
        path = f"{self._folder}/{secrets.token_hex(8)}"
        owner = Owner()
        weakref.finalize(owner, _removed, self.session.context, path)
        writer = frame.write.options(**STORED)
        self.session.run(what, lambda: writer.parquet(path))
        plainly = self.session.spark.read.option("__globPaths__", "false")  # "[1]" is a name
        again = plainly.schema(frame.schema).parquet(path)
        told = self.session.fetched(what, again.select(ROWS, MADE))
        made = heard(told.column(MADE).to_pylist())
        if PART in again.columns:
            again = again.where(f"{PART} is not null")
        return Stored(again, sum(told.column(ROWS).to_pylist()), made, owner)

    def close(self) -> None:
        """Forget what was stored, and stop the session if it is our own."""
        self._closing.close()

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _folder(temporary: str, here: bool, opened: ExitStack) -> str:
    """The address of the folder for what is stored on the way; only its owner may read it, and
    what a process left there when it was killed is removed by the next."""
    if "://" in temporary:
        return f"{temporary.rstrip('/')}/sfumato-{secrets.token_hex(8)}"
    if not temporary and not here:
        raise ParameterError(
            "a cluster needs a folder for what is stored on the way",
            remedy="temporary = a folder that all executors share, which others cannot read",
        )
    scratch = opened.enter_context(Scratch(temporary or None))
    return f"{_FILES}{scratch.folder.absolute()}"  # unquoted, as Hadoop reads it


def _removed(context: Any, path: str) -> None:
    """Remove a folder, which may be gone."""
    if path.startswith(_FILES):
        shutil.rmtree(path.removeprefix(_FILES), ignore_errors=True)
    elif context is not None:
        with contextlib.suppress(Exception):  # at the end the other side may be gone
            found = context._jvm.org.apache.hadoop.fs.Path(path)
            found.getFileSystem(context._jsc.hadoopConfiguration()).delete(found, True)
