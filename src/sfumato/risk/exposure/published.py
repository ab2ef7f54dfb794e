"""Columns that are published as they are though they must not be: they name people, or nearly
every record has a value of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.generalized.label_places import has_labels
from ...data.kinds import is_text
from ...data.pair import Pair
from ...data.recognize import PERSONAL, Found
from ...data.schema import MEASURED, NUMERIC, Kind, Role
from ...data.table import Table
from .agreement import numbers_of, tolerance

DISTINCT = 0.9
"""A column is a key where so many of its values are distinct."""
KEY = "key"
_ENOUGH = 5
"""Values below which being distinct means nothing."""
_LEFT = 0.05
"""A column is published as it is where more than this share of its cells are."""
_SAMPLE = 5000
"""Labels that are compared with their originals."""
SHARED = ("coordinate", "date", "date-time")
"""What another person may have as well: it is somebody's only in their own record. All else that is
personal points to somebody wherever it stands."""


@dataclass(frozen=True)
class Plain:
    """A column that is published as it is though it must not be, and what it is."""

    column: str
    what: str
    """The recognizers' word for it, or `KEY`."""
    why: str


def unmasked(pair: Pair) -> dict[str, float]:
    """By column: the share of its cells that hold the original's value, in the same record if it is
    known whose records they are, and else anywhere; a trifling change is none."""
    found = {}
    for name in pair.masked.names:
        if name not in pair.original.schema:
            found[name] = 1.0  # made by a step: nobody can say what of
        else:
            found[name] = _equal(pair, name) if pair.aligned else occurring(pair, name)
    return found


def _equal(pair: Pair, name: str) -> float:
    rows, records = pair.aligned_rows()
    if rows.size > _SAMPLE and _grouped(pair, name):
        # Which of many labels are values is told well enough by some of them.
        step = rows.size // _SAMPLE
        rows, records = rows[::step], records[::step]
    before, after = pair.original[name].gather(rows), pair.masked[name].gather(records)
    kind = pair.original.schema[name].kind
    if kind in MEASURED and not is_text(after):
        near = tolerance(pair.original[name], None, kind)
        apart = np.abs(numbers_of(after) - numbers_of(before))
        apart = apart[~np.isnan(apart)]
        return float((apart <= near).mean()) if apart.size else 0.0
    if kind in MEASURED:
        # As a label writes a single number or day.
        return _mean(before.cast(pl.String).str.strip_suffix(".0") == after.cast(pl.String))
    if before.dtype == after.dtype:
        same = (before == after).drop_nulls()
        if len(same) and same.all():
            return 1.0
    return _mean(_plain(before) == _plain(after))


def occurring(pair: Pair, name: str) -> float:
    """The share of a column's published cells in which a value of the original stands, alone or in
    a set of several; of sets, an item."""
    column, published = pair.masked.schema[name], pair.masked[name]
    if any(isinstance(table[name].dtype, pl.List) for table in (pair.original, pair.masked)):
        return _occurring_items(pair.original[name], published)
    known = pair.original[name].drop_nulls().unique()
    cells = published.drop_nulls().alias("of")
    distinct = cells.value_counts(name="many")
    members = distinct.with_columns(pl.col("of").alias("value"))
    if has_labels(pair.original.schema[name], column, published):
        parts = pl.col("of").cast(pl.String).str.strip_chars("{}").str.split(", ")
        members = distinct.with_columns(parts.alias("value")).explode("value")
    there = members.filter(_among(members["value"], known))["of"]
    many = distinct.filter(pl.col("of").is_in(there.implode()))["many"].sum()
    return float(many / max(len(cells), 1))


def _occurring_items(own: pl.Series, published: pl.Series) -> float:
    """The share of published cells in which an item of the original's stands."""
    known = _plain(own.explode() if isinstance(own.dtype, pl.List) else own).drop_nulls().unique()
    cells = published.drop_nulls()
    if not isinstance(cells.dtype, pl.List):
        cells = cells.cast(pl.String).str.strip_chars("{}").str.split(", ")
    numbers = np.repeat(np.arange(len(cells)), cells.list.len().to_numpy())
    items = _plain(cells.filter(cells.list.len() > 0).explode())
    there = items.is_in(known.implode()).fill_null(False).to_numpy()
    return float(np.unique(numbers[there]).size / max(len(cells), 1))


def _among(values: pl.Series, known: pl.Series) -> pl.Series:
    """Whether each value is one of those that are known."""
    if values.dtype != known.dtype or is_text(values):
        values, known = _plain(values), _plain(known)
    return values.is_in(known.implode())


def _mean(same: pl.Series) -> float:
    return float(same.drop_nulls().mean() or 0.0)  # type: ignore[arg-type]


def _plain(series: pl.Series) -> pl.Series:
    """Values as texts that no change of case, blanks, signs or order of words makes different."""
    texts = as_text(series)
    if not is_text(series):
        return texts
    distinct = texts.drop_nulls().unique()
    words = distinct.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()
    plain = _in_order(words.str.split(" ")).list.join(" ")
    return texts.replace_strict(distinct, plain, default=None, return_dtype=pl.String)


def _in_order(lists: pl.Series) -> pl.Series:
    """Lists, each in order: `list.sort` takes twenty times as long."""
    return lists.list.eval(pl.element().sort())


def as_text(series: pl.Series) -> pl.Series:
    """Values as texts, by which equal ones are equal whatever their types."""
    if isinstance(series.dtype, pl.List):
        return _in_order(series.cast(pl.List(pl.String))).list.join("\x1f")
    if series.dtype.is_integer():
        return series.cast(pl.Float64).cast(pl.String)
    return series.cast(pl.String)


def naming(pair: Pair, shares: Mapping[str, float], found: Mapping[str, Found]) -> list[Plain]:
    """Columns that name people, or hold a value for nearly everyone, and were left as they are."""
    listed = []
    for name, share in shares.items():
        seen = found.get(name)
        if seen is not None and seen.what in PERSONAL:
            if _is_left(pair, name, share, seen.what):
                listed.append(Plain(name, seen.what, f"{seen.what}: {seen.why}"))
        elif share > _LEFT and is_key(pair, name):
            listed.append(Plain(name, KEY, "nearly every record has a value of its own"))
    return listed


def _is_left(pair: Pair, name: str, share: float, what: str) -> bool:
    """Whether what is personal still stands in a column."""
    if name not in pair.original.schema:
        return True
    numeric = pair.original.schema[name].kind in MEASURED
    if what not in SHARED and not numeric:
        return (occurring(pair, name) if pair.aligned else share) > 0
    # Dates and numbers that a model drew may be somebody's by chance.
    if pair.aligned and pair.original.schema[name].kind == Kind.SET:
        return occurring(pair, name) > _LEFT
    return pair.aligned and share > _LEFT and not _grouped(pair, name)


def _grouped(pair: Pair, name: str) -> bool:
    """Whether a column has labels: where one is a value, all in its group have that value."""
    before, after = pair.original.schema[name], pair.masked.schema[name]
    return has_labels(before, after, pair.masked[name])


def is_key(pair: Pair, name: str) -> bool:
    """Whether texts, whole numbers or dates tell nearly all records apart."""
    original: Table = pair.original if name in pair.original.schema else pair.masked
    column, values = original.schema[name], pair.masked[name].drop_nulls()
    if column.kind == Kind.SET or len(values) < _ENOUGH:
        return False
    if column.kind in NUMERIC and (column.role == Role.CONFIDENTIAL or not pair.aligned):
        return False
    if column.kind == Kind.DATE and not pair.aligned:
        return False
    if column.kind == Kind.CONTINUOUS:
        whole = original[name].drop_nulls().cast(pl.Float64)
        if not (whole == whole.round(0)).all():
            return False
    return values.n_unique() >= DISTINCT * len(values)
