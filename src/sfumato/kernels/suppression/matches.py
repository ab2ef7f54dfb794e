"""Who is like whom: class sizes, class labels, and match counts with wildcards.

Everything here rests on one representation. Each column gets a field of bits wide enough for its
codes plus one; a record is the concatenation of its fields, in as many 64-bit words as that takes
(one, for the usual handful of quasi-identifiers). A field of zeros stands for "nothing here": a
wildcard, a suppressed or a missing cell. Projecting a record on some columns is then one AND per
word, and two records agree on those columns exactly when the words agree. Tables of records are
hash tables that keep the words themselves, so a collision costs time and never a wrong count.

With wildcards matching is not transitive, so there are no classes to count. But two records with
given sets of wildcards match when they agree on the columns that are wild in neither: records are
grouped by their set of wildcards, and for every pair of sets equal projections are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]
Counts = NDArray[Any]
"""int64, how many records each stands for, or float64, what they weigh."""

WORD = 64


class Packed(NamedTuple):
    """Records as bit fields."""

    words: Words
    """uint64 (n, w): one row per record"""
    fields: Words
    """uint64 (d, w): the bits of each column"""

    def keep(self, dropped: Mask) -> Words:
        """The bits that are left when some columns (bool of length d) are dropped."""
        return np.bitwise_or.reduce(self.fields[~dropped], axis=0, initial=np.uint64(0))


def pack(codes: ArrayLike, empty: ArrayLike | None = None) -> Packed:
    """Records as bit fields; cells where `empty` is true become zeros, which no code is."""
    table = as_codes(codes)
    n, d = table.shape
    blank = None if empty is None else as_mask(empty, table.shape, "the mask of empty cells")
    columns: list[NDArray[np.uint64]] = []
    widths: list[int] = []
    for j in range(d):
        column = table[:, j]
        # Codes beyond the number of records are sparse; dense ones are short and cannot overflow.
        if n and int(column.max()) >= n:
            column = np.unique(column, return_inverse=True)[1]
        digit = column.astype(np.uint64) + np.uint64(1)
        if blank is not None:
            digit[blank[:, j]] = 0
        columns.append(digit)
        widths.append(int(digit.max(initial=0)).bit_length())
    places: list[tuple[int, int]] = []
    word, shift = 0, 0
    for width in widths:
        if shift + width > WORD:
            word, shift = word + 1, 0
        places.append((word, shift))
        shift += width
    words = np.zeros((n, word + 1), dtype=np.uint64)
    fields = np.zeros((d, word + 1), dtype=np.uint64)
    for j, (at, shift) in enumerate(places):
        words[:, at] |= columns[j] << np.uint64(shift)
        fields[j, at] = ((1 << widths[j]) - 1) << shift
    return Packed(words, fields)


def as_codes(codes: ArrayLike) -> NDArray[np.integer]:
    """The codes as an (n, d) array of integers, or an error that says what is wrong with them."""
    table = np.asarray(codes)
    if table.ndim != 2 or table.shape[1] == 0 or table.dtype.kind not in "iu":
        raise ValueError(
            f"codes must be integers of shape (records, columns), at least one column; "
            f"got {table.dtype} of shape {table.shape}"
        )
    if table.size and table.dtype.kind == "i" and int(table.min()) < 0:
        row, column = np.argwhere(table < 0)[0]
        raise ValueError(
            f"codes must not be negative; row {row}, column {column} holds {table[row, column]}: "
            "give missing cells a code of their own"
        )
    if table.dtype == np.uint64 and table.size and int(table.max()) >= 1 << 63:
        raise ValueError("codes must be less than 2**63")
    return table


def as_mask(mask: ArrayLike, shape: tuple[int, ...], what: str) -> Mask:
    """The mask as booleans of the given shape, or an error that names it."""
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != shape:
        raise ValueError(
            f"{what} must be boolean of shape {shape}; got {found.dtype} of shape {found.shape}"
        )
    return found


@register_jitable
def new_table(rows: int, words: int) -> Words:
    """An empty hash table for projections of so many rows, at most half full.

    A row of it is the words of a projection and, so that both lie in one cache line, 1 + its slot.
    """
    room = 8
    while room < 2 * rows or (room < 4 * rows and room < 1 << 16):
        room *= 2
    return np.zeros((room, words + 1), np.uint64)


@njit(cache=True, nogil=True, inline="always")
def _mix(word: np.uint64) -> np.uint64:
    """Scatter a word: every bit of it reaches the low bits, which choose the place in a table."""
    word *= np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    return word ^ (word >> np.uint64(32))


@njit(cache=True, nogil=True, inline="always")
def locate(table: Words, words: Words, row: int, keep: Words) -> int:
    """Where the row's projection stands in the table, or the free place where it belongs."""
    last = np.uint64(len(table) - 1)
    width = keep.size
    if width == 1:  # the usual case, without the inner loops
        key = words[row, 0] & keep[0]
        place = _mix(key) & last
        while table[place, 1] != 0 and table[place, 0] != key:
            place = (place + np.uint64(1)) & last
        return int(place)
    mixed = np.uint64(0)
    for w in range(width):
        mixed = _mix(mixed ^ (words[row, w] & keep[w]))
    place = mixed & last
    while table[place, width] != 0:
        same = True
        for w in range(width):
            if table[place, w] != words[row, w] & keep[w]:
                same = False
        if same:
            break
        place = (place + np.uint64(1)) & last
    return int(place)


@njit(cache=True, nogil=True, inline="always")
def find(table: Words, words: Words, row: int, keep: Words) -> int:
    """The slot of the row's projection; -1 if it is not in the table."""
    return int(table[locate(table, words, row, keep), keep.size]) - 1


@njit(cache=True, nogil=True, inline="always")
def find_or_add(table: Words, words: Words, row: int, keep: Words, slot: int) -> int:
    """The slot of the row's projection, which is put into the table with this slot if it is new."""
    place = locate(table, words, row, keep)
    if table[place, keep.size] == 0:
        table[place, keep.size] = slot + 1
        for w in range(keep.size):
            table[place, w] = words[row, w] & keep[w]
    return int(table[place, keep.size]) - 1


@njit(cache=True, nogil=True)
def look_up(table: Words, words: Words, rows: Ints, keep: Words, add: bool) -> Ints:
    """The slots of these rows' projections; a new one gets the next slot if `add`, or -1."""
    slots = np.empty(rows.size, np.int64)
    count, width = 0, keep.size
    for t in range(rows.size):
        place = locate(table, words, rows[t], keep)
        if add and table[place, width] == 0:
            count += 1
            table[place, width] = count
            for w in range(width):
                table[place, w] = words[rows[t], w] & keep[w]
        slots[t] = int(table[place, width]) - 1
    return slots


def label(words: Words, rows: Ints, keep: Words) -> tuple[Ints, int]:
    """Number the projections of these rows by first appearance; the labels, and how many."""
    labels = look_up(new_table(rows.size, keep.size), words, rows, keep, True)
    return labels, int(labels.max(initial=-1)) + 1


@njit(cache=True, nogil=True)
def _meet(
    held: Words,
    held_weight: Counts,
    held_count: Counts,
    guests: Words,
    guest_weight: Counts,
    guest_count: Counts,
    keep: Words,
) -> None:
    """Add to each row's count the weight of the rows of the other side that equal it on `keep`.

    One side stands in a table, the other streams past it. A side with an empty count is not
    counted.
    """
    table = new_table(len(held), keep.size)
    slot_of = np.empty(len(held), np.int64)
    held_total = np.zeros(len(held), held_weight.dtype)
    guest_total = np.zeros(len(held), guest_weight.dtype)
    used = 0
    for i in range(len(held)):
        slot_of[i] = find_or_add(table, held, i, keep, used)
        used = max(used, slot_of[i] + 1)
        held_total[slot_of[i]] += held_weight[i]
    for i in range(len(guests)):
        slot = find(table, guests, i, keep)
        if slot >= 0:
            guest_total[slot] += guest_weight[i]
            if guest_count.size:
                guest_count[i] += held_total[slot]
    if held_count.size:
        for i in range(len(held)):
            held_count[i] += guest_total[slot_of[i]]


@njit(cache=True, nogil=True)
def _meet_few(
    held: Words,
    held_weight: Counts,
    held_count: Counts,
    guests: Words,
    guest_weight: Counts,
    guest_count: Counts,
    keep: Words,
) -> None:
    """What `_meet` does, by comparing everyone with everyone: faster where one side is small."""
    for i in range(len(held)):
        for j in range(len(guests)):
            apart = np.uint64(0)
            for w in range(keep.size):
                apart |= (held[i, w] ^ guests[j, w]) & keep[w]
            if apart == 0:
                if held_count.size:
                    held_count[i] += guest_weight[j]
                if guest_count.size:
                    guest_count[j] += held_weight[i]


class Crowd(NamedTuple):
    """The distinct records of a table, those with the same empty fields side by side."""

    words: Words
    weight: Counts
    """how often each occurs, or what those records weigh"""
    bounds: Ints
    """where each group begins, and the end"""
    present: Words
    """for each group, the bits of the fields that are not empty"""


def crowd(packed: Packed, count: Counts | None = None) -> tuple[Crowd, Ints]:
    """The distinct records of a table, and for each record which of them it is; `count` says for
    how many each stands, or what it weighs."""
    words, fields = packed
    labels, found = label(words, np.arange(len(words)), packed.keep(np.zeros(len(fields), bool)))
    first = np.empty(found, np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    present = np.zeros((found, words.shape[1]), np.uint64)
    for field in fields:
        present |= np.where(np.any(words[first] & field, axis=1)[:, None], field, np.uint64(0))
    pattern, patterns = label(present, np.arange(found), np.bitwise_or.reduce(fields, axis=0))
    order = np.argsort(pattern, kind="stable")
    bounds = np.searchsorted(pattern[order], np.arange(patterns + 1))
    place = np.empty(found, np.int64)
    place[order] = np.arange(found)
    weight = np.zeros(found, np.int64 if count is None else count.dtype)
    np.add.at(weight, labels, 1 if count is None else count)
    people = Crowd(words[first[order]], weight[order], bounds, present[order[bounds[:-1]]])
    return people, place[labels]


@njit(cache=True, nogil=True)
def _count(asked: Crowd, among: Crowd, same: bool) -> Counts:
    """How many of `among` match each of `asked`; if they are the `same`, each pair is met once."""
    counts = np.zeros(asked.weight.size, among.weight.dtype)
    nobody = np.empty(0, among.weight.dtype)
    for p in range(len(asked.present)):
        for q in range(p if same else 0, len(among.present)):
            a, b = asked.bounds[p], asked.bounds[p + 1]
            c, d = among.bounds[q], among.bounds[q + 1]
            keep = asked.present[p] & among.present[q]
            theirs = counts[c:d] if same and p != q else nobody
            few = (b - a) * (d - c) < 16 * (b - a + d - c)
            if few:
                _meet_few(
                    asked.words[a:b], asked.weight[a:b], counts[a:b],
                    among.words[c:d], among.weight[c:d], theirs, keep,
                )  # fmt: skip
            elif b - a <= d - c:  # the smaller side goes into the table
                _meet(
                    asked.words[a:b], asked.weight[a:b], counts[a:b],
                    among.words[c:d], among.weight[c:d], theirs, keep,
                )  # fmt: skip
            else:
                _meet(
                    among.words[c:d], among.weight[c:d], theirs,
                    asked.words[a:b], asked.weight[a:b], counts[a:b], keep,
                )  # fmt: skip
    return counts


def count_in(asked: Crowd, among: Crowd) -> Counts:
    """For each distinct record of `asked`, how many records of `among` match it, or what they
    weigh."""
    return _count(asked, among, False)


def count_within(among: Crowd) -> Counts:
    """For each distinct record of the crowd, how many records of the crowd match it."""
    return _count(among, among, True)


@njit(cache=True, nogil=True)
def least_in(asked: Crowd, among: Crowd) -> NDArray[np.float64]:
    """For each distinct record of `asked`, the least weight of the distinct records of `among`
    that match it; infinite if none does."""
    least = np.full(asked.weight.size, np.inf)
    for p in range(len(asked.present)):
        for q in range(len(among.present)):
            keep = asked.present[p] & among.present[q]
            c, d = among.bounds[q], among.bounds[q + 1]
            table = new_table(d - c, keep.size)
            lightest = np.full(d - c, np.inf)
            used = 0
            for i in range(c, d):
                slot = find_or_add(table, among.words, i, keep, used)
                used = max(used, slot + 1)
                lightest[slot] = min(lightest[slot], among.weight[i])
            for i in range(asked.bounds[p], asked.bounds[p + 1]):
                slot = find(table, asked.words, i, keep)
                if slot >= 0:
                    least[i] = min(least[i], lightest[slot])
    return least


def match_counts(codes: ArrayLike, wildcard: ArrayLike) -> Ints:
    """For each record, how many records match it, itself included; wildcards match anything.

    Two records match if in every column they are equal or at least one of them is a wildcard. The
    relation is not transitive: the counts are those of the records' neighbourhoods, not of classes.

    >>> match_counts([[1, 1], [1, 2], [2, 2]], [[False, False], [False, True], [False, False]])
    array([2, 2, 1])
    """
    among, labels = crowd(pack(codes, as_mask(wildcard, np.shape(codes), "wildcard")))
    return count_within(among)[labels]


def class_labels(codes: ArrayLike) -> Ints:
    """The class of each record, equal in all columns, numbered by first appearance.

    >>> class_labels([[5, 0], [3, 1], [5, 0]])
    array([0, 1, 0])
    """
    packed = pack(codes)
    everything = packed.keep(np.zeros(len(packed.fields), dtype=bool))
    return label(packed.words, np.arange(len(packed.words)), everything)[0]


def class_sizes(codes: ArrayLike) -> Ints:
    """For each record, the number of records equal to it in all columns, itself included.

    >>> class_sizes([[5, 0], [3, 1], [5, 0]])
    array([2, 1, 2])
    """
    labels = class_labels(codes)
    return np.bincount(labels)[labels]
