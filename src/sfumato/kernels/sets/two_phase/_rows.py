"""Sets as rows from the weightiest item down, in lexicographic order: what two-phase works on.

An item's weight is its utility times the number of records that hold it. Items are numbered anew by
falling weight, so that "drop the least item" takes away the end of a row, whatever the set. All
sets that can come about by such drops are then beginnings of rows (nodes of a prefix tree), and
rows that begin alike lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Codes, Floats, Ints
from ...threads import cores
from ..packing import tidied
from ..rows import Items, even_cuts, frozen, in_parts, occurrences, take_rows


class Rows(NamedTuple):
    """Rows in order: `ranks[starts[p]:starts[p + 1]]` is the row at place p, weightiest first."""

    starts: Ints
    ranks: Items
    record: Ints  # the record of each place
    worth: Floats  # the utility of each rank
    head: Ints  # the place of the first of each distinct row, and n at the end
    shared: Codes  # items that each distinct row shares with the one before; 0 at both ends


def _in_order(starts: Ints, ranks: Items, bits: int) -> Ints:
    """Rows in order, equal ones by number: one word of ranks after another, while rows are alike.

    What is not there comes first.
    """
    order = np.arange(starts.size - 1)
    place, tie, depth = order.copy(), np.zeros(order.size, dtype=np.int64), 0
    padded = np.append(ranks, ranks.dtype.type(0))
    while place.size:
        rows = order[place]
        key = np.zeros(rows.size, dtype=np.uint64)
        for at in range(depth, depth + 64 // bits):
            e = starts[rows] + at
            inside = e < starts[rows + 1]
            key <<= np.uint64(bits)
            rank = padded[np.where(inside, e, -1)].astype(np.uint64) + np.uint64(1)
            key |= np.where(inside, rank, np.uint64(0))
        by = np.lexsort((key, tie)) if depth else np.argsort(key, kind="stable")
        order[place], key, tie = rows[by], key[by], tie[by]
        same = (key[1:] == key[:-1]) & (tie[1:] == tie[:-1])
        first = np.append([True], ~same)
        goes_on = key & np.uint64((1 << bits) - 1) != 0
        alike = ~(first & np.append(~same, [True])) & goes_on
        place, tie, depth = place[alike], np.cumsum(first)[alike], depth + 64 // bits
    return order


@njit(cache=True, nogil=True)
def _common(starts: Ints, ranks: Items, order: Ints, low: int, high: int, out: Codes) -> None:
    """How many first items the rows at each place and before it share; -1 where they are equal."""
    for p in range(max(low, 1), high):
        a, b = starts[order[p - 1]], starts[order[p]]
        size, other = starts[order[p] + 1] - b, starts[order[p - 1] + 1] - a
        most, t = min(size, other), 0
        while t < most and ranks[a + t] == ranks[b + t]:
            t += 1
        out[p] = -1 if t == size and t == other else t


def by_weight(
    starts: Ints,
    items: Items,
    utilities: Floats,
    *,
    threads: int | None = None,
    tell: Callable[[float], None] = lambda share: None,
) -> Rows:
    """The records as rows from the weightiest item down, in order. `threads` alters nothing."""
    n, d, workers = starts.size - 1, utilities.size, cores(threads)
    weight = utilities * occurrences(items, d, workers)
    by_rank = np.lexsort((np.arange(d), -weight))
    rank = np.empty(d, dtype=np.int64)
    rank[by_rank] = np.arange(d)
    ranks = tidied(starts, items, rank, np.empty_like(items))[1]
    tell(0.3)
    order = _in_order(starts, ranks, max(1, int(d).bit_length()))
    tell(0.8)
    common = np.zeros(n, dtype=np.int32)
    given = frozen(starts), frozen(ranks), order

    def run(low: int, high: int) -> None:
        _common(*given, low, high, common)

    in_parts(run, even_cuts(n, 4 * workers), workers)
    first = np.flatnonzero(common >= 0)
    tell(0.9)
    return Rows(
        *take_rows(starts, ranks, order),
        order,
        utilities[by_rank],
        np.append(first, n),
        np.append(common[first], common.dtype.type(0)),
    )
