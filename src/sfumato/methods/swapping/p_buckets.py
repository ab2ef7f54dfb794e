"""Rank swapping between buckets of ranks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...kernels.swapping.unbounded import bucket_swap
from .base import RankedMethod


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
