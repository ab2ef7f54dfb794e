"""Splitting a class of sets until nothing of it can be split.

The records of a class lie end to end in one of two buffers; a split moves them to the same place of
the other, side by side. An item that fewer than k of a side have will never be published there, and
one that all of it have is published already: both are left behind by the move. What remains is
numbered anew within the class, in the same order, so that the work for a class depends on what is
in it, not on how many items there are in all. (A large side that would leave little behind is moved
as it is, which is faster.) Only the smaller side is counted; the other is what remains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...arrays import Bools, Floats, Ints
from ...neighbours.blocks import select
from ..rows import Items
from ._choice import (
    ENTROPY,
    EVEN,
    HORIZON,
    by_count,
    by_entropy,
    by_utility,
    implied_gains,
    relaxed_item,
)

Lengths = NDArray[Any]
"""int32, or int64 beyond two thousand million records: lengths, and numbers of records."""
Buffer = tuple[Items, Lengths, Lengths]
"""Items end to end, each record's length, and its number; two rows each."""
PLAIN = 256  # records: a class up to this size never keeps what is no longer live
Classes = tuple[Ints, Ints]
"""(first, end, place of the items, row of the buffer, live items); names and counts of the live
items in two rows. Several classes lie end to end."""


# Slices, and places that cannot be negative, make these loops several times faster.


@njit(cache=True, nogil=True)
def _copy(one: Items, to: Items) -> None:
    for i in range(one.size):
        to[i] = one[i]


@njit(cache=True, nogil=True)
def tally(record: Items, counts: Ints) -> None:
    """Add a record to the counts of its items."""
    for i in range(record.size):
        counts[record[i]] += 1


@njit(cache=True, nogil=True)
def translate(record: Items, new: NDArray[np.int32], to: Items) -> int:
    """Write a record's items with new numbers, those without one left out; how many there are."""
    put = np.uint64(0)
    for i in range(record.size):
        code = new[record[i]]
        to[put] = code
        put += np.uint64(code >= 0)
    return np.int64(put)  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _flag(items: Items, lens: Lengths, at: int, item: int, with_item: Bools) -> None:
    e = at
    for i in range(lens.size):
        stop = e + lens[i]
        f = e
        while f < stop and items[f] < item:
            f += 1
        with_item[i] = f < stop and items[f] == item
        e = stop


@njit(cache=True, nogil=True)
def _stay(
    items: Items, lens: Lengths, at: int, names: Ints, counts: Ints, k: int, utilities: Floats,
    stay: int, with_item: Bools,
) -> None:  # fmt: skip
    """Take the flag off `stay` of the flagged: those with least to lose, the first of equals."""
    n = lens.size
    weights = np.empty(n)
    e = at
    for i in range(n):
        stop, weights[i] = e + lens[i], np.inf
        if with_item[i]:
            total = 0.0
            for f in range(e, stop):
                if k <= counts[items[f]] < n:
                    total += utilities[names[items[f]]]
            weights[i] = total
        e = stop
    sorted_enough = weights.copy()
    select(sorted_enough, np.empty(n, dtype=np.int64), 0, n, stay - 1)
    bound, equals = sorted_enough[stay - 1], stay
    for i in range(n):
        equals -= weights[i] < bound
    for i in range(n):
        if weights[i] < bound:
            with_item[i] = False
        elif weights[i] == bound and with_item[i] and equals > 0:
            with_item[i] = False
            equals -= 1


@njit(cache=True, nogil=True)
def _count(items: Items, lens: Lengths, at: int, flags: Bools, side: bool, counts: Ints) -> None:
    counts[:] = 0
    e = at
    for i in range(lens.size):
        stop = e + lens[i]
        if flags[i] == side:
            tally(items[e:stop], counts)
        e = stop


@njit(cache=True, nogil=True)
def renumber(counts: Ints, n: int, k: int, relaxed: bool, new: NDArray[np.int32]) -> int:
    """Numbers for the items that stay live in a part of n, -1 for others; returns how many do.

    None do if the part cannot be split any more.
    """
    live, allowed = 0, False
    for a in range(counts.size):
        new[a] = -1
        if n >= 2 * k and k <= counts[a] < n:
            new[a] = live
            live += 1
            allowed = allowed or relaxed or n - counts[a] >= k
    return live if allowed else 0


@njit(cache=True, nogil=True)
def _plain(counts: Ints, new: NDArray[np.int32], n: int, k: int) -> bool:
    """Whether a side is so large, and so few of its items are left behind, that all may stay."""
    if n <= max(PLAIN, HORIZON * k):
        return False
    gone, kept = 0, 0
    for a in range(counts.size):
        if new[a] < 0:
            gone += counts[a]
        else:
            kept += counts[a]
    return 8 * gone < kept


@njit(cache=True, nogil=True)
def _take(
    items: Items, lens: Lengths, ids: Lengths, at: int, flags: Bools, side: bool,
    new: NDArray[np.int32], plain: bool, live: int, to_items: Items, to_lens: Lengths,
    to_ids: Lengths, put: int,
) -> int:  # fmt: skip
    """Move the records of one side, without items if none is live; returns where their items end.

    If not `plain`, an item left behind is written to the next place all the same, and then
    overwritten; so one place behind the last may be written to.
    """
    e, i, to = at, 0, 0
    while i < lens.size:
        if flags[i] != side:
            e += lens[i]
            i += 1
            continue
        begun = e
        while i < lens.size and flags[i] == side:
            stop = e + lens[i]
            to_ids[to] = ids[i]
            if plain:
                to_lens[to] = lens[i]
            elif live > 0:
                to_lens[to] = translate(items[e:stop], new, to_items[put : put + stop - e])
                put += to_lens[to]
            e = stop
            to += 1
            i += 1
        if plain:
            _copy(items[begun:e], to_items[put : put + e - begun])
            put += e - begun
    return put


@njit(cache=True, nogil=True)
def _label(ids: Lengths, first: int, end: int, labels: Ints) -> None:
    for i in range(first, end):
        labels[ids[i]] = first


@njit(cache=True, nogil=True)
def grow(
    all_items: Items, all_lens: Lengths, all_ids: Lengths, labels: Ints, root: Ints,
    root_items: Ints, k: int, choice: int, certain: Floats | None, lookahead: bool, relaxed: bool,
    utilities: Floats, table: Floats, once: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Split a class until nothing is left to split, or `once`; returns what remains to be split.

    A record's label is the place of the first record of its class. `certain` is the table where
    items are chosen by entropy.
    """
    most, records, depth = root[4], root[1] - root[0], 3
    while (1 << depth) < records:
        depth += 1
    # The larger side waits while the smaller is split: so few classes ever wait.
    stack = np.empty((depth + 3, 5), dtype=np.int64)
    kept = np.empty((2, (depth + 3) * most), dtype=np.int64)
    for field in range(5):
        stack[0, field] = root[field]
    for a in range(most):
        kept[0, a], kept[1, a] = root_items[0, a], root_items[1, a]
    top, used = 1, most
    flags = np.empty(records, dtype=np.bool_)
    own, parts = np.empty((2, most), dtype=np.int64), np.empty((2, most), dtype=np.int64)
    all_new, sides = np.empty((2, most), dtype=np.int32), np.empty((2, 5), dtype=np.int64)
    while top > 0:
        top -= 1
        first, end, at = stack[top, 0], stack[top, 1], stack[top, 2]
        side, m = stack[top, 3], stack[top, 4]
        n = end - first
        used -= m
        names, counts = own[0, :m], own[1, :m]
        for a in range(m):
            names[a], counts[a] = kept[0, used + a], kept[1, used + a]
        items, lens, ids = all_items[side], all_lens[side, first:end], all_ids[side, first:end]
        to_items, to_lens, to_ids = all_items[1 - side], all_lens[1 - side], all_ids[1 - side]
        item, stay = -1, 0
        if n >= 2 * k and m > 0:
            if certain is not None:
                item = by_entropy(items, lens, at, counts, n, k, certain)
            elif choice == EVEN:
                item = by_count(counts, n, k)
            else:
                implied = np.empty(0)
                if lookahead and n <= HORIZON * k:
                    implied = implied_gains(items, lens, at, counts, k, names, utilities)
                item = by_utility(counts, n, k, names, utilities, implied, table)
            if item < 0 and relaxed:
                item = relaxed_item(counts, n, k, names, utilities, choice)
                if item >= 0:
                    stay = k - (n - counts[item])
        if item < 0:
            _label(all_ids[side], first, end, labels)
            continue
        with_item = flags[:n]
        _flag(items, lens, at, item, with_item)
        if stay > 0:
            _stay(items, lens, at, names, counts, k, utilities, stay, with_item)
        having = counts[item] - stay
        fewer = 0 if 2 * having <= n else 1  # side 0 has the item, side 1 lacks it
        if max(having, n - having) >= 2 * k:
            few = parts[fewer, :m]
            _count(items, lens, at, with_item, fewer == 0, few)
            for a in range(m):
                parts[1 - fewer, a] = counts[a] - few[a]
        put = at
        for turn in range(2):
            low, high = (first, first + having) if turn == 0 else (first + having, end)
            part, new = parts[turn, :m], all_new[turn, :m]
            live = renumber(part, high - low, k, relaxed, new)
            # A large side that loses little keeps its numbers, and is moved in long runs.
            plain = live > 0 and choice != ENTROPY and _plain(part, new, high - low, k)
            sides[turn, 0], sides[turn, 1], sides[turn, 2] = low, high, put
            sides[turn, 3], sides[turn, 4] = 1 - side, m if plain else live
            put = _take(
                items, lens, ids, at, with_item, turn == 0, new, plain, live, to_items,
                to_lens[low:], to_ids[low:], put,
            )  # fmt: skip
            if live == 0:
                _label(to_ids, low, high, labels)
            elif plain:
                for a in range(m):
                    new[a] = a
            else:
                put += 1
        for turn in (1 - fewer, fewer):
            if sides[turn, 4] > 0:
                for field in range(5):
                    stack[top, field] = sides[turn, field]
                top += 1
                for a in range(m):
                    if all_new[turn, a] >= 0:
                        kept[0, used], kept[1, used] = names[a], parts[turn, a]
                        used += 1
        if once:
            break
    return stack[:top], kept[:, :used]
