"""A genetic search for partitions into groups of k to 2k - 1 records that cost least to publish.

A grouping genetic algorithm (Falkenauer 1998): what is inherited is whole groups. The population
starts as copies of one partition, each mutated all over. Two partitions fall into the smallest sets
of records that are unions of groups in both; a child takes each such set from the parent whose
groups there are cheaper (`cross`, in genetic.py). It is then mutated: a share of its groups is
moved, swapped or formed anew, at first also where that costs, then only where it helps, and what
did not pay is taken back set by set. A child replaces its first parent only if it is better.

The children of a generation have the same parents to choose from and random numbers of their own,
so that both cores can breed them and the result does not depend on how many there are.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..arrays import Floats, Ints
from ..joins.lub import States
from ..joins.prices import Prices
from ..micro.genetic import cross
from ..threads import cores
from .annealing import REFORMED, anneal, walk
from .moves import groups_of, numbered, priced_groups
from .near import Near

HEAT = 0.3
"""What a mutation may cost, as a share of what a record costs on average."""
FREELY = 0.25
"""Share of a child's mutations that may cost."""

Individual = tuple[Ints, Floats]
"""Labels 0..g-1, and the cost of each group."""


class Breeder:
    """A population of partitions of the same records."""

    def __init__(
        self,
        prices: Prices,
        states: States,
        near: Near,
        labels: Ints,
        k: int,
        population: int,
        mutation: float,
        rng: np.random.Generator,
    ) -> None:
        self.prices, self.states, self.near, self.k = prices, states, near, k
        self.mutation = mutation
        self.rng = rng
        start = (labels, self._costs(labels))
        self.heat = HEAT * float(start[1].sum()) / labels.size
        seeds = rng.integers(2**63, size=population).tolist()
        self.living = [start, *(self._mutant(start, seed) for seed in seeds[1:])]

    @property
    def best(self) -> Individual:
        """The cheapest of all partitions."""
        return min(self.living, key=lambda one: float(one[1].sum()))

    def breed(self, children: int) -> None:
        """Let the first `children` individuals have a child with another one each."""
        size = len(self.living)
        partners = self.rng.integers(size - 1, size=children).tolist()
        seeds = self.rng.integers(2**63, size=children).tolist()
        parents = list(self.living)

        def child(i: int) -> Individual:
            other = parents[partners[i] + (partners[i] >= i)]
            bred = cross(*parents[i], *other)
            return self._mutant(bred, seeds[i])

        with ThreadPoolExecutor(cores()) as pool:
            for i, born in enumerate(pool.map(child, range(children))):
                if born[1].sum() < parents[i][1].sum():
                    self.living[i] = born

    def _mutant(self, one: Individual, seed: int) -> Individual:
        """A mutated individual that is no worse, set by set."""
        labels, costs = one
        on = walk(groups_of(self.prices, self.states, labels, self.k), self.near, seed)
        times = max(int(self.mutation * costs.size), 4)
        anneal(on, max(int(FREELY * times), 1), self.heat, REFORMED)
        anneal(on, times, 0.0, REFORMED)
        changed = numbered(on.groups.label)
        return cross(labels, costs, changed, self._costs(changed))

    def _costs(self, labels: Ints) -> Floats:
        _, size, cost = priced_groups(self.prices, self.states, labels)
        # Whole numbers below 2 ** 53 are exact as floats.
        return (size * cost).astype(np.float64)
