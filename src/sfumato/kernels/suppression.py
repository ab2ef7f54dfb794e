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

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels._suppression_groups import State, hopeful, settle, sweep, total_cost
from sfumato.kernels._suppression_subsets import (
    Floats,
    bands,
    cost_of,
    covered,
    keep_of,
    subsets_are_complete,
    subsets_to_try,
)
from sfumato.kernels._suppression_wildcard import suppress_by_match
from sfumato.kernels.matches import Ints, Mask, Packed, as_codes, as_mask, label, pack

__all__ = ["MOST_COLUMNS", "local_suppression", "subsets_are_complete"]

MOST_COLUMNS = 62
"""a set of columns is one signed 64-bit number"""
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
        found = suppress_by_match(packed, k, price, weight[order])
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


def _by_class(packed: Packed, missing: Ints, must: Ints, k: int, costs: Floats, weight: Floats) -> Ints:
    """The mask of each record under the reading "category"."""
    state = _start(packed, missing, must, k, costs, weight)
    if state.used[0] == 0:
        return must
    masks = subsets_to_try(packed, must, _limbo(state), k, costs)
    keep = {mask: keep_of(packed, mask) for mask in masks}
    slack = 1e-12 * float(costs.sum() * weight.max())
    dearest = float(costs.sum())
    runs = bands(masks, costs)
    # The empty set helps nobody who is still in limbo.
    for run, after in zip(runs[1:], [*runs[2:], []], strict=True):
        limbo = _limbo(state)
        if not limbo.size:
            break
        if len(run) > 1:
            helped = {m: covered(packed.words, must, limbo, m, keep[m], k) / cost_of(costs, m) for m in run}
            run = sorted(run, key=lambda m: -helped[m])
        for mask in run:
            sweep(state, _limbo(state), mask, keep[mask], k, False, dearest, slack)
        for mask in run if after else []:
            gap = cost_of(costs, after[0]) - cost_of(costs, mask)
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
