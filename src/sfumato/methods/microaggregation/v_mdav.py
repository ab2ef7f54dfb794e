"""V-MDAV: MDAV whose groups may grow."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...kernels.micro.v_mdav import v_mdav
from .base import Microaggregator


class VMdav(Microaggregator):
    """Variable-size MDAV: groups of k that take in records nearer to them than to others.

    The record farthest from the average takes its k - 1 nearest. While the nearest free record is
    nearer to the group than `gain` times its distance to any other free record, it joins, up to
    2k - 1. Fewer than k records left over go to their nearest groups; a group that this makes
    larger than 2k - 1 is split in two, where the paper leaves it, which loses no information.
    """

    name: ClassVar[str] = "v-mdav"
    paper: ClassVar[str] = (
        "Solanas & Martinez-Balleste 2006, V-MDAV: a multivariate microaggregation with variable "
        "group size"
    )

    gain: float = Field(
        0.2,
        ge=0,
        le=1e6,
        description="readiness to take records in: 0 never, 0.2 scattered data, 1.1 clusters",
    )

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        return v_mdav(space.points, self.k, self.gain)
