"""Records that can be told apart by what nobody changed: are they at their place?

A table that was sorted again, or of which a part was shuffled, agrees with its original in most
rows by order alone. But its records are all still there, whole, in other rows; after masking in
order they are nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ..pair import Pair
from ..schema import Kind

_UNCHANGED = 0.95
"""A column was not changed, or only given to others, where so many of its values are the same."""
_FEWEST = 3
_MOVED = 0.5
"""By chance alone, fewer than this share of distinct records occur once in both tables."""


@dataclass(frozen=True)
class Places:
    """Where the records are that are distinct on unchanged columns."""

    here: int
    """Distinct ones that are the same in their own row."""
    elsewhere: int
    """Distinct ones that are found in one other row."""
    nowhere: int
    """Distinct ones that are found in no row."""
    rest: int
    """Rows that others are like, if they differ from their own row."""
    rows: int
    whole: bool
    """Whether no shared column was changed."""

    @property
    def moved(self) -> bool:
        """Whether those that are not at their place are found at others."""
        away = self.elsewhere + self.nowhere
        return self.elsewhere >= _FEWEST and self.elsewhere > _MOVED * away

    @property
    def kept(self) -> bool:
        """Whether nearly all that can be told apart are at their place, and these are most; or
        all rows are the same."""
        distinct = self.here + self.elsewhere + self.nowhere
        if self.whole and not self.elsewhere + self.nowhere + self.rest:
            return True
        return 2 * distinct >= self.rows and self.here >= _UNCHANGED * distinct


def places(pair: Pair, without: str = "") -> Places:
    """Where the records of a pair are, by the columns that were not changed."""
    shared = [name for name in pair.shared() if name != without]
    names = [name for name in shared if _unchanged(pair, name)]
    rows, records = pair.aligned_rows()
    if not names:
        return Places(0, 0, 0, rows.size, rows.size, whole=False)
    own, shown = _coded(pair.original.frame, pair.masked.frame, names)
    own_many, shown_many = _counts(own, shown)
    mine = shown[records]
    same = own[rows] == mine
    distinct = shown_many[mine] == 1
    once = own_many[mine] == 1
    return Places(
        here=int((same & distinct).sum()),
        elsewhere=int((~same & distinct & once).sum()),
        nowhere=int((~same & distinct & ~once).sum()),
        rest=int((~same & ~distinct).sum()),
        rows=int(rows.size),
        whole=names == shared,
    )


def _unchanged(pair: Pair, name: str) -> bool:
    """Whether both tables hold the same values, each as often."""
    before, after = pair.original.schema[name], pair.masked.schema[name]
    if Kind.SET in (before.kind, after.kind) or before.generalized or after.generalized:
        return False
    own, shown = (_plain(table.frame.get_column(name)) for table in (pair.original, pair.masked))
    if own.dtype != shown.dtype:
        return False
    counts = [values.alias("of").value_counts(name="many") for values in (own, shown)]
    both = counts[0].join(counts[1], on="of", nulls_equal=True)
    alike = both.select(pl.min_horizontal("many", "many_right")).to_series().sum()
    return bool(alike >= _UNCHANGED * len(shown))


def _plain(series: pl.Series) -> pl.Series:
    """Values by which equal ones are equal whatever their types."""
    numeric = series.dtype.is_numeric()
    return series.cast(pl.Float64 if numeric else pl.String)


def _coded(own: pl.DataFrame, shown: pl.DataFrame, names: list[str]) -> list[np.ndarray]:
    """The rows of two tables as the same small numbers."""
    plain = [pl.DataFrame([_plain(frame[name]) for name in names]) for frame in (own, shown)]
    codes = np.unique(pl.concat(plain).hash_rows().to_numpy(), return_inverse=True)[1]
    return [codes[: own.height], codes[own.height :]]


def _counts(own: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How often each number occurs in either."""
    wide = int(max(own.max(initial=0), shown.max(initial=0))) + 1
    return np.bincount(own, minlength=wide), np.bincount(shown, minlength=wide)
