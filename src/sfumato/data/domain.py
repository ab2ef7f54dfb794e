"""`Domain`: what is known of a whole column where a table holds some of its records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True, eq=False)
class Domain:
    """The distinct values of a column, as the codec sorts them, and how often each occurs.

    A column of a part that knows its domain (`Column.whole`) is coded, ordered, cut and labelled as
    the whole is, whatever the part holds of it.
    """

    values: pl.Series
    counts: np.ndarray
    """int64, one for each value."""
    missing: int
    """Records that have none."""

    @property
    def records(self) -> int:
        """Records of the whole."""
        return int(self.counts.sum()) + self.missing
