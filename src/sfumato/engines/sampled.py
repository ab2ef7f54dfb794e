"""A sample of people and what became of their records, where all of them do not fit into memory.

Who is in the sample depends on a key and on the records' numbers, never on how the records are
divided: those with the lowest random numbers are.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..data.pair import Pair
from ..data.table import Table
from ..kernels.draws import Draws
from ..rng import Key
from .batches import together
from .relation import Relation

SAMPLE = 50_000
"""People in a sample."""
_MORE = 1.2
"""How many times as many as are wanted are looked at first: how many that finds is random."""


def sample(data: Relation, key: Key, many: int = SAMPLE) -> tuple[Table, np.ndarray]:
    """So many records, or all where there are no more, by their number; and their numbers (uint64).

    >>> from sfumato.data.table import table
    >>> from sfumato.engines.relation import Whole
    >>> some, numbers = sample(Whole(table({"x": range(100)})), Key.of_seed(1), 3)
    >>> some["x"].to_list() == numbers.tolist(), some.height
    (True, 3)
    """
    wanted = min(many, data.height)
    share = _MORE * wanted / max(data.height, 1)
    while True:
        below = None if share >= 1.0 else np.uint64(share * 2.0**64)
        parts = data.fold(data.schema.names, partial(_drawn, key, below))
        numbers = np.concatenate([found for _, found in parts])
        if below is None or numbers.size >= wanted:
            break
        share *= 2.0
    table = together([part for part, _ in parts])
    lowest = np.lexsort((numbers, Draws(key, numbers).bits()))[:wanted]
    chosen = lowest[np.argsort(numbers[lowest])]
    return table.take(chosen), numbers[chosen]


def _drawn(
    key: Key, below: np.uint64 | None, part: Table, numbers: np.ndarray
) -> tuple[Table, np.ndarray]:
    if below is None:
        return part, numbers
    rows = np.flatnonzero(Draws(key, numbers).bits() < below)
    return part.take(rows), numbers[rows]


def records_of(data: Relation, numbers: np.ndarray) -> tuple[Table, np.ndarray]:
    """The records with these numbers (sorted), as far as they are there, and their numbers."""
    parts = data.fold(data.schema.names, partial(_named, numbers))
    found = np.concatenate([one for _, one in parts])
    order = np.argsort(found)
    return together([part for part, _ in parts]).take(order), found[order]


def _named(wanted: np.ndarray, part: Table, numbers: np.ndarray) -> tuple[Table, np.ndarray]:
    at = np.searchsorted(wanted, numbers).clip(max=max(wanted.size - 1, 0))
    rows = np.flatnonzero(wanted[at] == numbers) if wanted.size else np.empty(0, dtype=np.int64)
    return part.take(rows), numbers[rows]


def sampled_pair(original: Relation, masked: Relation, key: Key, many: int = SAMPLE) -> Pair:
    """A sample of the originals beside what became of them.

    Measures that compare records or tables are taken of it, and promise nothing of all records. Of
    linkage it mostly finds more, since there are fewer to be confused with; but it finds fewer
    where the units or ranks that an intruder goes by are others among few. Of classes it tells
    nothing.
    """
    before, numbers = sample(original, key, many)
    after, kept = records_of(masked, numbers)
    return Pair(before, after, np.searchsorted(numbers, kept))
