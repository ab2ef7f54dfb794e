"""(k,1)-anonymity by growing a set of k records around each (Gionis, Mazza & Tassa 2008; Podgursky
2011, algorithm 9), among all records or among those that share a bucket of a hash table.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ..lsh import LshTables
from ..rare_itemsets import inverted
from ..rows import Items, Progress, distinct_sets, even_cuts, grouped, in_parts, take_rows
from ._grow import grow


@njit(cache=True, nogil=True)
def _all(
    starts: Ints, items: Items, utilities: Floats, k: int, first: Ints, ends: Ints, rows: Ints,
    held: Ints, holders: Ints, low: int, high: int, members: Ints,
) -> None:  # fmt: skip
    """Fill the members of all copies of the distinct records low..high."""
    m = first.size
    copies = np.diff(ends)
    most = 1
    for g in range(low, high):
        most = max(most, starts[first[g] + 1] - starts[first[g]])
    room = np.empty(m * ((most + 63) // 64), dtype=np.uint64)
    worths, bounds = np.empty((8 * ((most + 63) // 64), 256)), np.empty(m)
    picks, chosen = np.empty(most, dtype=np.int64), np.empty(k, dtype=np.int64)
    for g in range(low, high):
        begin, stop = starts[first[g]], starts[first[g] + 1]
        width = max((stop - begin + 63) // 64, 1)
        masks = room[: m * width].reshape((m, width))
        masks[:] = 0
        own = np.empty(stop - begin)
        for e in range(begin, stop):
            item, at = np.int64(items[e]), e - begin
            own[at] = utilities[item]
            bit = np.uint64(1) << np.uint64(at & 63)
            for h in range(held[item], held[item + 1]):
                masks[holders[h], at >> 6] |= bit
        common = masks[g].copy()
        used = grow(masks, copies, own, k, worths, bounds, common, picks)
        found = 0
        for p in range(min(used, k)):
            chosen[found] = rows[ends[picks[p]]]
            found += 1
        for j in range(m):
            if found == k:
                break
            whole = True
            for w in range(width):
                whole = whole and masks[j, w] & common[w] == common[w]
            if not whole:
                continue
            # The first copy may have been chosen for what it left in common.
            picked = False
            for p in range(used):
                picked = picked or picks[p] == j
            for r in range(ends[j] + picked, ends[j + 1]):
                if found < k:
                    chosen[found] = rows[r]
                    found += 1
        for r in range(ends[g], ends[g + 1]):
            _place(members, rows[r], chosen, found, k)


@njit(cache=True, nogil=True)
def _place(members: Ints, row: int, chosen: Ints, found: int, k: int) -> None:
    """A record's set: itself and the first of those chosen."""
    members[row, 0] = row
    at = 1
    for p in range(found):
        if at < k and chosen[p] != row:
            members[row, at] = chosen[p]
            at += 1


@njit(cache=True, nogil=True)
def _near(
    starts: Ints, items: Items, utilities: Floats, k: int, bucket: Ints, order: Ints,
    bounds_flat: Ints, bounds_at: Ints, most_near: int, extra: Ints, low: int, high: int,
    members: Ints,
) -> None:  # fmt: skip
    """Fill the members of records low..high from their buckets, `extra` where those are too few."""
    n, tables = starts.size - 1, bucket.shape[0]
    most = 1
    for i in range(low, high):
        most = max(most, starts[i + 1] - starts[i])
    per_table = max(most_near // tables, k)
    room = tables * per_table + 2 * k + 1
    near = np.empty(room, dtype=np.int64)
    mask_room = np.empty(room * ((most + 63) // 64), dtype=np.uint64)
    worths, values = np.empty((8 * ((most + 63) // 64), 256)), np.empty(room)
    picks, chosen = np.empty(most, dtype=np.int64), np.empty(k, dtype=np.int64)
    copies = np.ones(room, dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int32)
    position = np.full(utilities.size, -1, dtype=np.int64)
    for i in range(low, high):
        near[0], m = i, 1
        seen[i] = i - low
        for t in range(tables):
            b = bounds_at[t] + bucket[t, i]
            begin, stop = bounds_flat[b], bounds_flat[b + 1]
            size = stop - begin
            # Of a large bucket only a run, from a place that differs from record to record.
            shift = 0 if size <= per_table else extra[(i + t) % extra.size] % size
            for h in range(min(size, per_table)):
                at = begin + shift + h
                j = order[t, at if at < stop else at - size]
                if seen[j] != i - low:
                    seen[j] = i - low
                    near[m] = j
                    m += 1
        spare = i
        while m < min(k, n):
            j = extra[spare % extra.size]
            spare += 1
            if seen[j] != i - low:
                seen[j] = i - low
                near[m] = j
                m += 1
        begin, stop = starts[i], starts[i + 1]
        width = max((stop - begin + 63) // 64, 1)
        own = np.empty(stop - begin)
        for e in range(begin, stop):
            own[e - begin] = utilities[items[e]]
            position[items[e]] = e - begin
        masks = mask_room[: m * width].reshape((m, width))
        masks[:] = 0
        for c in range(m):
            for e in range(starts[near[c]], starts[near[c] + 1]):
                at = position[items[e]]
                if at >= 0:
                    masks[c, at >> 6] |= np.uint64(1) << np.uint64(at & 63)
        for e in range(begin, stop):
            position[items[e]] = -1
        common = masks[0].copy()
        used = grow(masks, copies[:m], own, k, worths, values, common, picks)
        found = 0
        for p in range(min(used, k)):
            chosen[found] = near[picks[p]]
            found += 1
        for c in range(1, m):
            if found == k:
                break
            whole = True
            for w in range(width):
                whole = whole and masks[c, w] & common[w] == common[w]
            for p in range(used):
                whole = whole and picks[p] != c
            if whole:
                chosen[found] = near[c]
                found += 1
        _place(members, i, chosen, found, k)


def k1_all(
    starts: Ints, items: Items, utilities: Floats, k: int, *, threads: int | None = None,
    progress: Progress | None = None,
) -> Ints:  # fmt: skip
    """int64[n, k]: each record, and those that joined it, the best of all records each time.

    What the k have in common is what the algorithm would publish. `threads` never alters it.

    >>> k1_all(np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 1], np.uint16), np.ones(2), 2).tolist()
    [[0, 2], [1, 0], [2, 0]]
    """
    n = starts.size - 1
    first, member = distinct_sets(starts, items)
    rows, ends = grouped(member, first.size)
    held, holders, _ = inverted(*take_rows(starts, items, first), utilities.size)
    members = np.empty((n, k), dtype=np.int64)

    def task(low: int, high: int) -> None:
        _all(starts, items, utilities, k, first, ends, rows, held, holders, low, high, members)

    in_parts(task, even_cuts(first.size, 64), threads, progress)
    return members


def k1_near(
    starts: Ints, items: Items, utilities: Floats, k: int, tables: LshTables, most: int,
    rng: np.random.Generator, *, threads: int | None = None, progress: Progress | None = None,
) -> Ints:  # fmt: skip
    """The same among at most about `most` records that share a bucket with it in some table."""
    n = starts.size - 1
    extra = rng.permutation(n)
    flat = np.concatenate(tables.bounds)
    at = np.concatenate(([0], np.cumsum([bounds.size for bounds in tables.bounds]))).astype(
        np.int64
    )
    members = np.empty((n, k), dtype=np.int64)

    def task(low: int, high: int) -> None:
        _near(
            starts, items, utilities, k, tables.bucket, tables.order, flat, at, most, extra, low,
            high, members,
        )  # fmt: skip

    in_parts(task, even_cuts(n, max(64, n // 20_000)), threads, progress)
    return members
