"""A folder of one's own for what does not fit into memory, which is gone afterwards.

It holds data of people before they are masked: nobody else may read it, and one that a process left
behind when it was killed is removed by the next.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from ..errors import OutputError
from ..machine import refused

_PREFIX = "sfumato-scratch-"
_LOCK = "in-use"
_RESERVE = 256 << 20
"""Bytes that are left free for others."""


class Scratch:
    """A temporary folder, from `with` to its end."""

    def __init__(self, parent: Path | str | None = None) -> None:
        self.parent = Path(parent) if parent is not None else Path(tempfile.gettempdir())
        self._count = 0

    def __enter__(self) -> Scratch:
        try:
            sweep(self.parent)
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self.parent))  # mode 0700
        except OSError as error:
            if (told := refused(error, self.parent, aside=True)) is not None:
                raise told from error
            raise OutputError(
                f"no temporary folder can be made in {self.parent}: {error.strerror}",
                remedy="temporary = a folder that can be written",
            ) from error
        self._lock = os.open(self.folder / "new", os.O_CREAT | os.O_RDWR, 0o600)
        _locked(self._lock)
        # Whoever sweeps sees it only when it is locked.
        (self.folder / "new").rename(self.folder / _LOCK)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._lock)
        shutil.rmtree(self.folder, ignore_errors=True)

    def fresh(self, what: str) -> Path:
        """A new folder in it."""
        self._count += 1
        path = self.folder / f"{self._count:05d}-{what}"
        path.mkdir(mode=0o700)
        return path


@contextmanager
def room(folder: Path, size: int) -> Iterator[None]:
    """An error that says so where a file of this many bytes may not fit, or did not."""
    try:
        if shutil.disk_usage(folder).free < size + _RESERVE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield
    except OSError as error:
        if (told := refused(error, folder.parent, aside=True)) is not None:
            raise told from error
        raise


def sweep(parent: Path) -> None:
    """Remove the folders of processes that are no more."""
    for path in parent.glob(_PREFIX + "*"):
        with suppress(OSError):
            handle = os.open(path / _LOCK, os.O_RDWR)
            try:
                if _locked(handle):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(handle)


def _locked(handle: int) -> bool:
    """Whether the lock is ours now; it ends with the process that has it."""
    try:
        import fcntl
    except ImportError:  # where there are no such locks nothing is swept
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
