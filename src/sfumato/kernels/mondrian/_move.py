"""Moving the rows of a Mondrian node to its parts, in one sequential pass.

Rows are moved whole, with their row number, from one buffer to the same place of another, so that
every later pass over a part reads memory in order. The move keeps the rows of a part in their
original order, and finds the lowest and highest code of every column of every part on the way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.mondrian._cut import BRANCH, CARVE, Split
from sfumato.kernels.mondrian._layout import INNER, LANES, Codes, Ints, Rows, Whole
from sfumato.kernels.mondrian._machine import move_block


@njit(cache=True, nogil=True)
def load(
    codes: Codes, first: Whole, last: Whole, x: Codes, ids: Rows, low: Codes, high: Codes
) -> None:
    """Copy some rows of the caller into the first buffer, and find their extremes."""
    for j in range(codes.shape[1]):
        low[j], high[j] = codes[first, j], codes[first, j]
    for i in range(first, last):
        ids[i] = i
        for j in range(codes.shape[1]):
            code = codes[i, j]
            x[i, j] = code
            low[j], high[j] = min(low[j], code), max(high[j], code)
        for j in range(codes.shape[1], x.shape[1]):
            x[i, j] = 0


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
    part: Ints,
    place: Ints,
    to_x: Codes,
    to_ids: Rows,
    low: Codes,
    high: Codes,
) -> None:
    """Move the rows to their parts; `place` holds where each part starts and is advanced."""
    how, j, least, most, _ = split
    wide = x.shape[1]
    source, target = x.reshape(x.size), to_x.reshape(to_x.size)
    lowest, highest = low.reshape(low.size), high.reshape(high.size)
    ties = most
    for i in range(a, b):
        p = _part_of(how, np.int64(x[i, j]), least, most - least, part)
        if p < 0:
            ties -= 1
            p = np.int64(ties < 0)
        to = place[p]
        place[p] = to + 1
        to_ids[to] = ids[i]
        for block in range(0, wide, LANES):
            move_block(
                source,
                i * wide + block,
                target,
                to * wide + block,
                lowest,
                highest,
                p * wide + block,
            )


@njit(**INNER)
def label_parts(
    x: Codes, ids: Rows, a: Whole, b: Whole, split: Split, part: Ints, first: Ints, labels: Ints
) -> None:
    """Name the two parts of a node that are both groups, without moving a row."""
    how, j, least, most, _ = split
    ties = most
    first[0] = first[1] = -1
    for i in range(a, b):
        p = _part_of(how, np.int64(x[i, j]), least, most - least, part)
        if p < 0:
            ties -= 1
            p = np.int64(ties < 0)
        if first[p] < 0:
            first[p] = ids[i]
        labels[ids[i]] = first[p]


@njit(**INNER)
def label(ids: Rows, a: Whole, b: Whole, labels: Ints) -> None:
    """A finished group is named after its first row, which is the first of the run."""
    first = ids[a]
    for i in range(a, b):
        labels[ids[i]] = first


@njit(cache=True, nogil=True)
def number(labels: Ints) -> Whole:
    """Turn first rows into 0, 1, ... in the order of first rows; returns the number of groups."""
    groups = 0
    for i in range(labels.size):
        first = labels[i]
        if first == i:
            labels[i] = groups
            groups += 1
        else:
            labels[i] = labels[first]  # an earlier row, which has its number already
    return groups
