"""Bayesian networks by brute force: the joint distribution of all columns, state by state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sfumato.models.network import Network


def joint(network: Network) -> np.ndarray:
    """The probability of every combination of finest states, from the tables one by one."""
    sizes = [axis.size() for axis in network.axes]
    found = np.zeros(sizes)
    for states in itertools.product(*map(range, sizes)):
        chance = 1.0
        for i, (axis, level) in enumerate(network.nodes):
            at = []
            for p in network.parents[i]:
                a, up = network.nodes[p]
                at.append(int(network.axes[a].up[up][states[a]]))
            chance *= float(network.tables[i][(*at, network.axes[axis].up[level][states[axis]])])
        found[states] = chance
    return found


def weighed(network: Network, likelihoods: Sequence[np.ndarray | None]) -> np.ndarray:
    """The joint distribution times the evidence, each likelihood in parts of its largest entry."""
    found = joint(network)
    for a, likelihood in enumerate(likelihoods):
        if likelihood is not None:
            shape = [1] * found.ndim
            shape[a] = -1
            found = found * (likelihood / likelihood.max()).reshape(shape)
    return found


def posterior(network: Network, likelihoods: Sequence[np.ndarray | None], asked: int) -> np.ndarray:
    """The probability of each state of one column, by summing out the others."""
    found = weighed(network, likelihoods)
    others = tuple(a for a in range(found.ndim) if a != asked)
    total = found.sum(axis=others)
    return np.asarray(total / total.sum())


def at_least(k: int, f: int, a: float, p: float, sample: float, population: float) -> float:
    """P(f + U >= k) where U is Poisson with a gamma mean, by summing its probabilities."""
    shape, rate = a + f, a / p + sample
    outside = population - sample
    total = 0.0
    for u in range(k - f):
        log = (
            math.lgamma(shape + u)
            - math.lgamma(shape)
            - math.lgamma(u + 1)
            + shape * math.log(rate / (rate + outside))
            + u * math.log(outside / (rate + outside))
        )
        total += math.exp(log)
    return 1.0 - total


def covering(
    population: Sequence[Sequence[object]], shown: Sequence[Sequence[set[object]]]
) -> list[int]:
    """For each released record, how many people it covers, one by one."""
    return [
        sum(all(v in s for v, s in zip(person, record, strict=True)) for person in population)
        for record in shown
    ]


def bounds(
    rows: Sequence[tuple[Sequence[int], Sequence[int]]], parents: int, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest probability of a child's state given its parent's, over all ways to settle
    records of which several values of both are possible."""
    low, high = np.ones((parents, prior.size)), np.zeros((parents, prior.size))
    for settled in itertools.product(*(itertools.product(*row) for row in rows)):
        counts = np.tile(prior, (parents, 1)).astype(float)
        for parent, child in settled:
            counts[parent, child] += 1
        share = counts / counts.sum(axis=1, keepdims=True)
        low, high = np.minimum(low, share), np.maximum(high, share)
    return low, high
