"""The Euclidean minimum spanning tree, exact, in memory linear in the number of records.

Distinct points are put in blocks of neighbours; each point gets the list of its nearest others;
Boruvka's rounds join what the lists settle, and only points of small, unsettled parts are searched
further. The nearest lists are most of the work, and threads share it by blocks: what they find does
not depend on how many there are. Few points go by Prim's way instead. See March, Ram & Gray (2010),
"Fast Euclidean minimum spanning tree: algorithm, analysis, and applications", KDD.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.micro.trees import _mst_join as mst_join
from sfumato.kernels.micro.trees._mst_blocks import near_lists
from sfumato.kernels.micro.trees._mst_join import Flags
from sfumato.kernels.neighbours.blocks import LARGEST, distinct_rows, in_blocks, order_in_blocks
from sfumato.kernels.threads import cores
from sfumato.progress import report

BLOCK = 128  # points to a block, measured at 30,000 x 10
LISTS = 5  # neighbours in a list, measured at 100,000 x 10: fewer leave more to be searched
FEW = 1_500  # points up to which Prim's way is quicker
SHARE = 32  # blocks that a thread takes at a time


def minimum_spanning_tree(points: ArrayLike, *, threads: int | None = None) -> tuple[Ints, Floats]:
    """Edges (n-1, 2) of the minimum spanning tree of n points, shortest first, and their lengths.

    Lengths are Euclidean, not squared. Edges are told apart by (squared length, lower row, higher
    row), with squared differences added in column order, so the tree is unique and does not depend
    on the number of threads. Points that are equal form a chain in row order, with edges of length
    zero; towards other points the first of them stands for all. `threads` is the number of cores
    unless given.

    >>> edges, lengths = minimum_spanning_tree([[0.0], [9.0], [1.0], [9.0]])
    >>> edges.tolist(), lengths.tolist()
    ([[1, 3], [0, 2], [1, 2]], [0.0, 1.0, 8.0])
    """
    x = np.array(points, dtype=np.float64, order="C")
    if x.ndim != 2 or len(x) == 0:
        raise ValueError(f"points must be a matrix with at least one row, not {x.shape}")
    if not np.all(np.abs(x) <= LARGEST):
        bad = np.argwhere(~(np.abs(x) <= LARGEST))[0]
        raise ValueError(
            f"points[{bad[0]}, {bad[1]}] is missing, infinite or above {LARGEST:g}: "
            "resolve missing values and standardize the columns first"
        )
    x += 0.0  # -0 becomes 0, so that equal points have equal bits
    n = len(x)
    first, member = distinct_rows(x.view(np.int64), np.empty((n, 0), np.int32))
    between, squares = _tree(np.ascontiguousarray(x[first]), threads)
    # Copies follow one another: sorted by point, the row before is the copy before.
    rows = np.argsort(member, kind="stable")
    copy = np.flatnonzero(np.diff(member[rows]) == 0)
    edges = np.concatenate([np.stack([rows[copy], rows[copy + 1]], axis=1), first[between]])
    squares = np.concatenate([np.zeros(len(copy)), squares])
    order = np.lexsort((edges[:, 1], edges[:, 0], squares))
    return edges[order], np.sqrt(squares[order])


def _tree(x: Floats, threads: int | None) -> tuple[Ints, Floats]:
    """Edges and squared lengths for points of which no two are equal."""
    n = len(x)
    edges, squares = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    if n <= FEW:
        mst_join.prim(x, edges, squares)
        return edges, squares
    order = order_in_blocks(x, np.empty(0), np.arange(n), BLOCK)
    points, box = in_blocks(x, order, BLOCK)
    starts = range(0, len(points), SHARE)
    spans = [(start, min(start + SHARE, len(points))) for start in starts]
    far, who = np.empty((n, LISTS)), np.empty((n, LISTS), np.int64)
    # By place: entries of a list that are used up, what comes after it, and the part (by number).
    used, part = np.zeros(n, np.int64), np.empty(n, np.int64)
    # By point: union-find, and for the point that stands for a part its size and best edge.
    parent, size, settled = np.arange(n), np.empty(n, np.int64), np.empty(n, np.bool_)
    length, ends = np.empty(n), np.empty((n, 2), np.int64)
    with ThreadPoolExecutor(threads or cores()) as pool:
        lists = pool.map(lambda s: near_lists(points, box, order, s[0], s[1], far, who), spans)
        for (_, done), _ in zip(spans, lists, strict=True):
            report("finding nearest records", done, len(points))
        limit, beyond = far[:, -1].copy(), who[:, -1].copy()
        count = 0
        while count < n - 1:
            largest = mst_join.best_edges(
                parent, order, far, who, used, limit, beyond, part, size, length, ends, settled
            )
            names = np.flatnonzero(size)
            if 4 * np.count_nonzero(settled[names]) < len(names):
                # The lists settle too few parts: search from all the others.
                spent = used == LISTS
                number = np.searchsorted(names, part)
                whole = mst_join.whole_blocks(number, BLOCK)
                giant = int(np.searchsorted(names, largest))
                search = partial(
                    _search, points=points, box=box, order=order, whole=whole, part=number,
                    largest=giant, spent=spent, limit=limit, beyond=beyond,
                    length=length[names], ends=ends[names],
                )  # fmt: skip
                for found in pool.map(search, spans):
                    mst_join.take_better(names, *found, length, ends)
                mst_join.raise_limits(part, largest, spent, limit, beyond, length)
                settled[names[names != largest]] = True
            count = mst_join.join(parent, size, length, ends, settled, edges, squares, count)
            report("joining parts of the tree", count, n - 1)
    return edges, squares


def _search(
    span: tuple[int, int], *, length: Floats, ends: Ints, points: Floats, box: Floats, order: Ints,
    whole: Ints, part: Ints, largest: int, spent: Flags, limit: Floats, beyond: Ints,
) -> tuple[Floats, Ints]:  # fmt: skip
    """Best edges of the parts as far as some blocks know: threads bring down copies of their own.

    The first of all edges is the same whoever finds it, so threads do not show in the result.
    """
    own, own_ends = length.copy(), ends.copy()
    mst_join.search(
        points, box, order, span[0], span[1], whole, part, largest, spent, limit, beyond,
        own, own_ends,
    )  # fmt: skip
    return own, own_ends
