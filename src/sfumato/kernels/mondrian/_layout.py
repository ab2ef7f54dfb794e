"""The columns of a Mondrian partition, packed into flat arrays that compiled code can walk.

Everything that depends on a column alone is computed and checked here once: positions, the costs of
tree nodes, the tree node of every leaf. Compiled code trusts it and checks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = Any  # int or np.int64, between which compiled code knows no difference
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = Any  # array of records, whose fields no type checker knows
Codes = NDArray[Any]  # uint16 or uint32, rows padded to whole blocks of LANES columns
Rows = NDArray[Any]  # int32 below 2**31 rows, int64 from there on

LANES = 4  # columns moved and compared by one instruction; rows are padded to a multiple

ORDERED, TREE, NOMINAL = 0, 1, 2

# A node of the partition is a row of integers: where its rows begin and end, in which of the two
# buffers they are, which columns can never again be cut in this subtree (a bit for each of the
# first MARKS), and then the lowest and the highest code of every column in turn.
BEGIN, END, SIDE, DEAD, LOW, HIGH = 0, 1, 2, 3, 4, 5
MARKS = 62

# Functions that only compiled code calls: without entry points from Python they compile in half the
# time, and they are cached as part of the functions that call them.
INNER: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


INSIDE: Any = {"nogil": True, "error_model": "numpy"}
# The same for functions that have one form for rows and one for counts.


class Tree(NamedTuple):
    """A hierarchy over the codes 1..m of a column, codes being leaves in depth-first order.

    Node v stands for the leaves ``first_leaf[v]`` to ``last_leaf[v]``; its children, in the order
    of their leaves, are ``child_idx[child_ptr[v]:child_ptr[v + 1]]``. The root's parent is -1.
    """

    first_leaf: NDArray[np.int32]
    last_leaf: NDArray[np.int32]
    parent: NDArray[np.int32]
    child_ptr: NDArray[np.int32]
    child_idx: NDArray[np.int32]
    root: int
    cost: NDArray[np.float64] | None = None
    """What each node costs to publish; the share of the leaves below it unless given."""


COLUMN = np.dtype(
    [
        ("kind", np.int64),  # ORDERED, TREE or NOMINAL
        ("size", np.int64),  # number of codes, missing not counted
        ("start", np.int64),  # entry start + code of `pos` and `leaf` belongs to a code
        ("weight", np.float64),
        ("gap", np.float64),  # what missing values add to the width of the others in a group
        ("span", np.float64),  # distance between the first and the last position
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("first", np.int64),  # leaves
        ("last", np.int64),
        ("parent", np.int64),
        ("begin", np.int64),  # children, as a slice of `child`
        ("end", np.int64),
        ("cost", np.float64),
    ],
    align=True,
)


class Columns(NamedTuple):
    """All columns, and the nodes of all their trees one after the other.

    Few arrays of records: compiled functions are slow to compile where they pass many arrays.
    """

    column: Records  # COLUMN
    pos: Floats
    leaf: Ints  # tree node of a code
    node: Records  # NODE
    child: Ints


def pack(
    positions: Sequence[NDArray[np.float64]],
    trees: Sequence[Tree | None],
    nominal: Sequence[bool],
    weights: Sequence[float],
    missing: Sequence[bool],
) -> Columns:
    """Check the description of the columns and lay it out flat."""
    columns = np.zeros(len(positions), dtype=COLUMN)
    columns["weight"] = weights
    leaf = np.zeros(sum(len(p) for p in positions), dtype=np.int64)
    nodes, children = [np.zeros(0, dtype=NODE)], [np.zeros(0, dtype=np.int64)]
    start = before = 0
    for j, (pos, tree) in enumerate(zip(positions, trees, strict=True)):
        if pos.ndim != 1 or pos.size == 0:
            raise ValueError(f"column {j}: positions must be a vector with entries 0..m")
        if tree is not None and nominal[j]:
            raise ValueError(f"column {j}: a column with a tree is not published as value sets")
        m = pos.size - 1
        columns[["kind", "size", "start"]][j] = (NOMINAL if nominal[j] else ORDERED, m, start)
        if missing[j]:  # one more value of the domain
            columns["weight"][j], columns["gap"][j] = split_weight(weights[j], m)
        if tree is None:
            values = np.asarray(pos[1:], dtype=np.float64)
            if not (np.isfinite(values).all() and (np.diff(values) >= 0).all()):
                raise ValueError(f"column {j}: positions must be finite and must not decrease")
            columns["span"][j] = values[-1] - values[0] if m else 0.0
        else:
            columns["kind"][j] = TREE
            leaves = _check_tree(j, m, tree)
            leaf[start + tree.first_leaf[leaves]] = leaves + before
            nodes.append(_nodes(tree, m, before, sum(part.size for part in children)))
            children.append(np.asarray(tree.child_idx, dtype=np.int64) + before)
            before += nodes[-1].size
        start += pos.size
    flat = np.concatenate([np.asarray(p, dtype=np.float64) for p in positions])
    return Columns(columns, flat, leaf, np.concatenate(nodes), np.concatenate(children))


def split_weight(weight: float, values: int) -> tuple[float, float]:
    """What the widest range of the values weighs where missing is one more, and what missing adds
    to it."""
    return weight * (max(values - 1, 0) / max(values, 1)), weight * (1 / max(values, 1))


def _nodes(tree: Tree, m: int, before: int, children: int) -> NDArray[np.void]:
    """The nodes of a tree over 1..m, behind so many nodes and children of other trees."""
    nodes = np.zeros(tree.parent.size, dtype=NODE)
    nodes["first"], nodes["last"] = tree.first_leaf, tree.last_leaf
    nodes["parent"] = np.where(tree.parent < 0, -1, tree.parent + np.int64(before))
    nodes["begin"], nodes["end"] = tree.child_ptr[:-1], tree.child_ptr[1:]
    nodes["begin"] += children
    nodes["end"] += children
    shares = (nodes["last"] - nodes["first"]) / max(m - 1, 1)
    nodes["cost"] = shares if tree.cost is None else tree.cost
    return nodes


def _check_tree(j: int, m: int, tree: Tree) -> Ints:
    """Refuse a hierarchy that is not a tree over 1..m; return its leaf nodes."""
    first, last, parent, ptr, child, root = tree[:6]
    count = first.size
    shapes_fit = last.size == parent.size == count and ptr.size == count + 1 and count > 0
    if not (shapes_fit and 0 <= root < count and child.size == count - 1 == ptr[-1]):
        raise ValueError(f"column {j}: the arrays of the tree do not fit together")
    if first[root] != 1 or last[root] != m or parent[root] != -1 or ptr[0] != 0:
        raise ValueError(f"column {j}: the root of the tree must stand for the codes 1 to {m}")
    degree = np.diff(ptr)
    if (degree < 0).any() or (child < 0).any() or (child >= count).any():
        raise ValueError(f"column {j}: the tree has a child that is no node")
    above = np.repeat(np.arange(count), degree)
    inner = np.flatnonzero(degree > 0)
    leaves = np.flatnonzero(degree == 0)
    # Children take up exactly their parent's leaves, in order and without gaps; leaves are single.
    tiled = (
        (parent[child] == above).all()
        and (first[child[ptr[inner]]] == first[inner]).all()
        and (last[child[ptr[inner + 1] - 1]] == last[inner]).all()
        and (first[child[1:]] == last[child[:-1]] + 1)[above[1:] == above[:-1]].all()
        and np.array_equal(np.sort(first[leaves]), np.arange(1, m + 1))
        and (first[leaves] == last[leaves]).all()
    )
    if not tiled:
        raise ValueError(
            f"column {j}: the tree is not a hierarchy over the codes 1 to {m} in depth-first order"
        )
    return leaves
