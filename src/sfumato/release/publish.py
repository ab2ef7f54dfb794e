"""Writing a release: two folders that appear whole or not at all.

Both are written aside, in a hidden sibling folder of mode 0700 (`staging`), flushed to disk, and
renamed: the private folder first, then the public one, whose appearance is the release. Whenever
the process dies, the public folder is either complete, with its private twin, or absent. What a
dead process left aside is swept away by the next one, which first puts back a release that was
being replaced. Whoever looks at the place or changes it holds its lock, so that two runs do not
mix: the halves there are always of one of them.

Where a file system does not rename folders at once, their files are copied, `evidence.json` last:
a folder without it is no release, and readers say so.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.io.source import WRITTEN
from ..data.io.writing import flush
from ..data.linkage.earlier import table_named
from ..errors import OutputError, Unsettled
from ..texts import json_text
from .digests import digest_of
from .staging import PRIVATE_MARK, PUBLIC_MARK, Staging, held, private_path, staged, sweep

if TYPE_CHECKING:
    from .landing import Landing

_DATA_NAMES = {*(f"data.{end}" for end in WRITTEN), "data/part.parquet"}
_OUR_NAMES = {
    PUBLIC_MARK: {*_DATA_NAMES, "report.html", PUBLIC_MARK},
    PRIVATE_MARK: {
        *("plan.toml", "keys.json", "alignment.parquet", "lineage.parquet", "report.html"),
        *("risk-published.parquet", "risk-original.parquet", "participants.parquet"),
        *("mapping.csv", "people.parquet", "earlier.parquet", "cells.parquet", "figures.json"),
        *("alignment/part.parquet", "people/part.parquet"),
        PRIVATE_MARK,
    },
}
_OUR_WORDS = {PUBLIC_MARK: {"sfumato", "requirements"}, PRIVATE_MARK: {"sfumato", "seed"}}
"""What the mark of each half says at least."""
_LONGEST = 255 - len("..xxxxxxxx.staging")
"""Bytes of a name that leave room for those beside it."""
_TIE = "evidence"
"""What `seed.json` says of its public half: the digest of its evidence."""


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
    if len(os.fsencode(public.name)) > _LONGEST:
        raise OutputError(
            f"the name of {public} is too long", remedy=f"{_LONGEST} bytes at most: choose another"
        )
    parent = public.parent
    if not parent.is_dir():
        raise OutputError(f"there is no folder {parent}", remedy=f"mkdir -p {parent}")
    if not os.access(parent, os.W_OK):
        raise OutputError(f"the folder {parent} cannot be written to", remedy="choose another")
    with held(public):
        sweep(public)
        _check(public, replace=replace, table=table)


def _check(public: Path, *, replace: bool, table: str) -> None:
    """The same of what is at the place, for whoever holds it."""
    private = private_path(public)
    if replace:
        for folder, mark in ((public, PUBLIC_MARK), (private, PRIVATE_MARK)):
            if (folder.exists() or folder.is_symlink()) and not _is_ours(folder, mark):
                raise OutputError(
                    f"{folder} is not a release of Sfumato's, and is not replaced",
                    remedy="choose another output path, or move it away yourself",
                )
        if not _are_one(public, private):
            raise OutputError(
                f"{public} and {private.name} are halves of two releases",
                remedy="move the one away that does not belong there",
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
    plain = {re.sub(r"(^data|/part)-\d+\.", r"\1.", name) for name in inside.keys() - folders}
    return plain <= ours and _words(folder / mark).keys() >= _OUR_WORDS[mark]


def _words(mark: Path) -> dict[str, Any]:
    """What the mark of a half says; nothing where it is none."""
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _are_one(public: Path, private: Path) -> bool:
    """Whether two halves are of one release, as far as they are there and say it."""
    tie = _words(private / PRIVATE_MARK).get(_TIE)
    return tie is None or not public.exists() or tie == digest_of(public / PUBLIC_MARK)


def _tie(public: Path, private: Path) -> None:
    """Have the private half name its public one."""
    mark = private / PRIVATE_MARK
    words = _words(mark)
    if words and (public / PUBLIC_MARK).exists():
        told = {**words, _TIE: digest_of(public / PUBLIC_MARK)}
        mark.write_text(json_text(told, indent=2) + "\n", encoding="utf-8")


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
    with contextlib.ExitStack() as kept:
        if landing is not None:
            kept.enter_context(landing.held(public))
        staging = kept.enter_context(staged(public))
        write_public(staging.public)
        write_private(staging.private)
        _tie(staging.public, staging.private)
        _settle(staging.private, folder_mode=0o700, file_mode=0o600)
        _settle(staging.public, folder_mode=0o755, file_mode=0o644)
        flush(staging.folder)
        if recording is not None:
            kept.enter_context(recording(staging.public))
        _put_in_place(staging, landing, replace=replace)
    return Path(target)


def _put_in_place(staging: Staging, landing: Landing | None, *, replace: bool) -> None:
    public = staging.place
    with held(public):
        sweep(public)  # another run may have died since the first look
        try:
            with contextlib.nullcontext() if landing is None else landing.appearing():
                _check(public, replace=replace, table="" if landing is None else landing.title)
                staging.put_in_place()
        except Unsettled:
            raise  # the table may be there, and then its evidence must be
        except BaseException as error:
            staging.undo()
            if not isinstance(error, OSError):
                raise  # Ctrl-C, for one
            raise OutputError(f"the release could not be put at {public}: {error}") from error
        with contextlib.suppress(OSError):
            staging.commit()


def _settle(folder: Path, *, folder_mode: int, file_mode: int) -> None:
    """Set modes and flush a folder with all that is in it."""
    for path in (*sorted(folder.rglob("*"), reverse=True), folder):
        path.chmod(folder_mode if stat.S_ISDIR(path.lstat().st_mode) else file_mode)
        flush(path)
