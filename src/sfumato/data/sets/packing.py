"""From lists to compressed rows, block by block, so that no more than one block of lists need be in
memory beside the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import Complaint, SchemaError
from ...kernels.sets.packing import ascending, marked, put_values, tidied

MOST_ITEMS = np.iinfo(np.int32).max
FEW_ITEMS = 1 << 16
BLOCK = 1 << 19
"""Rows that are looked at in one go."""

Rows = tuple[np.ndarray, np.ndarray, pl.Series, np.ndarray, int]
"""Starts, items, names, missing, repeats."""


def item_type(count: int) -> type[np.uint16] | type[np.int32]:
    """The type that holds the numbers of so many items."""
    return np.uint16 if count <= FEW_ITEMS else np.int32


def by_value(inner: Any) -> bool:
    """Whether items are numbers inside, which need no dictionary."""
    wide = inner in (pl.Int128, pl.UInt128)
    return bool((inner.is_integer() and not wide) or inner.is_temporal())


def _in_memory(values: Any) -> np.ndarray:
    """The numbers of an Arrow array as they lie. (Its own conversion would import pandas.)"""
    raw = np.frombuffer(values.buffers()[1] or b"", dtype=values.type.to_pandas_dtype())
    return raw[values.offset : values.offset + len(values)]


def _is_null(values: Any) -> np.ndarray:
    """Where an Arrow array has no value."""
    if values.null_count in (0, len(values)):  # where all are null there may be no bits
        return np.full(len(values), values.null_count > 0)
    bits = np.frombuffer(values.buffers()[0], dtype=np.uint8)
    present = np.unpackbits(bits, bitorder="little")[values.offset : values.offset + len(values)]
    found: np.ndarray = present == 0
    return found


class Block:
    """A block of lists as Arrow has them: the items of row i lie in offsets[i]..offsets[i + 1]."""

    def __init__(self, lists: Any, name: str, first_row: int = 0) -> None:
        self.offsets = _in_memory(lists.offsets).astype(np.int64, copy=False)
        self.missing = _is_null(lists)
        self.values: pa.Array = lists.values
        used = self.values.slice(self.offsets[0], self.offsets[-1] - self.offsets[0])
        if used.null_count:
            self._refuse_gaps(name, first_row)

    @classmethod
    def of(cls, lists: pl.Series, first_row: int = 0) -> Block:
        """The block of one chunk of a column."""
        inner: Any = lists.dtype.inner  # type: ignore[attr-defined]
        plain = lists.to_physical() if by_value(inner) else lists
        found = plain.to_arrow(compat_level=pl.CompatLevel.newest())
        return cls(found, lists.name, first_row)

    def _refuse_gaps(self, name: str, first_row: int) -> None:
        gaps = np.concatenate(([0], np.cumsum(_is_null(self.values))))
        inside = gaps[self.offsets[1:]] > gaps[self.offsets[:-1]]
        bad = np.flatnonzero(inside & ~self.missing)
        if bad.size:
            what = f"the set of record {first_row + int(bad[0]) + 1:,} holds a missing item"
            raise SchemaError("the table", [Complaint(name, what, "leave it out of the list")])

    @property
    def numbers(self) -> np.ndarray:
        """The items of a column whose items are numbers inside, as they lie in memory."""
        return _in_memory(self.values)

    def bounds(self) -> tuple[int, int] | None:
        """The smallest and the largest number; None where there is none."""
        used = self.numbers[self.offsets[0] : self.offsets[-1]]
        return (int(used.min()), int(used.max())) if used.size else None


class Packing:
    """Sets that come in blocks. `room` is at least the number of their items.

    Items whose numbers are known to lie in `bounds`, a range that is not too wide, are kept as they
    are until all have come; others are numbered as they come.
    """

    def __init__(
        self,
        name: str,
        inner: Any,
        rows: int,
        room: int,
        bounds: tuple[int, int] | None = None,
    ) -> None:
        self.name, self.inner = name, inner
        self.low, self.span = 0, 0
        if bounds is not None and by_value(inner) and narrow(bounds, room):
            self.low, self.span = bounds[0], bounds[1] - bounds[0] + 1
        self._known: dict[Any, int] = {}
        self.count = 0
        """Records that have come."""
        self._starts = np.zeros(rows + 1, dtype=np.int64)
        self._missing = np.zeros(rows, dtype=np.bool_)
        self._items = np.empty(room, dtype=item_type(self.span))

    def add(self, lists: pl.Series) -> None:
        """Take the next records."""
        for chunk in lists.get_chunks():
            for at in range(0, len(chunk), BLOCK):
                self.put(Block.of(chunk.slice(at, BLOCK), self.count))

    def put(self, block: Block) -> None:
        """Take the next records as Arrow has them."""
        size = block.missing.size
        self._missing[self.count : self.count + size] = block.missing
        if self.span:
            bad = put_values(
                block.offsets, block.missing, block.numbers, self.low, self.span,
                self._starts, self.count, self._items,
            )  # fmt: skip
            if bad >= 0:
                what = f"record {self.count + bad + 1:,} holds an item outside of what is declared"
                raise SchemaError("the table", [Complaint(self.name, what, "write the file anew")])
        else:
            self._put_by_dictionary(block)
        self.count += size

    def _put_by_dictionary(self, block: Block) -> None:
        # Only what this block holds: a slice of a column still carries the items of all.
        first, last = int(block.offsets[0]), int(block.offsets[-1])
        offsets, values = block.offsets - first, block.values.slice(first, last - first)
        if not pa.types.is_dictionary(values.type):
            values = pc.dictionary_encode(values)
        codes = _in_memory(values.indices)
        if values.null_count:
            codes = np.where(_is_null(values.indices), codes.dtype.type(0), codes)
        where = np.flatnonzero(np.bincount(codes[np.repeat(~block.missing, np.diff(offsets))]))
        number = np.zeros(len(values.dictionary) + 1, dtype=np.int64)
        known = self._known
        here = pl.Series(values.dictionary).gather(where).to_list()
        for code, value in zip(where.tolist(), here, strict=True):
            number[code] = known.setdefault(value, len(known))
        if len(known) > MOST_ITEMS:
            raise SchemaError("the table", [Complaint(self.name, "has too many different items")])
        if self._items.dtype != item_type(len(known)):
            self._items = self._items.astype(item_type(len(known)))
        put_values(
            offsets, block.missing, number[codes], 0, len(known), self._starts, self.count,
            self._items,
        )  # fmt: skip

    def rows(self) -> Rows:
        """What has come, its items sorted and numbered by their order."""
        items = self._items[: int(self._starts[-1])]
        if self.span:
            seen = marked(self._starts, items, self.span)
            number = np.cumsum(seen) - 1
            names = _names(np.flatnonzero(seen), self.low, self.inner)
        else:
            names, number = self._sorted()
        kind = item_type(len(names))
        out = items if items.dtype == kind else np.empty(items.size, dtype=kind)
        starts, items, repeats = tidied(self._starts, items, number, out)
        return starts, items, names.alias(self.name), self._missing, repeats

    def _sorted(self) -> tuple[pl.Series, np.ndarray]:
        """The items in their order, and the place of each by its first number."""
        values = list(self._known)
        inner = self.inner
        if isinstance(inner, pl.Enum):
            place = {name: i for i, name in enumerate(inner.categories.to_list())}
            order = sorted(range(len(values)), key=lambda i: place[values[i]])
        else:
            order = sorted(range(len(values)), key=values.__getitem__)
        number = np.empty(len(values), dtype=np.int64)
        number[order] = np.arange(len(values))
        listed = [values[i] for i in order]
        if by_value(inner):
            return _physical(pl.Series(listed, dtype=_stored(inner)), inner), number
        return pl.Series(listed, dtype=inner), number


def narrow(bounds: tuple[int, int], size: int) -> bool:
    """Whether a table of all numbers in a range is small beside so many items."""
    low, high = bounds
    span = high - low + 1
    # Near the ends of 64 bits differences would overflow; such numbers are rare.
    inside = max(abs(low), abs(high)) < 2**62
    return inside and span <= MOST_ITEMS and span <= max(1 << 20, 2 * size)


def blocks(series: pl.Series) -> Iterator[Block]:
    """The chunks of a column, as they lie in memory."""
    row = 0
    for chunk in series.get_chunks():
        yield Block.of(chunk, row)
        row += len(chunk)


def shared_rows(series: pl.Series) -> Rows | None:
    """The rows without a copy: of a column whose items are numbered and sorted already."""
    if series.n_chunks() != 1 or series.dtype != pl.List(pl.UInt16):
        return None
    block = Block.of(series)
    offsets = block.offsets
    if offsets[0] != 0 or (np.diff(offsets)[block.missing] != 0).any():
        return None
    items = block.numbers[: offsets[-1]]
    span = int(items.max()) + 1 if items.size else 0
    if not marked(offsets, items, span).all() or not ascending(offsets, items):
        return None
    names = pl.Series(series.name, np.arange(span, dtype=np.uint16))
    return offsets, items, names, block.missing.copy(), 0


def _stored(inner: Any) -> Any:
    return pl.Series([], dtype=inner).to_physical().dtype


def _physical(numbers: pl.Series, inner: Any) -> pl.Series:
    return numbers.cast(_stored(inner)).cast(inner)


def _names(where: np.ndarray, low: int, inner: Any) -> pl.Series:
    return _physical(pl.Series(where.astype(np.int64) + low), inner)
