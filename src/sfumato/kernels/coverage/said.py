"""What the combinations of labels that cover a person say, and whom a combination covers.

As in `containment`, every label is a row of bits, one for each person that it covers, and the bits
that survive when a combination's rows are joined by AND are the people whom it covers. Only labels
that cover somebody of a block have a row, so that exact values in great number cost no more than
the people who have them. Whoever is settled is not asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.progress import report

from ..arrays import Bools, Floats, Ints
from .containment import Cover, ones

NOTHING = -1
"""Nothing is said."""
SEVERAL = -2
"""More than one thing is said."""
_BLOCK = 4096
_BYTES = 1 << 26

Words = NDArray[np.uint64]


class Said(NamedTuple):
    """What is said of each person."""

    value: Ints
    """the one thing that all who say something say, else `NOTHING` or `SEVERAL`"""
    covered: Bools
    """whether any combination covers the person"""


@njit(cache=True, nogil=True)
def _bits(
    ranks: Ints, first: Ints, runs: Ints, low: Ints, high: Ints, asked: Bools
) -> tuple[Ints, Words]:
    """The row of each label, -1 where it covers nobody or is not asked for; and the rows."""
    labels, words = runs.size - 1, (ranks.shape[0] + 63) >> 6
    slot = np.full(labels, -1, dtype=np.int64)
    count = 0
    orders = np.empty((ranks.shape[1], ranks.shape[0]), dtype=np.int64)
    ordered = np.empty((ranks.shape[1], ranks.shape[0]), dtype=np.int64)
    for j in range(ranks.shape[1]):
        orders[j] = np.argsort(ranks[:, j])
        ordered[j] = ranks[:, j][orders[j]]
        for label in range(first[j], first[j + 1]):
            if not asked[label]:
                continue
            for r in range(runs[label], runs[label + 1]):
                a = np.searchsorted(ordered[j], low[r], side="left")
                if a < ordered.shape[1] and ordered[j, a] <= high[r]:
                    slot[label] = count
                    count += 1
                    break
    bits = np.zeros((count, words), dtype=np.uint64)
    for j in range(ranks.shape[1]):
        for label in range(first[j], first[j + 1]):
            if slot[label] < 0:
                continue
            row = bits[slot[label]]
            for r in range(runs[label], runs[label + 1]):
                at = np.searchsorted(ordered[j], low[r], side="left")
                while at < ordered.shape[1] and ordered[j, at] <= high[r]:
                    person = orders[j, at]
                    row[person >> 6] |= np.uint64(1) << np.uint64(person & 63)
                    at += 1
    return slot, bits


@njit(cache=True, nogil=True)
def _rows(slot: Ints, labels: Ints, rows: Ints) -> bool:
    """Fill in the rows of a combination's labels; False where one of them covers nobody."""
    for j in range(labels.size):
        rows[j] = slot[labels[j]]
        if rows[j] < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _both(bits: Words, rows: Ints, w: int, word: np.uint64) -> np.uint64:
    """The people of one word whom all labels cover."""
    for j in range(rows.size):
        word &= bits[rows[j], w]
        if word == 0:
            break
    return word


@njit(cache=True, nogil=True)
def _all_of(people: int, w: int) -> np.uint64:
    """The bits of one word that stand for somebody."""
    left = people - 64 * w
    return ~np.uint64(0) if left >= 64 else (np.uint64(1) << np.uint64(left)) - np.uint64(1)


@njit(cache=True, nogil=True)
def _one_said(slot: Ints, bits: Words, labels: Ints, says: Ints, value: Ints, hit: Bools) -> None:
    """Fill in what is said of the people of one block."""
    open_ = np.empty((value.size + 63) >> 6, dtype=np.uint64)
    for w in range(open_.size):
        open_[w] = _all_of(value.size, w)
    rows = np.empty(labels.shape[1], dtype=np.int64)
    for c in range(labels.shape[0]):
        if not _rows(slot, labels[c], rows):
            continue
        for w in range(open_.size):
            word = _both(bits, rows, w, open_[w])
            while word:
                lowest = word & (~word + np.uint64(1))
                i = 64 * w + ones(lowest - np.uint64(1))
                hit[i] = True
                if says[c] != NOTHING and value[i] != says[c]:
                    value[i] = says[c] if value[i] == NOTHING else SEVERAL
                if value[i] == SEVERAL:
                    open_[w] &= ~lowest
                word &= ~lowest


@njit(cache=True, nogil=True)
def _summed(
    slot: Ints, bits: Words, labels: Ints, starts: Ints, places: Ints, weights: Floats,
    total: Floats, hit: Bools,
) -> None:  # fmt: skip
    """Add what each combination holds to the people of one block whom it covers."""
    rows = np.empty(labels.shape[1], dtype=np.int64)
    for c in range(labels.shape[0]):
        if not _rows(slot, labels[c], rows):
            continue
        for w in range((hit.size + 63) >> 6):
            word = _both(bits, rows, w, _all_of(hit.size, w))
            while word:
                lowest = word & (~word + np.uint64(1))
                i = 64 * w + ones(lowest - np.uint64(1))
                hit[i] = True
                for e in range(starts[c], starts[c + 1]):
                    total[i, places[e]] += weights[e]
                word &= ~lowest


@njit(cache=True, nogil=True)
def _chosen(
    slot: Ints, bits: Words, labels: Ints, people: int, combination: Ints, draws: Floats, out: Ints
) -> None:
    """Choose, for each draw, one of the people whom its combination covers."""
    rows = np.empty(labels.shape[1], dtype=np.int64)
    words = (people + 63) >> 6
    found = np.zeros(words, dtype=np.uint64)
    last, total = -1, 0
    for d in range(draws.size):
        c = combination[d]
        if c != last:
            last, total = c, 0
            if _rows(slot, labels[c], rows):
                for w in range(words):
                    found[w] = _both(bits, rows, w, _all_of(people, w))
                    total += ones(found[w])
        if total == 0:
            continue
        left = min(int(draws[d] * total), total - 1)
        w = 0
        while ones(found[w]) <= left:
            left -= ones(found[w])
            w += 1
        word, bit = found[w], 0
        while left > 0 or not word & np.uint64(1):
            left -= int(word & np.uint64(1))
            word >>= np.uint64(1)
            bit += 1
        out[d] = 64 * w + bit


class _Blocks:
    """People in blocks, alike side by side, so that most labels cover nobody of a block."""

    def __init__(self, cover: Cover) -> None:
        # The column that tells most apart is asked first.
        self.columns = np.argsort(-np.diff(cover.first), kind="stable")
        keys = [cover.ranks[:, j] for j in self.columns[::-1]]
        people = len(cover.ranks)
        self.order = np.lexsort(keys) if keys else np.arange(people)
        self.labels = np.ascontiguousarray(cover.labels[:, self.columns])
        self.cover = cover
        self.asked = np.ones(cover.runs.size - 1, dtype=np.bool_)

    def __iter__(self) -> Iterator[tuple[Ints, Ints, Words]]:
        """The people of each block, the row of each label, and the rows."""
        c = self.cover
        for start in range(0, self.order.size, _BLOCK):
            report("comparing people with classes", start, self.order.size)
            rows = self.order[start : start + _BLOCK]
            ranks = np.ascontiguousarray(c.ranks[rows])
            yield rows, *_bits(ranks, c.first, c.runs, c.low, c.high, self.asked)


def one_said(cover: Cover, says: Ints) -> Said:
    """What all combinations that cover a person say, where they say the same.

    Combination c says the number says[c], or `NOTHING`, or `SEVERAL` things at once.

    >>> three = Cover(np.array([[1], [2], [9]]), np.array([0, 2]), np.array([0, 1, 2]),
    ...               np.array([1, 2]), np.array([2, 2]), np.array([[0], [1]]))
    >>> one_said(three, np.array([5, 6])).value.tolist()
    [5, -2, -1]
    """
    value = np.full(len(cover.ranks), NOTHING, dtype=np.int64)
    covered = np.zeros(value.size, dtype=np.bool_)
    blocks = _Blocks(cover)
    for rows, slot, bits in blocks:
        part, hit = value[rows], covered[rows]
        _one_said(slot, bits, blocks.labels, np.ascontiguousarray(says, np.int64), part, hit)
        value[rows], covered[rows] = part, hit
    return Said(value, covered)


def all_said(
    cover: Cover, starts: Ints, places: Ints, weights: Floats, width: int
) -> Iterator[tuple[Ints, Floats, Bools]]:
    """Block by block: people, the summed weights of what the combinations that cover them hold
    (people, width), and whether any does.

    Combination c holds `weights` of `places` at starts[c] .. starts[c + 1] - 1.
    """
    blocks = _Blocks(cover)
    starts, places = (np.ascontiguousarray(a, dtype=np.int64) for a in (starts, places))
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    for rows, slot, bits in blocks:
        total, hit = np.zeros((rows.size, width)), np.zeros(rows.size, dtype=np.bool_)
        _summed(slot, bits, blocks.labels, starts, places, weights, total, hit)
        yield rows, total, hit


def one_covered(cover: Cover, wanted: Ints, draws: Floats) -> Ints:
    """For each draw (0..1) one of the people whom combination wanted[d] covers, all with the same
    chance; -1 where it covers nobody.

    >>> three = Cover(np.array([[1], [2], [9]]), np.array([0, 1]), np.array([0, 1]),
    ...               np.array([1]), np.array([2]), np.array([[0]]))
    >>> one_covered(three, np.zeros(3, np.int64), np.array([0.0, 0.49, 0.5])).tolist()
    [0, 0, 1]
    """
    out = np.full(wanted.size, -1, dtype=np.int64)
    people, columns = cover.ranks.shape
    if not people:
        return out
    ranks = np.ascontiguousarray(cover.ranks)
    order = np.argsort(wanted, kind="stable")
    step = max(_BYTES // (((people + 63) >> 6) * 8 * max(columns, 1)), 1)
    for start in range(0, order.size, step):
        at = order[start : start + step]
        asked = np.zeros(cover.runs.size - 1, dtype=np.bool_)
        asked[cover.labels[wanted[at]].reshape(-1)] = True
        slot, bits = _bits(ranks, cover.first, cover.runs, cover.low, cover.high, asked)
        part = np.full(at.size, -1, dtype=np.int64)
        _chosen(slot, bits, np.ascontiguousarray(cover.labels), people, wanted[at], draws[at], part)
        out[at] = part
    return out
