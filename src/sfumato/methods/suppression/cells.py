"""Cells of chosen columns: which are gone already, and what becomes of those that go."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Told
from ...errors import MethodError
from ...kernels.suppression.local import MOST_COLUMNS
from ...protocols import Method, Outcome


class Cells(NamedTuple):
    """The chosen columns as codes, and which cells are missing or suppressed already."""

    codes: np.ndarray
    missing: np.ndarray
    already: np.ndarray

    @classmethod
    def of(cls, table: Table, chosen: list[str]) -> Cells:
        """The cells of these columns."""
        return cls(
            np.column_stack([encode(table[name]).codes.astype(np.int32) for name in chosen]),
            np.column_stack([table.missing(name) for name in chosen]),
            np.column_stack([table.suppressed(name) for name in chosen]),
        )


def checked_columns(
    method: Method, data: Relation, k: int, importance: dict[str, float]
) -> list[str]:
    """The columns to suppress in, or what stands in the way."""
    chosen, _ = method.targets(data.empty)
    if data.height < k:
        raise MethodError(
            f"a table of {data.height} cannot be made {k}-anonymous",
            remedy="release nothing, or lower k",
        )
    if len(chosen) > MOST_COLUMNS:
        raise MethodError(
            f"{method.name} takes up to {MOST_COLUMNS} columns, not {len(chosen)}",
            remedy="name the columns that others may really know",
        )
    stray = [name for name in importance if name not in chosen]
    if stray:
        raise MethodError(
            f"importance names {stray[0]!r}, which is not among the columns to suppress in",
            remedy=f"the columns are {', '.join(chosen)}",
        )
    return chosen


def suppressed_part(part: Table, chosen: list[str], gone: np.ndarray, some: np.ndarray) -> Part:
    """A part with these cells suppressed; `some` are the columns of which any part loses cells."""
    series, marks, tally = [], {}, {"cells": gone.size, "alike": 0}
    for j, name in enumerate(chosen):
        missing = part.missing(name)
        tally[f"lost {name}"] = int((gone[:, j] & ~missing).sum())
        tally["alike"] += int((gone[:, j] & missing).sum())
        if not some[j]:
            continue
        series.append(suppress(part[name], gone[:, j], part.schema[name].generalized))
        marks[name] = gone[:, j] | part.suppressed(name)
    return Part(part.with_columns(series, suppressed=marks), tally=Tally(tally))


def suppressed_told(
    chosen: list[str], tally: Tally, more: dict[str, Any], warnings: tuple[str, ...] = ()
) -> Told:
    """How many cells were suppressed."""
    lost = {name: tally.total[f"lost {name}"] for name in chosen}
    facts: dict[str, Any] = {
        "suppressed cells": lost,
        "share of cells": sum(lost.values()) / max(1, tally.total["cells"]),
        "missing cells marked alike": tally.total["alike"],
        **more,
    }
    return Told(facts, warnings=warnings)


def suppressed_outcome(
    table: Table,
    chosen: list[str],
    gone: np.ndarray,
    more: dict[str, Any],
    warnings: tuple[str, ...] = (),
) -> Outcome:
    """The table with these cells suppressed, and how many they are."""
    part = suppressed_part(table, chosen, gone, np.asarray(gone.any(axis=0)))
    told = suppressed_told(chosen, part.tally, more, warnings)
    return Outcome(part.table, facts=told.facts, warnings=told.warnings)


def suppress(series: pl.Series, gone: np.ndarray, generalized: bool) -> pl.Series:
    """The column with some cells suppressed: "*" among labels, null among values."""
    keep = pl.Series(~gone)
    if not generalized:
        return series.zip_with(keep, pl.Series([None], dtype=series.dtype))
    return series.cast(pl.String).zip_with(keep, pl.Series([SUPPRESSED], dtype=pl.String))
