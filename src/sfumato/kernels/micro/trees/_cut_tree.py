"""Rooted trees in preorder, and the cutting of their longest edges.

A tree is rooted once, at record 0, and its records are numbered in preorder; a place is such a
number, and stands for its record and for the edge upwards from it. What hangs below an edge is a
run of places. A group is what hangs below its topmost place, without the groups cut off it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12  # of a distance between distributions


@njit(cache=True, nogil=True)
def root(edges: Ints) -> tuple[Ints, Ints, Ints, Ints, int]:
    """Preorder from record 0: record, parent, edge to the parent, end of the subtree; how many."""
    n = edges.shape[0] + 1
    start = np.zeros(n + 1, np.int64)
    for e in range(n - 1):
        start[edges[e, 0] + 1] += 1
        start[edges[e, 1] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start[:n].copy()
    near = np.empty(2 * (n - 1), np.int64)
    for e in range(n - 1):
        for end in range(2):
            near[fill[edges[e, end]]] = e
            fill[edges[e, end]] += 1
    record, up = np.empty(n, np.int64), np.full(n, -1, np.int64)
    edge, stop = np.full(n, -1, np.int64), np.empty(n, np.int64)
    seen = np.zeros(n, np.bool_)
    waiting, above, along = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    waiting[0], above[0], along[0] = 0, -1, -1
    seen[0] = True
    height, count = 1, 0
    while height > 0:
        height -= 1
        here = waiting[height]
        record[count], up[count], edge[count] = here, above[height], along[height]
        for a in range(start[here], start[here + 1]):
            e = near[a]
            other = edges[e, 0] + edges[e, 1] - here
            if not seen[other]:
                seen[other] = True
                waiting[height], above[height], along[height] = other, count, e
                height += 1
        count += 1
    for p in range(count):
        stop[p] = p + 1
    for p in range(count - 1, 0, -1):
        stop[up[p]] = max(stop[up[p]], stop[p])
    return record, up, edge, stop, count


@njit(cache=True, nogil=True)
def label_below(record: Ints, up: Ints, top: Flags) -> Ints:
    """Groups below the flagged places of a preorder, numbered by first appearance of a record."""
    n = record.size
    group, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for p in range(n):
        group[p] = p if top[p] else group[up[p]]
        place[record[p]] = p
    names, labels = np.full(n, -1, np.int64), np.empty(n, np.int64)
    count = 0
    for row in range(n):
        at = group[place[row]]
        if names[at] < 0:
            names[at] = count
            count += 1
        labels[row] = names[at]
    return labels


@njit(cache=True, nogil=True)
def count_below(record: Ints, up: Ints, classes: Ints, n_classes: int) -> Ints:
    """Records of each class at and below each place of a preorder."""
    counts = np.zeros((record.size, n_classes), np.int64)
    for p in range(record.size - 1, -1, -1):
        counts[p, classes[record[p]]] += 1
        if p > 0:
            for c in range(n_classes):
                counts[up[p], c] += counts[p, c]
    return counts


@njit(cache=True, nogil=True)
def _close(counts: Ints, size: int, share: Floats, t: float) -> bool:
    """Whether the shares of the classes among `size` records are within t of `share`."""
    apart = 0.0
    for c in range(counts.size):
        apart += abs(counts[c] - size * share[c])
    return apart <= 2.0 * (t + ROUNDING) * size


@njit(cache=True, nogil=True)
def cut_longest(
    up: Ints, stop: Ints, order: Ints, kind: Ints, share: Floats, k: int, t: float
) -> Flags:
    """Flags of the places whose edge upwards is cut: k records and t-close classes on both sides.

    `order` holds the places, longest edge first, `kind` the class at each place. A Fenwick tree
    over the preorder counts the records not yet cut off, so what hangs below an edge is a sum over
    a run. The smaller side of a cut gets a new number: no record changes its number more than
    log2(n) times.
    """
    n, classes = up.size, share.size
    fenwick = np.zeros((n + 1, classes), np.int64)
    whole = np.zeros((n // k + 1, classes), np.int64)  # what each group holds
    for i in range(1, n + 1):
        fenwick[i, kind[i - 1]] += 1
        whole[0, kind[i - 1]] += 1
        above = i + (i & -i)
        if above <= n:
            for c in range(classes):
                fenwick[above, c] += fenwick[i, c]
    top, group = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    top[0] = True
    size, start = np.empty(n, np.int64), np.empty(n, np.int64)  # of each group; its topmost place
    size[0], start[0] = n, 0
    groups = 1
    below, rest = np.empty(classes, np.int64), np.empty(classes, np.int64)
    for v in order:
        if stop[v] - v < k:
            continue
        below[:] = 0
        i = stop[v]
        while i > 0:
            for c in range(classes):
                below[c] += fenwick[i, c]
            i &= i - 1
        i = v
        while i > 0:
            for c in range(classes):
                below[c] -= fenwick[i, c]
            i &= i - 1
        old, many = group[v], 0
        for c in range(classes):
            many += below[c]
            rest[c] = whole[old, c] - below[c]
        if many < k or size[old] - many < k:
            continue
        if not (_close(below, many, share, t) and _close(rest, size[old] - many, share, t)):
            continue
        # Off the sums of the edges above, up to the top of the group and no further.
        for end, sign in ((v, -1), (start[old], 1)):
            i = end + 1
            while i <= n:
                for c in range(classes):
                    fenwick[i, c] += sign * below[c]
                i += i & -i
        top[v] = True
        new = groups
        groups += 1
        if 2 * many <= size[old]:
            first = v
            size[new], size[old] = many, size[old] - many
            moved, kept = below, rest
        else:
            first = start[old]
            start[old] = v
            size[new], size[old] = size[old] - many, many
            moved, kept = rest, below
        for c in range(classes):
            whole[new, c], whole[old, c] = moved[c], kept[c]
        start[new] = p = first
        while p < stop[first]:
            if top[p] and p != first:
                p = stop[p]
            else:
                group[p] = new
                p += 1
    return top


@njit(cache=True, nogil=True)
def take_off(v: int, up: Ints, top: Flags, counts: Ints) -> None:
    """Cut the edge above v: what hangs below it is no longer counted above it in its group."""
    top[v] = True
    for c in range(counts.shape[1]):
        less = counts[v, c]
        if less > 0:
            p = up[v]
            while not top[p]:
                counts[p, c] -= less
                p = up[p]
            counts[p, c] -= less
