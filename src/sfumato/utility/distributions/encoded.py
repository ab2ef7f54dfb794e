"""Both tables' records as points, column by column, for measures that need no record's partner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ...data.linkage.linking import require_records
from ...data.points.coordinates import Block
from ...data.points.encoding import Encoding, Logs
from ...data.schema import Kind
from ...data.table import Table
from ...errors import MeasureError, MethodError
from ...protocols import Context
from ..columns import SET_ASIDE

Columns = Annotated[
    tuple[str, ...],
    Field(description="columns to compare; all that both tables hold unless given"),
]
_MOST_CATEGORIES = 100
"""A category for nearly every record is no statistic, and costs a coordinate each."""
_FAR = 1e6
"""Nothing lies further from the original's mean, in deviations: its powers would overflow."""


@dataclass(frozen=True, eq=False)
class Points:
    """Records as points of one space, fitted to the original."""

    original: np.ndarray
    masked: np.ndarray
    reference: np.ndarray | None
    columns: list[str]
    logged: list[str]
    left_out: dict[str, str] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What the detail of a measurement says of the space."""
        said: dict[str, Any] = {
            "columns": self.columns,
            "logarithms_of": self.logged,
            "coordinates": self.original.shape[1],
        }
        return said | ({"left_out": self.left_out} if self.left_out else {})


def points_of(
    context: Context,
    named: tuple[str, ...],
    log: Logs | tuple[str, ...],
    asking: str,
    rescaled: Callable[[Block, np.ndarray], np.ndarray] = lambda block, z: z,
) -> Points:
    """The columns that both tables have as coordinates; two values thresholded to -1 and +1.

    `rescaled` may give a column's coordinates another scale. A column that cannot be encoded, or
    that does not vary in the original, is left out with the reason, unless it was asked for.
    """
    pair = context.pair
    require_records(pair, asking)
    reference = context.reference
    if reference is not None and not reference.height:
        reference = None
    for name in () if isinstance(log, str) else log:
        if name not in pair.original.schema:
            raise MeasureError(
                f"{asking}: there is no column {name!r} to take the logarithm of",
                remedy="leave it out of `log`",
            )
    tables = [pair.original, pair.masked, *([] if reference is None else [reference])]
    parts: list[list[np.ndarray]] = [[] for _ in tables]
    columns, logged, left_out = [], [], {}
    for name in named or pair.original.names:
        if not named and name in pair.original.schema and _aside(pair.original, name):
            continue
        found = _encoded(tables, name, log if isinstance(log, str) else _named(log, name), rescaled)
        if isinstance(found, str):
            if named:
                raise MeasureError(
                    f"{asking} cannot be taken on column {name!r}: it {found}",
                    remedy="leave it out of `columns`",
                )
            left_out[name] = found
            continue
        block, coordinates = found
        columns.append(name)
        logged += [name] if block.logged else []
        for part, one in zip(parts, coordinates, strict=True):
            part.append(one)
    if not columns:
        because = "; ".join(f"{name} {why}" for name, why in left_out.items())
        raise MeasureError(
            f"{asking} found no column to compare" + (f" ({because})" if because else ""),
            remedy="compare tables that share columns which vary",
        )
    whole = [np.hstack(part) for part in parts]
    return Points(
        whole[0], whole[1], None if reference is None else whole[2], columns, logged, left_out
    )


def _aside(table: Table, name: str) -> bool:
    return table.schema[name].role in SET_ASIDE


def _named(log: tuple[str, ...], name: str) -> tuple[str, ...]:
    return (name,) if name in log else ()


def _encoded(
    tables: list[Table],
    name: str,
    log: Logs | tuple[str, ...],
    rescaled: Callable[[Block, np.ndarray], np.ndarray],
) -> tuple[Block, list[np.ndarray]] | str:
    """A column's block and its coordinates in each table, or why it has none."""
    for side, table in zip(("original", "masked", "reference"), tables, strict=False):
        if name not in table.schema:
            return f"is not in the {side} table"
    original = tables[0]
    column = original.schema[name]
    if column.kind == Kind.SET:
        return "is set-valued"
    nominal = column.kind in (Kind.NOMINAL, Kind.TEXT) or column.generalized
    if nominal and original[name].n_unique() > _MOST_CATEGORIES:
        return f"has more than {_MOST_CATEGORIES} categories"
    try:
        code = Encoding.of(original, [name], log=log)
        found = [code.encode(table, thresholded=True) for table in tables]
    except MethodError as error:
        return f"has no coordinates: {error.message}"
    if not np.ptp(found[0], axis=0).any():
        return "does not vary in the original"
    block = code.blocks[0]
    return block, [rescaled(block, np.clip(one, -_FAR, _FAR)) for one in found]
