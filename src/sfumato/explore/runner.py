"""Trials side by side in processes of their own, each noted when it is done.

A worker is sent the ground once and then one job after another; it has one thread, so that both
cores are used and figures do not depend on how many there are. They are started once jobs have
taken a while here; what no other process could load, such as a method of a plug-in, is done here.
What was noted is not done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from ..aside import write_text
from ..data.codec import encode
from ..data.table import Table
from ..errors import InputError, MachineError
from ..machine import cannot_write

PATIENCE = 2.0
"""Seconds of jobs in this process before others are started, which takes as long."""
WORKER = Path(__file__).with_name("worker.py")
_FORM = 1
"""Of the lines of a journal."""
_BEGIN = b'{"form": '
_ELSE = "move it away, or name another place"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class _Unsent(Exception):
    """No other process can load it: a function or a class that no module holds."""


def _pickled(thing: Any) -> bytes:
    try:
        return pickle.dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise _Unsent from error


class Ground(Protocol):
    """What jobs are done on; it is sent to every worker once."""

    @property
    def key(self) -> str:
        """Another ground has another key."""

    def tried(self, job: Any) -> Any:
        """Do one job."""


def digest(*things: Any) -> str:
    """One of words and tables: the same values in the same order have the same one."""
    made = hashlib.sha256()
    for thing in things:
        if not isinstance(thing, Table):
            made.update(repr(thing).encode())
            continue
        for column in thing.schema:
            coded = encode(thing[column.name])
            words = (column.name, column.kind, column.role, column.categories, column.person)
            poset = None if column.poset is None else (column.poset.name, column.poset.parameters())
            made.update(repr((words, poset)).encode())
            made.update(repr(coded.domain.to_list()).encode())
            made.update(coded.codes.astype("<u4").tobytes())
    return made.hexdigest()


def _tupled(words: Any) -> Any:
    """As it was before it was written, where lists were tuples."""
    if isinstance(words, dict):
        return {key: _tupled(value) for key, value in words.items()}
    return tuple(map(_tupled, words)) if isinstance(words, list) else words


class Journal:
    """A file of what was found, one line a trial, readable by its owner alone."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, dict[str, Any]] = {}
        if self.path is None:
            return
        if self.path.exists() and not self.path.is_file():  # a pipe would be waited for
            raise InputError(f"{self.path} is no file", remedy=_ELSE)
        try:
            held = self.path.read_bytes() if self.path.exists() else b""
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error}") from error
        for line in held.splitlines():
            self._take(line)
        # What a kill left of the very first line is a journal, too.
        begun = held.startswith(_BEGIN) and b"\n" not in held
        if held and not self.known and not begun:
            raise InputError(f"{self.path} is no journal of trials", remedy=_ELSE)
        # Without what a kill left of a line, to which the next would be appended.
        told = [self._line(key, words) for key, words in self.known.items()]
        write_text(self.path, "".join(told), private=True)

    def _take(self, line: bytes) -> None:
        try:
            words = json.loads(line)
            if words.pop("form") == _FORM:
                self.known[words.pop("key")] = words
        except (ValueError, KeyError, AttributeError, TypeError):
            return

    def _line(self, key: str, words: dict[str, Any]) -> str:
        return json.dumps({"form": _FORM, "key": key, **words}) + "\n"

    def note(self, key: str, words: dict[str, Any]) -> None:
        """Remember what was found, on the disk before anything else is done."""
        assert self.path is not None
        self.known[key] = words
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(self._line(key, words))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from error


class _Worker:
    """A process that does one job after another."""

    def __init__(self, ground: Ground) -> None:
        opening = (_pickled(sys.path), _pickled(ground))
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "POLARS_MAX_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable or "python", "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        for one in opening:
            self._send(one)

    def _send(self, pickled: bytes) -> None:
        # Bytes are read to their end, whether what is in them can be loaded there or not.
        assert self.process.stdin is not None
        try:
            pickle.dump(pickled, self.process.stdin)
            self.process.stdin.flush()
        except OSError as error:
            raise self._died() from error

    def do(self, job: Any) -> Any:
        """What comes of one job; the error that it ended with, or that it cannot be loaded."""
        self._send(_pickled(job))
        assert self.process.stdout is not None
        try:
            loaded, done, found = pickle.load(self.process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            raise self._died() from error
        if not loaded:
            raise _Unsent(found)
        if not done:
            raise found
        return found

    def _died(self) -> MachineError:
        code = self.process.wait()
        how = f"signal {-code}" if code < 0 else f"code {code}"
        return MachineError(
            f"a process that tried plans was ended by {how}, perhaps for want of memory",
            "the trials before it are kept where there is a journal",
            remedy="--workers 1, fewer records, or more memory",
        )

    def close(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class Runner:
    """Does jobs on one ground: here, or by workers side by side."""

    def __init__(
        self,
        ground: Ground,
        result: Callable[..., Any],
        journal: Journal | None = None,
        workers: int | None = None,
    ) -> None:
        self.ground, self.journal = ground, journal or Journal()
        self.workers = min(2, os.cpu_count() or 1) if workers is None else workers
        self.result = result
        self.new = 0
        """How many were done and not found in the journal."""
        self._spent = 0.0
        self._all: list[_Worker] = []

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._all:
            worker.close()
        self._all.clear()

    def run(self, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """What came of each job, in the order in which they are done."""
        left = list(range(len(jobs)))
        keys: list[str] = []
        if self.journal.path is not None:
            keys = [digest(self.ground.key, job.key) for job in jobs]
            noted = {i: self._noted(keys[i]) for i in left}
            left = [i for i in left if noted[i] is None]
            yield from ((i, found) for i, found in noted.items() if found is not None)
        for i, found in self._done(left, jobs):
            self.new += 1
            if keys:
                self.journal.note(keys[i], json.loads(json.dumps(asdict(found))))
            yield i, found

    def _noted(self, key: str) -> Any:
        """What the journal says of a trial; None where that is nothing, or cannot be."""
        if key not in self.journal.known:
            return None
        try:
            return self.result(**_tupled(self.journal.known[key]))
        except (TypeError, ValueError):
            return None

    def _done(self, left: Iterable[int], jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        waiting = list(left)
        while waiting and (len(waiting) < 2 or not self._shared()):
            i, began = waiting.pop(0), time.monotonic()
            found = self.ground.tried(jobs[i])
            self._spent += time.monotonic() - began
            yield i, found
        if not waiting:
            return
        try:
            while len(self._all) < min(self.workers, len(waiting)):
                self._all.append(_Worker(self.ground))
        except _Unsent:
            self.workers = 1
            yield from self._done(waiting, jobs)
            return
        # A queue of this call alone: what one that was ended puts back is dead.
        idle: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._all:
            idle.put(worker)
        with ThreadPoolExecutor(len(self._all)) as pool:
            running = {pool.submit(self._by_worker, idle, jobs[i]): i for i in waiting}
            try:
                for one in as_completed(running):
                    yield running[one], one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.__exit__()  # what waits for them would wait for the rest of the search
                raise

    def _shared(self) -> bool:
        return self.workers > 1 and (self._spent >= PATIENCE or bool(self._all))

    def _by_worker(self, idle: SimpleQueue[_Worker], job: Any) -> Any:
        worker = idle.get()
        try:
            return worker.do(job)
        except _Unsent:
            return self.ground.tried(job)
        finally:
            idle.put(worker)
