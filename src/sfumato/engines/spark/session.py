"""A Spark session: how it is opened, how its work is told and stopped, what failed, in words."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ...errors import ParameterError, SfumatoError
from ...progress import report

T = TypeVar("T")
_POLLED = 0.2
_SINGLE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")
"""Workers run side by side: threads inside each would only wait for each other."""
_LOCAL = "local"
_CONNECT = "sc://"

SETTINGS = {
    # A row is a part of many records: few go in one batch, and what arrives is not divided again.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.parquet.compression.codec": "uncompressed",
    "spark.sql.files.maxPartitionBytes": str(64 << 20),
    "spark.sql.files.openCostInBytes": "65536",
}
"""What every session of ours is told; a given session keeps its own."""
STORED = {
    # Cells are packed already, and so large that pages and blocks must be looked at row by row.
    "parquet.enable.dictionary": "false",
    "parquet.page.size.row.check.min": "1",
    "parquet.block.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "1",
    "parquet.block.size.row.check.max": "1",
}
"""How parts are written that only Spark reads again."""


def running() -> Any:
    """The session that this process has already, as a notebook may; None where there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    return SparkSession.getActiveSession()


def is_here(master: str) -> bool:
    """Whether all executors of a session of our own would be on this machine."""
    return not master or master.startswith(_LOCAL)


def started(
    master: str, conf: Mapping[str, str], threads: int | None, memory: int | None, folder: str
) -> Any:
    """A Spark session of our own (or Connect's, where `master` is an address sc://...). On this
    machine its own files lie in the folder: they hold records, and are gone with it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError(
            "PySpark is not installed", remedy="pip install 'sfumato[spark]', and Java 17"
        ) from None
    if master.startswith(_CONNECT):
        return SparkSession.builder.remote(master).config(map=dict(conf)).getOrCreate()
    master = master or f"local[{threads or '*'}]"
    builder = SparkSession.builder.master(master).appName("sfumato")
    builder = builder.config(map={**_confs(master, memory, folder), **conf})
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise ParameterError("Spark needs Java, which is not here", remedy=_JAVA)
    python = conf.get("spark.pyspark.python") or (sys.executable if is_here(master) else "")
    with _as_found(python):
        try:
            return builder.getOrCreate()
        except Exception as error:
            remedy = _JAVA if "JAVA_GATEWAY" in str(error) else "see [engine] master, memory, conf"
            raise SfumatoError(
                f"Spark does not start: {first_line(error)}", remedy=remedy
            ) from error


def stopped(session: Any) -> None:
    """A session of our own is over, and where it had its files is forgotten: Java, which stays,
    would make that folder again for the next session."""
    if _is_connect(session):
        session.stop()
        return
    context = session.sparkContext
    try:
        session.stop()
    except Exception:
        _forgotten()  # its Java is gone: the next session starts another
        return
    with suppress(Exception):  # a later Spark may not remember
        util = getattr(context._jvm.org.apache.spark.util, "Utils$")
        getattr(util, "MODULE$").clearLocalRootDirs()


def _forgotten() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None


_JAVA = "install Java 17 (Debian: openjdk-17-jre-headless), or set JAVA_HOME"


def _confs(master: str, memory: int | None, folder: str) -> dict[str, str]:
    found = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    found |= {f"spark.executorEnv.{name}": "1" for name in _SINGLE}
    if memory:
        # Workers hold the records; the Java side only passes them on.
        found["spark.driver.memory"] = f"{_heap(memory)}m"
    if is_here(master):
        if "," in folder:
            raise ParameterError(
                f"Spark takes {folder} for several folders, because of the comma",
                remedy="[engine] temporary = a folder without one",
            )
        # Executors on this machine find what this process finds.
        found |= {
            "spark.local.dir": folder,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(_paths()),
        }
        if heap := _heap_here(master, memory):
            found["spark.executor.memory"] = f"{heap}m"
    return found


def _heap(memory: int) -> int:
    return max(memory // 3 >> 20, 512)


def _heap_here(master: str, memory: int | None) -> int:
    """The MiB of Java in each executor of this machine, or 0 to leave it to Spark. Those of
    local-cluster[executors, cores, MiB] share it."""
    found = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*\d+\s*,\s*(\d+)\s*\]", master)
    if found is None:
        return _heap(memory) if memory else 0
    most = int(found[2])
    return min(most, max(_heap(memory) // int(found[1]), 512)) if memory else most


def _paths() -> list[str]:
    own = str(Path(__file__).resolve().parents[3])
    return list(dict.fromkeys([own, *(os.path.abspath(p or ".") for p in sys.path)]))


@contextmanager
def _as_found(python: str) -> Iterator[None]:
    """Starting Spark neither leaves another handler of Ctrl-C behind, which would stop the work of
    all its sessions, nor another environment. Workers are of this Python, if it is named: Spark
    reads its own word for it where a program is submitted, and here the environment alone."""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    before = os.environ.get("PYSPARK_PYTHON")
    if python:
        os.environ["PYSPARK_PYTHON"] = python
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if before is None:
            os.environ.pop("PYSPARK_PYTHON", None)
        else:
            os.environ["PYSPARK_PYTHON"] = before


class Session:
    """What runs, and what is told of it."""

    def __init__(self, session: Any) -> None:
        # A session beside the given one: its settings are ours alone, its executors are shared.
        self.spark = session.newSession()
        for name, value in SETTINGS.items():
            self.spark.conf.set(name, value)
        self.context = None if _is_connect(session) else session.sparkContext
        self.most_fetched = 0
        """The most rows that came to the driver at once."""

    @property
    def here(self) -> bool:
        """Whether all executors are on this machine."""
        return self.context is not None and self.context.master.startswith(_LOCAL)

    @property
    def side_by_side(self) -> int:
        """How many tasks run side by side."""
        if self.context is not None:
            return int(self.context.defaultParallelism)
        return int(self.spark.conf.get("spark.sql.shuffle.partitions"))

    def fetched(self, what: str, frame: Any) -> Any:
        """The rows of a small frame, as an Arrow table."""
        found = self.run(what, frame.toArrow)
        self.most_fetched = max(self.most_fetched, found.num_rows)
        return found

    def run(self, what: str, action: Callable[[], T]) -> T:
        """What the action gives. Until then its stages are reported, and Ctrl-C stops its jobs and
        nothing else."""
        tag = f"sfumato-{secrets.token_hex(8)}"
        outcome: dict[str, Any] = {}

        def tagged() -> None:
            try:
                self._tag(tag, what)
                outcome["value"] = action()
            except BaseException as error:  # it is raised where the work was asked for
                outcome["error"] = error

        thread = threading.Thread(target=tagged, name=tag, daemon=True)
        thread.start()
        watch = Watch(self.context, tag, what)
        try:
            while thread.is_alive():
                thread.join(_POLLED)
                watch.look()
        except BaseException:
            self._cancel(tag)
            thread.join()
            raise
        if "error" in outcome:
            raise in_words(what, outcome["error"]) from outcome["error"]
        value: T = outcome["value"]
        return value

    def _tag(self, tag: str, what: str) -> None:
        if self.context is not None:
            self.context.setJobGroup(tag, f"sfumato: {what}", interruptOnCancel=True)
        else:
            self.spark.addTag(tag)

    def _cancel(self, tag: str) -> None:
        if self.context is not None:
            self.context.cancelJobGroup(tag)
        else:
            self.spark.interruptTag(tag)


def _is_connect(session: Any) -> bool:
    return ".connect." in type(session).__module__


class Watch:
    """The stages of some jobs, as reports. Under Connect there is nothing to look at."""

    def __init__(self, context: Any, tag: str, what: str) -> None:
        self._context, self._tag, self._what = context, tag, what
        self._said: tuple[str, int, int] | None = None
        self._executors = 0

    def look(self) -> None:
        """Report how many tasks are done, where that has changed."""
        found = None
        with suppress(Exception):  # if Java is gone, the work itself will say so
            found = self._counted()
        if found is not None and found[2] and self._said != found:
            self._said = found
            report(*found)

    def _counted(self) -> tuple[str, int, int] | None:
        if self._context is None:
            return None
        tracker = self._context.statusTracker()
        done = of = failed = 0
        for job in tracker.getJobIdsForGroup(self._tag):
            found = tracker.getJobInfo(job)
            for stage in map(tracker.getStageInfo, found.stageIds if found else ()):
                if stage is not None:
                    done, of = done + stage.numCompletedTasks, of + stage.numTasks
                    failed += stage.numFailedTasks
        return self._what + self._lost(failed), done, of

    def _lost(self, failed: int) -> str:
        now = self._context._jsc.sc().statusTracker().getExecutorInfos()
        count = len(now)
        lost, self._executors = count < self._executors, max(count, self._executors)
        if lost:
            return " (an executor was lost; its work is done again)"
        return f" ({failed} tasks failed and are tried again)" if failed else ""


def in_words(what: str, error: BaseException) -> BaseException:
    """An error of Spark as one of ours; others are left as they are."""
    module, gone = type(error).__module__, isinstance(error, ConnectionError)
    if not (module.startswith(("pyspark", "py4j", "grpc")) or gone):
        return error
    text = str(error)
    if gone or "Answer from Java side is empty" in text or "Java side" in repr(error.__cause__):
        said, remedy = "its Java has ended", "see Spark's log; more memory may help"
    elif "No module named 'sfumato'" in text:
        said, remedy = "sfumato is not installed on the executors", "install it there"
    elif "ExecutorLost" in text or "FetchFailed" in text:
        said = "executors were lost again and again"
        remedy = "give them more memory (conf), or use more and smaller partitions"
    elif "OutOfMemory" in text:
        said, remedy = "an executor ran out of memory", "give more memory"
    elif "No space left" in text:
        said, remedy = "the disk is full", "name a folder with more room as `temporary`"
    else:
        said, remedy = first_line(error), "see Spark's log"
    return SfumatoError(f"Spark failed while {what}: {said}", remedy=remedy)


def first_line(error: BaseException) -> str:
    """The line that says most: the last of a worker's traceback, else the first."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip(": ")]
    lines = [line for line in lines if not line.startswith("An error occurred while calling")]
    for line in lines:
        if line.partition(":")[0].endswith(("Error", "Exception")) and "spark" not in line.lower():
            return line
    return lines[0] if lines else type(error).__name__
