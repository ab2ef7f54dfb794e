"""Set-valued data: FIMI files, long id-item tables, and cells that hold several items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ...errors import InputError, SchemaError
from ..schema import missing_column
from .sniff import to_utf8

ITEMS = "items"

SetSpec = Mapping[str, Any]


def parse_fimi(
    raw: bytes, label: str, encoding: str | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """One set per line, items separated by blanks, as the FIMI repository has them.

    Items are codes, so they stay text; their order and repeats are kept, because some files hold
    sequences.

    >>> parse_fimi(b"13 60 69\\n14 29\\n", "x.dat")[0].to_series().to_list()
    [['13', '60', '69'], ['14', '29']]
    """
    text, notes = to_utf8(raw, label, encoding)
    if not text.strip():
        raise InputError(f"{label} is empty", remedy="give a file with one set per line")
    lines = text.decode().replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    sets = pl.Series(ITEMS, lines).str.extract_all(r"\S+")
    empty = int((sets.list.len() == 0).sum())
    if empty:
        notes.append(f"{empty:,} line{'s are' if empty > 1 else ' is'} blank: empty sets")
    repeated = int((sets.list.n_unique() < sets.list.len()).sum())
    if repeated:
        notes.append(f"{repeated:,} sets repeat an item; in a set it counts once")
    return sets.to_frame(), notes


def specs(sets: SetSpec | Sequence[SetSpec] | None) -> list[SetSpec]:
    """The descriptions of set-valued columns, checked for form."""
    if sets is None:
        return []
    listed = [sets] if isinstance(sets, Mapping) else list(sets)
    for spec in listed:
        known = set(spec) if isinstance(spec, Mapping) else set()
        if known != {"id", "item"} and not {"column"} <= known <= {"column", "separator"}:
            raise InputError(
                f"sets = {spec!r} is not understood",
                remedy='sets={"column": NAME, "separator": " "} or sets={"id": NAME, "item": NAME}',
            )
    if sum("id" in spec for spec in listed) > 1:
        raise InputError("a long table has one pair of id and item columns", remedy="give one")
    return listed


def columns_of(listed: Sequence[SetSpec]) -> list[str]:
    """Columns that the descriptions read as raw text: cells of several items, ids and items."""
    return [str(spec[key]) for spec in listed for key in ("column", "id", "item") if key in spec]


def gather(
    frame: pl.DataFrame, listed: Sequence[SetSpec], label: str
) -> tuple[pl.DataFrame, list[str]]:
    """The frame with the described columns as lists."""
    notes: list[str] = []
    complaints = [
        missing_column(name, frame.columns)
        for name in columns_of(listed)
        if name not in frame.columns
    ]
    if complaints:
        raise SchemaError(label, complaints)
    for spec in listed:
        if "column" in spec:
            series = frame.get_column(str(spec["column"]))
            frame = frame.with_columns(split(series, spec.get("separator")))
    for spec in listed:
        if "id" in spec:
            frame, more = from_long(frame, str(spec["id"]), str(spec["item"]), label)
            notes += more
    return frame, notes


def split(series: pl.Series, separator: str | None = None) -> pl.Series:
    """Cells as lists of items: null stays null, an empty text is the empty set.

    Without a separator, cells that are JSON lists are read as such, and others are cut at blanks.

    >>> split(pl.Series(["I10 E11", "", None])).to_list()
    [['I10', 'E11'], [], None]
    """
    if isinstance(series.dtype, pl.List | pl.Array):
        return series
    text = series.cast(pl.String)
    if separator is None:
        decoded = _json_lists(text)
        if decoded is not None:
            return decoded
        return text.str.extract_all(r"\S+")
    items = text.str.split(separator).list.eval(pl.element().str.strip_chars())
    return items.list.eval(pl.element().filter(pl.element() != ""))


def _json_lists(text: pl.Series) -> pl.Series | None:
    """Lists of text from JSON, if every cell is one."""
    cells = text.drop_nulls()
    cells = cells.filter(cells != "")
    if cells.is_empty() or not cells.str.starts_with("[").all():
        return None
    try:
        return text.replace("", "[]").str.json_decode(pl.List(pl.String))
    except pl.exceptions.PolarsError:
        return None


def from_long(
    frame: pl.DataFrame, key: str, item: str, label: str
) -> tuple[pl.DataFrame, list[str]]:
    """One record per id, in order of first appearance, with the list of its items.

    Other columns must not vary within an id, because there is then no single value to keep.
    """
    notes: list[str] = []
    ids, items = frame.get_column(key), frame.get_column(item)
    if ids.is_null().any():
        row = int(ids.is_null().arg_max() or 0)
        raise InputError(
            f"record {row + 1:,} of {label} has no {key!r}",
            remedy="every item needs the id of its set",
        )
    others = [name for name in frame.columns if name not in (key, item)]
    grouped = frame.group_by(key, maintain_order=True)
    if others:
        spread = grouped.agg(pl.col(others).n_unique())
        for name in others:
            varies = spread.get_column(name) > 1
            if varies.any():
                where = spread.get_column(key)[int(varies.arg_max() or 0)]
                raise InputError(
                    f"column {name!r} of {label} varies within {key!r} = {where!r}",
                    remedy=f"leave {name!r} out (query=...), or make it part of {item!r}",
                )
    result = grouped.agg(
        pl.col(item).drop_nulls(), *(pl.col(name).first() for name in others)
    ).select(frame.columns)
    empty = items.null_count()
    if empty:
        notes.append(f"{empty:,} records without {item!r} add nothing to their sets")
    notes.append(f"{frame.height:,} records of {label} became {result.height:,} sets in {item!r}")
    return result, notes
