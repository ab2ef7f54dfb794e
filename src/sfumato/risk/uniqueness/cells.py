"""Columns as kernels see them: equal cells have equal codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...criteria.classes import equivalence_classes, wild
from ...data.table import Table
from ...kernels.arrays import Codes


def column_codes(table: Table, names: Sequence[str]) -> list[Codes]:
    """Of each column the codes 0..; missing is one of its values, and so is suppressed."""
    return [equivalence_classes(table, [name]).labels.astype(np.int32) for name in names]


def hide_suppressed(table: Table, names: Sequence[str], codes: list[Codes]) -> list[Codes]:
    """The same codes, -1 where a cell was suppressed."""
    return [
        np.where(_suppressed(table, name), np.int32(-1), one)
        for name, one in zip(names, codes, strict=True)
    ]


def _suppressed(table: Table, name: str) -> np.ndarray:
    """The cells that a method marked, and those that are published as "*"."""
    series = table[name]
    starred = wild(series, table.schema[name]) & ~series.is_null().to_numpy()
    return np.asarray(table.suppressed(name) | starred)
