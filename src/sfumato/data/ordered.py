"""Orders that frames of others carry: pandas' ordered categories, and Arrow's ordered dictionaries.

Polars reads both as categories without an order. Here they become an Enum, in whose order an
ordinal column is generalized to ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from .schema import refuse_names


def from_pandas(source: Any) -> pl.DataFrame:
    """A pandas frame, whose ordered categories keep their order.

    Numbers in the order of numbers stay numbers.
    """
    kept: dict[Any, pl.Series] = {}
    for name in source.columns:
        dtype = source.dtypes[name]
        if dtype.name == "category" and dtype.ordered and not _numbers(dtype.categories):
            made = _enum(str(name), dtype.categories, source[name].cat.codes.to_numpy())
            if made is not None:
                kept[name] = made
    if kept:
        source = source.copy(deep=False)
    for name in kept:
        source[name] = 0  # not read: what it holds stands in `kept`
    return pl.from_pandas(source, include_index=False).with_columns(kept.values())


def _numbers(categories: Any) -> bool:
    return bool(categories.dtype.kind in "iuf" and categories.is_monotonic_increasing)


def _enum(name: str, categories: Sequence[Any], codes: np.ndarray) -> pl.Series | None:
    """The column; None where two categories read alike."""
    texts = [str(category) for category in categories]
    if len(set(texts)) < len(texts):
        return None
    places = pl.Series(codes, dtype=pl.Int64)
    places = places.set(places < 0, None)
    return pl.Series(name, texts, dtype=pl.Enum(texts)).gather(places)


def from_arrow(source: Any) -> pl.DataFrame:
    """An Arrow table, whose ordered dictionaries keep their order."""
    import pyarrow as pa

    refuse_names(source.schema.names)
    # Chunks stay as they came: joining them would copy every column.
    frame = pl.DataFrame(pl.from_arrow(source, rechunk=False))
    kept = []
    for field, column in zip(source.schema, source.columns, strict=True):
        if pa.types.is_dictionary(field.type) and field.type.ordered and column.num_chunks:
            order = column.chunk(0).dictionary
            series = frame.get_column(field.name)
            # Chunks that differ have no order in common.
            alike = all(chunk.dictionary.equals(order) for chunk in column.chunks)
            if alike and series.dtype == pl.Categorical:
                kept.append(series.cast(pl.Enum(order.to_pylist())))
    return frame.with_columns(kept)
