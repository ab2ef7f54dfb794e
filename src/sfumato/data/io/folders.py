"""A folder of files that are one table: which files, in which order, and that they are alike."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from ...addresses import is_address
from ...errors import Complaint, InputError, SchemaError, suggest
from .source import SUFFIXES, Endpoint, locate

_PARTS = ("parquet", "arrow", "csv", "tsv")
"""Formats of which a folder may hold many."""
ROW = re.compile(r"\b(record|row) ([\d,]+)\b")
"""How complaints name a record."""


def source_of(source: Any, format: str | None = None) -> Endpoint:
    """What a path or a URL names, to be read: a folder of files is one table."""
    try:
        named = isinstance(source, str | os.PathLike) and os.fspath(source)
        path = Path(os.path.expanduser(source)) if named else None
        if path is None or not path.is_dir():
            if path is not None and format is None and not is_address(str(source)):
                _refuse_absent(path)
            return locate(source, format)
    except (OSError, ValueError):  # a name that no file can have
        return locate(source, format)
    parts = _parts(path, format)
    return Endpoint(parts[0].format, path.name, path, parts=tuple(parts))


def _refuse_absent(path: Path) -> None:
    """Of what is not there, no suffix tells whether it was to be a file or a folder."""
    if path.suffix.lower() not in (*SUFFIXES, ".gz") and not path.exists():
        siblings = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        close = suggest(path.name, siblings)
        remedy = f"did you mean {close[0]!r}?" if close else "check the path"
        raise InputError(f"there is no file or folder {path}", remedy=remedy)


def _parts(folder: Path, format: str | None) -> list[Endpoint]:
    """The files of a folder in the order of their paths; the records of the first come first.

    Hidden ones, and those that begin with an underscore as `_SUCCESS` does, are not data.
    """
    found: dict[str, list[Endpoint]] = {}
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts):
        inside = path.relative_to(folder)
        if any(part.startswith((".", "_")) for part in inside.parts) or not path.is_file():
            continue
        gzipped = path.suffix.lower() == ".gz"
        suffix = (path.with_suffix("") if gzipped else path).suffix.lower()
        kind = SUFFIXES.get(suffix, "")
        if kind in _PARTS and (format is None or kind == format):
            label = f"{folder.name}/{inside.as_posix()}"
            found.setdefault(kind, []).append(Endpoint(kind, label, path, gzipped))
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise InputError(
            f"{folder} is a folder without data",
            remedy="name a file, or a folder of .parquet, .arrow, .csv or .tsv files",
        )
    raise InputError(
        f"the folder {folder} holds files of several formats: {', '.join(sorted(found))}",
        remedy=f'format = "{min(found)}" takes these alone',
    )


def unread_folders(end: Endpoint) -> list[str]:
    """A note where folders are named year=2021, as others write what they leave out of the files:
    of a folder the files alone are read."""
    named: dict[str, str] = {}
    for part in end.parts:
        for folder in part.file.relative_to(end.file).parts[:-1]:
            name, equals, _ = folder.partition("=")
            if equals and name:
                named.setdefault(name, folder)
    return [
        f"folders such as {folder} are not read: what their names say is no column; "
        f"write {name!r} into the files if it is needed"
        for name, folder in named.items()
    ]


def placed(
    complaints: Sequence[Complaint], parts: Sequence[Endpoint], heights: Sequence[int]
) -> list[Complaint]:
    """The complaints about the records of all files, with the file and its own record."""
    firsts = [0, *accumulate(heights)]

    def named(found: re.Match[str]) -> str:
        row = int(found[2].replace(",", "")) - 1
        if not 0 <= row < firsts[-1]:
            return found[0]
        file = bisect_right(firsts, row) - 1
        return f"{found[1]} {row - firsts[file] + 1:,} of {parts[file].label}"

    return [replace(one, what=ROW.sub(named, one.what, count=1)) for one in complaints]


def alike(frames: Sequence[pl.DataFrame], parts: Sequence[Endpoint]) -> pl.DataFrame:
    """The records of all files, whose columns and types must be those of the first."""
    for frame, part in zip(frames[1:], parts[1:], strict=True):
        check_alike(frame.schema, part, frames[0].schema, parts[0])
    return pl.concat(frames, rechunk=False)


def check_alike(found: pl.Schema, part: Endpoint, wanted: pl.Schema, first: Endpoint) -> None:
    """An error that names the file and the columns that differ from those of the first file."""
    complaints = [
        Complaint(name, f"stands in {first.label} alone", "give every file the same columns")
        for name in wanted
        if name not in found
    ]
    complaints += [
        Complaint(name, f"does not stand in {first.label}", "give every file the same columns")
        for name in found
        if name not in wanted
    ]
    complaints += [
        Complaint(name, f"holds {found[name]}, and {dtype} in {first.label}", "give it one type")
        for name, dtype in wanted.items()
        if name in found and found[name] != dtype
    ]
    if not complaints and list(found) != list(wanted):
        what = f"its columns are not in the order of {first.label}"
        complaints = [Complaint("", what, f"write them in the order {', '.join(wanted)}")]
    if complaints:
        raise SchemaError(part.label, complaints)
