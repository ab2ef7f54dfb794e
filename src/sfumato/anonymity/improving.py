"""Searches that improve groups: tabu search, simulated annealing, and a genetic one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ..kernels.classes.annealing import REFORMED, anneal, schedule, walk
from ..kernels.classes.genetic import Breeder
from ..kernels.classes.moves import groups_of, numbered
from ..kernels.classes.near import near_records
from ..kernels.classes.tabu import memory, search
from .cheap_groups import Clock, Improvement, Priced

COLD = 0.05
"""Share of the search, at its end, in which only what helps is done."""


class Tabu(Improvement):
    """Tabu search: the best move between groups, even a bad one, that is not forbidden.

    It works on a window of five neighbouring groups at a time. Two or three of them are formed
    anew; then the best move of a record or swap of two is made, step by step, and who has moved
    stays for the next `tenure` steps. The window is left as it was at its best, so that the result
    is never worse than its start; a window that was begun is finished, even if that takes a few
    steps more than were asked for. It depends on the seed and the number of steps, not on the
    machine, unless `seconds` ends it.
    """

    name: ClassVar[str] = "tabu"
    paper: ClassVar[str] = (
        "Glover 1989, Tabu search, part I; Katirai 2006 names it as a search to come"
    )
    usual_steps: ClassVar[float] = 5.0

    tenure: int = Field(
        5, ge=0, le=10**6, description="steps for which a record that has moved stays"
    )

    def improve(
        self, priced: Priced, labels: np.ndarray, clock: Clock, rng: np.random.Generator
    ) -> np.ndarray:
        near = near_records(priced.prices, priced.states, rng)
        groups = groups_of(priced.prices, priced.states, labels, self.k)
        on, mind = walk(groups, near, int(rng.integers(2**63))), memory(groups)
        clock.run(lambda steps, share: int(search(on, mind, steps, self.tenure)))
        return numbered(groups.label)


class Annealing(Improvement):
    """Simulated annealing: moves and swaps between groups, bad ones ever more rarely.

    A step moves a record to a group nearby, lets two records change places, or pools two or three
    neighbouring groups and forms them anew. What raises the loss is done with a chance that falls
    with the rise and with time. The result is never worse than its start. It depends on the seed
    and the number of steps, not on the machine, unless `seconds` ends it.
    """

    name: ClassVar[str] = "annealing"
    paper: ClassVar[str] = (
        "Kirkpatrick, Gelatt & Vecchi 1983, Optimization by simulated annealing; "
        "Winkler 2002, Using simulated annealing for k-anonymity"
    )
    usual_steps: ClassVar[float] = 50.0

    heat: float = Field(
        0.3, gt=0, description="rise that is usual at first, as a share of a record's mean loss"
    )
    cooling: float = Field(
        0.95, gt=0, le=1, description="by how much the heat falls with each hundredth of the time"
    )

    def improve(
        self, priced: Priced, labels: np.ndarray, clock: Clock, rng: np.random.Generator
    ) -> np.ndarray:
        near = near_records(priced.prices, priced.states, rng)
        groups = groups_of(priced.prices, priced.states, labels, self.k)
        on = walk(groups, near, int(rng.integers(2**63)))
        hot = self.heat * float(groups.cost.sum()) / len(labels)
        best, cost = labels, int(groups.cost.sum())

        def take(steps: int, share: float) -> int:
            nonlocal best, cost
            heat = schedule(hot, self.cooling, share) if share < 1 - COLD else 0.0
            anneal(on, steps, heat, REFORMED)
            now = int(groups.cost.sum())
            if now < cost:
                best, cost = groups.label.copy(), now
            return steps

        clock.run(take)
        return numbered(best)


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
