"""Rank swapping with p chosen so that correlations stay."""

from __future__ import annotations

from math import log, sqrt
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ...data.codec import Matrix, standardize
from ...data.schema import ORDERED
from ...data.table import Table
from ...errors import MethodError, SfumatoError
from ...kernels.swapping.rank import rank_swap
from ...progress import report
from ...protocols import Method, Outcome
from ..counts import exact_shares, published_shares
from .base import (
    is_moved,
    mean_ranks,
    others_with_order,
    rearranged,
    refuse_lone,
    sorted_rows,
    without_order,
)

SPREAD = 2.0 * (1.0 - 1.0 / log(2.0)) ** 2
"""Mean square distance of a swap, in p squared; see `largest_share`."""
_NORMAL_95 = 1.959963984540054
_FAR_LESS = 5
"""So many times less than for uniform values is worth a warning."""
_NONE = 3.0
"""A correlation within so many standard errors of zero, 1/sqrt(n), may be none."""


def largest_share(correlation: float, mean_interval: float, swapped: int) -> float:
    """The largest difference of ranks, as a share of them, that keeps both bounds on uniform data.

    Write P for it, and let values be ranks, uniform on [0, 1], of variance 1/12. Visited from the
    lowest rank, a position t P ahead (0 < t <= 1) is still free with probability 2^(t - 1): it
    falls at the same relative rate all the way from 1, and half of all positions are free when
    their turn comes, since the other half are the upper ones of a pair. A partner is any free
    position in reach, so the distance d = t P has density ln 2 * 2^t and E d^2 = SPREAD * P^2,
    SPREAD = 2 (1 - 1/ln 2)^2 = 0.392. (A distance uniform on (0, P] would give 1/3; near the ends
    of the column distances are shorter, which is on the safe side.)

    A swap leaves the column's variance as it is, hence the correlation of a column before and after
    is 1 - E d^2 / (2/12) = 1 - 6 SPREAD P^2. Two columns are swapped independently: where each
    one's mean given the other is linear, their correlation is multiplied by this factor for each
    that is swapped, (1 - 6 SPREAD P^2)^2 for both. That is to be `correlation` at least.

    The mean of m records, chosen without regard to the values, changes by the mean of m
    displacements of mean square SPREAD P^2: in standard errors of that mean, sqrt(1 / (12 m)), by
    sqrt(12 SPREAD) P, and 1.96 times that is to be `mean_interval` at most.

    >>> round(largest_share(0.975, 0.0, 2), 4), round(largest_share(0.975, 0.1, 2), 4)
    (0.0731, 0.0235)
    """
    factor = correlation if swapped == 1 else sqrt(correlation)
    share = sqrt((1.0 - factor) / (6.0 * SPREAD))
    if mean_interval:
        share = min(share, mean_interval / (_NORMAL_95 * sqrt(12.0 * SPREAD)))
    return min(share, 1.0)


class Kept(NamedTuple):
    """What a swap has left of the correlations and the means."""

    factor: float | None
    """The smallest correlation after / correlation before; None where none is bounded."""
    interval: float
    """The widest 95 % half-width of a subset mean's change, in standard errors."""


class SimilarValueSwap(Method):
    """Rank swapping with the p that keeps correlations within a given factor.

    No correlation between two columns with numbers, one of them swapped at least, is to fall below
    `correlation` times what it was, and the mean of a random subset of m records is to change by
    less than `mean_interval` standard deviations / sqrt(m), 19 times out of 20. The p that keeps
    both for uniform values and linear relations is derived (see `largest_share`; Moore takes
    the distance to be uniform). Real columns are not uniform: the bounds are therefore checked on
    the data, and with `enforce` p is lowered by bisection, with the same random numbers, until they
    hold. All columns have the same p.

    By default the bounds are on ranks (Spearman's correlations), which are uniform. On values
    (Pearson's) a few very large ones decide: p may have to go so low that hardly anything is
    protected, and a warning says so.

    Correlations weaker than `least`, or than 3/sqrt(n) for n records, which may be none at all, are
    not bounded: a ratio to nearly nothing says nothing.
    Columns keep their values exactly; missing values stay, and correlations are over the pairs of
    values that are present. Ordinals count as 0, 1, 2 ..., dates as days.
    """

    name: ClassVar[str] = "similar-value-swap"
    perturbs: ClassVar[bool | None] = True
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    paper: ClassVar[str] = (
        "Moore 1996, Controlled data-swapping techniques for masking public use data"
    )

    correlation: float = Field(
        0.975, gt=0, lt=1, description="smallest factor by which a correlation may fall"
    )
    mean_interval: float = Field(
        0.0,
        ge=0,
        description="widest 95 % half-width of a subset mean's change, in standard errors of "
        "that mean; 0: not bounded",
    )
    least: float = Field(
        0.1, gt=0, lt=1, description="correlations weaker than this are not bounded"
    )
    of: Literal["ranks", "values"] = Field(
        "ranks", description="what is bounded: correlations and means of ranks, or of values"
    )
    enforce: bool = Field(
        True, description="lower p until the bounds hold on the data; false: only report"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        refuse_lone(table, self.name)
        chosen, left = self.targets(table)
        trial = _Trial(self, table, chosen, rng)
        top = max(
            1, int(largest_share(self.correlation, self.mean_interval, len(chosen)) * trial.n)
        )
        reach, (kept, places) = top, trial.swap(top)
        if self.enforce and not self._holds(kept):
            reach, kept, places = self._lowered(trial, top)
        series = [
            rearranged(table[name], order, place)
            for name, order, place in zip(chosen, trial.orders, places, strict=True)
        ]
        moved = {n: is_moved(place) for n, place in zip(chosen, places, strict=True)}
        percent = 100.0 / max(trial.n, 1)
        facts: dict[str, Any] = {
            "largest difference of ranks, percent": reach * percent,
            "percent derived for uniform values": top * percent,
            "correlations bounded": int(trial.bounded.sum()),
            "share of values moved": published_shares(moved),
        }
        if kept.factor is not None:
            # Rounded towards the unfavourable side: a fact must not claim more than was kept.
            facts["smallest factor of a correlation"] = float(np.floor(kept.factor * 1000) / 1000)
        facts["widest interval of a mean"] = float(np.ceil(kept.interval * 1000) / 1000)
        warnings = [*without_order(left), *self._warnings(trial, kept)]
        if reach < top / _FAR_LESS:
            warnings.append(
                f"p had to be lowered from {top * percent:.2g} to {reach * percent:.2g} percent: "
                "values barely move; bound the correlations of ranks, or by a lower factor"
            )
        return Outcome(
            table.with_columns(series),
            facts=facts,
            secrets={"share of values moved": exact_shares(moved)},
            warnings=tuple(warnings),
        )

    def _holds(self, kept: Kept) -> bool:
        close = kept.factor is None or kept.factor >= self.correlation
        return close and (not self.mean_interval or kept.interval <= self.mean_interval)

    def _lowered(self, trial: _Trial, top: int) -> tuple[int, Kept, list[np.ndarray]]:
        """A reach that keeps the bounds, found by halving; the factor need not be monotone in it,
        so that a larger one may do as well, but this one was tried."""
        good, bad, steps = 0, top, 0
        kept, places = Kept(None, 0.0), list[np.ndarray]()
        while bad - good > max(1, good // 16):
            middle = (good + bad) // 2
            report("lowering p", steps, top.bit_length() + 4)
            steps += 1
            found, drawn = trial.swap(middle)
            if self._holds(found):
                good, kept, places = middle, found, drawn
            else:
                bad = middle
        if not good:
            raise MethodError(
                "similar-value-swap cannot keep its bounds on these columns: swaps between "
                "neighbouring ranks break them already",
                remedy='lower `correlation`, set of = "ranks", or leave out columns with few '
                "very large values",
            )
        return good, kept, places

    def _warnings(self, trial: _Trial, kept: Kept) -> list[str]:
        said = [f"{name}: its numbers cannot be correlated" for name in trial.unusable]
        if kept.factor is None:
            said.append(
                "no correlation is strong enough to be bounded: p is the one derived for uniform "
                "values"
            )
        elif not self._holds(kept):
            said.append(
                "the bounds do not hold on the data (the facts say by how much); set enforce = true"
            )
        return said


class _Trial:
    """The columns sorted and standardized once, to try several p with the same random numbers."""

    def __init__(
        self, method: SimilarValueSwap, table: Table, chosen: list[str], rng: np.random.Generator
    ) -> None:
        names = [*chosen, *others_with_order(table, chosen)]
        self.unusable: list[str] = []
        columns = []
        for name in names:
            if method.of == "ranks":
                columns.append(mean_ranks(table[name]))
                continue
            try:
                columns.append(Matrix(table, [name]).numeric[:, 0])
            except SfumatoError:
                if name in chosen:
                    raise
                self.unusable.append(name)
        # Column by column in memory: each is read and written on its own.
        self.z = np.asfortranarray(standardize(np.column_stack(columns)))
        self.orders = [sorted_rows(table[name], rng) for name in chosen]
        self.sorted = [self.z[order, j] for j, order in enumerate(self.orders)]
        self.uniforms = [rng.random(order.size) for order in self.orders]
        self.n = max((order.size for order in self.orders), default=0)
        self.before = _correlations(self.z)
        pairs = np.triu(np.ones(self.before.shape, dtype=bool), 1)
        pairs[len(chosen) :] = False  # neither column is swapped
        present = (~np.isnan(self.z)).astype(np.float64)
        none = _NONE / np.sqrt(np.maximum(present.T @ present, 1.0))
        self.bounded = pairs & (np.abs(self.before) >= np.maximum(method.least, none))

    def swap(self, reach: int) -> tuple[Kept, list[np.ndarray]]:
        """Each column swapped over at most `reach` ranks, fewer where it has fewer values; and what
        is left of correlations and means."""
        after = self.z.copy(order="F")
        widest, places = 0.0, []
        for j, (order, values) in enumerate(zip(self.orders, self.sorted, strict=True)):
            own = max(1, reach * order.size // max(self.n, 1))
            place = rank_swap(order.size, own, self.uniforms[j])
            places.append(place)
            after[order, j] = values[place]
            if order.size:
                widest = max(widest, float(np.mean((values[place] - values) ** 2)))
        factor = None
        if self.bounded.any():
            ratio = _correlations(after)[self.bounded] / self.before[self.bounded]
            factor = float(ratio.min())
        return Kept(factor, _NORMAL_95 * sqrt(widest)), places


def _correlations(z: np.ndarray) -> np.ndarray:
    """Pearson's, over the records that have both values; 0 where one is constant there."""
    present = ~np.isnan(z)
    if present.all():
        # Swapping leaves means and variances as they are: products alone make the difference.
        centred = z - z.mean(axis=0) if len(z) else z
        products = centred.T @ centred
        spread = np.outer(np.diag(products), np.diag(products))
    else:
        there, x = present.astype(np.float64), np.where(present, z, 0.0)
        count = np.maximum(there.T @ there, 1.0)
        sums = x.T @ there  # of column i, where j is present too
        products = x.T @ x - sums * sums.T / count
        squares = (x * x).T @ there - sums * sums / count
        spread = squares * squares.T
    # Standardized columns: what is this small is rounding.
    solid = spread > 1e-18
    return np.where(solid, products / np.sqrt(np.where(solid, spread, 1.0)), 0.0)
