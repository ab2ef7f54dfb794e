"""Nearest records among those that remain: a k-d tree from which records are taken.

Tours and variable-size groups ask again and again for the record nearest to a point among those
not yet used. Records lie in the leaves of a balanced tree (Friedman, Bentley & Finkel 1977,
"An algorithm for finding best matches in logarithmic expected time"); each node keeps the bounding
box and the lowest row of the records that remain below it. Both shrink as records are taken.

Answers are those of a plain scan: a squared distance adds the coordinates in order, and of equal
distances the lowest row is nearest. The bound of a box is summed in the order of a distance and
rounding is monotone, so that a box is passed over only if nothing in it can win. The lowest row
decides between boxes at equal distance: in a file full of duplicates one box is enough.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.neighbours.blocks import LARGEST, select

LEAF = 128  # records to a leaf at most: measured best of 12 to 192 at 100,000 x 10
NOBODY = np.iinfo(np.int64).max
"""Stands for the lowest row of an empty node, and is above every row."""


class Remaining(NamedTuple):
    """The tree. Node 1 is the root, 2t and 2t + 1 are below t, the last half are leaves."""

    x: Floats
    """(leaves, d, room): coordinates by leaf."""
    rows: Ints
    """(leaves, room)"""
    length: Ints
    """(leaves,): records left in each."""
    box: Floats
    """(nodes, 2, d): least and greatest coordinates."""
    lowest: Ints
    """(nodes,): the lowest row, or NOBODY."""
    where: Ints
    """(n,): leaf * room + place of each record."""


def checked(points: ArrayLike, k: int) -> Floats:
    """The points as a matrix that kernels take, if groups of k can be made of them."""
    x = np.ascontiguousarray(points, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(
            f"points are a matrix with a row for each record, not {x.ndim}-dimensional"
        )
    if k < 1 or len(x) < k:
        raise ValueError(
            f"{len(x)} records cannot form a group of k = {k}: choose k from 1 to {len(x)}"
        )
    if not np.all(np.abs(x) <= LARGEST):
        bad = np.argwhere(~(np.abs(x) <= LARGEST))[0]
        raise ValueError(
            f"points[{bad[0]}, {bad[1]}] is missing, infinite or above {LARGEST:g}: "
            "resolve missing values and standardize the columns first"
        )
    return x


def from_centroid(points: Floats) -> Floats:
    """Squared distance of each record from the centroid, whose sums are rounded only once."""
    out = np.zeros(len(points))
    for j in range(points.shape[1]):
        step = points[:, j] - math.fsum(points[:, j]) / len(points)
        out += step * step
    return out


@njit(cache=True, nogil=True)
def _widest(x: Floats, order: Ints, low: int, high: int) -> int:
    """The coordinate along which these records reach farthest."""
    best, width = 0, -1.0
    for j in range(x.shape[1]):
        least = most = x[order[low], j]
        for i in range(low + 1, high):
            value = x[order[i], j]
            least, most = min(least, value), max(most, value)
        if most - least > width:
            best, width = j, most - least
    return best


@njit(cache=True, nogil=True)
def plant(x: Floats, members: Ints) -> Remaining:
    """The tree of the rows `members` (at least one) of `x`."""
    n, d = members.size, x.shape[1]
    leaves = 1
    while leaves * LEAF < n:
        leaves *= 2
    order, keys = members.copy(), np.empty(n)
    start = np.zeros(2 * leaves + 1, np.int64)  # of each node in `order`
    stop = np.zeros(2 * leaves + 1, np.int64)
    start[1], stop[1] = 0, n
    for t in range(1, leaves):
        low, high = start[t], stop[t]
        middle = (low + high) // 2
        if d > 0:
            column = _widest(x, order, low, high)
            for i in range(low, high):
                keys[i] = x[order[i], column]
            select(keys, order, low, high, middle)
        start[2 * t], stop[2 * t] = low, middle
        start[2 * t + 1], stop[2 * t + 1] = middle, high
    room = 0
    for leaf in range(leaves):
        room = max(room, stop[leaves + leaf] - start[leaves + leaf])
    tree = Remaining(
        np.empty((leaves, d, room)), np.empty((leaves, room), np.int64),
        np.zeros(leaves, np.int64), np.empty((2 * leaves, 2, d)),
        np.full(2 * leaves, NOBODY, np.int64), np.full(x.shape[0], -1, np.int64),
    )  # fmt: skip
    for leaf in range(leaves):
        low, high = start[leaves + leaf], stop[leaves + leaf]
        tree.length[leaf] = high - low
        for i in range(high - low):
            row = order[low + i]
            tree.rows[leaf, i], tree.where[row] = row, leaf * room + i
            for j in range(d):
                tree.x[leaf, j, i] = x[row, j]
        _fit_leaf(tree, leaf)
    for t in range(leaves - 1, 0, -1):
        _fit_node(tree, t)
    return tree


@njit(cache=True, nogil=True)
def _fit_leaf(tree: Remaining, leaf: int) -> None:
    size, t = tree.length[leaf], tree.length.size + leaf
    tree.lowest[t] = NOBODY
    if size == 0:
        return
    for i in range(size):
        tree.lowest[t] = min(tree.lowest[t], tree.rows[leaf, i])
    for j in range(tree.x.shape[1]):
        least = most = tree.x[leaf, j, 0]
        for i in range(1, size):
            least, most = min(least, tree.x[leaf, j, i]), max(most, tree.x[leaf, j, i])
        tree.box[t, 0, j], tree.box[t, 1, j] = least, most


@njit(cache=True, nogil=True)
def _fit_node(tree: Remaining, t: int) -> bool:
    """Recompute a node from the two below it; whether anything changed."""
    left, right = 2 * t, 2 * t + 1
    lowest = min(tree.lowest[left], tree.lowest[right])
    changed = bool(lowest != tree.lowest[t])
    tree.lowest[t] = lowest
    if lowest == NOBODY:
        return changed
    for j in range(tree.x.shape[1]):
        if tree.lowest[left] == NOBODY:
            least, most = tree.box[right, 0, j], tree.box[right, 1, j]
        elif tree.lowest[right] == NOBODY:
            least, most = tree.box[left, 0, j], tree.box[left, 1, j]
        else:
            least = min(tree.box[left, 0, j], tree.box[right, 0, j])
            most = max(tree.box[left, 1, j], tree.box[right, 1, j])
        changed |= bool(least != tree.box[t, 0, j] or most != tree.box[t, 1, j])
        tree.box[t, 0, j], tree.box[t, 1, j] = least, most
    return changed


@njit(cache=True, nogil=True)
def take(tree: Remaining, row: int) -> None:
    """Take a record off; the last of its leaf moves into its place."""
    room = tree.rows.shape[1]
    leaf, i = tree.where[row] // room, tree.where[row] % room
    tree.where[row] = -1
    tree.length[leaf] -= 1
    last, t = tree.length[leaf], tree.length.size + leaf
    edge = tree.lowest[t] == row
    for j in range(tree.x.shape[1]):
        value = tree.x[leaf, j, i]
        edge = edge or value == tree.box[t, 0, j] or value == tree.box[t, 1, j]
        tree.x[leaf, j, i] = tree.x[leaf, j, last]
    if i != last:
        tree.rows[leaf, i] = tree.rows[leaf, last]
        tree.where[tree.rows[leaf, i]] = leaf * room + i
    if edge:
        _fit_leaf(tree, leaf)
        t //= 2
        while t > 0 and _fit_node(tree, t):
            t //= 2


@njit(cache=True, nogil=True)
def _bound(tree: Remaining, t: int | np.int64, point: Floats) -> float:
    """Least squared distance from a point to a record below a node."""
    if tree.lowest[t] == NOBODY:
        return np.inf
    total = 0.0
    for j in range(point.size):
        step = max(tree.box[t, 0, j] - point[j], point[j] - tree.box[t, 1, j], 0.0)
        total += step * step
    return total


@njit(cache=True, nogil=True)
def _distances(tree: Remaining, leaf: int, point: Floats, out: Floats) -> int:
    """Squared distances from a point to the records of a leaf; their number."""
    size = tree.length[leaf]
    out[:size] = 0.0
    for j in range(point.size):
        value, column = point[j], tree.x[leaf, j]
        for i in range(size):
            step = column[i] - value
            out[i] += step * step
    return int(size)


@njit(cache=True, nogil=True)
def nearest(tree: Remaining, point: Floats, keys: Floats, found: Ints) -> None:
    """Improve the `found.size` nearest rows with what the tree holds, nearest first.

    `keys` and `found` hold the squared distances and rows known so far, ascending; start with
    infinities and NOBODY. Rows known before must not be in the tree.
    """
    count = found.size
    leaves, out = tree.length.size, np.empty(tree.rows.shape[1])
    nodes, bounds = np.empty(64, np.int64), np.empty(64)
    root = np.int64(1)  # a literal would be compiled by itself
    nodes[0], bounds[0] = root, _bound(tree, root, point)
    top = 1
    while top > 0:
        top -= 1
        t, bound = nodes[top], bounds[top]
        worst = keys[count - 1]
        # An empty node has an infinite bound and NOBODY below it.
        if bound > worst or (bound == worst and tree.lowest[t] >= found[count - 1]):
            continue
        if t < leaves:
            near, far = 2 * t, 2 * t + 1
            to_near, to_far = _bound(tree, near, point), _bound(tree, far, point)
            if to_far < to_near or (to_far == to_near and tree.lowest[far] < tree.lowest[near]):
                near, far, to_near, to_far = far, near, to_far, to_near
            nodes[top], bounds[top] = far, to_far
            nodes[top + 1], bounds[top + 1] = near, to_near
            top += 2
            continue
        leaf = t - leaves
        for i in range(_distances(tree, leaf, point, out)):
            key, row = out[i], tree.rows[leaf, i]
            if key > keys[count - 1] or (key == keys[count - 1] and row >= found[count - 1]):
                continue
            at = count - 1
            while at > 0 and (keys[at - 1] > key or (keys[at - 1] == key and found[at - 1] > row)):
                keys[at], found[at] = keys[at - 1], found[at - 1]
                at -= 1
            keys[at], found[at] = key, row
