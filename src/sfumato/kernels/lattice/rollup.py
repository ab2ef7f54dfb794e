"""Classes of a generalization, counted from the classes of a finer one.

A class is one bit-packed key: each column has a field that holds the number of its group at the
current level. Going up changes some fields by a small table and adds up the counts of the keys that
meet; the records are never looked at again. Keys of more than 63 bits take several words.

LeFevre, DeWitt & Ramakrishnan (2005), Incognito: efficient full-domain k-anonymity, SIGMOD
(roll-up); Prasser & Kohlmayer (2015), Putting statistical disclosure control into practice: the ARX
data anonymization tool (snapshots).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints

Slots = NDArray[np.int32]
Small = NDArray[np.int32]

WORD = 63
"""Bits of a word that keys use; the sign stays out of it."""
MOST_CLASSES = 2**30


class Fields(NamedTuple):
    """Where each column's group number lies in a key, and how groups of one level become groups of
    another: group g of level a of column j becomes `up[at[j, a, b] + g]` at level b."""

    words: int
    word: Ints
    shift: Ints
    mask: Ints
    at: Ints
    up: Small


def layout(groups: Sequence[Sequence[np.ndarray]]) -> Fields:
    """The fields of columns whose levels are given: groups[j][level][code] is a group number.

    Codes are the groups of level 0; the groups of a level lie within those of the next one.
    """
    word, shift, mask = [], [], []
    w, used = 0, 0
    for levels in groups:
        bits = max(int(levels[0].size - 1).bit_length(), 1)
        if used + bits > WORD:
            w, used = w + 1, 0
        word.append(w)
        shift.append(used)
        mask.append((1 << bits) - 1)
        used += bits
    deepest = max(len(levels) for levels in groups)
    at = np.full((len(groups), deepest, deepest), -1, dtype=np.int64)
    parts: list[np.ndarray] = []
    end = 0
    for j, levels in enumerate(groups):
        for a, fine in enumerate(levels):
            for b in range(a + 1, len(levels)):
                table = np.zeros(int(fine.max(initial=0)) + 1, dtype=np.int32)
                table[fine] = levels[b]
                at[j, a, b] = end
                parts.append(table)
                end += table.size
    up = np.concatenate(parts) if parts else np.zeros(1, dtype=np.int32)

    def each(values: list[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    return Fields(w + 1, each(word), each(shift), each(mask), at, up)


class Rolled(NamedTuple):
    """The classes of one node: a key of `words` words and a count for each."""

    keys: Ints
    counts: Ints

    def __len__(self) -> int:
        return int(self.counts.size)


@njit(cache=True, nogil=True, inline="always")
def _hash(keys: Ints, start: int, words: int) -> int:
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(words):
        h = (h ^ np.uint64(keys[start + w])) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(31)
    h *= np.uint64(0x94D049BB133111EB)
    return np.int64((h ^ (h >> np.uint64(29))) & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _pack(codes: Small, word: int, shift: int, words: int, keys: Ints) -> None:
    for i in range(codes.size):
        keys[i * words + word] |= np.int64(codes[i]) << shift


@njit(cache=True, nogil=True)
def _meet(
    keys: Ints, weights: Ints, words: int, slots: Slots, out: Ints, counts: Ints, member: Small
) -> int:
    """Equal keys become one; returns how many there are. `slots` is a cleared power of two."""
    full = slots.size - 1
    found = 0
    for i in range(weights.size):
        start = i * words
        slot = _hash(keys, start, words) & full
        while True:
            g = slots[slot]
            if g < 0:
                slots[slot] = found
                for w in range(words):
                    out[found * words + w] = keys[start + w]
                counts[found] = weights[i]
                g = found
                found += 1
                break
            same = True
            for w in range(words):
                same = same and out[g * words + w] == keys[start + w]
            if same:
                counts[g] += weights[i]
                break
            slot = (slot + 1) & full
        if member.size > 0:
            member[i] = g
    return found


@njit(cache=True, nogil=True)
def _climb(keys: Ints, fields: Fields, changed: Ints, tables: Ints, scale: int, out: Ints) -> None:
    """The keys after the changed columns' fields went up."""
    words = fields.words
    out[: scale * words] = keys[: scale * words]
    for c in range(changed.size):
        j = changed[c]
        word, shift, mask, at = fields.word[j], fields.shift[j], fields.mask[j], tables[c]
        clear = ~(mask << shift)
        for i in range(scale):
            old = out[i * words + word]
            group = (old >> shift) & mask
            out[i * words + word] = (old & clear) | (np.int64(fields.up[at + group]) << shift)


def _slots(size: int) -> Slots:
    room = 16
    while room < 2 * size:
        room *= 2
    return np.full(room, -1, dtype=np.int32)


_NOBODY = np.empty(0, dtype=np.int32)


def packed(codes: Sequence[np.ndarray], fields: Fields) -> Ints:
    """The keys of rows of some columns of group numbers."""
    keys = np.zeros(codes[0].size * fields.words, dtype=np.int64)
    for j, column in enumerate(codes):
        small = np.ascontiguousarray(column, dtype=np.int32)
        _pack(small, fields.word[j], fields.shift[j], fields.words, keys)
    return keys


def distinct(codes: Sequence[np.ndarray], fields: Fields, weights: Ints) -> tuple[Rolled, Small]:
    """The distinct tuples of some columns of codes with the sums of their weights, and each row's
    tuple."""
    n = codes[0].size
    if n > MOST_CLASSES:
        raise ValueError(f"{n:,} records are more than {MOST_CLASSES:,}")
    keys, member = packed(codes, fields), np.empty(n, dtype=np.int32)
    out, counts = np.empty_like(keys), np.empty(n, dtype=np.int64)
    m = _meet(keys, weights, fields.words, _slots(n), out, counts, member)
    return Rolled(out[: m * fields.words].copy(), counts[:m].copy()), member


@njit(cache=True, nogil=True)
def _probe(keys: Ints, known: Ints, words: int, slots: Slots, out: Small) -> None:
    full = slots.size - 1
    for g in range(known.size // words):
        slot = _hash(known, g * words, words) & full
        while slots[slot] >= 0:
            slot = (slot + 1) & full
        slots[slot] = g
    for i in range(out.size):
        start = i * words
        slot = _hash(keys, start, words) & full
        out[i] = -1
        while slots[slot] >= 0:
            g = slots[slot]
            same = True
            for w in range(words):
                same = same and known[g * words + w] == keys[start + w]
            if same:
                out[i] = g
                break
            slot = (slot + 1) & full


def places_of(keys: Ints, known: Ints, words: int) -> Small:
    """For each key where it is among the known ones, which are distinct; -1 where it is not.

    >>> places_of(np.array([7, 3, 9]), np.array([9, 7]), 1).tolist()
    [1, -1, 0]
    """
    out = np.empty(keys.size // words, dtype=np.int32)
    _probe(keys, known, words, _slots(known.size // words), out)
    return out


def roll_up(
    below: Rolled, fields: Fields, low: Sequence[int], high: Sequence[int], *, members: bool = False
) -> tuple[Rolled, Small]:
    """The classes at the levels `high`, from those at `low`; on request the new class of each old.

    >>> fields = layout([[np.array([0, 1, 2]), np.array([0, 0, 1])]])
    >>> fine, _ = distinct([np.array([0, 1, 2, 2])], fields, np.ones(4, dtype=np.int64))
    >>> found, member = roll_up(fine, fields, (0,), (1,), members=True)
    >>> found.counts.tolist(), member.tolist()
    ([2, 2], [0, 0, 1])
    """
    m = len(below)
    moved = [j for j, (a, b) in enumerate(zip(low, high, strict=True)) if a != b]
    member = np.empty(m if members else 0, dtype=np.int32)
    if not moved:
        return below, np.arange(m, dtype=np.int32) if members else _NOBODY
    tables = np.array([fields.at[j, low[j], high[j]] for j in moved], dtype=np.int64)
    keys = np.empty(m * fields.words, dtype=np.int64)
    _climb(below.keys, fields, np.array(moved, dtype=np.int64), tables, m, keys)
    out, counts = np.empty_like(keys), np.empty(m, dtype=np.int64)
    g = _meet(keys, below.counts, fields.words, _slots(m), out, counts, member)
    return Rolled(out[: g * fields.words].copy(), counts[:g].copy()), member


class Tally(NamedTuple):
    """What the sizes of a node's classes say."""

    short: int
    """Records in classes of fewer than k."""
    price: int
    """What keeping them would have been worth: suppression costs so much more."""
    squares: int
    """Sum of the squared class sizes."""
    pairs: int
    """Sum of the squared sizes of the short classes."""
    kept: int
    """Classes of k or more."""


@njit(cache=True, nogil=True)
def _tally(
    keys: Ints, counts: Ints, fields: Fields, k: int, worth: Ints, at: Ints
) -> tuple[int, int, int, int, int]:
    short, price, squares, pairs, kept = 0, 0, 0, 0, 0
    for i in range(counts.size):
        size = counts[i]
        squares += size * size
        if size >= k:
            kept += 1
            continue
        short += size
        pairs += size * size
        gain = 0
        for j in range(at.size):
            group = (keys[i * fields.words + fields.word[j]] >> fields.shift[j]) & fields.mask[j]
            gain += worth[at[j] + group]
        price += size * gain
    return short, price, squares, pairs, kept


def tally(found: Rolled, fields: Fields, k: int, worth: Ints, at: Ints) -> Tally:
    """Counts of the classes below k; a record is worth `worth[at[j] + group]` in column j."""
    return Tally(*_tally(found.keys, found.counts, fields, k, worth, at))


@njit(cache=True, nogil=True)
def class_worth(keys: Ints, counts: Ints, fields: Fields, worth: Ints, at: Ints) -> Ints:
    """What each class is worth: its records' worth, summed over the columns."""
    out = np.zeros(counts.size, np.int64)
    for i in range(counts.size):
        for j in range(at.size):
            group = (keys[i * fields.words + fields.word[j]] >> fields.shift[j]) & fields.mask[j]
            out[i] += worth[at[j] + group]
        out[i] *= counts[i]
    return out


@njit(cache=True, nogil=True)
def column_worths(keys: Ints, classes: int, fields: Fields, worth: Ints, at: Ints) -> Ints:
    """int64 (classes, d): what one record of each class is worth in each column."""
    out = np.zeros((classes, at.size), np.int64)
    for i in range(classes):
        for j in range(at.size):
            group = (keys[i * fields.words + fields.word[j]] >> fields.shift[j]) & fields.mask[j]
            out[i, j] = worth[at[j] + group]
    return out


@njit(cache=True, nogil=True)
def added(place: Small, amounts: Ints, classes: int) -> Ints:
    """The sum of the amounts at each place.

    >>> added(np.array([0, 1, 0], dtype=np.int32), np.array([5, 6, 7]), 2).tolist()
    [12, 6]
    """
    out = np.zeros(classes, np.int64)
    for i in range(amounts.size):
        out[place[i]] += amounts[i]
    return out


@njit(cache=True, nogil=True)
def majorities(place: Small, owner: Ints, values: Ints, counts: Ints, classes: int) -> Ints:
    """How many records of each class have its most frequent value.

    `counts[i]` records of `owner[i]`, which lies in class `place[owner[i]]`, have `values[i]`.
    Equal values stand together.

    >>> one = np.arange(3)
    >>> majorities(np.zeros(3, np.int32), one, np.array([4, 4, 9]), np.array([2, 1, 2]), 1).tolist()
    [3]
    """
    most, here = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    start = 0
    while start < values.size:
        end = start
        while end < values.size and values[end] == values[start]:
            here[place[owner[end]]] += counts[end]
            end += 1
        for i in range(start, end):
            c = place[owner[i]]
            most[c] = max(most[c], here[c])
            here[c] = 0
        start = end
    return most
