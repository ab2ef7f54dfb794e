"""What all record linkage needs of the two files: the columns to link by, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from ...errors import MeasureError
from ..codec import floats
from ..pair import Pair
from ..schema import ORDERED, Kind
from ..table import Table

CONFIDENCE = 0.95

KnownColumns = Annotated[
    tuple[str, ...],
    Field(description="columns that the intruder knows; the quasi-identifiers unless given"),
]
Sample = Annotated[
    int,
    Field(ge=0, description="records to link, drawn at random where there are more; 0 links all"),
]
"""Of the records to link."""


def require_records(pair: Pair, asking: str) -> None:
    """Refuse empty tables."""
    for side, table in (("original", pair.original), ("masked", pair.masked)):
        if not table.height:
            raise MeasureError(
                f"{asking} cannot be taken: the {side} table has no records",
                remedy="give tables with records",
            )


def require_reference(reference: Table, names: Sequence[str] = ()) -> None:
    """Refuse a reference table that is empty or lacks one of these columns of the original."""
    if not reference.height:
        raise MeasureError("the reference table has no records", remedy="leave it out, or fill it")
    for name in names:
        if name not in reference.schema:
            raise MeasureError(
                f"the reference table has no column {name!r}",
                remedy="give it the columns of the original",
            )


def columns_to_link_by(pair: Pair, named: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The columns named, else the quasi-identifiers, and why some of those are left out."""
    wanted = list(named) or pair.original.schema.quasi
    absent = [name for name in wanted if name not in pair.masked.schema]
    for name in named:
        if name in absent or name not in pair.original.schema:
            raise MeasureError(
                f"column {name!r} is not in both tables", remedy="leave it out of `columns`"
            )
    names = [name for name in wanted if name not in absent]
    if not names:
        raise MeasureError(
            "there is no quasi-identifier in both tables to link by",
            remedy='give columns the role "quasi", or name them in `columns`',
        )
    return names, dict.fromkeys(absent, "is not in the masked table")


def has_numbers(pair: Pair, name: str) -> bool:
    """Whether a column has numbers in both tables, and the same ones."""
    before, after = pair.original.schema[name], pair.masked.schema[name]
    return (
        before.kind in ORDERED
        and after.kind in ORDERED
        and not before.generalized
        and (before.kind == Kind.DATE) == (after.kind == Kind.DATE)
        and set(after.categories) <= set(before.categories)
    )


def numbers_of(table: Table, names: Sequence[str], pair: Pair) -> np.ndarray:
    """float64 (n, p): the columns as numbers, ordinals by the original's order; NaN is missing."""
    out = np.empty((table.height, len(names)))
    for j, name in enumerate(names):
        column, series = table.schema[name], table[name]
        wanted = pair.original.schema[name]
        if wanted.kind == Kind.ORDINAL:
            column = wanted
            series = series.cast(pl.String).cast(pl.Enum(list(wanted.categories)))
        out[:, j] = floats(series, column)
        if np.isinf(out[:, j]).any():
            row = int(np.argmax(np.isinf(out[:, j])))
            raise MeasureError(
                f"column {name!r} is infinite in row {row + 1}: it has no distances",
                remedy="make such values missing, or leave the column out of `columns`",
            )
    return out


def stacked(parts: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Columns of codes side by side."""
    return np.column_stack(parts) if parts else np.empty((rows, 0), dtype=np.int32)


def drawn(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn at random, in order; all of them where there are no more."""
    if not size or size >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, size=size, replace=False))


def limits(hits: int, n: int) -> tuple[float, float]:
    """Clopper & Pearson's confidence limits of a share."""
    from scipy.stats import beta

    tail = (1 - CONFIDENCE) / 2
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high
