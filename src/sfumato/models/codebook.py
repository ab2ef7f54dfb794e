"""Which values a released column may hold, from the release alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ..data.codec import encode
from ..data.schema import NUMERIC, SUPPRESSED, Column, Kind
from ..data.table import Table
from ..errors import MethodError
from ..poset.values.ranges import read_range
from ..poset.values.scale import scale_of
from ..poset.values.text import read_set
from ..protocols import Poset

_TYPES: dict[Kind, Any] = {
    Kind.INTEGER: pl.Int64,
    Kind.CONTINUOUS: pl.Float64,
    Kind.DATE: pl.Date,
    Kind.BOOLEAN: pl.Boolean,
}


def codebook(table: Table, name: str) -> tuple[Column, pl.Series]:
    """A column as it was before it was generalized, and the sorted values that it may hold.

    A column that holds values has those. One that was generalized has the leaves of the poset that
    its labels came from; where that is not known (a release read from a file), the values that its
    labels name: single ones, members of sets, ends of ranges, and the leaves of a declared
    hierarchy.
    """
    column, series = table.schema[name], table[name]
    if not column.generalized and not _has_labels(column, series):
        return column, encode(series).domain
    plain = column.with_(generalized=False, bound=None)
    if column.bound is not None:
        return plain, _typed(plain, _leaves(column.bound))
    found = _named(column, series)
    if column.poset is not None:
        try:
            tree = column.poset.bind([])
            found = list(dict.fromkeys([*_leaves(tree), *found]))
        except ValueError:
            pass  # it needs the values; the labels' own are all that is known
    if not found:
        raise MethodError(
            f"column {name!r} shows no value at all",
            remedy="declare its hierarchy as the column's poset, or leave it out of `columns`",
        )
    return plain, _typed(plain, found)


def _has_labels(column: Column, series: pl.Series) -> bool:
    """Whether text that was read from a file holds labels, though nobody says so."""
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum) or column.kind == Kind.ORDINAL:
        return False
    if column.kind in (*NUMERIC, Kind.DATE):
        return True
    words = series.drop_nulls().unique().cast(pl.String).to_list()
    return any(
        word == SUPPRESSED or word[:1] + word[-1:] in ("{}", "[]", "[)", "()") for word in words
    )


def _leaves(poset: Poset) -> list[str]:
    codes = np.arange(1, poset.positions.size)
    return [_single(label) for label in poset.labels(codes, codes)]


def _single(label: str) -> str:
    """A value out of its label: one that could be misread is quoted there."""
    if not label.startswith("{"):
        return label
    try:
        members = read_set(label)
    except (ValueError, IndexError):
        return label
    return members[0] if len(members) == 1 else label


def _named(column: Column, series: pl.Series) -> list[str]:
    found: list[str] = []
    scale = scale_of([0]) if column.kind != Kind.DATE else None
    for word in series.drop_nulls().unique().cast(pl.String).sort().to_list():
        if word == SUPPRESSED:
            continue
        if word.startswith("{"):
            found += read_set(word)
            continue
        if column.kind in NUMERIC and scale is not None:
            try:
                ends = read_range(word, scale)
            except ValueError:
                found.append(word)
                continue
            found += [scale.text(end) for end in (ends.low, ends.high) if abs(end) < float("inf")]
            continue
        found.append(word)
    return list(dict.fromkeys(found))


def _typed(column: Column, words: Sequence[str]) -> pl.Series:
    """Values in the type of the column, sorted."""
    series = pl.Series(column.name, list(words), dtype=pl.String)
    if column.kind == Kind.ORDINAL:
        return (
            series.cast(pl.Enum(list(column.categories)), strict=False).drop_nulls().unique().sort()
        )
    kind = _TYPES.get(column.kind)
    if kind is None:
        return series.unique().sort()
    if column.kind == Kind.DATE:
        typed = series.str.to_date(strict=False)
    elif column.kind == Kind.BOOLEAN:
        typed = series.str.to_lowercase() == "true"
    else:
        typed = series.cast(pl.Float64, strict=False)
        typed = typed.cast(kind, strict=False) if column.kind == Kind.INTEGER else typed
    return typed.drop_nulls().unique().sort()
