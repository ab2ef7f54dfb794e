"""Two files as an intruder holds them: known numbers beside the masked ones, each standardized.

What linkages by number share, whether they measure a risk or attack a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ..errors import MeasureError, SfumatoError
from ..kernels.linkage import Nearest, nearest
from .linking import (
    CONFIDENCE,
    columns_to_link_by,
    has_numbers,
    limits,
    numbers_of,
    require_records,
)
from .pair import Pair
from .schema import Kind
from .table import Table

if TYPE_CHECKING:
    from ..protocols import Method, Partitioner

TOLERANCE = 1e-9
"""Distances that differ by this part of the least are equal."""
_SQUARABLE = 1e140


def own_rows(pair: Pair, asking: str) -> np.ndarray:
    """The masked row of each original record, -1 where it was not released."""
    require_records(pair, asking)
    rows, masked = pair.aligned_rows()
    if np.unique(rows).size < rows.size:
        raise MeasureError(
            "several masked records come from one original: its own record is not defined",
            remedy="measure the releases one by one",
        )
    own = np.full(pair.original.height, -1, dtype=np.int64)
    own[rows] = masked
    return own


def acted_on(step: Method | Partitioner, original: Table) -> Sequence[str]:
    """The columns that a published step changed."""
    try:
        return step.targets(original)[0]
    except SfumatoError:
        # Columns that an earlier step made fit for it.
        return [name for name in step.columns if name in original.schema]


def moments_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations by column, missing aside; 1 for a constant column."""
    here = ~np.isnan(x)
    count = np.maximum(here.sum(axis=0), 1)
    # In parts of the largest value, since squares of very large or small numbers leave the floats.
    unit = np.where(here, np.abs(x), 0.0).max(axis=0, initial=0.0)
    unit = np.where((unit > _SQUARABLE) | (unit < 1 / _SQUARABLE), unit, 1.0)
    unit = np.where(unit > 0, unit, 1.0)
    parts = np.where(here, x, 0.0) / unit
    mean = parts.sum(axis=0) / count
    spread = np.sqrt((np.where(here, parts - mean, 0.0) ** 2).sum(axis=0) / count) * unit
    low = np.where(here, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(here, x, -np.inf).max(axis=0, initial=-np.inf)
    return mean * unit, np.where((spread > 0) & (low < high), spread, 1.0)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns that both files have as numbers: raw, and standardized each file by its own."""

    pair: Pair
    names: tuple[str, ...]

    @cached_property
    def original(self) -> np.ndarray:
        """float64 (n, v), NaN missing."""
        return numbers_of(self.pair.original, self.names, self.pair)

    @cached_property
    def masked(self) -> np.ndarray:
        """float64 (m, v), NaN missing or suppressed."""
        return numbers_of(self.pair.masked, self.names, self.pair)

    @cached_property
    def hidden(self) -> np.ndarray:
        """bool (m, v): cells that were suppressed, of which nothing is known."""
        marks = [self.pair.masked.suppressed(name) for name in self.names]
        if not marks:
            return np.zeros((self.pair.masked.height, 0), dtype=bool)
        found: np.ndarray = np.column_stack(marks)
        return found

    def of(self, table: Table) -> np.ndarray:
        """The same columns of another table, such as that of the non-participants."""
        for name in self.names:
            if name not in table.schema:
                raise MeasureError(
                    f"the reference table has no column {name!r}",
                    remedy="give it the columns of the original",
                )
        return numbers_of(table, self.names, self.pair)

    def known(self, x: np.ndarray) -> np.ndarray:
        """Original values, standardized by the original's means and deviations."""
        centre, scale = moments_of(self.original)
        standardized: np.ndarray = (x - centre) / scale
        return standardized

    @cached_property
    def published(self) -> np.ndarray:
        """The masked values, standardized by their own; infinite where suppressed, as the kernels
        are told that a cell is near to everything."""
        centre, scale = moments_of(self.masked)
        standardized: np.ndarray = np.where(self.hidden, np.inf, (self.masked - centre) / scale)
        return standardized

    def as_published(self, x: np.ndarray) -> np.ndarray:
        """Original values in the units of `published`: those of the masked file."""
        centre, scale = moments_of(self.masked)
        standardized: np.ndarray = (x - centre) / scale
        return standardized

    def nearest(self, x: np.ndarray, own: np.ndarray) -> Nearest:
        """The match that anybody would try: for each row of x the nearest masked record, both files
        standardized. A suppressed cell counts as missing, that is 1 beside a value."""
        published = np.where(self.hidden, np.nan, self.published)
        return nearest(self.known(x), published, own=own, tolerance=TOLERANCE)

    def only(self, names: Sequence[str]) -> Numbers:
        """Some of the columns."""
        return Numbers(self.pair, tuple(names))


def in_both(pair: Pair, name: str) -> bool:
    """Whether a column is in both tables, with numbers and no labels in their place."""
    if name not in pair.masked.schema or not has_numbers(pair, name):
        return False
    before, after, series = pair.original.schema[name], pair.masked.schema[name], pair.masked[name]
    text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    return not after.generalized and (before.kind == Kind.ORDINAL or not text)


def numbers_to_link_by(pair: Pair, named: Sequence[str]) -> tuple[Numbers, dict[str, str]]:
    """The columns named, else the quasi-identifiers, that are numbers in both files (dates and
    ordinals among them), and why others are left out."""
    names, left = columns_to_link_by(pair, named)
    usable = [name for name in names if in_both(pair, name)]
    left |= dict.fromkeys((n for n in names if n not in usable), "has no numbers in both tables")
    for name in named:
        if name in left:
            raise MeasureError(f"column {name!r} {left[name]}", remedy="leave it out of `columns`")
    if not usable:
        raise MeasureError(
            "no quasi-identifier has numbers in both tables",
            remedy="link by record-linkage, which takes every kind of column",
        )
    return Numbers(pair, tuple(usable)), left


@dataclass(frozen=True, eq=False)
class Credit:
    """What linking some of the records achieved; own records tied with t - 1 others count 1/t."""

    records: np.ndarray
    """1/t for each record linked, 0 where its own is not among the nearest."""
    alone: int
    """Records whose own was the nearest alone."""
    won: int
    """Records whose own was among the nearest."""

    @classmethod
    def of(cls, own_tied: np.ndarray, ties: np.ndarray) -> Credit:
        """From whether the own record ties, and with how many in all."""
        credit = np.where(own_tied, 1.0 / np.maximum(ties, 1), 0.0)
        return cls(credit, int((own_tied & (ties == 1)).sum()), int(own_tied.sum()))

    @property
    def value(self) -> float:
        """The share of records linked."""
        return float(self.records.mean())

    def interval(self, sampled: bool) -> tuple[float, float]:
        """From every tie lost to every tie won, with confidence limits where records were drawn."""
        n = self.records.size
        if sampled:
            return limits(self.alone, n)[0], limits(self.won, n)[1]
        return self.alone / n, self.won / n


def about_interval(sampled: bool) -> str:
    """What `Credit.interval` is, for the evidence."""
    said = "from every tie lost to every tie won"
    return said + f", each with its {CONFIDENCE:.0%} confidence limit" if sampled else said


def at_least_as_close(nearest: np.ndarray, to_own: np.ndarray) -> float:
    """How often a stranger's nearest masked record is at least as close as a participant's own,
    for a stranger and a participant drawn at random."""
    own = np.sort(to_own[np.isfinite(to_own)]) * (1 + TOLERANCE)
    further = own.size - np.searchsorted(own, nearest, side="left")
    return float(further.mean() / max(own.size, 1))


def facts_of(pair: Pair, own: np.ndarray, left_out: Mapping[str, str]) -> dict[str, Any]:
    """What every linkage says of the files."""
    said: dict[str, Any] = {"records": pair.original.height, "masked_records": pair.masked.height}
    if left_out:
        said["left_out"] = dict(left_out)
    if gone := int((own < 0).sum()):
        said["records_not_released"] = gone
    return said
