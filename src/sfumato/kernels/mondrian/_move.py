"""Moving the rows of a Mondrian node to its parts, in one sequential pass.

Rows are moved whole, with their row number, from one buffer to the same place of another, so that
every later pass over a part reads memory in order. The move keeps the rows of a part in their
original order, and finds the lowest and highest code of every column of every part on the way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._counts import Scratch
from sfumato.kernels.mondrian._cut import BRANCH, CARVE, Split
from sfumato.kernels.mondrian._layout import INNER, LANES, Codes, Ints, Rows, Whole
from sfumato.kernels.mondrian._machine import move_block


@njit(**INNER)
def _part_of(how: Whole, code: Whole, least: Whole, reach: Whole, part: Ints) -> Whole:
    """Part of a row with this code; -1 for the code that two halves share."""
    if how == CARVE:
        return np.int64(np.uint64(code - least) > np.uint64(reach))
    if how == BRANCH:
        return part[code]
    return -1 if code == least else np.int64(code > least)


@njit(**INNER)
def move(
    x: Codes,
    ids: Rows,
    a: Whole,
    b: Whole,
    split: Split,
    to_x: Codes,
    to_ids: Rows,
    scratch: Scratch,
) -> None:
    """Move the rows to their parts; the `place` of a slot is where its part starts."""
    how, j, least, most, _ = split
    wide = x.shape[1]
    slot, part, lowest, highest = scratch.slot, scratch.part, scratch.reach[0], scratch.reach[1]
    ties = most
    for i in range(a, b):
        p = _part_of(how, np.int64(x[i, j]), least, most - least, part)
        if p < 0:
            ties -= 1
            p = np.int64(ties < 0)
        to = slot[p].place
        slot[p].place = to + 1
        to_ids[to] = ids[i]
        for block in range(0, wide, LANES):
            at = p * wide + block
            move_block(x, i * wide + block, to_x, to * wide + block, lowest, highest, at)


@njit(**INNER)
def label_parts(
    x: Codes, ids: Rows, a: Whole, b: Whole, split: Split, part: Ints, labels: Ints
) -> None:
    """Name the two parts of a node that are both groups, without moving a row."""
    how, j, least, most, _ = split
    ties = most
    one: Whole = np.int64(-1)
    other: Whole = np.int64(-1)
    for i in range(a, b):
        p = _part_of(how, np.int64(x[i, j]), least, most - least, part)
        if p < 0:
            ties -= 1
            p = np.int64(ties < 0)
        if p == 0:
            one = ids[i] if one < 0 else one
            labels[ids[i]] = one
        else:
            other = ids[i] if other < 0 else other
            labels[ids[i]] = other


@njit(**INNER)
def label(ids: Rows, a: Whole, b: Whole, labels: Ints) -> None:
    """A finished group is named after its first row, which is the first of the run."""
    first = ids[a]
    for i in range(a, b):
        labels[ids[i]] = first
