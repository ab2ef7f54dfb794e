"""Mondrian: multidimensional k-anonymity by repeated splitting.

LeFevre, DeWitt & Ramakrishnan (2006), "Mondrian multidimensional k-anonymity", ICDE. A node (at
first the whole file) is split in one quasi-identifier, and its parts are split in turn, as long as
every part keeps k rows. The nodes that cannot be split are the groups.

**Widths.** A cell of a group is published as the range of its values, as a node of a hierarchy, or
as a set of values. With positions scaled to the whole column, a range is as wide as the distance of
its ends; a tree node as its (leaves - 1) / (all leaves - 1); a value set as its (values - 1) /
(all values - 1). Missing is one more of the m values of a column in which some are: a width shrinks
to (m - 1)/m of that, and in a group that mixes missing with other values grows by 1/m; missing
values alone have none. Weights multiply widths.

**Splits.** A column that mixes missing with other values: missing against present, or any of the
following, all missing values in the part where they cost less. Ordered codes: a
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
from functools import partial
from threading import Condition
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.kernels.mondrian._counts import Histograms, Scratch, distinct, make_scratch
from sfumato.kernels.mondrian._cut import BRANCH, NONE, Split, branches, widest
from sfumato.kernels.mondrian._gain import EXACT, most_gain
from sfumato.kernels.mondrian._layout import (
    BEGIN,
    DEAD,
    END,
    HIGH,
    INNER,
    LANES,
    LOW,
    SIDE,
    Codes,
    Columns,
    Ints,
    Rows,
    Tree,
    Whole,
    pack,
)
from sfumato.kernels.mondrian._machine import borrow
from sfumato.kernels.mondrian._move import label, label_parts, move
from sfumato.kernels.threads import cores

__all__ = ["Tree", "mondrian"]

Choose = Literal["widest", "gain", "expected"]
CHOICES = ("widest", "gain", "expected")
TASK = 1 << 15  # rows of a subtree that one thread takes without sharing
ROOM = 64  # nodes for which a stack has room at first

Buffers = tuple[Codes, Rows, Ints]  # codes and row numbers, twice, and labels


@njit(**INNER)
def chosen(
    source: Codes | Histograms,
    node: Ints,
    columns: Columns,
    k: Whole,
    strict: bool | None,
    squarings: int | None,
    scratch: Scratch,
) -> Split:
    """The split of a node; that into branches leaves the part of each code in the scratch.

    The split that gains most is taken, unless `squarings` is None; then the widest column's, unless
    `strict` is None. What would never run is not compiled.
    """
    split: Split = (NONE, 0, 0, 0, 0)
    if squarings is not None:
        split = most_gain(source, node, columns, k, squarings, scratch)
        if split[0] == BRANCH:  # other columns have overwritten the scratch since
            found = distinct(source, node, split[1], scratch)
            branches(columns, split[1], found, k, scratch)
            if scratch.value[0] == 0:
                scratch.part[0] = split[2]
                scratch.slot[split[2]].size += scratch.tally[0]
    if strict is not None and split[0] == NONE:
        split = widest(source, node, columns, k, strict, scratch)
    return split


@njit(cache=True, nogil=True, error_model="numpy")
def grow(
    held_buffers: Buffers,
    held_columns: Columns,
    k: int,
    least: int,
    strict: bool | None,
    squarings: int | None,
    held_scratch: Scratch,
    nodes: Ints,
    top: int,
    once: bool,
) -> int:
    """Split the nodes on the stack until none is left, or `once`, or until the stack is full; nodes
    of fewer than `least` rows are groups as they are. Returns how many nodes are left."""
    both_x, both_ids, labels = borrow(held_buffers)
    columns, scratch = borrow(held_columns), borrow(held_scratch)
    slot, reach = scratch.slot, scratch.reach
    wide = both_x.shape[2]
    while top > 0:
        node = nodes[top - 1]
        a, b, side = node[BEGIN], node[END], node[SIDE]
        x, ids, to_x, to_ids = both_x[side], both_ids[side], both_x[1 - side], both_ids[1 - side]
        if b - a < least:
            label(ids, a, b, labels)
            top -= 1
            continue
        split = chosen(x, node, columns, k, strict, squarings, scratch)
        parts = 2
        slot[0].edge, slot[1].edge, slot[2].edge = a, a + split[4], b
        if split[0] == BRANCH:
            parts = 0
            while slot[parts].edge < b:
                slot[parts + 1].edge = slot[parts].edge + slot[parts].size
                parts += 1
        if split[0] == NONE:
            label(ids, a, b, labels)
            top -= 1
            continue
        if parts == 2 and slot[1].edge - a < least and b - slot[1].edge < least:
            label_parts(x, ids, a, b, split, scratch.part, labels)
            top -= 1
            continue
        if top + parts > len(nodes):
            return top
        for p in range(parts):
            slot[p].place = slot[p].edge
            for j in range(wide):
                reach[0, p, j], reach[1, p, j] = node[HIGH + 2 * j], node[LOW + 2 * j]
        move(x, ids, a, b, split, to_x, to_ids, scratch)
        top, dead = top - 1, node[DEAD]
        for p in range(parts):
            if slot[p + 1].edge - slot[p].edge < least:
                label(to_ids, slot[p].edge, slot[p + 1].edge, labels)
                continue
            nodes[top, BEGIN], nodes[top, END] = slot[p].edge, slot[p + 1].edge
            nodes[top, SIDE], nodes[top, DEAD] = 1 - side, dead
            for j in range(wide):
                nodes[top, LOW + 2 * j], nodes[top, HIGH + 2 * j] = reach[0, p, j], reach[1, p, j]
            top += 1
        if once:
            break
    return top


def mondrian(
    codes: NDArray[Any],
    positions: Sequence[NDArray[np.float64]],
    trees: Sequence[Tree | None],
    k: int,
    *,
    strict: bool = True,
    choose: Choose = "widest",
    nominal: Sequence[bool] | None = None,
    weights: Sequence[float] | None = None,
    missing: Sequence[bool] | None = None,
    within: NDArray[np.int64] | None = None,
    least: int = 0,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Partition the rows of `codes` into groups of at least k.

    `codes`: C-contiguous matrix of uint8, uint16 or uint32, one column per quasi-identifier. 0 is
    missing; 1..m are the values in order: sorted for ordered columns, depth-first leaves for trees,
    any order for value sets (decreasing frequency loses least).
    `positions[j][code]`: where a code of an ordered column lies (entry 0 is not used, and for trees
    only the length counts). `trees[j]`: the hierarchy, or None. `nominal[j]`: the column is
    published as value sets. `missing[j]`: some records have no value there, whether among these
    rows or not. `within`: labels of parts that are partitioned apart from each other, each of k
    rows or more. Nodes of fewer than `least` rows are not cut. `threads` is the number of cores to
    use, all that there are if None.

    Returns labels 0..g-1, numbered by the first row of each group.

    >>> ages = np.array([[1], [2], [2], [3]], dtype=np.uint8)
    >>> mondrian(ages, [np.array([0.0, 20.0, 21.0, 70.0])], [None], k=2)
    array([0, 0, 0, 0])
    >>> mondrian(ages, [np.array([0.0, 20.0, 21.0, 70.0])], [None], k=2, strict=False)
    array([0, 0, 1, 1])
    """
    columns = _check(codes, positions, trees, k, choose, nominal, weights, missing, threads)
    n, d = codes.shape
    wide = -(-d // LANES) * LANES
    x = np.empty((2, n, wide), dtype=np.uint32 if codes.dtype == np.uint32 else np.uint16)
    ids = np.empty((2, n), dtype=np.int32 if n <= np.iinfo(np.int32).max else np.int64)
    labels = np.empty(n, dtype=np.int64)
    squarings, relaxed = ways(k, choose, strict)
    least = max(least, 2 * k)
    order = None if within is None else np.argsort(within, kind="stable")
    workers = max(1, min(cores(threads), n // TASK))

    def split(node: Ints, once: bool) -> Ints:
        scratch = make_scratch(columns, x, ids, int(node[END] - node[BEGIN]), k)
        nodes, top = np.empty((ROOM + scratch.slot.size, node.size), dtype=np.int64), 1
        nodes[0] = node
        while True:
            top = grow(
                (x, ids, labels), columns, k, least, relaxed, squarings, scratch, nodes, top, once
            )
            if once or not top:
                return nodes[:top]
            nodes = np.concatenate([nodes, np.empty_like(nodes)])

    with ThreadPoolExecutor(workers) as pool:
        bounds = np.linspace(0, n, workers + 1).astype(np.int64)
        load = partial(_load, codes, order, x, ids)
        low, high = zip(*pool.map(load, bounds[:-1], bounds[1:]), strict=True)
        del codes, load  # a caller that kept no reference gets its memory back
        most = np.max(high, axis=0)
        beyond = np.flatnonzero(most > columns.column["size"])
        if beyond.size:
            j = beyond[0]
            raise ValueError(f"column {j}: code {most[j]} has no position; give 0..{most[j]}")
        if order is None or within is None:
            roots = [root_of(0, n, np.min(low, axis=0), most, wide)]
        else:
            roots = _roots(x[0, :, :d], np.flatnonzero(np.diff(within[order])) + 1, wide)
        tasks = _Tasks(roots, split)
        share = max(TASK, n // (8 * workers)) if workers > 1 else n
        for job in [pool.submit(tasks.work, share) for _ in range(workers)]:
            job.result()
    # A group is named after its first row until here.
    return (np.cumsum(labels == np.arange(n)) - 1)[labels]


def ways(k: int, choose: str, strict: bool) -> tuple[int | None, bool | None]:
    """What `grow` is told of the choice: squarings, and whether cuts are strict."""
    squarings = {"widest": None, "gain": EXACT, "expected": (2 * k - 1).bit_length()}[choose]
    return squarings, strict if choose == "widest" else None if strict else False


def root_of(first: int, last: int, low: Any, high: Any, wide: int) -> Ints:
    """A node of these rows, whose codes run from low to high."""
    root = np.zeros(LOW + 2 * wide, dtype=np.int64)
    root[BEGIN], root[END], ends = first, last, LOW + 2 * len(low)
    root[LOW:ends:2], root[HIGH : ends + 1 : 2] = low, high
    return root


def _roots(x: Codes, cuts: Ints, wide: int) -> list[Ints]:
    """The nodes to begin with where rows are cut at these places."""
    begins = np.concatenate(([0], cuts))
    low, high = np.minimum.reduceat(x, begins), np.maximum.reduceat(x, begins)
    ends = np.append(cuts, x.shape[0])
    return [root_of(*given, wide) for given in zip(begins, ends, low, high, strict=True)]


def _load(
    codes: Codes, order: Ints | None, x: Codes, ids: Rows, first: int, last: int
) -> tuple[list[int], list[int]]:
    """Copy some rows of the caller into the first buffer; their lowest and highest codes."""
    d = codes.shape[1]
    rows = np.arange(first, last) if order is None else order[first:last]
    x[0, first:last, d:] = 0
    x[0, first:last, :d] = codes[first:last] if order is None else codes[rows]
    ids[0, first:last] = rows
    columns = [x[0, first:last, j] for j in range(d)]
    return [int(c.min()) for c in columns], [int(c.max()) for c in columns]


class _Tasks:
    """Ints that wait for a thread; the largest goes first, and is split only once if too large."""

    def __init__(self, roots: Sequence[Ints], split: Callable[[Ints, bool], Ints]) -> None:
        self.heap: list[tuple[int, int, Ints]] = []
        for root in roots:
            self.add(root)
        self.split = split
        self.busy = 0
        self.changed = Condition()

    def add(self, node: Ints) -> None:
        """One more node waits."""
        begin, end = int(node[BEGIN]), int(node[END])
        heapq.heappush(self.heap, (begin - end, begin, node))

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
            rest: Ints | None = None
            try:
                rest = self.split(node, -size > share)
            finally:
                with self.changed:
                    if rest is not None:
                        for one in rest:
                            self.add(one)
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
    missing: Sequence[bool] | None,
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
    missing = (codes.min(axis=0) == 0).tolist() if missing is None else missing
    return pack(positions, trees, nominal, weights, missing)
