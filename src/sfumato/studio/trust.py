"""What is not taken on trust: rooms that somebody else can have filled, and plans that reach out of
the folder. A plan is text that anybody may have sent; opening it is not yet running it."""

from __future__ import annotations

import os
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..addresses import bare, is_address
from ..release.plan.reader import FILES
from .jobs import NAMES

_NAMES = {*NAMES, *FILES, "database"}
"""Keys of a plan whose texts are files, folders or addresses."""
_LONGEST = 4096
"""Characters of a path."""


# --- rooms ---


def foreign(room: Path) -> str:
    """Why what stands in a room may be somebody else's; nothing where it is this user's alone, or
    where there is none. Whoever fills it could tell of trials that never were."""
    for folder in (room, room / "texts", room / "jobs"):
        try:
            found = folder.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"cannot be looked into ({error.strerror})"
        name = folder.name if folder == room else f"{room.name}/{folder.name}"
        if not stat.S_ISDIR(found.st_mode):
            return f"{name} is a link or a file, and the studio keeps nothing behind one"
        if not hasattr(os, "geteuid"):
            continue  # Windows knows neither owners by number nor these modes
        if found.st_uid != os.geteuid():
            return f"{name} belongs to somebody else"
        if found.st_mode & 0o022 and _filled(folder) and _has_modes(folder):
            return f"others can write into {name}"
    return ""


def _filled(folder: Path) -> bool:
    try:
        return next(os.scandir(folder), None) is not None
    except OSError:
        return True


def _has_modes(folder: Path) -> bool:
    """Whether the file system keeps folders from others at all; that of a stick may not."""
    try:
        with tempfile.TemporaryDirectory(prefix=".sfumato-", dir=folder) as made:
            return not os.stat(made).st_mode & 0o022
    except OSError:
        return True


# --- plans ---


def beyond(text: str, base: Path, root: Path) -> tuple[str, ...]:
    """What a plan would have the studio reach outside of the folder that it was started in, in
    words: files, databases, clusters and their programs. The release itself goes where the room
    Publish says."""
    names, words = _reached(text)
    found = [*words]
    for name, is_file in names:
        if is_file and is_address(name):
            found.append(bare(name))
            continue
        if not is_file and not _is_there(name, base):
            continue  # a date, say, or another value with a stroke
        path = _path(name, base)
        if path is not None and not path.is_relative_to(root):
            found.append(name if str(path) == name else f"{name}, which is {path}")
    return tuple(dict.fromkeys(found))


def passwords(text: str) -> bool:
    """Whether an address of the plan holds a password, or what may be one."""
    names, _ = _reached(text)
    return any(one and is_address(name) and bare(name) != name.strip() for name, one in names)


@lru_cache(maxsize=8)
def _reached(text: str) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
    """The texts of a plan that may name a file, each with whether its key says that it does; and
    what its engine reaches, in words."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError):
        return (), ()  # nothing runs it
    engine = document.get("engine")
    return tuple(dict.fromkeys(_texts(document))), tuple(_engine(engine))


def _texts(document: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    # Without recursion: dotted keys nest as deep as anybody likes.
    left: list[tuple[Any, bool]] = []
    for name, section in document.items():
        if name == "output" and isinstance(section, dict):
            section = {key: value for key, value in section.items() if key != "path"}
        left.append((section, False))
    while left:
        value, is_file = left.pop()
        if isinstance(value, dict):
            left += [(one, is_file or key in _NAMES) for key, one in value.items()]
        elif isinstance(value, list):
            left += [(one, is_file) for one in value]
        elif isinstance(value, str) and value and (is_file or _may_be_path(value)):
            yield value, is_file


def _may_be_path(text: str) -> bool:
    """Whether a text of a key that is not known to name files may do so all the same."""
    return (
        len(text) <= _LONGEST
        and ("/" in text or "\\" in text or text[0] == "~")
        and any(sign.isalnum() for sign in text)
        and "://" not in text
    )


def _engine(given: Any) -> Iterator[str]:
    if not isinstance(given, dict):
        return
    master = given.get("master", "")
    if isinstance(master, str) and master and not master.startswith("local"):
        yield f"the cluster {bare(master) if '@' in master else master}"
    conf = given.get("conf")
    for key, value in conf.items() if isinstance(conf, dict) else ():
        yield f"a setting of Spark, which can start programs: {key} = {value!r}"


def _path(name: str, base: Path) -> Path | None:
    """Where a name leads, links followed; None where no file can be called so."""
    try:
        return (base / os.path.expanduser(name)).resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _is_there(name: str, base: Path) -> bool:
    try:
        return os.path.lexists(base / os.path.expanduser(name))
    except (OSError, ValueError):
        return False
