"""Columns as the searches that join records want them: states, and what each state costs.

The kernel is kernels/joins/lub.py. Costs are per cell, from 0 (exact) to the column's weight
(suppressed), by one of two rules:

- "ncp": the share of the domain that a published value leaves open;
- "height": steps up from the value, divided by the steps to the top (PREC, Vinterbo's measure);
  for intervals, which have no steps, the share of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...errors import MethodError
from ...kernels.joins.ancestors import all_pairs
from ...kernels.joins.lub import (
    ANCESTORS,
    COST,
    DEPTH,
    GONE,
    INTERVAL,
    KIND,
    LEVELS,
    MANY,
    MOST_BITS,
    NO_SET,
    NO_TRAITS,
    ORDER,
    PARENT,
    POWER,
    STAR,
    STEPS,
    TABLE,
    TREE,
    VALUES,
    WHOLE,
    WIDTH,
    Joins,
)
from ...poset.trees.tree import Tree
from ...protocols import Poset, Structure
from ...structure import Ancestors, Levels, Traits
from ..codec import Coded, Matrix
from .parts import PartMatrix

CostRule = Literal["ncp", "height"]

EVERYTHING = 3
"""Bits of a suppressed set: a missing value's and another."""
SMALL_TREE = 400
"""Nodes of a tree whose least upper bounds are looked up in a table of all pairs."""
SMALL_ORDER = 1_000
"""Nodes of a partial order whose least upper bounds are."""


@dataclass(frozen=True, eq=False)
class CellCosts:
    """The records of a table as states, and the columns' joins and costs."""

    x: PartMatrix
    """The columns: as many as `joins` and `states` have."""
    joins: Joins
    states: np.ndarray
    """int64 (n, d)."""

    def __len__(self) -> int:
        return int(self.states.shape[0])


@dataclass(frozen=True, eq=False)
class Axis:
    """One column: its kind of state, the flat arrays of the kernel, and each record's state."""

    kind: int
    states: np.ndarray
    width: int
    cost: np.ndarray
    star: float = 1.0
    gap: float = 0.0
    parent: np.ndarray | None = None
    depth: np.ndarray | None = None
    table: np.ndarray | None = None
    levels: int = 0


NodeCosts = Callable[[Poset, int], np.ndarray | None]
"""Another rule: the cost of every node of a column's poset, or None to leave it as it is."""


def cell_costs(
    x: Matrix,
    *,
    by: CostRule = "ncp",
    importance: Mapping[str, float] | None = None,
    node_costs: NodeCosts | None = None,
    exact: bool = False,
) -> CellCosts:
    """States and costs of a table's chosen columns; `importance` multiplies a column's costs.

    A value that is joined part by part has a state for each part. `node_costs(poset, j)` replaces
    the costs of a tree's or partial order's nodes. `exact` costs are those published: missing is
    one more value of its column (not where values have parts), and sets of more values than a state
    has bits are listed by the search (MANY); else what is partly missing costs as much as "*", and
    such sets are taken for intervals of the values by frequency.
    """
    importance = importance or {}
    stray = [name for name in importance if name not in x.names]
    if stray:
        raise MethodError(
            f"importance names {stray[0]!r}, which is not among the columns",
            remedy=f"the columns are {', '.join(x.names)}",
        )
    x = x if isinstance(x, PartMatrix) else PartMatrix(x, by)
    axes = []
    for j, name in enumerate(x.names):
        coded = x.coded(j)
        given = node_costs(coded.poset, j) if node_costs else None
        hidden = x.table.suppressed(name)
        axis = _axis(coded, hidden, by, given, exact)
        if exact and x.of.count(x.of[j]) == 1 and (~hidden & (coded.codes == 0)).any():
            axis = _with_missing(axis, coded, ~hidden & (coded.codes == 0))
        axes.append((axis, x.shares[j] * float(importance.get(name, 1.0))))
    states = np.column_stack([axis.states for axis, _ in axes]).astype(np.int64)
    return CellCosts(x, _flat(axes), np.ascontiguousarray(states))


def _flat(axes: Sequence[tuple[Axis, float]]) -> Joins:
    head = np.zeros((len(axes), 8), dtype=np.int64)
    costs: list[np.ndarray] = []
    nodes: list[np.ndarray] = [np.zeros(1)]

    def begin(parts: list[np.ndarray], part: np.ndarray | None) -> int:
        at = sum(one.size for one in parts)
        if part is not None:
            parts.append(part.ravel())
        return at

    for j, (axis, weight) in enumerate(axes):
        head[j, KIND], head[j, WIDTH], head[j, STEPS] = axis.kind, axis.width, axis.levels
        head[j, COST] = begin(costs, axis.cost * weight)
        head[j, TABLE] = begin(nodes, axis.table)
        head[j, PARENT], head[j, DEPTH] = begin(nodes, axis.parent), begin(nodes, axis.depth)
    # Behind the cost of "*" comes what missing adds, where it is one more value.
    ends = np.array([(axis.star * weight, axis.gap * weight) for axis, weight in axes])
    head[:, STAR] = begin(costs, ends) + 2 * np.arange(len(axes))
    return Joins(head, np.concatenate(nodes).astype(np.int32), np.concatenate(costs).astype(float))


def _axis(
    coded: Coded, hidden: np.ndarray, by: CostRule, given: np.ndarray | None, exact: bool
) -> Axis:
    poset, structure, codes = coded.poset, coded.structure, coded.codes
    if structure.unchanged:
        # Every record keeps its own value: all states are alike, and cost nothing.
        return Axis(INTERVAL, np.zeros(codes.size, dtype=np.int64), 1, np.zeros(1))
    if given is None and structure.node_costs is not None:
        given = structure.node_costs(by)
    if structure.tree is not None and given is not None:
        return _tree(structure.tree, codes, hidden, given)
    if structure.ancestors is not None and given is not None:
        return _ancestors(structure.ancestors, codes, hidden, given)
    if structure.pairs is not None and given is not None:
        return _order(structure.pairs.join_table, structure.pairs.leaf_nodes, codes, hidden, given)
    if structure.levels is not None:
        return _levels(structure.levels, codes, hidden, by)
    if structure.traits is not None:
        return _power(structure.traits, codes, hidden)
    if structure.bits is not None:
        bits = structure.bits
        states = np.where(hidden, EVERYTHING, bits.bits[codes])
        return Axis(VALUES, states, bits.costs.size, bits.costs, bits.star)
    if poset.spans:
        return _interval(poset, structure, codes, hidden)
    return _values(poset, codes, hidden, exact)


def _with_missing(axis: Axis, coded: Coded, missing: np.ndarray) -> Axis:
    """The axis with missing as one more value of the domain (poset/or_missing.py)."""
    if coded.structure.unchanged:
        return axis
    values = max(coded.poset.positions.size - 1, 1)
    share, gap = (values - 1) / values, 1 / values
    if axis.kind in (VALUES, MANY):
        cost = np.append(np.concatenate(([0.0], np.arange(values) / values)), 1.0)
        states = np.where(axis.states < -1, -values - 1, axis.states)
        width = axis.width if axis.kind == VALUES else values + 2
        return replace(axis, states=states, width=width, cost=cost, levels=1)
    cost = axis.cost * share
    if coded.structure.reads != "interval":
        cost[axis.cost >= 1.0] = 1.0
    if axis.kind != ORDER:
        states = np.where(missing, NO_TRAITS if axis.kind == POWER else GONE, axis.states)
        return replace(axis, states=states, cost=cost, gap=gap)
    return _doubled(replace(axis, cost=cost), gap)


def _doubled(axis: Axis, gap: float) -> Axis:
    """An ORDER axis with a second node for each: what it is joined with a missing value."""
    assert axis.table is not None
    n = axis.width - 2
    star, gone = n, n + 1
    old = axis.table.reshape(n + 2, n + 2)
    twin = np.concatenate([np.arange(n + 2, 2 * n + 2), [star, gone]])
    table = np.full((2 * n + 2, 2 * n + 2), star, dtype=np.int32)
    table[: n + 2, : n + 2] = old
    for part in (slice(0, n), slice(n + 2, 2 * n + 2)):
        table[part, n + 2 :] = twin[old[:n, :n]]
        table[n + 2 :, part] = twin[old[:n, :n]]
        table[part, gone] = table[gone, part] = twin[:n]
    cost = np.concatenate([axis.cost, np.minimum(axis.cost[:n] + gap, 1.0)])
    return replace(axis, width=2 * n + 2, cost=cost, table=table.ravel())


def _with_star(cost: np.ndarray) -> np.ndarray:
    """The costs of the nodes, of "*", and of a missing value."""
    return np.concatenate([cost, [1.0, 0.0]])


def _nodes_of(codes: np.ndarray, leaves: np.ndarray, hidden: np.ndarray, star: int) -> np.ndarray:
    """The node of each record; behind the node "*" comes that of missing values."""
    return np.where(hidden, star, np.where(codes > 0, leaves[codes], star + 1)).astype(np.int64)


def _tree(tree: Tree, codes: np.ndarray, hidden: np.ndarray, given: np.ndarray) -> Axis:
    # Two more nodes: "*" above the root, and missing beside it.
    star = tree.parent.size
    cost = _with_star(given)
    parent = np.concatenate([tree.parent, [-1, star]]).astype(np.int32)
    parent[tree.root] = star
    depth = np.concatenate([tree.depth + 1, [0, 1]]).astype(np.int32)
    states = _nodes_of(codes, tree.leaf_nodes, hidden, star)
    if cost.size > SMALL_TREE:
        return Axis(TREE, states, cost.size, cost, parent=parent, depth=depth)
    return Axis(ORDER, states, cost.size, cost, table=_pairs(parent, depth))


def _pairs(parent: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """The least upper bound of every pair of nodes of a tree."""
    n = parent.size
    a, b = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    apart = np.flatnonzero(a != b)
    while apart.size:
        lift = depth[a[apart]] >= depth[b[apart]]
        a[apart[lift]] = parent[a[apart[lift]]]
        b[apart[~lift]] = parent[b[apart[~lift]]]
        apart = apart[a[apart] != b[apart]]
    return a.astype(np.int32)


def _order(
    joined: np.ndarray, leaves: np.ndarray, codes: np.ndarray, hidden: np.ndarray, given: np.ndarray
) -> Axis:
    """A partial order by the table of all pairs."""
    star = n = joined.shape[0]
    table = np.full((n + 2, n + 2), star, dtype=np.int32)
    table[:n, :n] = joined
    table[n + 1, n + 1] = n + 1
    states = _nodes_of(codes, leaves, hidden, star)
    return Axis(ORDER, states, n + 2, _with_star(given), table=table)


def _ancestors(poset: Ancestors, codes: np.ndarray, hidden: np.ndarray, given: np.ndarray) -> Axis:
    """A partial order by its lists of ancestors; by a table of all pairs where it is small."""
    ptr = poset.ancestor_ptr
    if ptr.size <= SMALL_ORDER:
        joined = np.asarray(all_pairs(ptr, poset.ancestor_idx.astype(np.int32)))
        return _order(joined, poset.leaf_nodes, codes, hidden, given)
    star = ptr.size - 1
    # Every list ends in "*", and those of "*" and of a missing value hold nothing else.
    lists = np.concatenate([np.insert(poset.ancestor_idx, ptr[1:], star), [star, star]])
    starts = np.concatenate([ptr + np.arange(ptr.size), [lists.size - 1, lists.size]])
    cost = _with_star(given)
    states = _nodes_of(codes, poset.leaf_nodes, hidden, star)
    return Axis(ANCESTORS, states, cost.size, cost, table=np.concatenate([starts, lists]))


def _levels(poset: Levels, codes: np.ndarray, hidden: np.ndarray, by: CostRule) -> Axis:
    """Nested ranges: `level_ids` (l, m + 1) and `level_costs(by)` (l, m + 1)."""
    ids = poset.level_ids
    states = _packed(codes, hidden, ids.shape[1] - 1)
    cost = poset.level_costs(by).ravel()
    return Axis(LEVELS, states, ids.shape[1], cost, table=ids, levels=ids.shape[0])


def _power(poset: Traits, codes: np.ndarray, hidden: np.ndarray) -> Axis:
    """Sets of which the common part is published: `element_bits[code]` and `elements`."""
    cost = 1.0 - np.arange(poset.elements + 1) / max(poset.elements, 1)
    states = poset.element_bits[codes].astype(np.int64) | WHOLE
    states[codes == 0] = NO_SET
    states[hidden] = 0
    return Axis(POWER, states, poset.elements, cost)


def _interval(poset: Poset, structure: Structure, codes: np.ndarray, hidden: np.ndarray) -> Axis:
    positions = np.nan_to_num(poset.positions)
    top = positions.size - 1
    cost = np.zeros(positions.size)
    # The domain may be declared wider than the values that occur.
    full = structure.full_width
    if full is None:
        full = float(positions[top] - positions[min(top, 1)])
    if top > 1 and full > 0:
        cost[1:] = (positions[1:] - positions[1]) / full
    return Axis(INTERVAL, _packed(codes, hidden, top), positions.size, cost)


def _packed(codes: np.ndarray, hidden: np.ndarray, top: int) -> np.ndarray:
    low = np.where(hidden, 0, codes).astype(np.int64)
    # A suppressed value could be anything, even where the column holds no value to be seen.
    high = np.where(hidden, max(top, 1), codes).astype(np.int64)
    return (low << 32) | high


def _values(poset: Poset, codes: np.ndarray, hidden: np.ndarray, exact: bool) -> Axis:
    top = poset.positions.size - 1
    if top > MOST_BITS:
        return _listed(codes, hidden, top) if exact else _frequent_first(codes, hidden, top)
    cost = np.concatenate(([0.0], np.arange(max(top, 1)) / max(top - 1, 1), [1.0]))
    states = np.left_shift(np.int64(1), codes.astype(np.int64))
    states[hidden] = (1 << (max(top, 1) + 1)) - 1
    return Axis(VALUES, states, top + 1, cost)


def _listed(codes: np.ndarray, hidden: np.ndarray, top: int) -> Axis:
    cost = np.concatenate(([0.0], np.arange(top) / max(top - 1, 1)))
    return Axis(MANY, np.where(hidden, -top, codes).astype(np.int64), top + 1, cost)


def _frequent_first(codes: np.ndarray, hidden: np.ndarray, top: int) -> Axis:
    """More values than bits: intervals in the order of frequency, which hold the sets published."""
    counts = np.bincount(codes, minlength=top + 1)
    rank = np.zeros(top + 1, dtype=np.int64)
    rank[1 + np.argsort(-counts[1:], kind="stable")] = np.arange(1, top + 1)
    cost = np.concatenate(([0.0], np.arange(top) / max(top - 1, 1)))
    return Axis(INTERVAL, _packed(rank[codes], hidden, top), top + 1, cost)
