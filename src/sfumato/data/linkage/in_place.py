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
    own, shown = _coded(*(_keys(table.frame, names) for table in (pair.original, pair.masked)))
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
    own, shown = (_texts(table.frame.get_column(name)) for table in (pair.original, pair.masked))
    both = np.minimum(*_counts(*_coded(own, shown)))
    return bool(both.sum() >= _UNCHANGED * len(shown))


def _texts(series: pl.Series) -> pl.Series:
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).cast(pl.String).fill_null("")
    return series.cast(pl.String).fill_null("")


def _keys(frame: pl.DataFrame, names: list[str]) -> pl.Series:
    """One text for each row."""
    texts = pl.DataFrame({name: _texts(frame.get_column(name)) for name in names})
    return texts.select(pl.concat_str(pl.all(), separator="\x1f")).to_series()


def _coded(own: pl.Series, shown: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Texts of two tables as the same small numbers."""
    codes = pl.concat([own.alias("key"), shown.alias("key")]).rank("dense").to_numpy() - 1
    return codes[: len(own)], codes[len(own) :]


def _counts(own: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How often each number occurs in either."""
    wide = int(max(own.max(initial=0), shown.max(initial=0))) + 1
    return np.bincount(own, minlength=wide), np.bincount(shown, minlength=wide)
