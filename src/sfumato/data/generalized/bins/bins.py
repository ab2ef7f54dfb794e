"""A column of original and release in the same bins, and how cells that may stand for several
values are spread over them.

A cell that stands for a set of values (an interval, a label, a suppressed one) puts its mass on
them in proportion to the release's own exact cells, as if one more record were spread evenly over
the set. Never in proportion to the original's: that would credit the release with what it hides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from ...pair import Pair, suppressed
from ...schema import Kind
from ...sets.flat_lists import comparable
from ..label_places import distinct_labels, has_labels


@dataclass(frozen=True, eq=False)
class Bins:
    """One column of both tables. The last bin is missing; the one before holds what the original
    never has. Cells of the release from `count` on are labels, spread by `shares`."""

    count: int
    before: np.ndarray
    after: np.ndarray
    shares: Any = None
    """CSR matrix, labels by bins, rows summing to 1; None where every cell is exact."""
    hidden: np.ndarray | None = None
    """bool: which cells of the release are suppressed."""

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return 0 if self.shares is None else int(self.shares.shape[0])

    @cached_property
    def spread(self) -> Any:
        """CSR: every place of `after` by bins."""
        own = sparse.identity(self.count, format="csr")
        return own if self.shares is None else sparse.vstack([own, self.shares], format="csr")

    @cached_property
    def folded(self) -> Any:
        """CSR: bins by every place of `after`."""
        return self.spread.T.tocsr()


def nothing(before: int, after: int) -> Bins:
    """A column that tells nothing, to compare one column alone."""
    return Bins(1, np.zeros(before, dtype=np.int32), np.zeros(after, dtype=np.int32))


def as_text(series: pl.Series, kind: Kind) -> pl.Series:
    """Categories as text, truth values in one spelling."""
    texts = comparable(series).cast(pl.String)
    return texts.str.to_lowercase() if kind == Kind.BOOLEAN else texts


class Cells(NamedTuple):
    """The cells of a release's column: exact values by record, or labels."""

    label: np.ndarray
    """int: the label of each record, -1 where it has none."""
    texts: Sequence[str]
    hidden: np.ndarray


def cells_of(pair: Pair, name: str) -> Cells | None:
    """Labels of the column; None where it holds values, or where it is not published."""
    if name not in pair.masked.schema:
        height = pair.masked.height
        everywhere = np.ones(height, dtype=bool)
        return Cells(np.full(height, -1), (), everywhere)
    series = pair.masked[name]
    if not has_labels(pair.original.schema[name], pair.masked.schema[name], series):
        return None
    texts, place = distinct_labels(series)
    hidden = suppressed(pair, name)
    return Cells(np.where(hidden, -1, place), texts, hidden)
