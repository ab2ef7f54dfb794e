"""Searches for sets where the data are: blocks from counts of items, each searched in one place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from ...data.codec import Matrix
from ...data.partition import Partition, require_group
from ...data.sets.items import check_utilities, item_utilities
from ...data.sets.table import SetTable, item_type
from ...data.table import Table
from ...engines.blockwise import Blockwise
from ...engines.cuts import binned
from ...engines.relation import Relation, Tally
from ...engines.spread import Told
from ...kernels.sets.mondrian import ItemCuts, classes_of, item_counts, item_cuts
from ...rng import Key
from .base import FEW_LOST, Sets, SetSearch, side_by_side


class Items(NamedTuple):
    """The items of all records: of each column the sorted names, and what each is worth."""

    columns: tuple[str, ...]
    names: tuple[pl.Series, ...]
    utilities: np.ndarray

    def sets(self, part: Table) -> tuple[Sets, np.ndarray]:
        """The sets of a part, items numbered as in the whole, and which records have none."""
        views = [SetTable.of(part, name) for name in self.columns]
        starts, items, missing = side_by_side(views)
        offset, own = 0, []
        for view, names in zip(views, self.names, strict=True):
            own.append(offset + names.search_sorted(view.names).to_numpy().astype(np.int64))
            offset += len(names)
        number = np.concatenate(own).astype(item_type(offset)) if own else np.empty(0)
        return Sets(starts, number[items], self.utilities), missing


@dataclass(frozen=True, eq=False)
class SetBlocks:
    """Where records go by their sets."""

    items: Items
    cuts: ItemCuts
    bins: np.ndarray
    """Of each class its bin; the last entry is that of records without a set, if these stay
    apart."""
    lost: int
    apart: bool

    def classes(self, sets: Sets, missing: np.ndarray) -> np.ndarray:
        """int64: the class of each record."""
        found = classes_of(sets.starts, sets.items, self.cuts)
        return np.where(missing, self.bins.size - 1, found) if self.apart else found

    def __call__(self, part: Table, numbers: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.bins[self.classes(*self.items.sets(part))]
        return found


class SetBlockwise(SetSearch, Blockwise):
    """A search for sets in blocks."""

    knows_domains: ClassVar[bool] = False
    most_records: ClassVar[int] = 1_000_000

    @abstractmethod
    def cutting(self) -> tuple[int, str, int]:
        """How blocks are cut: how many records either side keeps, which item splits, and how many
        records a class has at least that is split before its records are in one place."""

    def search_block(self, sets: Sets) -> np.ndarray:
        """Labels of the records of one block."""
        found = self.search(sets, np.random.default_rng(0))  # which draws nothing
        assert isinstance(found, Partition)
        return found.labels

    def survey(self, data: Relation, columns: Sequence[str], most: int) -> SetBlocks:
        require_group(data.height, self.k)
        items, lost = _items(data, columns)
        k, choose, limit = self.cutting()
        apart = self.k <= lost <= data.height - self.k
        n = data.height - lost if apart else data.height
        most = max(most, limit)

        def count(cuts: ItemCuts, nodes: np.ndarray) -> np.ndarray:
            each = partial(_counted, items, cuts, nodes)
            total = np.zeros((nodes.size, items.utilities.size), dtype=np.int64)
            for found in data.fold(columns, each):
                total += found
            return total

        cuts, size = item_cuts(n, items.utilities, k, choose, most, count)
        leaves = np.flatnonzero(cuts.item < 0)
        bins = np.full(size.size + 1, -1)
        bins[leaves] = binned(size[leaves], most)
        bins[-1] = bins.max() + 1
        return SetBlocks(items, cuts, bins, lost, apart)

    def partition_block(self, x: Matrix, blocks: SetBlocks, key: Key) -> Partition:
        sets, missing = blocks.items.sets(x.table)
        classes = Partition.of(blocks.classes(sets, missing))
        labels, count = np.empty(len(x), dtype=np.int64), 0
        for rows in classes:
            found = np.zeros(rows.size, dtype=np.int64)
            if not (blocks.apart and missing[rows[0]]):
                found = self.search_block(sets.take(rows))
            labels[rows] = found + count
            count += int(found.max()) + 1
        return Partition.of(labels)

    def told(self, blocks: SetBlocks, tally: Tally) -> Told:
        return Told(warnings=(FEW_LOST,) if blocks.lost and not blocks.apart else ())


def _items(data: Relation, columns: Sequence[str]) -> tuple[Items, int]:
    """The items that occur, and how many records have no set."""
    found: list[Any] = data.fold(columns, partial(_seen, tuple(columns)))
    names, utilities = [], []
    for at, name in enumerate(columns):
        every = pl.concat([one[0][at] for one in found]).unique().sort()
        check_utilities(data.schema[name], every)
        names.append(every)
        utilities.append(item_utilities(data.schema[name], every))
    lost = sum(one[1] for one in found)
    return Items(tuple(columns), tuple(names), np.concatenate(utilities)), lost


def _seen(columns: Sequence[str], part: Table, numbers: np.ndarray) -> tuple[list[pl.Series], int]:
    views = [SetTable.of(part, name) for name in columns]
    missing = np.logical_and.reduce([view.missing for view in views])
    return [view.names for view in views], int(missing.sum())


def _counted(
    items: Items,
    cuts: ItemCuts,
    nodes: np.ndarray,
    part: Table,
    numbers: np.ndarray,
) -> np.ndarray:
    sets, _ = items.sets(part)  # those that are missing have no items to count
    return item_counts(sets.starts, sets.items, cuts, nodes, sets.d)
