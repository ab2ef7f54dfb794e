"""Moving the rows of a Mondrian node to its parts, in one sequential pass.

Rows are moved whole, with their row number, from one buffer to the same place of another, so that
every later pass over a part reads memory in order. The move keeps the rows of a part in their
original order, and finds the lowest and highest code of every column of every part on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from sfumato.kernels.mondrian_cut import BRANCH, CARVE, Split
from sfumato.kernels.mondrian_layout import INNER, LANES, Codes, Ints, Rows, Whole


@intrinsic
def _move_block(
    context: Any, source: Any, at: Any, target: Any, to: Any, low: Any, high: Any, extreme: Any
) -> Any:
    """Copy LANES codes, and lower `low` and raise `high` to take them in.

    Written as vector instructions, because the compiler cannot know that the arrays do not overlap
    and would handle one code at a time, which makes the whole partition about three times slower.
    """
    signature = types.void(source, at, target, to, low, high, extreme)

    def generate(target_context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        dtype = signature.args[0].dtype
        vector = ir.VectorType(target_context.get_data_type(dtype), LANES)
        align = dtype.bitwidth // 8

        def place(array: int, index: int) -> Any:
            kind = signature.args[array]
            data = target_context.make_array(kind)(target_context, builder, arguments[array]).data
            return builder.bitcast(builder.gep(data, [arguments[index]]), vector.as_pointer())

        codes = builder.load(place(0, 1), align=align)
        builder.store(codes, place(2, 3), align=align)
        for array, order in ((4, "<"), (5, ">")):
            pointer = place(array, 6)
            known = builder.load(pointer, align=align)
            better = builder.icmp_unsigned(order, codes, known)
            builder.store(builder.select(better, codes, known), pointer, align=align)
        return target_context.get_dummy_value()

    return signature, generate


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
def _part_of(how: Whole, code: Whole, least: Whole, reach: Whole, part: Ints, ties: Ints) -> Whole:
    """Part of a row with this code; `ties` counts down the shared code of two halves."""
    if how == CARVE:
        return np.int64(np.uint64(code - least) > np.uint64(reach))
    if how == BRANCH:
        return part[code]
    if code == least:
        ties[0] -= 1
        return np.int64(ties[0] < 0)
    return np.int64(code > least)


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
    ties = np.full(1, most)
    for i in range(a, b):
        p = _part_of(how, np.int64(x[i, j]), least, most - least, part, ties)
        to = place[p]
        place[p] = to + 1
        to_ids[to] = ids[i]
        for block in range(0, wide, LANES):
            _move_block(  # type: ignore[call-arg]  # the context is not passed
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
    ties = np.full(1, most)
    first[0] = first[1] = -1
    for i in range(a, b):
        p = _part_of(how, np.int64(x[i, j]), least, most - least, part, ties)
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
