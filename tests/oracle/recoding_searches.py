"""k-member, clustering by the certainty penalty, and the cost of a partition, as they are defined.

Only `Poset.lub` and `Poset.measure` say what a group costs; everything is looked at again each
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.cheap_groups import Priced
from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.data.table import Table
from sfumato.kernels.joins.prices import WHOLE, in_units
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Partitioner
from sfumato.release.plan.step import Step
from sfumato.rng import stream

Rows = Sequence[int]
Cost = Callable[[Rows], int]
"""What one record of a group costs, in the kernel's units."""

CITIES = [["Rome", "Italy"], ["Milan", "Italy"], ["Lyon", "France"], ["Paris", "France"]]
CITIES = [[*row, "*"] for row in [*CITIES, ["Nice", "France"], ["Bern", "Swiss"]]]


@st.composite
def tables(draw: st.DrawFn, most: int = 24) -> Table:
    """A hierarchy, an interval and a set of values, with and without missing ones."""
    n = draw(st.integers(8, most))

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    gap = draw(st.sampled_from([[], [None]]))
    data = {
        "city": pl.Series(column([row[0] for row in CITIES]), dtype=pl.String),
        "age": pl.Series(column([20, 23, 31, 40, 57, *gap]), dtype=pl.Int64),
        "job": pl.Series(column(["nurse", "cook", "smith", "clerk", *gap]), dtype=pl.String),
    }
    given = pl.DataFrame(data)
    return sf.table(given, quasi=list(data), posets={"city": Hierarchy(levels=CITIES)})


def priced(table: Table, importance: dict[str, float] | None = None) -> Priced:
    """The table as the kernels see it."""
    found = cell_costs(Matrix(table, table.schema.quasi), importance=importance)
    return Priced(table, in_units(found.joins), found.states)


def cost_of(table: Table, importance: dict[str, float] | None = None) -> Cost:
    """What one record of a group costs, by the posets' own words."""
    matrix = Matrix(table, table.schema.quasi)
    weight = [(importance or {}).get(name, 1.0) for name in matrix.names]
    columns = [table[name].to_list() for name in matrix.names]
    posets = [matrix.coded(j).poset for j in range(len(columns))]

    def cost(rows: Rows) -> int:
        total = 0
        for values, poset, w in zip(columns, posets, weight, strict=True):
            here = {values[i] for i in rows}
            present = sorted(here - {None})
            if not present:
                share = 0.0
            elif None in here:
                share = 1.0
            else:
                share = poset.measure(poset.lub(present)) if len(present) > 1 else 0.0
            total += int(share * w / sum(weight) * WHOLE + 0.5)
        return total

    return cost


def penalty(cost: Cost, groups: Sequence[Rows]) -> int:
    """The cost of a partition."""
    return sum(len(rows) * cost(rows) for rows in groups)


def total(cost: Cost, labels: np.ndarray) -> int:
    """The same, from labels."""
    return penalty(cost, [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)])


def _equals_together(states: np.ndarray) -> list[int]:
    """The rows, each right behind the first one that is equal to it."""
    keys = [tuple(row) for row in states.tolist()]
    return sorted(range(len(keys)), key=lambda i: (keys.index(keys[i]), i))


def k_member(cost: Cost, states: np.ndarray, k: int, first: int) -> list[list[int]]:
    """Byun et al.: farthest seeds, cheapest growth, leftovers where they cost least."""
    left = _equals_together(states)
    keys = states.tolist()
    seed = next(i for i in left if keys[i] == keys[first])
    groups: list[list[int]] = []
    while len(left) >= k:
        if groups:
            last = seed
            seed = max(left, key=lambda i: cost([last, i]))
        group = [seed]
        left.remove(seed)
        while len(group) < k:
            best = min(left, key=lambda i: cost([*group, i]))
            group.append(best)
            left.remove(best)
        groups.append(group)
    for i in left:
        raised = [penalty(cost, [[*g, i]]) - penalty(cost, [g]) for g in groups]
        groups[raised.index(min(raised))].append(i)
    return groups


def cut_in_two(cost: Cost, rows: Rows, room: int, sweeps: int) -> tuple[list[int], list[int]]:
    """Around a far-apart pair."""
    u, v, widest = rows[0], rows[0], -1
    for _ in range(sweeps):
        others = [i for i in rows if i != u]
        best = max(others, key=lambda i: cost([u, i]))
        if cost([u, best]) <= widest:
            break
        u, v, widest = best, u, cost([u, best])
    one, two = [u], [v]
    for i in rows:
        if i in (u, v):
            continue
        to_one = penalty(cost, [[*one, i]]) - penalty(cost, [one])
        to_two = penalty(cost, [[*two, i]]) - penalty(cost, [two])
        second = to_two < to_one or (to_two == to_one and len(two) < len(one))
        if len(one) >= room or (second and len(two) < room):
            two.append(i)
        else:
            one.append(i)
    return sorted(one, key=rows.index), sorted(two, key=rows.index)


def cut_large(cost: Cost, groups: list[list[int]], k: int) -> list[list[int]]:
    """Every group of 2k or more in parts; the first part keeps the group's place."""
    kept, more = [], []
    for rows in groups:
        stack, parts = [rows], []
        while stack:
            part = stack.pop()
            if len(part) < 2 * k:
                parts.append(part)
                continue
            one, two = cut_in_two(cost, part, len(part) - k, 6)
            stack += [two, one]
        kept.append(parts[0])
        more += parts[1:]
    return kept + more


def bottom_up(cost: Cost, states: np.ndarray, k: int) -> list[list[int]]:
    """Xu et al.: every small group takes in the one that raises the penalty least."""
    keys = [tuple(row) for row in states.tolist()]
    groups = [[i for i, key in enumerate(keys) if key == one] for one in dict.fromkeys(keys)]
    while True:
        groups = cut_large(cost, groups, k)
        if len(groups) == 1 or min(map(len, groups)) >= k:
            return groups
        for g in range(len(groups)):
            others = [h for h in range(len(groups)) if h != g and groups[h]]
            if not 0 < len(groups[g]) < k or not others:
                continue

            raised = [
                penalty(cost, [groups[g] + groups[h]]) - penalty(cost, [groups[g], groups[h]])
                for h in others
            ]
            best = others[raised.index(min(raised))]
            groups[g] = sorted(groups[g] + groups[best])
            groups[best] = []
        groups = [rows for rows in groups if rows]


def top_down(cost: Cost, order: Rows, k: int, sweeps: int) -> list[list[int]]:
    """Xu et al.: divide while a side keeps k; then join or fill up what is too small."""
    groups, stack = [], [list(order)]
    while stack:
        rows = stack.pop()
        if len(rows) > k:
            one, two = cut_in_two(cost, rows, len(rows), sweeps)
            if max(len(one), len(two)) >= k:
                stack += [two, one]
                continue
        groups.append(rows)
    for g in range(len(groups)):
        if not 0 < len(groups[g]) < k:
            continue
        ways: list[tuple[int, list[tuple[int, list[int]]]]] = []
        alive = [h for h in range(len(groups)) if h != g and groups[h]]
        for h in alive:
            before = penalty(cost, [groups[g], groups[h]])
            both = groups[h] + groups[g]
            ways.append((penalty(cost, [both]) - before, [(h, both), (g, [])]))
        for h in alive:
            if len(groups[h]) < 2 * k - len(groups[g]):
                continue
            mine, theirs = list(groups[g]), list(groups[h])
            while len(mine) < k:
                best = min(theirs, key=lambda i: cost([*mine, i]))
                mine.append(best)
                theirs.remove(best)
            lent = [i for i in groups[h] if i not in theirs]
            before = penalty(cost, [groups[g], groups[h]])
            after = penalty(cost, [mine, theirs])
            ways.append((after - before, [(g, groups[g] + lent), (h, theirs)]))
        if not ways:
            break
        for h, rows in min(ways, key=lambda way: way[0])[1]:
            groups[h] = rows
    place = {i: p for p, i in enumerate(order)}
    kept = [sorted(rows, key=place.__getitem__) for rows in groups if rows]
    return cut_large(cost, kept, k)


def as_sets(labels: np.ndarray) -> set[frozenset[int]]:
    """A partition without names or order."""
    return {frozenset(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels)}


def sets_of(groups: Sequence[Rows]) -> set[frozenset[int]]:
    """The same of lists."""
    return {frozenset(map(int, rows)) for rows in groups}


def best_change(cost: Cost, groups: list[list[int]], k: int) -> int | None:
    """The least change that any move or swap between the groups makes; None without one."""
    changes = []
    for a, b in combinations(range(len(groups)), 2):
        before = penalty(cost, [groups[a], groups[b]])
        one, two = groups[a], groups[b]
        for x, y in ((one, two), (two, one)):
            if len(x) > k and len(y) < 2 * k - 1:
                changes += [penalty(cost, [[r for r in x if r != i], [*y, i]]) - before for i in x]
        for i in one:
            for r in two:
                new_one = [*(m for m in one if m != i), r]
                new_two = [*(m for m in two if m != r), i]
                changes.append(penalty(cost, [new_one, new_two]) - before)
    return min(changes, default=None)


ADULT = [
    *("sex", "age", "race", "marital-status"),
    *("education", "native-country", "workclass", "occupation"),
]


def adult(folder: Path, rows: int | None = None) -> Table:
    """Adult with its hierarchies, or its first rows."""
    posets = {name: Hierarchy(path=str(folder / f"adult_hierarchy_{name}.csv")) for name in ADULT}
    table = sf.read(folder / "adult.csv", quasi=ADULT, confidential="salary-class", posets=posets)
    return table if rows is None else table.take(np.arange(rows))


def ncp(table: Table, search: Partitioner, seed: int) -> float:
    """What a search leaves open, counted on what is published by the measure."""
    outcome = Step(search).run(table, stream(seed, 1, search.name))
    assert outcome.partition is not None
    assert outcome.partition.sizes.min() >= 5
    return float(sf.measure("ncp", table, outcome.table))
