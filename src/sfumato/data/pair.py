"""`Pair`: an original table, its masked version, and which record became which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from ..errors import MeasureError
from .schema import SUPPRESSED
from .table import Table

Alignment = Literal["position", "none"] | str


@dataclass(frozen=True, eq=False)
class Pair:
    """Original and masked, aligned explicitly or not at all.

    `rows[j]` is the original row that became masked row j, -1 where none did; None means that
    nobody knows, and measures that need alignment refuse.
    """

    original: Table
    masked: Table
    rows: np.ndarray | None

    @classmethod
    def of(cls, original: Table, masked: Table, align: Alignment = "position") -> Pair:
        """Align by "position", by the name of a key column, or "none"."""
        if align == "none":
            return cls(original, masked, None)
        if align == "position":
            if original.height != masked.height:
                raise MeasureError(
                    f"the original has {original.height:,} records and the masked table "
                    f"{masked.height:,}: they cannot be aligned by position",
                    remedy='align="KEY" (a column in both) or align="none"',
                )
            return cls(original, masked, np.arange(original.height))
        return cls(original, masked, _match_keys(original, masked, align))

    @property
    def aligned(self) -> bool:
        """Whether it is known which record became which."""
        return self.rows is not None

    def aligned_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Original rows and masked rows that belong together."""
        if self.rows is None:
            raise MeasureError(
                "this measure must know which masked record belongs to which original",
                remedy='align="position" or align="KEY"; records drawn from a model have none',
            )
        masked = np.flatnonzero(self.rows >= 0)
        return self.rows[masked], masked

    def shared(self) -> list[str]:
        """Columns that both tables have, in the original's order."""
        return [name for name in self.original.names if name in self.masked.schema]


def _match_keys(original: Table, masked: Table, key: str) -> np.ndarray:
    for side, table in (("original", original), ("masked", masked)):
        if key not in table.schema:
            raise MeasureError(
                f"the {side} table has no column {key!r} to align by",
                remedy='align="position", align="none", or a column that both tables have',
            )
        values = table[key]
        nested = values.dtype.is_nested()
        if nested or values.null_count() or values.n_unique() != table.height:
            raise MeasureError(
                f"column {key!r} of the {side} table does not tell its records apart",
                remedy="align by a column of single values, none missing and none repeated",
            )
    left = pl.DataFrame({"key": masked[key].cast(pl.String)})
    right = pl.DataFrame({"key": original[key].cast(pl.String)}).with_row_index("row")
    found = left.join(right, on="key", how="left", maintain_order="left")["row"]
    if masked.height and found.null_count() == masked.height:
        raise MeasureError(
            f"no value of column {key!r} occurs in both tables",
            remedy="align by a column that masking left alone",
        )
    return found.cast(pl.Int64).fill_null(-1).to_numpy()


def suppressed(pair: Pair, name: str) -> np.ndarray:
    """Which cells of a masked column were suppressed: marked by a method, or published as "*".

    In a column of values that held "*" from the beginning it is a value like any other.
    """
    series, marked = pair.masked[name], pair.masked.suppressed(name)
    if series.dtype in (pl.String, pl.Categorical, pl.Enum) and not means_star(pair, name):
        starred = (series.cast(pl.String) == SUPPRESSED).fill_null(False).to_numpy()
        marked = np.logical_or(marked, starred)
    return marked


def means_star(pair: Pair, name: str) -> bool:
    """Whether "*" is a value of the column itself."""
    if pair.masked.schema[name].generalized or name not in pair.original.schema:
        return False
    before = pair.original[name]
    return before.dtype == pl.String and bool((before == SUPPRESSED).any())
