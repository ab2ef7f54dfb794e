"""Local suppression to k: take out the cheapest cells that leave no record alone.

Two readings of a suppressed cell, and so two problems.

*category*: what is published in place of the value is a value of its own. Every published record must
occur at least k times. To find the least number of cells is NP-hard (Meyerson & Williams 2004, PODS;
Aggarwal et al. 2005, ICDT); this is a construction followed by local search. Sets of columns are
taken from the cheapest to the dearest, those of about the same cost in the order of how many records
they help: first k or more records that still need it and agree on the other columns form a group;
then groups that fall short are filled up with records that their own classes can spare, where that
is cheaper than suppressing one more column in those who wait. Last, records move to cheaper groups
and form new ones as long as the total falls, and every group keeps at least k members.

*wildcard*: a suppressed or missing cell matches every value, as sdcMicro reads it (Templ, Kowarik &
Meindl 2015, Journal of Statistical Software 67(4)). Every record must match at least k. See
`sfumato.kernels._suppression_wildcard`.
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels._suppression_groups import (
    Floats,
    State,
    covered,
    hopeful,
    settle,
    sweep,
    total_cost,
)
from sfumato.kernels.matches import Ints, Mask, Packed, as_codes, as_mask, label, pack

MOST_COLUMNS = 62
"""a set of columns is one signed 64-bit number"""
WORK = 500_000_000
"""sets of columns times records in need that are looked at before the search is narrowed"""
ROUNDS = 8
"""the most rounds of local search"""
SMALL_GAIN = 1e-4
"""a round of local search that saves less than this share of the cost is the last"""


def local_suppression(
    codes: ArrayLike,
    k: int,
    costs: ArrayLike | None = None,
    *,
    missing: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    reading: Literal["category", "wildcard"] = "category",
    mark: Literal["missing", "own"] = "missing",
    rng_order: ArrayLike | None = None,
) -> Mask:
    """Which cells to suppress, bool (n, d), so that every record is k-anonymous at little cost.

    `costs` is what a suppressed cell of each column costs (1 unless given), `weights` multiplies it by
    record. Cells that are `missing` cost nothing and are never suppressed. Records and columns that
    come first win ties; `rng_order`, a permutation of the records, makes others come first.

    In the reading "category", `mark` says what is published: with "missing" a suppressed cell looks
    like a missing one; with "own" it looks like nothing else, and since a missing cell then tells its
    record from the suppressed ones around it, some missing cells are marked (True) as well, at no cost.

    >>> local_suppression([[1, 1], [1, 2], [1, 1], [1, 1]], k=2).astype(int)
    array([[0, 1],
           [0, 1],
           [0, 0],
           [0, 0]])
    """
    table = as_codes(codes)
    n, d = table.shape
    if k < 1 or n < k:
        raise ValueError(f"{n} records cannot be made {k}-anonymous: k must lie between 1 and {n}")
    if d > MOST_COLUMNS:
        raise ValueError(f"{d} columns are too many: local suppression takes up to {MOST_COLUMNS}")
    price = _positive(costs, d, "costs")
    weight = _positive(weights, n, "weights")
    gone = (
        np.zeros(table.shape, dtype=bool)
        if missing is None
        else as_mask(missing, table.shape, "missing")
    )
    if reading not in ("category", "wildcard") or mark not in ("missing", "own"):
        raise ValueError(f"unknown reading {reading!r} or mark {mark!r}")
    order = np.arange(n) if rng_order is None else np.asarray(rng_order)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError("rng_order must be a permutation of the records")
    masks = gone[order] @ (np.int64(1) << np.arange(d))
    if reading == "wildcard":
        packed = pack(table[order], gone[order])
        raise NotImplementedError
    elif mark == "own":
        distinct = np.where(gone[order], 0, table[order].astype(np.uint64) + np.uint64(1))
        found = _by_class(pack(distinct), masks, np.zeros_like(masks), k, price, weight[order])
    else:
        packed = pack(table[order], gone[order])
        found = _by_class(packed, masks, masks, k, price, weight[order])
    suppressed = np.empty(table.shape, dtype=bool)
    suppressed[order] = (found[:, None] >> np.arange(d)) & 1
    return suppressed if mark == "own" else suppressed & ~gone


def _positive(values: ArrayLike | None, count: int, what: str) -> Floats:
    if values is None:
        return np.ones(count)
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (count,) or not np.all((found > 0) & np.isfinite(found)):
        raise ValueError(f"{what} must be {count} positive, finite numbers")
    return found


def cheapest_subsets(costs: Floats, most: int) -> list[int]:
    """The `most` cheapest sets of columns, as masks, in order of cost, then of their number.

    >>> cheapest_subsets(np.array([1.0, 5.0, 2.0]), 5)
    [0, 1, 4, 5, 2]
    """
    ranked = np.argsort(costs, kind="stable")
    found = [0]
    # Each set has one parent: drop its dearest column, or exchange it for the next cheaper one.
    waiting: list[tuple[float, int, int]] = [(float(costs[ranked[0]]), 1 << int(ranked[0]), 0)]
    while waiting and len(found) < most:
        cost, mask, last = heapq.heappop(waiting)
        found.append(mask)
        if last + 1 < costs.size:
            here, there = int(ranked[last]), int(ranked[last + 1])
            grown = mask | (1 << there)
            heapq.heappush(waiting, (cost + float(costs[there]), grown, last + 1))
            swapped = cost - float(costs[here]) + float(costs[there])
            heapq.heappush(waiting, (swapped, grown & ~(1 << here), last + 1))
    return found


def subsets_are_complete(records: int, columns: int) -> bool:
    """Whether local suppression tries every set of columns for so many records in need."""
    return (1 << columns) * records <= WORK


def _subsets(state: State, packed: Packed, k: int) -> list[int]:
    """The sets of columns to try; where they are too many, the cheapest ones and a greedy descent."""
    costs, needy = state.costs, state.active[: state.used[0]]
    d = costs.size
    if subsets_are_complete(needy.size, d):
        return cheapest_subsets(costs, 1 << d)
    budget = max(WORK // needy.size, d * d)
    patterns, counts = np.unique(state.must[needy], return_counts=True)
    cheap = cheapest_subsets(costs, budget)
    tried = {(1 << d) - 1}
    for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True):
        share = max(budget * count // needy.size, d + 1)
        tried.update(mask | pattern for mask in cheap[:share])
    mask = 0
    while mask != (1 << d) - 1:
        steps = [mask | (1 << j) for j in range(d) if not (mask >> j) & 1]
        tried.update(steps)
        helped = [
            covered(packed.words, state.must, needy, step, _keep(packed, step), k) / _cost(costs, step)
            for step in steps
        ]
        mask = steps[int(np.argmax(helped))]
    return sorted(tried, key=lambda mask: (_cost(costs, mask), mask))


def _keep(packed: Packed, mask: int) -> NDArray[np.uint64]:
    return packed.keep((mask >> np.arange(len(packed.fields))) & 1 == 1)


def _cost(costs: Floats, mask: int) -> float:
    return float(sum(cost for j, cost in enumerate(costs.tolist()) if (mask >> j) & 1))


def bands(masks: list[int], costs: Floats) -> list[list[int]]:
    """Sets of columns, cheapest first, in runs within which the cost rises by less than any one column."""
    found: list[list[int]] = []
    width, limit = float(costs.min()) * (1 - 1e-9), -1.0
    for mask in masks:
        cost = _cost(costs, mask)
        if cost > limit:
            found.append([])
            limit = cost + width
        found[-1].append(mask)
    return found


def _by_class(packed: Packed, missing: Ints, must: Ints, k: int, costs: Floats, weight: Floats) -> Ints:
    """The mask of each record under the reading "category"."""
    state = _start(packed, missing, must, k, costs, weight)
    if state.used[0] == 0:
        return must
    masks = _subsets(state, packed, k)
    keep = {mask: _keep(packed, mask) for mask in masks}
    slack = 1e-12 * float(costs.sum() * weight.max())
    dearest = float(costs.sum())
    runs = bands(masks, costs)
    for run, after in zip(runs, [*runs[1:], []], strict=True):
        limbo = _limbo(state)
        if not limbo.size:
            break
        if len(run) > 1:
            helped = {m: covered(packed.words, must, limbo, m, keep[m], k) / _cost(costs, m) for m in run}
            run = sorted(run, key=lambda m: -helped[m])
        for mask in run:
            sweep(state, _limbo(state), mask, keep[mask], k, False, dearest, slack)
        for mask in run if after else []:
            gap = _cost(costs, after[0]) - _cost(costs, mask)
            sweep(state, _limbo(state), mask, keep[mask], k, True, gap, slack)
    for record in _limbo(state):
        settle(state, record, k)
    total = total_cost(state)
    for _ in range(ROUNDS):
        change, asked = 0.0, hopeful(state)
        for mask in masks:
            # Only the empty set may please those who pay little: they go home.
            rows = asked if mask else state.active[: state.used[0]].copy()
            change += sweep(state, rows, mask, keep[mask], k, True, 0.0, slack)
        if change > -SMALL_GAIN * total:
            break
        total += change
    found: Ints = state.mask[state.group]
    return found


def _limbo(state: State) -> Ints:
    active = state.active[: state.used[0]]
    return active[state.group[active] < 0]


def _start(packed: Packed, missing: Ints, must: Ints, k: int, costs: Floats, weight: Floats) -> State:
    """Classes of k records and more stay as they are; all other records are in limbo."""
    n = len(packed.words)
    everything = packed.keep(np.zeros(len(packed.fields), dtype=bool))
    labels, count = label(packed.words, np.arange(n), everything)
    sizes = np.bincount(labels, minlength=count)
    kept = sizes >= k
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    group = number[labels]
    rest = np.flatnonzero(group >= 0)
    reserve = rest[np.lexsort((rest, weight[rest], group[rest]))]
    groups, room = int(kept.sum()), n // k + 1
    size, mask, begin, end, free = (np.zeros(room, np.int64) for _ in range(5))
    sample = np.zeros((room, packed.words.shape[1]), np.uint64)
    size[:groups] = sizes[kept]
    end[:groups] = np.cumsum(size[:groups])
    begin[:groups] = end[:groups] - size[:groups]
    member = reserve[begin[:groups]]
    mask[:groups] = must[member]
    sample[:groups] = packed.words[member]
    is_active = group < 0
    active = np.zeros(n, np.int64)
    needy = np.flatnonzero(is_active)
    active[: needy.size] = needy
    used = np.array([needy.size, groups, 0], np.int64)
    return State(
        packed.words, packed.fields, costs, weight, missing, must, group, active, is_active,
        size, mask, sample, reserve, begin, end, free, used,
    )
