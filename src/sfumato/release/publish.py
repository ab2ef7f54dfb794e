"""Writing a release: two folders that appear whole or not at all.

Both are written aside, in a hidden sibling folder of mode 0700, flushed to disk, and renamed:
the private folder first, then the public one, whose appearance is the release. Whenever the
process dies, the public folder is either complete, with its private twin, or absent. What a dead
process left aside is swept away by the next one, which first puts back a release that was being
replaced.

Where a file system does not rename folders at once, their files are copied, `evidence.json` last:
a folder without it is no release, and readers say so.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.io.source import WRITTEN
from ..data.io.writing import flush
from ..data.linkage.earlier import EVIDENCE, table_named
from ..errors import OutputError, Unsettled

if TYPE_CHECKING:
    from .landing import Landing

PRIVATE_SUFFIX = ".private"
_PUBLIC_MARK, _PRIVATE_MARK = EVIDENCE, "seed.json"
_DATA_NAMES = {*(f"data.{end}" for end in WRITTEN), "data/part.parquet"}
_OUR_NAMES = {
    _PUBLIC_MARK: {*_DATA_NAMES, "report.html", _PUBLIC_MARK},
    _PRIVATE_MARK: {
        *("plan.toml", "keys.json", "alignment.parquet", "lineage.parquet", "report.html"),
        *("risk-published.parquet", "risk-original.parquet", "participants.parquet"),
        *("mapping.csv", "people.parquet", "earlier.parquet", "cells.parquet", "figures.json"),
        *("alignment/part.parquet", "people/part.parquet"),
        _PRIVATE_MARK,
    },
}
_LOCK = "lock"
_OLD_PUBLIC, _OLD_PRIVATE = "old-public", "old-private"
_COPIED = "copied"
"""Stands in the hidden folder where folders were copied, so that one without its mark is ours."""
_NOT_AT_ONCE = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_MOUNTS = Path("/proc/self/mountinfo")
_OBJECT_STORES = re.compile(
    r"fuse\.(s3fs|goofys|geesefs|mount-s3|mountpoint-s3|gcsfuse|rclone|blobfuse2?|ossfs|cosfs)"
)
"""File systems on which the rename of a folder copies its files one by one, in any order."""


def private_path(public: Path) -> Path:
    """The private twin of a public folder."""
    return public.with_name(public.name + PRIVATE_SUFFIX)


def table_of(public: Path) -> str:
    """The table of a database that holds the records of a release, as its evidence names it; ""
    where they are files."""
    told = table_named(public)
    return f"{told['name']} of {told['database']}" if told else ""


def check_free(public: Path, *, replace: bool, table: str = "") -> None:
    """Refuse early where the output could not be written anyway; `table` is where its records go,
    if not into the folder."""
    public = Path(os.path.abspath(public))
    if not public.name:
        raise OutputError(f"{public} cannot be a release", remedy="name a folder to make")
    parent = public.parent
    if not parent.is_dir():
        raise OutputError(f"there is no folder {parent}", remedy=f"mkdir -p {parent}")
    if not os.access(parent, os.W_OK):
        raise OutputError(f"the folder {parent} cannot be written to", remedy="choose another")
    _sweep(public)
    private = private_path(public)
    if replace:
        for folder, marks in ((public, _PUBLIC_MARK), (private, _PRIVATE_MARK)):
            if (folder.exists() or folder.is_symlink()) and not _is_ours(folder, marks):
                raise OutputError(
                    f"{folder} is not a release of Sfumato's, and is not replaced",
                    remedy="choose another output path, or move it away yourself",
                )
        if table_of(public) not in ("", table):
            raise OutputError(
                f"the records of {public} are the table {table_of(public)}, which would stay "
                "without its evidence",
                remedy="name the same table, or drop it and move the folder away yourself",
            )
        return
    if public.exists() or public.is_symlink():
        raise OutputError(f"{public} exists already", remedy="--replace, or another output path")
    if private.exists() or private.is_symlink():
        raise OutputError(
            f"{private} exists without {public.name}: the private half of a release that was "
            "moved, or of one that was interrupted",
            remedy="move it away if that release was published, else --replace",
        )


def _is_ours(folder: Path, mark: str) -> bool:
    """A folder that holds what a release holds, and nothing else: only such a one is replaced."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    if not (folder / mark).is_file() or any(path.is_symlink() for path in folder.rglob("*")):
        return False
    inside = {path.relative_to(folder).as_posix(): path.is_dir() for path in folder.rglob("*")}
    ours = _OUR_NAMES[mark]
    folders = {name for name, is_folder in inside.items() if is_folder}
    if not folders <= {name.partition("/")[0] for name in ours if "/" in name}:
        return False
    try:
        found = json.loads((folder / mark).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    plain = {re.sub(r"(^data|/part)-\d+\.", r"\1.", name) for name in inside.keys() - folders}
    return plain <= ours and isinstance(found, dict) and "sfumato" in found


def publish(
    target: str | Path,
    write_public: Callable[[Path], None],
    write_private: Callable[[Path], None],
    *,
    replace: bool = False,
    recording: Callable[[Path], contextlib.AbstractContextManager[None]] | None = None,
    landing: Landing | None = None,
) -> Path:
    """Make both folders by the two writers, all or nothing; the private one comes second, and may
    tell what was found in the public one. `recording` is held while they appear; a table at
    `landing` appears after them, or they go again."""
    if not target:
        raise OutputError("the release has no path", remedy='release.save("release")')
    public = Path(os.path.abspath(target))
    check_free(public, replace=replace, table="" if landing is None else landing.title)
    with contextlib.ExitStack() as held:
        if landing is not None:
            held.enter_context(landing.held(public))
        aside = held.enter_context(_staging(public))
        new_public, new_private = aside / "public", aside / "private"
        new_private.mkdir(mode=0o700)
        new_public.mkdir(mode=0o755)
        write_public(new_public)
        write_private(new_private)
        _settle(new_private, folder_mode=0o700, file_mode=0o600)
        _settle(new_public, folder_mode=0o755, file_mode=0o644)
        if recording is not None:
            held.enter_context(recording(new_public))
        _swap_in(public, aside, landing, replace=replace)
    return Path(target)


def _swap_in(public: Path, aside: Path, landing: Landing | None, *, replace: bool) -> None:
    private = private_path(public)
    arrived: list[Path] = []
    try:
        with contextlib.nullcontext() if landing is None else landing.appearing():
            if replace:
                # The old public folder goes first: a half-replaced release is an absent one, never
                # a mixed one.
                for old, name in ((public, _OLD_PUBLIC), (private, _OLD_PRIVATE)):
                    if old.exists() or old.is_symlink():
                        _move(old, aside / name, aside)
                flush(public.parent)
            else:
                check_free(public, replace=False)
            for name, place in (("private", private), ("public", public)):
                _move(aside / name, place, aside)
                arrived.append(place)
            flush(public.parent)
    except Unsettled:
        raise  # the table may be there, and then its evidence must be
    except BaseException as error:
        for place in reversed(arrived):
            with contextlib.suppress(OSError):
                _remove(place)
        _put_back(aside, public)
        if not isinstance(error, OSError):
            raise  # Ctrl-C, for one
        raise OutputError(f"the release could not be put at {public}: {error}") from error


def _move(source: Path, target: Path, aside: Path) -> None:
    """Rename a folder; where that is not done at once, copy it. What makes it a release, its mark,
    arrives last and leaves first."""
    if not _copies(target.parent):
        try:
            os.rename(source, target)
            return
        except OSError as error:
            if error.errno not in _NOT_AT_ONCE:
                raise
    (aside / _COPIED).touch()
    target.mkdir(mode=0o700)
    try:
        marks = [source / mark for mark in _OUR_NAMES if (source / mark).exists()]
        for path in (*(p for p in sorted(source.rglob("*")) if p not in marks), *marks):
            copy = target / path.relative_to(source)
            if path.is_dir():
                copy.mkdir()
            else:
                shutil.copy2(path, copy)
                flush(copy)
        shutil.copystat(source, target)
        flush(target)
    except BaseException:
        _remove(target)
        raise
    _remove(source)


def _remove(folder: Path) -> None:
    """Remove a folder, its mark first: what is left of it meanwhile is no release."""
    for mark in _OUR_NAMES:
        (folder / mark).unlink(missing_ok=True)
    shutil.rmtree(folder)


def _copies(folder: Path) -> bool:
    """Whether a folder is on a mounted object store."""
    try:
        listed = _MOUNTS.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False  # not Linux
    found = {}
    for line in listed:
        words, _, kind = line.partition(" - ")
        place = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), words.split()[4])
        if folder.is_relative_to(place):
            found[place] = kind.split()[0]
    return bool(found) and bool(_OBJECT_STORES.fullmatch(found[max(found, key=len)]))


@contextlib.contextmanager
def _staging(public: Path) -> Iterator[Path]:
    """A private folder beside the target, gone when the block ends; a lock tells who lives."""
    try:
        aside = Path(
            tempfile.mkdtemp(prefix=f".{public.name}.", suffix=".staging", dir=public.parent)
        )
    except OSError as error:
        raise OutputError(
            f"cannot write beside {public}: {error}", remedy="choose another path"
        ) from error
    lock = os.open(aside / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    hold(lock, wait=True)
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(lock)
        shutil.rmtree(aside, ignore_errors=True)  # Windows keeps a file as long as it is open


def _sweep(public: Path) -> None:
    """Remove what interrupted runs left aside, and put back a release that was being replaced."""
    for left in public.parent.glob(f".{glob.escape(public.name)}.*.staging"):
        if not _is_staging_of(left, public):
            continue
        try:
            lock = os.open(left / _LOCK, os.O_RDWR)
        except OSError:
            continue  # just being made, or just being removed
        try:
            hold(lock, wait=False)
        except OSError:
            continue  # its process is alive
        else:
            _put_back(left, public)
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(lock)
        shutil.rmtree(left, ignore_errors=True)  # Windows keeps a file as long as it is open


def _is_staging_of(folder: Path, public: Path) -> bool:
    """Whether it is this output's: `.release.v2.*.staging` is not `release`'s."""
    middle = folder.name.removeprefix(f".{public.name}.").removesuffix(".staging")
    return "." not in middle


def _put_back(left: Path, public: Path) -> None:
    """Undo a release that died on its way in, and put back the one that it was to replace, which
    was complete."""
    private = private_path(public)
    if (left / _COPIED).exists():
        # What was copied is whole if it has its mark; else it is a beginning, and ours.
        if public.is_dir() and not (public / _PUBLIC_MARK).exists():
            _remove(public)
            if not (left / _OLD_PUBLIC).exists():
                shutil.rmtree(private, ignore_errors=True)
        if private.is_dir() and not (private / _PRIVATE_MARK).exists():
            _remove(private)
    if not (left / _OLD_PUBLIC / _PUBLIC_MARK).exists() or public.exists():
        return
    if (left / _OLD_PRIVATE / _PRIVATE_MARK).exists():
        if private.exists():
            _move(private, left / "private-unpublished", left)
        _move(left / _OLD_PRIVATE, private, left)
    _move(left / _OLD_PUBLIC, public, left)


def _settle(folder: Path, *, folder_mode: int, file_mode: int) -> None:
    """Set modes and flush a folder with all that is in it."""
    for path in (*sorted(folder.rglob("*"), reverse=True), folder):
        path.chmod(folder_mode if stat.S_ISDIR(path.lstat().st_mode) else file_mode)
        flush(path)


def hold(descriptor: int, *, wait: bool) -> None:
    """Hold a file until it is closed; an `OSError` where a living process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        how = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK  # type: ignore[attr-defined]
        msvcrt.locking(descriptor, how, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
