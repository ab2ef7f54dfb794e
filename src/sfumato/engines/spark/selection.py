"""Values at ranks without a sort: how many keys begin with which bits, then which of those that
begin as the wanted ones do.

A key is a uint64 in the order of the values. Each pass over the data looks at up to sixteen bits
more, and the last one takes the keys themselves: nothing depends on how records are divided, and
what comes back is bounded whatever the data are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...data.table import Table

_TOP = np.uint64(1 << 63)
_MOST_BINS = 1 << 22
_STEP = 16

Keys = Callable[[Table, np.ndarray], np.ndarray]
Histogram = Callable[[Keys], tuple[np.ndarray, np.ndarray]]
"""How often each key (int64) occurs, in the order of the keys."""


def ordered_keys(series: pl.Series) -> np.ndarray:
    """uint64 in the order of the values, none of which is missing."""
    if series.dtype.is_float():
        bits = series.cast(pl.Float64).to_numpy().view(np.uint64)
        return np.where(bits >> np.uint64(63), ~bits, bits | _TOP)
    whole = series.to_physical()
    if whole.dtype == pl.UInt64:
        return whole.to_numpy()
    return whole.cast(pl.Int64).to_numpy().view(np.uint64) ^ _TOP


def values_of(keys: np.ndarray, dtype: Any) -> pl.Series:
    """The values that have these keys."""
    if dtype.is_float():
        bits = np.where(keys >> np.uint64(63), keys ^ _TOP, ~keys)
        return pl.Series(bits.view(np.float64)).cast(dtype)
    if dtype == pl.UInt64:
        return pl.Series(keys)
    whole = pl.Series((keys ^ _TOP).view(np.int64))
    if isinstance(dtype, pl.Enum):
        return whole.cast(pl.UInt32).cat.to(dtype) if len(keys) else pl.Series([], dtype=dtype)
    return whole.cast(dtype)


@dataclass(frozen=True)
class Leading:
    """The leading bits of those keys that begin as some wanted ones do."""

    keys: Keys
    wanted: np.ndarray
    """What the keys begin with, sorted."""
    known: int
    """How many bits these beginnings leave out; 64: all."""
    shift: int
    """How many bits are left out of what is counted."""

    def __call__(self, part: Table, numbers: np.ndarray) -> np.ndarray:
        keys = self.keys(part, numbers)
        if self.known < 64:
            begin = keys >> np.uint64(self.known)
            at = np.minimum(np.searchsorted(self.wanted, begin), self.wanted.size - 1)
            keys = keys[self.wanted[at] == begin]
        # As int64, which Spark can count, in the same order.
        return np.asarray((keys >> np.uint64(self.shift)) ^ _TOP).view(np.int64)


def bounds(keys: Keys, part: Table, numbers: np.ndarray) -> tuple[int, int, int]:
    """How many keys there are, the least and the greatest."""
    found = keys(part, numbers)
    return (int(found.size), int(found.min()), int(found.max())) if found.size else (0, 0, 0)


def selected(
    keys: Keys, ranks: np.ndarray, least: int, greatest: int, histogram: Histogram
) -> tuple[np.ndarray, np.ndarray]:
    """The keys (uint64) at these ranks, 0 being the lowest, of keys between two; and how many keys
    are lower than each."""
    if not ranks.size:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    known = (least ^ greatest).bit_length()
    prefix = np.full(ranks.size, least >> known, dtype=np.uint64)
    below = np.zeros(ranks.size, dtype=np.int64)
    inside = -1
    while True:
        wanted = np.unique(prefix)
        few = 0 <= inside <= _MOST_BINS
        shift = 0 if few else max(known - _bits(wanted.size), 0)
        found, counts = histogram(Leading(keys, wanted, known, shift))
        begin = found.view(np.uint64) ^ _TOP
        ends = np.cumsum(counts)
        # Below 64 bits: where all keys begin alike, there is nothing to look for.
        first = np.searchsorted(begin, prefix << np.uint64(known - shift)) if known < 64 else 0
        base = np.where(first, ends[np.maximum(first, 1) - 1], 0)
        at = np.searchsorted(ends, base + ranks - below, side="right")
        below = below + np.where(at, ends[np.maximum(at, 1) - 1], 0) - base
        prefix, known = begin[at], shift
        if not known:
            return np.asarray(prefix), below
        inside = int(counts[np.unique(at)].sum())


def _bits(beginnings: int) -> int:
    """How many bits more are looked at, so that what is counted stays bounded."""
    return max(1, min(_STEP, (_MOST_BINS // beginnings).bit_length() - 1))
