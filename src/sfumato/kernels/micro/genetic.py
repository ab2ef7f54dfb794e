"""A genetic search for partitions into groups of k to 2k - 1 records.

A grouping genetic algorithm (Falkenauer 1998, "Genetic Algorithms and Grouping Problems"): what is
inherited is whole groups, never single labels. For microaggregation genetic algorithms were
proposed by Domingo-Ferrer & Mateo-Sanz (2002) and Solanas et al. (2006).

- An *individual* is a partition; its fitness is its within-group sum of squares (SSE).
- The *population* starts as MDAV's partition and copies of it that were mutated all over.
- *Crossover*: two partitions fall into the smallest sets of records that are unions of groups in
  both. Each such set is a problem of its own, and the child takes its groups from the parent that
  solves it better: no group is broken and nothing needs repair. (This is what the partition
  crossover of Whitley, Hains & Howe 2009 does for tours.)
- *Mutation*: two or three neighbouring groups are pooled and cut again across a line between two
  of their records drawn at random. A child is mutated in a few places whatever it costs, then three
  times over where it helps, and is crossed with its first parent once more: this takes back, set
  by set, what did not pay.
- *Elitism*: a child replaces its first parent only if it is better, so that no individual ever gets
  worse, and the best of them is never worse than MDAV.

A generation takes time in proportion to records, coordinates and individuals.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.mdav import mdav
from sfumato.kernels.micro.size_repair import as_points, best_cut, sse_of
from sfumato.kernels.neighbours.blocks import distinct_rows, ranked
from sfumato.kernels.random import below
from sfumato.progress import report

PLACES = 8  # nearest places from which a group to be pooled with is drawn
FREE = 16  # one free mutation for so many groups
HELPFUL = 3  # rounds of mutations that are kept only where they help


@njit(cache=True, nogil=True, inline="always")
def _by_group(label: Ints, groups: int) -> tuple[Ints, Ints]:
    """Rows in the order of their groups, and where each group starts."""
    starts = np.zeros(groups + 1, np.int64)
    for i in range(label.size):
        starts[label[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    at = starts[:-1].copy()
    order = np.empty(label.size, np.int64)
    for i in range(label.size):
        order[at[label[i]]] = i
        at[label[i]] += 1
    return order, starts


def losses(points: Floats, label: Ints, groups: int) -> Floats:
    """SSE of each group."""
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(label, minlength=groups))[:-1])
    return np.array([sse_of(points, rows) for rows in parts])


@njit(cache=True, nogil=True, inline="always")
def _root(parent: Ints, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def cross(
    one: Ints, one_loss: Floats, other: Ints, other_loss: Floats
) -> tuple[Ints, Floats]:  # fmt: skip
    """The child of two partitions, and the SSE of its groups.

    Groups of both are nodes, joined where they share a record; in each connected part the child
    has the groups of the parent with less SSE there, of equals those of the first.
    """
    a, b = one_loss.size, other_loss.size
    parent = np.empty(a + b, np.int64)
    for g in range(a + b):
        parent[g] = g
    for i in range(one.size):
        x, y = _root(parent, one[i]), _root(parent, a + other[i])
        if x != y:
            parent[max(x, y)] = min(x, y)
    gain = np.zeros(a + b)
    for g in range(a + b):
        gain[_root(parent, g)] += one_loss[g] if g < a else -other_loss[g - a]
    name, loss = np.full(a + b, -1, np.int64), np.empty(a + b)
    child = np.empty(one.size, np.int64)
    count = 0
    for i in range(one.size):
        # Where both have the very same groups rounding may not make a difference of it.
        g = a + other[i] if gain[_root(parent, one[i])] > 0 else one[i]
        if name[g] < 0:
            name[g] = count
            loss[count] = one_loss[g] if g < a else other_loss[g - a]
            count += 1
        child[i] = name[g]
    return child, loss[:count].copy()


@njit(cache=True, nogil=True)
def _regroup(points: Floats, rows: Ints, k: int, state: NDArray[np.uint64], part: Ints) -> int:
    """Cut `rows` into parts of k to 2k - 1, numbered in `part`; returns how many.

    Each cut is the best across the line between two of the records drawn at random.
    """
    m = rows.size
    place = np.empty(m, np.int64)
    for i in range(m):
        place[i] = i
    ends = np.empty(m // k + 1, np.int64)
    low, parts, depth = 0, 0, 1
    ends[0] = m
    while depth > 0:
        high = ends[depth - 1]
        if high - low < 2 * k:
            for i in range(low, high):
                part[place[i]] = parts
            parts += 1
            low = high
            depth -= 1
            continue
        some = place[low:high]
        r = points[rows[some[below(state, some.size)]]]
        s = points[rows[some[below(state, some.size)]]]
        key = np.empty(some.size)
        for i in range(some.size):
            x, to_r, to_s = points[rows[some[i]]], 0.0, 0.0
            for j in range(x.size):
                to_r += (x[j] - r[j]) * (x[j] - r[j])
                to_s += (x[j] - s[j]) * (x[j] - s[j])
            key[i] = to_r - to_s
        order = ranked(key)
        for i in range(some.size):
            order[i] = some[order[i]]
        for i in range(some.size):
            some[i], order[i] = order[i], rows[order[i]]
        at, _ = best_cut(points, order, k)
        ends[depth] = low + at
        depth += 1
    return parts


@njit(cache=True, nogil=True)
def mutate(
    points: Floats, label: Ints, loss: Floats, near: Ints, member: Ints, rows_at: Ints,
    at: Ints, k: int, times: int, always: bool, state: NDArray[np.uint64],
) -> tuple[Ints, Floats]:  # fmt: skip
    """Pool and cut again some neighbouring groups, each group once at most.

    `near` holds the nearest other places of each place, `member` the place of each record, and
    rows_at[at[p]:at[p + 1]] the records of place p. Returns the labels, which are changed, and the
    SSE of all groups; a group may have become empty.
    """
    groups = loss.size
    order, starts = _by_group(label, groups)
    touched = np.zeros(groups, np.bool_)
    more = np.empty(groups + times * 3)
    for g in range(groups):
        more[g] = loss[g]
    pool, some = np.empty(6 * k, np.int64), np.empty(6 * k, np.int64)
    part, chosen = np.empty(6 * k, np.int64), np.empty(8, np.int64)
    fresh = groups
    for _ in range(times):
        two = np.int64(2)  # a literal would be compiled by itself
        wanted = 2 + below(state, two)  # type: ignore[arg-type]
        row = below(state, label.size)
        count = 0
        for _attempt in range(2 * wanted):
            g = label[row]
            is_new = g < groups and not touched[g]
            for c in range(count):
                is_new = is_new and g != chosen[c]
            if is_new:
                chosen[count] = g
                count += 1
            if count == 0 or count == wanted:
                break
            # A neighbour of a member of the first group.
            first = chosen[0]
            row = order[starts[first] + below(state, starts[first + 1] - starts[first])]
            place = near[member[row], below(state, near.shape[1])]
            row = rows_at[at[place] + below(state, at[place + 1] - at[place])]
        if count < 2:
            continue
        size, before = 0, 0.0
        for c in range(count):
            g = chosen[c]
            before += more[g]
            for i in range(starts[g], starts[g + 1]):
                pool[size] = order[i]
                size += 1
        rows = pool[:size]
        parts = _regroup(points, rows, k, state, part)
        now, after = 0.0, np.empty(parts)
        for p in range(parts):
            count_in = 0
            for i in range(size):
                if part[i] == p:
                    some[count_in] = rows[i]
                    count_in += 1
            after[p] = sse_of(points, some[:count_in])
            now += after[p]
        if not always and not now < before:
            continue
        for c in range(count):
            touched[chosen[c]] = True
            more[chosen[c]] = 0.0
        for p in range(parts):
            if p >= count:
                chosen[p] = fresh
                fresh += 1
            more[chosen[p]] = after[p]
        for i in range(size):
            label[rows[i]] = chosen[part[i]]
    return label, more[:fresh].copy()


class _Places:
    """Distinct points, the nearest others of each, and the records at each."""

    def __init__(self, x: Floats) -> None:
        bits = np.ascontiguousarray(x + 0.0).view(np.int64)  # -0.0 is 0.0
        first, self.member = distinct_rows(bits, np.empty((len(x), 0), np.int32))
        self.count = first.size
        self.rows = np.argsort(self.member, kind="stable")
        self.at = np.append(0, np.cumsum(np.bincount(self.member)))
        wanted = min(PLACES + 1, self.count)
        _, near = cKDTree(x[first]).query(x[first], wanted, workers=-1)
        self.near = np.ascontiguousarray(near.reshape(self.count, wanted)[:, 1:])


def genetic(
    points: ArrayLike, k: int, population: int, generations: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[float]]:
    """Labels 0..g-1 of the best partition found, and the least SSE of each generation.

    The first figure is that of MDAV, from which the search starts.

    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0], [12.0]])
    >>> genetic(x, 3, 4, 5, np.random.default_rng(1))[0].tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    x = as_points(points, k)
    start = mdav(x, np.empty((len(x), 0), np.int32), [], k)
    loss = losses(x, start, int(start.max()) + 1)
    history = [float(loss.sum())]
    places = _Places(x)
    # Where all records are alike, what is left of the SSE is rounding.
    if loss.size == 1 or history[0] == 0.0 or places.count == 1:
        return start, history
    state = rng.integers(0, 2**64, 1, dtype=np.uint64)

    def mutant(label: Ints, loss: Floats, times: int, always: bool) -> tuple[Ints, Floats]:
        return mutate(
            x, label.copy(), loss, places.near, places.member, places.rows, places.at,
            k, times, always, state,
        )  # fmt: skip

    living = [(start, loss)]
    living += [mutant(start, loss, loss.size, True) for _ in range(population - 1)]
    for generation in range(generations):
        for i in range(population):
            label, loss = living[i]
            partner = int(rng.integers(population - 1))
            other = living[partner + (partner >= i)]
            bred = cross(label, loss, *other)
            groups = bred[1].size
            child = mutant(*bred, 1 + groups // FREE, True)
            for _ in range(HELPFUL):
                child = mutant(*child, 1 + groups // 2, False)
            child = cross(*bred, *child)
            if child[1].sum() < loss.sum():
                living[i] = child
        history.append(float(min(loss.sum() for _, loss in living)))
        report("breeding partitions", generation + 1, generations)
    best = min(living, key=lambda one: float(one[1].sum()))
    return numbered(best[0]), history
