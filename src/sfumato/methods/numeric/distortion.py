"""Data distortion by probability distribution: a fitted series in place of the values."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import decode, encode
from ...data.schema import NUMERIC, Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.masking.rounding import multiples
from ...kernels.statistics.densities import FAMILIES, draw, fit, published
from ...kernels.statistics.scores import in_order_of
from ...protocols import Method, Outcome
from .base import finite, refuse, require_size, with_numbers

FEWEST = 10
"""Values that a distribution is fitted to: of fewer, its parameters tell too much."""

Family = Literal[
    "poisson",
    "exponential",
    "normal",
    "gamma",
    "weibull",
    "log-normal",
    "uniform",
    "triangular",
    "chi-square",
]


class DistributionDistortion(Method):
    """Replace each column by draws from the distribution that fits it best.

    Of nine families the one with the least Kolmogorov-Smirnov distance is taken. Its parameters are
    estimated from the same data, so that the distance ranks the families and tests nothing: a
    column that none of them fits is replaced by the nearest all the same, and the facts name the
    family, its parameters and the distance (see `worst`), in three significant digits: exact ones
    give away the last values to those who know the others, and for the same reason a column needs
    10 numbers. A series of as many numbers is drawn and, with `map`, put in the order of the
    original values, ties in random order: ranks are kept, and with them most of the relations
    between columns. Unmapped series keep the columns' distributions only. For a column of whole
    numbers the drawn ones go up or down to the next at random, so that their mean stays.

    Categories are drawn with their observed frequencies. Mapped, ordered categories are put in the
    order of the original ones; unordered ones stay where they are as far as the drawn numbers
    allow, and the surplus records, chosen at random, take what is left over. Missing and
    suppressed cells stay so. The mean and the frequencies are kept in expectation where the
    family's mean is the sample's (all but the Weibull and the log-normal).
    """

    name: ClassVar[str] = "distribution-distortion"
    aliases: ClassVar[tuple[str, ...]] = ("data-distortion",)
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = (
        Kind.CONTINUOUS,
        Kind.INTEGER,
        Kind.ORDINAL,
        Kind.NOMINAL,
        Kind.BOOLEAN,
    )
    perturbs: ClassVar[bool | None] = True
    paper: ClassVar[str] = (
        "Liew, Choi & Liew 1985, A data distortion by probability distribution, ACM Transactions "
        "on Database Systems 10(3)"
    )

    families: tuple[Family, ...] = Field(
        FAMILIES,  # type: ignore[arg-type]
        min_length=1,
        description="the families to choose from; all nine unless given",
    )
    map: bool = Field(True, description="put the drawn values in the order of the original ones")
    worst: float = Field(
        1.0, gt=0, le=1, description="largest Kolmogorov-Smirnov distance to accept"
    )
    whole: bool = Field(True, description="round integer columns to whole numbers")

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        require_size(table, FEWEST, self.name)
        fitted: dict[str, Any] = {}
        warnings = [f"{name} was left alone: no distribution is fitted to it" for name in left]
        numbers = [
            name
            for name in chosen
            if table.schema[name].kind in NUMERIC and not table.schema[name].generalized
        ]
        values, series = [], []
        for name in chosen:
            if name in numbers:
                made, said = self._number(table[name], table.schema[name], rng)
                values.append(made)
                fitted[name] = said
            else:
                series.append(self._category(table, name, rng))
                fitted[name] = {"family": "observed frequencies"}
            if fitted[name]["family"] == "none":
                warnings.append(f"{name} was left as it is: it has fewer than two different values")
        if values:
            table = with_numbers(table, numbers, np.column_stack(values), whole=self.whole)
        facts = {"columns": chosen, "fitted": fitted, "mapped": self.map}
        return Outcome(table.with_columns(series), facts=facts, warnings=tuple(warnings))

    def _number(
        self, series: pl.Series, column: Column, rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, Any]]:
        x = finite(series, column)
        present = x[~np.isnan(x)]
        if 0 < present.size < FEWEST:
            raise MethodError(
                f"column {column.name!r} has {present.size} values: a distribution fitted to fewer "
                f"than {FEWEST} would tell them",
                remedy="leave it out of `columns`, or drop it",
            )
        if not present.size or present.min() == present.max():
            return x, {"family": "none"}
        found = fit(present, self.families)
        if not found:
            raise MethodError(
                f"none of {', '.join(self.families)} can hold the values of column {column.name!r}",
                remedy="name more families, or rescale a column of very large or small values",
            )
        best = found[0]
        if best.distance > self.worst:
            raise MethodError(
                f"column {column.name!r} is {best.distance:.3f} from the nearest family "
                f"({best.family}), more than {self.worst:g}",
                remedy="univariate-synthesis fits pieces where no family does; or raise `worst`",
            )
        drawn = draw(best, present.size, rng)
        refuse(self, ~np.isfinite(drawn)[:, None], [column.name])
        if self.whole and column.kind == Kind.INTEGER:
            drawn = multiples(drawn, 1.0, rng.random(drawn.size))
        if self.map:
            made = in_order_of(drawn, x, rng)
        else:
            made = x.copy()
            made[~np.isnan(x)] = drawn
        return made, published(best)

    def _category(self, table: Table, name: str, rng: np.random.Generator) -> pl.Series:
        column = table.schema[name]
        found = encode(table[name])
        codes = found.codes.astype(np.int64)
        # Among labels a suppressed cell is "*", which is no category.
        rows = np.flatnonzero((codes > 0) & ~table.suppressed(name))
        counts = np.bincount(codes[rows], minlength=len(found.domain) + 1)
        if rows.size:
            drawn = rng.multinomial(rows.size, counts / rows.size)
            if not self.map:
                made = rng.permutation(np.repeat(np.arange(drawn.size), drawn))
            elif column.kind != Kind.ORDINAL or column.generalized:
                made = keep_most(codes[rows], counts, drawn, rng)
            else:
                made = np.empty(rows.size, np.int64)
                order = np.lexsort((rng.random(rows.size), codes[rows]))
                made[order] = np.repeat(np.arange(drawn.size), drawn)
            codes[rows] = made
        return decode(codes, found.domain, name)


def keep_most(
    codes: np.ndarray, counts: np.ndarray, drawn: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Codes with the drawn counts that differ from the given ones in as few places as can be.

    >>> rng = np.random.default_rng(0)
    >>> keep_most(np.array([0, 0, 1]), np.array([2, 1]), np.array([2, 1]), rng).tolist()
    [0, 0, 1]
    """
    order = np.lexsort((rng.random(codes.size), codes))
    start = np.cumsum(counts) - counts
    place = np.arange(codes.size) - start[codes[order]]
    surplus = order[place >= drawn[codes[order]]]
    made = codes.copy()
    lacking = np.maximum(drawn - counts, 0)
    made[surplus] = rng.permutation(np.repeat(np.arange(drawn.size), lacking))
    return made
