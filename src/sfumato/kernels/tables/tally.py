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
from ..arrays import Codes, Floats, Ints, Rows
from ..interpreted import suited
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


SUMS = np.dtype(
    [
        ("value", "f8"),
        ("carry", "f8"),
        ("total", "f8"),
        ("people", "i8"),
        ("frequency", "i8"),
        ("key", "u8"),
    ]
)
"""Of a cell: the sum, what rounding took from it while it is added up, the sum without signs, how
many different contributors and records it has, and the sum of their keys."""
LARGEST = np.dtype([("amount", "f8"), ("who", "i8"), ("weight", "f8"), ("asked", "f8")])
"""One of the largest contributors of a cell; `who` is -1 where there is none."""
BUSY = np.dtype(
    [("who", "i8")]
    + [(name, "f8") for name in ("amount", "size", "weighted", "weights", "records", "asked")]
)
"""The contributor that a cell is busy with, its amount so far; the sum of absolute values, the same
weighted, of weights and of records; and whether it asked."""


STEPS = 4
"""What a record or a cell counts for, in steps of a usual loop."""


class Tally(NamedTuple):
    """What each cell holds."""

    sums: Rows
    """SUMS[cell]."""
    tops: Rows
    """LARGEST[cell, place]."""


def empty_tally(n: int, top: int) -> Tally:
    """Nothing yet, for n cells."""
    found = Tally(np.zeros(n, SUMS), np.zeros((n, top), LARGEST))
    found.tops["who"] = -1
    return found


@njit(cache=True, nogil=True)
def _place(tops: Rows, cell: int, amount: float, who: int, weight: float, asked: float) -> None:
    """Put a contributor among the largest of a cell, if it is one."""
    at = tops.shape[1]
    while at > 0:
        other = tops[cell, at - 1]
        before = other.who < 0 or amount > other.amount
        if not (before or (amount == other.amount and who < other.who)):
            break
        at -= 1
        if at + 1 < tops.shape[1]:
            tops[cell, at + 1] = tops[cell, at]
    if at < tops.shape[1]:
        here = tops[cell, at]
        here.amount, here.who, here.weight, here.asked = amount, who, weight, asked


@njit(cache=True, nogil=True)
def _add(sums: Rows, cell: int, x: float) -> None:
    """Neumaier (1974): what rounding takes from the sum is kept beside it."""
    here = sums[cell]
    old, new = here.value, here.value + x
    here.carry += (old - new) + x if abs(old) >= abs(x) else (x - new) + old
    here.value = new


@njit(cache=True, nogil=True)
def _join(t: Tally, into: int, s: Tally, cell: int) -> None:
    """Add what one cell holds to another. No contributor may be in both."""
    here, other = t.sums[into], s.sums[cell]
    here.frequency += other.frequency
    here.key += other.key
    if other.people == 0:
        return
    _add(t.sums, into, other.value)
    here.carry += other.carry
    here.people += other.people
    here.total += other.total
    for j in range(s.tops.shape[1]):
        one = s.tops[cell, j]
        if one.who < 0:
            break
        _place(t.tops, into, one.amount, one.who, one.weight, one.asked)


@njit(cache=True, nogil=True)
def _alone(
    leaf: Codes, strides: Ints, rows: Ints, amount: Floats, who: Ints,
    weight: Floats, asked: Floats, key: Words, t: Tally,
) -> None:  # fmt: skip
    """Every record into its cell of leaves, each a contributor of its own."""
    for i in range(rows.size):
        r = rows[i]
        cell = strides[0] * leaf[0, r]
        for j in range(1, strides.size):
            cell += strides[j] * leaf[j, r]
        here = t.sums[cell]
        here.frequency += 1
        if key.size > 0:
            here.key += key[r]
        x = amount[r]
        if np.isnan(x):
            continue
        w = weight[r] if weight.size > 0 else 1.0
        _add(t.sums, cell, w * x)
        here.people += 1
        here.total += w * abs(x)
        _place(t.tops, cell, abs(x), who[r], w, asked[r] if asked.size > 0 else 0.0)


@njit(cache=True, nogil=True)
def _carry_up(t: Tally, parent: Ints, stride: int) -> None:
    """Add every cell to the one above it in one dimension, from the leaves on."""
    n, size = t.sums.size, parent.size
    for outer in range(0, n, size * stride):
        for code in range(size - 1, 0, -1):
            for inner in range(stride):
                _join(t, outer + parent[code] * stride + inner, t, outer + code * stride + inner)


@njit(cache=True, nogil=True)
def _complete(t: Tally, cell: int, busy: Rows) -> None:
    """The contributor that the cell is busy with is complete."""
    b, here = busy[cell], t.sums[cell]
    # Over its records its weight is the mean by their sizes, or plain where all are 0.
    weight = b.weighted / b.size if b.size > 0 else b.weights / b.records
    here.people += 1
    here.total += abs(b.amount) * weight
    _place(t.tops, cell, abs(b.amount), b.who, weight, b.asked)


@njit(cache=True, nogil=True)
def _shared(
    leaf: Codes, offset: Ints, amount: Floats, who: Ints,
    weight: Floats, asked: Floats, key: Words, t: Tally, busy: Rows,
) -> None:  # fmt: skip
    """Records into their cells at one combination of depths; offset[j, code] is what the code adds
    to the cell's number, -1 where it has nothing at that depth."""
    for r in range(who.size):
        cell = offset[0, leaf[0, r]]
        for j in range(1, offset.shape[0]):
            step = offset[j, leaf[j, r]]
            cell = cell + step if cell >= 0 and step >= 0 else -1
        if cell < 0:
            continue
        here = t.sums[cell]
        here.frequency += 1
        if key.size > 0:
            here.key += key[r]
        x = amount[r]
        if np.isnan(x):
            continue
        w = weight[r] if weight.size > 0 else 1.0
        _add(t.sums, cell, w * x)
        b = busy[cell]
        if b.who != who[r]:
            if b.who >= 0:
                _complete(t, cell, busy)
            b.who = who[r]
            b.amount = b.size = b.weighted = b.weights = b.records = b.asked = 0.0
        b.amount += x
        b.size += abs(x)
        b.weighted += abs(x) * w
        b.weights += w
        b.records += 1.0
        if asked.size > 0:
            b.asked = max(b.asked, asked[r])


@njit(cache=True, nogil=True)
def _finish(t: Tally, s: Tally, busy: Rows) -> None:
    """The last contributor of every cell, then all of them beside those who are alone."""
    for cell in range(busy.size):
        if busy[cell].who >= 0:
            _complete(s, cell, busy)
        if s.sums[cell].frequency > 0:
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
    found = empty_tally(n, top)
    suited(_alone, STEPS * records.alone.size)(records.leaf, strides, records.alone, *fields, found)
    for parent, stride in zip(parents, strides.tolist(), strict=True):
        suited(_carry_up, STEPS * n)(found, parent, stride)
    if records.shared.size:
        part = empty_tally(n, top)
        busy = np.zeros(n, BUSY)
        busy["who"] = -1
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
            suited(_shared, STEPS * rows.size)(leaf, offset, *ordered, part, busy)

        with ThreadPoolExecutor(threads or cores()) as pool:
            for done, _ in enumerate(pool.map(one, combinations)):
                report("adding up cells", done + 1, len(combinations))
        suited(_finish, STEPS * n)(found, part, busy)
    found.sums["value"] += found.sums["carry"]
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
