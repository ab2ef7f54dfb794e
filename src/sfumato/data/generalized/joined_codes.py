"""A detail table, such as many diagnoses for each patient, as pairs of ordinary columns."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from ...errors import Complaint, MethodError, SchemaError
from ...protocols import PosetSource
from ..schema import Column, Kind, Role, missing_column
from ..table import Table, as_frame


def joined_codes(
    table: Table,
    details: Any,
    key: str,
    code: str,
    *,
    columns: int = 39,
    poset: PosetSource | None = None,
    count: str | None = None,
    beyond: Literal["refuse", "leave out"] = "refuse",
    role: str = Role.QUASI,
) -> Table:
    """The table with each record's codes, the most frequent first, and how often each occurs.

    `details` is any frame with a row for each code of a record of the table, which `key` names.
    For a column of codes called "icd" there are icd_1 and icd_1_count, icd_2 and icd_2_count, as
    many as the longest record needs; `poset` is that of every code. `count` names a column of
    frequencies, where rows are counted already. Whoever has fewer codes has a missing one 0 times.
    A record with more than `columns` codes is refused, or keeps the most frequent ones.

    H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (SparseMatrixPoset).

    >>> from sfumato.data.table import table
    >>> people = table({"id": [1, 2], "sex": ["f", "m"]}, identifier="id", quasi=["sex"])
    >>> ill = {"id": [1, 1, 1, 2], "icd": ["401.9", "427.89", "427.89", "250.0"]}
    >>> joined_codes(people, ill, "id", "icd").frame.rows()
    [(1, 'f', '427.89', 2, '401.9', 1), (2, 'm', '250.0', 1, None, 0)]
    """
    frame, _ = as_frame(details)
    wanted = [key, code] + ([count] if count else [])
    absent = [missing_column(name, frame.columns) for name in wanted if name not in frame.columns]
    if absent:
        raise SchemaError("the detail table", absent)
    keys = table[key]
    if keys.drop_nulls().is_duplicated().any():
        twice = keys.filter(keys.is_duplicated() & keys.is_not_null())[0]
        raise MethodError(
            f"column {key!r} names two records {twice!r}, so that codes cannot be told apart",
            remedy="give a key that names one record each",
        )
    ranked = _ranked(frame, keys, key, code, count)
    longest = int(ranked["place"].max() or 0)  # type: ignore[arg-type]
    if longest > columns:
        if beyond == "refuse":
            raise MethodError(
                f"a record has {longest} different codes in {code!r}, more than {columns}",
                remedy=f'columns = {longest}, or beyond = "leave out" for the rarest',
            )
        longest = columns
    return _with_pairs(table, ranked, key, code, longest, poset, Role(role))


def _ranked(
    frame: pl.DataFrame, keys: pl.Series, key: str, code: str, count: str | None
) -> pl.DataFrame:
    """A row for each code of each record: key, code, how often, and its place, from 1."""
    ones = pl.Series("times", [1], dtype=pl.Int64).new_from_index(0, frame.height)
    times = frame.get_column(count).cast(pl.Int64).alias("times") if count else ones
    try:
        known = frame.get_column(key).cast(keys.dtype).alias("key")
        found = pl.DataFrame([known, frame.get_column(code).cast(pl.String).alias("code"), times])
    except pl.exceptions.PolarsError as error:
        what = f"holds {frame.schema[key]}, and in the table {keys.dtype}"
        complaint = Complaint(key, what, "give both the same type")
        raise SchemaError("the detail table", [complaint]) from error
    found = (
        found.drop_nulls(["key", "code"])
        .filter(pl.col("key").is_in(keys.drop_nulls().implode()))
        .group_by("key", "code")
        .agg(pl.col("times").sum())
        .filter(pl.col("times") > 0)
        .sort("key", "times", "code", descending=[False, True, False])
    )
    return found.with_columns(pl.int_range(1, pl.len() + 1).over("key").alias("place"))


def _with_pairs(
    table: Table,
    ranked: pl.DataFrame,
    key: str,
    code: str,
    longest: int,
    poset: PosetSource | None,
    role: Role,
) -> Table:
    series, made = [], []
    left = pl.DataFrame({"key": table[key]})
    for place in range(1, longest + 1):
        here = ranked.filter(pl.col("place") == place).select("key", "code", "times")
        pair = left.join(here, on="key", how="left", maintain_order="left")
        names = (f"{code}_{place}", f"{code}_{place}_count")
        taken = [name for name in names if name in table.schema]
        if taken:
            raise SchemaError(
                "the table", [Complaint(taken[0], "is there already", "rename it first")]
            )
        series += [pair["code"].alias(names[0]), pair["times"].fill_null(0).alias(names[1])]
        made.append(Column(names[0], Kind.NOMINAL, role, poset=poset))
        made.append(Column(names[1], Kind.INTEGER, role))
    return table.with_columns(series, made)
