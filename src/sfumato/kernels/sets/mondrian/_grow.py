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

from ...arrays import Floats, Ints
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
"""Items end to end, each record's length, and its number."""
PLAIN = 256  # records: a class up to this size never keeps what is no longer live
Classes = tuple[Ints, Ints, Ints]
"""int64[classes, 5] of (first, end, place of the items, buffer, live items), names, counts."""


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
def _item_of(
    items: Items, lens: Lengths, at: int, names: Ints, counts: Ints, k: int,
    choice: int, lookahead: bool, utilities: Floats, table: Floats,
) -> int:  # fmt: skip
    n = lens.size
    if choice == EVEN:
        return by_count(counts, n, k)
    if choice == ENTROPY:
        return by_entropy(items, lens, at, counts, n, k, table)
    implied = np.empty(0)
    if lookahead and n <= HORIZON * k:
        implied = implied_gains(items, lens, at, counts, k, names, utilities)
    return by_utility(counts, n, k, names, utilities, implied, table)


@njit(cache=True, nogil=True)
def _flag(items: Items, lens: Lengths, at: int, item: int, with_item: NDArray[np.bool_]) -> None:
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
    stay: int, with_item: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Take the flag off `stay` of the flagged: those with least to lose, the first of equals."""
    n = lens.size
    weights = np.full(n, np.inf)
    e = at
    for i in range(n):
        stop = e + lens[i]
        if with_item[i]:
            total = 0.0
            for f in range(e, stop):
                if k <= counts[items[f]] < n:
                    total += utilities[names[items[f]]]
            weights[i] = total
        e = stop
    bound = np.sort(weights)[stay - 1]
    equals = stay
    for i in range(n):
        equals -= weights[i] < bound
    for i in range(n):
        if weights[i] < bound:
            with_item[i] = False
        elif weights[i] == bound and with_item[i] and equals > 0:
            with_item[i] = False
            equals -= 1


@njit(cache=True, nogil=True)
def _count(
    items: Items, lens: Lengths, at: int, flags: NDArray[np.bool_], side: bool, counts: Ints
) -> None:
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
    items: Items, lens: Lengths, ids: Lengths, at: int, flags: NDArray[np.bool_], side: bool,
    new: NDArray[np.int32], plain: bool, to_items: Items, to_lens: Lengths, to_ids: Lengths,
    put: int,
) -> int:  # fmt: skip
    """Move the records of one side; returns the end of their items.

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
            to_ids[to] = ids[i]
            if plain:
                to_lens[to] = lens[i]
                e += lens[i]
            else:
                stop = e + lens[i]
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
def _take_ids(ids: Lengths, flags: NDArray[np.bool_], side: bool, to_ids: Lengths) -> None:
    to = 0
    for i in range(ids.size):
        if flags[i] == side:
            to_ids[to] = ids[i]
            to += 1


@njit(cache=True, nogil=True)
def _label(ids: Lengths, first: int, end: int, labels: Ints) -> None:
    for i in range(first, end):
        labels[ids[i]] = first


@njit(cache=True, nogil=True)
def grow(
    one: Buffer, other: Buffer, labels: Ints, root: Classes, k: int, choice: int, lookahead: bool,
    relaxed: bool, utilities: Floats, table: Floats, once: bool,
) -> Classes:  # fmt: skip
    """Split a class until nothing is left to split, or `once`; returns what remains to be split.

    A record's label is the place of the first record of its class.
    """
    most = root[1].size
    records = root[0][0, 1] - root[0][0, 0]
    depth = 3
    while (1 << depth) < records:
        depth += 1
    # The larger side waits while the smaller is split: so few classes ever wait.
    stack = np.empty((depth + 3, 5), dtype=np.int64)
    kept_names = np.empty((depth + 3) * most, dtype=np.int64)
    kept_counts = np.empty((depth + 3) * most, dtype=np.int64)
    stack[0], top, used = root[0][0], 1, most
    kept_names[:most], kept_counts[:most] = root[1], root[2]
    flags = np.empty(records, dtype=np.bool_)
    all_names, all_counts = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    few, many = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    new_with, new_without = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    while top > 0:
        top -= 1
        first, end, at, side, m = stack[top]
        n = end - first
        used -= m
        names, counts = all_names[:m], all_counts[:m]
        names[:], counts[:] = kept_names[used : used + m], kept_counts[used : used + m]
        items, all_lens, ids = one if side == 0 else other
        to_items, to_lens, to_ids = other if side == 0 else one
        lens = all_lens[first:end]
        item, stay = -1, 0
        if n >= 2 * k and m > 0:
            item = _item_of(items, lens, at, names, counts, k, choice, lookahead, utilities, table)
            if item < 0 and relaxed:
                item = relaxed_item(counts, n, k, names, utilities, choice)
                if item >= 0:
                    stay = k - (n - counts[item])
        if item < 0:
            _label(ids, first, end, labels)
            continue
        with_item = flags[:n]
        _flag(items, lens, at, item, with_item)
        if stay > 0:
            _stay(items, lens, at, names, counts, k, utilities, stay, with_item)
        having = counts[item] - stay
        lacking = n - having
        fewer_with = having <= lacking
        if max(having, lacking) >= 2 * k:
            _count(items, lens, at, with_item, fewer_with, few[:m])
            for a in range(m):
                many[a] = counts[a] - few[a]
        with_counts, without_counts = (few[:m], many[:m]) if fewer_with else (many[:m], few[:m])
        live_with = renumber(with_counts, having, k, relaxed, new_with[:m])
        live_without = renumber(without_counts, lacking, k, relaxed, new_without[:m])
        # A large side that loses little keeps its numbers, and is moved in long runs.
        plain_with = choice != ENTROPY and _plain(with_counts, new_with, having, k)
        plain_without = choice != ENTROPY and _plain(without_counts, new_without, lacking, k)
        begin_without = at
        if live_with > 0:
            live_with = m if plain_with else live_with
            size = _take(
                items, lens, ids[first:end], at, with_item, True, new_with[:m], plain_with,
                to_items, to_lens[first:], to_ids[first:], at,
            )  # fmt: skip
            begin_without = size if plain_with else size + 1
        else:
            _take_ids(ids[first:end], with_item, True, to_ids[first:])
        middle = first + having
        if live_without > 0:
            live_without = m if plain_without else live_without
            _take(
                items, lens, ids[first:end], at, with_item, False, new_without[:m], plain_without,
                to_items, to_lens[middle:], to_ids[middle:], begin_without,
            )  # fmt: skip
        else:
            _take_ids(ids[first:end], with_item, False, to_ids[middle:])
        for turn in range(2):
            smaller = turn == 1
            if smaller == fewer_with:
                low, high, begin, live = first, middle, at, live_with
                new, part, plain = new_with, with_counts, plain_with
            else:
                low, high, begin, live = middle, end, begin_without, live_without
                new, part, plain = new_without, without_counts, plain_without
            if live == 0:
                _label(to_ids, low, high, labels)
                continue
            stack[top, 0], stack[top, 1], stack[top, 2] = low, high, begin
            stack[top, 3], stack[top, 4] = 1 - side, live
            top += 1
            for a in range(m):
                if plain or new[a] >= 0:
                    kept_names[used] = names[a]
                    kept_counts[used] = part[a]
                    used += 1
        if once:
            break
    return stack[:top].copy(), kept_names[:used].copy(), kept_counts[:used].copy()
