"""Synthetic columns, each from its own density."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...candidate import Candidate
from ...data.codec import decode, encode, from_floats
from ...data.schema import ORDERED, Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.densities import FAMILIES, draw, fit, published, short
from ...kernels.synthesis.pieces import draw_pieces, fit_pieces
from ...protocols import Outcome
from ..numeric.base import SINGLE_VALUES, finite, refuse
from ..numeric.distortion import FEWEST, Family
from .drawn import Synthesizer, whole_table


class UnivariateSynthesis(Synthesizer):
    """Draw every column on its own: a family that fits, else pieces of uniform density.

    Of nine families the one with the least Kolmogorov-Smirnov distance is used if that is within
    `worst`; otherwise the density is constant on about `pieces` intervals of equal weight, a value
    that many records share being drawn as itself. The parameters of a family are estimated from the
    same data, so that `worst` is a distance, not a test. Pieces reach from the least to the largest
    value (which many draws nearly tell: top-code first); a family may go beyond, to negative ages
    for instance. Categories are drawn with their observed frequencies, and a value is missing as
    often as in the original.

    No piece holds fewer than `fewest` records, and a column of numbers with fewer is refused. To a
    column of fewer than 10 numbers no family is fitted. Parameters are published in three
    significant digits, since exact ones give away the last values to those who know the others.

    The columns are drawn independently: every relation between them is lost. Rows stem from nobody.
    """

    name: ClassVar[str] = "univariate-synthesis"
    kinds: ClassVar[tuple[str, ...]] = SINGLE_VALUES
    paper: ClassVar[str] = (
        "Liew, Choi & Liew 1985, A data distortion by probability distribution, ACM Transactions "
        "on Database Systems 10(3); Lasko 2007, section 2.3.5 (univariate pdfs)"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "synthesis",
        when="columns are looked at one by one, or programs are tried on data of the same form",
        unless="anything that two columns tell together matters",
        scopes=("all",),
        linked=False,
        million=(1.4, 0.55),
    )

    families: tuple[Family, ...] = Field(
        FAMILIES,  # type: ignore[arg-type]
        description="the families to choose from; none: pieces only",
    )
    worst: float = Field(
        0.03, ge=0, le=1, description="largest Kolmogorov-Smirnov distance of a family to use it"
    )
    pieces: int = Field(20, ge=1, description="intervals where no family fits")
    fewest: int = Field(5, ge=1, description="records that an interval must have")

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        rows = self.rows_of(table)
        series, fitted = [], {}
        for name in chosen:
            column = table.schema[name]
            ordered = column.kind in ORDERED and column.kind != Kind.ORDINAL
            if ordered and not column.generalized:
                drawn, fitted[name] = self._number(table[name], column, rows, rng)
            else:
                drawn = _category(table[name], rows, rng)
                fitted[name] = {"family": "observed frequencies"}
            series.append(drawn)
        columns = [table.schema[name] for name in chosen]
        made, warnings = whole_table(table, rows, series, columns)
        facts = {"columns": chosen, "rows": rows, "fitted": fitted}
        return Outcome(made, facts=facts, warnings=tuple(warnings), linked=False)

    def _number(
        self, like: pl.Series, column: Column, rows: int, rng: np.random.Generator
    ) -> tuple[pl.Series, dict[str, Any]]:
        x = finite(like, column)
        present = x[~np.isnan(x)]
        gone = rng.random(rows) * x.size < x.size - present.size
        if not present.size:
            return from_floats(np.full(rows, np.nan), column, like, whole=True), {"family": "none"}
        if present.size < self.fewest:
            raise MethodError(
                f"column {column.name!r} has {present.size} values, fewer than {self.fewest}: what "
                "is drawn would tell them",
                remedy="leave it out of `columns`, or lower `fewest`",
            )
        whole = like.dtype.is_integer() or like.dtype == pl.Date
        found = fit(present, self.families) if present.size >= FEWEST else []
        said: dict[str, Any]
        if found and found[0].distance <= self.worst:
            best = found[0]
            values = draw(best, rows, rng)
            said = published(best)
        else:
            pieces = fit_pieces(present, self.pieces, self.fewest, whole=whole)
            values = draw_pieces(pieces, rows, rng, whole=whole)
            said = {"family": "pieces", "pieces": int(pieces.share.size)}
            if found:
                said["nearest family"] = {found[0].family: short(found[0].distance)}
        refuse(self, ~np.isfinite(values)[:, None], [column.name])
        values[gone] = np.nan
        return from_floats(values, column, like, whole=True), said


def _category(series: pl.Series, rows: int, rng: np.random.Generator) -> pl.Series:
    """Categories, missing among them, with their observed frequencies."""
    found = encode(series)
    counts = np.bincount(found.codes, minlength=len(found.domain) + 1)
    codes = rng.choice(counts.size, rows, p=counts / counts.sum())
    return decode(codes, found.domain, series.name)
