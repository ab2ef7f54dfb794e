"""Releases that are public already, read beside the data that they were made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from ...bounds import from_json
from ...errors import InputError
from ..io import read_with_notes
from ..io.source import SHEETS, TEXT, locate
from ..schema import Column, Kind, Role
from ..table import Table
from .like import like_original, sets_of_text

EVIDENCE = "evidence.json"
"""What makes a folder a release: where it is not, the release is not finished."""
PARTS = "part-*.parquet"
"""The files of a release that is larger than memory, in its folder `data`."""


def data_file(path: str | Path) -> Path:
    """The data of a release, from its folder or the file itself; a folder, where they are in
    parts."""
    place = Path(path)
    try:
        there = place.exists()
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if not there:
        raise InputError(f"there is no release {path}", remedy="name its folder or its data file")
    if place.is_file() or any(place.glob(PARTS)):
        return place
    in_parts = any((place / "data").glob(PARTS))
    files = [place / "data"] if in_parts else sorted(place.glob("data.*"))
    if files and not (place / EVIDENCE).is_file():
        raise InputError(
            f"{path} is no finished release: it holds data and no {EVIDENCE}, which comes last",
            remedy="wait for it or make it again; a file that is no release is named by itself",
        )
    if not files and (table := table_named(place)):
        raise InputError(
            f"the records of {path} are the table {table['name']} of {table['database']}",
            remedy=f'sf.write(sf.read(URL, table="{table["name"]}"), "data.parquet") makes a file',
        )
    if len(files) != 1:
        raise InputError(
            f"{path} holds {len(files)} data files", remedy="name the data file of the release"
        )
    return files[0]


def table_named(release: Path) -> dict[str, str]:
    """The database, name and digest of the table that holds a release's records, as its evidence
    tells; nothing where they are files."""
    try:
        told = from_json((release / EVIDENCE).read_text(encoding="utf-8"))["table"]
        return {key: str(told[key]) for key in ("database", "name", "sha256")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def read_published(path: str | Path) -> Table:
    """A release as whoever has no more than it can read it: roles and labels as its evidence says.

    Without evidence beside the file its columns are taken as they look.
    """
    file = data_file(path)
    evidence = file.parent / EVIDENCE
    if not evidence.is_file():
        return read_with_notes(str(file))[0]
    try:
        listed = from_json(evidence.read_text(encoding="utf-8"))["columns"]
        known = {one["name"]: one for one in listed if one["published"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{evidence} cannot be read", remedy="move it away") from None
    sets = [
        name
        for name, one in known.items()
        if one.get("kind") == Kind.SET and not one["generalized"]
    ]
    table = _read_raw(file, sets)
    series, columns = [], []
    marks = {}
    for name in table.names:
        if name not in known:
            continue
        role = Role(known[name]["role"])
        if name in sets and not table[name].dtype.is_nested():
            cells, marks[name] = sets_of_text(table[name])
            series.append(cells)
            columns.append(Column(name, Kind.SET, role))
            continue
        if not known[name]["generalized"]:
            columns.append(table.schema[name].with_(role=role))
            continue
        series.append(table[name].cast(pl.String, strict=False))
        kind = Kind(known[name]["kind"])
        # The order of an ordinal's categories is not published.
        kind = Kind.NOMINAL if kind == Kind.ORDINAL else kind
        columns.append(Column(name, kind, role, generalized=True))
    return table.with_columns(series, columns, marks)


def named_first(file: Path) -> dict[str, Any]:
    """A release of Sfumato's begins with the names of its columns, whatever they look like."""
    ours = (file.parent / EVIDENCE).is_file() and file.is_file()
    return {"header": True} if ours and locate(file).format in (*TEXT, *SHEETS) else {}


def read_like(path: str | Path, original: Table) -> Table:
    """A file with the original's roles and kinds; sets of a text file as their cells stand."""
    sets = [column.name for column in original.schema if column.kind == Kind.SET]
    return like_original(_read_raw(Path(path), sets).frame, original)


def _read_raw(file: Path, sets: list[str]) -> Table:
    """The file, with these columns as text where it holds text: a reader would take cells of one
    item each for numbers, and empty sets among them for missing values."""
    told = named_first(file)
    table, _ = read_with_notes(str(file), **told)
    read_otherwise = [
        name
        for name in sets
        if name in table.schema
        and not table[name].dtype.is_nested()
        and table[name].dtype not in (pl.String, pl.Categorical)
    ]
    if not read_otherwise:
        return table
    return read_with_notes(str(file), kinds=dict.fromkeys(read_otherwise, "nominal"), **told)[0]


def read_release(path: str | Path, original: Table) -> Table:
    """A release with the original's roles and kinds; columns that became text hold labels."""
    read = read_like(data_file(path), original)
    # A file that keeps values has no mark for suppressed ones: more gaps than there were missing
    # values are suppressed cells.
    marks = {
        name: read[name].is_null().to_numpy()
        for name in read.names
        if name in original.schema
        and not read.schema[name].generalized
        and read[name].null_count() > original[name].null_count()
    }
    return read.with_columns([], suppressed=marks) if marks else read
