"""The best groups of one variable."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...data.points.space import Space
from ...errors import MethodError
from ...kernels.micro.ordering import optimal_univariate
from .base import Microaggregator


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
