"""Plain searches for local suppression where a suppressed cell matches anything.

`cheapest_sets` is the optimum of each record on its own: the cheapest set of its cells without
which it matches k records, the others taken as they are (de Waal & Willenborg 1998, Optimal local
suppression in microdata, Journal of Official Statistics 14, 421-435). What is suppressed in others
only adds matches, so that all optima together keep the promise, whatever the order of the records.
`cell_by_cell` is greedy: in each round every record in need loses the cell that brings most
matches, up to the k that it needs, for its cost. Both leave records that match k alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.kernels.suppression._subsets import Floats, cheapest_subsets, keep_of
from sfumato.kernels.suppression.ladders import Worth
from sfumato.kernels.suppression.matches import (
    Counts,
    Crowd,
    Ints,
    Mask,
    Packed,
    count_in,
    crowd,
    pack,
)


def cheapest_sets(
    codes: Ints,
    wild: Mask,
    k: float,
    costs: Floats,
    count: Counts | None = None,
    worth: Worth | None = None,
) -> Mask:
    """Which cells to suppress, bool (n, d): each record's own optimum, exact over all sets. A row
    may stand for several records, which `count` then says. With `worth`, rows have several counts,
    (counts, n), and k is what the matches must be worth by their sums.

    >>> codes = np.array([[0, 0], [0, 1], [0, 0], [0, 0]])
    >>> cheapest_sets(codes, np.zeros((4, 2), bool), 2, np.array([1.0, 1.0])).astype(int).tolist()
    [[0, 0], [0, 1], [0, 0], [0, 0]]
    """
    d = codes.shape[1]
    packed = pack(codes, wild)
    everyone, which = crowd(packed)
    company = _company(packed, count, worth)
    # Records that look alike have the same optimum: only distinct ones are asked.
    asking = np.flatnonzero(company(everyone) < k)
    chosen = np.zeros(len(everyone.words), np.int64)
    for mask in cheapest_subsets(costs, 1 << d)[1:] if asking.size else []:
        words = everyone.words[asking] & keep_of(packed, mask)
        asked, place = crowd(Packed(words, packed.fields))
        enough = (company(asked) >= k)[place]
        chosen[asking[enough]] = mask
        asking = asking[~enough]
        if not asking.size:
            break
    found: Mask = (chosen[which][:, None] >> np.arange(d)) & 1 == 1
    return found & ~wild


def cell_by_cell(
    codes: Ints,
    wild: Mask,
    k: float,
    costs: Floats,
    count: Counts | None = None,
    worth: Worth | None = None,
) -> Mask:
    """Which cells to suppress, bool (n, d): one cell of each record in need in every round. `count`
    and `worth` are as above.

    >>> codes = np.array([[0, 0], [0, 1], [0, 0], [0, 0]])
    >>> cell_by_cell(codes, np.zeros((4, 2), bool), 2, np.array([1.0, 1.0])).astype(int).tolist()
    [[0, 0], [0, 1], [0, 0], [0, 0]]
    """
    n, d = codes.shape
    packed = pack(codes, wild)
    # The company that a cell would bring is asked of the table as it was, which has few patterns
    # of empty cells; who is still in need is asked of the table as it is.
    at_first = _company(packed, count, worth)
    now = Packed(packed.words.copy(), packed.fields)
    gone = wild.copy()
    rows = np.arange(n)
    while True:
        asked, place = crowd(Packed(now.words[rows], now.fields))
        rows = rows[(_company(now, count, worth)(asked) < k)[place]]
        if not rows.size:
            return gone & ~wild
        best, column = np.full(rows.size, -1.0), np.zeros(rows.size, np.int64)
        for j in range(d):
            can = np.flatnonzero(~gone[rows, j])
            asked, place = crowd(Packed(now.words[rows[can]] & ~now.fields[j], now.fields))
            gain = (np.minimum(at_first(asked), k) / costs[j])[place]
            better = gain > best[can]
            best[can[better]], column[can[better]] = gain[better], j
        gone[rows, column] = True
        now.words[rows] &= ~now.fields[column]


def match_worth(codes: Ints, wild: Mask, count: Counts, worth: Worth) -> Floats:
    """What the matches of each record are worth, by the sums of several counts, (counts, n).

    >>> codes, wild = np.array([[0], [1], [0]]), np.array([[False], [False], [True]])
    >>> match_worth(codes, wild, np.array([[1.0, 1, 1], [10, 20, 5]]), lambda sums: sums[1])
    array([15., 25., 35.])
    """
    packed = pack(codes, wild)
    everyone, which = crowd(packed)
    return _company(packed, count, worth)(everyone)[which]


def _company(
    packed: Packed, count: Counts | None, worth: Worth | None
) -> Callable[[Crowd], Counts]:
    """What the matches of asked records among these are worth."""
    if worth is None:
        everyone = crowd(packed, count)[0]
        return lambda asked: count_in(asked, everyone)
    assert count is not None
    crowds = [crowd(packed, one)[0] for one in count]
    return lambda asked: worth(np.stack([count_in(asked, one) for one in crowds]))
