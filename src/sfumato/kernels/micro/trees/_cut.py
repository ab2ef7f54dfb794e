"""Cutting a spanning tree into groups: by length, by divergence and length, under t-closeness.

Laszlo & Mukherjee (2005), "Minimum spanning tree partitioning algorithm for microaggregation", IEEE
TKDE 17(7), cut the longest edge that leaves enough records on both sides, again and again. Li &
Sarkar (2013), "Class restricted clustering and micro-perturbation for data privacy", Management
Science 59(4), cut the edge whose cut raises the divergence of the confidential classes least for
its length (CREST), and compare with the longest edge whose sides are t-close.

Three facts make this quick. Groups only shrink, so an edge that leaves too few records on a side
does so for ever (`cut_t_close` says why the same holds of t-closeness). A cut changes nothing in
other groups, so each group is cut on its own and the order among groups does not matter. And in a
tree that is rooted once and numbered in preorder, a group is a subtree without the subtrees cut off
it: what hangs below an edge is a run of numbers, a cut takes its records off the counts of the
edges above it, and no edge is ever turned round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.kernels.micro.trees import _cut_ratio as tree_cut_ratio
from sfumato.kernels.micro.trees import _cut_tree as tree_cut_tree
from sfumato.kernels.micro.trees._cut_tree import Floats, Ints
from sfumato.progress import report

SLICE = 20_000_000  # edges looked at between two reports of progress


def _checked(edges: ArrayLike, lengths: ArrayLike, k: int) -> tuple[Ints, Floats]:
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    long = np.asarray(lengths, dtype=np.float64)
    n = len(ends) + 1
    if long.shape != (n - 1,) or not np.all((long >= 0) & np.isfinite(long)):
        raise ValueError(
            f"lengths must be {n - 1} finite numbers, one for each edge, none negative"
        )
    if k < 1 or n < k:
        raise ValueError(f"{n} records cannot form a group of {k}: choose from 1 to {n}")
    if np.any((ends < 0) | (ends >= n)):
        raise ValueError(f"the ends of {n - 1} edges of a tree are records 0 to {n - 1}")
    return ends, long


def _rooted(ends: Ints, lengths: Floats) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Preorder, and the places of the edges: longest first, equal ones in their order."""
    record, up, edge, stop, count = tree_cut_tree.root(np.ascontiguousarray(ends))
    if count != len(record):
        raise ValueError(
            f"the edges join {count} of {len(record)} records to record 0: no spanning tree"
        )
    place = np.empty(len(ends), np.int64)
    place[edge[1:]] = np.arange(1, len(record))
    return record, up, edge, stop, place[np.argsort(-lengths, kind="stable")]


def _classed(classes: ArrayLike, n_classes: int, n: int) -> tuple[Ints, Floats]:
    """Classes renumbered without those that do not occur, and the share of each."""
    given = np.asarray(classes, dtype=np.int64)
    if given.shape != (n,) or given.min() < 0 or given.max() >= n_classes:
        raise ValueError(f"classes must be {n} numbers from 0 to {n_classes - 1}")
    present, kinds = np.unique(given, return_inverse=True)
    return kinds.astype(np.int64), np.bincount(kinds, minlength=len(present)) / n


def cut_longest(edges: ArrayLike, lengths: ArrayLike, k: int) -> Ints:
    """Groups of at least k records: cut the longest edge that leaves k on both sides, repeatedly.

    Laszlo & Mukherjee (2005). `edges` are the n - 1 edges of a spanning tree of records 0..n-1,
    `lengths` their lengths. Of equal edges the first is cut first. Groups are numbered by first
    appearance; one may be of any size where the tree branches into parts smaller than k.

    >>> cut_longest([[0, 1], [1, 2], [2, 3]], [1.0, 5.0, 1.0], 2).tolist()
    [0, 0, 1, 1]
    """
    ends, long = _checked(edges, lengths, k)
    record, up, _, stop, order = _rooted(ends, long)
    alike = np.zeros(len(record), np.int64)
    top = tree_cut_tree.cut_longest(up, stop, order, alike, np.ones(1), int(k), 1.0)
    return np.asarray(tree_cut_tree.label_below(record, up, top))


def cut_by_ratio(
    edges: ArrayLike,
    lengths: ArrayLike,
    classes: ArrayLike,
    n_classes: int,
    m: int,
    whole: Floats | None = None,
) -> Ints:
    """Groups of at least m records by the divergence/length ratio: CREST, steps 2 and 3.

    Li & Sarkar (2013), figure 4: cut the edge with the least (WJSD - JSD) / length, measured in the
    group that the edge is in now against the class distribution of all records, if it leaves m
    records on both sides; otherwise never consider it again; repeat. `classes` gives each record's
    class, 0..n_classes-1; logarithms are base 2. `whole` are the classes' shares of all records,
    where these are but a part.

    The rise of divergence is counted on a grid of 2**-30 bits times records, so that rounding does
    not decide between equal ratios: of these the longer edge goes first, then the lower number. An
    edge of length zero parts equal records: whatever its ratio it comes after all others of its
    group, and among such edges the least rise comes first.

    >>> cut_by_ratio([[0, 1], [1, 2], [2, 3]], [2.0, 2.0, 2.0], [0, 1, 0, 1], 2, 2).tolist()
    [0, 0, 1, 1]
    """
    ends, long = _checked(edges, lengths, m)
    kinds, share = _classed(classes, n_classes, len(ends) + 1)
    if whole is not None:
        # A class that does not occur here diverges as much on both sides of every edge.
        share = np.asarray(whole, dtype=np.float64)[np.unique(np.asarray(classes))]
    if len(share) == 1:  # every ratio is 0
        return cut_longest(ends, long, m)
    record, up, edge, stop, _ = _rooted(ends, long)
    n = len(record)
    counts = tree_cut_tree.count_below(record, up, kinds, len(share))
    slopes = tree_cut_ratio.slopes_of(counts, share)
    upwards = np.append(0.0, long[edge[1:]])
    after = np.arange(1, n + 1)
    top, stack = np.arange(n) == 0, np.zeros(n, np.int64)  # topmost places; groups still to be cut
    done = np.array([1, 0])  # groups on the stack; records in groups that are finished
    while done[0] > 0:
        tree_cut_ratio.cut_by_ratio(
            up, edge, stop, upwards, share, int(m), SLICE, top, counts, after, slopes, stack, done
        )
        report("cutting the tree", int(done[1]), n)
    return np.asarray(tree_cut_tree.label_below(record, up, top))


def cut_t_close(
    edges: ArrayLike, lengths: ArrayLike, classes: ArrayLike, n_classes: int, m: int, t: float
) -> Ints:
    """Groups of at least m records that are t-close: the benchmark of Li & Sarkar (2013).

    Each step cuts the longest edge that is removable now, until none is: both sides keep m records,
    and the class distribution of both is within t of that of all records. The distance is the earth
    mover's with equal distances between classes, which is half the sum of absolute differences.
    Of equal edges the first is cut first.

    Every edge need be looked at only once, longest first: a side that is not t-close never becomes
    so, because what later cuts take off it is t-close, and records that are t-close together with
    others that are t-close would be t-close (the distance is convex).

    >>> cut_t_close([[0, 1], [1, 2], [2, 3]], [1.0, 5.0, 1.0], [0, 0, 1, 1], 2, 1, 0.2).tolist()
    [0, 0, 0, 0]
    """
    ends, long = _checked(edges, lengths, m)
    if not t >= 0:
        raise ValueError(f"t = {t} is no distance: choose t from 0 to 1")
    kinds, share = _classed(classes, n_classes, len(ends) + 1)
    record, up, _, stop, order = _rooted(ends, long)
    top = tree_cut_tree.cut_longest(up, stop, order, kinds[record], share, int(m), float(t))
    return np.asarray(tree_cut_tree.label_below(record, up, top))
