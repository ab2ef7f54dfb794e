"""Recursive matching: pairs, then pairs of pairs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...kernels.micro.matching import recursive_matching
from .base import Microaggregator


class RecursiveMatching(Microaggregator):
    """Recursive matching: records in pairs, pairs in pairs, until groups have k.

    Each level seeks pairs of least total squared distance among the nearest neighbours of each
    record: near-optimal, not proven optimal. Groups have the least power of two that is k or more
    (8 for k = 5), so this suits k = 2, 4, 8 and 16; a few differ where a number was odd.
    """

    name: ClassVar[str] = "matching"
    paper: ClassVar[str] = (
        "Takemura 2002, Local recoding and record swapping by maximum weight matching for "
        "disclosure control of microdata sets"
    )

    neighbours: int = Field(
        23, ge=1, le=1000, description="nearest neighbours among which pairs are sought"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        return recursive_matching(space.points, self.k, self.neighbours)
