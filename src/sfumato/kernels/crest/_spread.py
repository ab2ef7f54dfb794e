"""Exchanges between neighbouring groups that spread the confidential classes.

CREST (Li & Sarkar 2013, "Class restricted clustering and micro-perturbation for data privacy",
Management Science 59(4)) cuts a tree and then leaves its groups alone, though records near a border
often belong on the other side of it. Here records move to a neighbouring group, or change places
with one of its members, wherever that lowers

    (1 - weight) * SSE / SST  +  weight * WJSD,

the paper's two objectives, information loss and weighted Jensen-Shannon divergence of the classes
(definition 4), with one weight. This is an extension: the paper has no such step.

With c_A the mean of a group A of m_A records and e(i, A) the squared distance of record i from it,
SSE changes by  m_B/(m_B + 1) e(i, B) - m_A/(m_A - 1) e(i, A)  when i moves from A to B, and by
e(i, B) - e(i, A) + e(j, A) - e(j, B) - (1/m_A + 1/m_B) |x_i - x_j|^2  when i of A and j of B change
places (Hartigan 1975). The divergence changes in these two groups only and depends on the
classes of i and j alone, so it is worked out once for all members of B that have the same class.

A pass goes through the records in their order. Each looks at the groups with the nearest centroids
and takes the best exchange with any of them, if it lowers the objective. So no pass makes it worse,
and the work of one is proportional to the number of records. When a pass finds nothing the nearest
groups are looked up anew; when it finds nothing right after that, the end is reached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.crest._divergence import class_term
from sfumato.kernels.micro.size_repair import as_points, squared
from sfumato.progress import report

NEIGHBOURS = 12
"""Groups that a record looks at."""

PARTNERS = 64
"""Members of a group with whom a record may change places, so that large groups cost no more."""

LEAST = 1e-12
"""A smaller gain is rounding."""

SLICE = 20_000
"""Records between two reports of progress."""


class Groups(NamedTuple):
    """Groups while records move: sums are kept, and members listed, so that a move is cheap."""

    label: Ints
    size: Ints
    total: Floats  # (g, d): sum of the members
    counts: Ints  # (g, classes)
    first: Ints  # (g,): a member, -1 where there is none
    after: Ints  # (n,): the next member of the same group, in a ring
    before: Ints
    clock: Ints  # (1,): exchanges so far
    changed: Ints  # (g,): when a group changed last
    seen: Ints  # (n,): when a record last looked for an exchange


@njit(cache=True, nogil=True)
def _spread(count: Ints, size: int, c: int, step: int, share: Floats) -> float:
    """Records times divergence of a group with `step` more of class c: `size` after that."""
    total = 0.0
    for one in range(share.size):
        total += class_term((count[one] + (step if one == c else 0)) / size, share[one])
    return 0.5 * size * total


@njit(cache=True, nogil=True)
def _apart(count: Ints, size: int, c: int, step: int, share: Floats) -> float:
    """Earth mover's distance, at equal distances between classes, of the same from all records."""
    total = 0.0
    for one in range(share.size):
        total += abs((count[one] + (step if one == c else 0)) / size - share[one])
    return 0.5 * total


@njit(cache=True, nogil=True)
def _spread_change(count: Ints, size: int, less: int, more: int, share: Floats) -> float:
    """Change of `_spread` when one of class `less` gives way to one of `more`: two classes only."""
    total = class_term((count[less] - 1) / size, share[less])
    total -= class_term(count[less] / size, share[less])
    total += class_term((count[more] + 1) / size, share[more])
    total -= class_term(count[more] / size, share[more])
    return 0.5 * size * total


@njit(cache=True, nogil=True)
def _apart_change(count: Ints, size: int, less: int, more: int, share: Floats) -> float:
    """Change of `_apart` likewise."""
    total = abs((count[less] - 1) / size - share[less]) - abs(count[less] / size - share[less])
    total += abs((count[more] + 1) / size - share[more]) - abs(count[more] / size - share[more])
    return 0.5 * total


@njit(cache=True, nogil=True)
def _from_mean(x: Floats, i: int, s: Groups, g: int) -> float:
    """Squared distance of record i from the mean of group g."""
    found = 0.0
    for j in range(x.shape[1]):
        step = x[i, j] - s.total[g, j] / s.size[g]
        found += step * step
    return found


@njit(cache=True, nogil=True)
def _listed(label: Ints, groups: int, x: Floats, kind: Ints, classes: int) -> Groups:
    n, d = x.shape
    s = Groups(
        label, np.zeros(groups, np.int64), np.zeros((groups, d)),
        np.zeros((groups, classes), np.int64), np.full(groups, -1, np.int64),
        np.empty(n, np.int64), np.empty(n, np.int64),
        np.zeros(1, np.int64), np.zeros(groups, np.int64), np.full(n, -1, np.int64),
    )  # fmt: skip
    for i in range(n):
        _join(s, x, kind, i, label[i])
    return s


@njit(cache=True, nogil=True)
def _join(s: Groups, x: Floats, kind: Ints, i: int, g: int) -> None:
    s.label[i] = g
    s.size[g] += 1
    s.counts[g, kind[i]] += 1
    for j in range(x.shape[1]):
        s.total[g, j] += x[i, j]
    if s.first[g] < 0:
        s.first[g] = s.after[i] = s.before[i] = i
        return
    head = s.first[g]
    tail = s.before[head]
    s.after[tail], s.before[i] = i, tail
    s.after[i], s.before[head] = head, i


@njit(cache=True, nogil=True)
def _leave(s: Groups, x: Floats, kind: Ints, i: int) -> None:
    g = s.label[i]
    s.size[g] -= 1
    s.counts[g, kind[i]] -= 1
    for j in range(x.shape[1]):
        s.total[g, j] -= x[i, j]
    s.after[s.before[i]] = s.after[i]
    s.before[s.after[i]] = s.before[i]
    if s.first[g] == i:
        s.first[g] = s.after[i] if s.size[g] else -1


@njit(cache=True, nogil=True)
def _pass(
    s: Groups, x: Floats, kind: Ints, share: Floats, near: Ints, start: int, stop: int, k: int,
    per_sse: float, per_bit: float, t: float,
) -> tuple[int, float]:  # fmt: skip
    """The best exchange of each record from `start` to `stop`; how many were made, and the gain."""
    classes = share.size
    bits = np.empty(classes)  # by class of the partner; infinite where that is not allowed
    made, gain = 0, 0.0
    for i in range(start, stop):
        a, mine = s.label[i], kind[i]
        m = s.size[a]
        out = _from_mean(x, i, s, a)
        best, to, partner = -LEAST, -1, -1
        leaving = left = 0.0
        if m > k:
            leaving = _spread(s.counts[a], m - 1, mine, -1, share)
            leaving -= _spread(s.counts[a], m, mine, 0, share)
            left = _apart(s.counts[a], m - 1, mine, -1, share)
        here = _apart(s.counts[a], m, mine, 0, share)
        for q in range(near.shape[1]):
            b = near[i, q]
            # What was no gain is none while both groups are as they were.
            if b == a or max(s.changed[a], s.changed[b]) <= s.seen[i]:
                continue
            o = s.size[b]
            into = _from_mean(x, i, s, b)
            if m > k and left <= t and _apart(s.counts[b], o + 1, mine, 1, share) <= t:
                change = _spread(s.counts[b], o + 1, mine, 1, share)
                change += leaving - _spread(s.counts[b], o, mine, 0, share)
                cost = per_sse * (o / (o + 1.0) * into - m / (m - 1.0) * out) + per_bit * change
                if cost < best:
                    best, to, partner = cost, b, -1
            there = _apart(s.counts[b], o, mine, 0, share)
            for c in range(classes):
                bits[c] = np.inf
                if c == mine:
                    bits[c] = 0.0
                elif (
                    s.counts[b, c] > 0
                    and here + _apart_change(s.counts[a], m, mine, c, share) <= t
                    and there + _apart_change(s.counts[b], o, c, mine, share) <= t
                ):
                    bits[c] = _spread_change(s.counts[a], m, mine, c, share)
                    bits[c] += _spread_change(s.counts[b], o, c, mine, share)
            shared = 1.0 / m + 1.0 / o
            j = s.first[b]
            for _ in range(min(o, PARTNERS)):
                if bits[kind[j]] < np.inf:
                    sse = into - out + _from_mean(x, j, s, a) - _from_mean(x, j, s, b)
                    sse -= shared * squared(x[i], x[j])
                    cost = per_sse * sse + per_bit * bits[kind[j]]
                    if cost < best:
                        best, to, partner = cost, b, j
                j = s.after[j]
            s.first[b] = j  # the next record looks at the next members of a large group
        s.seen[i] = s.clock[0]
        if to >= 0:
            s.clock[0] += 1
            s.changed[a] = s.changed[to] = s.clock[0]
            _leave(s, x, kind, i)
            if partner >= 0:
                _leave(s, x, kind, partner)
                _join(s, x, kind, partner, a)
            _join(s, x, kind, i, to)
            made += 1
            gain -= best
    return made, gain


class Exchanged(NamedTuple):
    """New labels, and how they were found."""

    labels: Ints
    exchanges: int
    gain: float
    """By how much the objective fell: the sum of the changes by which exchanges were chosen."""
    passes: int
    finished: bool
    """Whether the last pass found nothing more to exchange."""


def exchange(
    points: ArrayLike,
    labels: ArrayLike,
    classes: ArrayLike,
    n_classes: int,
    k: int,
    weight: float = 0.5,
    passes: int = 500,
    *,
    t: float = np.inf,
) -> Exchanged:
    """Exchange records between neighbouring groups while it lowers SSE/SST and the divergence.

    `labels` number the groups 0..g-1, each of at least k records, and so do the result's. `weight`
    is the divergence's, from 0 (only information loss counts) to 1. `passes` is the most there
    may be; they end when one finds nothing. Groups that are within `t` of the class distribution
    of all records (earth mover's distance, equal distances between classes) stay so, as no exchange
    is made that leaves one of its two groups farther.

    >>> found = exchange([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1], [0, 0, 1, 1], 2, 2, 0.9)
    >>> found.labels.tolist(), found.exchanges
    ([1, 0, 1, 0], 1)
    """
    x = as_points(points, k)
    n = len(x)
    label, kind = _checked(labels, classes, n, n_classes, k)
    if not 0.0 <= weight <= 1.0 or passes < 0 or not t >= 0.0:
        raise ValueError("needs a weight from 0 to 1, passes and t of at least 0")
    share = np.bincount(kind) / n
    x = x - x.mean(axis=0)
    spread = float(np.sum(x**2))
    per_sse = (1.0 - weight) / spread if spread > 0 else 0.0
    groups = int(label.max()) + 1
    exchanges = done = 0
    gain = 0.0
    finished = groups == 1
    while not finished and done < passes:
        # Sums are made anew whenever the lists are, so that no rounding piles up.
        s = _listed(label, groups, x, kind, share.size)
        near = _nearest(s.total / s.size[:, None], x)
        finished = True
        made = 1
        while made and done < passes:
            made = 0
            for start in range(0, n, SLICE):
                stop = min(start + SLICE, n)
                some, better = _pass(
                    s, x, kind, share, near, start, stop, int(k), per_sse, weight / n, t + LEAST
                )
                made += some
                gain += better
                report(f"exchanging records, pass {done + 1}", stop, n)
            done += 1
            exchanges += made
            finished = finished and not made
    return Exchanged(label, exchanges, gain, done, finished)


def _nearest(centres: Floats, x: Floats) -> Ints:
    """The groups with the nearest centroids for each record; its own is among them or is not."""
    many = min(NEIGHBOURS + 1, len(centres))
    _, near = cKDTree(centres).query(x, k=many)
    return np.ascontiguousarray(np.asarray(near).reshape(len(x), many), dtype=np.int64)


def _checked(
    labels: ArrayLike, classes: ArrayLike, n: int, n_classes: int, k: int
) -> tuple[Ints, Ints]:
    """A copy of the labels, and the classes renumbered without those that do not occur."""
    label, given = np.array(labels, dtype=np.int64), np.asarray(classes, dtype=np.int64)
    if label.shape != (n,) or given.shape != (n,):
        raise ValueError(f"{n} points need as many labels and classes")
    if given.min() < 0 or given.max() >= n_classes:
        raise ValueError(f"classes must be numbers from 0 to {n_classes - 1}")
    if label.min() < 0:
        raise ValueError("every record needs a group: labels from 0")
    sizes = np.bincount(label)
    if sizes.min() < k:
        raise ValueError(f"group {int(sizes.argmin())} has {sizes.min()} records, fewer than {k}")
    _, kind = np.unique(given, return_inverse=True)
    return label, kind.reshape(-1).astype(np.int64)
