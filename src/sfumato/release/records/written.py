"""How a release is written: with the original's precision, and with a word on what its file may do.

Decimals that masking adds tell nobody anything, except which values were moved.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ...data.schema import NUMERIC, Kind
from ...data.table import Table
from ..plan.plan import Output

_SPREADSHEETS = ("csv", "tsv")
"""Formats of which a spreadsheet takes cells for formulas; typed sheets are written without."""
_FORMULA = r"^[=+\-@\t\r]"
_MOST = 9
"""Decimals from which on a column is taken to hold real numbers, which are left alone."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """A table as it is written, and the columns that were rounded for that."""

    table: Table
    columns: tuple[str, ...] = ()


def as_precise(masked: Table, original: Table) -> Rounded:
    """The masked table with no more decimals in a column than the original has; whole numbers are
    whole again."""
    series, columns = [], []
    for name in roundable(masked, original):
        column, before, after = masked.schema[name], original[name], masked[name]
        digits = decimals(before)
        if digits is None or (holds(after, digits) and not before.dtype.is_integer()):
            continue
        rounded = after.round(digits)
        if before.dtype.is_integer():
            whole = rounded.cast(pl.Int64, strict=False)
            if whole.null_count() == after.null_count():
                rounded, column = whole, column.with_(kind=Kind.INTEGER)
        series.append(rounded)
        columns.append(column)
    if not series:
        return Rounded(masked)
    return Rounded(masked.with_columns(series, columns), tuple(c.name for c in columns))


def roundable(masked: Table, original: Table) -> list[str]:
    """The columns of numbers that masking may have given decimals."""
    return [
        column.name
        for column in masked.schema
        if not column.generalized
        and column.kind in NUMERIC
        and column.name in original.schema
        and masked[column.name].dtype.is_float()
        and original[column.name].dtype.is_numeric()
    ]


def decimals(series: pl.Series) -> int | None:
    """How many decimals the values of a column have at most; None where they are real numbers.

    >>> decimals(pl.Series([1.5, 2.25, None])), decimals(pl.Series([3, 4]))
    (2, 0)
    >>> decimals(pl.Series([1 / 3])) is None
    True
    """
    if not series.dtype.is_float():
        return 0
    return next((digits for digits in range(_MOST + 1) if holds(series, digits)), None)


def holds(series: pl.Series, digits: int) -> bool:
    """Whether no value has more decimals."""
    finite = series.filter(series.is_finite())
    return bool((finite.round(digits) == finite).all())


def output_notes(output: Output, table: Table) -> list[str]:
    """What must be known of the file that is written."""
    notes = []
    if not output.shuffle:
        notes.append(
            "the records are in the order of the original: whoever knows a person's place there "
            "finds the record (shuffle = false)"
        )
    if output.format in _SPREADSHEETS and not output.escape_formulas:
        names = [c.name for c in table.schema if _like_formulas(table[c.name])]
        if names:
            notes.append(
                f"some cells of {', '.join(names)} begin like formulas (=, +, -, @), which a "
                "spreadsheet may run when it opens the file: escape-formulas = true disarms them"
            )
    return notes


def _like_formulas(series: pl.Series) -> bool:
    """Whether a text begins as a formula does and is no number."""
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return False
    texts = series.drop_nulls().unique().cast(pl.String)
    texts = texts.filter(texts.str.contains(_FORMULA))
    return bool(texts.cast(pl.Float64, strict=False).is_null().any())
