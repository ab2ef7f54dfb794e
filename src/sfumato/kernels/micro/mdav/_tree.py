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

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.micro.mdav._lanes import (
    LANES,
    add_gap_weights,
    add_gaps,
    add_squares,
    add_weights,
    lanes_at_most,
    lowest_lane,
)
from sfumato.kernels.micro.mdav._shells import LEAST, distance, gather, gather_codes, places
from sfumato.kernels.neighbours.blocks import order_in_blocks

NO_ROW = np.iinfo(np.int64).max
LEAST_CODE, MOST_CODE = np.iinfo(np.int32).min, np.iinfo(np.int32).max
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


def room(p: int) -> Room:
    """Room for searches among records with p numeric columns."""
    # Depth first: of each level at most LANES nodes wait, and 2**63 records make 15 levels.
    size = LANES * LANES
    return Room(
        stack=np.empty(size, np.int64),
        least=np.empty(size, np.float32),
        out=np.empty(LANES, np.float32),
        bound=np.empty(LANES, np.float32),
        own=np.empty(p, np.float32),
    )


class Tree(NamedTuple):
    """Leaves and nodes, level by level: the last node is the root.

    Numbers are single precision, relative to `centre` and times `scale`.
    """

    x: Singles
    """(leaves, p, LANES): numeric columns of the points of each leaf."""
    c: Codes
    """(leaves, q, LANES): nominal columns."""
    start: Singles
    """(leaves, LANES): 0 for a point that remains, else infinity: sums of squares start here."""
    point: Ints
    """(leaves, LANES): its number."""
    where: Ints
    """(points,): leaf * LANES + place of each."""
    box: Singles
    """(nodes, p, 2, LANES): least and greatest values of what is below each node."""
    span: Codes
    """(nodes, q, 2, LANES): the same of codes."""
    opening: Singles
    """(nodes, LANES): 0 if something remains there, else infinity: bounds start here."""
    below: Ints
    """(nodes,): the first thing below, a leaf for the first `bottom` nodes, a node for others."""
    above: Ints
    """(nodes,): parent * LANES + place; the root has -1."""
    bottom: int
    weights: Singles
    """(q,): times `scale` squared."""
    centre: Floats
    scale: float
    slack: float
    """No scaled distance is farther than this from the one that single precision finds."""


def _arrange(x: Floats, c: Codes, weights: Floats, points: Ints) -> Ints:
    """`points` in an order in which every run of LANES, LANES squared, ... lies close together."""
    order = points.copy()
    run = LANES
    while run < len(points):
        run *= LANES
    while run > LANES:
        part = run // LANES
        for low in range(0, len(points), run):
            if len(points) - low > part:
                order[low : low + run] = order_in_blocks(
                    x, c, weights, order[low : low + run], part
                )
        run = part
    return order


@njit(cache=True, nogil=True)
def _range(x: Floats, points: Ints, low: Floats, high: Floats) -> None:
    """Least and greatest value of each column."""
    for i in points:
        for j in range(x.shape[1]):
            low[j], high[j] = min(low[j], x[i, j]), max(high[j], x[i, j])


def _extent(x: Floats, weights: Floats, points: Ints) -> tuple[Floats, float, float]:
    """Centre, scale and slack (see Tree) of some points."""
    low, high = x[points[0]].copy(), x[points[0]].copy()
    _range(x, points, low, high)
    centre = low + (high - low) / 2.0
    half = np.maximum(high - centre, centre - low)
    largest = max(half.max(initial=0.0), math.sqrt(weights.max(initial=0.0)))
    scale = 1.0 / largest if largest > LEAST else 1.0
    # A coordinate is rounded once in each of two points, by at most UNIT of its size; underflow
    # takes far less than 1e-20.
    slack = 2.5 * UNIT * math.sqrt(np.sum((half * scale) ** 2)) + 1e-20
    return centre, scale, slack


def _enclose(items: Any, faces: Any, sizes: list[int], least: Any, most: Any) -> None:
    """Boxes of leaves, and of nodes level by level; `least` and `most` are above and below all."""
    for side, nothing, outer in ((0, least, np.min), (1, most, np.max)):
        inner, at = outer(items, axis=2), 0
        for size in sizes:
            padded = np.full((size * LANES, items.shape[1]), nothing, items.dtype)
            padded[: len(inner)] = inner
            faces[at : at + size, :, side] = padded.reshape(size, LANES, -1).transpose(0, 2, 1)
            inner = outer(faces[at : at + size, :, side], axis=2)
            at += size


def tree(x: Floats, c: Codes, weights: Floats, points: Ints, where: Ints) -> Tree:
    """A tree of `points`, the ones that remain; `where` is filled for them."""
    p, q = x.shape[1], c.shape[1]
    order = _arrange(x, c, weights, points)
    point, start = places(order, where, np.inf)
    leaves = len(point)
    sizes = [-(-leaves // LANES)]  # nodes of each level
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // LANES))
    nodes = sum(sizes)

    centre, scale, slack = _extent(x, weights, points)
    tx, tc = np.empty((leaves, p, LANES), np.float32), np.empty((leaves, q, LANES), np.int32)
    gather(x, order, centre, scale, tx)
    gather_codes(c, order, tc)
    box = np.empty((nodes, p, 2, LANES), np.float32)
    span = np.empty((nodes, q, 2, LANES), np.int32)
    _enclose(tx, box, sizes, np.inf, -np.inf)
    _enclose(tc, span, sizes, MOST_CODE, LEAST_CODE)

    opening = np.full((nodes, LANES), np.inf, np.float32)
    below, above = np.empty(nodes, np.int64), np.full(nodes, -1, np.int64)
    at, children = 0, leaves
    for size in sizes:
        opening[at : at + size].reshape(-1)[:children] = 0.0
        first = at - children if at > 0 else 0  # of the level below
        below[at : at + size] = first + np.arange(0, size * LANES, LANES)
        if at > 0:
            above[first:at] = at * LANES + np.arange(children)
        at, children = at + size, size
    return Tree(
        x=tx,
        c=tc,
        start=start.astype(np.float32),
        point=point,
        where=where,
        box=box,
        span=span,
        opening=opening,
        below=below,
        above=above,
        bottom=sizes[0],
        weights=(weights * scale * scale).astype(np.float32),
        centre=centre,
        scale=scale,
        slack=slack,
    )


@njit(cache=True, nogil=True)
def _draw_in(
    items: Any, start: Singles, faces: Any, above: Ints, leaf: int, i: int, side: int, nothing: Any
) -> None:
    """Move the faces that item i of a leaf held out, those of the leaf and those above it.

    `side` 0 is the least values, 1 the greatest; `nothing` is the face of an empty box.
    """
    for j in range(items.shape[1]):
        old = items[leaf, j, i]
        if faces[leaf // LANES, j, side, leaf % LANES] != old:
            continue
        new = nothing
        for a in range(LANES):
            if start[leaf, a] == 0.0:
                value = items[leaf, j, a]
                new = min(new, value) if side == 0 else max(new, value)
        at = leaf
        while True:
            node = at // LANES
            faces[node, j, side, at % LANES] = new
            at = above[node]
            if at < 0 or faces[at // LANES, j, side, at % LANES] != old:
                break
            new = nothing
            for a in range(LANES):
                value = faces[node, j, side, a]
                new = min(new, value) if side == 0 else max(new, value)
            if new == old:
                break


@njit(cache=True, nogil=True)
def _all_gone(starts: Singles, at: int) -> bool:
    """Whether nothing remains in a leaf or below a node."""
    remains = False
    for a in range(LANES):
        remains |= starts[at, a] == 0.0
    return not remains


@njit(cache=True, nogil=True)
def leave_tree(t: Tree, points: Ints) -> None:
    """Take points off."""
    x, c, box, span = t.x, t.c, t.box, t.span
    where, start, above, opening = t.where, t.start, t.above, t.opening
    for point in points:
        leaf, i = where[point] // LANES, where[point] % LANES
        start[leaf, i] = np.inf
        _draw_in(x, start, box, above, leaf, i, 0, np.float32(np.inf))
        _draw_in(x, start, box, above, leaf, i, 1, np.float32(-np.inf))
        if c.shape[1] > 0:
            _draw_in(c, start, span, above, leaf, i, 0, np.int32(MOST_CODE))
            _draw_in(c, start, span, above, leaf, i, 1, np.int32(LEAST_CODE))
        at = leaf if _all_gone(start, leaf) else -1
        while at >= 0:
            node = at // LANES
            opening[node, at % LANES] = np.inf
            at = above[node] if _all_gone(opening, node) else -1


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _limit(key: float, scale: float, slack: float, terms: int) -> np.float32:
    """A sum of `terms` in single precision above this is that of a squared distance above `key`.

    By the triangle inequality rounded coordinates change a distance by at most `slack`; each term
    and each addition then gives or takes at most UNIT of the sum.
    """
    root = math.sqrt(key + LEAST) * scale + slack
    return np.float32(min(root * root * (1.0 + (terms + 8) * UNIT), float(FINITE)))


@njit(cache=True, nogil=True)
def nearest(
    t: Tree, point: int, x: Floats, c: Codes, weights: Floats, rows: Ints, ahead: Ints, ends: Ints,
    work: Room, seen: Ints, keys: Floats, found: Ints,
) -> None:  # fmt: skip
    """The `found.size` remaining rows nearest to `point`; of equals the lowest.

    The rows of point i are `rows[ahead[i]:ends[i]]`. `found` and their squared distances `keys` are
    a heap. `seen[0]` counts the boxes and leaves looked at.
    """
    p, q = x.shape[1], c.shape[1]
    # Fields are read once: each reading counts a reference, which costs as much as a column.
    tx, tc, start, points, light = t.x, t.c, t.start, t.point, t.weights
    box, span, opening, below, bottom = t.box, t.span, t.opening, t.below, t.bottom
    scale, slack = t.scale, t.slack
    stack, least, out, bound, own = work.stack, work.least, work.out, work.bound, work.own
    here, codes = x[point], c[point]
    for j in range(p):
        own[j] = (here[j] - t.centre[j]) * scale
    keys[:] = np.inf
    found[:] = NO_ROW
    limit = FINITE  # not infinity, which stands for what is gone
    # What shares a node with the point is likely to be near: a good start spares many boxes.
    root, home = below.size - 1, t.where[point] // (LANES * LANES)
    stack[0], least[0], size = root, 0.0, 1
    if home != root:
        stack[1], least[1], size = home, 0.0, 2
    while size > 0:
        size -= 1
        node = stack[size]
        if least[size] > limit:
            continue
        seen[0] += 1
        add_gaps(box, node * p * 2 * LANES, own, light, opening, node * LANES, bound)
        if q > 0:
            add_gap_weights(span, node * q * 2 * LANES, codes, light, bound, 0, bound)
        low = size
        boxes = lanes_at_most(bound, limit)
        while boxes != 0:
            i = lowest_lane(boxes)
            boxes &= boxes - 1
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
            seen[0] += 1
            add_squares(tx, leaf * p * LANES, own, light, start, leaf * LANES, out)
            if q > 0:
                add_weights(tc, leaf * q * LANES, codes, light, out, 0, out)
            hits = lanes_at_most(out, limit)
            while hits != 0:
                a = lowest_lane(hits)
                hits &= hits - 1
                this = points[leaf, a]
                key = distance(x, c, weights, this, here, codes)
                for at in range(ahead[this], ends[this]):
                    if not (key < keys[0] or (key == keys[0] and rows[at] < found[0])):
                        break
                    _sift(keys, found, key, rows[at])
                    limit = _limit(keys[0], scale, slack, p + q)
