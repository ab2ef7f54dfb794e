"""The moves of `refine`, each with its exact change of the loss, and the descent by them.

With c_A the centroid of a group A of m_A records and e(i, A) the squared distance of record i to
it, the sum of squared distances to the centroids changes

- by  m_B/(m_B + 1) e(i, B) - m_A/(m_A - 1) e(i, A)  when record i moves from A to B;
- by  e(i, B) - e(i, A) + e(j, A) - e(j, B) - (1/m_A + 1/m_B) |x_i - x_j|^2  when i of A and j of B
  change places.

(The first is Hartigan's, the second follows from |S|^2/m, S the sum of a group.) Two groups are
examined together: the distances of either's members to the other's centroid serve all their moves
and swaps.
"""

from __future__ import annotations

from numba import njit

from sfumato.kernels.micro.refine._state import (
    HEAD,
    HERE,
    IS_QUEUED,
    LEAST,
    QUEUE,
    QUEUED,
    SEEN,
    SIZE,
    STAMP,
    UNIT,
    Search,
    enqueue,
    refresh,
    squared,
    touch,
)


@njit(cache=True, nogil=True)
def exchange(s: Search, i: int, j: int, to: int) -> None:
    """Record i goes to group `to`, and record j of that group, unless it is -1, takes its place."""
    group, member = s.group, s.member
    g, gone, new = s.label[i], i, j
    for _ in range(2):
        touch(group, member, s.sse, s.counts, g)
        size = group[SIZE, g]
        if gone >= 0:
            m = 0
            while member[HERE, g, m] != gone:
                m += 1
            size -= 1
            member[HERE, g, m] = member[HERE, g, size]
        if new >= 0:
            member[HERE, g, size] = new
            size += 1
        group[SIZE, g] = size
        refresh(s, g)
        g, gone, new = to, j, i


@njit(cache=True, nogil=True)
def list_around(s: Search, g: int) -> int:
    """Put the groups of the records near group g's members on `s.around`; how many there are."""
    group, label, near = s.group, s.label, s.near
    s.counts[STAMP] += 1
    stamp = s.counts[STAMP]
    group[SEEN, g] = stamp
    found = 0
    for m in range(group[SIZE, g]):
        i = s.member[HERE, g, m]
        for t in range(near.shape[1]):
            b = label[near[i, t]]
            if group[SEEN, b] != stamp:
                group[SEEN, b] = stamp
                s.around[found] = b
                found += 1
    return found


@njit(cache=True, nogil=True)
def best_between(s: Search, a: int, b: int, bar: float) -> tuple[float, int, int]:
    """The cheapest move or swap between groups a and b that costs less than `bar`.

    (cost, i, j): records i and j change places; j = -1: record i moves to the other group;
    i = -1: nothing costs less.
    """
    x, most = s.x, 2 * s.k - 1
    size_a, size_b = s.group[SIZE, a], s.group[SIZE, b]
    own, gap, member = s.own, s.gap, s.member[HERE]
    best_i = best_j = -1
    half = gap.size // 2
    grow_b = size_b / (size_b + 1.0)
    leave_a = size_a / (size_a - 1.0) if size_a > s.k and size_b < most else -1.0
    for m in range(size_a):
        i = member[a, m]
        e = squared(x, i, s.centre, b)
        gap[m] = e
        if leave_a > 0.0:
            cost = grow_b * e - leave_a * own[i]
            if cost < bar:
                bar, best_i, best_j = cost, i, -1
    grow_a = size_a / (size_a + 1.0)
    leave_b = size_b / (size_b - 1.0) if size_b > s.k and size_a < most else -1.0
    share = 1.0 / size_a + 1.0 / size_b
    for m in range(size_b):
        j = member[b, m]
        e = squared(x, j, s.centre, a)
        gap[half + m] = e
        if leave_b > 0.0:
            cost = grow_a * e - leave_b * own[j]
            if cost < bar:
                bar, best_i, best_j = cost, j, -1
    for q in range(size_b):
        j = member[b, q]
        from_j = gap[half + q] - own[j]
        for m in range(size_a):
            i = member[a, m]
            linear = from_j + gap[m] - own[i]
            # |x_i - x_j|^2 <= 2 e(i, C) + 2 e(j, C) for either centroid C.
            reach = 2.0 * min(own[i] + gap[half + q], gap[m] + own[j])
            if linear - share * reach >= bar:
                continue
            cost = linear - share * squared(x, i, x, j)
            if cost < bar:
                bar, best_i, best_j = cost, i, j
    return bar, best_i, best_j


@njit(cache=True, nogil=True)
def improve(s: Search, a: int, greedy: bool) -> None:
    """Lower the loss by moves and swaps of group a with the groups around it.

    `greedy` makes the best of all and leaves the rest for later, which ends lower; otherwise each
    pair of groups makes its own best as long as there is one, which is sooner done.
    """
    best, best_i, best_j, best_b = 0.0, -1, -1, -1
    found = list_around(s, a)
    f = 0
    while f < found or best_i >= 0:
        if f < found:
            b = s.around[f]
            # Without a margin, rounding could go in circles.
            bar = min(best, -LEAST * (s.sse[HERE, a] + s.sse[HERE, b] + s.loss[UNIT]))
            cost, i, j = best_between(s, a, b, bar)
            if i < 0 or greedy:
                f += 1
            if i >= 0 and greedy:
                best, best_i, best_j, best_b = cost, i, j, b
            if i < 0 or greedy:
                continue
        else:
            i, j, b, best_i = best_i, best_j, best_b, -1
        exchange(s, i, j, b if s.label[i] == a else a)
        enqueue(s.group, s.counts, b)
        enqueue(s.group, s.counts, a)


@njit(cache=True, nogil=True)
def descend(s: Search, most: int, greedy: bool) -> None:
    """Examine waiting groups, the longest waiting first, until none is left or `most` have been."""
    group, counts = s.group, s.counts
    done = 0
    while counts[QUEUED] > 0 and done < most:
        a = group[QUEUE, counts[HEAD]]
        group[IS_QUEUED, a] = 0
        counts[HEAD] += 1
        if counts[HEAD] == group.shape[1]:
            counts[HEAD] = 0
        counts[QUEUED] -= 1
        done += 1
        if group[SIZE, a] > 0:
            improve(s, a, greedy)
