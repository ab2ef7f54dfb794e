"""Confidential columns of sets, counted item by item.

What an intruder learns of a set is which items it holds, so that a class must not tell of any item
who holds it; that no two of its sets are alike is no comfort where all of them hold the same item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..data.sets.table import SetTable
from ..data.table import Table, kept_with
from ..kernels.sets.equal_sets import first_equal_sets

if TYPE_CHECKING:
    from .classes import ValueCounts


@dataclass(frozen=True, eq=False)
class Holders:
    """Of each class the records whose set is known, those whose set is empty, and how many
    different sets there are among the known ones."""

    known: np.ndarray
    none: np.ndarray
    different: np.ndarray


def count_pairs(
    table: Table, name: str, labels: np.ndarray, groups: int, rows: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, SetTable, Holders]:
    """Pairs of class and item with their records, as keys `class * (items + 1) + item + 1`.

    Item number -1 is a missing set. The keys are sorted, each once.
    """
    sets: SetTable = kept_with(table, ("sets", name), None, lambda: SetTable.of(table, name))
    of_record = labels
    if rows is not None:
        of_record = np.full(len(sets), -1, dtype=np.int64)
        of_record[rows] = labels
    width = len(sets.names) + 1
    holder = np.repeat(of_record, sets.sizes)
    inside = holder >= 0
    key = holder[inside] * width + sets.items[inside] + 1
    missing = of_record[sets.missing & (of_record >= 0)] * width
    found, count = np.unique(np.concatenate((key, missing)), return_counts=True)
    present = ~sets.missing & (of_record >= 0)
    known = np.bincount(of_record[present], minlength=groups)
    empty = np.bincount(of_record[present & (sets.sizes == 0)], minlength=groups)
    alike = partial(first_equal_sets, sets.starts, sets.items, sets.missing)
    content = kept_with(table, ("first", name), None, alike)
    pairs = np.unique(of_record[present] * max(len(sets), 1) + content[present])
    different = np.bincount(pairs // max(len(sets), 1), minlength=groups)
    return found, count, sets, Holders(known, empty, different)


def held_by_all(counts: ValueCounts) -> np.ndarray:
    """bool: classes in which some item is held by everybody whose set is known."""
    assert counts.holders is not None
    known = counts.holders.known
    found = np.zeros(known.size, dtype=bool)
    sure = (counts.code > 0) & (counts.count == known[counts.cls])
    found[counts.cls[sure]] = True
    return found


def with_none(counts: ValueCounts) -> ValueCounts:
    """The counts with holding no item at all as one more value."""
    assert counts.holders is not None
    some = np.flatnonzero(counts.holders.none)
    code = np.full(some.size, len(counts.values) + 1, dtype=np.int64)
    return replace(
        counts,
        cls=np.concatenate((counts.cls, some)),
        code=np.concatenate((counts.code, code)),
        count=np.concatenate((counts.count, counts.holders.none[some])),
    )


def item_distances(counts: ValueCounts) -> np.ndarray:
    """The largest difference, over the items, of their shares in each class and in the whole.

    Each item is a value of two, held or not, whose earth mover's distance is that difference. A
    missing set is told apart as one more such value.
    """
    assert counts.holders is not None
    here = counts.holders.known.astype(np.float64)
    absent = counts.code == 0
    np.add.at(here, counts.cls[absent], counts.count[absent])
    total = np.bincount(counts.code, weights=counts.count, minlength=len(counts.values) + 1)
    whole = total / max(here.sum(), 1.0)
    share = counts.count / here[counts.cls]
    found = np.zeros(here.size)
    np.maximum.at(found, counts.cls, np.abs(share - whole[counts.code]))
    # Of the items that a class lacks, the most frequent one: the first gap in their ranks.
    rank = np.empty(whole.size, dtype=np.int64)
    order = np.argsort(-whole, kind="stable")
    rank[order] = np.arange(whole.size)
    by_rank = np.lexsort((rank[counts.code], counts.cls))
    cls, place = counts.cls[by_rank], rank[counts.code][by_rank]
    first = np.searchsorted(cls, np.arange(here.size))
    in_line = place == np.arange(cls.size) - first[cls]
    gap = np.bincount(cls[in_line], minlength=here.size)
    lacking = np.append(whole[order], 0.0)[gap]
    return np.maximum(found, np.where(here > 0, lacking, 0.0))
