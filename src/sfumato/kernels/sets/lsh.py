"""Locality-sensitive hashing of sets: records with much in common share buckets.

A hash function has groups of items; bit j of a record's key says whether the record holds any item
of group j. Random items join a group until about half of the records hold one of them, so that the
buckets are even although most items are rare (Podgursky 2011, algorithms 10-13). In the original
hashing of Hamming space a group is one item, drawn uniformly with replacement (Gionis, Indyk &
Motwani 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..arrays import Ints
from ..threads import cores
from .rows import Items, even_cuts, frozen, grouped, in_parts

MOST_BITS = 62
"""A key is one signed word."""


@dataclass(frozen=True, eq=False)
class LshTables:
    """Hash tables of records. In table t, bucket b holds
    `order[t][bounds[t][b]:bounds[t][b + 1]]`, by record number."""

    bucket: Ints
    """int64[tables, n]: the bucket of each record, numbered from 0 without gaps."""
    order: Ints
    """int64[tables, n]: the records, bucket by bucket."""
    bounds: tuple[Ints, ...]
    """Where each table's buckets start in its order, and where the last one ends."""


def lsh_bits(n: int, tables: int = 5, sample: float = 50.0) -> int:
    """Bits of a key with which the buckets of a record hold about `sample * log(n)` others in all.

    >>> lsh_bits(30_162), lsh_bits(20_616_891), lsh_bits(10)
    (8, 17, 0)
    """
    if n < 2:
        return 0
    found = np.log2(tables * n / (sample * np.log(n)))
    return int(np.clip(round(float(found)), 0, MOST_BITS))


def bit_groups(
    shares: np.ndarray, bits: int, rng: np.random.Generator, *, even: bool = True
) -> list[Ints]:
    """Random items for each bit, until half of the records would hold one if items were
    independent. Where all items together do not reach that, a group holds them all. Where buckets
    need not be `even`, a group is one item, rare or not."""
    if not even:
        return list(rng.integers(max(shares.size, 1), size=(bits, 1)))
    candidates = np.flatnonzero(shares > 0)
    groups = []
    for _ in range(bits):
        drawn = rng.permutation(candidates)
        lacking = np.cumprod(1.0 - shares[drawn])
        reached = int(np.count_nonzero(lacking > 0.5))
        groups.append(np.sort(drawn[: reached + 1]))
    return groups


@njit(cache=True, nogil=True)
def _hash(starts: Ints, items: Items, masks: Ints, low: int, high: int, keys: Ints) -> None:
    """Fill `keys[t, i]` for the records low..high; `masks[item, t]` are the item's bits."""
    tables = masks.shape[1]
    for i in range(low, high):
        for e in range(starts[i], starts[i + 1]):
            item = np.int64(items[e])
            for t in range(tables):
                keys[t, i] |= masks[item, t]


def lsh_tables(
    starts: Ints,
    items: Items,
    d: int,
    tables: int = 5,
    bits: int | None = None,
    *,
    rng: np.random.Generator,
    even: bool = True,
    threads: int | None = None,
) -> LshTables:
    """Hash the records into `tables` tables with keys of `bits` bits (`lsh_bits` unless given).

    `threads` never alters the result.
    """
    n = starts.size - 1
    width = min(lsh_bits(n, tables) if bits is None else bits, MOST_BITS)
    shares = np.bincount(items, minlength=d)[:d] / max(n, 1)
    masks = np.zeros((max(d, 1), tables), dtype=np.int64)
    for t in range(tables):
        for j, group in enumerate(bit_groups(shares, width, rng, even=even)):
            masks[group, t] |= 1 << j
    bucket = np.zeros((tables, n), dtype=np.int64)
    given = frozen(starts), frozen(items), masks
    workers = cores(threads)

    def run(low: int, high: int) -> None:
        _hash(*given, low, high, bucket)

    in_parts(run, even_cuts(n, 8 * workers), workers)
    order, bounds = np.empty((tables, n), dtype=np.int64), []
    for t in range(tables):
        distinct, bucket[t] = np.unique(bucket[t], return_inverse=True)
        order[t], ends = grouped(bucket[t], distinct.size)
        bounds.append(ends)
    return LshTables(bucket, order, tuple(bounds))
