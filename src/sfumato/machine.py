"""What the disk and the memory refuse, told as such: no fault of the machine is one of Sfumato's.

Whoever writes learns of a full disk in many ways: as an `OSError`, or in the words of Polars,
Arrow, DuckDB, SQLite or Spark. Here they all become one error that names the folder, says how much
is free and what to do.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import InputError, MachineError, OutputError, SfumatoError

NOTHING = "nothing was written"
_MEMORY = -1
_SPOKEN = {
    errno.ENOSPC: r"no space left on device|os error 28\b|disk is full|failed to offload",
    errno.EDQUOT: r"disk quota exceeded|os error 122\b",
    errno.EFBIG: r"file too large|os error 27\b",
    errno.EROFS: r"read-only file system|os error 30\b",
    errno.EIO: r"input/output error|os error 5\b|disk i/o error",
    _MEMORY: r"out of memory|could not allocate|failed to allocate|outofmemory",
}
_LIBRARIES = ("polars", "pyarrow", "duckdb", "_duckdb", "sqlite3", "pyspark", "py4j")
_NEVER_OF_READING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ROOM = "make room, or choose another output"
_AWAY = "; [engine] temporary names another folder for what does not fit into memory"


def refused(
    error: BaseException, folder: str | Path = ".", *, left: str = NOTHING, aside: bool = False
) -> MachineError | None:
    """What an error says about the machine; None where it speaks of something else.

    `left` tells what was written before, and `aside` that an engine writes what does not fit into
    memory.
    """
    if isinstance(error, MachineError):
        return MachineError(error.what, left, remedy=error.remedy)
    found = next((n for one in _chain(error) if (n := _number(one)) is not None), None)
    # A file that cannot be read is the input's trouble, and its error says which file it is.
    told = isinstance(error, SfumatoError) and not isinstance(error, OutputError)
    if found is None or (told and found not in _NEVER_OF_READING):
        return None
    if told and not isinstance(error, InputError):
        return None
    what, remedy = _said(found, _existing(Path(folder)))
    return MachineError(what, left, remedy=remedy + (_AWAY if aside else ""))


def cannot_write(path: str | Path, error: BaseException) -> OutputError:
    """The error about a file that was not written."""
    if isinstance(error, OutputError):
        return error
    told = refused(error, Path(path).parent)
    why = getattr(error, "strerror", None) or error
    return told or OutputError(
        f"{path} cannot be written: {why}", remedy="check the folder and its permissions"
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _number(error: BaseException) -> int | None:
    """Which of the machine's refusals it is."""
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, OSError) and error.errno in _SPOKEN:
        return error.errno
    if type(error).__module__.partition(".")[0] not in _LIBRARIES and not (
        isinstance(error, OSError) and error.errno is None  # Arrow's and Polars' own
    ):
        return None
    words = str(error).lower()
    return next((number for number, said in _SPOKEN.items() if re.search(said, words)), None)


def _existing(folder: Path) -> Path:
    folder = Path(os.path.abspath(folder))
    return next((one for one in (folder, *folder.parents) if one.is_dir()), folder)


def _said(number: int, folder: Path) -> tuple[str, str]:
    """What is the matter, and what helps."""
    if number == _MEMORY:
        remedy = 'close other programs, or [engine] use = "duckdb", which keeps records on the disk'
        return "the memory of this machine does not suffice", remedy
    if number == errno.EROFS:
        return f"the disk of {folder} can only be read", "choose another output"
    if number == errno.EIO:
        what = f"the disk of {folder} fails (input/output error)"
        return what, "check the disk, or choose another output"
    if number == errno.EFBIG:
        what = f"a file in {folder} would be larger than this disk or session allows"
        return what, "raise the limit (ulimit -f), or choose another output"
    if number == errno.EDQUOT:
        return f"your share of the disk of {folder} is used up ({free(folder)} are free)", _ROOM
    if _no_more_files(folder):
        return f"the disk of {folder} cannot hold more files ({free(folder)} are free)", _ROOM
    return f"the disk of {folder} has too little room ({free(folder)} are free)", _ROOM


def _no_more_files(folder: Path) -> bool:
    with suppress(OSError, AttributeError):
        found: Any = os.statvfs(folder)
        return bool(found.f_files) and not found.f_favail
    return False


def free(folder: Path) -> str:
    """The free space of a folder's disk, to be read by people."""
    try:
        return shown(shutil.disk_usage(folder).free)
    except OSError:
        return "an unknown number of bytes"


def shown(size: float) -> str:
    """Bytes as people say them.

    >>> shown(3 * 2**30), shown(1500), shown(12)
    ('3.0 GiB', '1.5 KiB', '12 bytes')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:.1f} {unit}"
    return f"{size:.0f} bytes"
