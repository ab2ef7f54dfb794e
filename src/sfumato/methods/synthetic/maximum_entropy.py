"""Records drawn from the least committed distribution with the moments of the original."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.covariance import moments, normal_rows
from ...kernels.statistics.rank_correlation import nearest_correlation
from ...protocols import Outcome
from ..numeric.base import number_columns, refuse
from .bounded_entropy import Wanted, draw, solve
from .drawn import Synthesizer, whole_table

_PAD = 0.01
"""The bounds lie this share of a column's range outside of it: its extremes are somebody's."""
_FEW = 500
"""Effective draws of the pool below which its figures are rough."""


class MaximumEntropy(Synthesizer):
    """Draw records from the distribution of greatest entropy with given moments.

    It has the original's means, variances and covariances, optionally the third moment of each
    column and the share and the mean within each of several intervals, and assumes nothing else: a
    density exp(sum of multipliers times what is averaged). Without bounds and with moments of
    degree two this is the normal distribution, in closed form. Within `bounds = "range"` (each
    column's range and a hundredth more, but no negative numbers where there were none) the
    multipliers minimize the convex dual by Newton's method, the integral being a mean over a pool
    of draws from a proposal (one-dimensional solutions joined by a normal copula), weighted by the
    reciprocal of its density. The weighted pool has the moments exactly; rows are resampled from it
    and moved by Metropolis' algorithm, which leaves the density as it is. The facts give the
    effective number of draws in the pool: moments of the rows differ from the original's by the
    error of so many draws, and of the rows themselves.

    Columns that others determine are calculated from them. Third moments and intervals need bounds;
    without, no density has the greatest entropy. Of values that are missing only the patterns are
    kept, drawn from the original's and independent of the values; moments are over the values and
    pairs that are present.
    """

    name: ClassVar[str] = "maximum-entropy"
    paper: ClassVar[str] = (
        "Polettini 2003, Maximum entropy simulation for microdata protection, Statistics and "
        "Computing 13"
    )

    bounds: Literal["none", "range"] = Field(
        "none", description="where values may lie: anywhere, or within the original's range"
    )
    third: bool = Field(
        False, description="keep the third moment (skewness) of each column; needs bounds"
    )
    intervals: int = Field(
        1,
        ge=1,
        le=20,
        description="equally frequent intervals of each column whose shares and means are "
        "kept; 1: none; needs bounds",
    )
    pool: int = Field(
        50_000, ge=1000, le=2_000_000, description="draws that the multipliers are fitted to"
    )
    moves: int = Field(20, ge=0, le=1000, description="Metropolis moves of each resampled record")
    whole: bool = Field(True, description="round integer columns to whole numbers")

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        rows = self.rows_of(table)
        if self.bounds == "none" and (self.third or self.intervals > 1):
            raise MethodError(
                "without bounds no density with these moments has the greatest entropy",
                remedy='bounds = "range"',
            )
        x = Matrix(table, chosen).numeric
        present = ~np.isnan(x)
        if not present.any(axis=0).all():
            empty = chosen[int(np.argmin(present.any(axis=0)))]
            raise MethodError(
                f"column {empty!r} has no value to take moments of",
                remedy="leave it out of `columns`",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            mean, covariance = moments(x)
            refuse(self, ~np.isfinite(mean + covariance.sum(axis=0)), chosen)
            y, facts, warnings = self._drawn(x, mean, covariance, chosen, rows, rng)
        refuse(self, ~np.isfinite(y), chosen)
        if not present.all():
            y = np.where(present[rng.integers(0, len(x), rows)], y, np.nan)
        drawn = number_columns(table, chosen, y, whole=self.whole)
        out, dropped = whole_table(table, rows, *drawn)
        facts = {"columns": chosen, "records": rows, **facts}
        return Outcome(out, facts=facts, warnings=(*warnings, *dropped), linked=False)

    def _drawn(
        self,
        x: np.ndarray,
        mean: np.ndarray,
        covariance: np.ndarray,
        names: list[str],
        rows: int,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, dict[str, Any], list[str]]:
        """Rows of numbers, and what is to be told."""
        low, high = np.nanmin(x, axis=0), np.nanmax(x, axis=0)
        varies = np.flatnonzero(low < high)
        y = np.tile(low, (rows, 1))
        facts: dict[str, Any] = {}
        if not varies.size:
            return y, facts, []
        mean = mean[varies]
        deviation = np.sqrt(np.diag(covariance)[varies])
        correlation = covariance[np.ix_(varies, varies)] / np.outer(deviation, deviation)
        np.fill_diagonal(correlation, 1.0)
        correlation, changed = nearest_correlation(np.clip(correlation, -1.0, 1.0))
        if changed > 0:
            facts["largest change to make the correlations possible"] = changed
        if self.bounds == "none":
            p = varies.size
            facts["moments kept"] = p + p * (p + 1) // 2
            y[:, varies] = mean + normal_rows(correlation, rows, rng) * deviation
            return y, facts, []
        u = (x[:, varies] - mean) / deviation
        pad = _PAD * (high - low)
        bottom = np.where(low >= 0, np.maximum(low - pad, 0.0), low - pad)[varies]
        wanted = self._wanted(
            u,
            correlation,
            (bottom - mean) / deviation,
            ((high + pad)[varies] - mean) / deviation,
            [names[j] for j in varies],
        )
        found = solve(wanted, self.pool, rng)
        made, accepted = draw(found, wanted, rows, self.moves, rng)
        y[:, varies] = mean + made * deviation
        effective = round(found.tilt.effective)
        facts |= {
            "moments kept": found.moments,
            "effective draws in the pool": effective,
            "share of moves accepted": accepted,
        }
        warnings = []
        if effective < _FEW:
            warnings.append(
                f"the pool is worth only {effective:,} draws: moments are kept roughly; ask for a "
                "larger `pool`, or for fewer moments"
            )
        return y, facts, warnings

    def _wanted(
        self,
        u: np.ndarray,
        correlation: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        names: list[str],
    ) -> Wanted:
        """The moments of standardized columns."""
        edges, shares, sums = [], [], []
        for column in u.T:
            values = column[~np.isnan(column)]
            inner = np.quantile(values, np.arange(1, self.intervals) / self.intervals)
            inner = np.unique(inner[inner < values.max()])
            place = np.searchsorted(inner, values)
            count = np.bincount(place, minlength=inner.size + 1)[1:]
            total = np.bincount(place, weights=values, minlength=inner.size + 1)[1:]
            edges.append(inner)
            shares.append(count / values.size)
            sums.append(total / values.size)
        cubes = np.nanmean(u**3, axis=0) if self.third else None
        return Wanted(names, correlation, low, high, cubes, edges, shares, sums)
