"""Gibbs sampling in a network, column by column (Geman & Geman 1984).

A sampler that draws one field at a time cannot move in an augmented network: a coarser field
follows from the finer one. So a whole column is drawn at a time, its finest state given all other
columns. What is averaged are the probabilities that states are drawn by, not the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ..progress import report
from .network import FEWEST, Engine, Network

Inference = Annotated[
    Literal["exact", "gibbs"],
    Field(description="how probabilities are found: exactly, or by Gibbs sampling"),
]
CHAINS = 32
BURN_IN = 20
SWEEPS = 80


class Gibbs:
    """Posterior probabilities as `Engine` gives them, by sampling."""

    def __init__(self, network: Network, rng: np.random.Generator) -> None:
        self.network, self._rng = network, rng
        nodes, parents = network.nodes, network.parents
        self._near = [
            [
                i
                for i, node in enumerate(nodes)
                if node.axis == a or any(nodes[p].axis == a for p in parents[i])
            ]
            for a in range(len(network.axes))
        ]

    def posterior(
        self, likelihoods: Sequence[np.ndarray | None], asked: Sequence[int]
    ) -> list[np.ndarray]:
        """The probability of each finest state of the asked columns."""
        axes = self.network.axes
        known = [
            np.ones(axes[a].size()) if one is None else np.asarray(one)
            for a, one in enumerate(likelihoods)
        ]
        open_ones = [a for a, one in enumerate(known) if np.count_nonzero(one) > 1]
        states = np.column_stack([self._drawn(np.tile(one, (CHAINS, 1))) for one in known])
        sums = [one / one.sum() if a not in open_ones else 0 * one for a, one in enumerate(known)]
        for sweep in range(BURN_IN + SWEEPS if open_ones else 0):
            for a in open_ones:
                chance = self._chances(states, a) * known[a]
                chance /= chance.sum(axis=1, keepdims=True)
                states[:, a] = self._drawn(chance)
                if sweep >= BURN_IN:
                    sums[a] = sums[a] + chance.mean(axis=0) / SWEEPS
        return [sums[a] for a in asked]

    def posteriors(
        self, patterns: Sequence[Sequence[np.ndarray | None]], asked: Sequence[Sequence[int]]
    ) -> list[list[np.ndarray]]:
        """The same for many evidences."""
        found = []
        for i, (pattern, wanted) in enumerate(zip(patterns, asked, strict=True)):
            report("sampling", i, len(patterns))
            found.append(self.posterior(pattern, wanted))
        return found

    def _chances(self, states: np.ndarray, a: int) -> np.ndarray:
        """(chains, states): how probable each state of a column is given the others, but for a
        factor."""
        network, size = self.network, self.network.axes[a].size()
        tried = np.repeat(states, size, axis=0)
        tried[:, a] = np.tile(np.arange(size), len(states))
        bits = np.zeros(len(tried))
        for i in self._near[a]:
            axis, level = network.nodes[i]
            at = [
                network.axes[other].up[up][tried[:, other]]
                for other, up in (network.nodes[p] for p in network.parents[i])
            ]
            own = network.axes[axis].up[level][tried[:, axis]]
            bits += np.log2(np.maximum(network.tables[i][(*at, own)], FEWEST))
        rows = bits.reshape(-1, size)
        return np.asarray(np.exp2(rows - rows.max(axis=1, keepdims=True)))

    def _drawn(self, chances: np.ndarray) -> np.ndarray:
        """One state for each row, by its chances."""
        ends = np.cumsum(chances, axis=1)
        aim = self._rng.random((len(chances), 1)) * ends[:, -1:]
        return np.asarray((ends <= aim).sum(axis=1))


def engine(network: Network, inference: str, rng: np.random.Generator) -> Engine | Gibbs:
    """What answers questions about a network."""
    return Gibbs(network, rng) if inference == "gibbs" else network.engine
