"""Rounding: values go to the point in whose set of attraction they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from ...data.codec import floats
from ...data.schema import Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.masking.rounding import multiples, nice_base, to_points
from ...protocols import Outcome
from ..numeric.base import Masked, NumericMethod

_SMALLEST = float(np.finfo(np.float64).tiny)

Base = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Point = Annotated[float, Field(allow_inf_nan=False)]


class Rounding(NumericMethod):
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
    least: ClassVar[int] = 1

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

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        bases = self.base if isinstance(self.base, Mapping) else {}
        for name in (*bases, *self.points):
            if table.schema[name].name not in chosen:
                raise MethodError(
                    f"rounding has points for {name!r}, which it does not act on",
                    remedy=f"it acts on {', '.join(chosen)}; name others in `columns`",
                )
        found: dict[str, float] = {}
        warnings = [f"{name} was left alone: it is not a number" for name in left]
        for name in chosen:
            if name in self.points:
                continue
            base = bases.get(name) if not isinstance(self.base, float) else self.base
            found[name] = base or self._automatic(table, name, warnings)
        bound = self.model_copy(update={"columns": tuple(chosen), "base": found})
        outcome = super(Rounding, bound).mask(table, rng)
        return replace(outcome, warnings=(*outcome.warnings, *warnings))

    def masked(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray | Masked:
        assert isinstance(self.base, dict)
        made, warnings = x.copy(), []
        for j, name in enumerate(self.columns):
            uniforms = self._uniforms(x.shape[0], rng)
            if name not in self.points:
                if self.base[name] > 0:
                    made[:, j] = multiples(x[:, j], self.base[name], uniforms)
                continue
            points = np.unique(self.points[name])
            made[:, j] = to_points(x[:, j], points, uniforms)
            outside = int(((x[:, j] < points[0]) | (x[:, j] > points[-1])).sum())
            if outside:
                warnings.append(
                    f"{outside:,} values of {name} lie beyond its points and became the "
                    "first or the last of them"
                )
        bases = {name: base for name, base in self.base.items() if base > 0}
        return Masked(made, {"bases": bases, "points": dict(self.points)}, tuple(warnings))

    def _uniforms(self, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Nothing is drawn."""
        return None

    def _automatic(self, table: Table, name: str, warnings: list[str]) -> float:
        """A base by the column's spread, or by its size where it does not vary; 0 for none."""
        column = table.schema[name]
        x = floats(table[name], column)
        x = x[~np.isnan(x)]
        largest = float(np.abs(x).max(initial=0.0))
        if not np.isfinite(largest):
            return 0.0  # the reader of the numbers will say which row it is
        if not largest:
            warnings.append(f"{name} was left alone: it holds {'zeros' if x.size else 'nothing'}")
            return 0.0
        spread = float(np.std(x / largest))
        size = self.share * (spread or 1.0) * largest
        if not _SMALLEST / 1e-8 < size < 1e300:
            raise MethodError(
                f"column {name!r} is too {'large' if size > 1 else 'small'} for an automatic base",
                remedy="rescale the column, or give its base",
            )
        if column.kind != Kind.INTEGER:
            return nice_base(size)
        base = nice_base(max(size, 1.0))
        if base == 1.0:
            warnings.append(f"{name} was left as it is: its whole numbers have the base 1")
        return base


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

    def _uniforms(self, n: int, rng: np.random.Generator) -> np.ndarray | None:
        return rng.random(n)
