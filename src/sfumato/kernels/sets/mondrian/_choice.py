"""Which item a class of sets is split by.

A class of n records has live items 0..m-1: at least k records have each, but not all. A split by
an item parts those c records that have it from the others; it is allowed if both parts keep k. Of
equal splits the one by the smallest item is taken. The order of the records does not matter.

- ``even``: the item that most records have.
- ``entropy``: the split after which the live items are the most certain. An item that c of n
  records have counts n H(c / n), with H the binary entropy; the least sum over both sides wins.
- ``utility``: the split that gains most for the room it uses up. A class of n records that may be
  split further has room for n ln(n / k) nats: each record's class can shrink by n / k. A class
  below 2k has none. The gain is c times the item's utility: what is published more at once.
  ``lookahead`` adds every other item that becomes common to one of the sides by the split, in
  classes of at most 16k records: in larger ones it would cut off the first groups of k that have
  much in common, whose records find more in common with others later.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ..rows import Items

EVEN, ENTROPY, UTILITY = 0, 1, 2
TABLE = 1 << 16  # sizes whose logarithms are kept
HORIZON = 16  # times k: classes up to this size look ahead
ROOM = 1 << 21  # numbers that a lookahead or the pairs of items take at a time


def logarithms(n: int) -> Floats:
    """m ln(m) for m = 0, 1, ..., as far as a table is worth it."""
    return np.array([m * math.log(max(m, 1)) for m in range(min(n, TABLE) + 1)])


@njit(cache=True, nogil=True)
def _n_log_n(table: Floats, size: int) -> float:
    return table[size] if size < table.size else size * math.log(size)


@njit(cache=True, nogil=True)
def room(table: Floats, size: int, k: int) -> float:
    """How many nats a class of so many records can still be split by, all records together."""
    return _n_log_n(table, size) - size * math.log(k) if size >= 2 * k else 0.0


@njit(cache=True, nogil=True)
def by_count(counts: Ints, n: int, k: int) -> int:
    """The most frequent item that may split; -1 if there is none."""
    best, most = -1, 0
    for a in range(counts.size):
        if most < counts[a] <= n - k and counts[a] >= k:
            best, most = a, counts[a]
    return best


@njit(cache=True, nogil=True)
def by_utility(
    counts: Ints, n: int, k: int, names: Ints, utilities: Floats, implied: Floats, table: Floats
) -> int:
    """The item whose split gains most for the room it takes; -1 if none gains anything."""
    best, most, whole = -1, 0.0, room(table, n, k)
    for a in range(counts.size):
        c = counts[a]
        if c < k or n - c < k:
            continue
        gain = c * utilities[names[a]]
        if implied.size > 0:
            gain += implied[a]
        if gain <= 0.0:
            continue
        score = gain / (whole - room(table, c, k) - room(table, n - c, k))
        if score > most:
            best, most = a, score
    return best


@njit(cache=True, nogil=True)
def relaxed_item(counts: Ints, n: int, k: int, names: Ints, utilities: Floats, choice: int) -> int:
    """The item that n - k of those who have it part by, where no split is allowed; -1: none.

    It is the most frequent one, or the one with the greatest utility over all who have it.
    """
    best, most = -1, 0.0
    for a in range(counts.size):
        worth = float(counts[a])
        if choice == UTILITY:
            worth *= utilities[names[a]]
        if k <= counts[a] < n and worth > most:
            best, most = a, worth
    return best


@njit(cache=True, nogil=True)
def by_entropy(
    items: Items, lens: Items, at: int, counts: Ints, n: int, k: int, table: Floats
) -> int:
    """The split after which the items are the most certain; -1 if none is allowed.

    The records lie end to end in `items` from `at` on; `lens` says how long each is.
    """
    m = counts.size
    best, least = -1, np.inf
    wide = max(1, ROOM // max(m, 1))
    both = np.zeros((min(wide, m), m), dtype=np.int64)
    for low in range(0, m, wide):
        high = min(low + wide, m)
        both[:] = 0
        e = at
        for i in range(lens.size):
            stop = e + lens[i]
            for f in range(e, stop):
                if low <= items[f] < high:
                    row = both[items[f] - low]
                    for g in range(e, stop):
                        row[items[g]] += 1
            e = stop
        for a in range(low, high):
            c = counts[a]
            if c < k or n - c < k:
                continue
            with_all, without_all = _n_log_n(table, c), _n_log_n(table, n - c)
            total = 0.0
            for b in range(m):
                x, y = both[a - low, b], counts[b] - both[a - low, b]
                total += with_all - _n_log_n(table, x) - _n_log_n(table, c - x)
                total += without_all - _n_log_n(table, y) - _n_log_n(table, n - c - y)
                if total >= least:
                    break
            if total < least:
                best, least = a, total
    return best


@njit(cache=True, nogil=True)
def implied_gains(
    items: Items, lens: Items, at: int, counts: Ints, k: int, names: Ints, utilities: Floats
) -> Floats:
    """What a split by each item gains beside the item itself: utility of all that becomes common.

    Lists of what may still be common to a side shrink record by record, and most are empty soon.
    """
    n, m = lens.size, counts.size
    found = np.zeros(m)
    longest, most = 1, 0
    for i in range(n):
        longest = max(longest, lens[i])
    for a in range(m):
        most = max(most, counts[a])
    wide = max(1, ROOM // longest)
    lists = np.empty((min(wide, m), longest), dtype=np.int32)
    size = np.empty(min(wide, m), dtype=np.int64)
    has = np.zeros(m, dtype=np.bool_)
    active = np.empty(min(wide, m), dtype=np.int64)
    for low in range(0, m, wide):
        high = min(low + wide, m)
        for a in range(low, high):  # -1: no record seen yet
            size[a - low] = -1 if counts[a] >= k and n - counts[a] >= k else 0
        open_lists = high - low
        e = at
        for i in range(n):
            stop = e + lens[i]
            for f in range(e, stop):
                b = int(np.int64(items[f]))
                if b < low or b >= high or size[b - low] == 0:
                    continue
                size[b - low] = _narrowed(
                    lists[b - low], size[b - low], items, e, stop, b, counts, counts[b]
                )
                if size[b - low] == 0:
                    open_lists -= 1
            e = stop
            if open_lists == 0:
                break
        for a in range(low, high):
            for s in range(size[a - low]):
                found[a] += counts[a] * utilities[names[lists[a - low, s]]]
        # The side without: an item can be common to it only if enough records have the item.
        used = 0
        for a in range(low, high):
            if counts[a] >= k and n - counts[a] >= k and counts[a] + most >= n:
                active[used] = a
                size[a - low] = -1
                used += 1
        e = at
        for i in range(n):
            if used == 0:
                break
            stop = e + lens[i]
            for f in range(e, stop):
                has[items[f]] = True
            kept = 0
            for t in range(used):
                a = active[t]
                if not has[a]:
                    size[a - low] = _narrowed(
                        lists[a - low], size[a - low], items, e, stop, a, counts, n - counts[a]
                    )
                if size[a - low] != 0:
                    active[kept] = a
                    kept += 1
            used = kept
            for f in range(e, stop):
                has[items[f]] = False
            e = stop
        for t in range(used):
            a = active[t]
            for s in range(size[a - low]):
                found[a] += (n - counts[a]) * utilities[names[lists[a - low, s]]]
    return found


@njit(cache=True, nogil=True)
def _narrowed(
    held: Items, size: int, items: Items, e: int, stop: int, a: int, counts: Ints, least: int
) -> int:
    """Keep of a list what the record items[e:stop] has; a first record (size -1) begins it."""
    kept = 0
    if size < 0:
        for f in range(e, stop):
            if items[f] != a and counts[items[f]] >= least:
                held[kept] = items[f]
                kept += 1
        return kept
    f = e
    for s in range(size):
        while f < stop and items[f] < held[s]:
            f += 1
        if f < stop and items[f] == held[s]:
            held[kept] = held[s]
            kept += 1
    return kept
