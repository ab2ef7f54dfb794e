"""Columns as an intruder compares them: what a person has beside what a record says.

A record agrees with a person on a column if its label covers the person's value; a number if they
are within half the published unit or a hundredth of the interquartile range, a date within a day, a
coordinate within a kilometre or so; any other value, and a code whatever its type, if it is the
same. A suppressed cell agrees with everybody, unless nothing else is left of its record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from ...data.generalized.label_places import has_labels
from ...data.kinds import is_text
from ...data.recognize import KNOWABLE
from ...data.recognize.words import NUMBERED, plain_name
from ...data.schema import MEASURED, Column, Kind
from ...data.table import Table
from ...errors import MeasureError
from ..linkage.covering import Grid

_DAY = 86_400_000_000
"""Microseconds: dates are compared as moments."""
_KILOMETRE = 0.009
"""Degrees of latitude; a degree of longitude is shorter, which errs to the safe side."""
_CODES = KNOWABLE - {"age", "year", "coordinate", "date", "date-time", "date-part"} | {"trait"}
"""What whole numbers may be that are no quantities."""
_MILLIONTHS = 1_000_000
"""Finer digits than these are nobody's unit."""


@dataclass(frozen=True, eq=False)
class Known:
    """A column that an intruder knows: `value[i]` of each person beside the records.

    Record r agrees with person i if low[r] <= value[i] <= high[r]; or, where labels are sets of
    values, if the bit value[i] of its label is set.
    """

    name: str
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bits: np.ndarray | None = None
    """By label, where labels are sets; `low` then holds the label of each record."""
    quiet: np.ndarray | None = None
    """Records that hide nobody else, if there are any."""

    def agrees(self, people: np.ndarray, records: np.ndarray) -> np.ndarray:
        """bool[people, records]; or bool[n] where both are lists of the same length."""
        value, low = self.value[people], self.low[records]
        found: np.ndarray
        if self.bits is not None:
            words = self.bits[low, value >> 6]
            found = (words >> (value & 63).astype(np.uint64)) & np.uint64(1) != 0
        elif self.exact:
            found = low == value
        else:
            found = (low <= value) & (value <= self.high[records])
        return found

    @cached_property
    def exact(self) -> bool:
        """Whether every record covers one value."""
        return bool(np.array_equal(self.low, self.high))

    @cached_property
    def code(self) -> np.ndarray:
        """uint64: records with the same code agree with the same people."""
        return self.low.astype(np.uint64) << np.uint64(32) | self.high.astype(np.uint64)

    @cached_property
    def order(self) -> np.ndarray:
        """Records by where their labels begin."""
        # Numbers of two bytes are sorted by their digits, in a fraction of the time.
        narrow = self.low.max(initial=0) < 1 << 16 and self.low.min(initial=0) >= 0
        return np.argsort(self.low.astype(np.uint16) if narrow else self.low, kind="stable")

    def spread(self, place: np.ndarray) -> Known:
        """The same beside more records, each of which is like one of these."""
        return replace(self, low=self.low[place], high=self.high[place])

    def silent(self, records: np.ndarray) -> Known:
        """The same with some records that hide nobody else."""
        if not records.any():
            return self
        quiet = records if self.quiet is None else self.quiet | records
        return replace(self, quiet=quiet)

    def hides(self, records: np.ndarray, own: np.ndarray | None) -> np.ndarray | bool:
        """Whether records come to mind where others are looked for: of whom nothing is known but
        such a record, all others like it do."""
        if self.quiet is None:
            return True
        loud: np.ndarray = ~self.quiet[records]
        return loud if own is None else loud | self.quiet[own]

    def of(self, value: np.ndarray) -> Known:
        """The same records beside other people, whose values are of the same numbering."""
        other = replace(self, value=value)
        vars(other)["order"] = self.order
        return other

    @cached_property
    def variety(self) -> int:
        """How many different values the people have."""
        return int(np.unique(self.value).size)

    @cached_property
    def nearby(self) -> np.ndarray:
        """int64[2, people]: where in `order` the records stand that may agree with each person."""
        if self.bits is not None:
            return np.array([[0], [self.low.size]]).repeat(self.value.size, axis=1)
        starts, widest = self.low[self.order], (self.high - self.low).max(initial=0)
        return np.array(
            (
                np.searchsorted(starts, self.value - widest, "left"),
                np.searchsorted(starts, self.value, "right"),
            )
        )


def known(
    original: Table,
    people: Table,
    masked: Table,
    name: str,
    what: str = "",
    exact: bool = False,
    near: float | None = None,
) -> Known:
    """A column of some people, and of the records of a release; `what` it was recognized as, and
    whether an intruder knows it to the last digit. How near a number must be is told by the tables
    unless it is given."""
    before, after = original.schema[name], masked.schema[name]
    grid = Grid()
    if has_labels(before, after, masked[name]) and _read(grid, original, name, people, masked):
        if grid.bits:
            label = grid.labels[0]
            return Known(name, grid.sets[0], label, np.zeros_like(label), grid.bits[0])
    elif before.kind in MEASURED and not is_text(masked[name]) and not exact:
        if near is None:
            near = tolerance(original[name], masked[name], before.kind, what)
        return _within(name, people[name], masked[name], masked.suppressed(name), near)
    else:
        grid.add_values(name, people, masked)
    return Known(name, grid.runs[0], grid.low[0], grid.high[0])


def is_code(column: Column, what: str) -> bool:
    """Whether whole numbers stand for something, so that the next one is something else."""
    if column.kind != Kind.INTEGER:
        return False
    return what in _CODES or bool(NUMBERED.search(plain_name(column.name)))


def _read(grid: Grid, original: Table, name: str, people: Table, masked: Table) -> bool:
    """Whether labels can be read; those that cannot are values like any other."""
    try:
        grid.add_labels(original, name, people, masked)
    except MeasureError:
        return False
    return True


def tolerance(original: pl.Series, masked: pl.Series | None, kind: str, what: str = "") -> float:
    """How far a published number may lie from what a person knows of it; without the published
    ones, how small a change of it is none."""
    if kind == Kind.DATE:
        return float(_DAY)
    values = original.drop_nulls().cast(pl.Float64)
    values = values.filter(values.is_finite())
    if values.is_empty():
        return 0.0
    low, high = (float(values.quantile(q) or 0.0) for q in (0.25, 0.75))
    near = (high - low) / 100
    if masked is not None:
        near = max(near, _unit(masked.drop_nulls().cast(pl.Float64)) / 2)
    return max(near, _KILOMETRE) if what == "coordinate" else near


def _unit(values: pl.Series) -> float:
    """The step that published values go by: 0.1, 1, or 5,000 where they were rounded to that."""
    finite = values.filter(values.is_finite()).unique().to_numpy()
    scaled = np.round(finite * _MILLIONTHS)
    if not finite.size or np.abs(scaled).max() >= 2.0**62:
        return 0.0
    return float(np.gcd.reduce(scaled.astype(np.int64))) / _MILLIONTHS


def _within(
    name: str, people: pl.Series, masked: pl.Series, hidden: np.ndarray, near: float
) -> Known:
    """Numbers as ranks among the people's values: a record covers those that are near it."""
    own, theirs = numbers_of(people), numbers_of(masked)
    domain = np.unique(own[~np.isnan(own)])
    value = np.where(np.isnan(own), 0, np.searchsorted(domain, own) + 1)
    # A hair more than the tolerance, so that rounding does not part what is just as near.
    slack = near * (1 + 1e-9)
    low = np.searchsorted(domain, theirs - slack, "left") + 1
    high = np.searchsorted(domain, theirs + slack, "right")
    missing = np.isnan(theirs)
    low[missing], high[missing] = 0, 0
    low[hidden], high[hidden] = 0, domain.size
    empty = high < low
    low[empty], high[empty] = domain.size + 1, domain.size + 1
    return Known(name, value.astype(np.int32), low.astype(np.int32), high.astype(np.int32))


def numbers_of(series: pl.Series) -> np.ndarray:
    if series.dtype.is_temporal():
        series = series.cast(pl.Datetime("us")).cast(pl.Int64)
    return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
