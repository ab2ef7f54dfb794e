"""Groups cut from an order of the records (Hansen & Mukherjee): of one variable, or of a tour."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...errors import MethodError
from ...kernels.groups import group_means
from ...kernels.micro.mdav import mdav
from ...kernels.micro.ordering import cut_ordering, optimal_univariate
from ...kernels.micro.tours import group_tour, nearest_point_tour
from ...progress import report
from .base import Grouping, Microaggregator


class OptimalUnivariate(Microaggregator):
    """The groups of one column with the least information loss there is.

    Sorted values are cut into runs of k to 2k - 1 by a shortest path; no partition into groups of
    k or more has a lower sum of squared errors. Equal values may be split between two groups, by
    row. For several columns the problem is NP-hard: there are only heuristics.
    """

    name: ClassVar[str] = "optimal-univariate"
    paper: ClassVar[str] = (
        "Hansen & Mukherjee 2003, A polynomial algorithm for optimal univariate microaggregation"
    )
    example: ClassVar[dict[str, Any]] = {"columns": ["age"], "k": 5}

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        if len(space.names) > 1:
            widths = np.bincount(space.owner, minlength=len(space.names))
            fitting = [name for name, width in zip(space.names, widths, strict=True) if width == 1]
            one = f'columns = ["{fitting[0]}"]; or ' if fitting else ""
            raise MethodError(
                f"optimal-univariate takes one column, not {', '.join(space.names)}",
                remedy=f"{one}use projected or mhm for all of them together, or "
                "individual-ranking for each alone (which gives no k-anonymity)",
            )
        points = space.points
        if points.shape[1] > 1:
            raise MethodError(
                f"the categories of column {space.names[0]!r} have no order to cut",
                remedy="use mdav, mhm or v-mdav",
            )
        # A column with one category has no coordinate: its records are all in one place.
        return optimal_univariate(points[:, 0] if points.size else np.zeros(len(space)), self.k)


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
