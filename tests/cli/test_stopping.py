"""Ctrl-C and SIGTERM: nothing stays that is not said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import outcome, show, stopping
from sfumato.cli.app import run
from sfumato.errors import InputError, Unsettled
from tests.engines.people import in_pieces, people
from tests.release.large.test_killed import PLAN

CHILD = """
import contextlib, os, signal, sys
from sfumato.cli import app, show

@contextlib.contextmanager
def progress(**words):
    def tell(what, done, of):
        if what == "counting again":
            os.kill(os.getpid(), signal.{signal})
    yield tell

show.progress = progress
app.run(["protect", "plan.toml", "--input", "in", "--output", "out/release"])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    Path("out").mkdir()
    in_pieces(people(), tmp_path / "in", 2)
    return tmp_path


@pytest.mark.parametrize(("by", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_leaves_nothing_and_says_so(folder: Path, by: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(signal=by)],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines() == ["interrupted; nothing was written"]
    assert list((folder / "out").iterdir()) == []


def protected(*more: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run(["protect", "plan.toml", "--input", "in", "--output", "out/release", *more])
    return int(ended.value.code or 0)


def test_a_release_that_is_there_already_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*given: object, **words: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as late:
        late.setattr(outcome, "released", interrupted)
        assert protected() == 130
    assert capsys.readouterr().err == "interrupted; the release is there already: out/release\n"
    made = Path("out/release/evidence.json").read_bytes()
    with monkeypatch.context() as early:
        early.setattr(show, "progress", interrupted)
        assert protected("--replace") == 130
    said = "interrupted; nothing was written, and the release that was there is as it was\n"
    assert capsys.readouterr().err == said
    assert Path("out/release/evidence.json").read_bytes() == made


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RuntimeError("Query interrupted"), 130, "interrupted; nothing was written\n"),
        (InputError("cannot be read: Query interrupted"), 130, "interrupted; nothing was written"),
        (Unsettled("it may be there"), 4, "error: it may be there"),
    ],
)
def test_what_libraries_make_of_ctrl_c_is_no_fault(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
    said: str,
) -> None:
    """But of an output that nobody knows to be there the error itself speaks."""

    def interrupted(*given: object, **words: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise error from None

    monkeypatch.setattr(show, "progress", interrupted)
    assert protected() == code
    assert capsys.readouterr().err.startswith(said)


def test_without_a_signal_a_fault_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*given: object, **words: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(show, "progress", broken)
    assert protected() == 1
    assert "this is a fault in Sfumato" in capsys.readouterr().err


def test_the_second_sigterm_is_not_heard_and_the_second_ctrl_c_is() -> None:
    with stopping.heard() as signals:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signals.came == signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stopping.heard() as signals:
            signal.raise_signal(signal.SIGTERM)
        assert signals.came == 0
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_interrupted_demo_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sfumato.cli import demo

    def interrupted(*given: object, **words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "draft_plan", interrupted)
    with pytest.raises(SystemExit) as ended:
        run(["demo", "--output", "shown", "--records", "500"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted; shown holds a part of the demo\n"
    assert sf.read("shown/register.csv").height == 500


AT = """
import os, signal, sys

from sfumato.cli import main

word, by, often = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.argv = ["sfumato", *sys.argv[4:]]

def hook(event, found):
    global often
    if often and event in ("import", "open", "os.remove") and str(found[0]).endswith(word):
        often -= 1
        os.kill(os.getpid(), by)

sys.addaudithook(hook)
main()
"""
INIT = ("init", "in/part-0000.parquet", "--output", "out/plan.toml")
PROTECT = ("protect", "plan.toml", "--input", "in", "--output", "out/release")
MOMENTS = {
    "the first import": (".stopping", 1, INIT),
    "the command line's import": (".app", 1, INIT),
    "a library's import": ("typer", 1, INIT),
    "a library's import of compiled code": ("polars", 1, INIT),
    "twice in one import": ("polars", 2, INIT),
    "reading": ("parquet", 1, INIT),
    "writing": (".tmp/plan.toml", 1, INIT),
    "the listing": ("catalogue.tsv", 1, ("methods",)),
    "an engine's import": ("duckdb", 1, PROTECT),
    "the engine's folder": ("/new", 1, PROTECT),
    "the evidence": ("evidence.json", 1, PROTECT),
}


def interrupted_at(
    folder: Path, word: str, often: int, words: tuple[str, ...], by: int = signal.SIGINT
) -> subprocess.CompletedProcess[str]:
    """A command that is interrupted when it first imports, opens or removes what is called so."""
    return subprocess.run(
        [sys.executable, "-c", AT, word, str(int(by)), str(often), *words],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_whenever_it_comes_one_line_says_what_is_left(folder: Path, moment: str) -> None:
    word, often, words = MOMENTS[moment]
    if words is INIT:
        first = next(iter(sorted((folder / "in").iterdir())))
        words = ("init", f"in/{first.name}", *INIT[2:])
    done = interrupted_at(folder, word, often, words)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines() == ["interrupted; nothing was written"]
    assert list((folder / "out").iterdir()) == []


def test_ctrl_c_while_it_tidies_up_names_what_it_leaves(folder: Path) -> None:
    """What is aside may hold secrets."""
    done = interrupted_at(folder, ".staging/committed", 2, PROTECT)
    assert done.returncode == 130
    (line,) = done.stderr.splitlines()
    (left,) = (folder / "out").glob(".release.*.staging")
    there = "interrupted; the release is there already: out/release"
    assert line == f"{there}; {left} is left, which the next run removes"
    assert protected("--replace") == 0
    assert not list((folder / "out").glob(".release.*.staging"))


def test_sigterm_is_heard_as_early(folder: Path) -> None:
    done = interrupted_at(folder, "typer", 2, ("methods",), signal.SIGTERM)
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr.splitlines() == ["interrupted; nothing was written"]


def test_what_was_written_before_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By whatever ends a command: a signal, a disk, a fault."""

    def broken(error: BaseException) -> object:
        def told(*given: object, **words: object) -> None:
            raise error

        return told

    first = next(iter(sorted((folder / "in").iterdir())))
    for error, code, said in (
        (KeyboardInterrupt(), 130, "interrupted; "),
        (OSError(28, "No space left on device", "x"), 4, "error: the disk of "),
        (RuntimeError("broken"), 1, "this is a fault in Sfumato, not in your data; "),
    ):
        monkeypatch.setattr(show, "drafted", broken(error))
        with pytest.raises(SystemExit) as ended:
            run(["init", f"in/{first.name}", "--output", "out/plan.toml"])
        assert ended.value.code == code
        printed = capsys.readouterr().err
        assert said in printed
        assert "out/plan.toml is there already" in printed
        Path("out/plan.toml").unlink()


def test_a_signal_that_python_drops_is_sent_again() -> None:
    """In a finalizer nothing can be raised: Python would print a traceback and go on."""

    class Late:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def dropped() -> None:
        late = Late()
        del late
        threading.Event().wait(60)

    with stopping.heard() as signals:
        with pytest.raises(KeyboardInterrupt):
            dropped()
        assert signals.came == signal.SIGINT


def test_everything_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Every kind of thing has a title: engines had none, and the listing was a fault."""
    with pytest.raises(SystemExit) as ended:
        run(["methods"])
    assert ended.value.code == 0
    assert "Engines ([engine]" in capsys.readouterr().out
