"""One case through the front door, and what came of it.

Every outcome is a release that an independent recount accepts, or an error with a name. Anything
else is a fault: a traceback, a run that does not end, half a release, an input that changed,
something left beside the output, a count that disagrees.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

import typer
from typer.main import get_command

from tests.fuzz.cases import Case
from tests.fuzz.recount import Recount, read, recount

os.environ.setdefault("SFUMATO_LEDGER_KEY", "the key of tests that protect nobody")

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where flushing costs nothing."""
HANGS = 300
"""Seconds after which a run does not end: a thousand times what a case takes."""
CODES = {0: "released", 2: "named error", 3: "refused", 4: "named error"}
KEPT = {"out", "out.private"}


class Outcome(NamedTuple):
    """What became of a case."""

    case: Case
    kind: str
    """released, refused, named error or fault."""
    why: str = ""
    counted: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"case {self.case.number} ({self.case.method}): {self.kind} {self.why}".rstrip()


def outcome(case: Case, keep: Path | None = None) -> Outcome:
    """Run a case in a folder of its own, which is gone afterwards unless it is to be kept."""
    with contextlib.ExitStack() as until_done:
        if keep is None:
            made = tempfile.TemporaryDirectory(prefix="sfumato-fuzz-", dir=MEMORY)
            keep = Path(until_done.enter_context(made))
        else:
            shutil.rmtree(keep, ignore_errors=True)
            keep.mkdir(parents=True)
        try:
            with _ending():
                return _run(case, keep)
        except Exception:
            return Outcome(case, "fault", f"the judge failed\n{traceback.format_exc()}")


def _run(case: Case, folder: Path) -> Outcome:
    plan = case.write(folder)
    if case.given:
        code, text = protect(folder / "first.toml", case.seed + 1)
        if code:
            return _judged(case, folder, code, text, {"first", "first.private"})
    before = _state(folder)
    code, text = protect(plan, case.seed)
    after = {path: was for path, was in _state(folder).items() if path in before}
    if after != before:
        changed = sorted(p for p in before if before[p] != after.get(p))
        return Outcome(case, "fault", f"changed what it only reads: {changed}")
    return _judged(case, folder, code, text, KEPT)


def protect(plan: Path, seed: int, *more: str) -> tuple[int, str]:
    """`sfumato protect` in this process: its exit code, and what it printed."""
    from sfumato.cli import app

    out, err = io.StringIO(), io.StringIO()
    arguments = ["protect", str(plan), "--json", "--seed", str(seed), *more]
    once = mock.patch.object(app.typer.main, "get_command", _command)
    with once, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app.run(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
            if code in (130, 143):  # whoever runs this was told to stop
                raise KeyboardInterrupt from None
            return code, out.getvalue() if code in (0, 2, 3, 4) else err.getvalue() + out.getvalue()
        except Exception:
            return 1, traceback.format_exc()
    return 1, "the command line returned"


@functools.cache
def _command(app: typer.Typer) -> Any:
    """The commands, which take longer to make than a small table to protect."""
    return get_command(app)


def _judged(case: Case, folder: Path, code: int, text: str, made: set[str]) -> Outcome:
    if code not in CODES:
        return Outcome(case, "fault", f"exit code {code}\n{text.strip()}")
    allowed = {
        case.source,
        "plan.toml",
        *(["first.toml", "first", "first.private"] * bool(case.given)),
    }
    allowed |= made if code == 0 else set()
    left = {path.name for path in folder.iterdir() if ".ledger" not in path.name} - allowed
    if left:
        return Outcome(case, "fault", f"exit code {code}, and {sorted(left)} was left")
    if code:
        return _named(case, code, text)
    if missing := {name for name in made if not (folder / name).is_dir()}:
        return Outcome(case, "fault", f"released without {sorted(missing)}")
    found = recount(folder / "out", case.require, case.people.orders)
    found.wrong += leaks(case, folder / "out")
    if found.wrong:
        return Outcome(case, "fault", "; ".join(found.wrong))
    return Outcome(case, "released", "", tuple(found.counted))


def _named(case: Case, code: int, text: str) -> Outcome:
    """An error has a name, says something, and what to do."""
    try:
        said = json.loads(text)
    except ValueError:
        return Outcome(case, "fault", f"exit code {code} without a JSON error: {text[-2000:]}")
    if said.get("error") == "ReleaseRefused":
        broken = [one["requirement"] for one in said["requirements"] if not one["met"]]
        if not broken:
            return Outcome(case, "fault", "refused though everything is met")
        return Outcome(case, CODES[code], ", ".join(sorted(set(broken))))
    words = [said, *said.get("complaints", ())]
    told = " / ".join(str(w.get("message", w.get("what", ""))) for w in words).strip(" /")
    if not told:
        return Outcome(case, "fault", f"an error that says nothing: {text}")
    if "written file" in told:
        return Outcome(case, "fault", f"its own file is not what was written: {told}")
    remedy = any(one.get("remedy") for one in words)
    return Outcome(
        case, CODES[code], f"{said['error']}: {told}" + ("" if remedy else " [no remedy]")
    )


def leaks(case: Case, public: Path) -> list[str]:
    """Names of people and the seed must not be in the public half."""
    names = {
        value for name in case.people.of_role("identifier") for value in case.people.frame[name]
    }
    texts = [
        path.read_text("utf-8") for path in public.iterdir() if path.suffix in (".json", ".html")
    ]
    cells = {cell for frame in read(public) for name in frame for cell in frame[name].astype(str)}
    found = [f"{name} is published" for name in sorted(names & cells)[:1]]
    found += [f"{n} is in the evidence" for n in sorted(names) if any(n in t for t in texts)][:1]
    return found + (["the seed is published"] if any(str(case.seed) in t for t in texts) else [])


def _state(folder: Path) -> dict[str, str]:
    """What a run must leave as it is; the ledger is its to write."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".ledger" not in path.name
    }


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """Raise where a run does not end."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no end after {HANGS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


__all__ = ["Outcome", "Recount", "outcome", "protect"]
