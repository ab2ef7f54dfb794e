"""Tabu search over groups."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ..kernels.classes.annealing import walk
from ..kernels.classes.moves import groups_of, numbered
from ..kernels.classes.near import near_records
from ..kernels.classes.tabu import memory, search
from .cheap_groups import Clock, Improvement, Priced


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
