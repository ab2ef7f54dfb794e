"""SVD swapping: scores on principal components change records."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.column_swap import (
    largest,
    least_tolerance,
    orthonormal,
    random_directions,
    repaired,
    shuffled_columns,
)
from ...kernels.spectral_basis import SpectralBasis, spectral_basis
from ...progress import report
from .base import SpectralMethod, Swapped

FEW = 3
"""Components with which it is worth saying how a record may come back."""
STARTS = 10
"""Times that repair starts anew where a small table got stuck."""
SMALL = 1_000
FINEST = 0.0005
"""Correlations that agree in three decimals."""

Scores = tuple[np.ndarray, dict[str, Any], list[str]]
"""Scores, what is to be told of them, and warnings."""


class SvdSwap(SpectralMethod):
    """Swap the records' scores on the principal components of the table.

    The table of encoded records, less its means, is U D V'. Each column of U is put in a random
    order of its own, and the records are put together again (Lasko 2007, figure 4-1). What is kept:
    the means (exactly, of the encoded records), each component's distribution (exactly), and all
    variances and covariances, since the components stay uncorrelated within `tol` (the largest
    absolute correlation between two). What is lost: everything between columns that is no
    correlation. Thresholds and exponentials of the decoding move means and correlations a little.

    Shuffling leaves chance correlations of up to 3/sqrt(n), and a covariance read from the release
    is then only half as efficient as the original's (Perkonoja & Virta 2024). repair = "swaps"
    exchanges single pairs of values until all are within tol: on 2000 records of NHANES with 27
    components 0.08 becomes 0.0005 by swaps of 2% of the scores (42% of the records have one of
    them), and the median change of an encoded correlation falls from 0.014 to 0.0002. "repeat" is
    the thesis' way: shuffle all again until they are within tol by luck. "exact" makes them exactly
    uncorrelated, which moves each score by about 0.06 deviations there, so that components'
    distributions are kept nearly, not exactly.

    Repaired orders stay random. Each component's order by itself is uniformly random, as without
    repair, since repair treats all records alike. The orders of two components depend on one
    another only as far as tol asks; over 100 seeds on NHANES two scores of one record met again in
    1.000 records for each pair of components (1 by chance, standard error 0.005), where orders
    had 1.02 fixed points (1), a mean displacement of 0.333 of the table (1/3), and rank
    correlations with the original of 0.99/sqrt(n - 1) in deviation (1). In tables of a dozen
    records few orders but the original's have small correlations, so that smaller tolerances than
    the automatic one may be refused.

    Where all columns are categories, records may come back whole by chance. On 15 yes/no columns of
    NHANES 44% of the unique records did, of other people's unique records too, while 49% were in
    another sample. Not so in every table: in a generated one 51% did against 45% in another sample,
    because the release is spread over more combinations than people are. That tells an intruder
    little, since 49% of strangers' unique records were in the release too (with every repair).

    by = "rotation" (O-SA) turns each column of U by a random rotation of all records instead. All
    scores become normal: on NHANES the excess kurtosis of a component changes by 0.5 in the median,
    on Census by 0.9. No score comes back: of one Census column 100% of the records are published as
    they were by permutation, 1% by rotation (after rounding); of two columns one record and none.
    Use it where there are one to three components. Random signs (J-SA) are not offered: they leave
    each record's scores together but for their signs, and an intruder who compares absolute scores,
    on components read from the release, found 60% to 100% of the records of NHANES and 93% to 100%
    of those of Census, depending on the repair (0.1% by permutation).
    """

    name: ClassVar[str] = "svd-swap"
    aliases: ClassVar[tuple[str, ...]] = ("spectral-swap",)
    paper: ClassVar[str] = (
        "Lasko 2007, Spectral anonymization of data, figure 4-1; Perkonoja & Virta 2024, "
        "Asymptotic utility of spectral anonymization, Privacy in Statistical Databases, LNCS 14915"
    )

    by: Annotated[
        Literal["permutation", "rotation"],
        Field(
            description="each component's scores are put in random order (P-SA), or turned by a "
            "random rotation of all records, after which they are normal (O-SA)"
        ),
    ] = "permutation"
    repair: Annotated[
        Literal["swaps", "repeat", "exact"],
        Field(
            description="how the scores become uncorrelated again: by swapping pairs of values, by "
            "drawing all anew until they are by chance, or exactly, by moving each a little"
        ),
    ] = "swaps"
    tol: Annotated[
        float | None,
        Field(
            gt=0,
            lt=1,
            description="largest absolute correlation between two components' scores; unless "
            "given, 0.0005, and more where records are fewer than 2,000 or components many (with "
            "repeat: what every second try reaches)",
        ),
    ] = None
    tries: Annotated[
        int, Field(ge=1, description="with repeat: how often to draw before giving up")
    ] = 100

    @property
    def permutes(self) -> bool:
        return self.by == "permutation"

    def swapped(self, x: np.ndarray, rng: np.random.Generator) -> Swapped:
        basis = spectral_basis(x)
        ways = {"swaps": self._repaired, "repeat": self._repeated, "exact": self._exact}
        scores, facts, warnings = ways[self.repair](basis, rng)
        if 2 <= basis.rank <= FEW and self.permutes:
            warnings.append(
                f"the records have only {basis.rank} components: a record whose scores meet again "
                'is published as it was; add columns, or use by = "rotation"'
            )
        return Swapped(basis.table(scores), {"components": basis.rank, **facts}, tuple(warnings))

    def _drawn(self, basis: SpectralBasis, rng: np.random.Generator) -> np.ndarray:
        if self.by == "rotation":
            return random_directions(len(basis.scores), basis.rank, rng)
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
        best = repaired(self._drawn(basis, rng), tol, rng)
        for t in range(STARTS - 1 if n <= SMALL else 0):
            if best.largest <= tol:
                break
            report("repairing anew", t + 1, STARTS)
            best = min(best, repaired(self._drawn(basis, rng), tol, rng), key=lambda o: o.largest)
        warnings = []
        if best.largest > tol:
            told = (
                f"{self.name}: no order was found in which the scores of {r} components for {n} "
                f"records correlate by {tol:.2g} at most; they do by {best.largest:.2g}"
            )
            if self.tol is not None:
                raise MethodError(told, remedy='raise tol, or use repair = "exact"')
            warnings.append(f'{told}; use repair = "exact" where that is too much')
        facts = {
            "largest correlation of components": _rounded_up(best.largest),
            "share of scores swapped in repair": min(
                1.0, round(2.0 * best.swaps / max(basis.scores.size, 1), 2)
            ),
        }
        return best.values, facts, warnings

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
        for _ in range(STARTS):
            drawn = self._drawn(basis, rng)
            scores = orthonormal(drawn)
            if scores is not None:
                moved = float(np.sqrt(((scores - drawn) ** 2).sum() / max(r, 1)))
                return scores, {"scores moved by (deviations)": _rounded_up(moved)}, []
        raise MethodError(
            f"{self.name}: scores of {r} components for {n} records cannot be made uncorrelated",
            remedy='use repair = "swaps", or fewer columns',
        )


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
