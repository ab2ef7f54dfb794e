"""What cells hold while records are added up, compiled: the loops of tally.py.

Everything but the largest contributors is a sum, so that two cells are put together by adding up
their rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Bools, Codes, Floats, Ints, Rows
from ..statistics.spanned_sum import Span, put, taken

FREQUENCY, PEOPLE, KEY, LIMBS = 0, 1, 2, 3
"""The columns of a cell's row: records, contributors, the sum of keys, and from LIMBS on the sum
and the sum without signs in limbs."""
SUMS = np.dtype(
    [
        ("value", "f8"),
        ("total", "f8"),
        ("people", "i8"),
        ("frequency", "i8"),
        ("key", "u8"),
    ]
)
"""Of a cell, once all is added up: the sum, the sum without signs, how many different contributors
and records it has, and the sum of their keys."""
LARGEST = np.dtype([("amount", "f8"), ("who", "i8"), ("weight", "f8"), ("asked", "f8")])
"""One of the largest contributors of a cell; `who` is -1 where there is none."""
BUSY = np.dtype(
    [("who", "i8")]
    + [(name, "f8") for name in ("amount", "size", "weighted", "weights", "records", "asked")]
)
"""The contributor that a cell is busy with, its amount so far; the sum of absolute values, the same
weighted, of weights and of records; and whether it asked."""


class Cells(NamedTuple):
    """What each cell holds so far."""

    rows: NDArray[np.int64]
    """int64[cell, LIMBS + 2 limbs]."""
    tops: Rows
    """LARGEST[cell, place]."""


def no_cells(n: int, top: int, span: Span) -> Cells:
    """Nothing yet, for n cells."""
    found = Cells(np.zeros((n, LIMBS + 2 * span.limbs), np.int64), np.zeros((n, top), LARGEST))
    found.tops["who"] = -1
    return found


def nobody(n: int) -> Rows:
    """Cells that are busy with nobody."""
    busy = np.zeros(n, BUSY)
    busy["who"] = -1
    return busy


@njit(cache=True, nogil=True)
def place(tops: Rows, cell: int, amount: float, who: int, weight: float, asked: float) -> None:
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
def _join(t: Cells, into: int, s: Cells, cell: int) -> None:
    """Add what one cell holds to another. No contributor may be in both."""
    if s.rows[cell, FREQUENCY] == 0 and s.rows[cell, PEOPLE] == 0:
        return
    for j in range(t.rows.shape[1]):
        t.rows[into, j] += s.rows[cell, j]
    for j in range(s.tops.shape[1]):
        one = s.tops[cell, j]
        if one.who < 0:
            break
        place(t.tops, into, one.amount, one.who, one.weight, one.asked)


@njit(cache=True, nogil=True)
def gather(t: Cells, into: Ints, s: Cells) -> None:
    """What some cells hold into those of these numbers, no contributor of which is in both."""
    for cell in range(into.size):
        _join(t, into[cell], s, cell)


@njit(cache=True, nogil=True)
def carry_up(t: Cells, parent: Ints, stride: int) -> None:
    """Add every cell to the one above it in one dimension, from the leaves on."""
    n, size = t.rows.shape[0], parent.size
    for outer in range(0, n, size * stride):
        for code in range(size - 1, 0, -1):
            for inner in range(stride):
                _join(t, outer + parent[code] * stride + inner, t, outer + code * stride + inner)


@njit(cache=True, nogil=True)
def in_leaves(
    leaf: Codes, strides: Ints, amount: Floats, who: Ints, alone: Bools,
    weight: Floats, asked: Floats, key: Ints, t: Cells, span: Span,
) -> None:  # fmt: skip
    """Every record into its cell of leaves, and whoever has one alone as a contributor."""
    rows, tops, power, inverse = t.rows, t.tops, span.power, span.inverse
    for r in range(amount.size):
        cell = strides[0] * leaf[0, r]
        for j in range(1, strides.size):
            cell += strides[j] * leaf[j, r]
        rows[cell, FREQUENCY] += 1
        if key.size > 0:
            rows[cell, KEY] += key[r]
        x = amount[r]
        if np.isnan(x):
            continue
        w = weight[r] if weight.size > 0 else 1.0
        put(rows, cell, LIMBS, w * x, power, inverse)
        if alone[r]:
            rows[cell, PEOPLE] += 1
            put(rows, cell, LIMBS + power.size, w * abs(x), power, inverse)
            place(tops, cell, abs(x), who[r], w, asked[r] if asked.size > 0 else 0.0)


@njit(cache=True, nogil=True, inline="always")
def _complete(
    rows: NDArray[np.int64], tops: Rows, cell: int, busy: Rows, power: Floats, inverse: Floats
) -> None:
    """The contributor that the cell is busy with is complete."""
    b = busy[cell]
    # Over its records its weight is the mean by their sizes, or plain where all are 0.
    weight = b.weighted / b.size if b.size > 0 else b.weights / b.records
    rows[cell, PEOPLE] += 1
    put(rows, cell, LIMBS + power.size, abs(b.amount) * weight, power, inverse)
    place(tops, cell, abs(b.amount), b.who, weight, b.asked)


@njit(cache=True, nogil=True)
def at_depths(
    leaf: Codes, offset: Ints, amount: Floats, who: Ints,
    weight: Floats, asked: Floats, t: Cells, busy: Rows, span: Span,
) -> None:  # fmt: skip
    """Contributors into their cells at one combination of depths; offset[j, code] is what the code
    adds to the cell's number, -1 where it has nothing at that depth."""
    rows, tops, power, inverse = t.rows, t.tops, span.power, span.inverse
    for r in range(who.size):
        cell = offset[0, leaf[0, r]]
        for j in range(1, offset.shape[0]):
            step = offset[j, leaf[j, r]]
            cell = cell + step if cell >= 0 and step >= 0 else -1
        x = amount[r]
        if cell < 0 or np.isnan(x):
            continue
        w = weight[r] if weight.size > 0 else 1.0
        b = busy[cell]
        if b.who != who[r]:
            if b.who >= 0:
                _complete(rows, tops, cell, busy, power, inverse)
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
def finish(t: Cells, busy: Rows, span: Span) -> None:
    """The last contributor of every cell."""
    rows, tops, power, inverse = t.rows, t.tops, span.power, span.inverse
    for cell in range(busy.size):
        if busy[cell].who >= 0:
            _complete(rows, tops, cell, busy, power, inverse)


@njit(cache=True, nogil=True)
def tell(t: Cells, sums: Rows, power: Floats, bits: int) -> None:
    """What the cells hold, all of it added up; the limbs are used up."""
    rows = t.rows
    for cell in range(sums.size):
        here = sums[cell]
        here.people, here.frequency = rows[cell, PEOPLE], rows[cell, FREQUENCY]
        if here.people > 0:
            here.value = taken(rows, cell, LIMBS, power, bits)
            here.total = taken(rows, cell, LIMBS + power.size, power, bits)
