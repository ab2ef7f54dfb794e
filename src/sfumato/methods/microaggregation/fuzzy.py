"""Fuzzy clusters: a record's group is drawn by its memberships."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...kernels.micro.fuzzy import assign, fuzzy_c_means
from ...kernels.micro.size_repair import repair
from .base import Grouping, Microaggregator


class Fuzzy(Microaggregator):
    """Fuzzy c-means: each record's group is drawn by its membership in the clusters.

    Whoever knows a record's values does not know its group for certain, at the price of more loss
    than crisp groups have. What is drawn is then repaired: records are moved, at the least cost,
    until every group has k to 2k - 1. The result is a partition like any other.
    """

    name: ClassVar[str] = "fuzzy"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Torra & Miyamoto 2004, Evaluating fuzzy clustering algorithms for microdata protection; "
        "Bezdek 1981"
    )

    clusters: int | None = Field(
        None, ge=1, description="how many clusters; records / k unless given"
    )
    exponent: float = Field(
        1.5, gt=1, le=10, description="fuzziness: 1 would be crisp, 2 is usual for few clusters"
    )
    draw: bool = Field(
        True, description="draw the cluster by membership; else the highest is taken"
    )
    neighbours: int = Field(
        16, ge=1, le=1000, description="nearest clusters a record may belong to"
    )
    rounds: int = Field(100, ge=1, description="rounds at most, to find the clusters")

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        points, n = space.points, len(space)
        clusters = min(self.clusters or n // self.k, n)
        found = fuzzy_c_means(points, clusters, self.exponent, self.neighbours, self.rounds, rng)
        uniform = rng.random(n) if self.draw else None
        drawn = assign(points, found.centres, self.exponent, self.neighbours, uniform)
        nearest = assign(points, found.centres, self.exponent, self.neighbours, None)
        facts = {
            "clusters": len(found.centres),
            "rounds": found.rounds,
            "settled": found.settled,
            "drawn_elsewhere": int(np.count_nonzero(drawn != nearest)),
        }
        return Grouping(repair(points, drawn, self.k), facts)
