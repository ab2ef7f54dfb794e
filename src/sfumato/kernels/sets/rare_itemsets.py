"""Combinations of at most m items that occur, but in fewer than k sets: what k^m-anonymity forbids.

Combinations grow from their smallest item on. Those of a prefix are counted in one pass over the
sets that hold it, on the items behind it; a prefix that is rare itself is reported and grown no
further: whoever holds more of it holds a rare combination already. Terrovitis, Mamoulis & Kalnis
2008.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import cores
from .rows import Items, frozen

Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def inverted(starts: Ints, items: Items, d: int) -> tuple[Ints, Ints, Ints]:
    """For each item where it occurs: `heads[a]:heads[a + 1]` in the records and places behind."""
    heads = np.zeros(d + 1, dtype=np.int64)
    for e in range(items.size):
        heads[np.int64(items[e]) + 1] += 1
    for a in range(d):
        heads[a + 1] += heads[a]
    at = heads[:-1].copy()
    records, places = np.empty(items.size, np.int64), np.empty(items.size, np.int64)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            item = np.int64(items[e])
            records[at[item]] = i
            places[at[item]] = e
            at[item] += 1
    return heads, records, places


@njit(cache=True, nogil=True)
def _drop(
    starts: Ints, items: Items, record: int, path: Ints, depth: int, place: int, worth: Floats,
    drops: Flags,
) -> None:  # fmt: skip
    """Mark the occurrence that is worth least of a rare combination in one record."""
    least, chosen = worth[items[place]], place
    for p in range(depth):
        if worth[path[p]] < least:
            least = worth[path[p]]
            low, high = starts[record], starts[record + 1]
            while low < high:
                middle = (low + high) // 2
                if np.int64(items[middle]) < path[p]:
                    low = middle + 1
                else:
                    high = middle
            chosen = low
    drops[chosen] = True


@njit(cache=True, nogil=True)
def _list(listed: Ints, tally: Ints, path: Ints, depth: int, last: np.int64 | int) -> None:
    """Note a rare combination while there is room."""
    at = tally[3]
    if at < listed.shape[0]:
        listed[at, :depth] = path[:depth]
        listed[at, depth] = last
        tally[3] += 1


@njit(cache=True, nogil=True)
def _extend(
    starts: Ints, items: Items, records: Ints, places: Ints, path: Ints, depth: int, m: int, k: int,
    count: Ints, worth: Floats, marks: Flags, drops: Flags, tally: Ints, listed: Ints,
) -> tuple[Ints, Ints, Ints, Ints]:  # fmt: skip
    """Count what follows path[:depth] in the records that hold it; `places` is its last item.

    Returns the frequent extensions that are to be extended again: their items, where the list of
    each begins, and the lists of records and places. `count` comes and goes as zeros.
    """
    total = 0
    for r in range(records.size):
        for e in range(places[r] + 1, starts[records[r] + 1]):
            count[np.int64(items[e])] += 1
            total += 1
    touched = np.empty(min(total, count.size), dtype=np.int64)
    found, rare, frequent, entries = 0, 0, 0, 0
    for r in range(records.size):
        for e in range(places[r] + 1, starts[records[r] + 1]):
            b = np.int64(items[e])
            if count[b] > 0:
                touched[found] = b
                found += 1
                tally[1] = min(tally[1], count[b])
                if count[b] < k:
                    _list(listed, tally, path, depth, b)
                    rare += 1
                else:
                    frequent += 1
                    entries += count[b]
                count[b] = -count[b]  # it has been seen
    tally[0] += rare
    tally[2] += found
    if rare:
        for r in range(records.size):
            for e in range(places[r] + 1, starts[records[r] + 1]):
                if -count[np.int64(items[e])] < k:
                    marks[records[r]] = True
                    _drop(starts, items, records[r], path, depth, e, worth, drops)
    if depth + 1 >= m:
        frequent, entries = 0, 0
    kept, bounds = np.empty(frequent, np.int64), np.zeros(frequent + 1, np.int64)
    next_records, next_places = np.empty(entries, np.int64), np.empty(entries, np.int64)
    used = 0
    for t in range(found):
        size = -count[touched[t]]
        count[touched[t]] = -1
        if size >= k and frequent:
            kept[used] = touched[t]
            bounds[used + 1] = bounds[used] + size
            count[touched[t]] = used
            used += 1
    if frequent:
        # The lists of all extensions, sorted by their next item in one pass.
        at = bounds[:-1].copy()
        for r in range(records.size):
            for e in range(places[r] + 1, starts[records[r] + 1]):
                t = count[np.int64(items[e])]
                if t >= 0:
                    next_records[at[t]] = records[r]
                    next_places[at[t]] = e
                    at[t] += 1
    for t in range(found):
        count[touched[t]] = 0
    return kept, bounds, next_records, next_places


@njit(cache=True, nogil=True)
def _from_items(
    starts: Ints, items: Items, heads: Ints, records: Ints, places: Ints, first: int, step: int,
    m: int, k: int, worth: Floats, marks: Flags, drops: Flags, tally: Ints, listed: Ints,
) -> None:  # fmt: skip
    """Every combination whose smallest item is first, first + step, first + 2 step ...

    Depth first, with a stack of its own: compiled code that calls itself cannot be kept on disk.
    `tally` becomes the rare combinations, the fewest sets of one that occurs, all looked at, and
    those on `listed`; a list that is full ends the search.
    """
    d = heads.size - 1
    count = np.zeros(d, dtype=np.int64)
    path = np.empty(m + 1, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    kept = [nothing for _ in range(m + 1)]
    bounds = [nothing for _ in range(m + 1)]
    rows = [nothing for _ in range(m + 1)]
    ends = [nothing for _ in range(m + 1)]
    turn = np.zeros(m + 1, dtype=np.int64)
    for a in range(first, d, step):
        size = heads[a + 1] - heads[a]
        if size == 0:
            continue
        if 0 < listed.shape[0] == tally[3]:
            return
        tally[2] += 1
        tally[1] = min(tally[1], size)
        if size < k:
            tally[0] += 1
            _list(listed, tally, path, 0, a)
            for e in range(heads[a], heads[a + 1]):
                marks[records[e]] = True
                drops[places[e]] = True
            continue
        if m == 1:
            continue
        path[0], rows[0], ends[0] = a, records[heads[a] : heads[a + 1]], places[heads[a] :]
        depth, low, high = 0, 0, size
        while True:
            depth += 1
            kept[depth], bounds[depth], rows[depth], ends[depth] = _extend(
                starts, items, rows[depth - 1][low:high], ends[depth - 1][low:high], path, depth,
                m, k, count, worth, marks, drops, tally, listed,
            )  # fmt: skip
            turn[depth] = 0
            while depth > 0 and turn[depth] == kept[depth].size:
                depth -= 1
            if depth == 0:
                break
            t = turn[depth]
            turn[depth] += 1
            path[depth] = kept[depth][t]
            low, high = bounds[depth][t], bounds[depth][t + 1]


@dataclass(frozen=True, eq=False)
class Rare:
    """What was found."""

    combinations: int
    """Rare combinations that are frequent without their last item: each is seen once."""
    least: int
    """The fewest sets that hold a combination that occurs; 0 where nothing occurs."""
    looked_at: int
    records: np.ndarray
    """bool: which records hold a rare combination."""
    drops: np.ndarray
    """bool, for each occurrence: of every rare combination in a record the one worth least."""


def rare_itemsets(
    starts: Ints, items: Items, d: int, k: int, m: int, worth: Floats | None = None
) -> Rare:
    """Combinations of 1..m items that occur in 1..k-1 sets.

    `worth` says which item of a rare combination to give up, for `drops`: the one of least worth,
    and of equals the last.
    """
    starts, items = frozen(starts), frozen(items)
    heads, records, places = inverted(starts, items, d)
    parts = cores()
    worth = np.ones(d) if worth is None else np.ascontiguousarray(worth, dtype=np.float64)
    marks = np.zeros((parts, starts.size - 1), dtype=np.bool_)
    drops = np.zeros((parts, items.size), dtype=np.bool_)
    tally = np.zeros((parts, 4), dtype=np.int64)
    none = np.empty((0, m), dtype=np.int64)
    tally[:, 1] = np.iinfo(np.int64).max

    def run(part: int) -> None:
        _from_items(
            starts, items, heads, records, places, part, parts, m, k, worth, marks[part],
            drops[part], tally[part], none,
        )  # fmt: skip

    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(run, range(parts)))
    looked = int(tally[:, 2].sum())
    least = int(tally[:, 1].min()) if looked else 0
    held, gone = np.logical_or.reduce(marks), np.logical_or.reduce(drops)
    return Rare(int(tally[:, 0].sum()), least, looked, held, gone)


def listed_itemsets(starts: Ints, items: Items, d: int, k: int, m: int, most: int) -> Ints:
    """int64 (found, m): the first `most` or so of them, sorted, -1 behind the last item of each.

    >>> starts, items = np.array([0, 2, 4, 5]), np.array([0, 1, 0, 1, 2], dtype=np.uint16)
    >>> listed_itemsets(starts, items, 3, 2, 2, 9).tolist()
    [[2, -1]]
    """
    starts, items = frozen(starts), frozen(items)
    listed = np.full((most, m), -1, dtype=np.int64)
    tally = np.array([0, np.iinfo(np.int64).max, 0, 0])
    marks = np.zeros(starts.size - 1, dtype=np.bool_)
    drops = np.zeros(items.size, dtype=np.bool_)
    # One after the other: which are the first must not depend on the number of cores.
    _from_items(
        starts, items, *inverted(starts, items, d), 0, 1, m, k, np.ones(d), marks, drops, tally,
        listed,
    )  # fmt: skip
    return np.unique(listed[: tally[3]], axis=0)
