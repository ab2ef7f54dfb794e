"""How well a release predicts the originals, and how well people who did not take part would.

The three prediction measures and the non-participation gate look at the same distances. They are
searched once for each pair of tables and kept as long as the pair is.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from pydantic import Field

from ..data.codec import floats
from ..data.encoding import Encoding, Logs, Moments
from ..data.linking import drawn, require_records
from ..data.pair import Pair
from ..data.schema import NUMERIC, Column, Kind, Role
from ..data.table import Table
from ..errors import MeasureError, MethodError
from ..kernels.prediction import Predictions, predictions
from ..protocols import Context, Measure
from ..rng import stream

ROLES = (Role.QUASI, Role.CONFIDENTIAL, Role.TARGET, Role.INSENSITIVE)
MOST_CATEGORIES = 100
"""A coordinate for nearly every record would drown the others."""
_FAR = 1e6
"""Nothing lies further from the mean, in deviations: its square would swallow the others."""


class Predicting(Measure):
    """What measures of prediction share: where records lie, and how many are looked at."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    usual: ClassVar[bool] = False
    decimals: ClassVar[int | None] = 3

    k: Annotated[
        int, Field(ge=1, description="nearest released records that an intruder chooses among")
    ] = 5
    columns: Annotated[
        tuple[str, ...],
        Field(
            description="columns to compare records by; all of both tables but names, households "
            "and weights unless given"
        ),
    ] = ()
    log: Annotated[
        Logs | tuple[str, ...],
        Field(
            description="which strictly positive numbers are taken by their logarithms: those that "
            'are then less skewed ("auto"), all ("positive"), none ("never"), or columns by name'
        ),
    ] = "auto"
    moments: Annotated[
        Moments,
        Field(
            description="released numbers are standardized by their own means and deviations, so "
            "that an offset does not hide them, or by the original's"
        ),
    ] = "own"
    sample: Annotated[
        int,
        Field(
            ge=0,
            description="originals to predict, drawn at random where there are more; 0 predicts "
            "all. Released records are never left out",
        ),
    ] = 50_000

    def predicted(self, context: Context) -> Predicted:
        """The search on these tables, shared by all measures with the same parameters."""
        require_records(context.pair, self.name)
        reference = context.reference
        if reference is not None and not reference.height:
            raise MeasureError(
                "the reference table has no records", remedy="leave it out, or fill it"
            )
        made = _memo.setdefault(context.pair, {})
        key = (self.k, self.columns, self.log, self.moments, self.sample)
        kept = made.get(key)
        if kept is None or kept.strangers is not reference:
            made[key] = kept = Predicted(self, context.pair, reference)
        return kept


class Predicted:
    """Predictions of the originals from the release and from the reference sample.

    Each search is made when it is asked for, and once. Rows are drawn by a stream of their own, so
    that every measure looks at the same people.
    """

    def __init__(self, wanted: Predicting, pair: Pair, reference: Table | None) -> None:
        self.k, self.strangers, self._sample = wanted.k, reference, wanted.sample
        original, masked = pair.original, pair.masked
        if masked.height < self.k:
            raise MeasureError(
                f"{wanted.name} needs k = {self.k} released records and there are {masked.height}",
                remedy=f"give k = {masked.height} at most",
            )
        names, self.left_out = _columns(pair, reference, wanted.columns)
        own = wanted.moments == "own"
        log = wanted.log if isinstance(wanted.log, str) else _known(wanted.log, names)
        try:
            self.encoding = Encoding.of(original, names, log=log)
            self.rows = drawn(original.height, wanted.sample, stream(0, 0, "prediction/originals"))
            self._originals = self._points(original.take(self.rows))
            self._release = self._points(masked, own)
            self._reference = None if reference is None else self._points(reference, own)
        except MethodError as error:
            raise MeasureError(f"{wanted.name}: {error.message}", remedy=error.remedy) from error
        self.records, self.released = original.height, masked.height

    def _points(self, table: Table, own: bool = False) -> np.ndarray:
        if own:
            table = _brought_back(table, self.encoding)
        moments: Moments = "own" if own else "original"
        found = self.encoding.encode(table, moments=moments, thresholded=True)
        return np.clip(found, -_FAR, _FAR, out=found)

    @property
    def others(self) -> int:
        """Records of the reference sample."""
        return 0 if self._reference is None else len(self._reference)

    @cached_property
    def by_release(self) -> Predictions:
        """The originals, predicted from the release."""
        return predictions(self._originals, self._release, self.k)

    @cached_property
    def by_as_many(self) -> Predictions:
        """The originals, predicted from as many released records as the reference sample has."""
        if self.others >= self.released:
            return self.by_release
        some = drawn(self.released, self.others, stream(0, 0, "prediction/released"))
        return predictions(self._originals, self._release[some], self.k)

    @cached_property
    def by_reference(self) -> Predictions:
        """The originals, predicted from at most as many strangers as there are released records."""
        return self._by_strangers(0)

    @cached_property
    def by_others(self) -> Predictions:
        """The same with as many other strangers, where there are enough."""
        return self._by_strangers(1)

    def _by_strangers(self, part: int) -> Predictions:
        assert self._reference is not None
        order = stream(0, 0, "prediction/reference").permutation(self.others)
        size = min(self.released, self.others)
        some = np.sort(order[part * size : (part + 1) * size])
        return predictions(self._originals, self._reference[some], self.k)

    @cached_property
    def of_strangers(self) -> Predictions:
        """Strangers, predicted from the release."""
        assert self.strangers is not None
        some = drawn(self.others, self._sample, stream(0, 0, "prediction/strangers"))
        return predictions(self._points(self.strangers.take(some)), self._release, self.k)

    @property
    def facts(self) -> dict[str, Any]:
        """What a measurement says of the space and of the records."""
        said: dict[str, Any] = {
            "k": self.k,
            "columns": list(self.encoding.names),
            **self.encoding.said,
            "records": self.records,
            "released_records": self.released,
        }
        if self.left_out:
            said["left_out"] = self.left_out
        if self.rows.size < self.records:
            said["sample"] = int(self.rows.size)
        if self.others:
            said["reference_records"] = self.others
        return said


_memo: WeakKeyDictionary[Pair, dict[tuple[Any, ...], Predicted]] = WeakKeyDictionary()


def _columns(
    pair: Pair, reference: Table | None, named: tuple[str, ...]
) -> tuple[list[str], dict[str, str]]:
    """The columns that all tables have and that have distances, and why others are left out."""
    before = pair.original.schema
    tables = {"original": before, "masked": pair.masked.schema}
    if reference is not None:
        tables["reference"] = reference.schema
    wanted = list(named) or [column.name for column in before if column.role in ROLES]
    left_out = {}
    for name in wanted:
        absent = [side for side, schema in tables.items() if name not in schema]
        if absent:
            left_out[name] = f"is not in the {absent[0]} table"
        elif why := _without_distance(pair.original, before[name], bool(named)):
            left_out[name] = why
        if name in left_out and named:
            raise MeasureError(
                f"column {name!r} {left_out[name]}", remedy="leave it out of `columns`"
            )
    names = [name for name in wanted if name not in left_out]
    if not names:
        raise MeasureError(
            "no column of both tables has distances", remedy="name columns that do in `columns`"
        )
    return names, left_out


def _without_distance(table: Table, column: Column, named: bool) -> str:
    if column.kind in (Kind.SET, Kind.TEXT) and not column.generalized:
        return f"is {column.kind} and has no distances"
    nominal = column.kind == Kind.NOMINAL or column.generalized
    if nominal and not named and table[column.name].drop_nulls().n_unique() > MOST_CATEGORIES:
        return f"has more than {MOST_CATEGORIES} categories"
    return ""


def _known(log: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    for name in log:
        if name not in names:
            raise MeasureError(
                f"column {name!r} of `log` is not among those compared",
                remedy="leave it out of `log`",
            )
    return log


def _brought_back(table: Table, encoding: Encoding) -> Table:
    """The table with the offset or the other unit undone of columns that have one.

    Standardizing undoes it for plain numbers, but not for two values, and not before a logarithm.
    """
    moved = []
    for block in encoding.blocks:
        column, before = table.schema[block.column.name], block.column
        concerned = block.logged if block.scale is not None else block.wide == 1
        number = before.kind in NUMERIC and not (column.generalized or before.generalized)
        series = table[column.name]
        if not (concerned and number and series.dtype.is_numeric()):
            continue
        x, was = floats(series, column), floats(block.series, before)
        here, there = x[~np.isnan(x)], was[~np.isnan(was)]
        if not here.size or not np.isfinite(here).all():
            continue
        if block.logged:
            centre, spread = _quartiles(here)
            aim, width = _quartiles(there)
            # Other samples differ by less, and less hardly bends a logarithm.
            as_it_was = abs(centre - aim) <= width and width <= 2 * spread <= 4 * width
        else:
            low, high = float(here.min()), float(here.max())
            if two := bool(((here == low) | (here == high)).all()):
                centre, spread = low, high - low
                aim, width = block.ends[0], block.ends[1] - block.ends[0]
            else:
                centre, spread = float(here.mean()), float(here.std())
                aim, width = float(there.mean()), float(there.std())
            inside = block.ends[0] <= low and high <= block.ends[1]
            as_it_was = inside and not (two and low < high)
        if not as_it_was and spread > 0 and width > 0:
            x = (x - centre) * (width / spread) + aim
            moved.append(pl.Series(column.name, x, nan_to_null=True))
    return table.with_columns(moved) if moved else table


def _quartiles(x: np.ndarray) -> tuple[float, float]:
    """The median, and how far the quartiles lie apart."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    return float(middle), float(high - low)
