"""Synthetic records with exactly the original means and covariances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.points.decoding import apportioned
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.scores import from_uniform, in_order_of
from ...kernels.synthesis.frames import Stratum, factors, frame, spread_of, strata_of, whitened
from ...protocols import Outcome
from ..numeric.base import number_columns, refuse
from .drawn import Synthesizer, whole_table

_FREE = 3
"""Of fewer records the same mean and covariance leave only the original values, in any order."""


class MomentPreserving(Synthesizer):
    """Draw records with exactly the means and the covariance matrix of the original.

    Normal numbers are drawn, centred, made orthonormal (whitened) and multiplied by a root of the
    covariance matrix (coloured): generalized moments up to degree two are exact in every draw. They
    are all that is kept; the columns' distributions become normal, unless `marginals` asks for
    rounds in which each column takes the original's distribution by rank and the whole is then
    coloured again. The last step is the colouring, so that the moments stay exact and the
    distributions are kept nearly.

    Sums that hold in the original (total = part + part) hold in the draw. With no more records than
    columns the drawn records lie in the plane of the originals; a warning says so. Records that
    miss the same values are a stratum with its own exact moments, in proportion to its size, which
    keeps the moments of the whole where as many rows are drawn as there are records; strata of
    fewer than three records are left out, and counted.
    """

    name: ClassVar[str] = "moment-preserving"
    paper: ClassVar[str] = (
        "Mateo-Sanz, Martinez-Balleste & Domingo-Ferrer 2004, Fast generation of accurate "
        "synthetic microdata; Reiss, Post & Dalenius 1982, Non-reversible privacy transformations"
    )

    marginals: int = Field(
        0,
        ge=0,
        le=50,
        description="rounds in which columns take the original's distributions; 0: none",
    )
    whole: bool = Field(
        False, description="round integer columns to whole numbers: moments are then nearly exact"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        rows = self.rows_of(table)
        x = Matrix(table, chosen).numeric
        with np.errstate(over="ignore", invalid="ignore"):
            middle = np.where(np.isnan(x), 0.0, x).sum(axis=0)
            refuse(self, ~np.isfinite(middle), chosen)
            found = self._drawn(x, rows, rng)
        refuse(self, ~np.isfinite(found.y) & found.filled, chosen)
        drawn = number_columns(table, chosen, found.y, whole=self.whole)
        out, warnings = whole_table(table, rows, *drawn)
        facts = {"columns": chosen, "records": rows, **found.facts}
        return Outcome(out, facts=facts, warnings=(*found.warnings, *warnings), linked=False)

    def _drawn(self, x: np.ndarray, rows: int, rng: np.random.Generator) -> _Drawn:
        strata = strata_of(np.isnan(x))
        kept = [s for s in strata if s.rows.size >= _FREE or not s.present.size]
        found = _Drawn(np.full((rows, x.shape[1]), np.nan), np.zeros((rows, x.shape[1]), bool))
        if not any(s.present.size for s in kept):
            raise MethodError(
                f"{self.name} found no three records that have the same values",
                remedy="name fewer columns, or those without missing values",
            )
        sizes = apportioned(np.array([s.rows.size for s in kept]), rows)
        # In any order, so that a row's place does not tell what it misses.
        order = rng.permutation(rows)
        start = 0
        inexact = flat = 0
        for stratum, size in zip(kept, sizes.tolist(), strict=True):
            mine, start = order[start : start + size], start + size
            if not stratum.present.size or not size:
                continue
            part = x[np.ix_(stratum.rows, stratum.present)]
            made, exact = self._stratum(part, size, rng)
            found.y[np.ix_(mine, stratum.present)] = made
            found.filled[np.ix_(mine, stratum.present)] = True
            inexact += not exact
            flat += stratum.rows.size <= stratum.present.size
        self._tell(found, strata, kept, inexact, flat)
        return found

    def _tell(
        self, found: _Drawn, strata: list[Stratum], kept: list[Stratum], inexact: int, flat: int
    ) -> None:
        if len(strata) > 1:
            found.facts["strata by what is missing"] = len(kept)
            lost = sum(s.rows.size for s in strata) - sum(s.rows.size for s in kept)
            if lost:
                found.facts["records in strata too small to draw"] = lost
                found.warnings.append(
                    f"{lost:,} records miss what no two others miss: no row stands for them"
                )
        if inexact:
            found.warnings.append(
                f"{inexact:,} strata have fewer rows to draw than their covariance has dimensions: "
                "their moments are kept on average only; draw more rows"
            )
        if flat:
            found.warnings.append(
                f"{flat:,} of {len(kept):,} strata have no more records than columns: their drawn "
                "records lie in the plane of the original ones and may be close to them"
            )

    def _stratum(
        self, x: np.ndarray, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, bool]:
        """Rows with the moments of x, and whether they are exact."""
        mean, scale = spread_of(x)
        root = factors(x - mean, scale)
        loadings = root.loadings * scale / np.sqrt(len(x) - 1)
        if size - 1 < root.rank:
            return mean + rng.standard_normal((size, root.rank)) @ loadings, False
        ones = np.full((size, 1), size**-0.5)
        scores = frame(size, root.rank, ones, rng) * np.sqrt(size - 1)
        if self.marginals and root.rank:
            # From standardized columns back to scores: the axes are orthonormal.
            back = (root.axes.T / root.values) * np.sqrt(len(x) - 1) / scale[:, None]
            targets = x if size == len(x) else _quantiles(x, size)
            for _ in range(self.marginals):
                y = scores @ loadings
                placed = np.column_stack(
                    [in_order_of(targets[:, j], y[:, j]) for j in range(x.shape[1])]
                )
                moved = (placed - placed.mean(axis=0)) @ back
                again = whitened(moved - moved.mean(axis=0))
                if again is None:
                    break
                scores = again * np.sqrt(size - 1)
        return mean + scores @ loadings, True


@dataclass
class _Drawn:
    """The rows, and what is to be told."""

    y: np.ndarray
    filled: np.ndarray
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def _quantiles(x: np.ndarray, size: int) -> np.ndarray:
    """The distribution of each column at as many points."""
    u = (np.arange(size) + 0.5) / size
    return np.column_stack([from_uniform(u, column) for column in x.T])
