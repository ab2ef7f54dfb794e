"""Trees: every value is a leaf, every generalization a node above it.

A value that is itself a group, such as "Doctor" beside "Surgeon", has a leaf of its own below the
group, which is published by the group's label and costs as much: nobody can tell the two apart.

Nodes are numbers in arrays, so that searches can walk the tree without objects. Node 0 is the root,
children follow their parents, and leaves are coded 1..m from left to right: the leaves below any
node are consecutive codes, and the least upper bound of a set of leaves is that of its first and
last.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...errors import suggest
from ...protocols import Poset, Structure
from ..bound import check_codes, ranks, spread, unknown
from ..values.ranges import Range
from ..values.text import SUPPRESSED, text


@dataclass(frozen=True)
class Nodes:
    """A tree as it is first found: nodes in any order, leaves in the order that they are wanted in.

    `parent[root]` is -1. `paths[level, leaf]` is the node that stands for the leaf at that level;
    level 0 is the leaf itself, the last level the root.
    """

    labels: Sequence[str]
    parent: np.ndarray
    paths: np.ndarray
    own: int = 0
    """How many of the last nodes are leaves of groups that are values themselves."""

    def holding(self, groups: Sequence[int]) -> Nodes:
        """The same tree in which these groups are values, too."""
        size = len(self.labels)
        columns = []
        for at, group in enumerate(groups):
            below = int(np.argmax((self.paths == group).any(axis=0)))
            path = self.paths[:, below]
            up = np.arange(path.size) >= int(np.argmax(path == group))
            column = np.where(up, path, group)
            column[0] = size + at
            columns.append(column)
        return Nodes(
            [*self.labels, *(self.labels[group] for group in groups)],
            np.append(self.parent, groups),
            np.column_stack([self.paths, *columns]),
            len(groups),
        )


class Tree(Poset):
    """A tree of labels over one column's values.

    `parent`, `first_leaf`, `last_leaf`, `depth` and `heights` have an entry for each node; the
    children of node i are `child_idx[child_ptr[i]:child_ptr[i + 1]]`; `leaf_nodes[code]` is the
    node of a leaf (entry 0 is unused). `shown` is the node that a node is published as: the group
    of its own leaf, every other itself. `name` says in errors where the tree comes from; `texts`
    are the values as the column has them, where they differ from the leaves' labels.

    Text is read as a label, then as a value; "*" is the root, whatever its label.
    """

    spans: ClassVar[bool] = True

    def __init__(self, nodes: Nodes, name: str, texts: Sequence[str] | None = None) -> None:
        self.name = name
        found = _arranged(nodes)
        order, self.parent, self.depth, self.first_leaf, self.last_leaf = found
        self.label_of_node: list[str] = [nodes.labels[node] for node in order.tolist()]
        number = np.empty(order.size, dtype=np.int32)
        number[order] = np.arange(order.size, dtype=np.int32)
        leaves = number[nodes.paths[0]]
        codes = self.first_leaf[leaves]
        self._paths = np.zeros((nodes.paths.shape[0], leaves.size + 1), dtype=np.int32)
        self._paths[:, codes] = number[nodes.paths]
        self._paths.flags.writeable = False
        self.leaf_nodes = self._paths[0]
        # Children follow their parents in the parents' order, so that pointing to them is counting.
        degree = np.bincount(self.parent[1:], minlength=order.size)
        self.child_ptr = np.concatenate(([0], np.cumsum(degree))).astype(np.int32)
        self.child_idx = np.arange(1, order.size, dtype=np.int32)
        own = number[order.size - nodes.own :]
        self.shown = np.arange(order.size)
        self.shown[own] = self.parent[own]
        named: list[int] = np.unique(self.shown).tolist()
        self._node_of = {self.label_of_node[node]: node for node in named}
        if len(self._node_of) != order.size - nodes.own:
            raise ValueError(f"{name} gives one label to two nodes -> rename one of them")
        if texts is None:
            texts = [nodes.labels[node] for node in nodes.paths[0].tolist()]
        self._given, self._texts = nodes, texts
        self._code_of = dict(zip(texts, codes.tolist(), strict=True))
        arrays = (self.parent, self.depth, self.first_leaf, self.last_leaf)
        for array in (*arrays, self.child_ptr, self.child_idx):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return (
            f"Tree({self.name}: {len(self):,} values, {len(self.label_of_node):,} nodes, "
            f"{self.levels} levels)"
        )

    def __len__(self) -> int:
        return int(self.leaf_nodes.size) - 1

    @property
    def structure(self) -> Structure:
        return Structure(tree=self, line=self, node_costs=self.node_costs, above=self.above)

    def holding(self, values: Sequence[Any]) -> Tree:
        """The tree with a leaf for each of these values that is one of its groups."""
        spelt = [text(value) for value in values if not self._find(value)]
        groups = [label for label in spelt if label in self._node_of and label != SUPPRESSED]
        if not groups:
            return self
        at = {label: node for node, label in enumerate(self._given.labels)}
        nodes = self._given.holding([at[label] for label in groups])
        return Tree(nodes, self.name, [*self._texts, *groups])

    @cached_property
    def grouped(self) -> bool:
        """Whether some values are groups."""
        return bool((self.shown != np.arange(self.shown.size)).any())

    def above(self, code: int) -> list[str]:
        """The label of a value and those of its groups; of the root where it is a value, too."""
        node, labels = int(self.shown[self.leaf_nodes[code]]), []
        held = bool((self.parent[self.shown != np.arange(self.shown.size)] == self.root).any())
        while node > self.root or (held and node == self.root):
            labels.append(self.label_of_node[node])
            node = int(self.parent[node])
        return labels

    @property
    def root(self) -> int:
        """The node above all others."""
        return 0

    @property
    def levels(self) -> int:
        """How many levels global recoding can choose from, the values and the root included."""
        return int(self._paths.shape[0])

    @cached_property
    def heights(self) -> np.ndarray:
        """Steps from each node down to its farthest leaf."""
        out = np.zeros(self.parent.size, dtype=np.int32)
        for depth in range(int(self.depth.max(initial=0)), 0, -1):
            nodes = np.flatnonzero(self.depth == depth)
            np.maximum.at(out, self.parent[nodes], out[nodes] + 1)
        out.flags.writeable = False
        return out

    def node(self, value: Any) -> int:
        """The node of a value or label; `ValueError` if there is none."""
        if isinstance(value, str):
            for spelling in (value, value.strip()):
                if spelling in self._node_of:
                    return self._node_of[spelling]
                if spelling == SUPPRESSED:
                    return self.root
        code = self._find(value)
        if not code:
            raise unknown("label", [text(value)], f"in {self.name}", self._remedy(value))
        return int(self.leaf_nodes[code])

    def _find(self, value: Any) -> int:
        """The code of a value, 0 if it has none. Numbers may be spelt otherwise in a hierarchy."""
        spelt = text(value)
        code = self._code_of.get(spelt)
        number = isinstance(value, int | float | decimal.Decimal | np.number)
        if code is None and number and not isinstance(value, bool):
            code = self._code_of_number.get(float(value))
        if code is None and spelt in ("true", "false"):
            code = self._code_of.get(spelt.title()) or self._code_of.get(spelt.upper())
        if code is None and isinstance(value, dt.datetime):
            code = self._code_of.get(value.isoformat()) or self._code_of.get(str(value))
        return code or 0

    @cached_property
    def _code_of_number(self) -> dict[float, int]:
        """Leaves that are numbers in another spelling: "39.0" or "039" for 39."""
        found: dict[float, int] = {}
        for label, code in self._code_of.items():
            try:
                number = float(label) if "_" not in label else math.nan
            except ValueError:
                continue
            if math.isfinite(number):
                # Two spellings of one number tell nothing about which is meant.
                found[number] = 0 if number in found else code
        return found

    def _remedy(self, value: Any) -> str:
        spelt = text(value)
        bare = spelt.strip().casefold()
        for known in self._code_of:
            if known.strip().casefold() == bare:
                return f'it has "{known}": make the two alike'
        close = suggest(spelt, self._code_of) if len(self._code_of) <= 2000 else []
        return f'add it, or did you mean "{close[0]}"?' if close else "add it with its ancestors"

    def leq(self, lower: Any, upper: Any) -> bool:
        below, above = self.node(lower), self.node(upper)
        return bool(
            self.first_leaf[above] <= self.first_leaf[below]
            and self.last_leaf[below] <= self.last_leaf[above]
            and self.depth[above] <= self.depth[below]
        )

    def lub(self, values: Iterable[Any]) -> str:
        nodes = np.array([self.node(value) for value in values], dtype=np.int64)
        if not nodes.size:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        low, high = self.first_leaf[nodes].min(), self.last_leaf[nodes].max()
        node = int(nodes[np.argmin(self.depth[nodes])])
        while self.first_leaf[node] > low or self.last_leaf[node] < high:
            node = int(self.parent[node])
        return self.label_of_node[node]

    def height(self, value: Any) -> int:
        return int(self.heights[self.node(value)])

    def measure(self, value: Any) -> float:
        node = self.node(value)
        return 1.0 if node == self.root else float(self.leaf_shares[node])

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        found = [self._find(value) for value in values]
        if 0 in found:
            strays = [value for value, code in zip(values, found, strict=True) if not code]
            spelt = [text(value) for value in strays]
            raise unknown("value", spelt, f"in {self.name}", self._remedy(strays[0]))
        return np.array(found, dtype=np.int64)

    def unknown(self, value: Any) -> str:
        """What to say about a value that is not there."""
        return str(unknown("value", [text(value)], f"in {self.name}", self._remedy(value)))

    def keys(self, values: Sequence[Any]) -> np.ndarray:
        """The code of each value; NaN where the tree does not have it."""
        found = np.array([self._find(value) for value in values], dtype=np.float64)
        return np.where(found > 0, found, np.nan)

    def ends(self, label: str) -> Range:
        """The first and the last code below a label."""
        node = self.node(label)
        return Range(int(self.first_leaf[node]), int(self.last_leaf[node]))

    def count(self, label: str) -> int:
        node = self.node(label)
        return int(self.last_leaf[node] - self.first_leaf[node]) + 1

    @cached_property
    def leaf_shares(self) -> np.ndarray:
        """float64: (leaves below a node - 1) / (leaves - 1), groups that are values left aside."""
        own = np.zeros(len(self) + 1, dtype=np.int64)
        own[self.first_leaf[self.shown != np.arange(self.shown.size)]] = 1
        groups = np.cumsum(own)
        below = (
            self.last_leaf
            - self.first_leaf
            + 1
            - (groups[self.last_leaf] - groups[self.first_leaf - 1])
        )
        out: np.ndarray = np.maximum(below - 1, 0) / max(len(self) - int(groups[-1]) - 1, 1)
        out.flags.writeable = False
        return out

    def node_costs(self, by: str = "ncp") -> np.ndarray:
        """What each node costs: the share of the leaves below it, or its height."""
        if by == "height":
            cost = self.heights / max(int(self.heights[self.root]), 1)
        else:
            cost = self.leaf_shares.copy()
        cost = np.asarray(cost, dtype=np.float64)
        cost[self.root] = 1.0 if cost.size > 1 else 0.0
        return np.asarray(cost[self.shown])

    @cached_property
    def positions(self) -> np.ndarray:
        return ranks(len(self))

    def lub_nodes(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The node of the least upper bound of the leaves low[i]..high[i]."""
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        check_codes(low, high, len(self))
        nodes: np.ndarray = self.leaf_nodes[low]
        climbing = np.flatnonzero(self.last_leaf[nodes] < high)
        while climbing.size:
            nodes[climbing] = self.parent[nodes[climbing]]
            climbing = climbing[self.last_leaf[nodes[climbing]] < high[climbing]]
        return nodes

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return spread(self.label_of_node, self.lub_nodes(low, high))

    def nodes_at(self, level: int) -> np.ndarray:
        """int32[m + 1]: the node that stands for each leaf at a level; entry 0 is unused."""
        if not 0 <= level < self.levels:
            raise ValueError(
                f"{self.name} has the levels 0 (the values) to {self.levels - 1}, not {level} -> "
                "choose one of those"
            )
        found: np.ndarray = self._paths[level]
        return found

    def at_level(self, values: Sequence[Any], level: int) -> list[str]:
        """The label of each value at a level: 0 is the value itself, `levels - 1` the root."""
        nodes = self.nodes_at(level)
        return spread(self.label_of_node, nodes[self.codes(values)])


def _arranged(
    nodes: Nodes,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Old numbers in the new order; then parent, depth, first and last leaf code in that order."""
    parent = nodes.parent.astype(np.int64)
    size, leaves = parent.size, nodes.paths.shape[1]
    depth = np.zeros(size, dtype=np.int32)
    above = parent
    while bool((above >= 0).any()):
        depth += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    by_depth = [np.flatnonzero(depth == d) for d in range(int(depth.max(initial=0)) + 1)]
    count = np.zeros(size, dtype=np.int64)
    earliest = np.full(size, leaves, dtype=np.int64)
    count[nodes.paths[0]] = 1
    earliest[nodes.paths[0]] = np.arange(leaves)
    for layer in by_depth[:0:-1]:
        np.add.at(count, parent[layer], count[layer])
        np.minimum.at(earliest, parent[layer], earliest[layer])
    first = np.ones(size, dtype=np.int64)
    for layer in by_depth[1:]:
        siblings = layer[np.lexsort((earliest[layer], parent[layer]))]
        before = np.cumsum(count[siblings]) - count[siblings]
        family = parent[siblings]
        starts = np.flatnonzero(np.concatenate(([True], family[1:] != family[:-1])))
        start_of = np.repeat(before[starts], np.diff(np.append(starts, family.size)))
        first[siblings] = first[family] + before - start_of
    order = np.lexsort((first, depth))
    number = np.empty(size + 1, dtype=np.int32)
    number[order] = np.arange(size, dtype=np.int32)
    number[-1] = -1
    last = first + count - 1
    return (
        order,
        number[parent[order]],
        depth[order],
        first[order].astype(np.int32),
        last[order].astype(np.int32),
    )
