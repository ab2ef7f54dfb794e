"""From groups that a construction has closed to a partition that the local search can start from.

Large groups are split, for a group is never cheaper than its parts; records that stayed open join
the group that they burden least.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from ..joins.lub import Joins, States, bounds_of, settle_open
from ._rules import Rules, group_keeps

MOST_COMPARED = 4096
"""Groups that a record without one is compared with, at most."""


def in_order(summands: Floats) -> float:
    """Their sum, added one after another, whatever the machine."""
    return float(np.cumsum(summands)[-1]) if summands.size else 0.0


def total_cost(joins: Joins, states: States, labels: Ints) -> float:
    """What the records cost at the least upper bounds of their groups; -1 is suppressed whole."""
    _, size, cells = bounds_of(joins, states, labels.astype(np.int64), int(labels.max()) + 1)
    hidden = labels.size - int(size.sum())
    return in_order((size[:, None] * cells).ravel()) + hidden * in_order(joins.star)


def split_large(order: Ints, labels: Ints, sizes: Ints, k: int, rules: Rules | None) -> Ints:
    """Groups of 2k or more in parts of k and a little more, each keeping the rules.

    `order` has the records group by group, neighbours side by side. Under rules they are sorted by
    confidential value first and dealt out: all parts look alike.
    """
    starts, parts = np.cumsum(sizes) - sizes, np.maximum(sizes // k, 1)
    found = np.empty(labels.size, np.int64)
    g = labels[order]
    at = np.arange(labels.size) - starts[g]
    if rules is None:
        found[order] = (np.cumsum(parts) - parts)[g] + at * parts[g] // sizes[g]
        return found
    for large in np.flatnonzero(parts > 1).tolist():
        rows = order[starts[large] :][: sizes[large]]
        while parts[large] > 1 and not all(
            group_keeps(rules, rows[p :: parts[large]].copy()) for p in range(parts[large])
        ):
            parts[large] = parts[large] * 3 // 4
    found[order] = (np.cumsum(parts) - parts)[g] + at % parts[g]
    return found


def partition_from(
    joins: Joins, states: States, labels: Ints, k: int, rules: Rules | None, place: Ints, seed: int
) -> Ints:
    """Labels 0, 1, ... of groups of k or more from those of a construction; -1 is open.

    `place` sorts records so that neighbours are side by side.
    """
    labels = labels.astype(np.int64)
    groups = int(labels.max()) + 1
    if groups == 0:
        return np.zeros(labels.size, dtype=np.int64)
    if (labels < 0).any():
        lub, size, cells = bounds_of(joins, states, labels, groups)
        few = np.random.default_rng(seed).permutation(groups)[:MOST_COMPARED]
        settle_open(joins, states, labels, few, lub, size, np.cumsum(cells, axis=1)[:, -1].copy())
    codes = () if rules is None else rules.codes.T[::-1]
    order = np.lexsort([place, *codes, labels])
    return split_large(order, labels, np.bincount(labels, minlength=groups), k, rules)
