"""More noise where records are sparse."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...kernels.neighbours.kth_neighbour import BLOCK, kth_neighbour
from .base import AdditiveNoise, Noise
from .shape import Shape

EXACT_RECORDS = 50_000
VISITS = 32
"""Blocks of neighbours that each of more records looks through."""


class DensityNoise(AdditiveNoise):
    """Add noise in proportion to the distance to each record's k-th neighbour.

    Lasko's data-dependent noise: a record in a sparse region needs more of it than one in a crowd.
    In the space of z-scores (a missing value counts as the mean) let d_i be the distance of record
    i to its k-th nearest neighbour; its noise is N(0, (a d_i)^2 / p) in each of the p columns,
    independently. So with a = `amount` = 1 a record is moved about as far as its k-th neighbour is
    away, and k others lie as near to where it was. Duplicates have distance zero: no record gets
    less noise than the deviation `floor`, in deviations of the columns.

    Means are kept in expectation. Noise is independent of the sign of everything, so covariances of
    different columns are kept too, and the variance of column j grows by 1 + v_j, where v_j is the
    mean noise variance of the records that have a value in it (a missing one goes with dense or
    sparse regions as it likes). The v_j are published as a fact, in the order of the columns:
    variances are recovered. A column's distribution is not, since the noise depends on the record.

    Above 50,000 records d_i is looked for among the 32 nearest blocks of 64 records, not all: it
    may then come out too large, never too small.
    """

    name: ClassVar[str] = "density-noise"
    correlated: ClassVar[bool] = False
    paper: ClassVar[str] = (
        "Chawla, Dwork, McSherry, Smith & Wee (2005), Toward privacy in public databases; Lasko "
        "(2007), Spectral anonymization of data, section 2.3.1"
    )

    amount: float = Field(
        1.0, gt=0, le=10, description="a: how far records move, in distances to neighbour k"
    )
    neighbours: int = Field(
        5, ge=1, le=1000, description="k: which nearest neighbour sets the scale"
    )
    floor: float = Field(
        0.05, ge=0, le=10, description="least deviation of the noise, in the columns' own"
    )

    def noise(self, z: np.ndarray, shape: Shape, rng: np.random.Generator) -> Noise:
        n, p = z.shape
        k = min(self.neighbours, n - 1)
        exact = n <= EXACT_RECORDS
        distance = kth_neighbour(np.nan_to_num(z), k, visits=None if exact else VISITS)
        deviation = np.maximum(self.amount * distance / np.sqrt(p), self.floor)
        facts: dict[str, Any] = {"neighbours": k}
        if not exact:
            facts["neighbours_sought_among"] = VISITS * BLOCK
        warnings = () if k == self.neighbours else (f"there are no more than {k} neighbours",)
        drawn = deviation[:, None] * rng.standard_normal((n, p))
        present = ~np.isnan(z)
        total = (deviation**2) @ present
        return Noise(drawn, total / np.maximum(present.sum(axis=0), 1), facts, warnings)
