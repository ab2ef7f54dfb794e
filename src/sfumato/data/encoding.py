"""Columns <-> codes: 0 is missing, 1..m are the distinct values in their natural order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..errors import MethodError
from .domain import Domain
from .sets.flat_lists import flat_lists, is_list

_NOTHING = np.uint64(0x7FF8_5F75_6D61_746F)
"""The bits of what is missing: those of no number."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_UNSIGNED = {8: np.uint64, 4: np.uint32, 2: np.uint16}


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
        return _encode_lists(series)
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
    codes = np.zeros(len(series), dtype=width_of(len(domain)))
    codes[series.is_not_null().to_numpy()] = ranks.to_numpy() + 1
    return Codes(codes, domain)


def value_bits(series: pl.Series) -> np.ndarray:
    """uint64: equal values have equal bits, whatever others there are; for random numbers that
    depend on values. Numbers of other types are equal if they are; so are lists in other orders.

    >>> bits = value_bits(pl.Series([1, None, 2])), value_bits(pl.Series([2.0, 1.0, 3.0]))
    >>> bool(bits[0][0] == bits[1][1]), len({*bits[0].tolist(), *bits[1].tolist()})
    (True, 4)
    """
    dtype = series.dtype
    if is_list(series):
        starts, items, missing = flat_lists(series)
        # Odd multiples, so that sums of items tell more than sums of numbers.
        held = value_bits(items)
        each = np.append(held * _ODD ^ (held >> np.uint64(31)), _NOTHING)
        found = np.add.reduceat(each, starts[:-1]) if len(series) else each[:0]
        return np.where(missing, _NOTHING, np.where(np.diff(starts) > 0, found, np.uint64(0)))
    if dtype == pl.Boolean or dtype.is_numeric() or dtype.is_temporal():
        numbers = series.to_physical().cast(pl.Float64).fill_nan(None) + 0.0  # -0.0 is 0.0
        bits = numbers.fill_null(0.0).to_numpy().view(np.uint64)
        return np.where(numbers.is_null().to_numpy(), _NOTHING, bits)
    codes = encode(series.cast(pl.String))
    texts = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in codes.domain)
    known = np.frombuffer(b"".join(texts), dtype="<u8").astype(np.uint64)
    return np.asarray(np.append(_NOTHING, known)[codes.codes])


def domain_of(series: pl.Series, counts: np.ndarray | None = None) -> Domain:
    """The domain of a column; `counts` says how many records each of its rows stands for.

    >>> found = domain_of(pl.Series(["b", None, "a", "b"]))
    >>> found.values.to_list(), found.counts.tolist(), found.missing
    (['a', 'b'], [1, 2], 1)
    """
    found = encode(series)
    each = np.zeros(len(found.domain) + 1, dtype=np.int64)
    np.add.at(each, found.codes, 1 if counts is None else counts)
    return Domain(found.domain, each[1:], int(each[0]))


def encode_within(series: pl.Series, domain: pl.Series) -> np.ndarray:
    """Codes of a part of a column whose sorted distinct values are known.

    >>> encode_within(pl.Series([7, None, 3]), pl.Series([3, 5, 7])).tolist()
    [3, 0, 1]
    """
    present = series.drop_nulls()
    if isinstance(domain.dtype, pl.List | pl.Array):
        names = pl.Enum(_texts(domain.cast(series.dtype)))
        ranks = _texts(present).cast(names, strict=False).to_physical()
        codes = (ranks.cast(pl.Int64).fill_null(-1).to_numpy() + 1).astype(width_of(len(domain)))
    elif domain.dtype in (pl.String, pl.Categorical):
        names = pl.Enum(domain.cast(pl.String))
        ranks = present.cast(pl.String).cast(names, strict=False).to_physical()
        codes = (ranks.cast(pl.Int64).fill_null(-1).to_numpy() + 1).astype(width_of(len(domain)))
    else:
        codes = _found_codes(present.cast(domain.dtype), domain)
    if not codes.all():
        raise MethodError(
            f"column {series.name!r} holds a value that it did not hold when it was counted",
            remedy="let nobody change the data while they are read",
        )
    if len(present) == len(series):
        return codes
    every = np.zeros(len(series), dtype=codes.dtype)
    every[series.is_not_null().to_numpy()] = codes
    return every


def _found_codes(values: pl.Series, domain: pl.Series) -> np.ndarray:
    """The code of each value, none of them missing; 0 where the domain does not have it."""
    if not len(domain) or not len(values):
        return np.zeros(len(values), dtype=width_of(len(domain)))
    number = np.arange(1, len(domain) + 1, dtype=width_of(len(domain)))
    if domain.dtype.is_float():
        known, wanted = domain.to_numpy(), values.to_numpy()
        place = np.searchsorted(order_key(known), order_key(wanted))
        place = np.minimum(place, len(domain) - 1)
        # Where 0 and -0 were counted as one value either is that value.
        place -= (known[place] != wanted) & (known[np.maximum(place - 1, 0)] == wanted)
        same = (known[place] == wanted) | (np.isnan(known[place]) & np.isnan(wanted))
        return np.asarray(np.where(same, number[place], 0), dtype=number.dtype)
    narrow = domain.dtype.is_integer() and domain.dtype not in (pl.Int128, pl.UInt128)
    if narrow and int(domain[-1]) < 2**63 and int(domain[-1]) - int(domain[0]) <= 1 << 22:
        low, high = int(domain[0]), int(domain[-1])
        code_of = np.zeros(high - low + 1, dtype=number.dtype)
        code_of[domain.to_numpy().astype(np.int64) - low] = number
        inside = low <= values.min() and values.max() <= high  # type: ignore[operator]
        if inside:
            found: np.ndarray = code_of[values.to_numpy().astype(np.int64) - low]
            return found
    place = np.minimum(domain.search_sorted(values).to_numpy(), len(domain) - 1)
    same = (domain.gather(pl.Series(place)) == values).to_numpy()
    return np.asarray(np.where(same, number[place], 0), dtype=number.dtype)


def decode(codes: np.ndarray, domain: pl.Series, name: str | None = None) -> pl.Series:
    """The column that these codes stand for."""
    index = pl.Series(codes).cast(pl.UInt32)
    index = (index - (index > 0).cast(pl.UInt32)).zip_with(
        index > 0, pl.Series([None], dtype=pl.UInt32)
    )
    if domain.is_empty():
        return pl.Series(name or domain.name, [None] * len(codes), dtype=domain.dtype)
    return domain.gather(index).alias(name or domain.name)


def width_of(largest: int) -> Any:
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
        return (wide + 1).astype(width_of(count))
    shifted = ranks.cast(pl.UInt32) + 1
    return shifted.fill_null(0).to_numpy().astype(width_of(count), copy=False)


def _encode_floats(series: pl.Series) -> Codes:
    # Distinct bit patterns, so that -0.0 and every NaN come back as they were.
    present = series.is_not_null().to_numpy()
    values = series.drop_nulls().to_numpy()
    distinct, inverse = np.unique(order_key(values), return_inverse=True)
    codes = np.zeros(len(series), dtype=width_of(distinct.size))
    codes[present] = inverse + 1
    domain = _from_order_key(distinct, values.dtype)
    return Codes(codes, pl.Series(series.name, domain, dtype=series.dtype))


def order_key(values: np.ndarray) -> np.ndarray:
    """Floats as integers in the same order, each bit pattern its own."""
    unsigned: Any = _UNSIGNED[values.itemsize]
    bits = np.ascontiguousarray(values).view(unsigned)
    top = unsigned(1) << unsigned(8 * values.itemsize - 1)
    # Negative floats sort backwards as integers: flip all their bits; flip only the sign of the
    # others.
    key: np.ndarray = np.where(bits >= top, ~bits, bits | top)
    return key


def _from_order_key(key: np.ndarray, dtype: Any) -> np.ndarray:
    """The floats that these integers stand for."""
    unsigned: Any = _UNSIGNED[key.itemsize]
    top = unsigned(1) << unsigned(8 * key.itemsize - 1)
    back: np.ndarray = np.where(key >= top, key & ~top, ~key)
    return back.view(dtype)


def at_ranks(series: pl.Series, ranks: np.ndarray) -> pl.Series:
    """The values at these ranks (0 is the lowest) of a column without missing ones, in the order of
    its codes.

    >>> at_ranks(pl.Series([0.5, 0.0, -0.0, 3.0]), np.array([0, 3])).to_list()
    [-0.0, 3.0]
    """
    dtype, stored = series.dtype, series.to_physical().dtype
    if dtype.is_float():
        values = series.to_numpy()
        found = _at_ranks(order_key(values), ranks)
        return pl.Series(series.name, _from_order_key(found, values.dtype), dtype=dtype)
    if (dtype.is_integer() or dtype.is_temporal()) and stored not in (pl.Int128, pl.UInt128):
        found = _at_ranks(series.to_physical().to_numpy(), ranks)
        return pl.Series(series.name, found, dtype=stored).cast(dtype)
    codes = encode(series)
    return codes.domain.gather(np.sort(codes.codes)[ranks].astype(np.int64) - 1)


def _at_ranks(values: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    return np.partition(values, ranks)[ranks] if ranks.size else values[:0]


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
    code_of = np.zeros(span, dtype=width_of(where.size))
    code_of[where] = np.arange(1, where.size + 1)
    codes = code_of[index]
    codes[~present] = 0
    domain = (pl.Series(series.name, where, dtype=pl.Int64) + low).cast(series.dtype)
    return Codes(codes, domain)


def _encode_lists(series: pl.Series) -> Codes:
    """Lists have no natural order: they are numbered in that of their texts, since that of the
    records would differ with how they are divided."""
    text = _texts(series)
    keys = text.drop_nulls().unique().sort()
    ranks = text.cast(pl.Enum(keys)).to_physical()
    first = pl.DataFrame({"k": ranks}).with_row_index("i").drop_nulls().unique("k", keep="first")
    return Codes(_plus_one(ranks), series.gather(first.sort("k")["i"]))


def _texts(series: pl.Series) -> pl.Series:
    """Lists as texts, which tell -0.0 from 0.0 as Polars' own comparison of lists does not."""
    text = pl.Series("v", [repr(v) for v in series.to_list()], dtype=pl.String)
    return text.zip_with(series.is_not_null(), pl.Series([None], dtype=pl.String))
