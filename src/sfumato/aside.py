"""Files that appear whole or not at all: written aside, in a folder nobody else can enter."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import OutputError
from .machine import cannot_write, refused

PRIVATE = 0o600


def write_text(target: Path, text: str, *, private: bool, replace: bool = True) -> None:
    """Write a small file, for its owner alone or as the umask says."""
    try:
        body = text.encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise OutputError(
            f"{target} cannot be written: {wrong!a} is no character",
            remedy="rename what is called so",
        ) from None
    with replacing(target, replace=replace, private=private) as temporary:
        temporary.write_bytes(body)


@contextmanager
def replacing(target: Path, *, replace: bool, private: bool = False) -> Iterator[Path]:
    """A path to write; on success its file takes the target's place at once, else it is removed.

    The path lies in a new folder of mode 0700 whose name nobody can guess: what others put beside
    the target (links above all) is never written through. The bytes are on the disk before the
    name is, so that a crash leaves the old file, the new one, or none.
    """
    if target.exists() and not target.is_file():  # a pipe or a device is written as it is
        try:
            yield target
        except OSError as error:
            raise cannot_write(target, error) from error
        return
    folder = target.parent
    if not folder.is_dir():
        raise OutputError(f"there is no folder {folder}", remedy="make it first")
    room = folder / f".sfumato-{secrets.token_hex(8)}.tmp"
    temporary = room / target.name
    try:
        room.mkdir(0o700)
        yield temporary
        if private:
            temporary.chmod(PRIVATE)
        flush(temporary)
        if replace:
            os.replace(temporary, target)
        else:
            _rename_if_absent(temporary, target)
        flush(folder)
    except Exception as error:
        _remove(temporary)  # what is free is told without it
        if not isinstance(error, OSError) and refused(error) is None:
            raise
        raise cannot_write(target, error) from error
    finally:
        _remove(temporary)


def _remove(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        temporary.parent.rmdir()


def _rename_if_absent(temporary: Path, target: Path) -> None:
    """Give the file its name unless another writer was faster, which a hard link notices."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise OutputError(
            f"{target} exists already", remedy="replace=True, or another path"
        ) from None
    except OSError:
        # A file system without hard links: the check and the rename are then two steps.
        if os.path.lexists(target):
            raise OutputError(
                f"{target} exists already", remedy="replace=True, or another path"
            ) from None
        os.rename(temporary, target)


def flush(path: Path) -> None:
    """Have the system put a file or a folder on the disk."""
    if path.is_dir():
        if not hasattr(os, "O_DIRECTORY"):
            return  # Windows cannot open folders
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    else:
        handle = os.open(path, os.O_RDWR)  # Windows flushes only what can be written to
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
