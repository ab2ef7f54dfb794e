"""Records brought together that belong together, or in an order of their own, by way of files.

Records are laid into as many files as needed for one of them to fit into memory, by what they are
ordered or grouped by; then each file is sorted on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..data.exact import each
from ..data.io.files import write_parquet
from ..data.table import Table
from ..progress import report
from .batches import NUMBER, published
from .layers import append, nothing, read, split
from .relation import aligned
from .scratch import room
from .working import Workshop

_ROUTE, _KEY = "__route", "__key"
_SAMPLE = 1 << 16
_PAGE = 1 << 17
"""Records of a row group in what is written."""


def grouped(shop: Workshop, routed: Iterable[tuple[Any, np.ndarray]], size: int) -> Iterator[Any]:
    """The records of each group, in the order of their numbers."""
    import pyarrow as pa

    folder = shop.scratch.fresh("groups")
    count = size // shop.bucket + 1
    for arrow, routes in routed:
        with_routes = arrow.append_column(_ROUTE, pa.array(routes))
        for place, part in split(with_routes, _mixed(routes) % np.uint64(count)):
            append(folder / f"{place:06d}", part)
    paths = sorted(folder.iterdir())
    for done, path in enumerate(paths, 1):
        yield from _groups(path)
        path.unlink()
        report("masking groups", done, len(paths))
    folder.rmdir()


def _mixed(routes: np.ndarray) -> np.ndarray:
    """Routes as numbers that any count of files divides evenly."""
    mixed = routes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed >> np.uint64(32))


def _groups(path: Path) -> Iterator[Any]:
    found = read(path)
    routes, numbers = found.column(_ROUTE).to_numpy(), found.column(NUMBER).to_numpy()
    order = np.lexsort((numbers, routes))
    found = found.drop_columns([_ROUTE]).take(order).combine_chunks()
    cuts = np.flatnonzero(np.diff(routes[order])) + 1
    for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), order.size], strict=True):
        yield found.slice(start, end - start)


def joined(slices: Iterable[Any], size: int) -> Iterator[Any]:
    """Slices as they come, several at a time."""
    import pyarrow as pa

    held: list[Any] = []
    length = 0
    for arrow in slices:
        held.append(arrow)
        length += arrow.nbytes
        if length >= size:
            yield pa.concat_tables(held, promote_options="default")
            held, length = [], 0
    if held:
        yield pa.concat_tables(held, promote_options="default")


def arranged(
    shop: Workshop,
    slices: Iterable[Any],
    order: Callable[[np.ndarray], np.ndarray],
    reach: int,
    size: int,
    numbered: bool,
) -> Iterator[Any]:
    """The records by ranges of their keys `order(numbers)`, each sorted, ties by number; with
    their numbers only where these are asked for."""
    import pyarrow as pa

    spill = shop.scratch.fresh("sorting")
    bounds = _bounds(order, reach, size // shop.bucket)
    # Several slices at a time: a part of one for each of many files would be small.
    for arrow in joined(slices, shop.bucket):
        keys = order(arrow.column(NUMBER).to_numpy())
        kept = arrow if numbered else arrow.drop_columns([NUMBER])
        keyed = kept.append_column(_KEY, pa.array(keys))
        for place, part in split(keyed, np.searchsorted(bounds, keys, side="right")):
            append(spill / f"{place:06d}", part)
    for path in sorted(spill.iterdir()):
        found = read(path)
        order_of = np.argsort(found.column(_KEY).to_numpy(), kind="stable")
        yield found.take(order_of)  # ties stay in the order of their numbers, in which they came
        path.unlink()
    spill.rmdir()


def _bounds(order: Callable[[np.ndarray], np.ndarray], reach: int, count: int) -> np.ndarray:
    """`count` keys that cut the keys of the numbers below `reach` into parts of about one size."""
    some = np.sort(order(np.linspace(0, reach, _SAMPLE).astype(np.uint64)))
    return some[np.arange(1, count + 1) * some.size // (count + 1)]


def written(
    tables: Iterable[Any],
    empty: Table,
    folder: Path,
    alignment: Path | None,
    beside: Mapping[str, str],
) -> list[Path]:
    """The records as `part-*.parquet`, one for each table, in their order; and in `alignment` which
    record each was, with the columns that go there."""
    paths: list[Path] = []
    first, told = 0, Table(empty.frame.select(each(beside)), empty.schema.only(beside))
    empty = empty.without(list(beside))
    for arrow in chain(tables, [None]):
        if arrow is None:
            if paths:
                break
            arrow = nothing(empty)
        paths.append(_write(arrow, empty, folder / f"part-{len(paths):05d}.parquet"))
        if alignment is not None:
            numbers = arrow.column(NUMBER).to_numpy()
            more = pl.DataFrame(pl.from_arrow(published(arrow, told))).rename(dict(beside))
            write_parquet(aligned(numbers, first, more), alignment / paths[-1].name)
        first += arrow.num_rows
    return paths


def _write(arrow: Any, empty: Table, path: Path) -> Path:
    from pyarrow import parquet

    with room(path.parent, arrow.nbytes):
        parquet.write_table(published(arrow, empty), path, compression="zstd", row_group_size=_PAGE)
    return path
