"""Multivariate rounding: whole records go to the nearest of a set of points."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import standardize
from ...data.table import Table
from ...errors import MethodError
from ...kernels.masking.rounding import group_means, lloyd, nearest_vector
from ...kernels.masking.transform_coding import first_component
from ...kernels.statistics.covariance import moments
from ...protocols import Outcome
from ..numeric.base import Masked, NumericMethod

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
    spread: np.ndarray = np.where(deviation > 0, deviation, 1.0) * scale
    return spread
