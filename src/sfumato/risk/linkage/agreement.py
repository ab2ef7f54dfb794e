"""When columns of two files agree: what probabilistic linkages see of a pair of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...data.linkage.linked import TOLERANCE, Categories, Credit, Numbers, in_one_numbering
from ...data.linkage.linking import has_numbers, require_reference
from ...data.pair import Pair
from ...data.table import Table
from ...kernels.neighbours.fellegi_sunter import Estimate
from ...kernels.neighbours.rank_windows import (
    Places,
    Windows,
    gather,
    rank_windows,
    sort_column,
    value_windows,
)

Agreement = Literal["deviations", "ranks", "exact"]
Held = tuple[np.ndarray, np.ndarray]
"""Numbers and codes."""
SHORTLIST = 50
"""Candidates for each record in an assignment."""


class Files:
    """The masked file, its columns sorted, ready for the windows of any table.

    Categories agree when they are equal, numbers within a number of standard deviations or of
    ranks.
    """

    def __init__(self, pair: Pair, names: list[str], agreement: Agreement, within: float) -> None:
        self.pair, self.names = pair, names
        self.agreement, self.within = agreement, within
        self.numbers = Numbers(pair, tuple(name for name in names if has_numbers(pair, name)))
        others = tuple(name for name in names if name not in self.numbers.names)
        self.categories = Categories(pair, others)

    def held(self, known: Sequence[str], rows: np.ndarray) -> tuple[Held, Held]:
        """What some of the originals hold in the known columns, and what all masked records do."""
        numbers = [j for j, name in enumerate(self.numbers.names) if name in known]
        codes = [j for j, name in enumerate(self.categories.names) if name in known]
        # Suppressed is not missing: infinite, and a code of its own.
        y = np.where(self.numbers.hidden, np.inf, self.numbers.masked)
        after = np.where(self.categories.hidden, np.int32(-1), self.categories.masked)
        x, before = self.numbers.original[rows], self.categories.original[rows]
        return (x[:, numbers], before[:, codes]), (y[:, numbers], after[:, codes])

    def windows(self, table: Table, rows: np.ndarray) -> Windows:
        """Which masked records agree with some rows of a table, column by column."""
        require_reference(table, self.names)
        x = self.numbers.of(table)[rows]
        columns, runs = [], []
        for name in self.names:
            hidden = self.pair.masked.suppressed(name)
            mine, theirs, reach = self._column(table, name, rows, x)
            column = sort_column(theirs, hidden)
            columns.append(column)
            runs.append(self._run(mine, column, reach, name))
        return gather(columns, runs)

    def _column(
        self, table: Table, name: str, rows: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        if name not in self.numbers.names:
            a, b = in_one_numbering([table[name], self.pair.masked[name]])
            return _floats(a[rows]), _floats(b), 0.0
        j = self.numbers.names.index(name)
        if self.agreement == "deviations" and self.within > 0:
            published = np.where(self.numbers.hidden, np.nan, self.numbers.published)
            # Rounding must not part values that lie exactly as far apart as is allowed.
            return self.numbers.known(x)[:, j], published[:, j], self.within * (1 + TOLERANCE)
        return x[:, j], self.numbers.masked[:, j], 0.0

    def _run(self, x: np.ndarray, column: Any, reach: float, name: str) -> tuple[Places, Places]:
        if self.agreement == "ranks" and name in self.numbers.names:
            return rank_windows(x, column, round(self.within / 100 * column.values.size))
        wide = np.full(x.size, reach)
        return value_windows(x, column, wide, wide)


def _floats(codes: np.ndarray) -> np.ndarray:
    """Codes as numbers; 0 is missing."""
    return np.where(codes == 0, np.nan, codes.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Part:
    """One scenario."""

    credit: Credit
    facts: dict[str, Any]
    control: float = 0.0
    intruder: str = ""
    """Who found most, where cells leave something open."""
    decisions: tuple[dict[str, Any], dict[str, Any]] | None = None
    """Links, review and non-links: what may be told of them, and what may not."""


def facts_about(known: Sequence[str], found: Estimate) -> dict[str, Any]:
    said: dict[str, Any] = {
        "columns": list(known),
        "m": [round(float(v), 6) for v in found.m],
        "u": [round(float(v), 6) for v in found.u],
        "share_of_matches": found.share,
        "iterations": found.iterations,
    }
    if not found.converged:
        said["converged"] = False
    return said
