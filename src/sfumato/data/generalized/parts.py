"""Values that are joined part by part, as searches see them: each part is a column."""

from __future__ import annotations

import numpy as np

from ..codec import Coded, Matrix


class PartMatrix(Matrix):
    """Columns whose values have parts as one column for each part; all others stay as they are.

    `of[j]` is the column of the table's choice that column j is of, and `shares[j]` what it
    contributes to the cost of that. `by` is the rule of costs.
    """

    def __init__(self, x: Matrix, by: str) -> None:
        super().__init__(x.table, [])
        self._found: list[Coded] = []
        self.of: list[int] = []
        self.shares: list[float] = []
        for j in range(len(x.columns)):
            for found, share in _parts(x.coded(j), by):
                self.columns.append(x.columns[j])
                self._found.append(found)
                self.of.append(j)
                self.shares.append(share)

    def coded(self, j: int) -> Coded:
        """Part j as codes."""
        return self._found[j]


def _parts(whole: Coded, by: str) -> list[tuple[Coded, float]]:
    parts = whole.structure.parts
    made = parts(by) if parts is not None else ()
    codes = whole.codes.astype(np.int64)
    found = [(Coded(whole.column, p.codes[codes], p.poset, p.structure), p.share) for p in made]
    return found or [(whole, 1.0)]
