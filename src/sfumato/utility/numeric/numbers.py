"""The numeric columns of both tables as matrices, for measures that compare them whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ...data.pair import Pair
from ...data.schema import NUMERIC
from ...errors import MeasureError
from ..columns import Chosen, constant, each, with_numbers

Columns = Annotated[
    tuple[str, ...], Field(description="columns to compare; all numeric columns unless given")
]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Both tables' numbers, column by column the same; NaN is missing."""

    pair: Pair
    chosen: Chosen
    x: np.ndarray
    y: np.ndarray

    @cached_property
    def complete(self) -> tuple[np.ndarray, np.ndarray]:
        """The records of each table that have every value."""
        return tuple(t[~np.isnan(t).any(axis=1)] for t in (self.x, self.y))

    @cached_property
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Original and masked values that belong together, record by record."""
        original, masked = self.pair.aligned_rows()
        order = np.argsort(original, kind="stable")  # whatever order the release was shuffled to
        return self.x[original[order]], self.y[masked[order]]

    def facts(self) -> dict[str, Any]:
        """What the detail of a measurement says: columns, those left out, incomplete records."""
        said: dict[str, Any] = dict(self.chosen.facts())
        sides = zip(("original", "masked"), (self.x, self.y), self.complete, strict=True)
        gone = {side: len(t) - len(kept) for side, t, kept in sides if len(t) > len(kept)}
        if gone:
            said["incomplete_records"] = gone
        return said


def numbers_of_both(
    pair: Pair, named: Sequence[str], asking: str, *, columns: int = 1, records: int = 2
) -> Numbers:
    """The numeric columns that vary in the original, as matrices.

    Raises `MeasureError` where fewer than `columns` of them, or than `records` complete records,
    are left.
    """
    chosen = with_numbers(pair, named, asking)
    names, left_out, x, y = [], dict(chosen.left_out), [], []
    for name, before, after in each(pair, chosen.names):
        if not named and pair.original.schema[name].kind not in NUMERIC:
            left_out[name] = f"is {pair.original.schema[name].kind}"
        elif constant(before):
            left_out[name] = "does not vary in the original"
        else:
            names.append(name)
            x.append(before)
            y.append(after)
    if len(names) < columns:
        because = "; ".join(f"{name} {why}" for name, why in left_out.items())
        raise MeasureError(
            f"{asking} needs {columns} numeric columns that vary, and there are {len(names)}"
            + (f" ({because})" if because else ""),
            remedy="name columns with numbers in `columns`",
        )
    found = Numbers(pair, Chosen(names, left_out), np.column_stack(x), np.column_stack(y))
    for side, part in zip(("original", "masked"), found.complete, strict=True):
        if len(part) < records:
            raise MeasureError(
                f"{asking} needs {records} complete records, and the {side} table has {len(part)}",
                remedy="name columns with fewer missing values in `columns`",
            )
    return found
