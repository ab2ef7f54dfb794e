"""Searches within Mondrian's blocks: what compares all records with all takes any number of them.

Blocks are cut as Mondrian cuts, until they have no more than `blocks` records, and each is searched
on its own. How the records are cut depends on counts alone and a block's records are in the order
of their numbers, so that the groups are the same wherever the data are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from ..data.codec import Matrix
from ..data.partition import Partition, require_group
from ..kernels.mondrian import Choose
from ..rng import Key
from .blockwise import Blockwise
from .cuts import Blocks, Cutting, axes, with_domains
from .relation import Relation, Tally, Whole

FEWEST = 8
"""A block has at least the limit divided by this."""
BlockSize = Annotated[
    int,
    Field(
        ge=0,
        description="cut the records as Mondrian does into blocks of at most so many, and search "
        "within each; 0: search among all",
    ),
]


def into_blocks(
    k: int, blocks: int, choose: Choose = "expected", importance: Mapping[str, float] | None = None
) -> Cutting:
    """How records are cut into blocks of at most so many, each with k."""
    return Cutting(max(k, blocks // FEWEST), True, choose, importance, blocks)


class WithinBlocks(Blockwise):
    """A search that may be confined to Mondrian's blocks."""

    cuts_by: ClassVar[Choose] = "expected"
    """Which cut makes blocks."""

    k: int = Field(5, ge=2, description="smallest group")
    blocks: BlockSize = 0

    @abstractmethod
    def search_all(self, x: Matrix, rng: np.random.Generator) -> Partition:
        """The groups of records that are not cut into blocks first."""

    def cut_weights(self) -> Mapping[str, float]:
        """How much the width of each column counts when blocks are cut; 1 unless given."""
        return {}

    def counted(self, found: Partition, x: Matrix) -> Tally:
        """What is added up of the facts of a block."""
        return Tally()

    def local_only(self) -> str:
        return "" if self.blocks else "it compares all records: blocks = 10000 confines it"

    def survey(self, data: Relation, columns: Sequence[str], most: int) -> Blocks:
        require_group(data.height, self.k)
        return self._cutting.blocks(data, columns, most)

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        require_group(len(x), self.k)
        if not self.blocks:
            return self.search_all(x, rng)
        known = with_domains(Whole(x.table), x.names)
        assert isinstance(known, Whole)
        key = Key.drawn(rng) if self.random else Key.of_seed(0)
        found = self.partition_block(Matrix(known.table, x.names), None, key)
        told = self.told(None, Tally(found.facts))
        return Partition(found.labels, told.facts, told.warnings)

    def partition_block(self, x: Matrix, blocks: Blocks | None, key: Key) -> Partition:
        parts = Partition(self._cutting.groups(x, blocks))
        labels, count, tally = np.empty(len(x), dtype=np.int64), 0, Tally()
        codes = axes(x)[0]
        for rows in parts:
            part, held = Matrix(x.table.take(rows), x.names), codes[rows]
            # A block is known by what it holds, not by where it is.
            ends = [held.min(axis=0).tolist(), held.max(axis=0).tolist()]
            found = self.search_all(part, key.of("block", rows.size, *ends).stream())
            labels[rows] = np.where(found.labels < 0, -1, found.labels + count)
            count += found.groups
            tally = tally.plus(self.counted(found, part))
        return Partition.of(labels, tally.total)

    @property
    def _cutting(self) -> Cutting:
        return into_blocks(self.k, self.blocks, self.cuts_by, self.cut_weights())
