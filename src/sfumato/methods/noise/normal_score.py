"""Noise between normal scores, for columns of every kind."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import decode, encode, from_floats
from ...data.schema import MEASURED
from ...data.table import Table
from ...kernels.statistics.covariance import moments
from ...kernels.statistics.scores import from_uniform, normal_distribution, order_of
from ...protocols import Method, Outcome
from ..numeric.base import SINGLE_VALUES, finite, require_size, widened
from .base import Noise, unchanged
from .resampled import Closeness, Equivalents, Redrawing, Rounds
from .shape import correlation_root, units

_QUANTILES, _GRID, _TAIL = 1000, 2001, 8.0


class NormalScoreNoise(Method):
    """Add correlated noise to the normal scores of columns of any kind.

    Each column is turned into a standard normal one (Lasko 2.5): its values, in order, share the
    interval from 0 to 1 in proportion to how often they occur; a record takes a random point of its
    value's part, u, and the score Phi^-1(u), which is thereby exactly standard normal. Noise
    N(0, b C), C the correlations of the scores, is added (2.6), the sum divided by sqrt(1 + b), and
    the way is gone back (2.7). The thesis leaves the division out, without which the marginals
    would change. Categories go the same way as numbers, nominal ones in alphabetical order.
    Missing and suppressed cells stay so, and take no part.

    Every marginal distribution is kept in expectation: the masked score of a column is exactly
    standard normal again, whatever the others are. The correlations of the scores are kept as well;
    the covariances of the values are kept where the data are jointly normal, and nearly so where
    they are not far from it. (The thesis' formula cov / (1 + b) belongs to the version without the
    division.) Statistics are taken from the release as it is.

    With `between`, numbers and dates lie on straight lines between the original values, which keeps
    their means exactly in expectation and their distributions to within one record; else they are
    original values themselves, as in swapping, and the distributions are kept exactly.

    With `closeness` or `equivalents` rows of noise that hide nobody are drawn again, as
    `resampled-noise` does, by the scores: the thesis' best protected noise (section 2.3.1). Noise
    that must not be short is not normal any more; the way back is then gone by the distribution
    that scores and noise have together, so that marginals are kept all the same (with
    `equivalents` nearly, since outlying records are redrawn more often).
    """

    name: ClassVar[str] = "normal-score-noise"
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = SINGLE_VALUES
    perturbs: ClassVar[bool | None] = True
    drawn_anew: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Sullivan & Fuller (1989), The use of measurement error to avoid disclosure; Sullivan & "
        "Fuller (1990), Construction of masking error for categorical variables; Fuller (1993), "
        "Masking procedures for microdata disclosure limitation (rows drawn again)"
    )

    amount: float = Field(
        0.1, gt=0, le=10, description="b: variance of the noise relative to the scores'"
    )
    between: bool = Field(
        True, description="numbers may lie between original values, not only on them"
    )
    whole: bool = Field(True, description="round integer columns to whole numbers")
    closeness: Closeness = 0.0
    equivalents: Equivalents = 0
    rounds: Rounds = 10

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        require_size(table, 2, self.name)
        ranks = [_Ranked(table, name, self.between) for name in chosen]
        scores = np.column_stack([one.scores(rng) for one in ranks])
        root, repaired = correlation_root(_correlations(scores))
        drawn = self._noise(scores, root, rng)
        masked = scores + drawn.values
        u = (self._uniform(masked[:, j], drawn, j) for j in range(len(ranks)))
        series = [one.back(points, self.whole) for one, points in zip(ranks, u, strict=True)]
        columns = [widened(one.column, made) for one, made in zip(ranks, series, strict=True)]
        warnings = list(drawn.warnings)
        warnings += [f"{name} was left alone: it has no values to score" for name in left]
        if repaired:
            warnings.append(
                "the correlations of the scores that are present fit no data, because of the "
                "missing ones: the noise has the nearest that do"
            )
        facts = {"columns": chosen, "relative_variance": drawn.amount, **drawn.facts}
        out = table.with_columns(series, columns)
        warnings += unchanged(table, out, chosen)
        return Outcome(out, facts=facts, warnings=tuple(warnings))

    @property
    def _redraws(self) -> bool:
        return self.closeness > 0 or self.equivalents > 0

    def _noise(self, scores: np.ndarray, root: np.ndarray, rng: np.random.Generator) -> Noise:
        """Noise with the correlations of the scores."""
        if not self._redraws:
            white = rng.standard_normal((len(scores), root.shape[1]))
            return Noise(np.sqrt(self.amount) * (white @ root.T), self.amount)
        rules = Redrawing(self.amount, self.closeness, self.equivalents, self.rounds)
        white, narrow, facts, warnings = rules.draw(scores, root, rng)
        values = np.sqrt(self.amount) * narrow * (white @ root.T)
        amount = self.amount * narrow**2 * float((white**2).mean())
        return Noise(values, amount, facts, warnings)

    def _uniform(self, masked: np.ndarray, drawn: Noise, j: int) -> np.ndarray:
        """Where the masked scores of a column lie in their own distribution, 0 to 1."""
        if self._redraws:
            return _convolved(masked, drawn.values[:, j])
        return normal_distribution(masked / np.sqrt(1 + self.amount))


class _Ranked:
    """One column and the way to its scores and back."""

    def __init__(self, table: Table, name: str, between: bool) -> None:
        series, column = table[name], table.schema[name]
        self.series, self.column = series, column
        self.as_number = between and not column.generalized and column.kind in MEASURED
        if self.as_number:
            self.values = finite(series, column)
        else:
            self.codes = encode(series)
            numbers = self.codes.codes.astype(np.float64)
            # Among labels a suppressed cell is "*", which is no category.
            self.values = np.where((numbers > 0) & ~table.suppressed(name), numbers, np.nan)

    def scores(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal: a random point in the part of 0..1 that belongs to the value."""
        from scipy.special import ndtri

        order = order_of(self.values, rng)
        u = np.full(self.values.size, np.nan)
        # Points from the open interval: 0 would have no finite score.
        u[order] = (np.arange(order.size) + 1 - rng.random(order.size)) / max(order.size, 1)
        u = np.clip(u, 1e-16, 1 - 1e-16)
        found: np.ndarray = ndtri(u)
        return found

    def back(self, u: np.ndarray, whole: bool) -> pl.Series:
        """The values at these points of 0..1."""
        if self.as_number:
            return from_floats(self._between(u), self.column, self.series, whole=whole)
        present = np.sort(self.values[~np.isnan(self.values)])
        place = np.ceil(np.nan_to_num(u, nan=1.0) * present.size).astype(np.int64) - 1
        if not present.size:
            return self.series
        found = present[np.clip(place, 0, present.size - 1)]
        codes = np.where(np.isnan(u), self.codes.codes, found).astype(np.int64)
        return decode(codes, self.codes.domain, self.column.name)

    def _between(self, u: np.ndarray) -> np.ndarray:
        """The i-th of m values at (i - 1/2) / m, and straight lines between: the one choice that
        keeps the mean exactly in expectation."""
        present = np.count_nonzero(~np.isnan(self.values))
        unit = units(self.values[:, None])[0]  # so that no slope overflows
        found = from_uniform((u * present + 0.5) / (present + 1), self.values / unit)
        return np.asarray(found * unit)


def _convolved(masked: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The distribution function of a standard normal plus this noise, which is symmetric, at these
    points: by a thousand quantiles of the noise, and straight lines between."""
    size = np.quantile(np.abs(noise), (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    reach = _TAIL + float(size[-1])
    grid = np.linspace(-reach, reach, _GRID)
    below = [
        (normal_distribution(at - size).mean() + normal_distribution(at + size).mean()) / 2
        for at in grid
    ]
    return np.where(np.isnan(masked), np.nan, np.interp(masked, grid, below))


def _correlations(scores: np.ndarray) -> np.ndarray:
    """Of the scores that are present in both columns; the variances are 1 by construction."""
    _, covariance = moments(scores)
    deviation = np.sqrt(np.diag(covariance))
    scale = np.where(deviation > 0, deviation, 1.0)
    found: np.ndarray = covariance / np.outer(scale, scale)
    np.fill_diagonal(found, 1.0)
    return found
