"""Plain searches for local suppression where a suppressed cell matches anything.

`cheapest_sets` is the optimum of each record on its own: the cheapest set of its cells without
which it matches k records, the others taken as they are (de Waal & Willenborg 1998, Optimal local
suppression in microdata, Journal of Official Statistics 14, 421-435). What is suppressed in others
only adds matches, so that all optima together keep the promise, whatever the order of the records.
`cell_by_cell` is greedy: in each round every record in need loses the cell that brings most
matches, up to the k that it needs, for its cost. Both leave records that match k alone.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.suppression._subsets import Floats, cheapest_subsets, keep_of
from sfumato.kernels.suppression.matches import (
    Ints,
    Mask,
    Packed,
    count_in,
    count_within,
    crowd,
    pack,
)


def cheapest_sets(
    codes: Ints, wild: Mask, k: int, costs: Floats, count: Ints | None = None
) -> Mask:
    """Which cells to suppress, bool (n, d): each record's own optimum, exact over all sets. A row
    may stand for several records, which `count` then says.

    >>> codes = np.array([[0, 0], [0, 1], [0, 0], [0, 0]])
    >>> cheapest_sets(codes, np.zeros((4, 2), bool), 2, np.array([1.0, 1.0])).astype(int).tolist()
    [[0, 0], [0, 1], [0, 0], [0, 0]]
    """
    d = codes.shape[1]
    packed = pack(codes, wild)
    everyone, which = crowd(packed, count)
    # Records that look alike have the same optimum: only distinct ones are asked.
    asking = np.flatnonzero(count_within(everyone) < k)
    chosen = np.zeros(len(everyone.words), np.int64)
    for mask in cheapest_subsets(costs, 1 << d)[1:] if asking.size else []:
        words = everyone.words[asking] & keep_of(packed, mask)
        asked, place = crowd(Packed(words, packed.fields))
        enough = (count_in(asked, everyone) >= k)[place]
        chosen[asking[enough]] = mask
        asking = asking[~enough]
        if not asking.size:
            break
    found: Mask = (chosen[which][:, None] >> np.arange(d)) & 1 == 1
    return found & ~wild


def cell_by_cell(codes: Ints, wild: Mask, k: int, costs: Floats, count: Ints | None = None) -> Mask:
    """Which cells to suppress, bool (n, d): one cell of each record in need in every round. A row
    may stand for several records, which `count` then says.

    >>> codes = np.array([[0, 0], [0, 1], [0, 0], [0, 0]])
    >>> cell_by_cell(codes, np.zeros((4, 2), bool), 2, np.array([1.0, 1.0])).astype(int).tolist()
    [[0, 0], [0, 1], [0, 0], [0, 0]]
    """
    n, d = codes.shape
    packed = pack(codes, wild)
    # The company that a cell would bring is asked of the table as it was, which has few patterns
    # of empty cells; who is still in need is asked of the table as it is.
    at_first = crowd(packed, count)[0]
    now = Packed(packed.words.copy(), packed.fields)
    gone = wild.copy()
    rows = np.arange(n)
    while True:
        everyone = crowd(now, count)[0]
        asked, place = crowd(Packed(now.words[rows], now.fields))
        rows = rows[(count_in(asked, everyone) < k)[place]]
        if not rows.size:
            return gone & ~wild
        best, column = np.full(rows.size, -1.0), np.zeros(rows.size, np.int64)
        for j in range(d):
            can = np.flatnonzero(~gone[rows, j])
            asked, place = crowd(Packed(now.words[rows[can]] & ~now.fields[j], now.fields))
            worth = (np.minimum(count_in(asked, at_first), k) / costs[j])[place]
            better = worth > best[can]
            best[can[better]], column[can[better]] = worth[better], j
        gone[rows, column] = True
        now.words[rows] &= ~now.fields[column]
