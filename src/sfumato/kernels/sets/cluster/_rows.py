"""Hash buckets that records leave and enter at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Ints
from ..lsh import LshTables


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
def move(buckets: Buckets, record: int, inside: bool) -> None:
    """Put a record that is out into its buckets, or take one that is in out of them."""
    for t in range(buckets.bucket.shape[0]):
        b = buckets.bucket[t, record]
        if not inside:
            buckets.filled[b] -= 1
        to, at = buckets.begin[b] + buckets.filled[b], buckets.place[t, record]
        other = buckets.order[to]
        buckets.order[at], buckets.order[to] = other, record
        buckets.place[t, other], buckets.place[t, record] = at, to
        if inside:
            buckets.filled[b] += 1


@njit(cache=True, nogil=True)
def enter_all(buckets: Buckets, records: Ints) -> None:
    """Only these records are in."""
    buckets.filled[:] = 0
    for m in range(records.size):
        move(buckets, records[m], True)
