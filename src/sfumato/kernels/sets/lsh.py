"""Locality-sensitive hashing of sets: records with much in common share buckets.

A hash function has groups of items; bit j of a record's key says whether the record holds any item
of group j. Random items join a group until about half of the records hold one of them, so that the
buckets are even although most items are rare (Podgursky 2011, algorithms 10-13).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit

from ..arrays import Ints
from ..threads import cores
from .rows import Items

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


def bit_groups(shares: np.ndarray, bits: int, rng: np.random.Generator) -> list[Ints]:
    """Random items for each bit, until half of the records would hold one if items were
    independent. Where all items together do not reach that, a group holds them all."""
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


@njit(cache=True, nogil=True)
def _arrange(keys: Ints, size: int, order: Ints) -> Ints:
    """Counting sort: `keys` become bucket numbers without gaps, `order` lists their records."""
    counts = np.zeros(size, dtype=np.int64)
    for i in range(keys.size):
        counts[keys[i]] += 1
    used = 0
    for key in range(size):
        used += counts[key] > 0
    bounds = np.zeros(used + 1, dtype=np.int64)
    number, total = 0, 0
    for key in range(size):
        if counts[key] > 0:
            total += counts[key]
            bounds[number + 1] = total
            counts[key] = number
            number += 1
    place = bounds[:-1].copy()
    for i in range(keys.size):
        bucket = counts[keys[i]]
        keys[i] = bucket
        order[place[bucket]] = i
        place[bucket] += 1
    return bounds


def lsh_tables(
    starts: Ints,
    items: Items,
    d: int,
    tables: int = 5,
    bits: int | None = None,
    *,
    rng: np.random.Generator,
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
        for j, group in enumerate(bit_groups(shares, width, rng)):
            masks[group, t] |= 1 << j
    bucket = np.zeros((tables, n), dtype=np.int64)
    order = np.empty((tables, n), dtype=np.int64)
    workers = cores(threads)
    cuts = np.linspace(0, n, 8 * workers + 1).astype(np.int64).tolist()

    def arranged(t: int) -> Ints:
        if width > max(n, 2).bit_length() + 2:
            # Most keys would be unused: number those that occur.
            distinct, bucket[t] = np.unique(bucket[t], return_inverse=True)
            return _arrange(bucket[t], distinct.size, order[t])
        return _arrange(bucket[t], 1 << width, order[t])

    with ThreadPoolExecutor(workers) as pool:
        for task in [
            pool.submit(_hash, starts, items, masks, low, high, bucket)
            for low, high in pairwise(cuts)
        ]:
            task.result()
        bounds = tuple(pool.map(arranged, range(tables)))
    return LshTables(bucket, order, bounds)
