"""The coordinates of one column: where its values, its missing ones and its labels lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...errors import MethodError
from ...poset.values.text import text
from ..codec import encode, floats
from ..generalized.label_places import LabelPlaces
from ..linkage.linked import moments_of
from ..schema import NUMERIC, SUPPRESSED, Column, Kind
from ..table import Table

_EXTREME = 1e140
"""Numbers beyond it, and below its reciprocal, are taken in parts of the largest."""
_LINE = 8
_TENTHS = (0.1, 0.5, 0.9)
_SURE = 4.0
"""Standard errors beyond which a share is no chance."""
_ROUNDING = 1e-9
_SOME = 10_000
"""Values by which it is told whether they repeat."""
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


class Scale(NamedTuple):
    """What a column of numbers is standardized by: (x / unit - centre) / spread."""

    unit: float
    centre: float
    spread: float

    @classmethod
    def of(cls, x: np.ndarray) -> Scale:
        """The mean and standard deviation of x, NaN aside; a constant's deviation is 1."""
        if not (here := ~np.isnan(x)).any():
            return cls(1.0, 0.0, 1.0)
        low, high = float(np.nanmin(x)), float(np.nanmax(x))
        largest = max(abs(low), abs(high))
        unit = 1.0
        if largest > _EXTREME or 0 < largest < 1 / _EXTREME:
            unit = 2.0 ** np.clip(np.frexp(largest)[1], -1022, 1023)  # so that dividing is exact
        if low == high:
            return cls(unit, low / unit, 1.0)
        present = x if here.all() else x[here]
        mean, spread = moments_of((present / unit)[:, None])
        return cls(unit, float(mean[0]), float(spread[0]))

    def standardized(self, x: np.ndarray) -> np.ndarray:
        """z-scores."""
        parts = x / self.unit
        parts -= self.centre
        parts /= self.spread
        return parts

    def back(self, z: np.ndarray) -> np.ndarray:
        """The numbers again; infinite where floats hold none so large."""
        with np.errstate(over="ignore"):
            return np.asarray((z * self.spread + self.centre) * self.unit)


@dataclass(frozen=True, eq=False)
class Block:
    """The coordinates of one column: a number, or one for each value; and whether it is missing."""

    column: Column
    series: pl.Series
    """The original's column."""
    first: int
    gaps: int
    """How many of the original's cells are missing."""
    scale: Scale | None = None
    """None for categories and two values."""
    ends: tuple[float, float] = (0.0, 0.0)
    """The least and the largest of the numbers."""
    logged: bool = False
    levels: pl.Series | None = None
    counts: np.ndarray | None = None
    """How often each level occurs."""
    marked: bool = False
    """Whether some of the original's own cells are suppressed: to it these are missing."""
    twofold: bool = False
    """Whether two values have a coordinate each."""

    @property
    def two(self) -> bool:
        """Whether it has two values."""
        return self.levels is not None and len(self.levels) == 2

    @property
    def wide(self) -> int:
        """Coordinates for the value itself."""
        several = self.levels is not None and len(self.levels) > 2 - self.twofold
        return len(self.levels) if several and self.levels is not None else 1

    @property
    def width(self) -> int:
        """All of its coordinates."""
        return self.wide + bool(self.gaps)

    @property
    def missing(self) -> int:
        """The coordinate of the missing values, where there are any."""
        return self.first + self.wide

    def bent(self, x: np.ndarray) -> np.ndarray:
        """Numbers as they are standardized: by their logarithms, or as they are."""
        return np.asarray(np.log(x)) if self.logged else x

    @cached_property
    def vectors(self) -> np.ndarray:
        """float64 (levels, wide): where each level lies."""
        assert self.levels is not None
        q = len(self.levels)
        if q > 1 and q == self.wide:
            return 2.0 * np.eye(q) - 1.0
        return np.array([[-1.0], [1.0]]) if q == 2 else np.zeros((q, 1))

    @cached_property
    def mean(self) -> np.ndarray:
        """float64 (wide,): where a value of which nothing is known lies."""
        if self.counts is None or not self.counts.sum():
            return np.zeros(self.wide)
        return np.asarray(self.counts / self.counts.sum() @ self.vectors)

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The place of each level, by its text."""
        assert self.levels is not None
        return {text(level): place for place, level in enumerate(self.levels.to_list())}

    @cached_property
    def labels(self) -> LabelPlaces:
        """The reader of labels that stand for several values."""
        domain = self.levels if self.levels is not None else encode(self.series).domain
        return LabelPlaces(self.column, domain)

    def write(self, out: np.ndarray, table: Table, *, own: bool, thresholded: bool) -> None:
        """Put the column of a table into out (n, width); `own`: standardized so that the table's
        own middle and width become those of the original."""
        name = self.column.name
        column, series = table.schema[name], table[name]
        if self.scale is not None:
            x = self._as_numbers(series, column)
            if self.logged:
                # Nobody's value is so low: the lowest that is somebody's is nearest.
                x = self.bent(np.where(x <= 0, self.ends[0], x))
            z = (self._own_scale(x) if own else self.scale).standardized(x)
            out[:, 0] = np.where(np.isnan(z), 0.0, z)
        elif series.dtype.is_numeric() and self._between and not column.generalized:
            low, high = self.ends
            z = np.clip((numbers_of(series, column) - low) * (2.0 / (high - low)) - 1.0, -1.0, 1.0)
            if thresholded:
                z = np.where(z > 0, 1.0, np.where(np.isnan(z), z, -1.0))
            z = np.where(np.isnan(z), self.mean[-1], z)
            out[:, : self.wide] = np.column_stack([-z, z])[:, 2 - self.wide :]
        else:
            found = encode(series)
            places = [self._vector(value, column) for value in found.domain.to_list()]
            out[:, : self.wide] = np.vstack([self.mean, *places])[found.codes]
        absent = series.is_null().to_numpy()
        hidden = np.zeros_like(absent) if self.marked else table.suppressed(name)
        if self.column.generalized:
            hidden = hidden & absent  # its "*" is one of the original's labels
        if hidden.any():
            out[hidden, : self.wide] = self.mean
        if self.gaps:
            out[:, -1] = np.where(absent, 1.0, -1.0)
            out[hidden, -1] = 2.0 * self.gaps / len(self.series) - 1.0

    @cached_property
    def _middle(self) -> np.ndarray:
        """What a tenth, half and nine tenths of the original's numbers are below."""
        return _tenths(self._values) if self._values.size else np.zeros(3)

    @cached_property
    def _values(self) -> np.ndarray:
        """The original's numbers, as they are standardized."""
        x = self._as_numbers(self.series, self.column)
        return self.bent(x[~np.isnan(x)])

    def _own_scale(self, x: np.ndarray) -> Scale:
        """By the middle eight tenths of the values: a few far ones do not move it."""
        assert self.scale is not None
        plain = Scale.of(x)
        here = x[~np.isnan(x)]
        known, counted = self._values, np.isin(here[:_SOME], self._values)
        if here.size and counted.mean() >= 0.5 and _lies_as(here, self._middle, known.size):
            return self.scale
        low, middle, high = _tenths(here) / plain.unit if here.size else np.zeros(3)
        was_low, was_middle, was_high = self._middle / self.scale.unit
        if not (low < high and was_low < was_high):
            return plain
        wider = (high - low) / (was_high - was_low)
        centre = middle - (was_middle - self.scale.centre) * wider
        return Scale(plain.unit, float(centre), float(self.scale.spread * wider))

    @property
    def _between(self) -> bool:
        """Whether numbers lie between its two values."""
        number = self.column.kind in (*NUMERIC, Kind.BOOLEAN) and not self.column.generalized
        return number and self.levels is not None and len(self.levels) == 2

    def _as_numbers(self, series: pl.Series, column: Column) -> np.ndarray:
        """Another table's column as numbers; NaN where nothing is known."""
        stored = series.dtype in _TEXTS and series.dtype != self.series.dtype
        if column.generalized or stored:
            return self._label_numbers(series)
        if (self.column.kind == Kind.DATE) != (column.kind == Kind.DATE):
            raise MethodError(
                f"column {column.name!r} is {column.kind}, and {self.column.kind} in the original",
                remedy="leave it out of `columns`",
            )
        return numbers_of(series, column)

    def _label_numbers(self, series: pl.Series) -> np.ndarray:
        found = encode(series.cast(pl.String))
        categories = self.column.categories if self.column.kind == Kind.ORDINAL else ()
        order = {name: float(j) for j, name in enumerate(categories)}
        known = [np.nan]
        for label in found.domain.to_list():
            number = order.get(label)
            if number is None and label != SUPPRESSED:
                number = self.labels.middle(label)
            known.append(np.nan if number is None else number)
        return np.asarray(np.array(known)[found.codes])

    def _vector(self, value: Any, column: Column) -> np.ndarray:
        """Where a value or a label of a category lies."""
        word = text(value)
        place = self.place_of.get(word)
        if place is None and self.column.kind == Kind.BOOLEAN:
            place = self.place_of.get({"1": "true", "0": "false"}.get(word, word.lower()))
        if place is not None:
            return np.asarray(self.vectors[place])
        if word == SUPPRESSED:
            return self.mean
        readable = column.generalized or self.column.poset is not None or self._between
        covered = self.labels.covered(word) if readable or word.startswith("{") else None
        if covered is None or not covered.size:
            return np.full(self.wide, 0.0 if len(self.vectors) == 2 else -1.0)
        return np.asarray(self.vectors[covered].mean(axis=0))


def numbers_of(series: pl.Series, column: Column) -> np.ndarray:
    """A column as finite numbers, NaN where missing."""
    x = floats(series, column)
    if np.isinf(x).any():
        raise MethodError(
            f"column {column.name!r} is infinite in row {int(np.argmax(np.isinf(x))) + 1}",
            remedy="make it missing, or leave the row out",
        )
    return x


def grouped(blocks: Sequence[Block]) -> list[list[Block]]:
    """Neighbouring blocks together that fill a line of the processor's memory, eight numbers."""
    groups: list[list[Block]] = []
    room = 0
    for block in blocks:
        if room <= 0:
            groups.append([])
            room = _LINE
        groups[-1].append(block)
        room -= block.width
    return groups


def _tenths(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.quantile(x, _TENTHS))


def _lies_as(x: np.ndarray, tenths: np.ndarray, n: int) -> bool:
    """Whether as many of x lie below these tenths of n others as chance allows.

    Where values repeat, the tenths of two samples differ by nothing or by a whole step. To shift
    one of them by that step would part people who have the same value. (Where values do not
    repeat, a small shift parts nobody, and undoing it finds copies that were moved a little.)
    """
    share = np.array(_TENTHS)
    slack = _SURE * np.sqrt(share * (1 - share) * (1 / x.size + 1 / n))
    below = (x[:, None] < tenths * (1 - _ROUNDING * np.sign(tenths))).mean(axis=0)
    up_to = (x[:, None] <= tenths * (1 + _ROUNDING * np.sign(tenths))).mean(axis=0)
    return bool(((below <= share + slack) & (up_to >= share - slack)).all())
