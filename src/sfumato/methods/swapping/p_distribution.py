"""Rank swapping whose distance is drawn from a normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...kernels.swapping.unbounded import distance_swap
from .base import RankedMethod


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
