"""SVD swapping: scores on principal components change records."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...candidate import Candidate
from ...data.points.encoding import Encoding
from ...data.table import Table
from ...errors import MethodError
from ...kernels.spectral.basis import SpectralBasis, spectral_basis
from ...kernels.spectral.column_swap import (
    WIDE,
    Repaired,
    enough_steps,
    largest,
    least_tolerance,
    orthonormal,
    random_directions,
    repaired,
    shuffled_columns,
)
from ...kernels.spectral.component_tree import parents, swapped_along
from ...kernels.spectral.smoothed_scores import smoothed
from ...progress import report
from ...rng import children
from .base import SpectralMethod, Swapped
from .moments import chosen_logs

FEW = 3
"""Components with which it is worth saying how a record may come back."""
STARTS = 10
"""Times that repair starts anew where a small table got stuck."""
SMALL = 1_000
SHORT = 4
"""Records for each of many components, below which swaps take long and do not get there."""
WINDOW = 50
"""Ranks by which a score is moved when it follows another: as many as smoothing reaches."""
FINEST = 0.0005
"""Correlations that agree in three decimals."""

Scores = tuple[np.ndarray, dict[str, Any], list[str]]
"""Scores, what is to be told of them, and warnings."""


class SvdSwap(SpectralMethod):
    """Swap the records' scores on the principal components of the table.

    The table of encoded records, less its means, is U D V'. Each column of U is put in a random
    order of its own, and the records are put together again (Lasko 2007, figure 4-1). What is kept:
    the means (exactly, of the encoded records), each component's distribution (nearly; exactly with
    smooth = 0), and all variances and covariances, since the components stay uncorrelated within
    `tol`. What is lost: everything between columns that is no correlation. All this holds for the
    encoded records; what is published is decoded. Thresholds weaken correlations of two-valued
    columns: on NHANES by 0.04 in the median of 105 pairs and by up to 0.24 (-0.57 became -0.34),
    with numbers by up to 0.21. Where a few values are far out, bounds and exponentials move more:
    on Census the deviation of POTHVAL, 9450, becomes about 8300 and correlations move by up to
    0.14. log = "auto" takes logarithms where on trial they keep means, deviations and correlations
    better; the private folder says what moved, a warning names columns that moved much.

    With smooth = 0, the thesis' way, every score of everybody is in the release, and who took part
    can be told: in 2000 records of six numbers, who knows a record and looks for its scores on the
    release's own components tells participants from strangers with an AUC of 0.9 (up to 0.98). So
    each score becomes a draw between its neighbours in rank, extremes one of an exponential tail.
    With smooth = 50 that AUC is 0.50; of an intruder who counts released scores around a person's
    and has a large sample of the population to compare, 0.54, and 0.60 with 28 columns (with
    smooth = 5: 0.65 and 0.78). Fewer than 1000 records are smoothed less, and hidden less. The cost
    is below what another sample of people would differ by: on NHANES a component's distribution
    moves by 0.009 (Kolmogorov-Smirnov; another sample 0.022) and its excess kurtosis by 0.05
    (0.20), on Census by 0.017 (0.028) and 0.24 (0.38); heavy tails may change more. Categories stay
    about as frequent as they are with smooth = 0.

    Shuffling leaves chance correlations of up to 3/sqrt(n) (Perkonoja & Virta 2024). repair =
    "swaps" exchanges single pairs of values until all are within tol: on NHANES 0.08 becomes 0.0005
    by swaps of 2% of the scores, and orders stay random. "repeat" is the thesis' way: shuffle again
    until they are within tol by luck. "exact" makes them exactly uncorrelated, which moves each
    score (there by 0.06 deviations); without a given tol it also steps in where components are too
    many for swaps. In tables of a dozen records small tolerances may be refused, since hardly any
    order but the original's has them. Where all columns are categories, records come back whole by
    chance, and those of participants more often than strangers' (of unique ones 29% against 23% in
    one generated table, 50% against 49% in another): non-participation looks at them.

    by = "rotation" (O-SA) turns each column of U by a random rotation of all records instead. All
    scores become normal, and none comes back: use it where there are one to three components.
    Random signs (J-SA) are not offered: an intruder found 60% to 100% of the records.

    by = "tree" keeps more: components that depend on one another although they are uncorrelated
    make trees, the strongest dependences first, and each component's scores are dealt by rank of
    the one that it follows, moved by up to 50 ranks. What two neighbours have to do with one
    another stays. It also tells a little more of who took part: an intruder who looks for a
    person's pairs of neighbouring scores has an AUC of 0.55 to 0.60 on NHANES and national2019 with
    smooth = 50, of 0.68 to 0.81 with smooth = 0; by permutation 0.50, and 0.53 by single scores.
    levels = true is for categories with a hierarchy.
    """

    name: ClassVar[str] = "svd-swap"
    aliases: ClassVar[tuple[str, ...]] = ("spectral-swap",)
    paper: ClassVar[str] = (
        "Lasko 2007, Spectral anonymization of data, figure 4-1; Perkonoja & Virta 2024, "
        "Asymptotic utility of spectral anonymization, Privacy in Statistical Databases, LNCS 14915"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "exchange",
        when="correlations of many numbers are analysed, and no row need be a person's",
        unless="rare combinations matter, or columns have hundreds of categories",
        scopes=("all",),
        linked=False,
        million=(85, 11),  # a coordinate to each of 269 postal codes; without them 5.9 and 1
    )

    by: Literal["permutation", "tree", "rotation"] = Field(
        "permutation",
        description="each component's scores are put in random order (P-SA), dealt by rank of the "
        "component that they depend on most, or turned by a random rotation of all records, after "
        "which they are normal (O-SA)",
    )
    smooth: int = Field(
        50,
        ge=0,
        description="with permutation: each score becomes a draw between those so many ranks "
        "below and above it (at most a twentieth of the records); 0 leaves scores as they are, "
        "and then tells who took part",
    )
    repair: Literal["swaps", "repeat", "exact"] = Field(
        "swaps",
        description="how the scores become uncorrelated again: by swapping pairs of values, by "
        "drawing all anew until they are by chance, or exactly, by moving each a little",
    )
    tol: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="largest absolute correlation between two components' scores; unless "
        "given, 0.0005, and more where records are fewer than 2,000 or components many (with "
        "repeat: what every second try reaches)",
    )
    tries: int = Field(100, ge=1, description="with repeat: how often to draw before giving up")

    @property
    def permutes(self) -> bool:
        return self.by != "rotation"

    def encoding(self, table: Table, names: list[str], rng: np.random.Generator) -> Encoding:
        if self.log != "auto":
            return super().encoding(table, names, rng)
        trial = children(rng, 1)[0]

        def swap(x: np.ndarray) -> np.ndarray:
            basis = self._basis(x, trial)
            return basis.table(self._drawn(basis, trial))

        logs = chosen_logs(table, names, swap, trial, bounded=self.bounded)
        return Encoding.of(table, names, log=logs, twofold=self.twofold)

    def swapped(self, x: np.ndarray, rng: np.random.Generator) -> Swapped:
        basis = self._basis(x, rng)
        ways = {"swaps": self._repaired, "repeat": self._repeated, "exact": self._exact}
        scores, facts, warnings = ways[self.repair](basis, rng)
        if 2 <= basis.rank <= FEW and self.permutes:
            warnings.append(
                f"the records have only {basis.rank} components: a record whose scores meet again "
                f"is published {'nearly ' if self.smooth else ''}as it was; add columns, or use "
                'by = "rotation"'
            )
        return Swapped(basis.table(scores), {"components": basis.rank, **facts}, tuple(warnings))

    def _basis(self, x: np.ndarray, rng: np.random.Generator) -> SpectralBasis:
        basis = spectral_basis(x)
        if not (self.permutes and self.smooth):
            return basis
        width = _few(self.smooth, len(x))
        return replace(basis, scores=smoothed(basis.scores, width, rng))

    def _drawn(self, basis: SpectralBasis, rng: np.random.Generator) -> np.ndarray:
        if self.by == "rotation":
            return random_directions(len(basis.scores), basis.rank, rng)
        if self.by == "tree":
            tree = parents(basis.scores)
            return swapped_along(basis.scores, tree, _few(WINDOW, len(basis.scores)), rng)
        return shuffled_columns(basis.scores, rng)

    def _checked(self, automatic: float, n: int, r: int) -> float:
        """The tolerance, if it leaves enough to chance."""
        least = least_tolerance(n, r)
        if self.tol is not None and self.tol < least:
            raise MethodError(
                f"{self.name}: with {n} records and {r} components, hardly any order of the scores "
                f"but the original's has all correlations within {self.tol:.2g}",
                remedy='leave tol out, use repair = "exact", or publish more records together',
            )
        return self.tol or max(automatic, least)

    def _repaired(self, basis: SpectralBasis, rng: np.random.Generator) -> Scores:
        n, r = basis.scores.shape
        tol = self._checked(max(FINEST, 1.0 / n, 6.0 * r / n**2), n, r)
        if self.tol is None and r > WIDE and n < SHORT * r:
            moved = self._moved(basis, rng, "records are few beside the components")
            if moved is not None:
                return moved
        best, over = self._by_swaps(basis, tol, rng)
        warnings = []
        if best.largest > tol:
            told = (
                f"{self.name}: no order was found in which the scores of {r} components for {n} "
                f"records correlate by {tol:.2g} at most; they do by {best.largest:.2g}"
            )
            if self.tol is not None:
                raise MethodError(told, remedy='raise tol, or use repair = "exact"')
            moved = self._moved(basis, rng, "swaps did not get there") if over else None
            if moved is not None:
                return moved
            warnings.append(f'{told}; use repair = "exact" where that is too much')
        facts = {
            "largest correlation of components": _rounded_up(best.largest),
            "share of scores swapped in repair": min(
                1.0, round(2.0 * best.swaps / max(basis.scores.size, 1), 2)
            ),
        }
        return best.values, facts, warnings

    def _by_swaps(
        self, basis: SpectralBasis, tol: float, rng: np.random.Generator
    ) -> tuple[Repaired, bool]:
        """The best of some starts, and whether the work allowed for all of them was used up."""
        n, r = basis.scores.shape
        left = enough_steps(n, r)
        best = repaired(self._drawn(basis, rng), tol, rng, budget=left)
        left -= best.steps
        for t in range(STARTS - 1 if n <= SMALL else 0):
            if best.largest <= tol or left <= 0:
                break
            report("repairing anew", t + 1, STARTS)
            again = repaired(self._drawn(basis, rng), tol, rng, budget=left)
            left -= again.steps
            best = min(best, again, key=lambda one: one.largest)
        return best, left <= 0

    def _repeated(self, basis: SpectralBasis, rng: np.random.Generator) -> Scores:
        n, r = basis.scores.shape
        tol = self._checked(reached_by_half(n, r), n, r)
        best = np.inf
        for t in range(self.tries):
            scores = self._drawn(basis, rng)
            best = min(best, found := largest(scores))
            if found <= tol:
                return scores, {"largest correlation of components": _rounded_up(found)}, []
            report("drawing anew", t + 1, self.tries)
        raise MethodError(
            f"{self.name}: none of {self.tries} tries had all correlations within {tol:.2g}; the "
            f"best had {best:.2g}",
            remedy='use repair = "swaps", which gets there by small steps, or raise tol',
        )

    def _exact(self, basis: SpectralBasis, rng: np.random.Generator) -> Scores:
        n, r = basis.scores.shape
        moved = self._moved(basis, rng)
        if moved is None:
            raise MethodError(
                f"{self.name}: scores of {r} components for {n} records cannot be made "
                "uncorrelated",
                remedy='use repair = "swaps", or fewer columns',
            )
        return moved

    def _moved(
        self, basis: SpectralBasis, rng: np.random.Generator, why: str = ""
    ) -> Scores | None:
        """Scores made exactly uncorrelated, and why that was not asked for; None where they cannot
        be."""
        told = {"repair": f"exact, since {why}"} if why else {}
        for _ in range(STARTS):
            drawn = self._drawn(basis, rng)
            scores = orthonormal(drawn)
            if scores is not None:
                moved = float(np.sqrt(((scores - drawn) ** 2).sum() / max(basis.rank, 1)))
                return scores, {**told, "scores moved by (deviations)": _rounded_up(moved)}, []
        return None


def _few(ranks: int, n: int) -> int:
    """So many ranks, and at most a twentieth of the records."""
    return min(ranks, max(1, n // 20))


def reached_by_half(n: int, r: int) -> float:
    """The tolerance that every second blind try reaches, for n records and r components.

    A correlation after shuffling is close to normal with variance 1/(n - 1).

    >>> round(reached_by_half(2000, 27), 3)
    0.069
    """
    from scipy.special import ndtri

    pairs = max(r * (r - 1) // 2, 1)
    tail = -np.expm1(np.log(0.5) / pairs)
    return float(min(-ndtri(tail / 2) / np.sqrt(max(n - 1, 1)), 1.0))


def _rounded_up(value: float) -> float:
    """To two digits, and no less than it is; rounding errors are zero."""
    if value < 1e-12:
        return 0.0
    digits = 1 - math.floor(math.log10(value))
    return round(math.ceil(round(value * 10.0**digits, 6)) / 10.0**digits, max(digits, 0))
