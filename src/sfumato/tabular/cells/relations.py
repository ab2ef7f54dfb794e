"""Linear relations between cells: which cells add up to which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..lists import by_group

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...kernels.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Relations:
    """Row r says that the sum of coefs * values over its cells is 0, as compressed rows.

    The total of a relation has the coefficient -1 and its addends +1; other coefficients may occur.
    """

    starts: Ints
    cells: Ints
    coefs: Floats
    n: int
    """How many cells there are."""

    @classmethod
    def of(cls, relation: Ints, cell: Ints, coef: Floats, n: int) -> Relations:
        """From triplets in any order; relations are numbered 0, 1, ..."""
        starts, order = by_group(relation, int(relation.max(initial=-1)) + 1)
        return cls(
            starts,
            np.ascontiguousarray(cell[order], dtype=np.int64),
            np.ascontiguousarray(coef[order], dtype=np.float64),
            n,
        )

    def __len__(self) -> int:
        return int(self.starts.size) - 1

    @cached_property
    def matrix(self) -> csr_array:
        """The same as a sparse matrix, relations by cells."""
        from scipy.sparse import csr_array

        return csr_array((self.coefs, self.cells, self.starts), shape=(len(self), self.n))

    @cached_property
    def rows(self) -> Ints:
        """The relation of each entry."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))

    @cached_property
    def by_cell(self) -> tuple[Ints, Ints, Floats]:
        """The same by cells: starts (n + 1), relations, coefficients."""
        starts, order = by_group(self.cells, self.n)
        return starts, self.rows[order], self.coefs[order]

    def sums(self, values: Floats) -> Floats:
        """What each relation adds up to; 0 where it holds."""
        return np.asarray(self.matrix @ values)
