"""Top and bottom coding: extreme values give people away."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import bind, decode, encode
from ...data.schema import Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...poset.values.text import text
from ...protocols import Method, Outcome
from ..counts import weights_of

Bound = int | float | dt.date | str


class TopBottomCoding(Method):
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

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        weights = weights_of(table, self.name) if self.weighted else None
        facts, series, columns = {}, [], []
        warnings: list[str] = []
        for name in chosen:
            column = table.schema[name]
            coded, fact, few = self._code(table[name], column, weights)
            warnings += few
            series.append(coded)
            facts[name] = fact
            if coded.dtype == pl.String:
                # Intervals, since a hierarchy would not know ">90".
                bound = bind(column.with_(poset=None), encode(table[name]).domain)
                columns.append(column.with_(generalized=True, bound=bound))
            else:  # the mean of whole numbers need not be whole
                wider = coded.dtype.is_float()
                columns.append(column.with_(kind=Kind.CONTINUOUS) if wider else column)
        warnings += [f"{name} was left alone: it has no order" for name in left]
        return Outcome(table.with_columns(series, columns), facts=facts, warnings=tuple(warnings))

    def _code(
        self, series: pl.Series, column: Column, weights: np.ndarray | None
    ) -> tuple[pl.Series, dict[str, object], list[str]]:
        rank = series.to_physical() if column.kind == Kind.ORDINAL else series
        if series.dtype.is_integer() and series.dtype != pl.UInt64:
            rank = series.cast(pl.Int64)  # a threshold may lie beyond a narrow type
        present = rank.drop_nulls().sort()
        weighed = None
        if weights is not None:
            here = rank.is_not_null().to_numpy()
            weighed = weights[here][rank.drop_nulls().arg_sort().to_numpy()]
        fact: dict[str, object] = {}
        few: list[str] = []
        coded, labels = series, None
        for side, sign in (("bottom", 1), ("top", -1)):
            limit = self._limit(side, present, column, weighed)
            if limit is None:
                continue
            beyond = (rank < limit if sign == 1 else rank > limit).fill_null(False)
            fact[f"{side}_coded"] = int(beyond.sum())
            if not beyond.any():
                continue
            if self.replace == "label" and column.kind != Kind.ORDINAL:
                labels = _as_text(series) if labels is None else labels
                other = pl.Series([f"{'<' if sign == 1 else '>'}{text(limit)}"])
                labels = labels.zip_with(~beyond, other)
                continue
            mean = self.replace == "mean" and column.kind in (Kind.CONTINUOUS, Kind.INTEGER)
            if mean and self._too_few(beyond, weights):
                mean = False
                few.append(
                    f"{column.name}: the mean of the few {'below' if sign == 1 else 'above'} "
                    f"{text(limit)} would tell their values: they became the threshold"
                )
            if mean:
                other = _mean(series, beyond, weights)
            else:
                other = _threshold(series, column, limit, coded)
            if other.dtype != coded.dtype:
                wider = pl.Float64 if other.dtype.is_float() else pl.Int64
                coded, other = coded.cast(wider), other.cast(wider)
            coded = coded.zip_with(~beyond, other)
        return (coded if labels is None else labels).alias(series.name), fact, few

    def _too_few(self, beyond: pl.Series, weights: np.ndarray | None) -> bool:
        """Whether the mean of these records would tell a value of one of them."""
        own = np.ones(len(beyond)) if weights is None else weights
        own = own[beyond.to_numpy()]
        # A record without weight hides nobody's value.
        few = int(np.count_nonzero(own)) < self.fewest
        return few or (self.fewest > 1 and 2 * float(own.max()) > float(own.sum()))

    def _limit(
        self, side: str, present: pl.Series, column: Column, weighed: np.ndarray | None
    ) -> object:
        given = getattr(self, side)
        if given is not None:
            moment = isinstance(present.dtype, pl.Datetime)
            return _as_value(given, column, side, moment=moment)
        share, count = getattr(self, f"{side}_share"), getattr(self, f"{side}_count")
        if weighed is None:
            count = count or int(np.floor(share * len(present) + 1e-9))  # 0.29 of 100 is 29
        else:
            # As many records from the end inwards as do not weigh more than was asked for.
            inwards = np.cumsum(weighed if side == "bottom" else weighed[::-1])
            wanted = count or share * float(inwards[-1] if inwards.size else 0.0)
            count = int(np.searchsorted(inwards, wanted * (1 + 1e-12), side="right"))
        if not count:
            return None
        if count >= len(present):
            raise MethodError(
                f"column {column.name!r} has {len(present):,} values, not more than {count:,}",
                remedy=f"{side}_count = {max(1, len(present) // 20)}",
            )
        return present[count] if side == "bottom" else present[-count - 1]


def _mean(series: pl.Series, beyond: pl.Series, weights: np.ndarray | None) -> pl.Series:
    """The mean of the values beyond a threshold."""
    values = series.filter(beyond)
    if weights is None:
        mean = float(values.mean())  # type: ignore[arg-type]
    else:
        mean = float(np.average(values.to_numpy(), weights=weights[beyond.to_numpy()]))
    return pl.Series([mean], dtype=pl.Float64)


def _threshold(series: pl.Series, column: Column, limit: object, coded: pl.Series) -> pl.Series:
    """The threshold as the column holds it."""
    if column.kind == Kind.ORDINAL:
        return pl.Series([column.categories[int(limit)]], dtype=series.dtype)  # type: ignore[call-overload]
    made = pl.Series([limit])
    # A threshold that the column's type cannot hold, such as 10.5 among whole numbers.
    if column.kind == Kind.INTEGER and coded.dtype.is_integer():
        return made if made.dtype.is_float() else made.cast(pl.Int64)
    return made.cast(coded.dtype)


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
