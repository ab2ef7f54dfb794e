"""MDAV's nearest records: a wide k-d tree of the points that remain.

Leaves hold up to LANES neighbouring points and nodes up to LANES neighbouring leaves or nodes, each
with the bounding box of what remains in it (k-d trees: Friedman, Bentley & Finkel 1977, "An
algorithm for finding best matches in logarithmic expected time"). What is below a node lies side by
side in memory, column by column, so that LANES bounds or distances are summed at once. Boxes shrink
when a point at their edge is taken off.

Searches wait for memory more than they compute; therefore points and boxes are kept in single
precision. What it loses is bounded beforehand (`_limit`): a box or point is passed over only if its
sum says that nothing there can be taken. Every other point is measured in double precision, in the
order that MDAV states, and only that distance decides.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.micro.mdav._lanes import (
    LANES,
    add_distances,
    add_gaps,
    lanes_at_most,
    lowest_lane,
)
from sfumato.kernels.micro.mdav._shells import AHEAD, END, LEAF, LEAST, SEEN, in_pieces, numbers
from sfumato.kernels.neighbours.blocks import order_in_blocks

NO_ROW = np.iinfo(np.int64).max
UNIT = 2.0**-24
"""Rounding to single precision takes or gives at most this share."""

FINITE = np.finfo(np.float32).max
"""Above every sum: scaled coordinates are at most 1."""

Singles = NDArray[np.float32]


class Room(NamedTuple):
    """Room for a search to work in."""

    stack: Ints
    least: Singles
    out: Singles
    bound: Singles
    own: Singles
    sums: Floats
    keys: Floats
    found: Ints
    used: Ints


def room(columns: int, k: int) -> Room:
    """Room for searches for groups of k among records with so many columns."""
    # Depth first: of each level at most LANES nodes wait, and 2**63 records make 15 levels.
    size = LANES * LANES
    return Room(
        stack=np.empty(size, np.int64),
        least=np.empty(size, np.float32),
        out=np.empty(LANES, np.float32),
        bound=np.empty(LANES, np.float32),
        own=np.empty(columns, np.float32),
        sums=np.empty(LANES),
        keys=np.empty(k - 1),
        found=np.empty(k, np.int64),
        used=np.empty(k, np.int64),
    )


class Tree(NamedTuple):
    """Leaves and nodes, level by level: the last node is the root.

    Numbers are single precision, relative to `centre` and times `scale`. Codes may be rounded: what
    differs may then look alike, which passes over no more.
    """

    pieces: Singles
    """(leaves, 1 + columns, LANES): 0 for a point that remains, else infinity; then its values."""
    point: Ints
    """(leaves, LANES): its number."""
    boxes: Singles
    """(nodes, 1 + 2 columns, LANES): 0 if something remains there, else infinity; then the least
    and the greatest values of what is below each node."""
    below: Ints
    """(nodes,): the first thing below, a leaf for the first `bottom` nodes, a node for others."""
    above: Ints
    """(nodes,): parent * LANES + place; the root has -1."""
    bottom: int
    weights: Singles
    """Of nominal columns, times `scale` squared."""
    centre: Floats
    scale: float
    slack: float
    """No scaled distance is farther than this from the one that single precision finds."""


def _arrange(x: Floats, weights: Floats, points: Ints) -> Ints:
    """`points` in an order in which every run of LANES, LANES squared, ... lies close together."""
    order = points.copy()
    run = LANES
    while run < len(points):
        run *= LANES
    while run > LANES:
        part = run // LANES
        for low in range(0, len(points), run):
            if len(points) - low > part:
                some = order[low : low + run]
                order[low : low + run] = order_in_blocks(x, weights, some, part)
        run = part
    return order


def _extent(pieces: Floats, weights: Floats) -> tuple[Floats, float, float]:
    """Centre, scale and slack (see Tree) of numbers in pieces."""
    low, high = pieces.min(axis=0).min(axis=1), pieces.max(axis=0).max(axis=1)
    centre = low + (high - low) / 2.0
    half = np.maximum(high - centre, centre - low)
    largest = max(half.max(initial=0.0), math.sqrt(weights.max(initial=0.0)))
    scale = 1.0 / largest if largest > LEAST else 1.0
    # A coordinate is rounded once in each of two points, by at most UNIT of its size; underflow
    # takes far less than 1e-20.
    slack = 2.5 * UNIT * math.sqrt(np.sum((half * scale) ** 2)) + 1e-20
    return centre, scale, slack


def _boxes(pieces: Singles, sizes: list[int]) -> Singles:
    """Boxes of leaves, and of nodes level by level."""
    columns = pieces.shape[1] - 1
    boxes = np.empty((sum(sizes), 1 + 2 * columns, LANES), np.float32)
    for side, outer in ((0, np.min), (1, np.max)):
        inner, at, nothing = outer(pieces[:, 1:], axis=2), 0, (np.inf, -np.inf)[side]
        for size in sizes:
            full = np.full((size * LANES, columns), nothing, np.float32)
            full[: len(inner)] = inner
            faces = full.reshape(size, LANES, columns).transpose(0, 2, 1)
            boxes[at : at + size, 1 + side :: 2] = faces
            inner = outer(faces, axis=2)
            at += size
    return boxes


def tree(x: Floats, weights: Floats, points: Ints, place: Ints) -> Tree:
    """A tree of `points`, the ones that remain; their places are filled in."""
    order = _arrange(x, weights, points)
    place[order, LEAF] = np.arange(len(order))
    p = x.shape[1] - len(weights)
    wide = in_pieces(x, order, np.inf)
    numeric = wide[:, 1 : 1 + p]
    centre, scale, slack = _extent(numeric, weights)
    numeric -= centre[:, None]
    numeric *= scale
    pieces = wide.astype(np.float32)
    leaves = len(pieces)
    sizes = [-(-leaves // LANES)]  # nodes of each level
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // LANES))
    nodes = sum(sizes)
    boxes = _boxes(pieces, sizes)
    opening = np.full(nodes * LANES, np.inf)
    below, above = np.empty(nodes, np.int64), np.full(nodes, -1, np.int64)
    at, children = 0, leaves
    for size in sizes:
        opening[at * LANES : at * LANES + children] = 0.0
        first = at - children if at > 0 else 0  # of the level below
        below[at : at + size] = first + np.arange(0, size * LANES, LANES)
        if at > 0:
            above[first:at] = at * LANES + np.arange(children)
        at, children = at + size, size
    boxes[:, 0] = opening.reshape(nodes, LANES)
    return Tree(
        pieces=pieces,
        point=numbers(order),
        boxes=boxes,
        below=below,
        above=above,
        bottom=sizes[0],
        weights=(weights * scale * scale).astype(np.float32),
        centre=centre,
        scale=scale,
        slack=slack,
    )


@njit(cache=True, nogil=True, inline="always")
def _draw_in(boxes: Singles, above: Ints, face: int, at: int, old: Any, new: Any) -> None:
    """Move a face from `old` to `new`: of box `at` (node * LANES + place) and of those above."""
    least = face % 2 == 1
    while True:
        node = at // LANES
        boxes[node, face, at % LANES] = new
        at = above[node]
        if at < 0 or boxes[at // LANES, face, at % LANES] != old:
            return
        new = boxes[node, face, 0]
        for a in range(1, LANES):
            value = boxes[node, face, a]
            new = min(new, value) if least else max(new, value)
        if new == old:
            return


@njit(cache=True, nogil=True, inline="always")
def _all_gone(pieces: Singles, at: int) -> bool:
    """Whether nothing remains in a leaf or below a node."""
    remains = False
    for a in range(LANES):
        remains |= pieces[at, 0, a] == 0.0
    return not remains


@njit(cache=True, nogil=True)
def leave_tree(pieces: Singles, boxes: Singles, above: Ints, place: Ints, points: Ints) -> None:
    """Take points off, and draw in the faces of the boxes that they held out."""
    for point in points:
        leaf, i = place[point, LEAF] // LANES, place[point, LEAF] % LANES
        pieces[leaf, 0, i] = np.inf
        for face in range(1, boxes.shape[1]):
            j = (face + 1) // 2
            old = pieces[leaf, j, i]
            if boxes[leaf // LANES, face, leaf % LANES] != old:
                continue
            new = np.float32(np.inf if face % 2 == 1 else -np.inf)
            for a in range(LANES):
                if pieces[leaf, 0, a] == 0.0:
                    value = pieces[leaf, j, a]
                    new = min(new, value) if face % 2 == 1 else max(new, value)
            _draw_in(boxes, above, face, leaf, old, new)
        at = leaf if _all_gone(pieces, leaf) else -1
        while at >= 0:
            node = at // LANES
            boxes[node, 0, at % LANES] = np.inf
            at = above[node] if _all_gone(boxes, node) else -1


@njit(cache=True, nogil=True, inline="always")
def _distance(x: Floats, weights: Floats, a: int, b: int) -> float:
    """Squared distance of two points."""
    total, p = 0.0, x.shape[1] - weights.size
    for j in range(p):
        step = x[a, j] - x[b, j]
        total += step * step
    for j in range(weights.size):
        if x[a, p + j] != x[b, p + j]:
            total += weights[j]
    return total


@njit(cache=True, nogil=True, inline="always")
def _sift(keys: Floats, rows: Ints, key: float, row: int) -> None:
    """Put (key, row) in place of the root of a heap whose root is the greatest pair."""
    size, i = keys.size, 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            keys[right] > keys[child] or (keys[right] == keys[child] and rows[right] > rows[child])
        ):
            child = right
        if keys[child] < key or (keys[child] == key and rows[child] < row):
            break
        keys[i], rows[i] = keys[child], rows[child]
        i = child
    keys[i], rows[i] = key, row


@njit(cache=True, nogil=True, inline="always")
def _limit(key: float, scale: float, slack: float, terms: int) -> np.float32:
    """A sum of `terms` in single precision above this is that of a squared distance above `key`.

    By the triangle inequality rounded coordinates change a distance by at most `slack`; each term
    and each addition then gives or takes at most UNIT of the sum.
    """
    root = math.sqrt(key + LEAST) * scale + slack
    return np.float32(min(root * root * (1.0 + (terms + 8) * UNIT), float(FINITE)))


@njit(cache=True, nogil=True)
def nearest(
    t: Tree, point: int, x: Floats, weights: Floats, rows: Ints, place: Ints, work: Room,
    marks: Ints, found: Ints,
) -> None:  # fmt: skip
    """The `found.size` remaining rows nearest to `point`; of equals the lowest.

    The rows of point i are `rows[place[i, AHEAD] : place[i, END]]`. `found` and their squared
    distances are a heap.
    """
    columns = x.shape[1]
    p = columns - weights.size
    # Fields are read once: each reading counts a reference, which costs as much as a column.
    pieces, points, light, boxes = t.pieces, t.point, t.weights, t.boxes
    below, bottom, scale, slack = t.below, t.bottom, t.scale, t.slack
    stack, least, out, bound, own = work.stack, work.least, work.out, work.bound, work.own
    keys = work.keys
    for j in range(columns):
        own[j] = (x[point, j] - t.centre[j]) * scale if j < p else x[point, j]
    keys[:] = np.inf
    found[:] = NO_ROW
    limit = FINITE  # not infinity, which stands for what is gone
    # What shares a node with the point is likely to be near: a good start spares many boxes.
    root, home = below.size - 1, place[point, LEAF] // (LANES * LANES)
    stack[0], least[0], size = root, 0.0, 1
    if home != root:
        stack[1], least[1], size = home, 0.0, 2
    while size > 0:
        size -= 1
        node = stack[size]
        if least[size] > limit:
            continue
        marks[SEEN] += 1
        add_gaps(boxes, node * (1 + 2 * columns) * LANES, own, light, bound)
        low = size
        near = lanes_at_most(bound, limit)
        while near != 0:
            i = lowest_lane(near)
            near &= near - 1
            if bound[i] > limit:
                continue
            if node >= bottom:
                this = below[node] + i
                if this == home:
                    continue
                at = size  # the nearest on top
                while at > low and least[at - 1] < bound[i]:
                    stack[at], least[at] = stack[at - 1], least[at - 1]
                    at -= 1
                stack[at], least[at] = this, bound[i]
                size += 1
                continue
            leaf = node * LANES + i
            marks[SEEN] += 1
            add_distances(pieces, leaf * (1 + columns) * LANES, own, light, out)
            hits = lanes_at_most(out, limit)
            while hits != 0:
                a = lowest_lane(hits)
                hits &= hits - 1
                this = points[leaf, a]
                key = _distance(x, weights, this, point)
                for at in range(place[this, AHEAD], place[this, END]):
                    if not (key < keys[0] or (key == keys[0] and rows[at] < found[0])):
                        break
                    _sift(keys, found, key, rows[at])
                    limit = _limit(keys[0], scale, slack, columns)
