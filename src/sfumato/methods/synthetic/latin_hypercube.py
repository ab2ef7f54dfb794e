"""Latin hypercube samples with the rank correlations of the original."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...kernels.statistics.rank_refinement import refined_ranks
from ...kernels.statistics.tails import inverse
from .ranks import Points, RankModel, RankSynthesizer


class LatinHypercube(RankSynthesizer):
    """Draw records by Latin hypercube sampling with refined rank correlations.

    The range of each column is cut into as many equally likely strata as there are rows, and every
    stratum is drawn from once, so that columns keep their distributions closer than by chance. The
    strata of the columns are matched by a random order that is given the original's rank
    correlations (Lasko 2.12, read as correlations of ranks), again and again while that brings them
    closer, until the largest gap is within `tolerance`. Ties are reckoned with: the gap is that of
    the values as they are published. Values come from the inverse empirical distributions (2.13).

    `within = "middle"` takes i / (m + 1) as printed. With as many rows as the original these are
    the original's own values, each exactly once: then it is a swap of values between records, and
    every extreme is published. "random" draws within each stratum.

    All kinds but sets and text take part, and missing values too, as for `gaussian-copula`.
    """

    name: ClassVar[str] = "latin-hypercube"
    aliases: ClassVar[tuple[str, ...]] = ("lhs",)
    paper: ClassVar[str] = (
        "Dandekar, Cohen & Kirkendall 2002, Sensitive micro data protection using Latin hypercube "
        "sampling technique; Iman & Conover 1982, A distribution-free approach to inducing rank "
        "correlation among input variables; Lasko 2007, 2.12-2.13"
    )

    within: Literal["random", "middle"] = Field(
        "random", description="where in its stratum a value lies; middle: i / (m + 1), as printed"
    )
    tolerance: float = Field(
        1e-3, gt=0, le=1, description="largest gap of a rank correlation to be content with"
    )
    rounds: int = Field(20, ge=0, le=200, description="most rounds of rank correlation refinement")

    def points(self, model: RankModel, rows: int, rng: np.random.Generator) -> Points:
        middles = np.arange(1.0, rows + 1) / (rows + 1)
        found = refined_ranks(
            model.latent,
            model.ranks,
            np.column_stack([_published_ranks(middles, column) for column in model.numbers.T]),
            rng,
            tolerance=self.tolerance,
            rounds=self.rounds,
        )
        facts: dict[str, Any] = {
            "largest gap of a rank correlation": found.gap,
            "rounds of refinement": found.rounds,
        }
        warnings: tuple[str, ...] = ()
        if found.gap > self.tolerance:
            warnings = (
                f"refinement ended with a rank correlation off by {found.gap:.2g}, more than "
                f"{self.tolerance:g}: with few rows, many ties or columns that determine one "
                "another no order comes closer",
            )
        if self.within == "middle":
            return Points((found.ranks + 1.0) / (rows + 1), facts, warnings)
        return Points((found.ranks + rng.random(found.ranks.shape)) / rows, facts, warnings)


def _published_ranks(middles: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The mean rank of what is looked up at each of the rising points, ties alike."""
    values = inverse(middles, numbers, interpolate=False)
    _, start, count = np.unique(values, return_index=True, return_counts=True)
    return np.repeat(start + (count - 1) / 2, count)
