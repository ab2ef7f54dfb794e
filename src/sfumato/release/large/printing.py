"""Masked records in the one form that is published: categories that occur, the original's
precision, suppressed cells as the mark. What that takes is asked of all records; then each part is
written as all others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from ...data.io.render import clashing, hidden_cells, like_the_mark, marked_cells, printable
from ...data.schema import SUPPRESSED, Kind, Role
from ...data.table import Table, as_published
from ...engines.relation import Masked, Part, Relation
from ..plan.plan import Output
from ..records.written import decimals, holds, roundable

_MOST_CATEGORIES = 1_000_000
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True, eq=False)
class Form:
    """Puts parts into the form that is published."""

    used: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The categories that the records hold."""
    digits: Mapping[str, int] = field(default_factory=dict)
    """Decimals of the columns that are rounded."""
    whole: tuple[str, ...] = ()
    """Those of them that hold whole numbers."""

    def __call__(self, part: Table, numbers: np.ndarray) -> Part:
        shown = as_published(part, self.used)
        series, columns = [], []
        for name, digits in self.digits.items():
            rounded, column = shown[name].round(digits), shown.schema[name]
            if name in self.whole:
                rounded, column = rounded.cast(pl.Int64), column.with_(kind=Kind.INTEGER)
            series.append(rounded)
            columns.append(column)
        return Part(shown.with_columns(series, columns))


def in_form(masked: Relation, original: Relation, output: Output) -> tuple[Relation, list[str]]:
    """The masked records as they are published, and the columns that were rounded for that."""
    empty = masked.empty
    used = {
        column.name: _occurring(masked, column.name)
        for column in empty.schema
        if isinstance(empty[column.name].dtype, pl.Enum | pl.Categorical)
    }
    digits: dict[str, int] = {}
    whole: list[str] = []
    if output.precision != "full":
        digits, whole = _precision(masked, original)
    changing = [n for n in empty.names if n in used or n in digits or _changes(empty, n)]
    form = Form(used, digits, tuple(whole))
    return _with(masked, changing, form), list(digits)


def _with(masked: Relation, names: Sequence[str], form: Masked) -> Relation:
    """The records with these columns in their form; the others stay where they are."""
    if not names:
        return masked
    return masked.join(masked.only(names).map_parts(form)[0], names)


def _changes(empty: Table, name: str) -> bool:
    """Whether `as_published` may change a column."""
    dtype = empty[name].dtype
    return isinstance(dtype, pl.List) or (
        empty.schema[name].role == Role.QUASI and dtype.is_float()
    )


def _occurring(masked: Relation, name: str) -> list[str]:
    """The categories that some record holds, in their order."""
    found = masked.count_by([name], _MOST_CATEGORIES).table[name].drop_nulls()
    return [str(one) for one in found.unique().sort().to_list()]


def _precision(masked: Relation, original: Relation) -> tuple[dict[str, int], list[str]]:
    """The decimals of the columns to round, and which of these are whole numbers."""
    names = roundable(masked.empty, original.empty)
    if not names:
        return {}, []
    told = original.fold(names, partial(_decimals, names))
    known = {}
    for name in names:
        found = [one[name] for one in told]
        if None not in found:
            known[name] = max([0, *found])
    if not known:
        return {}, []
    asked = masked.fold(list(known), partial(_held, known))
    digits, whole = {}, []
    for name, places in known.items():
        integer = original.empty[name].dtype.is_integer()
        if integer or not all(one[name][0] for one in asked):
            digits[name] = places
        if integer and all(one[name][1] for one in asked):
            whole.append(name)
    return digits, whole


def _decimals(names: Sequence[str], part: Table, numbers: np.ndarray) -> dict[str, int | None]:
    return {name: decimals(part[name]) for name in names}


def _held(
    known: Mapping[str, int], part: Table, numbers: np.ndarray
) -> dict[str, tuple[bool, bool]]:
    """By column: whether no value has more decimals, and whether all are whole numbers that fit."""
    found = {}
    for name, digits in known.items():
        series = part[name]
        whole = series.round(digits).cast(pl.Int64, strict=False)
        found[name] = (holds(series, digits), whole.null_count() == series.null_count())
    return found


def as_stored(masked: Relation, output: Output) -> Relation:
    """The same as it lies in a file: texts as texts, with the mark where they are suppressed; for a
    text file, all columns with suppressed cells as text."""
    empty = masked.empty
    if output.format in ("csv", "tsv"):
        marked = _marked(masked, empty.names, output.suppressed, as_text=True)
        return masked.map_parts(partial(_printed, output, marked))[0]
    texts = [name for name in empty.names if isinstance(empty[name].dtype, _TEXTS)]
    if output.suppressed == SUPPRESSED:
        # Where a label says so by itself, it need not be looked for.
        texts = [name for name in texts if not empty.schema[name].generalized]
    marked = _marked(masked, texts, output.suppressed, as_text=False)
    return _with(masked, [name for name in texts if name in marked], partial(_stored, output))


def _marked(masked: Relation, names: Sequence[str], mark: str, *, as_text: bool) -> set[str]:
    """The columns with suppressed cells; refused where a value reads like the mark."""
    found = masked.fold(names, partial(_marks, mark, as_text)) if names else []
    like = [(masked.empty.names.index(name), row) for one in found for name, row in one.like]
    if like:
        place, row = min(like)
        raise like_the_mark(masked.empty.names[place], row, mark)
    return set().union(*(one.hidden for one in found))


class _Marks(NamedTuple):
    """What a part tells of the mark."""

    hidden: set[str]
    """The columns with suppressed cells."""
    like: list[tuple[str, int]]
    """Those with a value that reads like the mark, and the number of its first record."""


def _marks(mark: str, as_text: bool, part: Table, numbers: np.ndarray) -> _Marks:
    like = []
    for name in part.names:
        clash = clashing(part, name, mark, as_text=as_text)
        if clash is not None and clash.any():
            like.append((name, int(numbers[clash.fill_null(False).to_numpy()].min())))
    return _Marks({name for name in part.names if hidden_cells(part, name).any()}, like)


def _stored(output: Output, part: Table, numbers: np.ndarray) -> Part:
    """For a typed file: the mark in columns of text, null in all others."""
    series = [
        marked_cells(part[name].cast(pl.String), hidden_cells(part, name), output.suppressed)
        for name in part.names
        if isinstance(part[name].dtype, _TEXTS)
    ]
    return Part(Table(part.frame.with_columns(series), part.schema))


def _printed(output: Output, marked: set[str], part: Table, numbers: np.ndarray) -> Part:
    """For a text file: the mark everywhere."""
    frame = printable(part, suppressed=output.suppressed, escape_formulas=output.escape_formulas)
    frame.columns = part.names
    texts = [frame.get_column(name).cast(pl.String) for name in part.names if name in marked]
    return Part(Table(frame.with_columns(texts), part.schema))
