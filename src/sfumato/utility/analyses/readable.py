"""A masked column as numbers or as shares of categories, whether it holds values or labels.

A label such as "[20, 29]" or "Europe" stands for the original's values that it covers, each as
likely as the other: as a number it is their mean, as a category it belongs to each in equal parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ...data.codec import encode, floats
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.linkage.linking import drawn
from ...data.pair import Pair
from ...data.schema import ORDERED, Kind
from ...data.table import Table
from ...errors import MeasureError
from ..columns import Chosen

_MOST_CATEGORIES = 100
"""A category for nearly every record tells a model nothing, and costs a column each."""


def predictors(
    pair: Pair, wanted: Sequence[str], measure: str, absent: Sequence[str] = ()
) -> Chosen:
    """The columns that a model can learn from."""
    reasons = dict.fromkeys(wanted, "")
    for name in wanted:
        kind = pair.original.schema[name].kind
        if name in absent:
            reasons[name] = "is not in the masked table"
        elif kind in (Kind.TEXT, Kind.SET):
            reasons[name] = f"is {kind}"
        elif kind == Kind.NOMINAL and pair.original[name].n_unique() > _MOST_CATEGORIES:
            reasons[name] = f"has more than {_MOST_CATEGORIES} categories"
    return Chosen.of(reasons, measure, False, "to predict from", "name some in `columns`")


def some_for_folds(
    known: np.ndarray, sample: int, folds: int, rng: np.random.Generator
) -> np.ndarray:
    """So many of the records whose target is known; refused where folds would be empty."""
    rows: np.ndarray = known[drawn(known.size, sample, rng)]
    if rows.size < 2 * folds:
        raise MeasureError(
            f"{rows.size} records with a known target are too few for {folds} folds",
            remedy="folds = 2, or more records",
        )
    return rows


class ReadableColumn:
    """One column of both tables, over the distinct values of the original (its domain)."""

    def __init__(self, pair: Pair, name: str) -> None:
        column = pair.original.schema[name]
        found = encode(pair.original[name])
        self.name = name
        self.ordered = column.kind in ORDERED
        self.codes = found.codes.astype(np.int64) - 1
        """Each original record's place in the domain, -1 where missing."""
        self.size = len(found.domain)
        self.positions = (
            floats(found.domain, column) if self.ordered else np.arange(self.size, dtype=float)
        )
        """The domain as numbers (categories: their places)."""
        masked = pair.masked.schema[name]
        series = pair.masked[name]
        self.labelled = has_labels(column, masked, series)
        if self.labelled:
            reader = Labels.of(pair.original, name)
            labels, self.places = distinct_labels(series)
            covered = reader.coverage(reader.domain, labels)
            by_rank = np.argsort(covered.ranks)
            self.covers = [
                by_rank[ranks[ranks > 0] - 1] for ranks in map(covered.of, range(len(labels)))
            ]
            self.values = np.empty(0)
        elif self.ordered:
            self.values = _numbers(pair.masked, name, pair.original)
        else:
            self.values = _places(series, found.domain)

    def satisfies(self, wanted: np.ndarray, low: float, high: float) -> np.ndarray:
        """How far each masked record satisfies a condition, 0 to 1: `wanted` tells which values of
        the domain do; for ordered columns these lie from low to high."""
        if self.labelled:
            share = [float(wanted[one].mean()) if one.size else 0.0 for one in self.covers]
            return _at(np.array(share, dtype=np.float64), self.places, 0.0)
        if self.ordered:
            with np.errstate(invalid="ignore"):
                inside = (self.values >= low) & (self.values <= high)
            return inside.astype(np.float64)
        known = self.values >= 0
        found: np.ndarray = known & wanted[np.where(known, self.values, 0).astype(np.int64)]
        return found.astype(np.float64)

    def features(self) -> tuple[np.ndarray, np.ndarray]:
        """Both tables as model inputs: one column of numbers, or one for each category. Missing is
        NaN among numbers and nothing among categories."""
        if self.ordered:
            before = _at(self.positions, self.codes, np.nan)
            after = self.values
            if self.labelled:
                middle = [
                    float(self.positions[one].mean()) if one.size else np.nan for one in self.covers
                ]
                after = _at(np.array(middle), self.places, np.nan)
            return before[:, None], after[:, None]
        eye = np.eye(self.size)
        before = _at(eye, self.codes, 0.0)
        if not self.labelled:
            return before, _at(eye, self.values.astype(np.int64), 0.0)
        parts = np.zeros((len(self.covers), self.size))
        for i, one in enumerate(self.covers):
            parts[i, one] = 1.0 / max(one.size, 1)
        return before, _at(parts, self.places, 0.0)


def _at(table: np.ndarray, places: np.ndarray, otherwise: float) -> np.ndarray:
    """Rows of a table; another value where the place is -1."""
    out = np.full((places.size, *table.shape[1:]), otherwise)
    known = places >= 0
    out[known] = table[places[known]]
    return out


def _numbers(masked: Table, name: str, original: Table) -> np.ndarray:
    series, column = masked[name], original.schema[name]
    if column.kind == Kind.ORDINAL:
        series = series.cast(pl.String).cast(pl.Enum(list(column.categories)), strict=False)
        return floats(series, column)
    return floats(series, masked.schema[name])


def _places(series: pl.Series, domain: pl.Series) -> np.ndarray:
    """Each value's place in the domain, -1 where missing or not in it."""
    words = domain.cast(pl.String)
    place = pl.DataFrame({"value": words, "place": np.arange(len(words))})
    rows = pl.DataFrame({"value": series.cast(pl.String)})
    found = rows.join(place, on="value", how="left", maintain_order="left")["place"]
    return found.fill_null(-1).to_numpy().astype(np.float64)
