"""What all methods share that mask numbers: columns to a matrix, and the matrix back to columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...data.codec import Matrix, from_floats
from ...data.schema import NUMERIC, Kind
from ...data.table import Table
from ...errors import MethodError
from ...protocols import Method, Outcome

SINGLE_VALUES: tuple[str, ...] = (*NUMERIC, Kind.ORDINAL, Kind.NOMINAL, Kind.BOOLEAN, Kind.DATE)
"""Kinds of columns whose cells hold one value each, with an order or without."""


class Masked(NamedTuple):
    """Masked numbers, and what the evidence must say of them."""

    values: np.ndarray
    facts: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


class NumericMethod(Method):
    """A method that masks the numbers of the chosen columns together.

    A missing value stays missing, and is never read as a number.
    """

    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = NUMERIC
    perturbs: ClassVar[bool | None] = True
    least: ClassVar[int] = 2
    """Records that it needs."""

    whole: bool = Field(True, description="round integer columns to whole numbers")

    @abstractmethod
    def masked(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray | Masked:
        """The masked numbers of float64 (n, p); NaN is missing, before and after."""

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, left = self.targets(table)
        require_size(table, self.least, self.name)
        x = Matrix(table, chosen).numeric
        made = self.masked(x, rng)
        if not isinstance(made, Masked):
            made = Masked(made)
        self._check(x, made.values, chosen)
        warnings = [f"{name} was left alone: it is not a number" for name in left]
        facts = {"columns": chosen, **made.facts}
        out = with_numbers(table, chosen, made.values, whole=self.whole)
        return Outcome(out, facts=facts, warnings=(*made.warnings, *warnings))

    def _check(self, x: np.ndarray, made: np.ndarray, names: list[str]) -> None:
        missing = np.isnan(x)
        if not np.isfinite(made[~missing]).all():
            row, j = map(int, np.argwhere(~missing & ~np.isfinite(made))[0])
            raise MethodError(
                f"{self.name} made no finite number of column {names[j]!r} in row {row + 1}",
                remedy="its values are too large to calculate with: rescale the column",
            )
        assert np.isnan(made[missing]).all()


def with_numbers(
    table: Table, names: list[str], values: np.ndarray, *, whole: bool = True
) -> Table:
    """The table with these columns' numbers replaced; a column of whole numbers that are so no
    longer becomes continuous."""
    series, columns = [], []
    for j, name in enumerate(names):
        column = table.schema[name]
        made = from_floats(values[:, j], column, table[name], whole=whole)
        series.append(made)
        widened = column.kind == Kind.INTEGER and made.dtype.is_float()
        columns.append(column.with_(kind=Kind.CONTINUOUS) if widened else column)
    return table.with_columns(series, columns)


def require_size(table: Table, least: int, asking: str) -> None:
    """Refuse a table with fewer records than a method needs."""
    if table.height < least:
        raise MethodError(
            f"{asking} needs {least} records or more, not {table.height}",
            remedy="use another method for a table this small",
        )
