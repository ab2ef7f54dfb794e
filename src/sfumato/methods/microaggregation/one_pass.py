"""One-pass k-means, on the whole table or within blocks of it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...kernels.micro.one_pass import median_blocks, one_pass
from ...progress import report
from .base import Microaggregator


class OnePassKMeans(Microaggregator):
    """One-pass k-means: each record joins the nearest of n / k centroids, then sizes are adjusted.

    Random records begin the groups. The others come in random order, join the nearest centroid and
    draw it towards them. Groups above k then give up the records that are farthest from their
    centroid; these fill the groups below k, and what is left goes to the nearest group. Its time
    grows with the square of the records divided by k.
    """

    name: ClassVar[str] = "one-pass-k-means"
    aliases: ClassVar[tuple[str, ...]] = ("oka",)
    random: ClassVar[bool] = True
    paper: ClassVar[str] = "Lin & Wei 2008, An efficient clustering method for k-anonymization"

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        return _grouped(space.points, self.k, rng)


class HybridKMeans(Microaggregator):
    """One-pass k-means within blocks, which are cut as Mondrian cuts them.

    The table is halved at the median of the coordinate that varies most until no part has more than
    `block` records, and each part is grouped by itself: the time grows with the records alone, and
    the groups are somewhat worse.
    """

    name: ClassVar[str] = "hybrid-k-means"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "after Lin, Wei, Li & Hsieh 2008, A hybrid method for k-anonymization (clusters within "
        "parts of the table; the cuts are those of LeFevre, DeWitt & Ramakrishnan 2006)"
    )

    block: int = Field(1000, ge=2, description="most records of a block")

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        labels = np.empty(len(space), dtype=np.int64)
        groups = done = 0
        for rows in median_blocks(space.points, self.block, self.k):
            labels[rows] = groups + _grouped(space.points[rows], self.k, rng)
            groups += rows.size // self.k
            done += rows.size
            report("clustering", done, len(space))
        return labels


def _grouped(points: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    n = len(points)
    return one_pass(points, k, rng.permutation(n), rng.permutation(n))
