"""Sampling: publish some of the records, so that nobody knows who is among them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ..data.classes import class_codes
from ..data.codec import floats
from ..data.schema import NUMERIC, Column, Kind, Role
from ..data.table import Table
from ..errors import MethodError
from ..kernels.masking.inclusion import chances, pareto, poisson, simple, systematic
from ..protocols import Method, Outcome


class Sampling(Method):
    """Publish a random sample of the records, with design weights.

    Simple random sampling, or with `by` a sample in which a record's chance is proportional to a
    size column; both in strata where `strata` names columns. Always without replacement. Design
    weights 1/chance go into a new column where `weight` names one, and multiply the columns of
    role weight where the table has any, so that weighted totals estimate the original's without
    bias (Horvitz & Thompson 1952).
    """

    name: ClassVar[str] = "sampling"
    perturbs: ClassVar[bool | None] = False
    roles: ClassVar[tuple[str, ...]] = (Role.WEIGHT,)
    paper: ClassVar[str] = (
        "Horvitz & Thompson 1952; Sarndal, Swensson & Wretman 1992, Model Assisted Survey "
        "Sampling; Rosen 1997 (Pareto)"
    )

    share: float = Field(
        0.5, gt=0, le=1, description="share of the records (of each stratum) to draw"
    )
    count: int = Field(0, ge=0, description="records to draw in all; replaces share if given")
    strata: tuple[str, ...] = Field(
        (), description="columns whose combinations of values are the strata"
    )
    allocation: Literal["proportional", "equal", "given"] = Field(
        "proportional",
        description="records of each stratum: by its size, the same, or as `counts` says",
    )
    counts: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description='records of each stratum for allocation = "given": {"f & 02139" = 20}',
    )
    by: str = Field(
        "", description="numeric column; a record's chance is proportional to its value"
    )
    way: Literal["systematic", "pareto", "poisson"] = Field(
        "systematic",
        description="how to draw with `by`: systematic in random order (exact chances, fixed "
        "size), Pareto (chances nearly exact), Poisson (size varies)",
    )
    weight: str = Field("", description="name of a column to add with the weights")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.columns:
            raise ValueError("sampling draws whole records: name strata, by or weight, not columns")
        if self.count and "share" in self.model_fields_set:
            raise ValueError("give share or count, not both")
        if (self.allocation == "given") != bool(self.counts):
            raise ValueError('counts and allocation = "given" belong together')
        if self.allocation == "given" and {"share", "count"} & self.model_fields_set:
            raise ValueError("counts say it all: give no share or count")
        if self.allocation != "proportional" and not self.strata:
            raise ValueError(f"allocation = {self.allocation!r} needs strata")
        if "way" in self.model_fields_set and not self.by:
            raise ValueError("way says how to draw by a size: give by")
        return self

    def touches(self, table: Table) -> set[str]:
        return {*self.targets(table)[0], *([self.weight] if self.weight else [])}

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        """The weights that change: every column of role weight."""
        return table.schema.of_role(Role.WEIGHT), []

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        weights = self._weight_columns(table)
        warnings: list[str] = []
        stratum, labels = self._strata(table)
        counts = self._counts(np.bincount(stratum, minlength=len(labels)), labels, warnings)
        rows, pi = self._draw(table, stratum, counts, rng, warnings)
        drawn = table.take(rows)
        if weights or self.weight:
            drawn = _weighted(drawn, weights, self.weight, 1.0 / pi[rows])
        facts: dict[str, Any] = {"records": table.height, "drawn": int(rows.size)}
        if self.strata:
            facts["strata"] = len(labels)
        if weights or self.weight:
            facts["weights"] = [*weights, self.weight] if self.weight else weights
        return Outcome(drawn, rows=rows, facts=facts, warnings=tuple(warnings))

    def _weight_columns(self, table: Table) -> list[str]:
        weights = self.targets(table)[0]
        for name in weights:
            if table.schema[name].kind not in NUMERIC or table.schema[name].generalized:
                raise MethodError(
                    f"the weights in column {name!r} are not numbers",
                    remedy="give the column another role",
                )
        if self.weight and (self.weight in table.names or weights):
            there = self.weight if self.weight in table.names else weights[0]
            raise MethodError(
                f"weight = {self.weight!r}, but the table has the column {there!r} already",
                remedy="name a new column, or leave weight out: weights are multiplied",
            )
        return weights

    def _strata(self, table: Table) -> tuple[np.ndarray, list[str]]:
        if not self.strata:
            return np.zeros(table.height, dtype=np.int64), [""]
        for name in self.strata:
            table.schema[name]  # complains by name where there is none
        found = class_codes(table, self.strata, quantiles=0)
        return found.codes, found.labels

    def _counts(self, sizes: np.ndarray, labels: list[str], warnings: list[str]) -> np.ndarray:
        """How many records to draw of each stratum."""
        records = int(sizes.sum())
        if self.allocation == "given":
            return self._given(sizes, labels)
        wanted = self.count or (max(1, round(self.share * records)) if records else 0)
        if wanted > records:
            raise MethodError(
                f"{wanted:,} records are to be drawn of {records:,}", remedy=f"count = {records}"
            )
        if not records:
            return np.zeros(sizes.size, dtype=np.int64)
        if wanted < sizes.size:
            raise MethodError(
                f"{wanted:,} records cannot represent {sizes.size:,} strata",
                remedy=f"count = {2 * sizes.size}, or strata by fewer columns",
            )
        if self.allocation == "proportional":
            return _proportional(sizes, wanted)
        counts = _equal(sizes, wanted)
        if (short := int((sizes < wanted // sizes.size).sum())) > 0:
            warnings.append(
                f"{short:,} strata are smaller than an equal share and are taken whole; "
                "the others make up for it"
            )
        return counts

    def _given(self, sizes: np.ndarray, labels: list[str]) -> np.ndarray:
        stray = [label for label in self.counts if label not in labels]
        absent = [label for label in labels if label not in self.counts]
        if stray or absent:
            what = f"no stratum is called {stray[0]!r}" if stray else f"no count for {absent[0]!r}"
            raise MethodError(
                f"counts: {what}",
                remedy="the strata are "
                + ", ".join(map(repr, labels[:12]))
                + (" ..." if len(labels) > 12 else ""),
            )
        counts = np.array([self.counts[label] for label in labels], dtype=np.int64)
        if (counts > sizes).any():
            h = int(np.flatnonzero(counts > sizes)[0])
            raise MethodError(
                f"{counts[h]:,} records are to be drawn of the {sizes[h]:,} in stratum "
                f"{labels[h]!r}",
                remedy=f"at most {sizes[h]}",
            )
        return counts

    def _draw(
        self,
        table: Table,
        stratum: np.ndarray,
        counts: np.ndarray,
        rng: np.random.Generator,
        warnings: list[str],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The drawn rows in order, and every record's chance."""
        u = rng.random(table.height)
        if not self.by:
            sizes = np.bincount(stratum, minlength=counts.size)
            pi = (counts / np.maximum(sizes, 1))[stratum]
            return simple(stratum, counts, u), pi
        size = self._sizes(table, warnings)
        able = np.bincount(stratum[size > 0], minlength=counts.size)
        if (able < counts).any():
            h = int(np.flatnonzero(able < counts)[0])
            where = f" of stratum {h + 1}" if self.strata else ""
            raise MethodError(
                f"{counts[h]:,} records are to be drawn, and only {able[h]:,}{where} have a "
                f"{self.by!r} above zero",
                remedy="draw fewer, or without `by`",
            )
        pi = chances(size, stratum, counts)
        if self.way == "poisson":
            return poisson(pi, u), pi
        if self.way == "pareto":
            return pareto(pi, stratum, counts, u), pi
        return systematic(pi, stratum, counts, u, rng.random(counts.size)), pi

    def _sizes(self, table: Table, warnings: list[str]) -> np.ndarray:
        column = table.schema[self.by]
        if column.kind not in NUMERIC or column.generalized:
            raise MethodError(
                f"by = {self.by!r} is {column.kind}, and a size is a number",
                remedy="name a numeric column",
            )
        size: np.ndarray = floats(table[self.by], column)
        bad = ~np.isfinite(size) | (size < 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise MethodError(
                f"column {self.by!r} in row {row + 1} is missing, infinite or negative, "
                "and gives the record no chance",
                remedy="use a size that every record has",
            )
        if none := int((size == 0).sum()):
            warnings.append(
                f"{none:,} records have {self.by!r} zero and no chance to be drawn: weighted "
                "totals leave them out"
            )
        weighted = self.weight or table.schema.of_role(Role.WEIGHT)
        if weighted and column.role in (Role.CONFIDENTIAL, Role.TARGET):
            warnings.append(f"the weights tell the values of {self.by!r}, up to a factor")
        # Divided by the largest, so that no sum of sizes overflows.
        return size / max(float(size.max(initial=0.0)), float(np.finfo(np.float64).tiny))


def _proportional(sizes: np.ndarray, wanted: int) -> np.ndarray:
    """Each stratum's share by largest remainders, and at least one record of each: a stratum
    without a chance would bias every weighted total."""
    quota = sizes * (wanted / sizes.sum())
    counts: np.ndarray = np.maximum(np.floor(quota).astype(np.int64), 1)
    while (gap := wanted - int(counts.sum())) != 0:
        able = counts < sizes if gap > 0 else counts > 1
        order = np.argsort(np.where(able, (counts - quota) * np.sign(gap), np.inf), kind="stable")
        counts[order[: min(abs(gap), int(able.sum()))]] += np.sign(gap)
    return counts


def _equal(sizes: np.ndarray, wanted: int) -> np.ndarray:
    """The same number of each stratum; what small ones lack goes to the others."""
    order = np.argsort(sizes, kind="stable")
    counts = np.zeros(sizes.size, dtype=np.int64)
    left = wanted
    for place, h in enumerate(order.tolist()):
        counts[h] = min(int(sizes[h]), left // (sizes.size - place))
        left -= int(counts[h])
    return counts


def _weighted(drawn: Table, names: list[str], new: str, factor: np.ndarray) -> Table:
    """The sample with its weights multiplied, or a new column of them."""
    series = [(drawn[name].cast(pl.Float64) * pl.Series(factor)).alias(name) for name in names]
    columns = [drawn.schema[name].with_(kind=Kind.CONTINUOUS) for name in names]
    if new:
        series.append(pl.Series(new, factor))
        columns.append(Column(new, Kind.CONTINUOUS, Role.WEIGHT))
    return drawn.with_columns(series, columns)
