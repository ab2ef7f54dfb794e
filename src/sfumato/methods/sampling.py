"""Sampling: publish some of the records, so that nobody knows who is among them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ..data.schema import NUMERIC, Column, Kind, Role
from ..data.table import Table
from ..engines.lowest import lowest
from ..engines.relation import Part, Relation, Tally, Whole
from ..engines.spread import Spread, Told
from ..errors import MethodError
from ..kernels.draws import Draws
from ..kernels.masking.inclusion import systematic
from ..rng import Key
from .design import Design, Seen, Sizes, Strata, able, ranked, scales, seen, sized


class Sampling(Spread):
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

    def local_only(self) -> str:
        """Why it cannot run where the data are; empty where it can."""
        if self.by and self.way == "systematic":
            return (
                "systematic sampling walks through all records in one order; "
                'way = "pareto" or "poisson" draws each where it is'
            )
        return ""

    @property
    def keyed(self) -> bool:
        return True

    def survey(self, data: Relation, key: Key) -> Design:
        weights = self._weight_columns(data.empty)
        warnings: list[str] = []
        for name in self.strata:
            data.schema[name]  # complains by name where there is none
        strata = Strata.by(data, self.strata)
        counts = self._counts(strata.sizes, strata.labels, warnings)
        sizes = self._sizes(data, warnings) if self.by else None
        found = Design(strata, counts, sizes, tuple(weights), data.height, tuple(warnings))
        if self.by:
            self._check_able(data, found)
            of_each = partial(sized, found)
            found = replace(found, scales=scales(data, found.columns, of_each, counts))
        if self.by and self.way == "systematic":
            return replace(found, chosen=self._systematic(data, found, key))
        if self.by and self.way == "poisson":
            return found
        cuts = lowest(data, found.columns, partial(ranked, found, key), counts)
        return replace(found, cuts=cuts)

    def mask_part(self, part: Table, known: Design, draws: Draws) -> Part:
        stratum = known.strata.of(part)
        pi = known.chances(part, stratum)
        if known.chosen is not None:
            taken = np.isin(draws.numbers, known.chosen)
        elif known.cuts is not None:
            taken = known.cuts.holds(stratum, known.ranks(pi, draws), draws.numbers)
        else:
            taken = draws.uniform() < pi
        rows = np.flatnonzero(taken)
        drawn = part.take(rows)
        if known.weights or self.weight:
            drawn = _weighted(drawn, list(known.weights), self.weight, 1.0 / pi[rows])
        return Part(drawn, rows, Tally({"drawn": int(rows.size)}))

    def told(self, known: Design, tally: Tally) -> Told:
        facts: dict[str, Any] = {"records": known.records, "drawn": tally.total["drawn"]}
        if self.strata:
            facts["strata"] = len(known.strata.labels)
        if known.weights or self.weight:
            facts["weights"] = [*known.weights, *([self.weight] if self.weight else [])]
        return Told(facts, warnings=known.warnings)

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

    def _sizes(self, data: Relation, warnings: list[str]) -> Sizes:
        column = data.schema[self.by]
        if column.kind not in NUMERIC or column.generalized:
            raise MethodError(
                f"by = {self.by!r} is {column.kind}, and a size is a number",
                remedy="name a numeric column",
            )
        parts: list[Seen] = data.fold([self.by], partial(seen, self.by))
        bad = [part.bad for part in parts if part.bad >= 0]
        if bad:
            where = f"in row {bad[0] + 1}" if len(parts) == 1 else "in some rows"
            raise MethodError(
                f"column {self.by!r} {where} is missing, infinite or negative, "
                "and gives the record no chance",
                remedy="use a size that every record has",
            )
        if none := sum(part.zeros for part in parts):
            warnings.append(
                f"{none:,} records have {self.by!r} zero and no chance to be drawn: weighted "
                "totals leave them out"
            )
        weighted = self.weight or data.schema.of_role(Role.WEIGHT)
        if weighted and column.role in (Role.CONFIDENTIAL, Role.TARGET):
            warnings.append(f"the weights tell the values of {self.by!r}, up to a factor")
        largest = max((part.largest for part in parts), default=0.0)
        return Sizes(self.by, max(largest, float(np.finfo(np.float64).tiny)))

    def _check_able(self, data: Relation, known: Design) -> None:
        many = np.sum(data.fold(known.columns, partial(able, known)), axis=0)
        if (many < known.counts).any():
            h = int(np.flatnonzero(many < known.counts)[0])
            where = f" of stratum {h + 1}" if self.strata else ""
            raise MethodError(
                f"{known.counts[h]:,} records are to be drawn, and only {many[h]:,}{where} have a "
                f"{self.by!r} above zero",
                remedy="draw fewer, or without `by`",
            )

    def _systematic(self, data: Relation, known: Design, key: Key) -> np.ndarray:
        """The numbers of the records that are drawn."""
        if not isinstance(data, Whole):
            raise MethodError(self.local_only(), remedy='way = "pareto"')
        stratum = known.strata.of(data.table)
        pi = known.chances(data.table, stratum)
        u = Draws(key, data.numbers).bits()
        start = key.of("start").stream().random(known.counts.size)
        return np.asarray(data.numbers[systematic(pi, stratum, known.counts, u, start)])


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
