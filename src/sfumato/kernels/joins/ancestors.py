"""Least common ancestors in any partial order, from lists of ancestors.

Nodes are numbered so that the least measured come first. The ancestors of node i, itself included,
are `idx[ptr[i]:ptr[i + 1]]`, ascending; so the first number that two lists share is the common
ancestor of least measure. Every list ends in the same top.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Codes, Ints
from .lub import first_shared


@njit(cache=True, nogil=True)
def all_pairs(ptr: Ints, idx: Codes) -> Codes:
    """int32 (n, n): the least common ancestor of every pair."""
    n = ptr.size - 1
    lists = np.concatenate((ptr.astype(np.int32), idx.astype(np.int32)))
    out = np.empty((n, n), dtype=np.int32)
    for a in range(n):
        out[a, a] = a
        for b in range(a):
            out[a, b] = out[b, a] = first_shared(lists.ctypes.data, 0, n, a, b)
    return out


@njit(cache=True, nogil=True)
def is_ancestor(ptr: Ints, idx: Codes, node: int, above: int) -> bool:
    """Whether `above` is the node or one of its ancestors."""
    low, high = ptr[node], ptr[node + 1]
    while low < high:
        middle = (low + high) // 2
        if idx[middle] < above:
            low = middle + 1
        else:
            high = middle
    return bool(low < ptr[node + 1] and idx[low] == above)


@njit(cache=True, nogil=True)
def group_common(ptr: Ints, idx: Codes, starts: Ints, nodes: Ints) -> Ints:
    """The least common ancestor of each group nodes[starts[g]:starts[g + 1]], taken as a whole.

    Joining a group pair by pair may end higher up, where a node has several parents.
    """
    out = np.empty(starts.size - 1, dtype=np.int64)
    for g in range(starts.size - 1):
        first = nodes[starts[g]]
        for at in range(ptr[first], ptr[first + 1]):
            shared = True
            for i in range(starts[g] + 1, starts[g + 1]):
                if not is_ancestor(ptr, idx, nodes[i], idx[at]):
                    shared = False
                    break
            if shared:
                out[g] = idx[at]
                break
    return out
