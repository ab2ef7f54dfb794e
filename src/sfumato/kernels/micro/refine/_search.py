"""Refine: iterated local search that lowers the loss of any microaggregation partition.

The loss is the sum of squared distances of the records to the centroids of their groups. From a
given partition the search first descends by moves of one record and swaps of two
(`refine_moves`), then repeats a step: pool a few neighbouring groups, form them anew around random
members (which may merge, split or dissolve groups), descend again from there only, and undo it all
unless it paid. (Lourenço, Martin & Stützle 2003, "Iterated local search"; for the exchange of
single records Hartigan 1975, "Clustering algorithms"; the optimum is NP-hard, Oganian &
Domingo-Ferrer 2001.) A step costs what it touches, whatever the size of the file.

The first cycle of steps keeps only what lowers the loss. Each later cycle starts from the best
partition so far and is twice as long as the one before; it also keeps steps that raise the loss
somewhat, ever less of them towards its end (simulated annealing, Kirkpatrick, Gelatt & Vecchi
1983). The rise is measured in turns, cycle by cycle, by the loss of the groups that the step
touched and by that of the median group, because losses of outlying groups can be a thousand times
greater, and neither measure serves all files. For the same reason a step starts at the worst of up
to 32 records, the number being drawn. What a step does depends on the seed and on the number of
steps before it, never on a clock or on how the steps are sliced into calls.

Every group has k to 2k - 1 records before and after every step: a larger one is never better than
its parts, so groups of 2k or more are split (by MDAV) at the start.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Ints
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.refine._kicks import POOL, gather, regroup
from sfumato.kernels.micro.refine._moves import descend
from sfumato.kernels.micro.refine._near import nearest_records
from sfumato.kernels.micro.refine._state import (
    BEFORE,
    BEST,
    BEST_SIZE,
    CHANGED,
    CYCLE,
    DIFFERING,
    FREE,
    FREED,
    HERE,
    IMPROVED,
    IS_CHANGED,
    IS_QUEUED,
    IS_STALE,
    KEPT,
    LENGTH,
    MEDIAN,
    NOW,
    ODD,
    OLD_SIZE,
    PLACE,
    QUEUE,
    QUEUED,
    SIZE,
    STALE,
    STEPS,
    TOUCHED,
    Search,
    change,
    keep,
    undo,
)
from sfumato.kernels.micro.size_repair import split_by_mdav
from sfumato.kernels.neighbours.blocks import LARGEST
from sfumato.kernels.random import draw, pick

NEAR = 16
"""Neighbours of each record whose groups are candidates to exchange with."""
RIVALS = 6
"""A step starts where the group loses most, of 1, 2, 4 ... records, in so many sizes."""
FIRST_CYCLE = 100
"""Steps of the first cycle, for each k records."""
HEAT = 0.05
"""Mean rise of the loss that the first step of a cycle may keep, as a share of a group's loss."""
EXACT = 4096
"""Steps after which the loss is summed afresh."""
GREEDY = 0.5
"""Chance that the descent of a step is greedy: neither way was best on all the CASC files."""
EVERYTHING = np.iinfo(np.int64).max


def start(points: ArrayLike, labels: ArrayLike, k: int, seed: int) -> Search:
    """A search that starts from the partition `labels` of `points`, with all groups waiting.

    Labels are any integers; each must occur at least k times. Points count by their squared
    Euclidean distances. Neither is changed.

    >>> x = np.array([[0.0], [9.0], [0.1], [9.2], [0.3], [9.1]])
    >>> search = start(x, [0, 0, 0, 1, 1, 1], 3, seed=0)
    >>> waiting = settle(search)
    >>> best_labels(search).tolist(), waiting
    ([0, 1, 0, 1, 0, 1], 0)
    """
    given = np.asarray(points, dtype=np.float64)
    names, group = np.unique(np.asarray(labels), return_inverse=True)
    group = group.astype(np.int64).reshape(-1)
    if given.ndim != 2 or len(given) != group.size:
        raise ValueError(f"points {given.shape} and labels ({group.size},) must have the same rows")
    if k < 2:
        raise ValueError(f"k = {k}: groups of one record cannot be improved; choose k >= 2")
    sizes = np.bincount(group, minlength=1)
    if sizes.min() < k:
        small = int(np.argmin(sizes))
        name = names[small] if names.size else "none"
        raise ValueError(f"group {name} has {sizes[small]} records, fewer than k = {k}")
    if not np.all(np.abs(given) <= LARGEST):
        row, column = np.argwhere(~(np.abs(given) <= LARGEST))[0]
        raise ValueError(f"points[{row}, {column}] is missing, infinite or above {LARGEST:g}")
    n, d = given.shape
    x = np.zeros((n, max(4, -(-d // 4) * 4)))
    x[:, :d] = given - given.mean(axis=0)  # near the origin, differences lose fewest digits
    group = split_by_mdav(x, group, 2 * k, k)
    near = nearest_records(x[:, : max(d, 1)], min(NEAR, n - 1))
    return _search(x, near, group, k, seed)


def _search(
    x: NDArray[np.float64], near: NDArray[np.int32], label: Ints, k: int, seed: int
) -> Search:
    """The state at the start: all groups wait, and none differs from the best."""
    n, d = x.shape
    most, used = n // k, int(label.max()) + 1  # groups there can be, and there are
    size = np.bincount(label, minlength=most)
    order = np.argsort(label, kind="stable")
    first = np.cumsum(size) - size
    group, member = np.zeros((12, most), np.int64), np.zeros((3, most, 2 * k), np.int64)
    member[:, label[order], np.arange(n) - first[label[order]]] = order
    group[[SIZE, OLD_SIZE, BEST_SIZE]] = size
    group[[QUEUE, CHANGED], :used], group[[IS_QUEUED, IS_CHANGED], :used] = np.arange(used), 1
    group[FREED, : most - used] = np.arange(most - 1, used - 1, -1)
    group[PLACE, used:] = np.arange(most - used)[::-1]
    counts = np.zeros(11, np.int64)
    counts[[QUEUED, TOUCHED]], counts[FREE] = used, most - used
    counts[LENGTH] = -(-FIRST_CYCLE * n // k)
    room = 2 * k * (POOL + 1)
    search = Search(
        x=x,
        near=near,
        k=k,
        label=label,
        own=np.zeros(n),
        group=group,
        member=member,
        centre=np.zeros((most, d)),
        sse=np.zeros((2, most)),
        around=np.zeros(2 * k * near.shape[1] + room, np.int64),
        pool=np.zeros(room, np.int64),
        gap=np.zeros(room),
        random=np.array([seed], np.uint64),
        counts=counts,
        loss=np.array([0.0, 0.0, float(np.sum(x * x)) / n, 0.0]),
    )
    undo(search)  # back to what they are: centroids and losses are summed
    search.loss[[NOW, BEST]] = np.cumsum(search.sse[HERE])[-1]
    return search


@njit(cache=True, nogil=True)
def _run(s: Search, most: int, steps: int) -> None:
    """Examine `most` of the groups that wait, greedily, then take steps."""
    n, group, counts, sse = s.x.shape[0], s.group, s.counts, s.sse
    descend(s, most, most > 0)  # always: a constant would have it compiled once more
    keep(s)
    for _ in range(steps):
        if counts[STEPS] % EXACT == 0:
            s.loss[NOW] = 0.0
            for g in range(group.shape[1]):
                s.loss[NOW] += sse[HERE, g]
        r = pick(s.random, n)
        for _ in range((1 << pick(s.random, RIVALS)) - 1):
            rival = pick(s.random, n)
            if sse[HERE, s.label[rival]] > sse[HERE, s.label[r]]:
                r = rival
        regroup(s, gather(s, r))
        descend(s, most, draw(s.random) < GREEDY)
        bar = 0.0
        if counts[CYCLE] > 0:
            heat = HEAT * (1.0 - (counts[STEPS] - counts[CYCLE]) / counts[LENGTH])
            usual = s.loss[MEDIAN]
            if counts[ODD] == 1:
                usual = 0.0
                for t in range(counts[TOUCHED]):
                    usual += sse[BEFORE, group[CHANGED, t]]
                usual /= counts[TOUCHED]
            bar = -heat * usual * np.log(1.0 - draw(s.random))
        if change(group, sse, counts) < bar:
            keep(s)
        else:
            undo(s)
        counts[STEPS] += 1


def _begin_cycle(s: Search) -> None:
    """Make the best partition so far the current one, and double the length of the cycle."""
    group, counts = s.group, s.counts
    differing = group[DIFFERING, : counts[STALE]].copy()
    # The journal is what `undo` returns to: hand it the best instead of the present.
    group[CHANGED, : counts[STALE]] = differing
    group[IS_CHANGED, differing], group[IS_STALE, differing] = 1, 0
    group[OLD_SIZE, differing] = group[BEST_SIZE, differing]
    s.member[BEFORE, differing] = s.member[KEPT, differing]
    counts[TOUCHED], counts[STALE] = counts[STALE], 0
    undo(s)
    s.loss[NOW] = s.loss[BEST]
    if counts[CYCLE] > 0:
        counts[LENGTH] *= 2
    counts[CYCLE] = counts[STEPS]
    counts[ODD] = 1 - counts[ODD]
    s.loss[MEDIAN] = np.median(s.sse[HERE, group[SIZE] > 0])


def settle(search: Search, groups: int | None = None) -> int:
    """Descend to a local optimum, or until `groups` were examined; how many groups still wait."""
    _run(search, EVERYTHING if groups is None else groups, 0)
    return int(search.counts[QUEUED])


def run(search: Search, steps: int) -> None:
    """Descend to a local optimum if that is still to be done, then take `steps` steps."""
    counts = search.counts
    settle(search)
    if search.x.shape[0] < 2 * search.k:  # so few records have but one partition
        counts[STEPS] += steps
        return
    end = counts[STEPS] + steps
    while counts[STEPS] < end:
        if counts[STEPS] - counts[CYCLE] >= counts[LENGTH]:
            _begin_cycle(search)
        now = min(end, counts[CYCLE] + counts[LENGTH]) - counts[STEPS]
        _run(search, EVERYTHING, int(now))


def compile_search() -> None:
    """Compile what a search needs, on a handful of records, before its clock starts."""
    points = np.arange(16.0).reshape(8, 2)
    run(start(points, np.arange(8) // 2, 2, 0), 2 * FIRST_CYCLE * 4)


def best_labels(search: Search) -> Ints:
    """Labels of the lowest loss found so far, numbered by first appearance."""
    best = search.member[KEPT]
    kept = np.arange(best.shape[1]) < search.group[BEST_SIZE][:, None]
    owner = np.empty(search.x.shape[0], np.int64)
    owner[best[kept]] = np.nonzero(kept)[0]
    return numbered(owner)


def best_loss(search: Search) -> float:
    """Sum of squared distances to the centroids in the best partition so far."""
    return float(search.loss[BEST])


def steps_done(search: Search) -> int:
    """Steps taken so far."""
    return int(search.counts[STEPS])


def improvements(search: Search) -> int:
    """How often the best loss so far was lowered."""
    return int(search.counts[IMPROVED])
