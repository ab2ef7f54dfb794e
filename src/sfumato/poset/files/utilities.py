"""Files that say what each item is worth: a row for each item, the columns named."""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..values.text import text
from .hierarchies import content, file_state, find_delimiter

_PARQUET = b"PAR1"
_SAMPLE = 200  # lines looked at to find the delimiter


def read_utilities(path: str, item: str, utility: str) -> dict[str, float]:
    """The utility of each item of a file; read once for as long as the file does not change."""
    return _read(path, item, utility, file_state(path, "the utilities"))


@functools.lru_cache(maxsize=16)
def _read(path: str, item: str, utility: str, state: tuple[int, ...]) -> dict[str, float]:
    name = f"the utilities {Path(path).name}"
    rows = _parquet_rows if _is_parquet(path) else _csv_rows
    return checked(rows(path, item, utility, name), name)


def _is_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == _PARQUET


def _parquet_rows(path: str, item: str, utility: str, name: str) -> Iterable[tuple[int, Any, Any]]:
    import polars as pl
    import polars.selectors as cs

    try:
        columns = pl.read_parquet_schema(path)
        _has_columns(list(columns), item, utility, name)
        file = pl.scan_parquet(path, glob=False)
        found = file.select(cs.by_name(item), cs.by_name(utility)).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{name} cannot be read ({error}) -> mend `path`") from error
    items, worth = found.get_column(item).to_list(), found.get_column(utility).to_list()
    return zip(range(1, len(items) + 1), items, worth, strict=True)


def _csv_rows(path: str, item: str, utility: str, name: str) -> Iterable[tuple[int, Any, Any]]:
    body = content(path, name)
    delimiter = find_delimiter(body.splitlines()[:_SAMPLE])
    rows = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    try:
        head = [cell.strip() for cell in next(rows, [])]
        _has_columns(head, item, utility, name)
        at, worth = head.index(item), head.index(utility)
        last = max(at, worth)
        listed = []
        for number, row in enumerate(rows, 2):
            if not row:
                continue
            if len(row) <= last:
                raise ValueError(
                    f"{name}, row {number}: it has {len(row)} cells, fewer than the first row -> "
                    "mend it"
                )
            listed.append((number, row[at], row[worth]))
    except csv.Error as error:
        where = f"{name}, row {rows.line_num}"
        raise ValueError(f"{where}: {error} -> mend its quotation marks") from error
    return listed


def _has_columns(found: list[str], item: str, utility: str, name: str) -> None:
    for key, wanted in (("item", item), ("utility", utility)):
        if wanted not in found:
            listed = ", ".join(found[:12]) or "none"
            raise ValueError(
                f'{name} has no column "{wanted}"; its columns are {listed} -> {key} = ...'
            )


def checked(rows: Iterable[tuple[int, Any, Any]], name: str) -> dict[str, float]:
    """Utilities by item, from rows of (row number, item, utility)."""
    found: dict[str, float] = {}
    first: dict[str, int] = {}
    for number, item, utility in rows:
        where = f"{name}, row {number}"
        if item is None or item == "":
            raise ValueError(f"{where}: the item is missing -> name it, or leave the row out")
        key = text(item)
        worth = as_utility(utility, f'{where}, item "{key}"')
        if found.setdefault(key, worth) != worth:
            raise ValueError(
                f'{where}: item "{key}" is worth {text(worth)} here and {text(found[key])} in row '
                f"{first[key]} -> give it one utility"
            )
        first.setdefault(key, number)
    return found


def as_utility(value: Any, where: str) -> float:
    """A number that is finite and not negative; `ValueError` says where it is not."""
    try:
        worth = float(value.strip() if isinstance(value, str) else value)
        good = math.isfinite(worth) and worth >= 0 and not isinstance(value, bool)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(
            f"{where}: {value!r} is not a utility -> a number that is finite and not negative"
        )
    return worth
