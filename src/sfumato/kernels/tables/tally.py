"""What the cells of a cube hold, from its records: sums, numbers of records, largest contributors.

Sums and numbers of records are carried up from the cells of leaves, and so is a contributor with a
single record, who lies in one of these. One with several records may lie in two parts of a total,
where its amounts add up: such contributors are tallied anew for each combination of depths (one
depth to a dimension), whose cells are different ones. Their records come contributor by
contributor, so that a cell has somebody's whole amount when the next one comes, and nothing is
sorted again.

Sums are exact until they are told, so that records may come in any order and in parts
(`part_tally`), each with all records of its contributors: what parts hold is put together and told
by `told_together`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...progress import report
from ..arrays import Codes, Floats, Ints, Rows
from ..interpreted import suited
from ..statistics.spanned_sum import Extent, Span, extent
from ..threads import cores
from . import _cells
from ._cells import KEY, LARGEST, SUMS, no_cells, nobody
from ._cells import Cells as Cells

Words = NDArray[np.uint64]
STEPS = 4
"""What a record or a cell counts for, in steps of a usual loop."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records, each with the code of its leaf in every dimension."""

    leaf: Codes
    """int32[dimensions, records]."""
    amount: Floats
    """What each adds; NaN where it is counted and adds nothing."""
    who: Ints
    """The contributor of each record, 0 or more."""
    shared: Ints
    """Records whose contributor has several, contributor by contributor."""
    weight: Floats
    """Empty where there are no weights."""
    asked: Floats
    """Empty where nobody could ask."""
    key: Words
    """Random keys; their sums wrap around. Empty where there are none."""


class Tally(NamedTuple):
    """What each cell holds."""

    sums: Rows
    """SUMS[cell]."""
    tops: Rows
    """LARGEST[cell, place]."""


class Sparse(NamedTuple):
    """What some cells hold so far, by their numbers."""

    numbers: Ints
    cells: Cells


def empty_tally(n: int, top: int) -> Tally:
    """Nothing, for n cells."""
    found = Tally(np.zeros(n, SUMS), np.zeros((n, top), LARGEST))
    found.tops["who"] = -1
    return found


def extent_of(amount: Floats, weight: Floats, *, holdings: bool) -> Extent:
    """What the span of the cells' sums is known by. What a contributor with several records weighs
    is a mean, and no longer whole where weights are."""
    with np.errstate(over="ignore"):  # infinity is told, and is the caller's to refuse
        found = extent(amount * weight if weight.size else amount)
    return found._replace(whole=found.whole and not (holdings and weight.size > 0))


def tally(
    records: Records, parents: Sequence[Ints], top: int, span: Span | None = None, threads: int = 0
) -> Tally:
    """What every cell of a cube holds, cells in C order of the codes.

    `parents[j]` is the parent of each code of dimension j, -1 for code 0, parents first. A
    contributor's amount in a cell is the absolute value of what its records there add up to; among
    equal amounts the lower number stands first.
    """
    if span is None:
        span = Span.of(extent_of(records.amount, records.weight, holdings=records.shared.size > 0))
    shape = _Shape(parents)
    found = no_cells(shape.n, top, span)
    _in_leaves(records, records.leaf, shape.strides, found, span)
    shape.carry_up(found)
    if records.shared.size:
        part, busy = no_cells(shape.n, top, span), nobody(shape.n)
        leaf, fields = _in_order(records)
        steps = STEPS * leaf.shape[1]

        def one(offset: Ints) -> None:
            suited(_cells.at_depths, steps)(leaf, offset, *fields, part, busy, span)

        with ThreadPoolExecutor(threads or cores()) as pool:
            for done, _ in enumerate(pool.map(one, shape.offsets)):
                report("adding up cells", done + 1, len(shape.offsets))
        suited(_cells.finish, STEPS * shape.n)(part, busy, span)
        suited(_cells.gather, STEPS * shape.n)(found, np.arange(shape.n), part)
    return _told(found, span)


def part_tally(
    records: Records, parents: Sequence[Ints], top: int, span: Span
) -> tuple[Sparse, Sparse]:
    """What the cells of a part of the records hold: those of leaves, and all cells by contributors
    with several records. Every contributor's records must be in one part."""
    shape = _Shape(parents)
    number, place = np.unique(shape.strides @ records.leaf.astype(np.int64), return_inverse=True)
    leaves = Sparse(number, no_cells(number.size, top, span))
    _in_leaves(records, place.astype(np.int32)[None], np.ones(1, np.int64), leaves.cells, span)
    shared = []
    if records.shared.size:
        leaf, fields = _in_order(records)
        for offset in shape.offsets:
            steps = np.array([offset[j, leaf[j]] for j in range(leaf.shape[0])])
            cell = np.where((steps >= 0).all(axis=0), steps.sum(axis=0), -1)
            number, place = np.unique(cell, return_inverse=True)
            part, busy = no_cells(number.size, top, span), nobody(number.size)
            known = np.where(number < 0, -1, np.arange(number.size))[None]
            at = place.astype(np.int32)[None]
            suited(_cells.at_depths, STEPS * place.size)(at, known, *fields, part, busy, span)
            suited(_cells.finish, STEPS * number.size)(part, busy, span)
            shared.append(Sparse(number, part))
    none = Sparse(np.empty(0, np.int64), no_cells(0, top, span))
    return leaves, together([none, *shared])


def together(parts: Sequence[Sparse]) -> Sparse:
    """What cells hold in all parts, of which there is one at least."""
    numbers, place = np.unique(
        np.concatenate([part.numbers for part in parts]), return_inverse=True
    )
    # Where a record has nothing at some depth its cell is -1, and the first of all.
    absent = int(np.searchsorted(numbers, 0))
    rows, tops = (np.zeros((numbers.size, *like.shape[1:]), like.dtype) for like in parts[0].cells)
    tops["who"] = -1
    start = 0
    for part in parts:
        into = place[start : start + part.numbers.size]
        suited(_cells.gather, STEPS * into.size)(Cells(rows, tops), into, part.cells)
        start += into.size
    return Sparse(numbers[absent:], Cells(rows[absent:], tops[absent:]))


def told_together(
    leaves: Sparse, shared: Sparse, parents: Sequence[Ints], top: int, span: Span
) -> Tally:
    """What `tally` gives of all records, from what their parts hold together."""
    shape = _Shape(parents)
    found = no_cells(shape.n, top, span)
    suited(_cells.gather, STEPS * leaves.numbers.size)(found, *leaves)
    shape.carry_up(found)
    suited(_cells.gather, STEPS * shared.numbers.size)(found, *shared)
    return _told(found, span)


def _told(found: Cells, span: Span) -> Tally:
    sums = np.zeros(found.rows.shape[0], SUMS)
    suited(_cells.tell, STEPS * sums.size)(found, sums, span.power, span.bits)
    sums["key"] = found.rows[:, KEY].view(np.uint64)
    return Tally(sums, found.tops)


class _Shape:
    """Where cells lie in a cube."""

    def __init__(self, parents: Sequence[Ints]) -> None:
        self.parents = parents
        self.size = [parent.size for parent in parents]
        self.n = int(np.prod(self.size, dtype=np.int64))
        later = [self.size[j + 1 :] for j in range(len(self.size))]
        self.strides = np.array([np.prod(sizes, dtype=np.int64) for sizes in later])

    def carry_up(self, found: Cells) -> None:
        """Add all cells of leaves to those above them."""
        for parent, stride in zip(self.parents, self.strides.tolist(), strict=True):
            suited(_cells.carry_up, STEPS * self.n)(found, parent, stride)

    @cached_property
    def offsets(self) -> list[Ints]:
        """For each combination of depths, what a code of a dimension adds to the cell's number."""
        above = [_above(parent) for parent in self.parents]
        found = []
        for combination in itertools.product(*(range(len(levels)) for levels in above)):
            offset = np.full((len(self.size), max(self.size, default=1)), -1, np.int64)
            for j, depth in enumerate(combination):
                ancestor = above[j][depth]
                offset[j, : self.size[j]] = np.where(ancestor < 0, -1, ancestor * self.strides[j])
            found.append(offset)
        return found


def _in_leaves(records: Records, leaf: Codes, strides: Ints, found: Cells, span: Span) -> None:
    """Every record into its cell of leaves."""
    alone = np.ones(records.amount.size, bool)
    alone[records.shared] = False
    suited(_cells.in_leaves, STEPS * alone.size)(
        leaf, strides, records.amount, records.who, alone,
        records.weight, records.asked, records.key.view(np.int64), found, span,
    )  # fmt: skip


def _in_order(records: Records) -> tuple[Codes, tuple[Floats, Ints, Floats, Floats]]:
    """Leaves, amounts and so on of the records whose contributors have several, contributor by
    contributor: once and for all, since every combination of depths goes through them again."""
    rows, weight, asked = records.shared, records.weight, records.asked
    return records.leaf[:, rows], (
        records.amount[rows],
        records.who[rows],
        weight[rows] if weight.size else weight,
        asked[rows] if asked.size else asked,
    )


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
