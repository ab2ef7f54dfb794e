"""What DuckDB counts: combinations of values, and values by rank.

It sees whole numbers, text and lists of these only: floats travel as their bits, so that no two of
them are one and none is rounded, and moments as their ticks. Each slice is counted on its own; the
counts are then added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from ..data.io.sql import DUCKDB_CONFIG
from ..data.table import Table
from ..errors import MethodError
from .batches import MARK, distinct, loaded
from .layers import nothing
from .relation import checked_ranks, too_many
from .working import Workshop

_BATCH = 1 << 17
_INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it counts: a `RuntimeError` of these words."""
_BITS: dict[Any, tuple[str, str]] = {
    pl.Float64: ("int64", "float64"),
    pl.Float32: ("int32", "float32"),
}
_LONG: dict[Any, str] = {pl.Int128: "HUGEINT", pl.UInt128: "UHUGEINT"}


def counted(
    shop: Workshop, slices: Iterable[Any], empty: Table, marks: Sequence[str], most: int
) -> tuple[Table, np.ndarray]:
    """The distinct rows in order, and how many records have each."""
    names = [*empty.names, *(MARK + name for name in marks)]
    lists = any(isinstance(dtype, pl.List) for dtype in empty.frame.dtypes)
    with _counts(shop, slices, empty, names) as connection:
        columns = ", ".join(_columns(names))
        found = connection.sql(
            f"SELECT {columns}, CAST(sum(n) AS BIGINT) AS n FROM counts GROUP BY {columns} "
            + ("" if lists else f"ORDER BY {_orders(empty, names)} ")
            + f"LIMIT {most + 1}"
        ).to_arrow_table()
    if found.num_rows > most:
        raise too_many(empty.names, most)
    rows = found.drop_columns(["n"]).rename_columns(names)
    table, _ = loaded(_values(rows, empty), empty)
    count = found.column("n").to_numpy()
    # Lists have an order of their own, which is not that of a database.
    return distinct(table, count) if lists else (table, count)


def sizes(shop: Workshop, slices: Iterable[Any], empty: Table, marks: Sequence[str]) -> np.ndarray:
    """int64 (m, 2): how many records the distinct rows have, and how many rows have so many."""
    names = [*empty.names, *(MARK + name for name in marks)]
    with _counts(shop, slices, empty, names) as connection:
        found = connection.execute(
            "SELECT size, count(*) FROM (SELECT CAST(sum(n) AS BIGINT) AS size FROM counts "
            f"GROUP BY {', '.join(_columns(names))}) AS classes GROUP BY size ORDER BY size"
        ).fetchall()
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _orders(empty: Table, names: Sequence[str]) -> str:
    """The order of codes: missing cells, suppressed ones, then values."""
    columns = dict(zip(names, _columns(names), strict=True))
    listed = []
    for name, dtype in empty.frame.schema.items():
        listed.append(f"{_order(dtype, columns[name])} NULLS FIRST")
        listed += [columns[MARK + name]] if MARK + name in columns else []
    return ", ".join(listed)


def selected(
    shop: Workshop, slices: Iterable[Any], empty: Table, ranks: Sequence[int]
) -> pl.Series:
    """The values at these ranks, of the only column."""
    name = empty.names[0]
    with _counts(shop, slices, empty, [name]) as connection:
        total = connection.execute("SELECT sum(n) FROM counts WHERE c0 IS NOT NULL").fetchall()
        wanted = checked_ranks(name, ranks, int(total[0][0] or 0))
        found = connection.sql(
            "SELECT c0, CAST(sum(n) AS BIGINT) AS n FROM counts WHERE c0 IS NOT NULL "
            f"GROUP BY c0 ORDER BY {_order(empty.frame.dtypes[0], 'c0')}"
        ).to_arrow_reader(_BATCH)
        values = _at(found, np.unique(wanted))
    table, _ = loaded(_values(values.rename_columns([name]), empty), empty)
    return table[name].gather(np.searchsorted(np.unique(wanted), wanted))


def _at(batches: Iterable[Any], ranks: np.ndarray) -> Any:
    """The values at these ranks, as they come by; all others are forgotten."""
    import pyarrow as pa

    before, found, schema = 0, [], batches.schema  # type: ignore[attr-defined]
    for batch in batches:
        ends = before + np.cumsum(batch.column(1).to_numpy())
        here = ranks[(ranks >= before) & (ranks < ends[-1])] if ends.size else ranks[:0]
        found.append(batch.take(pa.array(np.searchsorted(ends, here, side="right"))))
        before = int(ends[-1]) if ends.size else before
    return pa.Table.from_batches(found, schema).select([0])


def _order(dtype: Any, column: str) -> str:
    """What sorts a column as its values are sorted."""
    if dtype in _LONG:
        return f"CAST({column} AS {_LONG[dtype]})"
    if dtype in _BITS:
        # The bits of negative numbers count backwards.
        most = 2**63 - 1 if dtype == pl.Float64 else 2**31 - 1
        return f"CASE WHEN {column} < 0 THEN xor({column}, {most}) ELSE {column} END"
    return column


@contextmanager
def _counts(
    shop: Workshop, slices: Iterable[Any], empty: Table, names: Sequence[str]
) -> Iterator[Any]:
    """A connection with the table `counts`: for each slice its distinct rows, and how many."""
    import duckdb

    config = {
        **DUCKDB_CONFIG,
        "memory_limit": f"{shop.memory // 2}B",
        "threads": shop.threads,
        "temp_directory": str(shop.scratch.fresh("sql")),
        "preserve_insertion_order": "false",
    }
    columns = ", ".join(_columns(names))
    counting = f"SELECT {columns}, count(*) AS n FROM slice GROUP BY {columns}"
    try:
        with duckdb.connect(":memory:", config=config) as connection:
            connection.register("slice", _keys(nothing(empty), empty, names))
            connection.execute("CREATE TABLE counts AS " + counting)
            for arrow in slices:
                connection.register("slice", _keys(arrow, empty, names))
                connection.execute("INSERT INTO counts " + counting)
            yield connection
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        raise MethodError(
            f"counting needs more room than there is: {str(error).splitlines()[0]}",
            remedy="[engine] memory = more, or temporary = a folder with more space",
        ) from error
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


def _columns(names: Sequence[str]) -> list[str]:
    """Names that differ in more than case, as those of a table need not."""
    return [f"c{i}" for i in range(len(names))]


def _keys(arrow: Any, empty: Table, names: Sequence[str]) -> Any:
    """The columns as DuckDB sees them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    types = empty.frame.schema
    for name in names:
        if name.startswith(MARK):
            absent = pa.array(np.zeros(arrow.num_rows, dtype=bool))
            found = arrow.column(name) if name in arrow.column_names else absent
            columns.append(pc.fill_null(found, False))
        else:
            columns.append(_key(arrow.column(name), types[name]))
    return pa.table(columns, names=_columns(names))


def _key(column: Any, dtype: Any) -> Any:
    import pyarrow as pa

    if dtype in _BITS:
        return _viewed(column, _BITS[dtype][0])
    if isinstance(dtype, pl.Datetime):
        return _viewed(column, "int64")
    if isinstance(dtype, pl.List) and pl.Series([], dtype=dtype.inner).dtype.is_float():
        texts = pl.Series(pl.from_arrow(column)).cast(pl.List(pl.String))
        return texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    return column if not pa.types.is_dictionary(column.type) else column.cast(pa.large_string())


def _viewed(column: Any, kind: str) -> Any:
    """The same bits as another type."""
    import pyarrow as pa

    wanted = getattr(pa, kind)()
    return pa.chunked_array([chunk.view(wanted) for chunk in column.chunks], type=wanted)


def _values(arrow: Any, empty: Table) -> Any:
    """The columns again as they are stored."""
    for i, name in enumerate(arrow.column_names):
        dtype = None if name.startswith(MARK) else empty.frame.schema[name]
        if dtype in _BITS:
            arrow = arrow.set_column(i, name, _viewed(arrow.column(i), _BITS[dtype][1]))
    return arrow
