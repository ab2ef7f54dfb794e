"""CREST's tree: Prim's algorithm with a distance that also looks at confidential classes.

Li & Sarkar (2013), "Class restricted clustering and micro-perturbation for data privacy",
Management Science 59(4), section 4. The tree starts from one vertex. At every step, among all edges
e from a vertex u of the tree to a record v outside, the one with the least composite distance

    CD(e) = alpha L(e) + (1 - alpha) JSD(B(e))        (equation 6)

is added. L is the normalized Euclidean length, JSD the Jensen-Shannon divergence (base 2) of the
classes in B(e) from those in the whole table, and B(e) holds u, v and the first b - 2 vertices
that a breadth-first search from u meets in the tree as it is at that step; of vertices with the
same degree of separation those nearer to u come first, then the lower row.

What the paper leaves open is settled so: of equal composite distances the shorter edge is taken,
then the one from the vertex u that came in last, then the lower row v. (So equal records form
chains, which can be cut into groups; from the vertex that came in first they would form stars,
which cannot.) The first vertex is the record nearest to the centroid unless the caller names
another. Divergences are rounded to multiples of 2^-32, far below what matters, so that equal ones
compare as equal.

Speed. JSD(B(e)) depends on v only through its class: so the best v for u is found among the
nearest records of each class (crest_outside.py). It is remembered, with its CD, in a heap over u.
Three things can happen to it. A v that is taken by another makes the remembered CD a lower bound,
because fewer records remain. A change of N(u) changes the weighted divergence of class c from
w(c) to w'(c): as a L >= CD - w(c) held for all v, CD + min (w' - w) is a lower bound. Only
when a lower bound comes to the top of the heap is the search for u made again. All is exact: the
tree is the one that trying every edge at every step gives. Memory is linear in the records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.crest._near import Classes, Near, new_classes, new_near, offer, offsets, reach
from sfumato.kernels.crest._outside import Outside, arrange, best_for, remove
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.size_repair import squared as squared_distance
from sfumato.kernels.neighbours.blocks import LARGEST
from sfumato.progress import report

SLICE = 2_000  # vertices between two reports
SLACK = 1e-12  # a lower bound is lowered by this share, more than rounding can have raised it


class SpanningTree(NamedTuple):
    """A tree over records: step i joins `edges[i, 1]`, which is new, to `edges[i, 0]`.

    `lengths` are the normalized Euclidean lengths of the edges.
    """

    edges: NDArray[np.int64]
    lengths: NDArray[np.float64]


class _Tree(NamedTuple):
    parent: Ints
    child: Ints  # the newest child, -1 if none
    sibling: Ints  # the next older child of the same parent
    order: Ints
    queue: Ints  # (2, n): vertices to visit, and where each was reached from


class _Heap(NamedTuple):
    """Vertices of the tree by the best edge that is known for them; of equals the newest first."""

    vertices: Ints
    place: Ints
    came: Ints  # the step at which a vertex came in
    cd: Floats
    squared: Floats
    target: Ints  # the record outside; -1 where cd is only a lower bound
    size: Ints  # (1,)


@njit(cache=True, nogil=True)
def _less(heap: _Heap, u: int, v: int) -> bool:
    if heap.cd[u] != heap.cd[v]:
        return bool(heap.cd[u] < heap.cd[v])
    if heap.squared[u] != heap.squared[v]:
        return bool(heap.squared[u] < heap.squared[v])
    return bool(heap.came[u] > heap.came[v])


@njit(cache=True, nogil=True)
def _settle(heap: _Heap, u: int) -> None:
    """Move u to where its key belongs."""
    at = heap.place[u]
    while at > 0:
        above = (at - 1) // 2
        other = heap.vertices[above]
        if not _less(heap, u, other):
            break
        heap.vertices[at], heap.place[other] = other, at
        at = above
    while True:
        below = 2 * at + 1
        if below >= heap.size[0]:
            break
        if below + 1 < heap.size[0] and _less(heap, heap.vertices[below + 1], heap.vertices[below]):
            below += 1
        other = heap.vertices[below]
        if not _less(heap, other, u):
            break
        heap.vertices[at], heap.place[other] = other, at
        at = below
    heap.vertices[at], heap.place[u] = u, at


@njit(cache=True, nogil=True)
def _enter(
    v: int, u: int, points: Floats, tree: _Tree, near: Near, classes: Classes, left: Ints,
    heap: _Heap, weight: float, before: Floats, after: Floats,
) -> None:  # fmt: skip
    """Hang v on u, and bring up to date the neighbourhoods that this changes."""
    tree.parent[v] = u
    tree.sibling[v] = tree.child[u]
    tree.child[u] = v
    tree.order[heap.size[0]] = v
    left[classes.of[v]] -= 1
    capacity = near.rows.shape[1]
    vertices, origins = tree.queue[0], tree.queue[1]
    vertices[0], origins[0] = u, v
    head, tail, level = 0, 1, 0
    while head < tail:
        level += 1
        stop = tail
        for at in range(head, stop):
            w, origin = vertices[at], origins[at]
            far = reach(near, w)
            known = near.size[v] == capacity and (
                capacity == 0 or near.level[v, capacity - 1] < level
            )
            if far >= 0 and far < level and known:
                continue
            squared = squared_distance(points[v], points[w])
            offer(near, v, w, level, squared)
            if far < 0 or far >= level:
                _meet(v, w, level, squared, near, classes, left, heap, weight, before, after)
            elif near.size[v] == capacity:
                continue
            # Go on to everything next to w, except where we came from.
            if tree.parent[w] >= 0 and tree.parent[w] != origin:
                vertices[tail], origins[tail] = tree.parent[w], w
                tail += 1
            c = tree.child[w]
            while c >= 0:
                if c != origin:
                    vertices[tail], origins[tail] = c, w
                    tail += 1
                c = tree.sibling[c]
        head = stop
    # The least weighted divergence is a lower bound: no search before it is needed.
    offsets(near, classes, v, weight, after)
    least = np.inf
    for c in range(left.size):
        if left[c] > 0:
            least = min(least, after[c])
    heap.cd[v], heap.squared[v], heap.target[v] = least, -1.0, -1
    heap.vertices[heap.size[0]] = v
    heap.place[v] = heap.came[v] = heap.size[0]
    heap.size[0] += 1
    _settle(heap, v)


@njit(cache=True, nogil=True)
def _meet(
    v: int, w: int, level: int, squared: float, near: Near, classes: Classes, left: Ints,
    heap: _Heap, weight: float, before: Floats, after: Floats,
) -> None:  # fmt: skip
    """Let v into N(w) if it belongs there, and correct what is known of w."""
    offsets(near, classes, w, weight, before)
    gone = offer(near, w, v, level, squared)
    if gone == -2 or (gone >= 0 and classes.of[gone] == classes.of[v]):
        return
    offsets(near, classes, w, weight, after)
    least, change = np.inf, np.inf
    for c in range(left.size):
        if left[c] > 0:
            least, change = min(least, after[c]), min(change, after[c] - before[c])
    bound = heap.cd[w] + change
    bound -= SLACK * (1.0 + abs(heap.cd[w]))
    heap.cd[w], heap.squared[w], heap.target[w] = max(bound, least), -1.0, -1
    _settle(heap, w)


@njit(cache=True, nogil=True)
def _grow(
    points: Floats, tree: _Tree, near: Near, classes: Classes, left: Ints, heap: _Heap,
    outside: Outside, alpha: float, unit: float, goal: int, before: Floats, after: Floats,
) -> None:  # fmt: skip
    """Add vertices until the tree has `goal` of them."""
    weight = 1.0 - alpha
    while heap.size[0] < goal:
        u = heap.vertices[0]
        v = heap.target[u]
        if v >= 0 and outside.where[v] >= 0:
            remove(outside, v)
            _enter(v, u, points, tree, near, classes, left, heap, weight, before, after)
            continue
        offsets(near, classes, u, weight, after)
        cd, squared, row = best_for(
            outside, points[u], after, alpha, unit, np.inf, np.inf, points.shape[0]
        )
        heap.cd[u], heap.squared[u], heap.target[u] = cd, squared, row
        _settle(heap, u)


def central(points: ArrayLike) -> int:
    """The record nearest to the centroid, of equals the lowest row.

    >>> central([[0.0], [4.0], [5.0]])
    1
    """
    x = np.asarray(points, dtype=np.float64)
    return int(np.argmin(np.sum((x - x.mean(axis=0)) ** 2, axis=1)))


def crest_tree(
    points: ArrayLike,
    classes: ArrayLike,
    b: int,
    alpha: float = 0.5,
    *,
    unit: float = 1.0,
    start: int | None = None,
    share: Floats | None = None,
) -> SpanningTree:
    """The class-restricted spanning tree of records.

    `points` are the records (n rows), scaled by the caller; `unit` times a Euclidean distance is
    the normalized length L. `classes` are whole numbers, of which only the equality counts. The
    tree starts at the record nearest to the centroid unless `start` names another. `share[c]` is
    that of class c in the whole table, where the records are but a part of it.

    >>> tree = crest_tree([[0.0], [0.1], [0.2], [0.3]], [0, 0, 1, 1], b=2, start=0)
    >>> tree.edges.tolist(), tree.lengths.round(3).tolist()
    ([[0, 2], [2, 1], [1, 3]], [0.2, 0.1, 0.2])
    """
    x = np.array(points, dtype=np.float64, order="C")
    given = np.asarray(classes)
    _check(x, given, b, alpha, unit, start)
    n = len(x)
    first = central(x) if start is None else int(start)
    codes = numbered(given)  # by first appearance, so that their names cannot matter
    left = np.bincount(codes).astype(np.int64)

    b = min(b, n + 1)  # a tree of n vertices has no use for more than n - 1 neighbours
    shares = left / n
    if share is not None:
        shares[codes] = share[given]
    near, kinds = new_near(n, b), new_classes(codes, shares, b)
    tree, heap = _planted(n, first)
    left[codes[first]] -= 1
    before, after = np.empty(left.size), np.empty(left.size)
    reached = np.zeros(n, dtype=bool)
    outside, arranged = None, 2 * n
    while (size := int(heap.size[0])) < n:
        if outside is None or n - size <= arranged // 2:
            # Half of the records are gone: arrange the rest anew, in tighter blocks.
            reached[tree.order[:size]] = True
            outside, arranged = arrange(x, codes, np.flatnonzero(~reached)), n - size
        goal = min(size + SLICE, n - arranged // 2)
        _grow(x, tree, near, kinds, left, heap, outside, alpha, unit, goal, before, after)
        report("growing the tree", int(heap.size[0]), n)
    new = tree.order[1:]
    edges = np.column_stack([tree.parent[new], new])
    return SpanningTree(edges, _lengths(x, edges, unit))


def _check(
    x: Floats, classes: NDArray[np.int64], b: int, alpha: float, unit: float, start: int | None
) -> None:
    if x.ndim != 2 or classes.shape != (len(x),) or classes.dtype.kind not in "iu":
        raise ValueError(
            f"points are a matrix and classes whole numbers, one to a row, not {x.shape} and "
            f"{classes.shape} of {classes.dtype}"
        )
    if len(x) < 1 or b < 2 or not 0.0 <= alpha <= 1.0 or not 0.0 < unit < np.inf:
        raise ValueError("needs a record, b of at least 2, alpha from 0 to 1 and a unit above 0")
    if not np.all(np.abs(x) <= LARGEST):
        row, j = map(int, np.argwhere(~(np.abs(x) <= LARGEST))[0])
        raise ValueError(f"points[{row}, {j}] is missing, infinite or above {LARGEST:g}")
    if start is not None and not 0 <= start < len(x):
        raise ValueError(f"the tree cannot start at row {start} of {len(x)}")


def _planted(n: int, first: int) -> tuple[_Tree, _Heap]:
    """The tree of one vertex."""
    nobody = np.full(n, -1, np.int64)
    tree = _Tree(nobody, nobody.copy(), nobody.copy(), nobody.copy(), np.empty((2, n), np.int64))
    heap = _Heap(
        vertices=nobody.copy(),
        place=nobody.copy(),
        came=nobody.copy(),
        cd=np.empty(n),
        squared=np.empty(n),
        target=nobody.copy(),
        size=np.ones(1, np.int64),
    )
    tree.order[0] = heap.vertices[0] = first
    heap.place[first] = heap.came[first] = 0
    heap.cd[first], heap.squared[first] = 0.0, -1.0
    return tree, heap


@njit(cache=True, nogil=True)
def _lengths(x: Floats, edges: Ints, unit: float) -> Floats:
    out = np.empty(len(edges))
    for e in range(len(edges)):
        out[e] = unit * np.sqrt(squared_distance(x[edges[e, 0]], x[edges[e, 1]]))
    return out
