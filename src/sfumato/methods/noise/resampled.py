"""Correlated noise without the draws that protect nobody."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...kernels.neighbours.own_rank import own_rank
from ...progress import report
from .base import Noise, RestoredNoise, StreamedNoise
from .shape import Shape

Closeness = Annotated[
    float,
    Field(ge=0, le=0.95, description="least length of a row's noise, relative to the typical"),
]
Equivalents = Annotated[
    int, Field(ge=0, description="other masked rows that must be as near as a row's own; 0: none")
]
Rounds = Annotated[
    int, Field(ge=1, le=1000, description="times that a row is redrawn for its equivalents")
]


class Drawn(NamedTuple):
    """Noise whose correlations are still to be given, and what is told of it."""

    white: np.ndarray
    """float64 (n, rank)."""
    narrow: float
    """What it is multiplied by to have the variance 1 but for what equivalents added."""
    facts: dict[str, Any]
    warnings: tuple[str, ...]


class ResampledNoise(StreamedNoise, RestoredNoise):
    """Add correlated noise, and redraw rows that come too close to their originals.

    The noise of a row is redrawn while its Mahalanobis distance, by the noise's own covariance, is
    less than `closeness` times its root mean square, and while fewer than `equivalents` other
    masked rows are at least as near to the original (Mahalanobis distance by the data's
    covariance) as its own. The second rule costs a nearest-neighbour search in every round; a row
    that `rounds` draws do not bring there keeps the longest of them, and is counted. Distances are
    taken before the pull of `restore`, which anybody can undo; a missing value counts as the mean.

    Both rules look at the length of the noise alone, never at its direction, so that the noise
    stays symmetric: means are kept in expectation (with `equivalents` but for the little that a
    row's redraws depend on where the others have gone). Noise that must not be short is longer,
    which `closeness` makes up for: the noise is drawn from a narrower normal distribution, so that
    its variance is `amount` times the data's in expectation (for chi-squared with r degrees of
    freedom cut at t^2 the ratio is P(r + 2) / P(r), where P(r) is the share above t^2). What
    `equivalents` adds cannot be known before: the relative variance that resulted is published as
    a fact, and `restore` and `recover` go by it. Univariate distributions are not recovered.
    """

    name: ClassVar[str] = "resampled-noise"
    paper: ClassVar[str] = (
        "Fuller (1993), Masking procedures for microdata disclosure limitation; Lasko (2007), "
        "Spectral anonymization of data, section 2.3.1"
    )

    closeness: Closeness = 0.75
    equivalents: Equivalents = 0
    rounds: Rounds = 10

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        n, rank = z.shape[0], shape.root.shape[1]
        if rank == 0:
            return Noise(np.zeros(z.shape), self.amount)
        rules = Redrawing(self.amount, self.closeness, self.equivalents, self.rounds)
        white, narrow, facts, warnings = rules.draw(z, shape.root, rng)
        amount = self.amount * narrow**2 * float((white**2).sum()) / (n * rank)
        values = np.sqrt(self.amount) * narrow * white @ shape.root.T
        return Noise(values, amount, facts, warnings)


class Redrawing(NamedTuple):
    """Which rows of noise are drawn again."""

    amount: float
    closeness: float
    equivalents: int
    rounds: int

    def draw(self, z: np.ndarray, root: np.ndarray, rng: np.random.Generator) -> Drawn:
        """Noise for records with the z-scores z (NaN is missing), whose correlations have this
        root of at least one column."""
        n, rank = z.shape[0], root.shape[1]
        cut, narrow = _cut(self.closeness, rank)
        white = rng.standard_normal((n, rank))
        short = (white**2).sum(axis=1) < cut**2
        _lengthen(white, np.flatnonzero(short), cut, rng)
        facts: dict[str, Any] = {"redrawn_share": float(short.mean())}
        warnings: tuple[str, ...] = ()
        if self.equivalents:
            original = np.nan_to_num(z) @ np.linalg.pinv(root).T
            redrawn, unmet = self._until_equivalent(original, white, cut, narrow, rng)
            facts = {
                "redrawn_share": float((short | redrawn).mean()),
                "without_equivalents_share": float(unmet.mean()),
            }
            if unmet.any():
                warnings = (
                    f"{int(unmet.sum()):,} of {n:,} masked rows still have fewer than "
                    f"{self.equivalents} equivalents after {self.rounds} rounds: more noise, or "
                    "fewer columns, would help",
                )
        return Drawn(white, narrow, facts, warnings)

    def _until_equivalent(
        self,
        original: np.ndarray,
        white: np.ndarray,
        cut: float,
        narrow: float,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Redraw rows of `white` in place; which were, and which still lack equivalents."""
        n, rank = white.shape
        step = np.sqrt(self.amount) * narrow
        redrawn = np.zeros(n, dtype=bool)
        asked = np.arange(n)
        for done in range(self.rounds + 1):
            report("resampling", done, self.rounds)
            masked = original + step * white
            lacking = asked[_lacks(original[asked], masked, asked, self.equivalents)]
            if not lacking.size and asked.size < n:
                # Rows that were redrawn may have left others alone: look at all of them again.
                asked = np.arange(n)
                lacking = asked[_lacks(original, masked, asked, self.equivalents)]
            if not lacking.size or done == self.rounds:
                break
            redrawn[lacking] = True
            drawn = rng.standard_normal((lacking.size, rank))
            short = (drawn**2).sum(axis=1) < cut**2
            _lengthen(drawn, np.flatnonzero(short), cut, rng)
            # What meets the rule is longer than what did not; where none does, the longest stays.
            longer = (drawn**2).sum(axis=1) > (white[lacking] ** 2).sum(axis=1)
            white[lacking[longer]] = drawn[longer]
            asked = lacking
        unmet = np.zeros(n, dtype=bool)
        if lacking.size:
            unmet = _lacks(original, masked, np.arange(n), self.equivalents)
        return redrawn, unmet


@lru_cache(maxsize=64)
def _cut(closeness: float, rank: int) -> tuple[float, float]:
    """Where to cut the length of standard normal rows, and the factor that then gives them
    variance 1, so that the shortest are `closeness` times the root mean square."""
    from scipy.optimize import brentq
    from scipy.stats import chi2

    def growth(square: float) -> float:
        return float(np.exp(chi2.logsf(square, rank + 2) - chi2.logsf(square, rank)))

    if closeness == 0:
        return 0.0, 1.0
    wanted = closeness**2 * rank
    high = float(rank)
    while high / growth(high) < wanted:
        high *= 1.5
    square = brentq(lambda s: s / growth(s) - wanted, 0.0, high)
    return float(np.sqrt(square)), float(1 / np.sqrt(growth(square)))


def _lengthen(white: np.ndarray, rows: np.ndarray, cut: float, rng: np.random.Generator) -> None:
    """Give short rows a length from beyond the cut.

    Length and direction of normal noise are independent, so this is a redraw until the length will
    do, in one step.
    """
    from scipy.stats import chi2

    rank = white.shape[1]
    beyond = chi2.sf(cut**2, rank) * (1.0 - rng.random(rows.size))
    length = np.sqrt(np.maximum(chi2.isf(beyond, rank), cut**2))
    white[rows] *= (length / np.linalg.norm(white[rows], axis=1))[:, None]


def _lacks(
    original: np.ndarray, masked: np.ndarray, own: np.ndarray, equivalents: int
) -> np.ndarray:
    """Whether fewer than so many other masked rows are at least as near as the own one."""
    found = own_rank(original, masked, own, enough=equivalents)
    return (found.nearer < equivalents) & (found.nearer + found.ties - 1 < equivalents)
