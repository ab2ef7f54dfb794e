"""Columns <-> codes, floats and null masks: the only place where values become numbers, and back.

Codes: 0 is missing, 1..m the distinct values in their natural order. `decode(encode(s))` gives
back `s` bit for bit. Floats: numbers as they are, dates as days since 1970, ordinals as the
index of their category, booleans as 0 and 1; missing is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ..errors import Complaint, MethodError, SchemaError
from ..poset.bound import Faults
from ..poset.interval import Interval
from ..poset.valueset import LabelPoset, ValueSet
from ..protocols import Poset, Structure
from .encoding import Codes as Codes
from .encoding import decode as decode
from .encoding import encode as encode
from .encoding import encode_within, width_of
from .schema import MEASURED, ORDERED, Column, Kind
from .table import Table, kept_with

SQUARABLE = 1e140
"""Numbers up to this, and down to its reciprocal, can be squared and summed."""
_EXACT_FLOAT = 2**53
_DAY_US = 24 * 3600 * 1_000_000


def encoded(table: Table, name: str) -> Codes:
    """The codes of a table's column, found once as long as its frame lives."""
    found: Codes = kept_with(table, ("encoded", name), encode, lambda: encode(table[name]))
    return found


def encoded_as(table: Table, name: str, codes: Codes) -> None:
    """Keep the codes of a table's column that are known already."""
    kept_with(table, ("encoded", name), encode, lambda: codes)


def codes_among(part: Table, name: str, domain: pl.Series) -> np.ndarray:
    """A part's values by their places among those of the whole column, which are sorted as the
    codec sorts them: 0 missing, then 1..

    >>> from sfumato.data.table import table
    >>> part = table({"x": ["c", None, "a"]})
    >>> codes_among(part, "x", pl.Series(["a", "b", "c"])).tolist()
    [3, 0, 1]
    """
    found = encoded(part, name)
    if found.domain.equals(domain):
        return found.codes
    within = encode_within(found.domain, domain)
    # Unsigned, as all codes are: of signed ones kernels take -1 for missing.
    lookup = np.concatenate((np.zeros(1, dtype=within.dtype), within))
    return np.asarray(lookup[found.codes])


def equals_before(values: np.ndarray) -> np.ndarray:
    """int64: how many equal values come before each.

    >>> equals_before(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    arranged = values[order]
    found = np.empty(values.size, dtype=np.int64)
    found[order] = np.arange(values.size) - np.searchsorted(arranged, arranged)
    return found


def floats(series: pl.Series, column: Column) -> np.ndarray:
    """Numbers for an ordered or boolean column; NaN where missing."""
    if column.generalized or (column.kind not in ORDERED and column.kind != Kind.BOOLEAN):
        raise MethodError(
            f"column {column.name!r} holds {'labels' if column.generalized else column.kind} "
            "and has no numbers",
            remedy="leave it out of `columns`",
        )
    if column.kind == Kind.DATE:
        if isinstance(series.dtype, pl.Datetime):
            moments = series.dt.epoch("us").cast(pl.Float64) / _DAY_US
            return moments.fill_null(np.nan).to_numpy().copy()
        series = series.cast(pl.Int32)
    elif column.kind == Kind.ORDINAL:
        series = series.to_physical()
    elif series.dtype.is_integer():
        extreme = max(abs(int(series.max() or 0)), abs(int(series.min() or 0)))  # type: ignore[arg-type]
        if extreme > _EXACT_FLOAT:
            raise SchemaError(
                "the table",
                [
                    Complaint(
                        column.name,
                        f"{extreme} is too large to calculate with exactly",
                        'if it is a code, use kind = "nominal" or role = "identifier"',
                    )
                ],
            )
    return series.cast(pl.Float64).to_numpy().copy()  # which says NaN for null


def from_floats(
    values: np.ndarray, column: Column, like: pl.Series, *, whole: bool = False
) -> pl.Series:
    """Numbers back to a column: NaN is missing; dates and ordinals go to the nearest value they can
    hold.

    Integers become floats unless all are whole or `whole` asks for rounding.
    """
    numbers = pl.Series(column.name, values, nan_to_null=True)
    if column.kind == Kind.DATE:
        if isinstance(like.dtype, pl.Datetime):
            moments = (numbers * _DAY_US).round(0).cast(pl.Int64)
            return moments.cast(pl.Datetime("us")).cast(like.dtype)
        return numbers.round(0).cast(pl.Int32).cast(pl.Date)
    if column.kind == Kind.ORDINAL:
        top = len(column.categories) - 1
        index = numbers.round(0).clip(0, top).cast(pl.UInt32)
        domain = pl.Series(list(column.categories), dtype=pl.Enum(list(column.categories)))
        return domain.gather(index).alias(column.name)
    if column.kind == Kind.BOOLEAN:
        return (numbers >= 0.5).alias(column.name)
    if column.kind == Kind.INTEGER:
        if whole:
            numbers = numbers.round(0)
        if bool(((numbers % 1) == 0).all()):
            for dtype in (like.dtype if like.dtype.is_integer() else pl.Int64(), pl.Int64()):
                fitted = numbers.cast(dtype, strict=False)
                # A masked value may lie beyond a narrow type; it must not become missing for that.
                if fitted.null_count() == numbers.null_count():
                    return fitted
        return numbers
    return numbers.cast(like.dtype) if like.dtype.is_float() else numbers


@dataclass(frozen=True, eq=False)
class Coded:
    """One column in the form that searches work on: codes in the order of its poset."""

    column: Column
    codes: np.ndarray
    poset: Poset
    instead: Structure | None = None
    """What searches see in place of the poset's own structure."""
    counts: np.ndarray | None = None
    """int64: how many records of the whole have each code, the first of them missing."""

    @property
    def structure(self) -> Structure:
        """How its values are joined and cut."""
        return self.instead or self.poset.structure


class Matrix:
    """Chosen columns of a table as arrays; each view is made when it is first asked for.

    >>> from sfumato.data.table import table
    >>> people = table({"age": [20, 40], "sex": ["f", None]}, quasi=["age", "sex"])
    >>> m = Matrix(people, ["age", "sex"])
    >>> m.numeric.tolist(), m.nominal.tolist()
    ([[20.0], [40.0]], [[1], [0]])
    """

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.table = table
        self.columns = [table.schema[name] for name in columns]

    def __len__(self) -> int:
        return self.table.height

    @property
    def names(self) -> list[str]:
        """The chosen columns."""
        return [column.name for column in self.columns]

    @cached_property
    def is_numeric(self) -> list[bool]:
        """Which columns have numbers (ordered kinds); the others have categories."""
        return [not c.generalized and c.kind in ORDERED for c in self.columns]

    @cached_property
    def numeric(self) -> np.ndarray:
        """float64 (n, p): the columns with numbers; NaN is missing."""
        chosen = [c for c, numeric in zip(self.columns, self.is_numeric, strict=True) if numeric]
        out = np.empty((len(self), len(chosen)))
        for j, column in enumerate(chosen):
            out[:, j] = floats(self.table[column.name], column)
        if np.isinf(out).any():
            row, j = map(int, np.argwhere(np.isinf(out))[0])
            raise MethodError(
                f"column {chosen[j].name!r} is infinite in row {row + 1}",
                remedy="make it missing, or leave the row out",
            )
        return out

    @cached_property
    def standardized(self) -> np.ndarray:
        """The numeric columns as z-scores; constant columns become zero."""
        return standardize(self.numeric)

    @cached_property
    def nominal(self) -> np.ndarray:
        """int32 (n, q): codes of the other columns; 0 is missing."""
        chosen = [
            c for c, numeric in zip(self.columns, self.is_numeric, strict=True) if not numeric
        ]
        out = np.empty((len(self), len(chosen)), dtype=np.int32)
        for j, column in enumerate(chosen):
            series, whole = self.table[column.name], column.whole
            found = encode(series).codes if whole is None else encode_within(series, whole.values)
            out[:, j] = found
        return out

    @cached_property
    def missing(self) -> np.ndarray:
        """bool (n, d): which cells are null."""
        nulls = [self.table[name].is_null().to_numpy() for name in self.names]
        return np.column_stack(nulls) if nulls else np.zeros((len(self), 0), dtype=bool)

    def coded(self, j: int) -> Coded:
        """Column j as codes in the order of its poset."""
        return code(self.table, self.columns[j].name)


def code(table: Table, name: str) -> Coded:
    """A column as codes in the order of its poset, which is bound to the column's values."""
    column = table.schema[name]
    if column.whole is None:
        found = encode(table[name])
        counts = np.bincount(found.codes, minlength=len(found.domain) + 1)
    else:
        values = column.whole.values
        found = Codes(codes_among(table, name, values), values)
        counts = np.concatenate(([column.whole.missing], column.whole.counts))
    poset = bind(column, found.domain, counts[1:])
    position = _poset_codes(column, poset, found.domain)
    if np.array_equal(position, np.arange(1, position.size + 1)):
        return Coded(column, found.codes, poset, counts=counts)
    lookup = np.zeros(position.size + 1, dtype=width_of(int(position.max(initial=0))))
    lookup[1:] = position
    placed = np.zeros(int(position.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(placed, lookup, counts)
    return Coded(column, lookup[found.codes], poset, counts=placed)


def bind(column: Column, domain: pl.Series, counts: np.ndarray | None = None) -> Poset:
    """The poset of a column over its distinct values: as declared, else the default of its kind."""
    if column.generalized and column.bound is not None:
        return LabelPoset(domain.cast(pl.String).to_list(), column.bound)
    source = column.poset if not column.generalized else None
    if source is None:
        measured = column.kind in MEASURED and not column.generalized
        source = Interval() if measured else ValueSet()
    if column.kind == Kind.ORDINAL and not column.generalized:
        # Its domain is all of its categories, in their order, whether they occur or not.
        if counts is not None:
            observed, counts = counts, np.zeros(len(column.categories), dtype=np.int64)
            counts[domain.to_physical().to_numpy()] = observed
        source = source.for_ordered()
    try:
        return source.bind(domain_values(column, domain), counts)
    except Faults as error:
        listed = [Complaint(column.name, fault) for fault in error.faults]
        raise SchemaError("the table", listed) from error
    except ValueError as error:
        raise SchemaError("the table", [Complaint(column.name, str(error))]) from error


def domain_values(column: Column, domain: pl.Series) -> list[Any]:
    """Distinct values as posets see them: numbers, dates, or text."""
    if column.kind == Kind.ORDINAL and not column.generalized:
        return list(column.categories)
    if column.generalized:
        return domain.to_list()
    if column.kind == Kind.BOOLEAN:
        return [str(value).lower() for value in domain.to_list()]
    if column.kind == Kind.SET:
        if column.poset is not None and column.poset.takes_lists:
            return domain.to_list()
        joined = [" ".join(map(str, value)) for value in domain.to_list()]
        # {"a b"} and {"a", "b"} must not become one.
        return joined if len(set(joined)) == len(joined) else list(map(repr, domain.to_list()))
    return domain.to_list()


def _poset_codes(column: Column, poset: Poset, domain: pl.Series) -> np.ndarray:
    values = domain_values(column, domain)
    if column.kind == Kind.ORDINAL and not column.generalized:
        values = domain.cast(pl.String).to_list()
    try:
        return poset.codes(values)
    except ValueError as error:
        raise SchemaError("the table", [Complaint(column.name, str(error))]) from error


def standardize(x: np.ndarray) -> np.ndarray:
    """z-scores by column, missing values left aside; a constant column becomes zero."""
    if not x.size:
        return x.copy()
    x = _squarable(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        counts = np.sum(~np.isnan(x), axis=0)
        mean = np.where(counts > 0, np.nansum(x, axis=0) / np.maximum(counts, 1), 0.0)
        centred = x - mean
        spread = np.sqrt(np.nansum(centred**2, axis=0) / np.maximum(counts, 1))
    scale = np.where(spread > 0, spread, 1.0)
    return centred / scale


def _squarable(x: np.ndarray) -> np.ndarray:
    """Columns whose squares would overflow or vanish, divided by their largest value."""
    largest = np.where(np.isnan(x), 0.0, np.abs(x)).max(axis=0)
    extreme = (largest > SQUARABLE) | ((largest > 0) & (largest < 1 / SQUARABLE))
    if not extreme.any():
        return x
    return np.asarray(x / np.where(extreme, largest, 1.0))
