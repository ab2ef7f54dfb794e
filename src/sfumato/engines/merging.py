"""One summary of all records, made of parts and merged where they are.

`Relation.fold` brings a summary of each part to the caller. Where one of them may be large, the
caller would hold as many as there are parts; here they are merged a few at a time, and one comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import polars as pl

from ..data.schema import Column, Kind, Schema
from ..data.table import Table
from .relation import Part, Relation

Summary = Callable[[Table, np.ndarray], bytes]
Together = Callable[[Iterable[bytes]], bytes]
"""The summary of some records from those of their parts, in any order; picklable."""
_SUMMARY = "__summary"
_AT_ONCE = 4
"""About how many summaries meet in one place: each may be as large as the part that it is of."""


def merged(
    data: Relation,
    summary: Summary,
    together: Together,
    route: Callable[[Table, np.ndarray], np.ndarray] | None = None,
) -> bytes:
    """The summary of all records, of which there is one at least; of those that belong together as
    one part, where `route` tells which these are."""
    make = partial(_summed, summary)
    found = (data.map_parts(make) if route is None else data.map_groups(route, make))[0]
    while found.height > 1:
        groups = -(-found.height // _AT_ONCE)
        found = found.map_groups(partial(_scattered, groups), partial(_joined, together))[0]
    one: bytes
    [one] = [held for part in found.fold([_SUMMARY], _held) for held in part]
    return one


def _summed(summary: Summary, part: Table, numbers: np.ndarray) -> Part:
    return _row([summary(part, numbers)] if numbers.size else [], numbers)


def _joined(together: Together, part: Table, numbers: np.ndarray) -> Part:
    return _row([together(part[_SUMMARY])] if numbers.size else [], numbers)


def _row(made: Sequence[bytes], numbers: np.ndarray) -> Part:
    """A part of one row, or of none. It takes the place of any of the records: the first ones of
    all groups may lie in one slice, and so would all summaries."""
    frame = pl.DataFrame({_SUMMARY: pl.Series(made, dtype=pl.Binary)})
    rows = [int(numbers.sum(dtype=np.uint64)) % numbers.size for _ in made]
    table = Table(frame, Schema([Column(_SUMMARY, Kind.NOMINAL)]))
    return Part(table, np.array(rows, dtype=np.int64))


def _scattered(groups: int, part: Table, numbers: np.ndarray) -> np.ndarray:
    # Rows of one part lie side by side in their numbers, and those of all parts evenly.
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed >> np.uint64(32)) % np.uint64(groups), dtype=np.int64)


def _held(part: Table, numbers: np.ndarray) -> list[bytes]:
    return part[_SUMMARY].to_list()
