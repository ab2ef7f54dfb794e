"""Local suppression to k: take out the cheapest cells that leave no record alone.

There are two readings of a suppressed cell, and so two problems.

*category*: what is published in place of a value is a value of its own, and every published record
must occur at least k times. To find the least number of cells is NP-hard (Meyerson & Williams 2004,
PODS; Aggarwal et al. 2005, ICDT); this is a construction followed by local search. Sets of columns
are taken from the cheapest to the dearest, those of about the same cost in the order of how many
records they help. First, k or more records that still need it and agree on the other columns form
a group. Then groups that fall short are filled up with records that their own classes can spare,
where that is cheaper than one more column for those who wait. Last, records move to cheaper groups
and form new ones as long as the total falls. Every group always keeps at least k members.

*wildcard*: a suppressed or missing cell matches every value, as sdcMicro reads it (Templ, Kowarik &
Meindl 2015, Journal of Statistical Software 67(4)), and every record must match at least k, itself
included. `sfumato.kernels.suppression._wildcard` says how, and what the reading is worth.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.suppression._groups import MASK, hopeful, paid, settle, start
from sfumato.kernels.suppression._moves import sweep
from sfumato.kernels.suppression._subsets import (
    Floats,
    bands,
    cost_of,
    covered,
    keep_of,
    subsets_are_complete,
    subsets_to_try,
)
from sfumato.kernels.suppression._wildcard import suppress_by_match
from sfumato.kernels.suppression.matches import Ints, Mask, Packed, as_codes, as_mask, pack

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
    already: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    reading: Literal["category", "wildcard"] = "category",
    mark: Literal["missing", "own"] = "missing",
    rng_order: ArrayLike | None = None,
) -> Mask:
    """Which cells to suppress, bool (n, d), so that every record is k-anonymous at little cost.

    `costs` is what a suppressed cell of each column costs (1 unless given); `weights` multiplies it
    by record. Cells that are `missing`, or suppressed `already`, cost nothing. Records and columns
    that come first win ties; `rng_order`, a permutation of the records, makes others come first.

    In the reading "category", `mark` says what is published. With "missing", a suppressed cell
    looks like a missing one. With "own", it looks like nothing else; a missing cell then sets its
    record apart from suppressed ones, so that some missing cells are marked (True) too. Only there
    is a missing cell ever True; one that is suppressed already never is.

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
    nothing = np.zeros(table.shape, dtype=bool)
    absent = nothing if missing is None else as_mask(missing, table.shape, "missing")
    marked = nothing if already is None else as_mask(already, table.shape, "already")
    if reading not in ("category", "wildcard") or mark not in ("missing", "own"):
        raise ValueError(f"unknown reading {reading!r} or mark {mark!r}")
    if reading == "wildcard" or mark == "missing":
        # Both look and match alike.
        absent, marked = nothing, absent | marked
    if rng_order is None:
        return _suppress(table, absent, marked, k, price, weight, reading == "wildcard")
    order = np.asarray(rng_order)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError("rng_order must be a permutation of the records")
    suppressed = np.empty(table.shape, dtype=bool)
    suppressed[order] = _suppress(
        table[order], absent[order], marked[order], k, price, weight[order], reading == "wildcard"
    )
    return suppressed


def _suppress(
    codes: NDArray[np.integer],
    absent: Mask,
    marked: Mask,
    k: int,
    costs: Floats,
    weight: Floats,
    by_match: bool,
) -> Mask:
    """`marked` cells are suppressed and stay so; `absent` ones have a value that costs nothing."""
    bit = np.int64(1) << np.arange(codes.shape[1])
    must: Ints = marked @ bit
    if by_match:
        found = suppress_by_match(pack(codes, marked), must, k, costs, weight)
    else:
        if absent.any():
            codes = np.where(absent, np.uint64(0), codes.astype(np.uint64) + np.uint64(1))
        free: Ints = (absent | marked) @ bit
        found = _by_class(pack(codes, marked), free, must, k, costs, weight)
    return (found & ~must)[:, None] & bit != 0


def _positive(values: ArrayLike | None, count: int, what: str) -> Floats:
    if values is None:
        return np.ones(count)
    # A copy: a read-only or strided array would have the kernels compiled anew.
    found = np.array(values, dtype=np.float64)
    if found.shape != (count,) or not np.all((found > 0) & np.isfinite(found)):
        raise ValueError(f"{what} must be {count} positive, finite numbers")
    return found


def _by_class(
    packed: Packed, missing: Ints, must: Ints, k: int, costs: Floats, weight: Floats
) -> Ints:
    """The mask of each record under the reading "category"."""
    state = start(packed, missing, must, k, costs, weight)
    if state.used[0] == 0:
        return must
    masks = subsets_to_try(packed, must, state.limbo, k, costs)
    keep = {mask: keep_of(packed, mask) for mask in masks}
    slack = 1e-12 * float(costs.sum() * weight.max())
    dearest = float(costs.sum())
    runs = bands(masks, costs)
    # The empty set helps nobody who is still in limbo.
    for run, after in zip(runs[1:], [*runs[2:], []], strict=True):
        limbo = state.limbo
        if not limbo.size:
            break
        if len(run) > 1:
            helped = {m: covered(packed.words, must, limbo, m, keep[m], k) for m in run}
            run = sorted(run, key=lambda m: -helped[m] / cost_of(costs, m))
        for mask in run:
            sweep(state, state.limbo, mask, keep[mask], k, False, dearest, slack)
        for mask in run if after else []:
            gap = cost_of(costs, after[0]) - cost_of(costs, mask)
            sweep(state, state.limbo, mask, keep[mask], k, True, gap, slack)
    for record in state.limbo:
        settle(state, int(record), np.array(masks), k)
    # Added up in order: a pairwise sum could end the search a round sooner or later.
    total = float(np.cumsum(paid(state) * weight[state.active])[-1])
    for _ in range(ROUNDS):
        change, asked = 0.0, hopeful(state)
        for mask in masks:
            # Only the empty set may please those who pay little: they go home.
            rows = asked if mask else state.active.copy()
            change += sweep(state, rows, mask, keep[mask], k, True, 0.0, slack)
        if change >= -SMALL_GAIN * total:
            break
        total += change
    return state.groups[MASK, state.group]
