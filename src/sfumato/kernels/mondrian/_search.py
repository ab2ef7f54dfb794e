"""Mondrian: multidimensional k-anonymity by repeated splitting.

LeFevre, DeWitt & Ramakrishnan (2006), "Mondrian multidimensional k-anonymity", ICDE. A node (at
first the whole file) is split in one quasi-identifier, and its parts are split in turn, as long as
every part keeps k rows. The nodes that cannot be split are the groups.

**Widths.** A cell of a group is published as the range of its values, as a node of a hierarchy, or
as a set of values. With positions scaled to the whole column, a range is as wide as the distance of
its ends; a tree node as its (leaves - 1) / (all leaves - 1); a value set as its (values - 1) /
(all values - 1). A group that mixes missing with other values is published as "*", of width 1.
Weights multiply widths.

**Splits.** A column that mixes missing with other values: missing against present. Ordered codes: a
cut between two values; if not `strict`, the median's ties may be shared out, in row order, so that
the halves are equal. Tree: each child of the lowest common node with at least k rows is a part, the
other rows are one part; if these are fewer than k, the smallest child's part joins them.

**Choice.**

- ``widest``, the paper's: columns by decreasing width, ties to the lowest, the first allowable
  split; of the cuts the one nearest the median. (A value set counts as the range of its codes.)
- ``gain``: the split that most reduces rows * width in its own column, over all allowable cuts;
  ties to the lowest column, then to the lowest cut.
- ``expected``: the split that most reduces the width that groups drawn at random would have, over
  more kinds of splits; usually loses least (see ``mondrian_expected``).

If not `strict`, ``gain`` and ``expected`` share out ties, as ``widest`` does, only where no other
split is allowable.

The result does not depend on the order in which nodes are split, nor on the number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.mondrian._cut import (
    BRANCH,
    NONE,
    Scratch,
    branches,
    distinct,
    gain,
    make_scratch,
    widest,
)
from sfumato.kernels.mondrian._expected import expected
from sfumato.kernels.mondrian._layout import INNER, LANES, Codes, Columns, Ints, Rows, Tree, pack
from sfumato.kernels.mondrian._machine import borrow
from sfumato.kernels.mondrian._move import label, label_parts, load, move, number
from sfumato.kernels.threads import cores

__all__ = ["Tree", "mondrian"]

CHOICES = {"widest": 0, "gain": 1, "expected": 2}
TASK = 1 << 15  # rows of a subtree that one thread takes without sharing

Buffers = tuple[Codes, Rows, Codes, Rows, Ints]  # codes and row numbers, twice, and labels
Nodes = tuple[Ints, Ints, Ints, Ints, Codes, Codes]  # begin, end, buffer, dead, lowest, highest


@njit(**INNER)
def _copy(one: Codes, other: Codes) -> None:
    """``other[:] = one``, which compiles slowly when written so."""
    for i in range(one.size):
        other[i] = one[i]


@njit(**INNER)
def _wider(nodes: Nodes, room: int) -> Nodes:
    """The same stack of nodes with more room."""
    begin, end, side, dead, low, high = nodes
    wide = low.shape[1]
    wider = (
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty((room, wide), dtype=low.dtype),
        np.empty((room, wide), dtype=low.dtype),
    )
    for i in range(begin.size):
        wider[0][i], wider[1][i], wider[2][i], wider[3][i] = begin[i], end[i], side[i], dead[i]
        _copy(low[i], wider[4][i])
        _copy(high[i], wider[5][i])
    return wider


@njit(cache=True, nogil=True, error_model="numpy")
def grow(
    buffers: Buffers,
    held_columns: Columns,
    k: int,
    strict: bool,
    choose: int,
    held_scratch: Scratch,
    root: Nodes,
    once: bool,
) -> Nodes:
    """Split a node until nothing is left, or `once`; returns the nodes that remain."""
    x0, ids0, x1, ids1, labels = borrow(buffers)
    columns, scratch = borrow(held_columns), borrow(held_scratch)
    most = root[1][0] - root[0][0]
    wide = x0.shape[1]
    widest_tree = 1
    for v in range(columns.child_ptr.size - 1):
        widest_tree = max(widest_tree, columns.child_ptr[v + 1] - columns.child_ptr[v])
    parts_most = min(widest_tree + 1, most // k + 2) + 1
    place = np.empty(parts_most + 1, dtype=np.int64)
    edge = np.empty(parts_most + 1, dtype=np.int64)
    part_low = np.empty((parts_most, wide), dtype=x0.dtype)
    part_high = np.empty((parts_most, wide), dtype=x0.dtype)
    low, high = np.empty(wide, dtype=x0.dtype), np.empty(wide, dtype=x0.dtype)
    nodes = _wider(root, np.int64(64))
    top, none_dead = 1, np.int64(0)
    while top > 0:
        begin, end, side, dead_columns, lowest, highest = nodes
        top -= 1
        a, b, dead = begin[top], end[top], dead_columns[top]
        _copy(lowest[top], low)
        _copy(highest[top], high)
        if side[top] == 0:
            x, ids, to_x, to_ids = x0, ids0, x1, ids1
        else:
            x, ids, to_x, to_ids = x1, ids1, x0, ids0
        to_side = 1 - side[top]
        if b - a < 2 * k:
            label(ids, a, b, labels)
            continue
        if choose == 0:
            split, dead = widest(x, a, b, low, high, columns, k, strict, dead, scratch)
        else:
            if choose == 1:
                split, dead = gain(x, a, b, low, high, columns, k, dead, scratch)
            else:
                split, dead = expected(x, a, b, low, high, columns, k, dead, scratch)
            if split[0] == BRANCH:  # other columns have overwritten the scratch since
                j = split[1]
                found = distinct(x, a, b, j, np.int64(low[j]), np.int64(high[j]), scratch)
                branches(columns, j, found, k, scratch)
            if split[0] == NONE and not strict:
                split, _ = widest(x, a, b, low, high, columns, k, strict, none_dead, scratch)
        if split[0] == NONE:
            label(ids, a, b, labels)
            continue
        parts = 2
        edge[0], edge[1], edge[2] = a, a + split[4], b
        if split[0] == BRANCH:
            parts, edge[1] = 0, a
            while edge[parts] < b:
                edge[parts + 1] = edge[parts] + scratch.size[parts]
                parts += 1
        if parts == 2 and edge[1] - a < 2 * k and b - edge[1] < 2 * k:
            label_parts(x, ids, a, b, split, scratch.part, place, labels)
            continue
        _copy(edge[:parts], place)
        part_low[:parts] = np.iinfo(x0.dtype).max
        part_high[:parts] = 0
        move(x, ids, a, b, split, scratch.part, place, to_x, to_ids, part_low, part_high)
        if top + parts > begin.size:
            nodes = _wider(nodes, 2 * (top + parts))
            begin, end, side, dead_columns, lowest, highest = nodes
        for p in range(parts):
            if edge[p + 1] - edge[p] < 2 * k:
                label(to_ids, edge[p], edge[p + 1], labels)
            else:
                begin[top], end[top], side[top] = edge[p], edge[p + 1], to_side
                dead_columns[top] = dead
                _copy(part_low[p], lowest[top])
                _copy(part_high[p], highest[top])
                top += 1
        if once:
            break
    begin, end, side, dead_columns, lowest, highest = nodes
    return begin[:top], end[:top], side[:top], dead_columns[:top], lowest[:top], highest[:top]


def mondrian(
    codes: NDArray[Any],
    positions: Sequence[NDArray[np.float64]],
    trees: Sequence[Tree | None],
    k: int,
    *,
    strict: bool = True,
    choose: Literal["widest", "gain", "expected"] = "widest",
    nominal: Sequence[bool] | None = None,
    weights: Sequence[float] | None = None,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Partition the rows of `codes` into groups of at least k.

    `codes`: C-contiguous matrix of uint8, uint16 or uint32, one column per quasi-identifier. 0 is
    missing; 1..m are the values in order: sorted for ordered columns, depth-first leaves for trees,
    any order for value sets (decreasing frequency loses least).
    `positions[j][code]`: where a code of an ordered column lies (entry 0 is not used, and for trees
    only the length counts). `trees[j]`: the hierarchy, or None. `nominal[j]`: the column is
    published as value sets. `threads` is the number of cores to use, all that there are if None.

    Returns labels 0..g-1, numbered by the first row of each group.

    >>> ages = np.array([[1], [2], [2], [3]], dtype=np.uint8)
    >>> mondrian(ages, [np.array([0.0, 20.0, 21.0, 70.0])], [None], k=2)
    array([0, 0, 0, 0])
    >>> mondrian(ages, [np.array([0.0, 20.0, 21.0, 70.0])], [None], k=2, strict=False)
    array([0, 0, 1, 1])
    """
    columns = _check(codes, positions, trees, k, choose, nominal, weights, threads)
    n, d = codes.shape
    wide = -(-d // LANES) * LANES
    dtype = np.uint32 if codes.dtype == np.uint32 else np.uint16
    ids_dtype = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    x0, x1 = np.empty((n, wide), dtype=dtype), np.empty((n, wide), dtype=dtype)
    ids0, ids1 = np.empty(n, dtype=ids_dtype), np.empty(n, dtype=ids_dtype)
    labels = np.empty(n, dtype=np.int64)
    workers = max(1, min(cores(threads), n // TASK))
    with ThreadPoolExecutor(workers) as pool:
        bounds = np.linspace(0, n, workers + 1).astype(np.int64)
        low, high = np.zeros((workers, wide), dtype=dtype), np.zeros((workers, wide), dtype=dtype)
        loads = [
            pool.submit(load, codes, bounds[w], bounds[w + 1], x0, ids0, low[w], high[w])
            for w in range(workers)
        ]
        for job in loads:
            job.result()
        del codes, loads, job  # a caller that kept no reference gets its memory back
        low, high = low.min(axis=0, keepdims=True), high.max(axis=0, keepdims=True)
        beyond = np.flatnonzero(high[0, :d] > columns.size)
        if beyond.size:
            j = beyond[0]
            raise ValueError(f"column {j}: code {high[0, j]} has no position; give 0..{high[0, j]}")
        zero = np.zeros(1, dtype=np.int64)
        root = (zero, np.full(1, n), zero, zero, low, high)

        def split(nodes: Nodes, once: bool) -> Nodes:
            most = int(nodes[1][0] - nodes[0][0])
            scratch = make_scratch(columns, (dtype, ids_dtype), most, k)
            buffers = (x0, ids0, x1, ids1, labels)
            return grow(buffers, columns, k, strict, CHOICES[choose], scratch, nodes, once)

        tasks = _Tasks(root, split)
        share = max(TASK, n // (8 * workers)) if workers > 1 else n
        for job in [pool.submit(tasks.work, share) for _ in range(workers)]:
            job.result()
    number(labels)
    return labels


class _Tasks:
    """Nodes that wait for a thread; the largest goes first, and is split only once if too large."""

    def __init__(self, root: Nodes, split: Callable[[Nodes, bool], Nodes]) -> None:
        self.heap: list[tuple[int, int, Any]] = [(int(root[0][0] - root[1][0]), 0, root)]
        self.split = split
        self.busy = 0
        self.changed = Condition()

    def work(self, share: int) -> None:
        """Take nodes until none is waiting and none is being split."""
        while True:
            with self.changed:
                while not self.heap and self.busy:
                    self.changed.wait()
                if not self.heap:
                    return
                size, _, node = heapq.heappop(self.heap)
                self.busy += 1
            rest: Nodes | None = None
            try:
                rest = self.split(node, -size > share)
            finally:
                with self.changed:
                    if rest is not None:
                        for i in range(rest[0].size):
                            one = tuple(part[i : i + 1] for part in rest)
                            begin, end = int(rest[0][i]), int(rest[1][i])
                            heapq.heappush(self.heap, (begin - end, begin, one))
                    else:
                        self.heap.clear()
                    self.busy -= 1
                    self.changed.notify_all()


def _check(
    codes: NDArray[Any],
    positions: Sequence[NDArray[np.float64]],
    trees: Sequence[Tree | None],
    k: int,
    choose: str,
    nominal: Sequence[bool] | None,
    weights: Sequence[float] | None,
    threads: int | None,
) -> Columns:
    """Refuse what the compiled code cannot take; return the packed columns."""
    if codes.ndim != 2 or codes.shape[1] == 0 or not codes.flags.c_contiguous:
        raise ValueError("codes must be a C-contiguous matrix with at least one column")
    if codes.dtype not in (np.uint8, np.uint16, np.uint32):
        raise ValueError(f"codes must be uint8, uint16 or uint32, not {codes.dtype}")
    n, d = codes.shape
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if n < k:
        raise ValueError(f"{n} rows cannot form a group of k = {k}; lower k")
    if choose not in CHOICES:
        raise ValueError(f"choose must be one of {', '.join(CHOICES)}, not {choose!r}")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    nominal = [False] * d if nominal is None else nominal
    weights = [1.0] * d if weights is None else weights
    for name, given in (
        ("positions", positions),
        ("trees", trees),
        ("nominal", nominal),
        ("weights", weights),
    ):
        if len(given) != d:
            raise ValueError(f"{name} must have one entry per column: {len(given)} for {d} columns")
    if not all(np.isfinite(w) and w >= 0 for w in weights):
        raise ValueError("weights must be finite and not negative")
    return pack(positions, trees, nominal, weights)
