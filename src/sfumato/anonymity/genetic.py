"""A genetic search for groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ..kernels.classes.genetic import Breeder
from ..kernels.classes.near import near_records
from .cheap_groups import Clock, Improvement, Priced


class GeneticRecoding(Improvement):
    """Genetic search: whole groups are inherited from two partitions, and mutated.

    Every step is a child: it takes each part of the table from the parent that groups it better,
    and some of its groups are changed, which is taken back where it did not pay. It replaces its
    parent if it is better, so that the result is never worse than its start. It depends on the seed
    and the number of steps, not on the machine, unless `seconds` ends it.
    """

    name: ClassVar[str] = "genetic-recoding"
    paper: ClassVar[str] = (
        "Falkenauer 1998, Genetic Algorithms and Grouping Problems; Whitley, Hains & Howe 2009; "
        "Katirai 2006 names it as a search to come"
    )

    population: int = Field(4, ge=2, le=1000, description="partitions kept alive")
    mutation: float = Field(
        2.0, gt=0, le=100, description="changes tried in a child, for each of its groups"
    )

    def _steps(self, records: int) -> int | None:
        if self.steps is None and self.seconds == 0:
            return 25 * self.population
        return self.steps

    def improve(
        self, priced: Priced, labels: np.ndarray, clock: Clock, rng: np.random.Generator
    ) -> np.ndarray:
        near = near_records(priced.prices, priced.states, rng)
        breeder = Breeder(
            priced.prices, priced.states, near, labels, self.k, self.population, self.mutation, rng
        )

        def take(steps: int, share: float) -> int:
            children = min(self.population, steps)
            breeder.breed(children)
            return children

        clock.run(take, slices=1)
        return breeder.best[0]
