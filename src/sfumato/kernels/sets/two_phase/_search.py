"""Two-phase: drop items until every set is shared by k records, then bring items back.

Podgursky 2011, "Practical k-anonymity on large datasets", algorithms 6 to 8. The thesis leaves ties
open. Here the smallest cluster with most items goes first, which lets all clusters of one size pass
from the longest sets to the shortest (`set_merge`); and groups are closed whenever they are looked
at, not only at the start (`set_split`). One cluster goes after the other in both phases, so that
the result is that of the literal algorithm with these rules, whatever the number of threads.

The second phase can also start from all records as one group. Where items occur together it then
keeps more, because the first phase drops items by their weight among all records, not among those
that are alike; where sets are nearly equal and k is small, the first phase is the better start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

from ...arrays import Floats, Ints
from ...threads import cores
from ..rows import Items, grouped, shared_utility
from ._merge import merge
from ._rows import Rows, by_weight
from ._split import split

Start = Literal["merged", "whole", "better"]
Tell = Callable[[float], None]

_PREPARED = 0.08
"""The share of the time that it takes to bring the records in order, about."""


def kept(rows: Rows, label: Ints) -> float:
    """The utility that is left when each group of places publishes what its records share."""
    order, bounds = grouped(label, int(label.max()) + 1)
    return shared_utility(rows.starts, rows.ranks, rows.worth, order, bounds)


def _from_merged(rows: Rows, k: int, least_loss: bool, threads: int, tell: Tell) -> Ints:
    into = merge(
        rows, k, least_loss=least_loss, threads=threads, tell=lambda share: tell(0.6 * share)
    )
    label = np.repeat(into, np.diff(rows.head))
    return split(rows, label, k, tell=lambda share: tell(0.6 + 0.4 * share))


def _from_whole(rows: Rows, k: int, tell: Tell) -> Ints:
    return split(rows, np.zeros(rows.record.size, dtype=np.int32), k, tell=tell)


def _both(rows: Rows, k: int, least_loss: bool, threads: int, tell: Tell) -> Ints:
    """The better of both starts; with two threads or more they run side by side."""
    if threads == 1:
        first = _from_merged(rows, k, least_loss, 1, lambda share: tell(share / 2))
        second = _from_whole(rows, k, lambda share: tell((1 + share) / 2))
    else:
        stop, beside = threading.Event(), [0.0]

        def note(share: float) -> None:
            if stop.is_set():
                raise InterruptedError("the search was given up")
            beside[0] = share

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(_from_merged, rows, k, least_loss, threads, note)
            try:
                second = _from_whole(rows, k, lambda share: tell((share + beside[0]) / 2))
                first = other.result()
            finally:
                stop.set()
    return first if kept(rows, first) > kept(rows, second) else second


def two_phase(
    starts: Ints,
    items: Items,
    utilities: Floats,
    k: int,
    *,
    start: Start = "better",
    least_loss: bool = False,
    threads: int | None = None,
    tell: Tell = lambda share: None,
) -> Ints:
    """The group of each record, 0..g-1; every group has at least k records.

    `start`: from where the second phase starts, "merged" as in the thesis. `least_loss`: a cluster
    merges where it loses least, not, as in the thesis, where most is left in sum. `tell` hears the
    share of the work that is done.

    >>> starts, items = np.array([0, 2, 4, 6, 8]), np.array([0, 1, 0, 1, 2, 3, 2, 4], np.uint16)
    >>> two_phase(starts, items, np.ones(5), 2).tolist()
    [1, 1, 0, 0]
    """
    n = starts.size - 1
    if n < k:
        raise ValueError(f"{n} records cannot form a group of {k}")
    if n >= np.iinfo(np.int32).max:
        raise ValueError(f"records are numbered in four bytes: {n:,} are too many")
    workers = cores(threads)
    rows = by_weight(
        starts, items, utilities, threads=workers, tell=lambda share: tell(_PREPARED * share)
    )

    def rest(share: float) -> None:
        tell(_PREPARED + (1 - _PREPARED) * share)

    if start == "merged":
        label = _from_merged(rows, k, least_loss, workers, rest)
    elif start == "whole":
        label = _from_whole(rows, k, rest)
    else:
        label = _both(rows, k, least_loss, workers, rest)
    found = np.empty(n, dtype=np.int64)
    found[rows.record] = label
    return found
