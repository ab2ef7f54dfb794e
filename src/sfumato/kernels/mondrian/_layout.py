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
Codes = NDArray[Any]  # uint16 or uint32, rows padded to whole blocks of LANES columns
Rows = NDArray[Any]  # int32 below 2**31 rows, int64 from there on

LANES = 4  # columns moved and compared by one instruction; rows are padded to a multiple

ORDERED, TREE, NOMINAL = 0, 1, 2

# Functions that only compiled code calls: without entry points from Python they compile in half the
# time, and they are cached as part of the functions that call them.
INNER: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


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


class Columns(NamedTuple):
    """All columns. Entry ``start[j] + code`` of `pos` and `leaf` belongs to a code of column j."""

    kind: Ints  # ORDERED, TREE or NOMINAL
    size: Ints  # number of codes, missing not counted
    weight: Floats
    start: Ints
    pos: Floats
    span: Floats  # distance between the first and the last position
    leaf: Ints  # tree node of a code
    first: Ints  # nodes of all trees, one after the other
    last: Ints
    parent: Ints
    cost: Floats
    child_ptr: Ints
    child: Ints


def pack(
    positions: Sequence[NDArray[np.float64]],
    trees: Sequence[Tree | None],
    nominal: Sequence[bool],
    weights: Sequence[float],
) -> Columns:
    """Check the description of the columns and lay it out flat."""
    kind, size, start, span = [], [], [], []
    leaf = np.zeros(sum(len(p) for p in positions), dtype=np.int64)
    nodes: list[tuple[Ints, Ints, Ints, Floats]] = []
    child_ptr, child = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    offset = node_offset = child_offset = 0
    for j, (pos, tree) in enumerate(zip(positions, trees, strict=True)):
        if pos.ndim != 1 or pos.size == 0:
            raise ValueError(f"column {j}: positions must be a vector with entries 0..m")
        if tree is not None and nominal[j]:
            raise ValueError(f"column {j}: a column with a tree is not published as value sets")
        m = pos.size - 1
        start.append(offset)
        size.append(m)
        kind.append(TREE if tree is not None else NOMINAL if nominal[j] else ORDERED)
        values = np.asarray(pos[1:], dtype=np.float64)
        if tree is None and not (np.isfinite(values).all() and (np.diff(values) >= 0).all()):
            raise ValueError(f"column {j}: positions must be finite and must not decrease")
        span.append(float(values[-1] - values[0]) if m and tree is None else 0.0)
        if tree is not None:
            first, last, parent = (
                np.asarray(a, dtype=np.int64)
                for a in (tree.first_leaf, tree.last_leaf, tree.parent)
            )
            own_ptr, own_child = (
                np.asarray(a, dtype=np.int64) for a in (tree.child_ptr, tree.child_idx)
            )
            leaves = _check_tree(j, m, first, last, parent, own_ptr, own_child, int(tree.root))
            leaf[offset + first[leaves]] = leaves + node_offset
            cost = (last - first) / max(m - 1, 1)
            nodes.append((first, last, np.where(parent < 0, -1, parent + node_offset), cost))
            child_ptr.append(own_ptr[1:] + child_offset)
            child.append(own_child + node_offset)
            node_offset += first.size
            child_offset += own_child.size
        offset += pos.size
    return Columns(
        np.array(kind, dtype=np.int64),
        np.array(size, dtype=np.int64),
        np.array(weights, dtype=np.float64),
        np.array(start, dtype=np.int64),
        np.concatenate([np.asarray(p, dtype=np.float64) for p in positions]),
        np.array(span, dtype=np.float64),
        leaf,
        np.concatenate([part[0] for part in nodes] or [np.empty(0, dtype=np.int64)]),
        np.concatenate([part[1] for part in nodes] or [np.empty(0, dtype=np.int64)]),
        np.concatenate([part[2] for part in nodes] or [np.empty(0, dtype=np.int64)]),
        np.concatenate([part[3] for part in nodes] or [np.empty(0, dtype=np.float64)]),
        np.concatenate(child_ptr),
        np.concatenate(child),
    )


def _check_tree(
    j: int, m: int, first: Ints, last: Ints, parent: Ints, ptr: Ints, child: Ints, root: int
) -> Ints:
    """Refuse a hierarchy that is not a tree over 1..m; return its leaf nodes."""
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
