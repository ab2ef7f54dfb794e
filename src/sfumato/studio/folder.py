"""Which files may be chosen: those below the folder that the studio was started in."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..addresses import is_address
from ..aside import replacing
from ..errors import InputError, OutputError
from ..release.looking.files import ENDINGS, plan_beside, readable
from ..release.staging import PRIVATE_MARK
from ..texts import one_line
from .asked import Upload
from .desk import ROOM, Desk

_DEEP = 3
"""Folders within folders in which plans are looked for."""
_MOST = 500
"""Names of a folder that are listed."""
_LONGEST = 200
"""Bytes of a name."""


class Listing(NamedTuple):
    """What is in a folder."""

    folder: str
    """Below the one that the studio was started in; "" is that one."""
    folders: list[str]
    plans: list[str]
    data: list[str]
    beyond: int = 0
    """Names that are not listed."""


class Folder:
    """The folder that the studio works in, and the plans of it that were opened."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._desks: dict[str, Desk] = {}

    def inside(self, name: str) -> Path:
        """The path of a name below the folder; an error for everything else, links that lead out
        among it."""
        found = None
        with suppress(OSError, ValueError):  # a NUL, or a name that no file can have
            path = (self.root / name).resolve()
            path.exists()
            found = path
        if found is None or not found.is_relative_to(self.root):
            raise InputError(
                "that is not below the folder that the studio was started in",
                remedy="start it in another folder: sfumato studio FOLDER",
            )
        return found

    def listing(self, name: str = "") -> Listing:
        """What may be opened in a folder."""
        folder = self.inside(name)
        if not folder.is_dir():
            raise InputError(f"there is no folder {name!r}")
        try:
            names = sorted(folder.iterdir(), key=lambda one: one.name.lower())
        except OSError as error:
            raise InputError(f"the folder {name!r} cannot be opened: {error.strerror}") from error
        names = [one for one in names if not one.name.startswith(".") and not one.is_symlink()]
        plain = [one for one in names if _is_text(one.name)]
        found = Listing(name, [], [], [], max(len(names) - len(plain), len(names) - _MOST))
        names = plain
        for one in names[:_MOST]:
            told = str(one.relative_to(self.root))
            if one.is_dir():
                if one.suffix not in (ROOM, ".private") and not _private(one):
                    found.folders.append(told)
            elif one.suffix == ".toml":
                found.plans.append(told)
            elif readable(one):
                found.data.append(told)
        return found

    def desk(self, path: Path) -> Desk:
        """The desk of a plan."""
        made = Desk(path, self.root)
        return self._desks.setdefault(made.key, made)

    def of_key(self, key: str) -> Desk:
        """The desk of this key, also where it was opened before the studio was started anew."""
        if key not in self._desks:
            for path in self._plans(self.root, _DEEP):
                if Desk(path).key == key:
                    return self.desk(path)
            raise InputError("there is no such plan here", remedy="open it again")
        return self._desks[key]

    def desks(self) -> list[Desk]:
        """Those that were opened."""
        return [*self._desks.values()]

    def _plans(self, folder: Path, deep: int) -> Iterator[Path]:
        try:
            found = sorted(os.scandir(folder), key=lambda one: one.name)
        except OSError:
            return
        for one in found:
            if one.is_file(follow_symlinks=False) and one.name.endswith(".toml"):
                yield Path(one.path)
            # A file that is being drafted has a room, and no plan yet.
            if one.is_dir(follow_symlinks=False) and one.name.endswith(ROOM):
                yield Path(one.path).with_suffix(".toml")
            elif deep and one.is_dir(follow_symlinks=False) and not one.name.startswith("."):
                yield from self._plans(Path(one.path), deep - 1)

    def open(self, path: Path) -> Desk:
        """The desk of a plan, or of the plan of a data file, which is drafted if there is none."""
        if not path.is_file():
            raise InputError(f"there is no file {path.name}")
        if path.suffix == ".toml":
            return self.desk(path)
        desk = self.desk(self._plan_of(path))
        desk.check_room()
        if not desk.text:
            running = desk.last("draft")
            if running is None or running.state != "running":
                desk.start("draft", f"Reading {path.name}", {"source": str(path)})
        return desk

    def _plan_of(self, path: Path) -> Path:
        """Where the plan of a file is: not that of another file of the same stem."""
        beside = plan_beside(path)
        desk = self.desk(beside)
        desk.check_room()
        try:
            named = tomllib.loads(desk.text).get("input", {}).get("path", "")
        except (tomllib.TOMLDecodeError, AttributeError, RecursionError):
            return beside  # to be mended
        job = None if desk.text else desk.last("draft")
        other = str(job.words.get("source", "")) if job is not None else str(named)
        here = (beside.parent / other).resolve() == path.resolve()
        if not other or here or is_address(other):
            return beside
        if not (beside.parent / other).exists():
            return beside  # the file was renamed, most likely
        return path.with_name(f"{path.name}.toml")

    def keep(self, given: Upload | None) -> Path:
        """Put a file that was dropped on the page into the folder; nothing is overwritten."""
        name = "" if given is None else Path(given.name.replace("\\", "/")).name.lstrip(". ")
        if given is None or not name:
            raise InputError("no file was chosen", remedy="choose one, or drop it on the page")
        if name != one_line(name) or len(name.encode("utf-8", "replace")) > _LONGEST:
            raise InputError("the file's name cannot be kept", remedy="give it a short, plain name")
        target = self.inside(name)
        if not readable(target) and target.suffix != ".toml":
            raise InputError(
                f"files that end in {target.suffix or 'nothing'} cannot be read",
                remedy=f"one of {', '.join(ENDINGS)}",
            )
        if target.exists():
            raise OutputError(
                f"{name} is there already, and is not overwritten",
                remedy="open that one, or rename yours",
            )
        with replacing(target, replace=False, private=True) as aside, aside.open("wb") as file:
            shutil.copyfileobj(given.file, file)
        return target


def _is_text(name: str) -> bool:
    """Whether a page can say it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _private(folder: Path) -> bool:
    """Whether it is the private half of a release; one that cannot be looked into is not shown."""
    try:
        return (folder / PRIVATE_MARK).exists()
    except OSError:
        return True
