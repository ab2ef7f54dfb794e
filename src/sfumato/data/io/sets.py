"""Set-valued data: FIMI files, long id-item tables, and cells that hold several items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ...errors import InputError, SchemaError
from ...poset.sets.items import Items
from ...poset.values.text import text
from ..exact import each, exactly
from ..schema import Role, missing_column
from ..table import Table
from .text.sniff import to_utf8

ITEMS = "items"
_INTO = "attributes"
"""The column that enumerated categories go to, unless it is named."""

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
    body, notes, _ = to_utf8(raw, label, encoding)
    if not body.strip():
        raise InputError(f"{label} is empty", remedy="give a file with one set per line")
    lines = body.decode().replace("\r\n", "\n").split("\n")
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


_FORMS: tuple[tuple[set[str], set[str]], ...] = (
    ({"column"}, {"separator"}),
    ({"column", "sensitive", "into"}, {"separator", "role"}),
    ({"id", "item"}, {"utility"}),
    ({"columns"}, {"into", "hierarchies", "width", "role"}),
)
"""What a description needs, and what it may have besides."""


def specs(sets: SetSpec | Sequence[SetSpec] | None) -> list[SetSpec]:
    """The descriptions of set-valued columns, checked for form."""
    if sets is None:
        return []
    listed = [sets] if isinstance(sets, Mapping) else list(sets)
    for spec in listed:
        known = set(spec) if isinstance(spec, Mapping) else set()
        if not any(needed <= known <= needed | more for needed, more in _FORMS):
            raise InputError(
                f"sets = {spec!r} is not understood",
                remedy='sets={"column": NAME, "separator": " "}, sets={"id": NAME, "item": NAME}, '
                'sets={"columns": [NAMES], "into": NAME}, or '
                'sets={"column": NAME, "sensitive": [ITEMS], "into": NAME}',
            )
        for key in ("columns", "sensitive"):
            if not isinstance(spec.get(key, ()), list | tuple):
                raise InputError(f"sets: {key} = {spec[key]!r} is no list", remedy=f"{key} = [...]")
        if not isinstance(spec.get("hierarchies", True), bool):
            what = f"sets: hierarchies = {spec['hierarchies']!r} is neither true nor false"
            raise InputError(what, remedy="hierarchies = true")
        if spec.get("role", "quasi") not in set(Role):
            what = f"sets: there is no role {spec['role']!r}"
            raise InputError(what, remedy=f"the roles are {', '.join(Role)}")
    if sum("id" in spec for spec in listed) > 1:
        raise InputError("a long table has one pair of id and item columns", remedy="give one")
    made = made_columns(listed)
    if len(set(made)) < len(made):
        twice = next(name for name in made if made.count(name) > 1)
        raise InputError(f"sets: two of them make the column {twice!r}", remedy="into = another")
    return listed


def columns_of(listed: Sequence[SetSpec]) -> list[str]:
    """Columns that the descriptions read as raw text: cells of several items, ids and items."""
    made = made_columns(listed)
    keys = ("column", "id", "item")
    named = [str(spec[key]) for spec in listed for key in keys if key in spec]
    return [name for name in dict.fromkeys(named) if name not in made]


def made_columns(listed: Sequence[SetSpec]) -> list[str]:
    """Columns that come to be when the table is there."""
    making = (spec for spec in listed if "columns" in spec or "sensitive" in spec)
    return [str(spec.get("into", _INTO)) for spec in making]


def replaced_columns(sets: SetSpec | Sequence[SetSpec] | None) -> list[str]:
    """Columns that are gone once the sets are made of them."""
    listed = specs(sets or None)
    made = made_columns(listed)
    used = [str(name) for spec in listed for name in spec.get("columns", ())]
    used += [str(spec["utility"]) for spec in listed if "utility" in spec]
    return [name for name in used if name not in made]


def make_sets(table: Table, listed: Sequence[SetSpec]) -> tuple[Table, list[str]]:
    """The table with the set-valued columns that are made of others."""
    from ..sets.enumeration import enumerate_sets, split_items  # which need tables of every kind

    notes = []
    for spec in listed:
        if "columns" in spec:
            into = str(spec.get("into", _INTO))
            options = {key: spec[key] for key in ("hierarchies", "width", "role") if key in spec}
            table = enumerate_sets(table, spec["columns"], into=into, **options)
            notes.append(f"{len(spec['columns'])} columns became the sets in {into!r}")
        elif "sensitive" in spec:
            column, into = str(spec["column"]), str(spec["into"])
            role = str(spec.get("role", Role.CONFIDENTIAL))
            table = split_items(table, column, spec["sensitive"], into=into, role=role)
            notes.append(f"{len(spec['sensitive'])} items of {column!r} went to {into!r}")
    return table, notes


def gather(
    frame: pl.DataFrame, listed: Sequence[SetSpec], label: str
) -> tuple[pl.DataFrame, list[str], dict[str, Items]]:
    """The frame with the described columns as lists, what was done, and utilities by column."""
    notes: list[str] = []
    posets: dict[str, Items] = {}
    named = [*columns_of(listed), *(str(spec["utility"]) for spec in listed if "utility" in spec)]
    complaints = [
        missing_column(name, frame.columns) for name in named if name not in frame.columns
    ]
    if complaints:
        raise SchemaError(label, complaints)
    for spec in listed:
        if "column" in spec and spec["column"] in frame.columns:
            series = frame.get_column(str(spec["column"]))
            frame = frame.with_columns(split(series, spec.get("separator")))
    for spec in listed:
        if "id" in spec:
            key, item = str(spec["id"]), str(spec["item"])
            if "utility" in spec:
                posets[item] = utilities(frame, item, str(spec["utility"]), label)
                frame = frame.drop(exactly(str(spec["utility"])))
            frame, more = from_long(frame, key, item, label)
            notes += more
    return frame, notes, posets


def utilities(frame: pl.DataFrame, item: str, utility: str, label: str) -> Items:
    """What the items of a long table are worth, one utility for each."""
    if utility == item or not frame.get_column(utility).dtype.is_numeric():
        raise InputError(
            f"column {utility!r} of {label} holds no numbers, so no utilities",
            remedy="utility = a column of numbers",
        )
    worth = frame.get_column(utility).cast(pl.Float64)
    bad = (~worth.is_finite() | (worth < 0)).fill_null(True)
    bad &= frame.get_column(item).is_not_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise InputError(
            f"record {row + 1:,} of {label}: {utility} = {worth[row]!r} is not a utility",
            remedy="a number that is finite and not negative",
        )
    pairs = pl.DataFrame({"item": frame.get_column(item), "worth": worth}).drop_nulls("item")
    found = pairs.group_by("item", maintain_order=True).agg(
        pl.col("worth").min().alias("least"), pl.col("worth").max().alias("most")
    )
    varies = found.filter(pl.col("least") < pl.col("most"))
    if varies.height:
        name, least, most = varies.row(0)
        raise InputError(
            f"{utility!r} of {label} varies for the item {name!r}: {least:g} and {most:g}",
            remedy="give each item one utility",
        )
    return Items(utilities={text(name): worth for name, worth, _ in found.iter_rows()})


def split(series: pl.Series, separator: str | None = None) -> pl.Series:
    """Cells as lists of items: null stays null, an empty text is the empty set.

    Without a separator, cells that are JSON lists are read as such, and others are cut at blanks.

    >>> split(pl.Series(["I10 E11", "", None])).to_list()
    [['I10', 'E11'], [], None]
    """
    if isinstance(series.dtype, pl.List | pl.Array):
        return series
    cells = series.cast(pl.String)
    if separator is None:
        decoded = _json_lists(cells)
        if decoded is not None:
            return decoded
        return cells.str.extract_all(r"\S+")
    items = cells.str.split(separator).list.eval(pl.element().str.strip_chars())
    return items.list.eval(pl.element().filter(pl.element() != ""))


def _json_lists(cells: pl.Series) -> pl.Series | None:
    """Lists of text from JSON, if every cell is one."""
    full = cells.drop_nulls()
    full = full.filter(full != "")
    if full.is_empty() or not full.str.starts_with("[").all():
        return None
    try:
        return cells.replace("", "[]").str.json_decode(pl.List(pl.String))
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
    grouped = frame.group_by(exactly(key), maintain_order=True)
    if others:
        spread = grouped.agg(one.n_unique() for one in each(others))
        for name in others:
            varies = spread.get_column(name) > 1
            if varies.any():
                where = spread.get_column(key)[int(varies.arg_max() or 0)]
                raise InputError(
                    f"column {name!r} of {label} varies within {key!r} = {where!r}",
                    remedy=f"leave {name!r} out (query=...), or make it part of {item!r}",
                )
    result = grouped.agg(exactly(item).drop_nulls(), *(one.first() for one in each(others))).select(
        each(frame.columns)
    )
    empty = items.null_count()
    if empty:
        notes.append(f"{empty:,} records without {item!r} add nothing to their sets")
    notes.append(f"{frame.height:,} records of {label} became {result.height:,} sets in {item!r}")
    return result, notes
