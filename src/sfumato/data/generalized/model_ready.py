"""A release as models downstream can take it: numbers instead of ranges, values instead of labels.

Ranges become their midpoints. A record with a suppressed or generalized category becomes several,
one for each value that it may have, with weights that sum to one; what a model predicts for them is
averaged by these weights (Katirai prepared suppressed genders so).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from ...errors import MethodError
from ..codec import decode
from ..kinds import is_text
from ..schema import MEASURED, NUMERIC, SUPPRESSED, Column, Kind, Role
from ..table import Table
from .label_places import LabelPlaces, distinct_labels, has_labels

WEIGHT = "weight"


@dataclass(frozen=True, eq=False)
class ModelReady:
    """A table of values, with a weight for each row."""

    table: Table
    rows: np.ndarray
    """int64: the row of the release that each row stands for."""
    weight: str
    """The name of the column of weights."""

    def averaged(self, predictions: np.ndarray) -> np.ndarray:
        """float64: the predictions of the release's rows, from those of this table's."""
        weights = self.table[self.weight].to_numpy()
        values = np.asarray(predictions, dtype=np.float64) * weights
        return np.asarray(np.bincount(self.rows, values))


def model_ready(
    release: Table,
    original: Table | None = None,
    *,
    columns: Sequence[str] = (),
    share: Literal["frequency", "uniform"] = "frequency",
    most: float = 20.0,
    weight: str = WEIGHT,
) -> ModelReady:
    """A release prepared for a model: midpoints for ranges, weighted duplicates for categories.

    `columns` are prepared (all that hold labels or suppressed cells unless given). The values that
    a label covers share the weight by how often the release shows each of them (and half a record
    more), or evenly (`share`). A suppressed number becomes the mean of the numbers that are shown.
    `original` tells which values a column may hold where the release cannot; missing values stay
    missing. If the rows would become more than `most` times as many, an error names the column that
    does it.

    >>> from sfumato.data.table import table
    >>> shown = table({"sex": ["f", "f", "m", "*"], "age": ["[20, 30]", "40", "50", "[40, 50]"]},
    ...               kinds={"sex": "nominal"}, quasi=["sex", "age"])
    >>> before = table({"sex": ["f", "f", "m", "m"], "age": [20, 40, 50, 45]}, quasi=["sex", "age"])
    >>> ready = model_ready(shown, before)
    >>> ready.table.frame.rows()[-2:]
    [('f', 45.0, 0.625), ('m', 45.0, 0.375)]
    """
    if weight in release.schema:
        raise MethodError(
            f"the release has a column {weight!r} already", remedy="give another name as `weight`"
        )
    named = list(columns) or [
        c.name for c in release.schema if c.role != Role.IDENTIFIER and c.kind != Kind.SET
    ]
    for name in named:
        if release.schema[name].kind == Kind.SET:
            raise MethodError(
                f"column {name!r} holds sets, which are not prepared",
                remedy="leave it out of `columns`",
            )
    books = {name: _book(release, original, name) for name in named}
    series, changed = [], []
    spread: list[tuple[str, _Book]] = []
    for name, book in books.items():
        if book is None:
            continue
        if book.column.kind in MEASURED:
            series.append(_middles(release, book))
            changed.append(Column(name, Kind.CONTINUOUS, release.schema[name].role))
        else:
            spread.append((name, book))
    nothing = {one.name: np.zeros(release.height, dtype=bool) for one in series}
    table = release.with_columns(series, changed, nothing)
    return _duplicated(table, release, spread, share, most, weight)


@dataclass(frozen=True, eq=False)
class _Book:
    """A column as it was, and which values it may hold."""

    column: Column
    domain: pl.Series


def _book(release: Table, original: Table | None, name: str) -> _Book | None:
    """What is needed to read a column's labels; None where there are none to read."""
    column, series = release.schema[name], release[name]
    known = original.schema[name] if original is not None and name in original.schema else None
    labelled = has_labels(known or column, column, series)
    if not labelled and known is not None and is_text(series) and original is not None:
        words = series.drop_nulls().unique().cast(pl.String)
        labelled = not words.is_in(original[name].unique().cast(pl.String).implode()).all()
    if not labelled and not release.suppressed(name).any():
        return None
    if known is not None and original is not None:
        return _Book(known, original[name].drop_nulls().unique().sort())
    plain = column.with_(generalized=False, bound=None)
    if not column.generalized:
        return _Book(plain, series.drop_nulls().unique().sort())
    if column.bound is None:
        raise MethodError(
            f"column {name!r} holds labels, and nothing tells which values they stand for",
            remedy="give the original as well, or leave the column out of `columns`",
        )
    codes = np.arange(1, column.bound.positions.size)
    words = pl.Series(name, column.bound.labels(codes, codes), dtype=pl.String)
    if column.kind == Kind.ORDINAL:  # its categories are labels now
        plain = plain.with_(categories=tuple(words))
    return _Book(plain, _typed(plain, words))


def _typed(column: Column, words: pl.Series) -> pl.Series:
    if column.kind in NUMERIC:
        words = words.cast(pl.Float64, strict=False)
    elif column.kind == Kind.DATE:
        words = words.str.to_date(strict=False)
    elif column.kind == Kind.ORDINAL:
        words = words.cast(pl.Enum(list(column.categories)), strict=False)
    return words.drop_nulls().unique().sort()


def _contents(release: Table, name: str) -> tuple[list[str], np.ndarray]:
    """Distinct labels, and each row's place among them; -1 missing, -2 suppressed."""
    words, place = distinct_labels(release[name])
    return words, np.where(release.suppressed(name), -2, place)


def _middles(release: Table, book: _Book) -> pl.Series:
    """Numbers: exact ones as they are, ranges at their middle (dates in days since 1970)."""
    name = book.column.name
    words, place = _contents(release, name)
    if SUPPRESSED in words:
        # A file does not say which columns were generalized; "*" is no number either way.
        place[place == words.index(SUPPRESSED)] = -2
    reader = LabelPlaces(book.column, book.domain)
    middles = np.array([_middle(reader, word, name) for word in words], dtype=np.float64)
    found = np.full(place.size, np.nan)
    found[place >= 0] = middles[place[place >= 0]]
    shown = found[place >= 0]
    if (place == -2).any():
        if not shown.size:
            raise MethodError(
                f"column {name!r} is suppressed throughout", remedy="leave it out of `columns`"
            )
        found[place == -2] = shown.mean()
    return pl.Series(name, found, nan_to_null=True)


def _middle(reader: LabelPlaces, word: str, name: str) -> float:
    if word == SUPPRESSED:
        return float("nan")
    found = reader.middle(word)
    if found is None:
        raise MethodError(
            f"column {name!r} shows {word!r}, which cannot be read as a range",
            remedy="give the original, whose column declares the hierarchy",
        )
    return found


def _duplicated(
    table: Table,
    release: Table,
    spread: Sequence[tuple[str, _Book]],
    share: str,
    most: float,
    weight: str,
) -> ModelReady:
    rows = np.arange(release.height)
    weights = np.ones(release.height)
    picked: dict[str, np.ndarray] = {}
    for name, book in spread:
        options, chances, of_row = _options(release, book, share)
        counts = np.array([one.size for one in options])[of_row[rows]]
        if counts.sum() > most * max(release.height, 1):
            raise MethodError(
                f"duplicates for column {name!r} would make {int(counts.sum()):,} rows of "
                f"{release.height:,}",
                remedy="raise `most`, leave the column out of `columns`, or use `sfumato impute`",
            )
        again = np.repeat(np.arange(rows.size), counts)
        rows, weights = rows[again], weights[again]
        picked = {key: one[again] for key, one in picked.items()}
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        within = np.arange(again.size) - starts[again]
        first = np.concatenate(([0], np.cumsum([one.size for one in options])[:-1]))
        at = first[of_row[rows]] + within
        picked[name] = np.concatenate(options)[at]
        weights = weights * np.concatenate(chances)[at]
    taken = table.take(rows)
    series = [decode(picked[name] + 1, book.domain, name) for name, book in spread]
    columns: list[Any] = [
        book.column.with_(role=release.schema[name].role) for name, book in spread
    ]
    series.append(pl.Series(weight, weights))
    columns.append(Column(weight, Kind.CONTINUOUS, Role.WEIGHT))
    nothing = {one.name: np.zeros(rows.size, dtype=bool) for one in series}
    return ModelReady(taken.with_columns(series, columns, nothing), rows, weight)


def _options(
    release: Table, book: _Book, share: str
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """For each content of a column the values that it may stand for and their shares; and which
    content each row has. A missing value stands for itself, as place -1."""
    name = book.column.name
    words, place = _contents(release, name)
    reader = LabelPlaces(book.column, book.domain)
    covered = []
    for word in words:
        found = reader.covered(word)
        if found is None or not found.size:
            raise MethodError(
                f"column {name!r} shows {word!r}, which stands for no value that is known",
                remedy="give the original, whose column declares the hierarchy",
            )
        covered.append(found)
    everything = np.arange(len(book.domain))
    counts = np.bincount(place[place >= 0], minlength=len(words))
    base = np.full(len(book.domain), 0.5)
    for found, count in zip(covered, counts, strict=True):
        if found.size == 1:
            base[found[0]] += count
    if share == "uniform":
        base[:] = 1.0
    options = [np.array([-1]), everything, *covered]
    chances = [np.ones(1), *(base[one] / base[one].sum() for one in options[1:])]
    return options, chances, place + 2 * (place >= 0) + (place == -1) + 3 * (place == -2)
