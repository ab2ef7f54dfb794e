"""Nodes with the lists of their ancestors, where a poset itself has none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..protocols import Poset
from ..structure import Ancestors, NodeCosts, Structure

Above = Callable[[int], np.ndarray]
"""A node and all that is above it, ascending."""

WORD = 60
"""Values whose bits fit beside those of missing ones and of everybody."""
MISSING, SOMEBODY = 1, 2


class LevelNodes:
    """The blocks of nested levels, finest first, and "*" above them all.

    >>> kept = LevelNodes(np.array([[0, 1, 2]]))
    >>> kept.leaf_nodes.tolist(), kept.ancestor_ptr.tolist(), kept.ancestor_idx.tolist()
    ([0, 0, 1], [0, 2, 4, 5], [0, 2, 1, 2, 2])
    """

    def __init__(self, level_ids: np.ndarray) -> None:
        rows, paths = 0, []
        for ids in level_ids[:, 1:]:
            found, block = np.unique(ids, return_inverse=True)
            paths.append(rows + block.reshape(-1))
            rows += found.size
        paths.append(np.full(level_ids.shape[1] - 1, rows))
        # A node's path: itself up to its own level, then what is above it.
        self._path = np.tile(np.arange(rows + 1)[:, None], len(paths))
        for level, own in enumerate(paths):
            for above in range(level, len(paths)):
                self._path[own, above] = paths[above]
        self._paths = paths
        self.leaf_nodes = np.concatenate(([0], paths[0])).astype(np.int64)

    @cached_property
    def _kept(self) -> np.ndarray:
        """bool (n, levels): where a path reaches a node for the first time."""
        first = np.ones(self._path.shape, dtype=bool)
        first[:, 1:] = self._path[:, 1:] != self._path[:, :-1]
        return first

    @cached_property
    def ancestor_ptr(self) -> np.ndarray:
        """int64 (n + 1,): where each node's list of ancestors begins."""
        return np.concatenate(([0], np.cumsum(self._kept.sum(axis=1)))).astype(np.int64)

    @cached_property
    def ancestor_idx(self) -> np.ndarray:
        """The lists, each ascending from the node itself to "*"."""
        return np.asarray(self._path[self._kept])

    def costs(self, level_costs: np.ndarray) -> np.ndarray:
        """What each node costs, from what each code costs at each level."""
        out = np.ones(len(self._path))
        for own, cost in zip(self._paths[:-1], level_costs[:, 1:], strict=True):
            out[own] = cost
        return out


class OptionalNodes:
    """The nodes above some values, each also as "this or none": what not everybody has.

    `above(node)` lists a node and what is above it, ascending; `leaves` is the node of each code,
    -1 for having none. Whoever has none lies under every "or none", and under nothing else.

    >>> found = OptionalNodes(lambda node: np.array([[0, 2], [1, 2], [2]][node]), np.array([0, -1]))
    >>> found.leaf_nodes.tolist(), found.nodes.tolist()
    ([0, 1, 0], [0, 2])
    >>> [part.tolist() for part in np.split(found.ancestor_idx, found.ancestor_ptr[1:-1])]
    [[0, 2, 4], [1, 2, 3, 4], [2, 4], [3, 4], [4]]
    """

    def __init__(self, above: Above, leaves: np.ndarray) -> None:
        lists = [above(leaf) for leaf in np.unique(leaves[leaves >= 0]).tolist()]
        self.nodes: np.ndarray = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *lists]))
        ranks = [np.searchsorted(self.nodes, above(node)) for node in self.nodes.tolist()]
        place = np.searchsorted(self.nodes, np.maximum(leaves, 0))
        self.absent = bool((leaves < 0).any())
        if self.absent:
            ranks = [2 + 2 * np.arange(self.nodes.size), *_doubled(ranks)]
            ranks[0] = np.concatenate(([0], ranks[0]))
            place = np.where(leaves < 0, 0, 1 + 2 * place)
        self.leaf_nodes = np.concatenate(([0], place)).astype(np.int64)
        sizes = [one.size for one in ranks]
        self.ancestor_ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.ancestor_idx = np.concatenate([np.zeros(0, dtype=np.int64), *ranks]).astype(np.int64)

    def costs(self, of_nodes: np.ndarray) -> np.ndarray:
        """What each node costs; having none costs nothing, and "or none" nothing more."""
        own = of_nodes[self.nodes]
        return np.concatenate(([0.0], np.repeat(own, 2))) if self.absent else own


def _doubled(ranks: list[np.ndarray]) -> list[np.ndarray]:
    """The lists of each node and of its "or none", by rank, behind the node of having none."""
    out = []
    for own in ranks:
        out.append(np.sort(np.concatenate((1 + 2 * own, 2 + 2 * own))))
        out.append(2 + 2 * own)
    return out


def optional_values(over: Poset, codes: np.ndarray) -> Structure | None:
    """The structure of values that not everybody has; None where `over` has no nodes.

    Entry i of `codes` is what the code i + 1 has in `over`, 0 for none.
    """
    found = _lists_of(over.structure)
    if found is None:
        return None
    leaf_of, above, costs = found
    made = OptionalNodes(above, np.where(codes > 0, leaf_of[codes], -1))
    return Structure(ancestors=made, node_costs=lambda by: made.costs(costs(by)))


def _lists_of(found: Structure) -> tuple[np.ndarray, Above, NodeCosts] | None:
    """The node of each code, the lists of ancestors, and what nodes cost, numbered upwards."""
    if found.tree is not None:
        tree, top = found.tree, found.tree.parent.size - 1
        return top - tree.leaf_nodes, _climbing(tree.parent), lambda by: tree.node_costs(by)[::-1]
    if found.ancestors is not None and found.node_costs is not None:
        return found.ancestors.leaf_nodes, _listing(found.ancestors), found.node_costs
    if found.levels is not None:
        levels, nodes = found.levels, LevelNodes(found.levels.level_ids)
        return nodes.leaf_nodes, _listing(nodes), lambda by: nodes.costs(levels.level_costs(by))
    return None


def _listing(found: Ancestors) -> Above:
    return lambda node: found.ancestor_idx[found.ancestor_ptr[node] : found.ancestor_ptr[node + 1]]


def _climbing(parent: np.ndarray) -> Above:
    """The lists of a tree, whose nodes are numbered from the root on: here from there."""
    top = parent.size - 1

    def above(node: int) -> np.ndarray:
        path, at = [], top - node
        while at >= 0:
            path.append(top - at)
            at = int(parent[at])
        return np.array(path, dtype=np.int64)

    return above


class MemberBits:
    """Values without nodes that not everybody has, as the bits of a set; one word of them.

    Bit 0 is left to missing ones, bit 1 everybody has. The first word of a set costs one value
    less: a set of one is exact. A set without a value of the first word so costs one too many.
    """

    def __init__(
        self, codes: np.ndarray, word: np.ndarray, first: bool, values: int, star: float
    ) -> None:
        self.star = star
        inside = np.isin(codes, word)
        place = np.searchsorted(word, np.where(inside, codes, word[:1]))
        own = np.where(inside, np.left_shift(np.int64(1), place + 2), 0) | SOMEBODY
        self.bits = np.concatenate(([MISSING], own)).astype(np.int64)
        count = np.arange(word.size + 1)
        counted = np.maximum(count - 1, 0) if first else count
        self.costs = np.concatenate(([0.0], counted / max(values - 1, 1)))


def member_words(codes: np.ndarray, values: int) -> list[Structure]:
    """The words of values that have no nodes: those that most codes have come first."""
    present, counts = np.unique(codes[codes > 0], return_counts=True)
    present = present[np.argsort(-counts, kind="stable")]
    words = [np.sort(present[at : at + WORD]) for at in range(0, present.size, WORD)]
    star = 1 / max(len(words), 1)
    made = [MemberBits(codes, word, not at, values, star) for at, word in enumerate(words)]
    return [Structure(bits=one) for one in made]
