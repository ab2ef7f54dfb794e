"""Top and bottom coding: extreme values give people away."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import bind, decode, encode
from ...data.domain import Domain
from ...data.schema import Column, Kind
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Spread, Told
from ...engines.values import domain_of
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.statistics.exact_sum import Limbs, limbs_of, merged, rounded
from ...poset.values.text import text
from ...protocols import Poset
from ...rng import Key
from ..counts import weight_column

Bound = int | float | dt.date | str


class Beyond(NamedTuple):
    """What lies beyond an end in a part: records, the exact sums of their values by weight and of
    their weights, and the heaviest."""

    records: int
    sums: Limbs
    heaviest: float


class End(NamedTuple):
    """One end of a column, and what lies beyond it in the whole."""

    side: str
    limit: Any
    records: int
    value: float
    total: float
    heaviest: float
    other: pl.Series | None = None
    """What values beyond it become; None where there are none."""

    def said(self, name: str) -> str:
        """What is told where they are too few for their mean."""
        where = f"{'below' if self.side == 'bottom' else 'above'} {text(self.limit)}"
        return (
            f"{name}: the mean of the few {where} would tell their values: they became the "
            "threshold"
        )


class Coded(NamedTuple):
    """What becomes of a column; `bound` is what its labels belong to, if it becomes labels."""

    ends: tuple[End, ...]
    bound: Poset | None


class Known(NamedTuple):
    """The columns that are coded, and what must be said."""

    columns: dict[str, Coded]
    warnings: tuple[str, ...]


class TopBottomCoding(Spread):
    """Publish values beyond a threshold as the threshold.

    A threshold is given as a value, as a share of the records, or as their number. `replace` says
    whether the extreme values become the threshold itself, the mean of those beyond it (which keeps
    the column's mean), or a category of their own such as ">90" (which makes labels of the whole
    column; a column of ordered categories takes the threshold, which is one). With `weighted`,
    shares, numbers and means are those of the population: the weight column says how many people a
    record stands for. Records with the same value are coded together or not at all, so that fewer
    than asked for may be.

    The mean of few is nearly their value: where fewer than `fewest` records lie beyond a threshold,
    or one of them has more than half of their weight, they become the threshold, with a warning.
    """

    name: ClassVar[str] = "top-bottom-coding"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    example: ClassVar[dict[str, Any]] = {"columns": ["age"], "top": 90}
    aliases: ClassVar[tuple[str, ...]] = ("top-coding", "bottom-coding")
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER, Kind.ORDINAL, Kind.DATE)
    paper: ClassVar[str] = "Hundepool et al., Statistical Disclosure Control, 2012, section 3.3"

    top: Bound | None = Field(None, description="largest value to publish", union_mode="smart")
    bottom: Bound | None = Field(None, description="smallest value to publish", union_mode="smart")
    top_share: float = Field(
        0.0, ge=0, lt=0.5, description="share of the records to code at the top"
    )
    bottom_share: float = Field(
        0.0, ge=0, lt=0.5, description="share of the records to code at the bottom"
    )
    top_count: int = Field(0, ge=0, description="records to code at the top")
    bottom_count: int = Field(0, ge=0, description="records to code at the bottom")
    weighted: bool = Field(
        False, description="share, count and mean of the population, by the weight column"
    )
    replace: Literal["threshold", "mean", "label"] = Field(
        "threshold",
        description="the threshold, the mean of those beyond, or a category of their own",
    )
    fewest: int = Field(3, ge=1, description="records to publish a mean of")

    @model_validator(mode="after")
    def _one_way_each(self) -> Self:
        for side in ("top", "bottom"):
            ways = [getattr(self, side) is not None, getattr(self, f"{side}_share") > 0]
            if sum(ways) + (getattr(self, f"{side}_count") > 0) > 1:
                raise ValueError(f"give the {side} as a value, a share or a count, not several")
        numbers = isinstance(self.top, int | float) and isinstance(self.bottom, int | float)
        if numbers and self.bottom > self.top:  # type: ignore[operator]
            raise ValueError(f"bottom = {self.bottom} lies above top = {self.top}")
        given = (self.top, self.bottom, self.top_share or None, self.bottom_share or None)
        if all(v is None for v in given) and not (self.top_count or self.bottom_count):
            raise ValueError("give top, bottom, top_share, bottom_share, top_count or bottom_count")
        return self

    def survey(self, data: Relation, key: Key) -> Known:
        chosen, left = self.targets(data.empty)
        weight = weight_column(data, self.name) if self.weighted else ""
        columns, few = {}, []
        for name in chosen:
            ends = self._ends(data, data.schema[name], weight)
            made = [self._replaced(end, data.empty[name], data.schema[name]) for end in ends]
            few += [end.said(name) for end, (_, told) in zip(ends, made, strict=True) if told]
            columns[name] = Coded(
                tuple(
                    one._replace(other=other) for one, (other, _) in zip(ends, made, strict=True)
                ),
                self._bound(data, name, ends),
            )
        few += [f"{name} was left alone: it has no order" for name in left]
        return Known(columns, tuple(few))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        series, columns = [], []
        for name, made in known.columns.items():
            column = part.schema[name]
            coded = _coded(part[name], column, made)
            series.append(coded.alias(name))
            if made.bound is not None:
                columns.append(column.with_(generalized=True, bound=made.bound))
            else:  # the mean of whole numbers need not be whole
                wider = coded.dtype.is_float()
                columns.append(column.with_(kind=Kind.CONTINUOUS) if wider else column)
        return Part(part.with_columns(series, columns))

    def told(self, known: Known, tally: Tally) -> Told:
        facts = {
            name: {f"{end.side}_coded": end.records for end in made.ends}
            for name, made in known.columns.items()
        }
        return Told(facts, warnings=known.warnings)

    def _ends(self, data: Relation, column: Column, weight: str) -> list[End]:
        """The ends that are coded, and what lies beyond each."""
        name = column.name
        limits = self._limits(data, column, weight)
        if not limits:
            return []
        names = [name, weight] if weight else [name]
        found = data.fold(names, partial(_beyond, name, weight, limits, self._means(column)))
        ends = []
        for side, limit in limits.items():
            parts = [one[side] for one in found]
            limbs = merged([part.sums for part in parts])
            value, total = rounded(limbs)
            count, heaviest = sum(p.records for p in parts), max(p.heaviest for p in parts)
            ends.append(End(side, limit, count, float(value), float(total), heaviest))
        return ends

    def _means(self, column: Column) -> bool:
        return self.replace == "mean" and column.kind in (Kind.CONTINUOUS, Kind.INTEGER)

    def _replaced(
        self, end: End, series: pl.Series, column: Column
    ) -> tuple[pl.Series | None, bool]:
        """What values beyond an end become, and whether they are too few for their mean."""
        if not end.records:
            return None, False
        if self.replace == "label" and column.kind != Kind.ORDINAL:
            return pl.Series([f"{'<' if end.side == 'bottom' else '>'}{text(end.limit)}"]), False
        if not self._means(column) or self._too_few(end):
            return _threshold(series, column, end.limit), self._means(column)
        return pl.Series([end.value / end.total], dtype=pl.Float64), False

    def _bound(self, data: Relation, name: str, ends: list[End]) -> Poset | None:
        """What the labels belong to, where there are any."""
        column = data.schema[name]
        labelled = self.replace == "label" and column.kind != Kind.ORDINAL
        if not labelled or not any(end.records for end in ends):
            return None
        # Intervals, since a hierarchy would not know ">90".
        return bind(column.with_(poset=None), domain_of(data, name).values)

    def _too_few(self, end: End) -> bool:
        """Whether the mean of these records would tell a value of one of them."""
        return end.records < self.fewest or (self.fewest > 1 and 2 * end.heaviest > end.total)

    def _limits(self, data: Relation, column: Column, weight: str) -> dict[str, Any]:
        """The threshold of each end that is coded."""
        name, limits, ranks = column.name, {}, {}
        moment = isinstance(data.empty[name].dtype, pl.Datetime)
        present = -1
        for side in ("bottom", "top"):
            given = getattr(self, side)
            share, count = getattr(self, f"{side}_share"), getattr(self, f"{side}_count")
            if given is not None:
                limits[side] = _as_value(given, column, side, moment=moment)
            if given is not None or not (share or count):
                continue
            present = sum(data.fold([name], _present)) if present < 0 else present
            if weight and present:
                values = domain_of(data, name, weight)
                limits[side] = self._weighted_limit(side, values, column, present)
            elif count := count or int(np.floor(share * present + 1e-9)):  # 0.29 of 100 is 29
                if count >= present:
                    raise _too_many(column, side, present, count)
                ranks[side] = count if side == "bottom" else present - count - 1
        if ranks:
            found = _as_rank(data.order_statistics(name, list(ranks.values())), column).to_list()
            limits |= dict(zip(ranks, found, strict=True))
        return {side: limits[side] for side in ("bottom", "top") if side in limits}

    def _weighted_limit(self, side: str, values: Domain, column: Column, present: int) -> Any:
        """The first value from the end inwards up to which records weigh more than was asked for:
        equal values go together."""
        step = 1 if side == "bottom" else -1
        inwards = np.cumsum(values.counts[::step])
        asked = getattr(self, f"{side}_count")
        wanted = asked or getattr(self, f"{side}_share") * float(inwards[-1])
        place = int(np.searchsorted(inwards, wanted * (1 + 1e-12), side="right"))
        if place == inwards.size:
            raise _too_many(column, side, present, present)
        return _as_rank(values.values[::step][place : place + 1], column)[0]


def _too_many(column: Column, side: str, present: int, count: int) -> MethodError:
    return MethodError(
        f"column {column.name!r} has {present:,} values, not more than {count:,}",
        remedy=f"{side}_count = {max(1, present // 20)}",
    )


def _present(part: Table, numbers: np.ndarray) -> int:
    """Cells of the part's column that have a value."""
    return int(part.frame.to_series(0).count())


def _as_rank(series: pl.Series, column: Column) -> pl.Series:
    """The column in a form that thresholds are compared with."""
    if column.kind == Kind.ORDINAL:
        return series.to_physical()
    # A threshold may lie beyond a narrow type.
    return series.cast(pl.Int64) if _narrow(series) else series


def _narrow(series: pl.Series) -> bool:
    return series.dtype.is_integer() and series.dtype != pl.UInt64


def _is_beyond(series: pl.Series, column: Column, side: str, limit: Any) -> pl.Series:
    rank = _as_rank(series, column)
    found: pl.Series = rank < limit if side == "bottom" else rank > limit
    return found.fill_null(False)


def _beyond(
    name: str, weight: str, limits: dict[str, Any], means: bool, part: Table, numbers: np.ndarray
) -> dict[str, Beyond]:
    """What lies beyond each end in a part."""
    made = {}
    for side, limit in limits.items():
        beyond = _is_beyond(part[name], part.schema[name], side, limit)
        count = int(beyond.sum())
        if not means:
            made[side] = Beyond(count, limbs_of([np.empty(0), np.empty(0)]), 0.0)
            continue
        values = part[name].filter(beyond).cast(pl.Float64).to_numpy()
        weights = np.ones(count)
        if weight:
            weights = part[weight].filter(beyond).cast(pl.Float64).to_numpy()
        sums = limbs_of([values * weights, weights])
        made[side] = Beyond(count, sums, float(weights.max(initial=0.0)))
    return made


def _coded(series: pl.Series, column: Column, made: Coded) -> pl.Series:
    """The column with what lies beyond its ends replaced."""
    coded = series if made.bound is None else _as_text(series)
    for end in made.ends:
        other = end.other
        if other is None:
            continue
        if other.dtype != coded.dtype:
            wider = pl.Float64 if other.dtype.is_float() else pl.Int64
            coded, other = coded.cast(wider), other.cast(wider)
        coded = coded.zip_with(~_is_beyond(series, column, end.side, end.limit), other)
    return coded


def _threshold(series: pl.Series, column: Column, limit: Any) -> pl.Series:
    """The threshold as the column holds it."""
    if column.kind == Kind.ORDINAL:
        return pl.Series([column.categories[int(limit)]], dtype=series.dtype)
    made = pl.Series([limit])
    # A threshold that the column's type cannot hold, such as 10.5 among whole numbers.
    if column.kind == Kind.INTEGER and series.dtype.is_integer():
        return made if made.dtype.is_float() else made.cast(pl.Int64)
    return made.cast(series.dtype)


def _as_text(series: pl.Series) -> pl.Series:
    """The values as labels are written."""
    found = encode(series)
    texts = pl.Series([text(value) for value in found.domain.to_list()], dtype=pl.String)
    return decode(found.codes, texts, series.name)


def _as_value(given: Bound, column: Column, side: str, *, moment: bool) -> object:
    """A plan's threshold as the column holds it."""
    try:
        if column.kind == Kind.ORDINAL:
            return column.categories.index(str(given))
        if column.kind == Kind.DATE:
            day = given if isinstance(given, dt.date) else dt.date.fromisoformat(str(given))
            return day if not moment else dt.datetime.combine(day, dt.time())
        number = float(given)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise MethodError(
            f"{side} = {given!r} is not a value of column {column.name!r}, which is {column.kind}",
            remedy="name the columns that the threshold is meant for in `columns`",
        ) from None
    return int(number) if column.kind == Kind.INTEGER and number.is_integer() else number
