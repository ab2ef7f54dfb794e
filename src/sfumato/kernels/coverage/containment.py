"""How many people each published combination of labels covers, exactly.

People come in blocks. In a block every label of every column is a row of bits, one for each person
that it covers, and a combination covers whom all its labels cover: the bits that survive when its
rows are joined by AND. Blocks do not depend on one another; memory is that of a block and linear in
people and combinations.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import cores

_WORDS = 64
_BLOCK = 64 * _WORDS


class Cover(NamedTuple):
    """People's values as ranks, and what the labels of each column cover.

    The labels of all columns are numbered on: label l covers the ranks low[r]..high[r] for r in
    runs[l] .. runs[l + 1] - 1, and column j has the labels first[j] .. first[j + 1] - 1.
    """

    ranks: Ints
    """(people, columns)"""
    first: Ints
    runs: Ints
    low: Ints
    high: Ints
    labels: Ints
    """(combinations, columns): the label in each column, numbered over all columns"""


@njit(cache=True, nogil=True)
def ones(word: np.uint64) -> int:
    """The bits of a word that are set."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _block(
    ranks: Ints, first: Ints, runs: Ints, low: Ints, high: Ints, labels: Ints,
    start: int, stop: int, counts: Ints, weights: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Add what people start..stop bring: to the counts, and weights to their own sums."""
    columns = ranks.shape[1]
    bits = np.zeros((runs.size - 1, _WORDS), dtype=np.uint64)
    some = np.zeros(runs.size - 1, dtype=np.bool_)
    one = np.uint64(1)
    for j in range(columns):
        here = ranks[start:stop, j]
        order = np.argsort(here)
        ordered = here[order]
        for label in range(first[j], first[j + 1]):
            for r in range(runs[label], runs[label + 1]):
                a = np.searchsorted(ordered, low[r], side="left")
                b = np.searchsorted(ordered, high[r], side="right")
                for at in range(a, b):
                    person = order[at]
                    bits[label, person >> 6] |= one << np.uint64(person & 63)
                    some[label] = True
    used = (stop - start + 63) >> 6
    for c in range(labels.shape[0]):
        skip = False
        for j in range(columns):
            if not some[labels[c, j]]:
                skip = True
                break
        if skip:
            continue
        for w in range(used):
            word = bits[labels[c, 0], w]
            for j in range(1, columns):
                word &= bits[labels[c, j], w]
                if word == 0:
                    break
            if word == 0:
                continue
            counts[c] += ones(word)
            if weights.size:
                base = start + 64 * w
                for bit in range(64):
                    if (word >> np.uint64(bit)) & one:
                        sums[base + bit] += weights[c]


def _run(cover: Cover, weights: Floats, threads: int | None) -> tuple[Ints, Floats]:
    people, columns = cover.ranks.shape
    combinations = len(cover.labels)
    sums = np.zeros(people if weights.size else 0)
    if not columns:
        # Nothing tells anybody apart.
        return np.full(combinations, people, dtype=np.int64), sums + weights.sum()
    # Alike people side by side: most labels then cover nobody of a block.
    order = np.lexsort(cover.ranks.T[::-1])
    ranks = np.ascontiguousarray(cover.ranks[order])
    cuts = [*range(0, people, _BLOCK), people]
    parts = [(a, b) for a, b in pairwise(cuts) if b > a]
    workers = cores(threads)

    def work(some: list[tuple[int, int]]) -> Ints:
        counts = np.zeros(combinations, dtype=np.int64)
        for start, stop in some:
            _block(
                ranks, cover.first, cover.runs, cover.low, cover.high, cover.labels,
                start, stop, counts, weights, sums,
            )  # fmt: skip
        return counts

    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(work, [parts[i::workers] for i in range(workers)]))
    back = np.empty_like(sums)
    if weights.size:
        back[order] = sums
    return sum(found, np.zeros(combinations, dtype=np.int64)), back


def cover_counts(cover: Cover, *, threads: int | None = None) -> Ints:
    """How many people each combination covers.

    >>> three = Cover(np.array([[1], [2], [9]]), np.array([0, 1]), np.array([0, 1]),
    ...               np.array([1]), np.array([2]), np.array([[0]]))
    >>> cover_counts(three).tolist()
    [2]
    """
    return _run(cover, np.empty(0), threads)[0]


def cover_sums(cover: Cover, weights: NDArray[np.float64], *, threads: int | None = None) -> Floats:
    """For each person the sum of the weights of the combinations that cover them."""
    return _run(cover, np.ascontiguousarray(weights, dtype=np.float64), threads)[1]
