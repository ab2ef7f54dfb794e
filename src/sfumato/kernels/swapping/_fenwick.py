"""Positions that are still free, and the k-th of them, in O(log n) (Fenwick 1994).

"A new data structure for cumulative frequency tables", Software: Practice and Experience 24(3).
Swapping draws partners among those not yet swapped; a list of them would be made anew each time.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def all_free(n: int) -> Ints:
    """A tree over the positions 0 .. n - 1, all of them free."""
    tree = np.empty(n + 1, np.int64)
    for node in range(n + 1):
        tree[node] = node & -node
    return tree


@njit(cache=True, nogil=True)
def take(tree: Ints, position: int) -> None:
    """Mark a free position as taken."""
    node = position + 1
    while node < tree.size:
        tree[node] -= 1
        node += node & -node


@njit(cache=True, nogil=True)
def free_below(tree: Ints, position: int) -> int:
    """How many positions before this one are free."""
    node, found = position, 0
    while node > 0:
        found += tree[node]
        node -= node & -node
    return found


@njit(cache=True, nogil=True)
def top_step(n: int) -> int:
    """The largest power of two up to n (1 for none): the first step of `find`."""
    top = 1
    while 2 * top <= n:
        top *= 2
    return top


@njit(cache=True, nogil=True)
def find(tree: Ints, top: int, rank: int) -> int:
    """The free position that has `rank` free positions below it."""
    node, step = 0, top
    while step > 0:
        ahead = node + step
        if ahead < tree.size and tree[ahead] <= rank:
            node = ahead
            rank -= tree[ahead]
        step >>= 1
    return node
