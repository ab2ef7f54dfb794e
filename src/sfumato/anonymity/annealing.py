"""Simulated annealing over groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ..kernels.classes.annealing import REFORMED, anneal, schedule, walk
from ..kernels.classes.moves import groups_of, numbered
from ..kernels.classes.near import near_records
from .cheap_groups import Clock, Improvement, Priced

COLD = 0.05
"""Share of the search, at its end, in which only what helps is done."""


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
