"""Swapping values between records of similar rank: near ones, at a drawn distance, by buckets."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...candidate import Candidate, settings
from ...declaration import Declaration
from ...kernels.swapping.rank import rank_swap
from ...kernels.swapping.unbounded import bucket_swap, distance_swap
from .base import RankedMethod


def reach_of(p: float, n: int) -> int:
    """p percent of n ranks, rounded down, but one rank at least.

    >>> reach_of(29, 100), reach_of(2.5, 50), reach_of(0.1, 50)
    (29, 1, 1)
    """
    # The small addition is for rounding: 0.7 percent of 1000 is 7, and not 6.999...
    return max(1, int(p * n / 100 + 1e-9))


class Reach(Declaration):
    """How far a value may go."""

    p: float = Field(
        5.0, gt=0, le=100, description="largest difference of ranks, in percent of records"
    )
    count: int = Field(
        0, ge=0, description="largest difference of ranks as a number; replaces p if given"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.count and "p" in self.model_fields_set:
            raise ValueError("give p or count, not both")
        return self

    def reach(self, n: int) -> int:
        """The largest difference of ranks in a column with n values."""
        return self.count or reach_of(self.p, n)


class RankSwap(Reach, RankedMethod):
    """Swap each value with one whose rank is within p.

    From the lowest rank i upwards, each value not yet swapped is exchanged with one of rank l, not
    yet swapped either, i < l <= i + p, each equally likely; where there is none it stays. Every
    column is swapped on its own, so each keeps its values and their distribution exactly, while the
    relations between columns weaken with p. Categories without an order of their own are ranked by
    one that `orders` gives. Missing values stay where they are and are not ranked. An intruder who
    knows p knows how far each value can have gone.

    p percent of the ranks are rounded down, but are one rank at least.
    """

    name: ClassVar[str] = "rank-swap"
    paper: ClassVar[str] = (
        "Moore 1996, Controlled data-swapping techniques for masking public use data"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "exchange",
        when="every column of numbers must keep its distribution, and pairs of columns roughly",
        unless="values must be true of their row, or exact correlations matter",
        ladder=settings("p", 2, 5, 7, 10, 15, 20, 30, 50, 100),
        usual=1,
        scopes=("all",),
        rest="pram",
        million=(1.4, 0.57),
    )

    def places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rank_swap(n, self.reach(n), rng.random(n))

    def parameters_used(self, present: dict[str, int]) -> dict[str, Any]:
        return {"largest difference of ranks": {c: self.reach(n) for c, n in present.items()}}


class RankSwapPDistribution(RankedMethod):
    """Swap each value with one at a distance in rank drawn from a normal distribution.

    The value of rank i is exchanged with that of rank i + r, where r is normal with mean p/2 and
    standard deviation p/2. No distance is impossible, so that an intruder who knows p cannot rule
    any record out, as rank-swap lets him. p counts ranks, given as a percentage or as a number.

    Read here as follows. Ranks are visited from the lowest, when all below have been swapped
    already; r is therefore drawn given that it rounds to 1 or more (the normal distribution cut off
    at one half). Where rank i + r has been swapped already or lies beyond the last, the nearest
    rank above i that is free is taken, of two equally near the higher. A last one without
    a partner keeps its value. Columns are swapped each on its own; missing values stay.
    """

    name: ClassVar[str] = "rank-swap-p-distribution"
    paper: ClassVar[str] = (
        "Nin, Herranz & Torra 2008, Rethinking rank swapping to decrease disclosure risk, "
        "Data & Knowledge Engineering 64(1)"
    )

    p: float = Field(5.0, gt=0, le=100, description="scale of the distance, in percent of records")
    count: int = Field(
        0, ge=0, description="scale of the distance as a number; replaces p if given"
    )
    mean: float = Field(0.5, ge=0, le=10, description="mean of the distance, in p")
    deviation: float = Field(
        0.5, gt=0, le=10, description="standard deviation of the distance, in p"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.count and "p" in self.model_fields_set:
            raise ValueError("give p or count, not both")
        return self

    def scale(self, n: int) -> float:
        """p in ranks, for a column with n values."""
        return float(self.count) if self.count else self.p * n / 100

    def distances(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """A distance for each position: whole numbers, 1 or more."""
        return cut_normal(
            self.mean * self.scale(n), self.deviation * self.scale(n), 0.5, rng.random(n)
        )

    def places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if not n:
            return np.empty(0, dtype=np.int64)  # no ranks, hence no scale
        return distance_swap(np.maximum(np.rint(self.distances(n, rng)), 1.0))

    def parameters_used(self, present: dict[str, int]) -> dict[str, Any]:
        return {
            "distance in ranks, mean and deviation before the cut": {
                name: [self.mean * self.scale(n), self.deviation * self.scale(n)]
                for name, n in present.items()
            }
        }


def cut_normal(mean: float, deviation: float, lowest: float, u: np.ndarray) -> np.ndarray:
    """Normal quantiles given that the number is above `lowest`, at u in [0, 1).

    By the upper tail: far above the mean the distribution function is 1 to the last digit, and has
    no inverse.
    """
    from scipy.special import log_ndtr, ndtri_exp

    tail = log_ndtr((mean - lowest) / deviation)
    found: np.ndarray = mean - deviation * ndtri_exp(np.log1p(-u) + tail)
    return found


class RankSwapPBuckets(RankedMethod):
    """Swap each value with one of a bucket of ranks, the nearer the likelier.

    The sorted values of a column are cut into `buckets` runs of equal length, give or take
    one (the p of p-buckets). A value of bucket r is exchanged with one of bucket s >= r, drawn with
    probability 2^-(s - r + 1) / K, where K makes the probabilities sum to one; of the bucket's
    values not yet swapped each is equally likely. A partner may be in any bucket, so that an
    intruder who knows the number of buckets cannot rule any record out.

    Read here as follows. Ranks are visited from the lowest, so that within its own bucket a value
    is exchanged with a higher one. K is the sum over the buckets which still have a value that was
    not swapped. A last one without a partner keeps its value. `ratio` replaces the paper's one
    half. Columns are swapped each on its own; missing values stay.
    """

    name: ClassVar[str] = "rank-swap-p-buckets"
    paper: ClassVar[str] = (
        "Nin, Herranz & Torra 2008, Rethinking rank swapping to decrease disclosure risk, "
        "Data & Knowledge Engineering 64(1)"
    )

    buckets: int = Field(
        20, ge=2, description="runs of equal length that the sorted values are cut into"
    )
    ratio: float = Field(
        0.5, gt=0, lt=1, description="how a bucket's chance falls with each step away"
    )

    def places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return bucket_swap(n, self.buckets, rng.random(n), rng.random(n), self.ratio)

    def parameters_used(self, present: dict[str, int]) -> dict[str, Any]:
        return {
            "values in a bucket": {c: n / min(self.buckets, n or 1) for c, n in present.items()}
        }
