"""Records as points, and back: the conventions of spectral anonymization.

A number is standardized, after a logarithm where that makes it less skewed. Two values are -1 and
+1, three categories or more have a coordinate each, +1 for the one that a record has. Ordinals and
dates are numbers. Whether a value is missing is a coordinate of its own, -1 present and +1 missing,
and the value itself then lies at the column's mean. (Lasko 2007, ch. 1 and 4.2.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...errors import MethodError
from ...poset.values.text import text
from ..codec import encode, floats, from_floats
from ..schema import NUMERIC, ORDERED, Column, Kind
from ..table import Table
from .coordinates import Block, Scale, grouped, numbers_of
from .decoding import Decoding, decoded

Logs = Literal["auto", "positive", "never"]
LogChoice = Annotated[
    Logs | tuple[str, ...],
    Field(
        description="which strictly positive numbers are taken by their logarithms: those that "
        'are then less skewed ("auto"), all ("positive"), none ("never"), or columns by name'
    ),
]
"""The parameter of everything that encodes records."""
Twofold = Annotated[
    bool,
    Field(
        description="two values as two coordinates, one for each as the thesis has it, and so with "
        "twice the weight; else as one"
    ),
]
Moments = Literal["original", "own"]

MOST_COORDINATES = 2_000
_MOST_CELLS = 2**30
"""Eight GiB of coordinates."""
_EXACT = 2.0**53
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the records of one table become points; fitted to the original.

    >>> from sfumato.data.table import table
    >>> people = table({"sex": ["f", "m", "m"], "blood": ["A", "0", "B"], "age": [30, 40, 50]})
    >>> code = Encoding.of(people, ["sex", "blood", "age"], log="never")
    >>> code.encode(people).round(2).tolist()[0]
    [-1.0, -1.0, 1.0, -1.0, -1.22]
    >>> [one.to_list() for one in code.decode(code.encode(people), people).series]
    [['f', 'm', 'm'], ['A', '0', 'B'], [30, 40, 50]]
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(
        cls,
        table: Table,
        columns: Sequence[str],
        *,
        log: Logs | tuple[str, ...] = "auto",
        twofold: bool = False,
    ) -> Encoding:
        """The encoding of these columns.

        `log` says which strictly positive numbers are taken by their logarithms: those that are
        then less skewed ("auto"), all ("positive"), none ("never"), or those named. `twofold`: two
        values have a coordinate each, as three have, instead of one together.
        """
        if not isinstance(log, str):
            _check_named(table, columns, log)
        blocks: list[Block] = []
        width = 0
        for name in columns:
            blocks.append(replace(_fitted(table, name, width, log), twofold=twofold))
            width += blocks[-1].width
            if width > MOST_COORDINATES:
                _refuse_width(blocks, "the columns need", "at most")
        if width * table.height > _MOST_CELLS:
            _refuse_width(blocks, f"{table.height:,} records have", "too many with")
        return cls(tuple(blocks))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(block.column.name for block in self.blocks)

    @property
    def width(self) -> int:
        """How many coordinates there are."""
        return sum(block.width for block in self.blocks)

    @cached_property
    def owner(self) -> np.ndarray:
        """int64 (d,): the column of each coordinate, as its place in `names`."""
        return np.repeat(np.arange(len(self.blocks)), [block.width for block in self.blocks])

    @cached_property
    def numeric(self) -> np.ndarray:
        """bool (d,): the coordinates that are standardized numbers."""
        found = np.zeros(self.width, dtype=bool)
        found[[block.first for block in self.blocks if block.scale is not None]] = True
        return found

    @cached_property
    def column_units(self) -> np.ndarray:
        """float64 (d,): factors after which all columns weigh alike in a mean over coordinates.

        Two people's numbers differ by 2 on average, squared; so do two categories then, however
        many the column has.
        """
        found: list[float] = []
        for block in self.blocks:
            apart = 2.0 if block.scale is not None else 4.0 if block.wide == 1 else 8.0
            found += [np.sqrt(2.0 / apart)] * block.wide + [np.sqrt(0.5)] * bool(block.gaps)
        return np.asarray(np.array(found) * np.sqrt(self.width / len(self.blocks)))

    @property
    def logged(self) -> tuple[str, ...]:
        """The columns that are taken by their logarithms."""
        return tuple(block.column.name for block in self.blocks if block.logged)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """A name for each coordinate."""
        found: list[str] = []
        for block in self.blocks:
            name = block.column.name
            if block.wide == 1:
                found.append(f"log {name}" if block.logged else name)
            elif block.levels is not None:
                found += [f"{name}={text(level)}" for level in block.levels.to_list()]
            if block.gaps:
                found.append(f"{name} missing")
        return tuple(found)

    @property
    def said(self) -> dict[str, Any]:
        """What the evidence says of it."""
        gaps = [block.column.name for block in self.blocks if block.gaps]
        facts: dict[str, Any] = {"coordinates": self.width, "logarithms of": list(self.logged)}
        return facts | ({"missing values encoded in": gaps} if gaps else {})

    @property
    def telling(self) -> tuple[str, ...]:
        """Columns with a category that one record alone has."""
        return tuple(
            block.column.name
            for block in self.blocks
            if block.counts is not None and block.counts.size > 1 and (block.counts == 1).any()
        )

    def encode(
        self, table: Table, *, moments: Moments = "original", thresholded: bool = False
    ) -> np.ndarray:
        """float64 (n, d): the records of the original, of its release, or of other people.

        Numbers are standardized by the original's mean and deviation, or so that the table's own
        median and middle eight tenths lie where the original's do. What
        the original does not have is taken as a reader would: an interval lies in its middle, a set
        or a node of a hierarchy at the mean over its values, a suppressed cell at the column's
        mean; a category that the original lacks is -1 throughout, and between two values it is 0.
        Numbers in place of two values lie between them, or where `thresholded` at the nearer one.
        """
        for name in self.names:
            if name not in table.schema:
                raise MethodError(
                    f"the table has no column {name!r}",
                    remedy="give it the columns of the original",
                )
        out = np.empty((table.height, self.width))
        for group in grouped(self.blocks):
            first = group[0].first
            part = np.empty((table.height, sum(block.width for block in group)), order="F")
            for block in group:
                own = part[:, block.first - first : block.first - first + block.width]
                block.write(own, table, own=moments == "own", thresholded=thresholded)
            for start in range(0, table.height, _ROWS):
                rows = slice(start, start + _ROWS)
                out[rows, first : first + part.shape[1]] = part[rows]
        return out

    def decode(
        self,
        x: np.ndarray,
        table: Table,
        *,
        categories: Literal["argmax", "shares", "probabilities"] = "argmax",
        whole: bool = True,
        bounded: bool = False,
    ) -> Decoding:
        """Points as columns: (series, columns, facts).

        Categories: the largest coordinate ("argmax"; two values at zero), the largest with offsets
        such that each value is as frequent as in the original ("shares"), or one column of
        probabilities for each ("probabilities", normalized inverse logits). `bounded`: numbers do
        not go beyond the means of the original's five lowest and five highest, none of these taken
        further from the median than twice as far as the innermost of the five, so that nobody's
        extreme can be solved for. `table` is the original, whose column names are taken.
        """
        if x.ndim != 2 or x.shape[1] != self.width:
            raise MethodError(
                f"points with {self.width} coordinates are decoded, not an array {x.shape}"
            )
        return decoded(self.blocks, x, table, categories, whole, bounded)


def _check_named(table: Table, columns: Sequence[str], log: Sequence[str]) -> None:
    for name in log:
        if name not in columns:
            raise MethodError(
                f"column {name!r} of `log` is not acted on", remedy="leave it out of `log`"
            )
        column = table.schema[name]
        if column.kind not in NUMERIC or column.generalized:
            raise MethodError(
                f"column {name!r} of `log` is {column.kind} and has no logarithm",
                remedy="leave it out of `log`",
            )
        values = floats(table[name], column)
        if (values <= 0).any():
            raise MethodError(
                f"column {name!r} is not positive in row {int(np.argmax(values <= 0)) + 1} and has "
                "no logarithm there",
                remedy='leave it out of `log`, or use log = "auto"',
            )


def _refuse_width(blocks: Sequence[Block], what: str, limit: str) -> None:
    widest = max(blocks, key=lambda block: block.width)
    width = sum(block.width for block in blocks)
    levels = 0 if widest.levels is None else len(widest.levels)
    raise MethodError(
        f"{what} {width:,} coordinates or more, {limit} "
        + (f"{MOST_COORDINATES:,}" if limit == "at most" else "for the memory of most machines")
        + (f"; column {widest.column.name!r} has {levels:,} categories" if levels > 2 else ""),
        remedy="name fewer `columns`, or recode the categories first",
    )


def _fitted(table: Table, name: str, first: int, log: Logs | tuple[str, ...]) -> Block:
    column, series = table.schema[name], table[name]
    gaps = series.null_count()
    marked = bool((table.suppressed(name) & series.is_null().to_numpy()).any())
    if column.kind in (Kind.SET, Kind.TEXT) and not column.generalized:
        raise MethodError(
            f"column {name!r} is {column.kind}: it has no coordinates",
            remedy="leave it out of `columns`",
        )
    if column.generalized or column.kind not in ORDERED:
        return _of_levels(column, series, first, gaps, marked)
    x = numbers_of(series, column)
    low, high = (float(np.nanmin(x)), float(np.nanmax(x))) if gaps < x.size else (0.0, 0.0)
    if column.kind != Kind.DATE and _two(x, low, high):
        counts = np.array([(x == low).sum(), (x == high).sum()])
        levels = from_floats(np.array([low, high]), column, series)
        return Block(column, series, first, gaps, None, (low, high), False, levels, counts, marked)
    logged = column.kind in NUMERIC and 0 < low < high and _wants_log(x, log, name)
    scale = Scale.of(np.log(x) if logged else x)
    return Block(column, series, first, gaps, scale, (low, high), logged, marked=marked)


def _two(x: np.ndarray, low: float, high: float) -> bool:
    """Whether there are two values, both whole, such as 0 and 1."""
    if not low < high or low % 1 or high % 1 or max(abs(low), abs(high)) > _EXACT:
        return False
    # Nearly every other column shows a third value at once.
    some = x[:1000]
    if ((some != low) & (some != high) & ~np.isnan(some)).any():
        return False
    return bool(((x == low) | (x == high) | np.isnan(x)).all())


def _of_levels(column: Column, series: pl.Series, first: int, gaps: int, marked: bool) -> Block:
    found = encode(series)
    counts = np.bincount(found.codes, minlength=len(found.domain) + 1)[1:]
    ends = (0.0, 1.0)
    return Block(column, series, first, gaps, None, ends, False, found.domain, counts, marked)


def _wants_log(x: np.ndarray, log: Logs | tuple[str, ...], name: str) -> bool:
    if not isinstance(log, str):
        return name in log
    if log != "auto":
        return log == "positive"
    present = x[~np.isnan(x)]
    return abs(_skewness(np.log(present))) < abs(_skewness(present))


def _skewness(x: np.ndarray) -> float:
    z = Scale.of(x).standardized(x)
    return float(np.mean(z * z * z))
