"""Size repair: any clustering becomes a partition into groups of k to 2k - 1 records.

Clusterings know no smallest group. Repair changes as little as it must, and counts each change by
the exact change of the within-group sum of squares (SSE):

1. small groups with one centroid join, which costs nothing; then a group of 3k or more is split by
   MDAV, one of 2k to 3k - 1 by `cut_in_two`;
2. a group that is too small, or a record that belongs to none (a negative label), takes the
   cheapest of three ways: *join* a neighbour (and, if together they are 2k or more, be cut in two
   with it), *dissolve* (each record goes to the neighbour it costs least), or *borrow* records, one
   at a time, from neighbours that have more than k.

The neighbours of a group are the `NEIGHBOURS` groups with the nearest centroids, found anew for all
small groups in each of a few rounds; within a round the small groups come in the order of what
joining their nearest neighbour would cost. A group that is right is touched only as a neighbour.
Joining at exact SSE cost is Ward's criterion (Ward 1963); moving single records at exact cost is
Hartigan's (1975).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.mdav import mdav
from sfumato.kernels.neighbours.blocks import distinct_rows, ranked
from sfumato.kernels.neighbours.remaining import checked

NEIGHBOURS = 8
"""Groups that a small group looks at; 16 and 32 were no better on the benchmark files."""


def as_points(points: ArrayLike, k: int) -> Floats:
    """float64 (n, d), C-contiguous, d >= 1; complains of what no search for groups can use."""
    x = checked(points, k)
    # Records without any coordinate are all alike: one constant coordinate says the same.
    return x if x.shape[1] else np.zeros((len(x), 1))


@njit(cache=True, nogil=True, inline="always")
def squared(a: Floats, b: Floats) -> float:
    """Squared distance of two points."""
    total = 0.0
    for j in range(a.size):
        step = a[j] - b[j]
        total += step * step
    return total


@njit(cache=True, nogil=True)
def mean_of(points: Floats, rows: Ints, out: Floats) -> None:
    """Mean of some records; 0 of none. (Loops: sums of whole arrays take longer to compile.)"""
    out[:] = 0.0
    for i in range(rows.size):
        x = points[rows[i]]
        for j in range(out.size):
            out[j] += x[j]
    for j in range(out.size):
        out[j] /= max(rows.size, 1)


@njit(cache=True, nogil=True, inline="always")
def _draw_to(mean: Floats, x: Floats, count: int) -> None:
    """The mean of `count` records after x has come; of -`count` after it has left."""
    for j in range(x.size):
        mean[j] += (x[j] - mean[j]) / count


@njit(cache=True, nogil=True)
def sse_of(points: Floats, rows: Ints) -> float:
    """Sum of squared distances of some records to their mean (two passes)."""
    centre = np.empty(points.shape[1])
    mean_of(points, rows, centre)
    total = 0.0
    for i in range(rows.size):
        total += squared(points[rows[i]], centre)
    return total


@njit(cache=True, nogil=True)
def best_cut(points: Floats, rows: Ints, k: int) -> tuple[int, float]:
    """Where to cut a row of records in two parts of k or more with the least SSE, and that SSE."""
    m = rows.size
    ahead = np.zeros(m + 1)  # SSE of the first i
    for back in range(2):
        mean, total = np.zeros(points.shape[1]), 0.0
        for i in range(m):
            x, apart = points[rows[m - 1 - i if back else i]], 0.0
            for j in range(x.size):
                step = x[j] - mean[j]
                apart += step * step
                mean[j] += step / (i + 1)
            total += i / (i + 1) * apart
            if back:
                ahead[m - 1 - i] += total
            else:
                ahead[i + 1] = total
    at = k
    for i in range(k, m - k + 1):
        if ahead[i] < ahead[at]:
            at = i
    return at, ahead[at]


@njit(cache=True, nogil=True, inline="always")
def _farthest(points: Floats, rows: Ints, x: Floats, out: Floats) -> int:
    """The row farthest from x, of equals the first; `out` gets all squared distances."""
    far = 0
    for i in range(rows.size):
        out[i] = squared(points[rows[i]], x)
        if out[i] > out[far]:
            far = i
    return rows[far]


@njit(cache=True, nogil=True)
def cut_in_two(points: Floats, rows: Ints, k: int) -> tuple[Ints, int, float]:
    """2k or more records in two parts of k or more: their order, where it is cut, and the SSE.

    r is the record farthest from the mean and s the one farthest from r. The best cut is taken of
    three orders: along the line from r to s, by distance from r, and by distance from s.
    """
    m = rows.size
    centre, key = np.empty(points.shape[1]), np.empty((3, m))
    mean_of(points, rows, centre)
    r = _farthest(points, rows, centre, key[1])
    s = _farthest(points, rows, points[r], key[1])
    _farthest(points, rows, points[s], key[2])
    for i in range(m):
        key[0, i] = key[1, i] - key[2, i]
    best, at, least = rows, -1, np.inf
    for way in range(3):
        order = ranked(key[way])
        for i in range(m):
            order[i] = rows[order[i]]
        where, total = best_cut(points, order, k)
        if total < least:
            best, at, least = order, where, total
    return best, at, least


@njit(cache=True, nogil=True)
def members_of(head: Ints, after: Ints, size: Ints, group: int) -> Ints:
    """The rows of a group, read off its chain."""
    rows = np.empty(size[group], np.int64)
    row = head[group]
    for i in range(rows.size):
        rows[i] = row
        row = after[row]
    return rows


@njit(cache=True, nogil=True, inline="always")
def _move(row: int, goal: int, label: Ints, head: Ints, after: Ints, size: Ints) -> None:
    """Take a record out of the chain of its group and put it at the end of another, or its own."""
    giver = label[row]
    at = head[giver]
    if at == row:
        head[giver] = after[row]
    else:
        while after[at] != row:
            at = after[at]
        after[at] = after[row]
    after[row] = -1
    at = head[goal]
    if at < 0:
        head[goal] = row
    else:
        while after[at] >= 0:
            at = after[at]
        after[at] = row
    label[row] = goal
    size[giver] -= 1
    size[goal] += 1


@njit(cache=True, nogil=True, inline="always")
def _joined(one: Ints, other: Ints) -> Ints:
    """Both lists of rows, one after the other."""
    both = np.empty(one.size + other.size, np.int64)
    for i in range(both.size):
        both[i] = one[i] if i < one.size else other[i - one.size]
    return both


@njit(cache=True, nogil=True, inline="always")
def _of_groups(near: Ints, size: Ints, centre: Floats) -> tuple[Ints, Floats]:
    """Sizes and centroids of some groups, to be changed."""
    sizes, means = np.empty(near.size, np.int64), np.empty((near.size, centre.shape[1]))
    for c in range(near.size):
        sizes[c] = size[near[c]]
        for j in range(centre.shape[1]):
            means[c, j] = centre[near[c], j]
    return sizes, means


@njit(cache=True, nogil=True)
def _dissolve(
    points: Floats, rows: Ints, near: Ints, size: Ints, centre: Floats, k: int, to: Ints
) -> float:
    """Cost of sending each of `rows` to the group of `near` it costs least; `to` says which."""
    sizes, means = _of_groups(near, size, centre)
    total = -sse_of(points, rows)
    for i in range(rows.size):
        best, least = -1, np.inf
        for c in range(near.size):
            if sizes[c] < 2 * k - 1:
                cost = sizes[c] / (sizes[c] + 1) * squared(points[rows[i]], means[c])
                if cost < least:
                    best, least = c, cost
        if best < 0:
            return np.inf
        to[i] = near[best]
        total += least
        sizes[best] += 1
        _draw_to(means[best], points[rows[i]], sizes[best])
    return total


@njit(cache=True, nogil=True)
def _borrow(
    points: Floats, mean: Floats, have: int, near: Ints, head: Ints, after: Ints, size: Ints,
    centre: Floats, k: int, taken: Ints,
) -> float:  # fmt: skip
    """Cost of filling a group of `have` up to k from groups of `near` that can spare a record."""
    sizes, means = _of_groups(near, size, centre)
    own = mean.copy()
    total = 0.0
    for t in range(k - have):
        row, giver, least = -1, -1, np.inf
        grown = (have + t) / (have + t + 1)
        for c in range(near.size):
            if sizes[c] <= k:
                continue
            shrunk = sizes[c] / (sizes[c] - 1)
            i = head[near[c]]
            while i >= 0:
                cost = grown * squared(points[i], own) - shrunk * squared(points[i], means[c])
                if cost < least:
                    fresh = True
                    for u in range(t):
                        fresh = fresh and taken[u] != i
                    if fresh:
                        row, giver, least = i, c, cost
                i = after[i]
        if row < 0:
            return np.inf
        taken[t] = row
        total += least
        _draw_to(own, points[row], have + t + 1)
        _draw_to(means[giver], points[row], 1 - sizes[giver])
        sizes[giver] -= 1
    return total


@njit(cache=True, nogil=True)
def _settle(
    points: Floats, small: Ints, around: Ints, k: int,
    label: Ints, head: Ints, after: Ints, size: Ints, centre: Floats,
) -> None:  # fmt: skip
    """One round: each small group, in turn, takes the way that costs least."""
    into = np.empty(size.size, np.int64)  # what has become of a group that is no more
    stale = np.empty(size.size, np.int64)  # 1 for a group whose centroid is to be found anew
    for g in range(size.size):
        into[g], stale[g] = g, 0
    near = np.empty(around.shape[1], np.int64)
    taken, to = np.empty(k, np.int64), np.empty(k, np.int64)
    goal = np.empty(3 * k, np.int64)
    for turn in range(small.size):
        group = small[turn]
        if size[group] == 0 or size[group] >= k:
            continue
        count = 0
        for c in range(around.shape[1]):
            other = around[turn, c]
            while into[other] != other:
                into[other] = into[into[other]]  # keeps the way short
                other = into[other]
            fresh = other != group
            for u in range(count):
                fresh = fresh and near[u] != other
            if fresh:
                near[count] = other
                count += 1
        if count == 0:
            continue  # all its neighbours have joined it: the next round finds others
        rows = members_of(head, after, size, group)
        near_now = near[:count]
        way = _borrow(
            points, centre[group], rows.size, near_now, head, after, size, centre, k, taken
        )
        spread = _dissolve(points, rows, near_now, size, centre, k, to)
        partner, least = near[0], np.inf
        for c in range(count):
            other = near[c]
            both = size[group] + size[other]
            cost = size[group] * size[other] / both * squared(centre[group], centre[other])
            if both >= 2 * k:
                pool = _joined(rows, members_of(head, after, size, other))
                cost += cut_in_two(points, pool, k)[2] - sse_of(points, pool)
            if cost < least:
                partner, least = other, cost

        # Who goes where: all that join or dissolve, or who is borrowed, or both parts of a cut.
        moved = rows
        goal[:] = partner
        if way < least and way <= spread:
            moved = taken[: k - rows.size]
            goal[:] = group
        elif spread < least:
            for i in range(rows.size):
                goal[i] = to[i]
        elif rows.size + size[partner] >= 2 * k:
            pool = _joined(members_of(head, after, size, partner), rows)
            moved, at, _ = cut_in_two(points, pool, k)
            goal[at:] = group
        for i in range(moved.size):
            stale[label[moved[i]]] = stale[goal[i]] = 1
            _move(moved[i], goal[i], label, head, after, size)
        if size[group] == 0:
            into[group] = goal[0]
            stale[group] = 0
        for i in range(near_now.size + 1):
            one = near_now[i] if i < near_now.size else group
            if stale[one] == 1:
                mean_of(points, members_of(head, after, size, one), centre[one])
                stale[one] = 0


def _by_group(points: Floats, label: Ints) -> tuple[Ints, Ints, Floats]:
    """Rows in the order of their groups, where each group starts, and the centroids."""
    order = np.argsort(label, kind="stable")
    size = np.bincount(label)
    starts = np.append(0, np.cumsum(size))
    return order, starts, np.add.reduceat(points[order], starts[:-1]) / size[:, None]


def _join_equal(points: Floats, label: Ints, k: int) -> Ints:
    """Join small groups at one place: it costs nothing, and a search for neighbours is spared."""
    _, starts, centre = _by_group(points, label)
    small = np.flatnonzero(np.diff(starts) < k)
    place = np.ascontiguousarray(centre[small] + 0.0)  # -0.0 is 0.0
    first, same = distinct_rows(place.view(np.int64), np.empty((small.size, 0), np.int32))
    name = np.arange(starts.size - 1)
    name[small] = small[first[same]]
    return numbered(name[label])


def split_by_mdav(points: Floats, label: Ints, least: int, k: int) -> Ints:
    """Labels 0..g-1 with every group of `least` or more split by MDAV."""
    label = label.copy()
    order, starts, _ = _by_group(points, label)
    none = np.empty((len(points), 0), np.int32)
    fresh = starts.size - 1
    for g in np.flatnonzero(np.diff(starts) >= least):
        rows = order[starts[g] : starts[g + 1]]
        found = mdav(points[rows], none[: rows.size], [], k)
        label[rows] = np.where(found == 0, g, fresh + found - 1)
        fresh += int(found.max())
    return label


def repair(points: ArrayLike, labels: ArrayLike, k: int) -> NDArray[np.int64]:
    """Labels 0..g-1 of groups of k to 2k - 1 records, as near to `labels` as the module says.

    A negative label is a record without a group (the noise of DBSCAN). Groups are numbered by first
    appearance.

    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0], [20.0], [21.0], [22.0]])
    >>> repair(x, [0, 0, 0, 0, 1, 1, -1], 3).tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """
    x = as_points(points, k)
    given = np.asarray(labels)
    if given.shape != (len(x),) or given.dtype.kind not in "iu":
        raise ValueError(f"labels must be {len(x)} whole numbers, one to a record")
    label = given.astype(np.int64)
    lone = label < 0
    # Each record without a group starts as a group of its own, after all others.
    label[lone] = label.max(initial=0) + 1 + np.arange(np.count_nonzero(lone))
    label = split_by_mdav(x, _join_equal(x, numbered(label), k), 3 * k, k)
    order, starts, _ = _by_group(x, label)
    size = np.diff(starts)
    large = np.flatnonzero((2 * k <= size) & (size < 3 * k))
    for fresh, g in enumerate(large.tolist(), size.size):
        rows, at, _ = cut_in_two(x, order[starts[g] : starts[g + 1]], k)
        label[rows[at:]] = fresh
    order, starts, centre = _by_group(x, label)
    size = np.diff(starts)
    head, after = order[starts[:-1]].copy(), np.empty(len(x), np.int64)
    after[order[:-1]], after[order[starts[1:] - 1]] = order[1:], -1
    while True:
        alive = np.flatnonzero(size)
        small = alive[size[alive] < k]
        if not small.size:
            return numbered(label)
        wanted = min(NEIGHBOURS + 1, alive.size)
        _, found = cKDTree(centre[alive]).query(centre[small], wanted, workers=-1)
        around = _without_self(alive[found], small)
        near = around[:, 0]
        step = np.sum((centre[small] - centre[near]) ** 2, axis=1)
        cost = size[small] * size[near] / (size[small] + size[near]) * step
        turn = np.argsort(cost, kind="stable")
        _settle(x, small[turn], around[turn], k, label, head, after, size, centre)


def _without_self(found: Ints, own: Ints) -> Ints:
    """Drop each row's own group from its neighbours; of many at one place it may be missing."""
    other = found != own[:, None]
    other[other.all(axis=1), -1] = False
    return found[other].reshape(len(found), found.shape[1] - 1)
