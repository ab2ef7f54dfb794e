"""Work in processes of their own, which the pages look at through the disk.

A job is a folder: what was asked, how far it is, and what came of it. Its process holds a lock as
long as it lives, so that a server that was started anew knows whether it goes on; it is nobody's
child and needs no server. Its folder is its owner's alone: what a run leaves there is private.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..aside import write_text
from ..errors import InputError
from ..machine import cannot_write
from ..release.staging import hold

MOST_AT_ONCE = 2
"""Jobs that run side by side."""
KEPT = 12
"""Ended jobs of a kind that are kept; older ones are swept away."""
ASKED, FAR, FOUND, FAILED = "asked.json", "progress.json", "result.json", "error.json"
ENDED, LOCK, LOG, PID = "ended", "lock", "log", "pid"
"""What stands in a job's folder."""
State = Literal["running", "done", "failed", "ended", "lost"]
WORKER = ("-P", "-m", "sfumato.studio.worker")
"""What Python runs, before the folder of the job."""
_looking = threading.Lock()
"""Whoever asks whether a process lives holds its lock for a moment: one at a time, lest one of the
pages takes another for that process."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """One piece of work."""

    folder: Path

    @cached_property
    def asked(self) -> dict[str, Any]:
        """What was asked: kind, what, words, plan (its path), text, input (what it was then)."""
        return _json(self.folder / ASKED)

    @property
    def name(self) -> str:
        """Its number and kind."""
        return self.folder.name

    @property
    def kind(self) -> str:
        return str(self.asked.get("kind", ""))

    @property
    def words(self) -> dict[str, Any]:
        found = self.asked.get("words")
        return dict(found) if isinstance(found, dict) else {}

    @property
    def what(self) -> str:
        """What is being done, in words."""
        return str(self.asked.get("what", ""))

    @property
    def state(self) -> State:
        """How it stands: lost is what ended without a word, for want of memory perhaps."""
        ends: tuple[tuple[str, State], ...] = (
            (FOUND, "done"),
            (FAILED, "failed"),
            (ENDED, "ended"),
        )
        for name, state in ends:
            if (self.folder / name).exists():
                return state
        if self._lives():
            return "running"
        return "done" if (self.folder / FOUND).exists() else "lost"

    def _lives(self) -> bool:
        """Whether its process still holds its lock."""
        with _looking:
            try:
                lock = os.open(self.folder / LOCK, os.O_RDWR)
            except OSError:
                return False
            try:
                hold(lock, wait=False)
            except OSError:
                return True
            finally:
                os.close(lock)
            return False

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is: what, done, of, seconds."""
        found = _json(self.folder / FAR)
        done, of = (_figure(found.get(name)) for name in ("done", "of"))
        told = {"done": int(done), "of": int(of), "seconds": _figure(found.get("seconds"))}
        return {"what": str(found.get("what", "starting")), **told}

    @property
    def result(self) -> dict[str, Any]:
        """What came of it."""
        return _json(self.folder / FOUND)

    @property
    def error(self) -> dict[str, Any]:
        """Why nothing did: an error as `--json` tells it, with `remedies` of a refusal."""
        return _json(self.folder / FAILED)

    def of(self, text: str, plan: Path) -> bool:
        """Whether it was done with this text of the plan, and with the input as it is."""
        return bool(self.asked.get("text") == text and self.asked.get("input") == seen(plan, text))

    def end(self) -> None:
        """End its process, whatever it is doing, and those that it started."""
        if self.state != "running":
            return
        write_text(self.folder / ENDED, "", private=True)
        number = self._number()
        if not number:
            return
        with suppress(OSError):
            _signal(number, signal.SIGTERM)
        for _ in range(30):
            if not self._lives():
                break
            time.sleep(0.1)
        # Also where it lives no more: its own may not have listened.
        with suppress(OSError):
            _signal(number, getattr(signal, "SIGKILL", signal.SIGTERM))
        for _ in range(30):
            if not self._lives():
                break
            time.sleep(0.1)

    def _number(self) -> int:
        """That of its process."""
        try:
            number = int((self.folder / PID).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        # To signal 1 would be to signal everything that this user runs.
        return number if 1 < number < 1 << 31 else 0


class Jobs:
    """The jobs of one plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held = threading.Lock()
        self._children: list[subprocess.Popen[bytes]] = []

    def __iter__(self) -> Iterator[Job]:
        """All of them, the newest first."""
        if not self.folder.is_dir():
            return
        for one in sorted(self.folder.iterdir(), key=_number, reverse=True):
            if (one / ASKED).is_file():
                yield Job(one)

    def running(self) -> list[Job]:
        """Those that are under way."""
        return [job for job in self if job.state == "running"]

    def last(self, kind: str, words: Mapping[str, Any] | None = None) -> Job | None:
        """The newest of a kind, and with these words if any are given."""
        plain = None if words is None else json.loads(json.dumps(words))
        for job in self:
            if job.kind == kind and (plain is None or job.words == plain):
                return job
        return None

    def named(self, name: str) -> Job | None:
        """The one of this name."""
        return next((job for job in self if job.name == name), None)

    def start(self, kind: str, what: str, words: Mapping[str, Any], plan: Path, text: str) -> Job:
        """Begin one."""
        with self._held:
            self._children = [child for child in self._children if child.poll() is None]
            under_way = self.running()
            if len(under_way) >= MOST_AT_ONCE:
                told = " and ".join(job.what for job in under_way)
                raise InputError(f"{told} is under way", remedy="wait until it is done, or end it")
            asked = {"kind": kind, "what": what, "words": words, "plan": str(plan)}
            asked |= {"text": text, "input": seen(plan, text)}
            try:
                folder = self._room(kind)
                self._children.append(_begun(folder, json.dumps(asked)))
            except OSError as error:
                raise cannot_write(self.folder, error) from error
            self._sweep(kind)
            return Job(folder)

    def _room(self, kind: str) -> Path:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        while True:
            number = max((_number(one) for one in self.folder.iterdir()), default=0) + 1
            folder = self.folder / f"{number:05d}-{kind}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:  # another studio was quicker
                continue
            return folder

    def _sweep(self, kind: str) -> None:
        ended = [job for job in self if job.kind == kind and job.state != "running"]
        for job in ended[KEPT:]:
            shutil.rmtree(job.folder, ignore_errors=True)

    def end(self) -> None:
        """End all that are under way."""
        for job in self.running():
            job.end()


NAMES = (
    *("path", "reference", "given", "population", "original", "hierarchy", "hierarchies"),
    *("cells", "relations", "statuses", "ptable", "population_file", "population-file"),
)
"""Keys of a plan that name files."""
_ELSEWHERE = ("output", "engine", "measures")
"""Sections that name no file of the input."""
_MOST_FILES = 200


def seen(plan: Path, text: str, only: str = "") -> list[Any]:
    """What the files are that a plan reads (or only one section of it): another size or time is
    another input."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError):
        return []
    sections = [
        words for name, words in document.items() if name not in _ELSEWHERE and only in ("", name)
    ]
    found = []
    for name in [*dict.fromkeys(_texts(sections))][:_MOST_FILES]:
        try:
            one = (plan.parent / name).stat()
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(one.st_mode):
            found.append([name, one.st_size, one.st_mtime_ns])
    return found


def _texts(given: Any, key: str = "") -> Iterator[str]:
    """All that may name a file."""
    if isinstance(given, dict):
        for name, value in given.items():
            yield from _texts(value, name if key != "hierarchies" else key)
    elif isinstance(given, list):
        for one in given:
            yield from _texts(one, key)
    elif isinstance(given, str) and given and key in NAMES:
        yield given


def _begun(folder: Path, asked: str) -> subprocess.Popen[bytes]:
    """The process of a job, which has its lock before anybody can see it."""
    lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        hold(lock, wait=False)
        write_text(folder / ASKED, asked, private=True)
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "POLARS_MAX_THREADS": "1"}
        with (folder / LOG).open("wb") as log:
            child = subprocess.Popen(
                [sys.executable, *WORKER, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=(lock,),
                start_new_session=True,
            )
        write_text(folder / PID, str(child.pid), private=True)
        return child
    finally:
        os.close(lock)


def _signal(number: int, sign: int) -> None:
    """To the process and those that it started."""
    if hasattr(os, "killpg"):
        os.killpg(number, sign)
    else:
        os.kill(number, sign)


def _number(folder: Path) -> int:
    head = folder.name.partition("-")[0]
    return int(head) if head.isdigit() else 0


def _figure(value: Any) -> float:
    """A number of a note, which may be damaged."""
    return value if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
