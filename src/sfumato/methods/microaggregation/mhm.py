"""MHM: the best cut of a tour through the records."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...kernels.groups import group_means
from ...kernels.micro.mdav import mdav
from ...kernels.micro.ordering import cut_ordering
from ...kernels.micro.tours import group_tour, nearest_point_tour
from ...progress import report
from .base import Grouping, Microaggregator


class Mhm(Microaggregator):
    """Multivariate Hansen-Mukherjee: the best cut of a tour into groups of k to 2k - 1.

    A tour lists the records so that neighbours are alike: MDAV's groups one after another, each
    followed by one near it ("mdav", never worse than MDAV itself), or a walk to the nearest record
    not yet visited ("nearest-point"). A shortest path finds its best cut. Further rounds list the
    groups so found one after another and cut again, as long as that lowers the loss.
    """

    name: ClassVar[str] = "mhm"
    paper: ClassVar[str] = (
        "Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz & Sebe 2006, Efficient multivariate "
        "data-oriented microaggregation"
    )

    tour: Literal["mdav", "nearest-point"] = Field(
        "mdav", description="how the records are put in order"
    )
    rounds: int = Field(
        1, ge=1, le=10_000, description="tours to cut at most; 1 is the published method"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        points = space.points
        if self.tour == "mdav":
            start = mdav(space.numbers, space.codes, space.code_weights, self.k)
            labels = cut_ordering(points, group_tour(points, start), self.k)
        else:
            labels = cut_ordering(points, nearest_point_tour(points), self.k)
        done, loss = 1, _loss(points, labels)
        while done < self.rounds:
            report("cutting tours", done, self.rounds)
            again = cut_ordering(points, group_tour(points, labels), self.k)
            lower = _loss(points, again)
            done += 1
            if lower >= loss:
                break
            labels, loss = again, lower
        return Grouping(labels, {"rounds": done})


def _loss(points: np.ndarray, labels: np.ndarray) -> float:
    return float(np.square(points - group_means(labels, points)[labels]).sum())
