"""What the cells of a cube hold, from its records: sums, numbers of records, largest contributors.

A contributor with a single record lies in one cell of leaves, and is carried up from there with all
that the cell holds. One with several records may lie in two parts of a total, where its amounts add
up: such records are tallied anew for each combination of depths (one depth to a dimension), whose
cells are different ones. They come contributor by contributor, so that a cell has somebody's whole
amount when the next one comes, and nothing is sorted again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...progress import report
from ..arrays import Codes, Floats, Ints
from ..threads import cores

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Records:
    """The records, each with the code of its leaf in every dimension."""

    leaf: Codes
    """int32[dimensions, records]."""
    amount: Floats
    """What each adds; NaN where it is counted and adds nothing."""
    who: Ints
    """The contributor of each record, 0 or more."""
    alone: Ints
    """Records whose contributor has no other ..."""
    shared: Ints
    """... and the others, contributor by contributor."""
    weight: Floats
    """Empty where there are no weights."""
    asked: Floats
    """Empty where nobody could ask."""
    key: Words
    """Random keys; their sums wrap around. Empty where there are none."""


class Tally(NamedTuple):
    """What each cell holds; the parts that the records do not tell are empty."""

    values: Floats
    carry: Floats
    """What rounding took from `values`, while they are added up."""
    frequency: Ints
    keys: Words
    top: Floats
    who: Ints
    weight: Floats
    asked: Floats
    people: Ints
    """How many different contributors."""
    total: Floats


class Busy(NamedTuple):
    """The contributor that each cell is busy with, and its amount so far."""

    who: Ints
    amount: Floats
    size: Floats
    """Of absolute values."""
    weighted: Floats
    """The same, weighted."""
    weights: Floats
    records: Floats
    asked: Floats


def empty_tally(n: int, records: Records, top: int) -> Tally:
    """Nothing yet, for n cells."""
    weighted, asked = n * (records.weight.size > 0), n * (records.asked.size > 0)
    return Tally(
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n * (records.key.size > 0), np.uint64),
        np.zeros((n, top)),
        np.full((n, top), -1, np.int64),
        np.zeros((weighted, top)),
        np.zeros((asked, top)),
        np.zeros(n, np.int64),
        np.zeros(n),
    )


@njit(cache=True, nogil=True)
def _before(amount: float, who: int, other: float, whose: int) -> bool:
    """Whether a contributor stands before another; none at all stands last."""
    return whose < 0 or amount > other or (amount == other and who < whose)


@njit(cache=True, nogil=True)
def _place(t: Tally, cell: int, amount: float, who: int, weight: float, asked: float) -> None:
    """Put a contributor among the largest of a cell, if it is one."""
    at = t.top.shape[1] - 1
    if not _before(amount, who, t.top[cell, at], t.who[cell, at]):
        return
    while at > 0 and _before(amount, who, t.top[cell, at - 1], t.who[cell, at - 1]):
        t.top[cell, at] = t.top[cell, at - 1]
        t.who[cell, at] = t.who[cell, at - 1]
        if t.weight.size > 0:
            t.weight[cell, at] = t.weight[cell, at - 1]
        if t.asked.size > 0:
            t.asked[cell, at] = t.asked[cell, at - 1]
        at -= 1
    t.top[cell, at] = amount
    t.who[cell, at] = who
    if t.weight.size > 0:
        t.weight[cell, at] = weight
    if t.asked.size > 0:
        t.asked[cell, at] = asked


@njit(cache=True, nogil=True)
def _add(t: Tally, cell: int, x: float) -> None:
    """Neumaier (1974): what rounding takes from the sum is kept beside it."""
    old = t.values[cell]
    new = old + x
    t.carry[cell] += (old - new) + x if abs(old) >= abs(x) else (x - new) + old
    t.values[cell] = new


@njit(cache=True, nogil=True)
def _join(t: Tally, into: int, s: Tally, cell: int) -> None:
    """Add what one cell holds to another. No contributor may be in both."""
    t.frequency[into] += s.frequency[cell]
    if t.keys.size > 0:
        t.keys[into] += s.keys[cell]
    if s.people[cell] == 0:
        return
    _add(t, into, s.values[cell])
    t.carry[into] += s.carry[cell]
    t.people[into] += s.people[cell]
    t.total[into] += s.total[cell]
    for j in range(s.top.shape[1]):
        if s.who[cell, j] < 0:
            break
        weight = s.weight[cell, j] if s.weight.size > 0 else 1.0
        asked = s.asked[cell, j] if s.asked.size > 0 else 0.0
        _place(t, into, s.top[cell, j], s.who[cell, j], weight, asked)


@njit(cache=True, nogil=True)
def _alone(
    leaf: Codes,
    strides: Ints,
    rows: Ints,
    amount: Floats,
    who: Ints,
    weight: Floats,
    asked: Floats,
    key: Words,
    t: Tally,
) -> None:
    """Every record into its cell of leaves, each a contributor of its own."""
    for i in range(rows.size):
        r = rows[i]
        cell = 0
        for j in range(strides.size):
            cell += strides[j] * leaf[j, r]
        t.frequency[cell] += 1
        if key.size > 0:
            t.keys[cell] += key[r]
        x = amount[r]
        if np.isnan(x):
            continue
        w = weight[r] if weight.size > 0 else 1.0
        _add(t, cell, w * x)
        t.people[cell] += 1
        t.total[cell] += w * abs(x)
        _place(t, cell, abs(x), who[r], w, asked[r] if asked.size > 0 else 0.0)


@njit(cache=True, nogil=True)
def _carry_up(t: Tally, parent: Ints, stride: int) -> None:
    """Add every cell to the one above it in one dimension, from the leaves on."""
    n, size = t.values.size, parent.size
    for outer in range(0, n, size * stride):
        for code in range(size - 1, 0, -1):
            for inner in range(stride):
                _join(t, outer + parent[code] * stride + inner, t, outer + code * stride + inner)


@njit(cache=True, nogil=True)
def _complete(t: Tally, cell: int, b: Busy) -> None:
    """The contributor that the cell is busy with is complete."""
    # Over its records its weight is the mean by their sizes, or plain where all are 0.
    if b.size[cell] > 0:
        weight = b.weighted[cell] / b.size[cell]
    else:
        weight = b.weights[cell] / b.records[cell]
    amount = abs(b.amount[cell])
    t.people[cell] += 1
    t.total[cell] += amount * weight
    _place(t, cell, amount, b.who[cell], weight, b.asked[cell])


@njit(cache=True, nogil=True)
def _shared(
    leaf: Codes,
    offset: Ints,
    amount: Floats,
    who: Ints,
    weight: Floats,
    asked: Floats,
    key: Words,
    t: Tally,
    b: Busy,
) -> None:
    """Records into their cells at one combination of depths; offset[j, code] is what the code adds
    to the cell's number, -1 where it has nothing at that depth."""
    for r in range(who.size):
        cell = 0
        for j in range(offset.shape[0]):
            step = offset[j, leaf[j, r]]
            if step < 0:
                cell = -1
                break
            cell += step
        if cell < 0:
            continue
        t.frequency[cell] += 1
        if key.size > 0:
            t.keys[cell] += key[r]
        x = amount[r]
        if np.isnan(x):
            continue
        w = weight[r] if weight.size > 0 else 1.0
        _add(t, cell, w * x)
        if b.who[cell] != who[r]:
            if b.who[cell] >= 0:
                _complete(t, cell, b)
            b.who[cell] = who[r]
            b.amount[cell] = b.size[cell] = b.weighted[cell] = 0.0
            b.weights[cell] = b.records[cell] = b.asked[cell] = 0.0
        b.amount[cell] += x
        b.size[cell] += abs(x)
        b.weighted[cell] += abs(x) * w
        b.weights[cell] += w
        b.records[cell] += 1.0
        if asked.size > 0:
            b.asked[cell] = max(b.asked[cell], asked[r])


@njit(cache=True, nogil=True)
def _finish(t: Tally, s: Tally, b: Busy) -> None:
    """The last contributor of every cell, then all of them beside those who are alone."""
    for cell in range(b.who.size):
        if b.who[cell] >= 0:
            _complete(s, cell, b)
        if s.frequency[cell] > 0:
            _join(t, cell, s, cell)


def tally(records: Records, parents: Sequence[Ints], top: int, threads: int = 0) -> Tally:
    """What every cell of a cube holds, cells in C order of the codes.

    `parents[j]` is the parent of each code of dimension j, -1 for code 0, parents first. A
    contributor's amount in a cell is the absolute value of what its records there add up to; among
    equal amounts the lower number stands first.
    """
    shape = [parent.size for parent in parents]
    n = int(np.prod(shape, dtype=np.int64))
    strides = np.array([np.prod(shape[j + 1 :], dtype=np.int64) for j in range(len(shape))])
    fields = (records.amount, records.who, records.weight, records.asked, records.key)
    found = empty_tally(n, records, top)
    _alone(records.leaf, strides, records.alone, *fields, found)
    for parent, stride in zip(parents, strides.tolist(), strict=True):
        _carry_up(found, parent, stride)
    if records.shared.size:
        part = empty_tally(n, records, top)
        busy = Busy(np.full(n, -1, np.int64), *(np.zeros(n) for _ in range(6)))
        # In their order once and for all: every combination goes through them again.
        rows = records.shared
        leaf = records.leaf[:, rows]
        ordered = (
            records.amount[rows],
            records.who[rows],
            records.weight[rows] if records.weight.size else records.weight,
            records.asked[rows] if records.asked.size else records.asked,
            records.key[rows] if records.key.size else records.key,
        )
        above = [_above(parent) for parent in parents]
        combinations = list(itertools.product(*(range(len(levels)) for levels in above)))

        def one(combination: tuple[int, ...]) -> None:
            offset = np.full((len(shape), max(shape, default=1)), -1, np.int64)
            for j, depth in enumerate(combination):
                ancestor = above[j][depth]
                offset[j, : shape[j]] = np.where(ancestor < 0, -1, ancestor * strides[j])
            _shared(leaf, offset, *ordered, part, busy)

        with ThreadPoolExecutor(threads or cores()) as pool:
            for done, _ in enumerate(pool.map(one, combinations)):
                report("adding up cells", done + 1, len(combinations))
        _finish(found, part, busy)
    found.values[:] += found.carry
    return found


def _above(parent: Ints) -> list[Ints]:
    """For each depth, the ancestor of every code there; -1 where the code lies higher."""
    depth = np.zeros(parent.size, np.int64)
    for i in range(1, parent.size):
        depth[i] = depth[parent[i]] + 1
    levels = []
    for wanted in range(int(depth.max(initial=0)) + 1):
        ancestor = np.where(depth >= wanted, np.arange(parent.size), -1)
        for i in range(1, parent.size):  # parents come first, so theirs is known
            if depth[i] > wanted:
                ancestor[i] = ancestor[parent[i]]
        levels.append(ancestor)
    return levels
