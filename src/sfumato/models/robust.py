"""Robust Bayes estimation: tables of a network from records that are known in part, without a
belief about why (Ramoni & Sebastiani 2001).

Every record that may have a state is first counted to it, then to each other state in turn: that
bounds the state's probability. The bounds are collapsed to one value, each extreme weighed by how
often its state occurs among the records that are known for sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from .axis import Axis
from .network import FEWEST, backbone
from .records import Extremes, Node, Records

Estimation = Annotated[
    Literal["shares", "robust"],
    Field(
        description="how cells that are known in part count: in shares by frequency (expectation "
        "maximization), or at their extremes (robust Bayes estimation)"
    ),
]


def bounds(
    axis: Axis, level: int, extremes: Extremes, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least, collapsed and greatest probability of each state among those below its own coarser
    one."""
    above = axis.above(level)
    counted = extremes.sure + prior
    total = _summed(counted, above)[..., above]
    # All open records of a state go there, or all that can to its siblings.
    greatest = (counted + extremes.open) / (total + extremes.open + extremes.forced)
    least = counted / (total + extremes.away)
    weight, middle = counted / total, np.zeros_like(total)
    for one in range(above.size):
        inside = np.flatnonzero((above == above[one]) & (np.arange(above.size) != one))
        # Its siblings share what it leaves, by what is sure of them.
        rest = (1 - greatest[..., [one]]) / np.maximum(total - counted, FEWEST)[..., [one]]
        middle[..., inside] += weight[..., [one]] * counted[..., inside] * rest
        middle[..., one] += weight[..., one] * greatest[..., one]
    return least, middle, greatest


def _summed(counts: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Counts of states added up to the coarser ones."""
    found = np.zeros((*counts.shape[:-1], int(above.max()) + 1))
    np.add.at(np.moveaxis(found, -1, 0), above, np.moveaxis(counts, -1, 0))
    return found


def fit_robust(
    records: Records, nodes: Sequence[Node], parents: Sequence[Sequence[int]], strength: float
) -> tuple[tuple[np.ndarray, ...], float]:
    """The tables of a structure, and how far bounds are apart in the mean over all entries."""
    tables, apart = [], []
    for i, node in enumerate(nodes):
        axis = records.axes[node.axis]
        family = [*(nodes[p] for p in parents[i]), node]
        extremes = records.extremes(family)
        alone = extremes.sure.reshape(-1, extremes.sure.shape[-1]).sum(axis=0)
        prior = strength * backbone(axis, node.level, alone)
        low, middle, high = bounds(axis, node.level, extremes, prior)
        tables.append(middle)
        apart.append((high - low).ravel())
    return tuple(tables), float(np.concatenate(apart).mean())
