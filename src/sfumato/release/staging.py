"""The hidden folder beside its place in which a release is made, and what the dead left of one.

    .NAME.lock              held while somebody looks at the place or changes it, then gone
    .NAME.*.staging/        mode 0700
        lock                held as long as its process lives; it goes last
        public, private     the new halves, until they are moved into place
        old-public, ...     the halves that they replace
        arriving            a mark: the old halves are here, whole, and the new ones go
        copied              a mark: this file system copies folders
        committed           a mark: the release is in place; it goes after all but the lock

One rename decides, that of `public`: before it whatever was done is undone by whoever comes next,
after it only the rest is removed. Where folders are copied, the arrival of its mark decides.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..data.io.writing import flush
from ..data.linkage.earlier import EVIDENCE
from ..errors import OutputError
from ..progress import report

PRIVATE_SUFFIX = ".private"
PUBLIC_MARK, PRIVATE_MARK = EVIDENCE, "seed.json"
_MARKS = (PUBLIC_MARK, PRIVATE_MARK)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_PAUSE, _TOLD, _TRIES = 0.05, 20, 12_000
"""Seconds between looks at a lock, and after how many it is told, or given up (ten minutes)."""
_LOCK, _COPIED, _ARRIVING, _COMMITTED = "lock", "copied", "arriving", "committed"
_PUBLIC, _PRIVATE, _OLD_PUBLIC, _OLD_PRIVATE = "public", "private", "old-public", "old-private"
_NOT_AT_ONCE = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_MOUNTS = Path("/proc/self/mountinfo")
_OBJECT_STORES = re.compile(
    r"fuse\.(s3fs|goofys|geesefs|mount-s3|mountpoint-s3|gcsfuse|rclone|blobfuse2?|ossfs|cosfs)"
)
"""File systems on which the rename of a folder copies its files one by one, in any order."""


def private_path(public: Path) -> Path:
    """The private twin of a public folder."""
    return public.with_name(public.name + PRIVATE_SUFFIX)


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


@contextlib.contextmanager
def held(public: Path) -> Iterator[None]:
    """Nobody else looks at this place or changes it meanwhile."""
    path = public.with_name(f".{public.name}.lock")
    try:
        lock = _locked(path)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be held: {error.strerror or error}",
            remedy="move it away if it is not Sfumato's, or choose another output path",
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows keeps a file as long as it is open
            path.unlink()
        os.close(lock)


def _locked(path: Path) -> int:
    """A descriptor that holds the file of this name, which whoever held it last removed."""
    while True:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | NO_LINK, 0o600)
        try:
            _wait_for(lock, path)
            if os.path.samestat(os.fstat(lock), os.lstat(path)):
                return lock
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _wait_for(lock: int, path: Path) -> None:
    """Hold a file as soon as nobody else does; whoever waits long is told for what."""
    for tried in range(_TRIES):
        try:
            hold(lock, wait=False)
            return
        except OSError as error:
            if error.errno not in _HELD:
                raise
        if tried == _TOLD:
            report("waiting for another run", 0, 1)
        time.sleep(_PAUSE)
    raise OSError(errno.EWOULDBLOCK, "another run has held it for minutes", str(path))


class _Half(NamedTuple):
    """The old folder of a half and the new one, while they are aside; where it belongs; and the
    file without which it is none."""

    old: Path
    new: Path
    place: Path
    mark: str


class Staging:
    """The hidden folder of one release on its way."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder, self.place = folder, place
        self.public, self.private = folder / _PUBLIC, folder / _PRIVATE
        self._public = _Half(folder / _OLD_PUBLIC, self.public, place, PUBLIC_MARK)
        self._private = _Half(
            folder / _OLD_PRIVATE, self.private, private_path(place), PRIVATE_MARK
        )

    def make(self) -> None:
        """The folders of the new halves, noted by their numbers."""
        self.private.mkdir(mode=0o700)
        self.public.mkdir(mode=0o755)
        told = f"{_number(self.public)} {_number(self.private)}"
        (self.folder / _LOCK).write_text(told, encoding="ascii")

    def put_in_place(self) -> None:
        """Both halves, instead of those that are there. The old public half goes first and the new
        one comes last: a half-replaced release is an absent one, never a mixed one."""
        for half in (self._public, self._private):
            if half.place.exists() or half.place.is_symlink():
                self._move(half.place, half.old, half.mark)
        self._mark(_ARRIVING)
        flush(self.place.parent)
        for half in (self._private, self._public):
            self._move(half.new, half.place, half.mark, keep=True)
        flush(self.folder)
        flush(self.place.parent)

    def commit(self) -> None:
        """Say that the release is in place, before anything is cleaned up."""
        self._mark(_COMMITTED)

    @property
    def committed(self) -> bool:
        """Whether the new release was put in place; if it is not there, its owner moved it."""
        if self._marked(_COMMITTED):
            return True
        if self._marked(_COPIED):
            return self._marked(_ARRIVING) and (self.place / PUBLIC_MARK).exists()
        return not self.public.exists()

    @property
    def holds_old(self) -> bool:
        """Whether the release that was to be replaced is still here, in part or whole."""
        return self._public.old.exists() or self._private.old.exists()

    def undo(self) -> None:
        """Take out a release that did not arrive, and put back what it was to replace; also for
        whoever died in the middle of it."""
        copied, arriving = self._marked(_COPIED), self._marked(_ARRIVING)
        for half, number in zip((self._public, self._private), self._numbers(), strict=True):
            if copied:
                self._remove_copy(half, arriving=arriving)
            elif not half.new.exists() and _number(half.place) == number:
                os.rename(half.place, half.new)
        for half in (self._private, self._public):
            if not half.old.exists():
                continue
            if half.place.exists() or half.place.is_symlink():
                raise OutputError(
                    f"the release that an interrupted run was replacing lies in {half.old}, and "
                    f"something else is at {half.place}",
                    remedy="move one of the two away",
                )
            self._move(half.old, half.place, half.mark)
        flush(self.folder)
        flush(self.place.parent)

    def _remove_copy(self, half: _Half, *, arriving: bool) -> None:
        """Of a half that is there twice, the one that is not whole, or not wanted."""
        if arriving or (half.old / half.mark).exists():
            if half.place.is_dir():
                _remove(half.place)
        elif half.old.exists():
            _remove(half.old)  # the beginning of a copy of what is still in its place

    def remove(self) -> None:
        """All of it, the lock last, and before it the mark that all else may go."""
        last = (_COMMITTED, _LOCK)
        for path in self.folder.iterdir():
            if path.name in last:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for name in last:
            (self.folder / name).unlink(missing_ok=True)
        self.folder.rmdir()

    def _numbers(self) -> tuple[int | None, int | None]:
        """Those that the file system gave to the new halves, public and private."""
        try:
            public, private = (self.folder / _LOCK).read_text(encoding="ascii").split()
            return int(public), int(private)
        except (OSError, ValueError):
            return None, None

    def _mark(self, name: str) -> None:
        (self.folder / name).touch()
        flush(self.folder)

    def _marked(self, name: str) -> bool:
        return (self.folder / name).exists()

    def _move(self, source: Path, target: Path, mark: str, *, keep: bool = False) -> None:
        """Rename a folder; where that is not done at once, copy it, and `keep` it where it was.
        What makes it a release, its mark, arrives last and leaves first."""
        if not copies(target.parent):
            try:
                os.rename(source, target)
                return
            except OSError as error:
                if error.errno not in _NOT_AT_ONCE:
                    raise
        self._mark(_COPIED)
        target.mkdir(mode=0o700)
        last = source / mark
        for path in (*(p for p in sorted(source.rglob("*")) if p != last), last):
            copy = target / path.relative_to(source)
            if path.is_dir():
                copy.mkdir()
            elif path.exists():
                shutil.copy2(path, copy)
                flush(copy)
        shutil.copystat(source, target)
        flush(target)
        if not keep:
            _remove(source)


def _number(folder: Path) -> int:
    try:
        return folder.lstat().st_ino
    except OSError:
        return -1


def _remove(folder: Path) -> None:
    """Remove a folder, its mark first: what is left of it meanwhile is no release."""
    for mark in _MARKS:
        (folder / mark).unlink(missing_ok=True)
    shutil.rmtree(folder)


def copies(folder: Path) -> bool:
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
def staged(public: Path) -> Iterator[Staging]:
    """A private folder beside the target, gone when the block ends; a lock tells who lives."""
    with held(public):  # who sweeps does not meet it without its lock
        try:
            aside = tempfile.mkdtemp(
                prefix=f".{public.name}.", suffix=".staging", dir=public.parent
            )
        except OSError as error:
            raise OutputError(
                f"cannot write beside {public}: {error}", remedy="choose another path"
            ) from error
        staging = Staging(Path(aside), public)
        lock = os.open(staging.folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        hold(lock, wait=True)
    try:
        staging.make()
        yield staging
    finally:
        _cleared(staging, lock)


def _cleared(staging: Staging, lock: int) -> None:
    """Remove a folder and let its lock go. What cannot be removed is left to the next run, and so
    is a release that could not be put back."""
    for _ in range(2):  # Windows keeps a file as long as it is open
        with contextlib.suppress(OSError):
            if staging.committed or not staging.holds_old:
                staging.remove()
        if lock >= 0:
            os.close(lock)
            lock = -1


def _is_ours(left: Path) -> bool:
    """Whether this user made a folder, and nobody else can have put anything into it: whatever it
    says is done with folders that are not in it."""
    try:
        found = left.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True  # Windows knows neither owners by number nor these modes
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def sweep(public: Path) -> None:
    """Remove what interrupted runs left aside, and put back a release that was being replaced; for
    whoever holds the place."""
    for left in sorted(public.parent.glob(f".{glob.escape(public.name)}.*.staging")):
        middle = left.name.removeprefix(f".{public.name}.").removesuffix(".staging")
        if "." in middle or not _is_ours(left):
            continue  # `.release.v2.*.staging` is not `release`'s
        try:
            # One without a lock died before it had one, or after it had nothing else.
            lock = os.open(left / _LOCK, os.O_CREAT | os.O_RDWR | NO_LINK, 0o600)
        except OSError:
            continue  # just removed
        try:
            hold(lock, wait=False)
        except OSError:
            os.close(lock)
            continue  # its process is alive
        staging = Staging(left, public)
        try:
            if not staging.committed:
                staging.undo()
        except OSError as error:
            raise OutputError(
                f"the release that an interrupted run was replacing lies in {left}, and could not "
                f"be put back: {error}",
                remedy="put it back yourself, or move the folder away",
            ) from error
        finally:
            _cleared(staging, lock)
