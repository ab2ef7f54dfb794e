"""Which columns of a pair can be compared as categories, and their codes on one scale.

A column of labels ("[20, 29]") in the masked table is not made of the original's categories. Those
measures that compare categories leave it out, and say so; those that ask how well a label tells the
original value take it as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import Kind
from ...errors import MeasureError
from ..columns import SET_ASIDE, Chosen

KINDS = (Kind.NOMINAL, Kind.ORDINAL, Kind.BOOLEAN)


def with_categories(
    pair: Pair, named: Sequence[str], measure: str, *, labels: bool = False
) -> Chosen:
    """The columns with categories in both tables: those named, else every one; with `labels` the
    masked table may hold generalized ones."""
    require_records(pair, measure)
    wanted = named or [
        c.name for c in pair.original.schema if c.kind in KINDS and c.role not in SET_ASIDE
    ]
    reasons = {name: _unfit(pair, name, labels) for name in wanted}
    left_out = {name: why for name, why in reasons.items() if why}
    if named and left_out:
        name, why = next(iter(left_out.items()))
        raise MeasureError(
            f"{measure} cannot be taken on column {name!r}: {why}",
            remedy="leave it out of `columns`",
        )
    chosen = [name for name in wanted if name not in left_out]
    if not chosen:
        because = "; ".join(f"{name} {why}" for name, why in left_out.items())
        raise MeasureError(
            f"{measure} found no column with categories in both tables"
            + (f" ({because})" if because else ""),
            remedy="it compares nominal, ordinal and boolean columns",
        )
    return Chosen(chosen, left_out)


def _unfit(pair: Pair, name: str, labels: bool) -> str:
    """Why a column cannot be compared; empty if it can."""
    before = pair.original.schema[name]
    if name not in pair.masked.schema:
        return "is not in the masked table"
    after = pair.masked.schema[name]
    if before.kind not in (*KINDS, Kind.TEXT) and not before.generalized:
        return f"is {before.kind} and has no categories"
    if labels or after.generalized == before.generalized:
        return ""
    return f"holds labels in the {'masked' if after.generalized else 'original'} table"


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of both tables in the same codes: 0 is missing or suppressed."""

    original: np.ndarray
    masked: np.ndarray
    values: list[str]
    """What the codes 1.. stand for."""


def codes(pair: Pair, name: str) -> Codes:
    """The categories of a column in both tables, also where one table has others. An ordinal column
    has the original's order."""
    before, after = pair.original[name], pair.masked[name]
    texts = pl.concat([before.cast(pl.String), after.cast(pl.String)])
    column = pair.original.schema[name]
    if column.kind == Kind.ORDINAL and not column.generalized:
        more = texts.drop_nulls().unique().sort()
        known = list(column.categories)
        order = known + [value for value in more if value not in set(known)]
        found = texts.cast(pl.Enum(order)).to_physical().cast(pl.Int64).fill_null(-1)
        both = found.to_numpy() + 1
        return Codes(both[: before.len()], both[before.len() :], order)
    made = encode(texts)
    both = made.codes.astype(np.int64)
    return Codes(both[: before.len()], both[before.len() :], made.domain.to_list())
