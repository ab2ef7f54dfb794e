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
    LEAST,
    QUEUED,
    STAMP,
    UNIT,
    Search,
    dequeue,
    enqueue,
    refresh,
    squared,
    touch,
)


@njit(cache=True, nogil=True)
def take_out(s: Search, i: int) -> None:
    """Take record i off the list of its group, which is in the journal."""
    g = s.label[i]
    m = 0
    while s.member[g, m] != i:
        m += 1
    s.size[g] -= 1
    s.member[g, m] = s.member[g, s.size[g]]


@njit(cache=True, nogil=True)
def put_in(s: Search, i: int, g: int) -> None:
    """Put record i on the list of group g, which is in the journal."""
    s.member[g, s.size[g]] = i
    s.size[g] += 1
    s.label[i] = g


@njit(cache=True, nogil=True)
def apply_move(s: Search, i: int, b: int) -> None:
    """Move record i to group b."""
    a = s.label[i]
    touch(s, a)
    touch(s, b)
    take_out(s, i)
    put_in(s, i, b)
    refresh(s, a)
    refresh(s, b)


@njit(cache=True, nogil=True)
def apply_swap(s: Search, i: int, j: int) -> None:
    """Let records i and j of two groups change places."""
    a, b = s.label[i], s.label[j]
    touch(s, a)
    touch(s, b)
    take_out(s, i)
    take_out(s, j)
    put_in(s, i, b)
    put_in(s, j, a)
    refresh(s, a)
    refresh(s, b)


@njit(cache=True, nogil=True)
def list_around(s: Search, g: int) -> int:
    """Put the groups of the records near group g's members on `s.around`; how many there are."""
    s.counts[STAMP] += 1
    stamp = s.counts[STAMP]
    s.seen[g] = stamp
    found = 0
    for m in range(s.size[g]):
        i = s.member[g, m]
        for t in range(s.near.shape[1]):
            b = s.label[s.near[i, t]]
            if s.seen[b] != stamp:
                s.seen[b] = stamp
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
    size_a, size_b = s.size[a], s.size[b]
    best_i = best_j = -1
    half = s.gap.size // 2
    grow_b = size_b / (size_b + 1.0)
    leave_a = size_a / (size_a - 1.0) if size_a > s.k and size_b < most else -1.0
    for m in range(size_a):
        i = s.member[a, m]
        e = squared(x, i, s.centre, b)
        s.gap[m] = e
        if leave_a > 0.0:
            cost = grow_b * e - leave_a * s.own[i]
            if cost < bar:
                bar, best_i, best_j = cost, i, -1
    grow_a = size_a / (size_a + 1.0)
    leave_b = size_b / (size_b - 1.0) if size_b > s.k and size_a < most else -1.0
    share = 1.0 / size_a + 1.0 / size_b
    for m in range(size_b):
        j = s.member[b, m]
        e = squared(x, j, s.centre, a)
        s.gap[half + m] = e
        if leave_b > 0.0:
            cost = grow_a * e - leave_b * s.own[j]
            if cost < bar:
                bar, best_i, best_j = cost, j, -1
    for q in range(size_b):
        j = s.member[b, q]
        from_j = s.gap[half + q] - s.own[j]
        for m in range(size_a):
            i = s.member[a, m]
            linear = from_j + s.gap[m] - s.own[i]
            # |x_i - x_j|^2 <= 2 e(i, C) + 2 e(j, C) for either centroid C.
            reach = 2.0 * min(s.own[i] + s.gap[half + q], s.gap[m] + s.own[j])
            if linear - share * reach >= bar:
                continue
            cost = linear - share * squared(x, i, x, j)
            if cost < bar:
                bar, best_i, best_j = cost, i, j
    return bar, best_i, best_j


@njit(cache=True, nogil=True)
def _make(s: Search, a: int, b: int, i: int, j: int) -> None:
    """Make the move or swap that `best_between` found."""
    if j >= 0:
        apply_swap(s, i, j)
    else:
        apply_move(s, i, b if s.label[i] == a else a)
    enqueue(s, b)
    enqueue(s, a)


@njit(cache=True, nogil=True)
def improve(s: Search, a: int, greedy: bool) -> None:
    """Lower the loss by moves and swaps of group a with the groups around it.

    `greedy` makes the best of all and leaves the rest for later, which ends lower; otherwise each
    pair of groups makes its own best as long as there is one, which is sooner done.
    """
    best, best_i, best_j, best_b = 0.0, -1, -1, -1
    for f in range(list_around(s, a)):
        b = s.around[f]
        while True:
            # Without a margin, rounding could go in circles.
            bar = min(best, -LEAST * (s.sse[a] + s.sse[b] + s.loss[UNIT]))
            cost, i, j = best_between(s, a, b, bar)
            if i < 0:
                break
            if greedy:
                best, best_i, best_j, best_b = cost, i, j, b
                break
            _make(s, a, b, i, j)
    if best_i >= 0:
        _make(s, a, best_b, best_i, best_j)


@njit(cache=True, nogil=True)
def descend(s: Search, most: int, greedy: bool) -> None:
    """Examine waiting groups until none is left or `most` have been."""
    done = 0
    while s.counts[QUEUED] > 0 and done < most:
        a = dequeue(s)
        done += 1
        if s.size[a] > 0:
            improve(s, a, greedy)
