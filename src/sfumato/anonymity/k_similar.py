"""k-Similar: clusters of k to 2k - 1, by dividing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from .farthest_pair import DividingAmbiguator

if TYPE_CHECKING:
    import numpy as np

    from ..data.codec import Matrix
    from ..data.partition import Partition


class KSimilar(DividingAmbiguator):
    """Groups of k to 2k - 1 similar records, dividing the most distant ones first.

    After the idea of Sweeney's k-Similar: records are compared by how far they must be generalized
    to become alike, and groups are divided until none can be divided into two of k, so that they
    end with k to 2k - 1. How a group is divided is ours: around its two most distant records, each
    of the others going with the nearer one, except that a side which would have fewer than k takes
    over those of the other side's records that lean most to it. The distance is farthest-pair's.
    """

    name: ClassVar[str] = "k-similar"
    paper: ClassVar[str] = (
        "Sweeney 2001, Computational disclosure control: a primer on data privacy protection "
        "(k-Similar)"
    )

    measure: Literal["ncp", "height", "column-mi", "value-mi"] = Field(
        "height",
        description="what joining records loses: share of the domain, steps of the hierarchy, "
        "or what columns or values tell about the target",
    )

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        return self.divided(x, share=True)
