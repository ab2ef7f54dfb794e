"""Swapping values between records of similar rank."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...kernels.swapping.rank import rank_swap
from .base import RankedMethod


def reach_of(p: float, n: int) -> int:
    """p percent of n ranks, rounded down, but one rank at least.

    >>> reach_of(29, 100), reach_of(2.5, 50), reach_of(0.1, 50)
    (29, 1, 1)
    """
    # The small addition is for rounding: 0.7 percent of 1000 is 7, and not 6.999...
    return max(1, int(p * n / 100 + 1e-9))


class RankSwap(RankedMethod):
    """Swap each value with one whose rank is within p.

    From the lowest rank i upwards, each value not yet swapped is exchanged with one of rank l, not
    yet swapped either, i < l <= i + p, each equally likely; where there is none it stays. Every
    column is swapped on its own, so each keeps its values and their distribution exactly, while the
    relations between columns weaken with p. Missing values stay where they are and are not
    ranked. An intruder who knows p knows how far each value can have gone.

    p percent of the ranks are rounded down, but are one rank at least.
    """

    name: ClassVar[str] = "rank-swap"
    paper: ClassVar[str] = (
        "Moore 1996, Controlled data-swapping techniques for masking public use data"
    )

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

    def places(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rank_swap(n, self.reach(n), rng.random(n))

    def parameters_used(self, present: dict[str, int]) -> dict[str, Any]:
        return {"largest difference of ranks": {c: self.reach(n) for c, n in present.items()}}
