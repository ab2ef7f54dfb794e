"""Mondrian's first cuts of records that are somewhere else, from counts of their codes alone.

What a node of 8k records or more is split by depends on nothing but how often each code occurs in
each column. So its histograms decide, by the same compiled code that decides over rows; one scan of
the records counts for all nodes of a level. What is left below a limit fits into memory and is cut
there: the groups are those that all records in one place would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ._counts import LOOKAHEAD, Histograms, Scratch, make_scratch
from ._cut import BRANCH, CARVE, NONE, Split
from ._layout import LANES, Codes, Columns, Ints
from ._search import chosen, root_of, ways

MOST_COUNTS = 1 << 22
"""Counts of one scan: nodes times codes."""


class Cuts(NamedTuple):
    """A tree of cuts. Node 0 is the root; the children of a node come one after the other."""

    column: Ints
    """The column that a node is cut in; -1 where it is not cut."""
    low: Ints
    """Records with a code in low..high go to the first child, the others to the second;"""
    high: Ints
    child: Ints
    branch: Ints
    """unless this is not -1: from there on `part` says to which child each code goes."""
    part: Ints


class Leaves(NamedTuple):
    """The nodes that are not cut further, and how many records each has."""

    node: Ints
    records: Ints


Counting = Callable[[Cuts, Ints], Ints]
"""Of the records of these nodes: how many have each code, (node, code of all columns in turn)."""


@njit(cache=True, nogil=True, error_model="numpy")
def _route(x: Codes, cuts: Cuts, leaf: Ints) -> None:
    column, low, high, child, branch, part = cuts
    for i in range(x.shape[0]):
        v = np.int64(0)
        while column[v] >= 0:
            code = np.int64(x[i, column[v]])
            if branch[v] >= 0:
                v = child[v] + part[branch[v] + code]
            else:
                v = child[v] + np.int64(not low[v] <= code <= high[v])
        leaf[i] = v


@njit(cache=True, nogil=True, error_model="numpy")
def _tally(x: Codes, leaf: Ints, slot: Ints, start: Ints, counts: Codes) -> None:
    for i in range(x.shape[0]):
        s = slot[leaf[i]]
        if s >= 0:
            for j in range(x.shape[1]):
                counts[s, start[j] + np.int64(x[i, j])] += 1


def routed(x: Codes, cuts: Cuts) -> Ints:
    """The node in which each record ends."""
    leaf = np.empty(x.shape[0], dtype=np.int64)
    _route(x, cuts, leaf)
    return leaf


def counts_of(x: Codes, cuts: Cuts, nodes: Ints, start: Ints) -> Ints:
    """How many of these records have each code, for each of the nodes: (node, start[j] + code)."""
    leaf = routed(x, cuts)
    slot = np.full(cuts.column.size, -1)
    slot[nodes] = np.arange(nodes.size)
    counts = np.zeros((nodes.size, int(start[-1])), dtype=np.int32 if leaf.size < 2**31 else int)
    _tally(x, leaf, slot, start, counts)
    return counts


@njit(cache=True, nogil=True, error_model="numpy")
def _decide(
    held: Histograms,
    node: Ints,
    columns: Columns,
    k: int,
    strict: bool | None,
    squarings: int | None,
    scratch: Scratch,
) -> Split:
    return chosen(held, node, columns, k, strict, squarings, scratch)


class _Tree:
    """Cuts while they are found."""

    def __init__(self, n: int) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = [(-1, 0, 0, 0, -1)]
        self.size = [n]
        self.part: list[NDArray[np.int64]] = []
        self.parts = 0

    def cut(self, v: int, split: Split, sizes: Sequence[int], part: Ints | None) -> list[int]:
        """Cut a node; returns its children."""
        first, at = len(self.rows), -1
        if part is not None:
            at, self.parts = self.parts, self.parts + part.size
            self.part.append(part)
        self.rows[v] = (int(split[1]), int(split[2]), int(split[3]), first, at)
        self.rows += [(-1, 0, 0, 0, -1)] * len(sizes)
        self.size += sizes
        return list(range(first, first + len(sizes)))

    def cuts(self) -> Cuts:
        column, low, high, child, branch = np.array(self.rows, dtype=np.int64).T.copy()
        part = np.concatenate([np.zeros(0, dtype=np.int64), *self.part])
        return Cuts(column, low, high, child, branch, part)


def starts_of(columns: Columns) -> Ints:
    """Where the counts of each column begin, and where they end."""
    return np.concatenate(([0], np.cumsum(columns.column["size"] + 1)))


def upper_cuts(
    columns: Columns, n: int, k: int, strict: bool, choose: str, limit: int, count: Counting
) -> tuple[Cuts, Leaves]:
    """The cuts of n records, down to nodes of at most `limit` or that cannot be cut.

    `strict` must be true where `choose` is "widest": ties are shared out by rows.
    """
    limit = max(limit, LOOKAHEAD * k)
    squarings, relaxed = ways(k, choose, strict)
    start, tree = starts_of(columns), _Tree(n)
    wide = -(-columns.column.size // LANES) * LANES
    scratch = make_scratch(columns, np.empty((0, wide), np.uint32), np.empty(0, np.int64), n, k)
    open_nodes = [0] if n > limit else []
    together = max(1, MOST_COUNTS // int(start[-1]))
    while open_nodes:
        now, open_nodes = open_nodes[:together], open_nodes[together:]
        for v, counts in zip(now, count(tree.cuts(), np.array(now)), strict=True):
            held, node = _held(counts, start, tree.size[v], wide)
            split = _decide(held, node, columns, k, relaxed, squarings, scratch)
            if split[0] == NONE:
                continue
            sizes, part = _parts(held, split, tree.size[v], scratch, columns)
            made = tree.cut(v, split, sizes, part)
            open_nodes += [w for w in made if tree.size[w] > limit]
    found = tree.cuts()
    leaf = np.flatnonzero(found.column < 0)
    return found, Leaves(leaf, np.array(tree.size)[leaf])


def _held(counts: Ints, start: Ints, n: int, wide: int) -> tuple[Histograms, Ints]:
    """A node's histograms, and the node: its lowest and highest codes."""
    at = np.flatnonzero(counts)
    first = np.searchsorted(at, start)
    value = at - np.repeat(start[:-1], np.diff(first))
    low, high = value[first[:-1]], value[first[1:] - 1]
    held = Histograms(value.astype(np.uint32), counts[at], first)
    return held, root_of(0, n, low, high, wide)


def _parts(
    held: Histograms, split: Split, n: int, scratch: Scratch, columns: Columns
) -> tuple[list[int], Ints | None]:
    """The records of each part, and of branches which part each code of the column goes to."""
    if split[0] == CARVE:
        return [int(split[4]), n - int(split[4])], None
    assert split[0] == BRANCH, "ties of halves are shared out by rows"
    j = int(split[1])
    here = slice(int(held.start[j]), int(held.start[j + 1]))
    part = np.zeros(int(columns.column["size"][j]) + 1, dtype=np.int64)
    codes: Any = held.value[here].astype(np.int64)
    part[codes] = scratch.part[codes]
    sizes = np.bincount(part[codes], weights=held.tally[here]).astype(np.int64)
    return sizes.tolist(), part
