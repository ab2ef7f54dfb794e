"""Projected microaggregation: records in the order of one direction."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...data.points.space import Space
from ...errors import MethodError, suggest
from ...kernels.micro.ordering import cut_ordering
from ...kernels.micro.tours import principal_direction, projection_order
from .base import Grouping, Microaggregator


class Projected(Microaggregator):
    """The best cut of the records in the order of a projection.

    Records are sorted along the first principal component, by the sum of their z-scores, or by a
    sum with coefficients of your own. A shortest path cuts them into groups of k to 2k - 1 with the
    least information loss in all columns, which that order allows. The component points where its
    largest coordinate is positive.
    """

    name: ClassVar[str] = "projected"
    paper: ClassVar[str] = (
        "Torra 2013, Masking Methods (projected microaggregation); Hansen & Mukherjee 2003"
    )

    projection: Literal["principal-component", "z-scores"] = Field(
        "principal-component", description="what records are sorted by"
    )
    direction: dict[str, Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(
        default_factory=dict,
        description="sort by the sum of these coefficients times the scaled, weighted columns",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.direction and self.projection != "principal-component":
            raise ValueError("give a projection or a direction, not both")
        if self.direction and not any(self.direction.values()):
            raise ValueError("every coefficient of the direction is 0")
        return self

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        points = space.points
        warnings: tuple[str, ...] = ()
        if self.direction or self.projection == "z-scores":
            vector = self._coefficients(space)
            left = [name for j, name in enumerate(space.names) if not _has_numbers(space, j)]
            warnings = tuple(
                f"the categories of {name} have no part in the order of the records"
                for name in left
            )
        else:
            vector = principal_direction(points)
        labels = cut_ordering(points, projection_order(points, vector), self.k)
        return Grouping(labels, {}, warnings)

    def _coefficients(self, space: Space) -> np.ndarray:
        numeric = {n: j for j, n in enumerate(space.names) if _has_numbers(space, j)}
        wanted = self.direction or dict.fromkeys(numeric, 1.0)
        if not wanted:
            raise MethodError(
                "projected found no numbers to sum up among its columns",
                remedy='projection = "principal-component", which takes categories too, or mhm',
            )
        vector = np.zeros(space.points.shape[1])
        for name, coefficient in wanted.items():
            if name not in numeric:
                close = suggest(name, list(numeric))
                what = "has categories" if name in space.names else "is not among its columns"
                raise MethodError(
                    f"projected has a coefficient for {name!r}, which {what}",
                    remedy=f"did you mean {close[0]!r}?"
                    if close and name not in space.names
                    else "remove it from `direction`",
                )
            vector[space.owner == numeric[name]] = coefficient
        return vector


def _has_numbers(space: Space, column: int) -> bool:
    """Whether a column is one coordinate; categories have none (all alike) or two or more."""
    return int((space.owner == column).sum()) == 1
