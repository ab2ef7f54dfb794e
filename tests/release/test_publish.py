"""Kill the writer at any moment: a release is complete or absent, always."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.linkage.earlier import data_file
from sfumato.errors import InputError, OutputError
from sfumato.release import staging
from sfumato.release.publish import check_free, publish
from sfumato.release.sql_recount import sql_recount
from sfumato.release.staging import hold, private_path

WRITER = """
import os, sys
import altair, numba, polars, vl_convert
import sfumato as sf
from sfumato.release import api
from sfumato.release.records import release, run
from sfumato.release.report import report

# Only imported, never used: threads that libraries start do not survive a fork.
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        table = sf.generators.hospital(300, seed=1)
        words = {"require": {"exposure": False}, "measures": ()}
        made = sf.protect(table, [sf.method("mondrian", k=5)], seed=1, **words)
        made.save(line.strip(), replace=True, allow_guessable_seed=True)
        os._exit(0)
    sys.stdout.write(f"{child}\\n"); sys.stdout.flush()
    os.waitpid(child, 0)
    sys.stdout.write("over\\n"); sys.stdout.flush()
"""


def write_small(folder: Path) -> None:
    (folder / "data.csv").write_text("x\n1\n")


def complete(public: Path, names: set[str]) -> bool:
    """Every file is there and whole, the private twin too."""
    if {p.name for p in public.iterdir()} != names:
        return False
    json.loads((public / "evidence.json").read_text())
    rows = (public / "data.csv").read_text().count("\n")
    closed = (public / "report.html").read_text().rstrip().endswith("</html>")
    private = private_path(public)
    json.loads((private / "seed.json").read_text())
    return rows == 301 and closed and (private / "alignment.parquet").is_file()


def kill_at_random(folder: Path, attempts: int, seed: int) -> dict[str, int]:
    """Kill the writer `attempts` times; count how it ended, fail on anything half-written."""
    rng = random.Random(seed)
    env = {**os.environ, "POLARS_MAX_THREADS": "1"}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    public = folder / "out"
    names = {"data.csv", "evidence.json", "report.html"}
    count = {"absent": 0, "complete": 0, "while writing": 0}

    def begin(target: Path) -> int:
        """A child that writes; returns when it has made its staging folder."""
        assert writer.stdin is not None
        assert writer.stdout is not None
        for left in folder.glob(
            ".out.*.staging"
        ):  # of the last child: not to be taken for this one's
            shutil.rmtree(left)
        writer.stdin.write(f"{target}\n".encode())
        writer.stdin.flush()
        child = int(writer.stdout.readline())
        start = time.monotonic()
        while not list(folder.glob(".out.*.staging")) and time.monotonic() - start < 60:
            time.sleep(0.0002)
        return child

    begin(public)
    start = time.monotonic()
    assert writer.stdout.readline() == b"over\n"
    whole = time.monotonic() - start
    for attempt in range(attempts):
        if attempt % 2:  # half of them with nothing there before, half replacing what there is
            for left in (public, private_path(public)):
                shutil.rmtree(left, ignore_errors=True)
        child = begin(public)
        time.sleep(rng.uniform(0, 1.2 * whole))
        staging = [p for p in folder.glob(".out.*.staging") if any(p.iterdir())]
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            staging = []
        assert writer.stdout.readline() == b"over\n"
        if staging and staging[0].exists():
            count["while writing"] += 1
        if public.exists():
            assert complete(public, names), "a half-written release"
            count["complete"] += 1
        else:
            count["absent"] += 1
    writer.stdin.close()
    assert writer.wait(30) == 0
    return count


def test_ten_kills(tmp_path: Path) -> None:
    """Where each kill falls depends on the machine's load; that nothing is ever half there does
    not."""
    count = kill_at_random(tmp_path, 10, seed=0)
    assert count["absent"] + count["complete"] == 10


@pytest.mark.heavy
def test_two_hundred_kills(tmp_path: Path) -> None:
    count = kill_at_random(tmp_path, 200, seed=1)
    print(count)
    assert count["while writing"] >= 100
    assert count["absent"] > 20
    assert count["complete"] > 20


def test_what_a_dead_run_left_is_swept(tmp_path: Path) -> None:
    left = tmp_path / ".out.abc.staging"
    left.mkdir(0o700)
    (left / "lock").touch()
    (left / "public").mkdir()
    publish(tmp_path / "out", write_small, write_small)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]


def test_a_replacement_that_died_is_put_back(tmp_path: Path) -> None:
    """Killed between its renames: the old release lies aside, the new private half is in place."""
    left = tmp_path / ".out.abc.staging"
    left.mkdir(0o700)
    for name, text in (("old-public", "old"), ("old-private", "old"), ("public", "new")):
        (left / name).mkdir(parents=True)
        (left / name / "report.html").write_text(text)
        mark = "seed.json" if "private" in name else "evidence.json"
        (left / name / mark).write_text(MARKS[mark])
    half = tmp_path / "out.private"
    half.mkdir()
    (half / "report.html").write_text("new")
    (left / "lock").write_text(f"{(left / 'public').stat().st_ino} {half.stat().st_ino}")

    def fail(folder: Path) -> None:
        assert (tmp_path / "out" / "report.html").read_text() == "old"
        assert (tmp_path / "out.private" / "report.html").read_text() == "old"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path / "out", write_small, fail, replace=True)
    assert (tmp_path / "out" / "report.html").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]


@pytest.mark.parametrize("broken", ["public", "private"])
def test_a_writer_that_fails_leaves_nothing(tmp_path: Path, broken: str) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError("disk full")

    writers = (fail, write_small) if broken == "public" else (write_small, fail)
    with pytest.raises(OSError, match="disk full"):
        publish(tmp_path / "out", *writers)
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_sweep_each_other(tmp_path: Path) -> None:
    def outer(folder: Path) -> None:
        publish(tmp_path / "other", write_small, write_small)
        publish(tmp_path / "out", write_small, write_small)
        write_small(folder)

    with pytest.raises(OutputError, match="exists already"):
        publish(tmp_path / "out", outer, write_small)
    assert (tmp_path / "out" / "data.csv").read_text() == "x\n1\n"


MARKS = {
    "evidence.json": '{"sfumato": "0", "requirements": []}',
    "seed.json": '{"sfumato": "0", "seed": 0}',
}


def release_in(folder: Path, mark: str, content: str = "") -> Path:
    folder.mkdir(parents=True)
    content = content or MARKS[mark]
    (folder / mark).write_text(content)
    return folder


def test_modes_do_not_depend_on_the_writer(tmp_path: Path) -> None:
    """Whatever the umask and the writer say: others read the public half, and nothing else."""

    def careless(folder: Path) -> None:
        (folder / "inner").mkdir()
        for name in ("a", "inner/b", "z"):
            (folder / name).write_text(name)
            (folder / name).chmod(0o666 if "b" in name else 0o600)
        (folder / "inner").chmod(0o777)
        folder.chmod(0o777)

    publish(tmp_path / "out", careless, careless)
    for name, folders, files in (("out", 0o755, 0o644), ("out.private", 0o700, 0o600)):
        root = tmp_path / name
        found = {p: p.stat().st_mode & 0o777 for p in (root, *root.rglob("*"))}
        assert len(found) == 5
        assert all(mode == (folders if p.is_dir() else files) for p, mode in found.items())


def test_both_halves_are_on_disk_before_either_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    fsync, rename = os.fsync, os.rename

    def flushed(descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        events.append(("flush", path.rpartition(".staging/")[2]))
        fsync(descriptor)

    def renamed(source: Path, target: Path) -> None:
        events.append(("rename", Path(target).name))
        rename(source, target)

    def nested(folder: Path) -> None:
        (folder / "inner").mkdir()
        for name in ("data.csv", "inner/more"):
            (folder / name).write_text("x")

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "rename", renamed)
    publish(tmp_path / "out", nested, nested)
    monkeypatch.undo()
    names = ("", "/data.csv", "/inner", "/inner/more")
    wanted = {("flush", f"{half}{name}") for half in ("private", "public") for name in names}
    at = events.index(("rename", "out.private"))
    assert wanted <= set(events[:at])
    # The appearance of the public folder is the release; whoever cleans up knows that it is there.
    aside = events[at + 2][1]
    both = [("flush", aside), ("flush", str(tmp_path))]
    assert Path(aside).parent == tmp_path
    assert events[at:] == [("rename", "out.private"), ("rename", "out"), *both, ("flush", aside)]


def test_a_release_is_replaced_whole(tmp_path: Path) -> None:
    public = tmp_path / "out"
    # All that a release may hold, in as many copies as there are.
    release_in(public, "evidence.json")
    for name in ("csv", "tsv", "parquet", "arrow", "duckdb", "sqlite"):
        (public / f"data.{name}").touch()
        (public / f"data-12.{name}").touch()
    (public / "report.html").touch()
    private = release_in(private_path(public), "seed.json")
    opened = len(list(Path("/proc/self/fd").iterdir()))
    publish(public, write_small, write_small, replace=True)
    assert [p.name for p in public.iterdir()] == ["data.csv"]
    assert [p.name for p in private.iterdir()] == ["data.csv"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


@pytest.mark.parametrize("half", ["out", "out.private"])
@pytest.mark.parametrize(
    "other",
    [
        *("file", "link", "dangling", "empty", "not json", "list"),
        *("a stranger's", "a look-alike", "folder", "more"),
    ],
)
def test_nothing_but_a_release_is_replaced(half: str, other: str, tmp_path: Path) -> None:
    mark = "evidence.json" if half == "out" else "seed.json"
    elsewhere = release_in(tmp_path / "elsewhere", mark)
    target = tmp_path / half
    match other:
        case "file":
            target.write_text("mine")
        case "link" | "dangling":
            target.symlink_to(elsewhere if other == "link" else tmp_path / "nowhere")
        case "empty":
            target.mkdir()
        case "not json" | "list" | "a stranger's" | "a look-alike":
            words = {
                "not json": "{",
                "list": '["sfumato"]',
                "a stranger's": '{"name": "sfumato"}',
                "a look-alike": '{"sfumato": "0"}',
            }
            release_in(target, mark, words[other])
        case "folder":
            (release_in(target, mark) / "report.html").mkdir()
        case "more":
            (release_in(target, mark) / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="is not a release of Sfumato's"):
        publish(tmp_path / "out", write_small, write_small, replace=True)
    assert target.is_symlink() or target.exists()
    assert (elsewhere / mark).is_file()
    with pytest.raises(OutputError, match=r"exists"):
        publish(tmp_path / "out", write_small, write_small)


def test_places_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for replace in (False, True):
        with pytest.raises(OutputError, match="cannot be a release"):
            check_free(Path("/"), replace=replace)
        with pytest.raises(OutputError, match="there is no folder"):
            check_free(tmp_path / "no" / "out", replace=replace)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(OutputError, match="cannot be written to"):
        check_free(tmp_path / "out", replace=False)
    monkeypatch.undo()
    (tmp_path / "out.private").mkdir()
    with pytest.raises(OutputError, match="exists without out"):
        check_free(tmp_path / "out", replace=False)


def test_the_dead_are_swept_and_the_living_are_not(tmp_path: Path) -> None:
    """In whatever order they are met."""
    locks, kept = [], set()
    for i in range(6):
        for kind in ("dead", "living", "lockless"):
            aside = tmp_path / f".out.{kind}{i}.staging"
            aside.mkdir(0o700)
            if kind != "lockless":
                lock = os.open(aside / "lock", os.O_CREAT | os.O_RDWR)
                locks.append(lock)
                if kind == "living":
                    fcntl.flock(lock, fcntl.LOCK_EX)
            if kind == "living":
                kept.add(aside.name)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    check_free(tmp_path / "out", replace=False)
    assert {p.name for p in tmp_path.iterdir()} == kept
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    for lock in locks:
        os.close(lock)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_replacement_that_fails_at_any_step_is_undone(
    nth: int, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = release_in(tmp_path / "out", "evidence.json")
    private = release_in(tmp_path / "out.private", "seed.json")
    rename, calls = os.rename, [0]

    def fail(source: Path, target: Path) -> None:
        calls[0] += 1
        if calls[0] == nth:
            raise error("now")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    told = KeyboardInterrupt if error is KeyboardInterrupt else OutputError
    with pytest.raises(told, match="now"):
        publish(public, write_small, write_small, replace=True)
    monkeypatch.undo()
    assert [p.name for p in public.iterdir()] == ["evidence.json"]
    assert [p.name for p in private.iterdir()] == ["seed.json"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]


@pytest.mark.parametrize("wait", [True, False])
def test_where_there_is_no_flock_one_byte_is_locked(
    wait: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows: who writes waits for the lock, who sweeps does not."""
    asked: list[tuple[int, str, int]] = []
    windows = types.SimpleNamespace(
        LK_LOCK="waits", LK_NBLCK="fails", locking=lambda *words: asked.append(words)
    )
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    hold(lock, wait=wait)
    os.close(lock)
    assert asked == [(lock, "waits" if wait else "fails", 1)]


def fails_for_folders(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where folders cannot be renamed."""
    rename = os.rename

    def renamed(source: Path, target: Path) -> None:
        if Path(source).is_dir():
            raise OSError(code, os.strerror(code))
        rename(source, target)

    monkeypatch.setattr(os, "rename", renamed)


def write_release(folder: Path, words: str = "new") -> None:
    """What a release holds, of either half."""
    public = folder.name == "public"
    inner, mark = ("data", "evidence.json") if public else ("alignment", "seed.json")
    (folder / inner).mkdir()
    (folder / inner / "part-00000.parquet").write_text(words)
    (folder / mark).write_text(MARKS[mark])


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM, errno.ENOTSUP])
def test_where_folders_cannot_be_renamed_the_mark_comes_last(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_for_folders(code, monkeypatch)
    copied: list[str] = []
    copy = shutil.copy2

    def noted(source: Path, target: Path) -> None:
        copied.append(f"{target.parent.name}/{target.name}")
        copy(source, target)

    monkeypatch.setattr(shutil, "copy2", noted)
    publish(tmp_path / "out", write_release, write_release)
    assert copied == [
        *("alignment/part-00000.parquet", "out.private/seed.json"),
        *("data/part-00000.parquet", "out/evidence.json"),
    ]
    assert (tmp_path / "out.private").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "out.private" / "seed.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out" / "data").stat().st_mode & 0o777 == 0o755
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private"]


def test_other_errors_of_a_rename_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_for_folders(errno.EIO, monkeypatch)
    with pytest.raises(OutputError, match="could not be put"):
        publish(tmp_path / "out", write_release, write_release)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("end", ["error", "kill"])
@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_a_copy_that_ends_early_is_no_release(
    nth: int, end: str, replace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each file: the old release is back whole, or nothing is there, at once or when the next
    run looks; and nobody takes what is there meanwhile for a release."""
    folder, last = tmp_path / "place", 8 if replace else 4
    folder.mkdir()
    if replace:
        publish(folder / "out", lambda at: write_release(at, "old"), write_release)
    copy, calls = shutil.copy2, [0]

    def ends(source: Path, target: Path) -> None:
        calls[0] += 1
        if calls[0] == nth:
            if end == "kill":
                os._exit(7)
            raise OSError(errno.ENOSPC, "no space")
        copy(source, target)

    child = os.fork() if end == "kill" else 0
    if child == 0:
        with monkeypatch.context() as patched:
            fails_for_folders(errno.EXDEV, patched)
            patched.setattr(shutil, "copy2", ends)
            if end == "kill":
                try:
                    publish(folder / "out", write_release, write_release, replace=replace)
                    os._exit(0)
                finally:
                    os._exit(1)
            if nth <= last:
                with pytest.raises(OutputError, match="no space"):
                    publish(folder / "out", write_release, write_release, replace=replace)
            else:
                publish(folder / "out", write_release, write_release, replace=replace)
    else:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (7 if nth <= last else 0)
        if (folder / "out").exists() and not (folder / "out" / "evidence.json").exists():
            with pytest.raises(InputError, match=r"no finished release|holds 0 data files"):
                data_file(folder / "out")
        with contextlib.suppress(OutputError):  # where a release is there, it says so
            check_free(folder / "out", replace=False)
    names = sorted(p.name for p in folder.iterdir())
    whole = nth > last or replace
    if whole:
        assert names == ["out", "out.private"]
        said = (folder / "out" / "data" / "part-00000.parquet").read_text()
        assert said == ("new" if nth > last else "old")
        assert (folder / "out" / "evidence.json").is_file()
        assert (folder / "out.private" / "seed.json").is_file()
    else:
        assert names == []


@pytest.mark.parametrize(
    ("kind", "copies"),
    [("ext4", False), ("fuse.s3fs", True), ("nfs4", False), ("fuse.sshfs", False)],
)
def test_mounted_object_stores_are_known(
    kind: str, copies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a store"
    place.mkdir()
    told = str(place).replace(" ", "\\040")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/x rw\n2 1 0:9 / {told} rw - {kind} store rw\n")
    monkeypatch.setattr(staging, "_MOUNTS", mounts)
    assert staging.copies(place) == copies
    assert staging.copies(place / "deeper") == copies
    assert not staging.copies(tmp_path)
    monkeypatch.setattr(staging, "_MOUNTS", tmp_path / "nowhere")
    assert not staging.copies(place)


def test_a_folder_without_its_mark_is_no_release(tmp_path: Path) -> None:
    for name in ("data.csv", "data/part-00000.parquet"):
        release = tmp_path / name.partition("/")[0].replace(".", "-")
        (release / name).parent.mkdir(parents=True)
        (release / name).touch()
        with pytest.raises(InputError, match="no finished release"):
            data_file(release)
        with pytest.raises(InputError, match="no finished release"):
            sql_recount(release, ["age"])
        with pytest.raises(InputError, match="no finished release"):
            sf.assess(tmp_path / "x.csv", str(release))
        (release / "evidence.json").write_text("{}")
        assert data_file(release) == release / name.partition("/")[0]
