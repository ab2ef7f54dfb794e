"""A genetic search for the partition of least loss."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...kernels.micro.genetic import genetic
from .base import Grouping, Microaggregator


class Genetic(Microaggregator):
    """Genetic search: partitions are crossed group by group and mutated, from MDAV on.

    A child takes each part of the table from the parent that groups it better; neighbouring groups
    are cut anew at random, and what does not pay is taken back. The result is never worse than
    MDAV's, and its time is in proportion to records x population x generations. Groups have
    k to 2k - 1 records.
    """

    name: ClassVar[str] = "genetic"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Falkenauer 1998, Genetic Algorithms and Grouping Problems; Solanas et al. 2006; "
        "Domingo-Ferrer & Mateo-Sanz 2002; Whitley, Hains & Howe 2009"
    )

    population: int = Field(10, ge=2, le=1000, description="partitions kept alive")
    generations: int = Field(100, ge=1, description="times that each is bred anew")

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        labels, history = genetic(space.points, self.k, self.population, self.generations, rng)
        saved = 1 - history[-1] / history[0] if history[0] > 0 else 0.0
        return Grouping(labels, {"saved_of_mdav": saved})
