"""What clusterings of sets share: equal sets counted once, and hash buckets that records leave and
enter at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Ints
from ..lsh import LshTables
from ..rows import Items, Words


@njit(cache=True, nogil=True)
def distinct_sets(starts: Ints, items: Items) -> tuple[Ints, Ints]:
    """First record of each distinct set, and for every record the number of its set."""
    n = starts.size - 1
    size = 1
    while size < 2 * n:
        size *= 2
    mask = size - 1
    table = np.full(size, -1, np.int64)
    first = np.empty(n, np.int64)
    member = np.empty(n, np.int64)
    found = 0
    for i in range(n):
        key = np.uint64(1469598103934665603)
        for e in range(starts[i], starts[i + 1]):
            key = (key ^ np.uint64(items[e])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(mask))
        length = starts[i + 1] - starts[i]
        while True:
            g = table[slot]
            if g < 0:
                table[slot] = found
                first[found] = i
                member[i] = found
                found += 1
                break
            at = starts[first[g]]
            same = starts[first[g] + 1] - at == length
            e = 0
            while same and e < length:
                same = items[starts[i] + e] == items[at + e]
                e += 1
            if same:
                member[i] = g
                break
            slot = (slot + 1) & mask
    return first[:found].copy(), member


@njit(cache=True, nogil=True)
def draw(state: Words, below: int) -> int:
    """A random number from 0 to below - 1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return int(np.int64(z >> np.uint64(1)) % below)


class Buckets(NamedTuple):
    """The hash tables of records end to end; the records that are in come first in each bucket."""

    bucket: Ints
    """int64[tables, n]: the bucket of each record; buckets are numbered through all tables."""
    order: Ints
    """int64[tables * n]: the records, bucket by bucket."""
    place: Ints
    """int64[tables, n]: where each record stands in `order`."""
    begin: Ints
    """Where each bucket begins in `order`."""
    filled: Ints
    """How many records of each bucket are in."""


def buckets_of(hashed: LshTables | None, *, full: bool) -> Buckets:
    """All records in their buckets, or all out of them. Uses up the memory of `hashed`."""
    if hashed is None:
        none = np.empty((0, 0), dtype=np.int64)
        return Buckets(none, none.ravel(), none, none.ravel(), none.ravel())
    tables, n = hashed.bucket.shape
    sizes = [bounds.size - 1 for bounds in hashed.bounds]
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    bucket = hashed.bucket
    bucket += offset[:tables, None]
    place = np.empty((tables, n), dtype=np.int64)
    for t in range(tables):
        place[t, hashed.order[t]] = np.arange(t * n, (t + 1) * n)
    begin = np.concatenate([t * n + bounds[:-1] for t, bounds in enumerate(hashed.bounds)])
    counts = np.concatenate([np.diff(bounds) for bounds in hashed.bounds])
    return Buckets(bucket, hashed.order.ravel(), place, begin, counts if full else 0 * counts)


@njit(cache=True, nogil=True)
def _exchange(buckets: Buckets, t: int, record: int, to: int) -> None:
    at, other = buckets.place[t, record], buckets.order[to]
    buckets.order[at] = other
    buckets.place[t, other] = at
    buckets.order[to] = record
    buckets.place[t, record] = to


@njit(cache=True, nogil=True)
def leave(buckets: Buckets, record: int) -> None:
    """Take a record that is in out of its buckets."""
    for t in range(buckets.bucket.shape[0]):
        b = buckets.bucket[t, record]
        buckets.filled[b] -= 1
        _exchange(buckets, t, record, buckets.begin[b] + buckets.filled[b])


@njit(cache=True, nogil=True)
def enter(buckets: Buckets, record: int) -> None:
    """Put a record that is out into its buckets."""
    for t in range(buckets.bucket.shape[0]):
        b = buckets.bucket[t, record]
        _exchange(buckets, t, record, buckets.begin[b] + buckets.filled[b])
        buckets.filled[b] += 1


@njit(cache=True, nogil=True)
def enter_all(buckets: Buckets, records: Ints) -> Buckets:
    """Only these records are in."""
    buckets.filled[:] = 0
    if buckets.bucket.shape[0] > 0:
        for m in range(records.size):
            enter(buckets, records[m])
    return buckets
