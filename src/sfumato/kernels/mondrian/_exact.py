"""What a split of a small node loses in all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

from sfumato.kernels.mondrian._counts import Histograms, Scratch
from sfumato.kernels.mondrian._cut import BRANCH, Split, set_width, span
from sfumato.kernels.mondrian._layout import (
    BEGIN,
    END,
    HIGH,
    INNER,
    INSIDE,
    LOW,
    NOMINAL,
    Codes,
    Columns,
    Ints,
    Whole,
)


@njit(**INNER)
def _loss_of_rows(
    x: Codes, node: Ints, columns: Columns, split: Split, worst: float, scratch: Scratch
) -> float:
    a, n = node[BEGIN], node[END] - node[BEGIN]
    how, column, least, most, _ = split
    owner, slot, stamp = scratch.owner, scratch.slot, scratch.stamp
    parts: Whole = 2
    slot[0].size = slot[1].size = 0
    for i in range(n):
        code = np.int64(x[a + i, column])
        p = scratch.part[code] if how == BRANCH else np.int64(not least <= code <= most)
        for new in range(parts, p + 1):
            slot[new].size = 0
        parts = max(parts, p + 1)
        owner[i] = p
        slot[p].size += 1
    loss = 0.0
    for j in range(columns.column.size):
        low, high = node[LOW + 2 * j], node[HIGH + 2 * j]
        if low == high:
            continue
        for p in range(parts):
            slot[p].low, slot[p].high, slot[p].rows = high, low, 0
        for i in range(n):
            p, code = owner[i], np.int64(x[a + i, j])
            if code == 0:
                slot[p].rows += 1
            else:
                slot[p].low, slot[p].high = min(slot[p].low, code), max(slot[p].high, code)
        for p in range(parts):
            if slot[p].rows == slot[p].size:
                continue
            if slot[p].rows > 0:
                loss += slot[p].size * columns.column[j].gap
            if columns.column[j].kind == NOMINAL:
                stamp[0] += 1  # code 0 is missing and never counted: its place keeps the tally
                values: Whole = 0
                for i in range(n):
                    code = np.int64(x[a + i, j])
                    if code > 0 and owner[i] == p and stamp[code] != stamp[0]:
                        stamp[code] = stamp[0]
                        values += 1
                loss += slot[p].size * set_width(columns.column[j], values)
            else:
                loss += slot[p].size * span(columns, j, slot[p].low, slot[p].high)
        if loss > worst:
            break
    return loss


def exact_loss(
    source: Codes | Histograms,
    node: Ints,
    columns: Columns,
    split: Split,
    worst: float,
    scratch: Scratch,
) -> float:
    """Rows times width over all columns and parts of a split; may stop once above `worst`."""
    raise NotImplementedError  # compiled code has it


@overload(exact_loss, strict=False, jit_options=INSIDE)
def _loss(source: Any, node: Any, columns: Any, split: Any, worst: Any, scratch: Any) -> Any:
    if isinstance(source, types.Array):
        return lambda source, node, columns, split, worst, scratch: _loss_of_rows(
            source, node, columns, split, worst, scratch
        )
    # Records that are only counted are never so few.
    return lambda source, node, columns, split, worst, scratch: np.inf
