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
from ..poset.interval import Interval
from ..poset.valueset import LabelPoset, ValueSet
from ..protocols import Poset, Structure
from .schema import MEASURED, ORDERED, Column, Kind
from .table import Table

_SQUARABLE = 1e140
"""Numbers up to this, and down to its reciprocal, can be squared and summed."""
_EXACT_FLOAT = 2**53
_DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, eq=False)
class Codes:
    """One column as small integers and the sorted distinct values that they stand for."""

    codes: np.ndarray
    domain: pl.Series

    def decode(self) -> pl.Series:
        """The column again."""
        return decode(self.codes, self.domain)


def encode(series: pl.Series) -> Codes:
    """Codes of a column: 0 missing, then 1..m in sorted order (an Enum in the order of its
    categories).

    >>> found = encode(pl.Series("x", ["b", None, "a", "b"]))
    >>> found.codes.tolist(), found.domain.to_list(), found.decode().to_list()
    ([2, 0, 1, 2], ['a', 'b'], ['b', None, 'a', 'b'])
    """
    dtype = series.dtype
    if dtype.is_float():
        return _encode_floats(series)
    if isinstance(dtype, pl.List | pl.Array):
        return _encode_by_join(series)
    if dtype == pl.Boolean:
        return _encode_booleans(series)
    if dtype in (pl.String, pl.Categorical):
        domain = series.drop_nulls().unique().cast(pl.String).sort()
        ranks = series.cast(pl.String).cast(pl.Enum(domain)).to_physical()
        return Codes(_plus_one(ranks), domain.cast(dtype).alias(series.name))
    if dtype.is_integer() and not series.is_empty():
        found = _encode_narrow_integers(series)
        if found is not None:
            return found
    domain = series.drop_nulls().unique().sort()
    ranks = (
        domain.search_sorted(series.drop_nulls()) if len(domain) else pl.Series([], dtype=pl.UInt32)
    )
    codes = np.zeros(len(series), dtype=_width(len(domain)))
    codes[series.is_not_null().to_numpy()] = ranks.to_numpy() + 1
    return Codes(codes, domain)


def decode(codes: np.ndarray, domain: pl.Series, name: str | None = None) -> pl.Series:
    """The column that these codes stand for."""
    index = pl.Series(codes).cast(pl.UInt32)
    index = (index - (index > 0).cast(pl.UInt32)).zip_with(
        index > 0, pl.Series([None], dtype=pl.UInt32)
    )
    if domain.is_empty():
        return pl.Series(name or domain.name, [None] * len(codes), dtype=domain.dtype)
    return domain.gather(index).alias(name or domain.name)


def _width(largest: int) -> Any:
    """The narrowest unsigned type that holds the codes 0..largest."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(dtype).max:
            return dtype
    raise MethodError(
        f"a column with {largest:,} distinct values is more than the codec can number"
    )


def _plus_one(ranks: pl.Series) -> np.ndarray:
    """Physical ranks 0.. with nulls -> codes 1.. with 0 for missing."""
    count = int(ranks.max() or 0) + 1  # type: ignore[arg-type]
    wide = ranks.cast(pl.Int64).fill_null(-1).to_numpy() if len(ranks) < 2**16 else None
    if wide is not None:
        return (wide + 1).astype(_width(count))
    shifted = ranks.cast(pl.UInt32) + 1
    return shifted.fill_null(0).to_numpy().astype(_width(count), copy=False)


def _encode_floats(series: pl.Series) -> Codes:
    # Distinct bit patterns, so that -0.0 and every NaN come back as they were.
    present = series.is_not_null().to_numpy()
    values = series.drop_nulls().to_numpy()
    unsigned: Any = {8: np.uint64, 4: np.uint32, 2: np.uint16}[values.itemsize]
    bits = np.ascontiguousarray(values).view(unsigned)
    top = unsigned(1) << unsigned(8 * values.itemsize - 1)
    # Negative floats sort backwards as integers: flip all their bits; flip only the sign of the
    # others.
    key = np.where(bits >= top, ~bits, bits | top)
    distinct, inverse = np.unique(key, return_inverse=True)
    back = np.where(distinct >= top, distinct & ~top, ~distinct)
    codes = np.zeros(len(series), dtype=_width(distinct.size))
    codes[present] = inverse + 1
    return Codes(codes, pl.Series(series.name, back.view(values.dtype), dtype=series.dtype))


def _encode_booleans(series: pl.Series) -> Codes:
    domain = series.drop_nulls().unique().sort()
    found = series.cast(pl.Int8).fill_null(-1).to_numpy()
    lowest = int(domain[0]) if len(domain) else 0
    return Codes(np.where(found < 0, 0, found - lowest + 1).astype(np.uint8), domain)


def _encode_narrow_integers(series: pl.Series) -> Codes | None:
    """A lookup table over the range, when that is no larger than the column."""
    low: Any = series.min()
    high: Any = series.max()
    if low is None or high is None:
        return None
    span = high - low + 1
    if span > max(4 * len(series), 1 << 16) or max(abs(low), abs(high)) > 2**62:
        # Near the ends of 64 bits the offsets would overflow; such numbers are rare.
        return None
    present = series.is_not_null().to_numpy()
    offset = series.cast(pl.Int64) - low
    index = offset.fill_null(0).to_numpy()
    used = np.zeros(span, dtype=bool)
    used[index[present]] = True
    where = np.flatnonzero(used)
    code_of = np.zeros(span, dtype=_width(where.size))
    code_of[where] = np.arange(1, where.size + 1)
    codes = code_of[index]
    codes[~present] = 0
    domain = (pl.Series(series.name, where, dtype=pl.Int64) + low).cast(series.dtype)
    return Codes(codes, domain)


def _encode_by_join(series: pl.Series) -> Codes:
    """Lists: distinct ones in order of first appearance (they have no natural order)."""
    # Their text tells -0.0 from 0.0, which Polars' own comparison of lists does not.
    text = pl.Series("v", [repr(v) for v in series.to_list()], dtype=pl.String)
    text = text.zip_with(series.is_not_null(), pl.Series([None], dtype=pl.String))
    keys = text.drop_nulls().unique(maintain_order=True)
    ranks = text.cast(pl.Enum(keys)).to_physical()
    first = pl.DataFrame({"k": ranks}).with_row_index("i").drop_nulls().unique("k", keep="first")
    return Codes(_plus_one(ranks), series.gather(first.sort("k")["i"]))


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
            out[:, j] = encode(self.table[column.name]).codes
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
    found = encode(table[name])
    counts = np.bincount(found.codes, minlength=len(found.domain) + 1)[1:]
    poset = bind(column, found.domain, counts)
    position = _poset_codes(column, poset, found.domain)
    if np.array_equal(position, np.arange(1, position.size + 1)):
        return Coded(column, found.codes, poset)
    lookup = np.zeros(position.size + 1, dtype=_width(int(position.max(initial=0))))
    lookup[1:] = position
    return Coded(column, lookup[found.codes], poset)


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
    extreme = (largest > _SQUARABLE) | ((largest > 0) & (largest < 1 / _SQUARABLE))
    if not extreme.any():
        return x
    return np.asarray(x / np.where(extreme, largest, 1.0))
