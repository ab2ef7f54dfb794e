"""Rounding: values, or whole records, go to the point in whose set of attraction they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from ...data.codec import floats, from_floats, standardize
from ...data.encoding import value_bits
from ...data.schema import NUMERIC, Column, Kind
from ...data.table import Table
from ...engines.exact import exact_sums
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.masking.rounding import (
    group_means,
    lloyd,
    multiples,
    nearest_vector,
    nice_base,
    to_points,
)
from ...kernels.masking.transform_coding import first_component
from ...kernels.statistics.covariance import moments
from ...protocols import Outcome
from ...rng import Key
from ..numeric.base import Masked, NumericMethod, finite, refuse, widened

_SMALLEST = float(np.finfo(np.float64).tiny)

Base = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Point = Annotated[float, Field(allow_inf_nan=False)]


class Known(NamedTuple):
    """The columns to round, the base of those that have no points (0: left alone), and what must be
    said."""

    columns: tuple[str, ...]
    bases: dict[str, float]
    warnings: tuple[str, ...]


class Rounding(Spread):
    """Round numbers to multiples of a base, or to given points.

    The set of attraction of a point p is [p - b/2, p + b/2), so that a value half-way goes up.
    Given points attract up to half-way to their neighbours, and all that lies beyond the first and
    the last: `points = [b, 2b, ..., rb]` are those of the textbook, where small values become b and
    not 0. A column with neither has an automatic base: the largest 1, 2 or 5 times a power of ten
    that is at most `share` of its standard deviation, so that the base gives no exact statistic
    away; whole numbers have a whole base.
    """

    name: ClassVar[str] = "rounding"
    paper: ClassVar[str] = "Willenborg & de Waal 2001, Elements of Statistical Disclosure Control"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = NUMERIC

    base: Base | dict[str, Base] | None = Field(
        None, description="round to multiples of it: one for all columns, or by column"
    )
    points: dict[str, tuple[Point, ...]] = Field(
        default_factory=dict, description="points to round to, by column"
    )
    share: float = Field(
        0.25, gt=0, le=10, description="automatic base, in standard deviations of the column"
    )
    whole: bool = Field(
        False, description="round whole numbers to whole numbers whatever the points are"
    )

    @field_validator("points")
    @classmethod
    def _some(cls, points: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        for name, given in points.items():
            if not given:
                raise ValueError(f"{name} has no points")
        return points

    @model_validator(mode="after")
    def _one_way_each(self) -> Self:
        bases = self.base if isinstance(self.base, Mapping) else {}
        both = [name for name in self.points if name in bases]
        if both:
            raise ValueError(f"{both[0]} has both a base and points")
        return self

    def survey(self, data: Relation, key: Key) -> Known:
        chosen, left = self.targets(data.empty)
        bases = self.base if isinstance(self.base, Mapping) else {}
        for name in (*bases, *self.points):
            if data.schema[name].name not in chosen:
                raise MethodError(
                    f"rounding has points for {name!r}, which it does not act on",
                    remedy=f"it acts on {', '.join(chosen)}; name others in `columns`",
                )
        if not data.height:
            raise MethodError(f"{self.name} needs 1 records or more, not 0", remedy="give some")
        found: dict[str, float] = {}
        warnings = [f"{name} was left alone: it is not a number" for name in left]
        for name in chosen:
            if name in self.points:
                continue
            base = bases.get(name) if not isinstance(self.base, float) else self.base
            found[name] = base or self._automatic(data, name, warnings)
        return Known(tuple(chosen), found, tuple(warnings))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        series, columns, outside = [], [], {}
        for name in known.columns:
            column, base = part.schema[name], known.bases.get(name, 0.0)
            points = np.unique(self.points.get(name, ()))
            if not base and not points.size:
                continue
            x = finite(part[name], column)
            uniforms = None
            if self.random:
                uniforms = draws.of(name).beside(value_bits(part[name])).uniform()
            if base:
                made = multiples(x, base, uniforms)
            else:
                made = to_points(x, points, uniforms)
                outside[name] = int(((x < points[0]) | (x > points[-1])).sum())
            refuse(self, (~np.isnan(x) & ~np.isfinite(made))[:, None], [name])
            whole = self.whole or _whole_numbers(points if not base else np.array([base]))
            series.append(_numbers(made, column, part[name], whole=whole))
            columns.append(widened(column, series[-1]))
        return Part(part.with_columns(series, columns), tally=Tally(outside))

    def told(self, known: Known, tally: Tally) -> Told:
        outside = {name: tally.total.get(name, 0) for name in known.columns}
        warnings = tuple(
            f"{count:,} values of {name} lie beyond its points and became the first or the last of "
            "them"
            for name, count in outside.items()
            if count
        )
        bases = {name: base for name, base in known.bases.items() if base > 0}
        facts = {"columns": list(known.columns), "bases": bases, "points": dict(self.points)}
        return Told(facts, warnings=(*warnings, *known.warnings))

    def _automatic(self, data: Relation, name: str, warnings: list[str]) -> float:
        """A base by the column's spread, or by its size where it does not vary; 0 for none."""
        column = data.schema[name]
        extremes = data.fold([name], _extreme)
        largest, size = max(one for one, _ in extremes), sum(many for _, many in extremes)
        if not largest:
            warnings.append(f"{name} was left alone: it holds {'zeros' if size else 'nothing'}")
            return 0.0
        mean = exact_sums(data, [name], partial(_powers, largest, 0.0, 1))[0] / size
        squares = exact_sums(data, [name], partial(_powers, largest, mean, 2))[0]
        spread = float(np.sqrt(squares / size))
        width = self.share * (spread or 1.0) * largest
        if not _SMALLEST / 1e-8 < width < 1e300:
            raise MethodError(
                f"column {name!r} is too {'large' if width > 1 else 'small'} for an automatic base",
                remedy="rescale the column, or give its base",
            )
        if column.kind != Kind.INTEGER:
            return nice_base(width)
        base = nice_base(max(width, 1.0))
        if base == 1.0:
            warnings.append(f"{name} was left as it is: its whole numbers have the base 1")
        return base


def _extreme(part: Table, numbers: np.ndarray) -> tuple[float, int]:
    """The largest number of a part's only column, whatever its sign, and how many there are."""
    x = finite(part.frame.to_series(0), next(iter(part.schema)))
    x = x[~np.isnan(x)]
    return float(np.abs(x).max(initial=0.0)), int(x.size)


def _powers(scale: float, mean: float, power: int, part: Table) -> list[np.ndarray]:
    """Powers of the deviations of a part's only column."""
    x = floats(part.frame.to_series(0), next(iter(part.schema)))
    return [(x / scale - mean) ** power]


def _whole_numbers(steps: np.ndarray) -> bool:
    """Whether what is rounded to these is whole, and can be held as such."""
    return bool((steps == np.rint(steps)).all() and np.abs(steps).max() < 2**53)


def _numbers(values: np.ndarray, column: Column, like: pl.Series, *, whole: bool) -> pl.Series:
    """Rounded numbers as a column, whose type depends on what they are rounded to alone."""
    if column.kind != Kind.INTEGER:
        return from_floats(values, column, like)
    made = pl.Series(column.name, values, nan_to_null=True)
    return made.round(0).cast(pl.Int64) if whole else made


class RandomRounding(Rounding):
    """Round up or down at random, so that every value is kept in expectation.

    A value x between two points p < q becomes q with probability (x - p) / (q - p), else p: E x' =
    x, and sums and means are unbiased, with variance (x - p)(q - x) for each value. Points are as
    for `rounding`; beyond the first and the last given point nothing can be unbiased, and the
    report says how many values lie there.
    """

    name: ClassVar[str] = "random-rounding"
    aliases: ClassVar[tuple[str, ...]] = ("unbiased-rounding",)
    paper: ClassVar[str] = (
        "Nargundkar & Saveland 1972, Random rounding: a means of preventing disclosure of "
        "information about individual respondents in aggregate data"
    )
    random: ClassVar[bool] = True
    perturbs: ClassVar[bool | None] = True


_SAMPLE = 50_000
"""Records from which centres are found; all records are then rounded to them."""
_ROUNDS = 50


class MultivariateRounding(NumericMethod):
    """Round records to the nearest of a set of points, block by block.

    The points are given, or are the centres of a k-means clustering of the records (Lloyd's
    iteration from records spread evenly along the first principal component, so that nothing is
    drawn). Nearness is Euclidean between standardized columns. A record that misses values is
    rounded by those that it has.

    The centre of a lone record would be that record. Therefore a centre with fewer than `fewest`
    records is dropped and its records go to the next one; what is published is the mean of all
    records of a centre, not of those alone that it was found from; and where, because of missing
    values, fewer than `fewest` of them have a value of a column, the centre shares its mean in that
    column with the nearest one. A column with fewer than `fewest` values in all is suppressed.
    """

    name: ClassVar[str] = "multivariate-rounding"
    paper: ClassVar[str] = (
        "Willenborg & de Waal 2001, Elements of Statistical Disclosure Control; Lloyd 1982, Least "
        "squares quantization in PCM, IEEE Transactions on Information Theory 28(2)"
    )
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False

    points: tuple[tuple[Annotated[float, Field(allow_inf_nan=False)], ...], ...] = Field(
        (), description="points to round to, each with a number for every column, in order"
    )
    count: int = Field(50, ge=1, description="centres to find in each block")
    fewest: int = Field(
        3, ge=1, description="records, and values of each column, that a centre needs"
    )
    blocks: tuple[tuple[str, ...], ...] = Field(
        (), description="lists of columns, each rounded by points of its own; one unless given"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [name for block in self.blocks for name in block]
        if self.blocks and self.columns:
            raise ValueError("give columns or blocks, not both")
        if len(set(names)) < len(names) or not all(self.blocks):
            raise ValueError("every block needs a column, and no column can be in two blocks")
        if self.points and self.blocks:
            raise ValueError("given points belong to one block: drop blocks and name the columns")
        if len({len(point) for point in self.points}) > 1:
            raise ValueError("the points have different numbers of columns")
        return self

    def named(self) -> tuple[str, ...]:
        return tuple(name for block in self.blocks for name in block) or self.columns

    def local_only(self) -> str:
        return "finds its centres among all records: use rounding, or mdav with blocks"

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        if self.points and len(self.points[0]) != len(chosen):
            raise MethodError(
                f"the points have {len(self.points[0])} numbers and there are {len(chosen)} "
                f"columns: {', '.join(chosen)}",
                remedy="name the columns of the points in `columns`, in their order",
            )
        if self.points:
            return super().mask(table, rng)
        few = [name for name in chosen if 0 < table[name].count() < self.fewest]
        empty = [pl.Series(name, [None] * table.height, dtype=table[name].dtype) for name in few]
        marks = {n: table.suppressed(n) | table[n].is_not_null().to_numpy() for n in few}
        made = super().mask(table.with_columns(empty, suppressed=marks), rng)
        warned = [
            f"{name} was suppressed: it has fewer than {self.fewest} values to take a mean of"
            for name in few
        ]
        return replace(made, warnings=(*made.warnings, *warned))

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> Masked:
        made = np.full(x.shape, np.nan)
        published: list[dict[str, Any]] = []
        warnings: list[str] = []
        widths = [len(block) for block in self.blocks] or [x.shape[1]]
        for end, width in zip(np.cumsum(widths), widths, strict=True):
            at = slice(int(end) - width, int(end))
            part = x[:, at]
            joined = 0
            if self.points:
                points = np.asarray(self.points)
                label = _nearest(part, points)
            else:
                centres, label = self._centres(part)
                points, joined = group_means(part, label, centres, self.fewest)
                if len(points) == 1:
                    warnings.append("a block has a single centre: its columns became constant")
            made[:, at] = np.where(np.isnan(part), np.nan, points[label])
            records = np.bincount(label, minlength=len(points))
            said = {"points": len(points), "fewest records": int(records.min())}
            published.append(said | ({"means shared in a column": joined} if joined else {}))
        return Masked(made, {"blocks": published}, tuple(warnings))

    def _centres(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres with enough records, in standard deviations, and the one of each record."""
        z = standardize(x)
        score = np.where(np.isnan(z), 0.0, z) @ first_component(moments(z)[1])
        order = np.argsort(score, kind="stable")
        some = order[:: max(1, -(-order.size // _SAMPLE))]
        # Evenly spread ranks: the middles of `count` slices of the same size.
        start = np.unique(((np.arange(self.count) + 0.5) * some.size / self.count).astype(np.int64))
        first = np.where(np.isnan(z[some[start]]), 0.0, z[some[start]])
        centres = lloyd(z[some], np.unique(first, axis=0), _ROUNDS)
        while True:
            label = nearest_vector(z, centres)
            counts = np.bincount(label, minlength=len(centres))
            if len(centres) == 1 or counts.min() >= self.fewest:
                break
            few = counts < self.fewest
            centres = centres[~few] if not few.all() else centres[[int(counts.argmax())]]
        return centres, label


def _nearest(x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The nearest given point of each record, in standard deviations of the records."""
    spread = _spread(x)
    return nearest_vector(x / spread, points / spread)


def _spread(x: np.ndarray) -> np.ndarray:
    largest = np.where(np.isnan(x), 0.0, np.abs(x)).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    _, covariance = moments(x / scale)
    deviation = np.sqrt(np.diagonal(covariance))
    return np.where(deviation > 0, deviation, 1.0) * scale
