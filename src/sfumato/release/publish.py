"""Writing a release: two folders that appear whole or not at all.

Both are written aside, in a hidden sibling folder of mode 0700, flushed to disk, and renamed:
the private folder first, then the public one, whose appearance is the release. Whenever the
process dies, the public folder is either complete, with its private twin, or absent. What a dead
process left aside is swept away by the next one, which first puts back a release that was being
replaced.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ..data.io.source import WRITTEN
from ..data.io.writing import flush
from ..errors import OutputError

PRIVATE_SUFFIX = ".private"
_PUBLIC_MARK, _PRIVATE_MARK = "evidence.json", "seed.json"
_DATA_NAMES = {f"data.{end}" for end in WRITTEN}
_OUR_NAMES = {
    _PUBLIC_MARK: {*_DATA_NAMES, "report.html", _PUBLIC_MARK},
    _PRIVATE_MARK: {
        *("plan.toml", "keys.json", "alignment.parquet", "lineage.parquet", "report.html"),
        *("risk-published.parquet", "risk-original.parquet", "participants.parquet"),
        *("mapping.csv", "people.parquet", "earlier.parquet", "cells.parquet", "figures.json"),
        _PRIVATE_MARK,
    },
}
_LOCK = "lock"
_OLD_PUBLIC, _OLD_PRIVATE = "old-public", "old-private"


def private_path(public: Path) -> Path:
    """The private twin of a public folder."""
    return public.with_name(public.name + PRIVATE_SUFFIX)


def check_free(public: Path, *, replace: bool) -> None:
    """Refuse early where the output could not be written anyway."""
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
    names = {path.name for path in folder.iterdir()}
    if mark not in names or any((folder / name).is_dir() for name in names):
        return False
    try:
        found = json.loads((folder / mark).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    plain = {re.sub(r"^data-\d+\.", "data.", name) for name in names}
    return plain <= _OUR_NAMES[mark] and isinstance(found, dict) and "sfumato" in found


def publish(
    target: str | Path,
    write_public: Callable[[Path], None],
    write_private: Callable[[Path], None],
    *,
    replace: bool = False,
    recording: Callable[[Path], contextlib.AbstractContextManager[None]] | None = None,
) -> Path:
    """Make both folders by the two writers, all or nothing; the private one comes second, and may
    tell what was found in the public one. `recording` is held while they appear."""
    if not target:
        raise OutputError("the release has no path", remedy='release.save("release")')
    public = Path(os.path.abspath(target))
    check_free(public, replace=replace)
    with _staging(public) as aside:
        new_public, new_private = aside / "public", aside / "private"
        new_private.mkdir(mode=0o700)
        new_public.mkdir(mode=0o755)
        write_public(new_public)
        write_private(new_private)
        _settle(new_private, folder_mode=0o700, file_mode=0o600)
        _settle(new_public, folder_mode=0o755, file_mode=0o644)
        with contextlib.nullcontext() if recording is None else recording(new_public):
            _swap_in(public, new_public, new_private, aside, replace=replace)
    return Path(target)


def _swap_in(
    public: Path, new_public: Path, new_private: Path, aside: Path, *, replace: bool
) -> None:
    private = private_path(public)
    try:
        if replace:
            # The old public folder goes first: a half-replaced release is an absent one, never a
            # mixed one.
            for old, name in ((public, _OLD_PUBLIC), (private, _OLD_PRIVATE)):
                if old.exists() or old.is_symlink():
                    os.rename(old, aside / name)
            flush(public.parent)
        else:
            check_free(public, replace=False)
        os.rename(new_private, private)
        os.rename(new_public, public)
        flush(public.parent)
    except BaseException as error:
        _put_back(aside, public)
        if not isinstance(error, OSError):
            raise  # Ctrl-C, for one
        raise OutputError(f"the release could not be put at {public}: {error}") from error


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
    """Undo a replacement that died between its renames: the old release was complete."""
    private = private_path(public)
    if not (left / _OLD_PUBLIC).exists() or public.exists():
        return
    if (left / _OLD_PRIVATE).exists():
        if private.exists():
            os.rename(private, left / "private-unpublished")
        os.rename(left / _OLD_PRIVATE, private)
    os.rename(left / _OLD_PUBLIC, public)


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
