"""Local recoding: groups of k whose least upper bounds cost as little as time allows.

1. Construction: records that agree at a cheap node of the lattice of levels are closed as groups,
   from cheap to dear (`recoding_lattice`); large groups are split, what is left joins the group
   that it burdens least (`recoding_start`).
2. Local search: again and again a few neighbouring groups are broken up, formed anew and polished
   by moves and swaps, with the exact change of the cost; worse ones are kept by chance, ever less
   often (`recoding_steps`).

The groups are dealt out to parts anew in every epoch, by their place in one of many sorted orders,
so that neighbours are mostly in the same part. Parts do not know of each other: threads take them,
and the result depends on the seed and the steps, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Ints
from ..joins.cells import Cells, make_cells
from ..joins.lub import INTERVAL, Joins, States, bounds_of
from ..neighbours.blocks import distinct_rows
from ..threads import cores
from ._lattice import close_groups
from ._levels import Levels, levels
from ._near import nearest, rank_of, sorted_orders
from ._pool import Pool, make_pool
from ._rules import DISTINCT, Rules, make_rules
from ._start import in_order, partition_from, total_cost
from ._steps import POOL, Groups, Rows, anneal
from ._top_down import top_down

NEAR = 16
"""Cheap partners of a distinct record that are kept."""
WINDOW = 8
"""Places to either side that are looked at in a sorted order."""
MOST_ORDERS, FEWEST_ORDERS = 24, 6
PLACES = 2_400_000
"""Places in all the sorted orders together, roughly: large files get fewer of them."""
PART = 7_000
"""Records of a part, at least."""
MOST_PARTS = 64
EPOCH = 5_000
"""Steps of a part in an epoch at most; fewer where it has few records."""
ROOM = 96
"""Records that a pool has room for, at least."""


@dataclass(eq=False)
class Records:
    """The records of a search, the distinct ones among them, and how they are sorted."""

    joins: Joins
    states: States
    k: int
    rules: Rules | None
    seed: int
    places: int
    first: Ints = field(init=False)
    distinct: Ints = field(init=False)
    levels: Levels = field(init=False)
    orders: Rows = field(init=False)

    def __post_init__(self) -> None:
        # Under rules, copies with other confidential values are others.
        codes = (
            np.empty((len(self.states), 0), np.int32) if self.rules is None else self.rules.codes
        )
        self.first, self.distinct = distinct_rows(self.states, codes)
        self.levels = levels(self.joins, self.kinds, self.k, self.seed)
        wanted = self.places // max(self.first.size, 1)
        wanted = min(max(wanted, FEWEST_ORDERS), MOST_ORDERS)
        self.orders = sorted_orders(self.levels, wanted, self.seed)

    @property
    def kinds(self) -> States:
        """The states of the distinct records."""
        return np.ascontiguousarray(self.states[self.first])


def records(
    joins: Joins,
    states: States,
    k: int,
    seed: int = 0,
    rules: Rules | None = None,
    places: int = PLACES,
) -> Records:
    """What construction and search want to know of a table, sorted in so many places in all."""
    if states.shape[0] < k:
        raise ValueError(f"{states.shape[0]} records cannot form a group of k = {k}")
    return Records(joins, np.ascontiguousarray(states), k, rules, seed, places)


def construct(given: Records, go_on: Callable[[int], bool] = lambda left: True) -> Ints:
    """Labels of groups closed at the nodes of the lattice, cheap ones first.

    `go_on(records open)` may end the visits; the rest is then closed where all agree.
    """
    n = given.states.shape[0]
    if given.rules is not None:
        keys = np.ascontiguousarray(given.levels.keys[:, given.distinct])
        found = given.levels._replace(keys=keys)
        group = close_groups(found, np.ones(n, np.int64), given.k, given.rules, go_on)
    else:
        weight = np.bincount(given.distinct)
        group = close_groups(given.levels, weight, given.k, given.rules, go_on)[given.distinct]
    return _from(given, group)


def cut_down(given: Records, *, balanced: bool) -> Ints:
    """Labels of groups cut top down, each keeping the rules, unless all records break them."""
    if given.rules is None:
        raise ValueError("without rules there is nothing to keep: take Mondrian's groups")
    rank = np.array([rank_of(given.levels, j) for j in range(given.states.shape[1])], np.int64)
    rank = np.ascontiguousarray(rank[:, given.distinct])
    return top_down(given.joins, given.states, rank, given.k, given.rules, balanced=balanced)


def split(given: Records, labels: Ints) -> Ints:
    """The groups, those of 2k or more in parts that keep the rules."""
    return _from(given, np.asarray(labels, dtype=np.int64))


def _from(given: Records, labels: Ints) -> Ints:
    place = np.empty(given.first.size, dtype=np.int64)
    place[given.orders[0]] = np.arange(given.first.size)
    return partition_from(
        given.joins, given.states, labels, given.k, given.rules, place[given.distinct], given.seed
    )


@dataclass(eq=False)
class Search:
    """A local search under way."""

    joins: Joins
    cells: Cells
    groups: Groups
    rules: Rules | None
    orders: Rows
    pools: list[Pool]
    k: int
    rng: np.random.Generator
    total: float
    best_total: float
    best: Rows
    steps: int = 0
    kept: int = 0

    @property
    def parts(self) -> int:
        """Parts that the groups are dealt out to."""
        return len(self.pools)


def partners(given: Records, threads: int | None = None) -> Rows:
    """Cheap partners of every distinct record, for `begin`; it can be found during construction."""
    classes = None
    if given.rules is not None:
        codes = given.rules.codes[given.first]
        classes = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)
    return nearest(given.joins, given.kinds, given.orders, NEAR, WINDOW, classes, threads)


def begin(
    given: Records, labels: Ints, threads: int | None = None, near: Rows | None = None
) -> Search:
    """A local search from any partition; groups of 2k or more are split first."""
    n, d = given.states.shape
    labels = _from(given, np.asarray(labels, dtype=np.int64))
    kinds = given.kinds
    near = partners(given, threads) if near is None else near
    names = max(n // given.k, int(labels.max()) + 1) + 1
    parts = 1 << (min(max(n // PART, 1), MOST_PARTS).bit_length() - 1)
    lub, size, cells = bounds_of(given.joins, given.states, labels, names)
    cost = np.where(size > 0, np.cumsum(cells, axis=1)[:, -1], 0.0)
    total = in_order(cost * size)
    order = np.argsort(labels, kind="stable")
    after, first = np.full(n, -1, np.int32), np.full(names, -1, np.int32)
    goes_on = np.diff(labels[order]) == 0
    after[order[:-1][goes_on]] = order[1:][goes_on]
    first[labels[order[::-1]]] = order[::-1]
    groups = Groups(
        states=kinds,
        distinct=given.distinct.astype(np.int32),
        copy_at=np.concatenate(([0], np.cumsum(np.bincount(given.distinct)))).astype(np.int64),
        copy=np.argsort(given.distinct, kind="stable").astype(np.int32),
        near=near,
        label=labels.astype(np.int32),
        after=after,
        first=first,
        size=size,
        cost=cost,
        lub=lub,
        part=np.zeros(names, np.int32),
        free=np.zeros(names, np.int32),
        free_at=np.zeros(parts + 1, np.int64),
        free_count=np.zeros(parts, np.int64),
        active=np.zeros(n, np.int32),
        active_at=np.zeros(parts + 1, np.int64),
    )
    room = max(ROOM, 2 * given.k * POOL) * (1 if given.rules is None else 3)
    most = room // given.k + POOL + 2
    codes = 0 if given.rules is None else given.rules.share.size
    return Search(
        joins=given.joins,
        cells=make_cells(given.joins, parts * most, room),
        groups=groups,
        rules=given.rules,
        orders=given.orders,
        pools=[make_pool(room, most, d, codes, part) for part in range(parts)],
        k=given.k,
        rng=np.random.default_rng([given.seed, 1]),
        total=total,
        best_total=total,
        best=groups.label.copy(),
    )


def _deal(s: Groups, used: Ints, free: Ints, parts: int) -> None:
    """Groups in that order to the parts, free names likewise; records of dear groups are active."""
    each = np.arange(parts + 1)
    use_at, free_at = used.size * each // parts, free.size * each // parts
    s.part[used] = np.repeat(each[:-1], np.diff(use_at))
    s.part[free] = which = np.repeat(each[:-1], np.diff(free_at))
    # A part's stretch has room for all its names; the free ones come first.
    s.free_at[:] = use_at + free_at
    s.free_count[:] = np.diff(free_at)
    s.free[use_at[which] + np.arange(free.size)] = free
    rows = np.flatnonzero(s.cost[s.label] > 0.0)
    part = s.part[s.label[rows]].astype(np.uint8)
    s.active[: rows.size] = rows[np.argsort(part, kind="stable")]
    s.active_at[1:] = np.cumsum(np.bincount(part, minlength=parts))


def epoch_steps(search: Search) -> int:
    """Steps that each part takes in an epoch, unless fewer are wanted."""
    return int(min(max(search.groups.label.size // (4 * search.parts), 200), EPOCH))


def epoch(search: Search, steps: int, heat: float, pool: ThreadPoolExecutor) -> None:
    """Deal out the groups and take `steps` steps in each part.

    `heat` is the mean rise of the cost that a step may keep.
    """
    s, parts = search.groups, search.parts
    used, free = np.flatnonzero(s.size > 0), np.flatnonzero(s.size == 0)
    if parts > 1:
        place = np.empty(s.states.shape[0], dtype=np.int64)
        place[search.orders[search.rng.integers(len(search.orders))]] = np.arange(place.size)
        used = used[np.argsort(place[s.distinct[s.first[used]]], kind="stable")]
        used = np.roll(used, search.rng.integers(used.size))
    _deal(s, used, free, parts)
    seeds = search.rng.integers(2**63, size=parts).astype(np.uint64)
    tasks = [
        pool.submit(
            anneal, search.cells, s, search.pools[p], search.k, p, steps, heat, seeds[p : p + 1],
            search.rules,
        )
        for p in range(parts)
    ]  # fmt: skip
    for task in tasks:
        search.kept += int(task.result()[1])
    search.steps += steps * parts
    # Summed afresh, so that no rounding accumulates.
    search.total = float(np.dot(s.size, s.cost))
    if search.total < search.best_total:
        search.best_total = search.total
        search.best = s.label.copy()


def compile_search(*, ruled: bool) -> None:
    """Compile what a search needs, on a handful of records, before its clock starts."""
    head = np.array([[INTERVAL, 0, 9, 9, 0, 0, 0, 0]])
    joins = Joins(head, np.zeros(1, np.int32), np.append(np.arange(9) / 8, [1.0, 0.0]))
    codes = np.arange(1, 9)
    rules = make_rules(8, [(DISTINCT, 2, codes % 2 + 1)]) if ruled else None
    given = records(joins, (codes << 32 | codes)[:, None], 2, 0, rules)
    if ruled:
        cut_down(given, balanced=False)
    search = begin(given, construct(given))
    total_cost(joins, given.states, best_labels(search))
    with workers(1) as pool:
        epoch(search, 1, 0.1, pool)


def workers(threads: int | None = None) -> ThreadPoolExecutor:
    """Threads for `epoch`; their number never alters the result."""
    return ThreadPoolExecutor(cores(threads))


def best_labels(search: Search) -> Ints:
    """Labels of the cheapest partition so far, numbered without gaps."""
    _, found = np.unique(search.best, return_inverse=True)
    return found.reshape(-1).astype(np.int64)
