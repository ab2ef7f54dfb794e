"""Releases that are public already, read beside the data that they were made from."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from ..errors import InputError
from .io import read_with_notes
from .like import like_original
from .schema import Column, Kind, Role
from .table import Table


def data_file(path: str | Path) -> Path:
    """The data of a release, from its folder or the file itself."""
    place = Path(path)
    if not place.exists():
        raise InputError(f"there is no release {path}", remedy="name its folder or its data file")
    if place.is_file():
        return place
    files = sorted(place.glob("data.*"))
    if len(files) != 1:
        raise InputError(
            f"{path} holds {len(files)} data files", remedy="name the data file of the release"
        )
    return files[0]


def read_published(path: str | Path) -> Table:
    """A release as whoever has no more than it can read it: roles and labels as its evidence says.

    Without evidence beside the file its columns are taken as they look.
    """
    file = data_file(path)
    table, _ = read_with_notes(str(file))
    evidence = file.parent / "evidence.json"
    if not evidence.is_file():
        return table
    try:
        told = json.loads(evidence.read_text(encoding="utf-8"))["columns"]
        known = {one["name"]: one for one in told if one["published"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{evidence} cannot be read", remedy="move it away") from None
    series, columns = [], []
    for name in table.names:
        if name not in known:
            continue
        role = Role(known[name]["role"])
        if not known[name]["generalized"]:
            columns.append(table.schema[name].with_(role=role))
            continue
        series.append(table[name].cast(pl.String, strict=False))
        kind = Kind(known[name]["kind"])
        # The order of an ordinal's categories is not published.
        kind = Kind.NOMINAL if kind == Kind.ORDINAL else kind
        columns.append(Column(name, kind, role, generalized=True))
    return table.with_columns(series, columns)


def read_release(path: str | Path, original: Table) -> Table:
    """A release with the original's roles and kinds; columns whose values became text hold
    labels."""
    table, _ = read_with_notes(str(data_file(path)))
    read = like_original(table.frame, original)
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
