"""What all methods share that mask numbers: columns to a matrix, and the matrix back to columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, floats, from_floats
from ...data.schema import NUMERIC, Column, Kind
from ...data.table import Table
from ...engines.relation import Relation
from ...errors import MethodError
from ...protocols import Method, Outcome

SINGLE_VALUES: tuple[str, ...] = (*NUMERIC, Kind.ORDINAL, Kind.NOMINAL, Kind.BOOLEAN, Kind.DATE)
"""Kinds of columns whose cells hold one value each, with an order or without."""


class Masked(NamedTuple):
    """Masked numbers, and what the evidence must say of them."""

    values: np.ndarray
    facts: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


class OnNumbers(Method):
    """A method that masks the numbers of the chosen columns."""

    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = NUMERIC
    perturbs: ClassVar[bool | None] = True
    least: ClassVar[int] = 2
    """Records that it needs."""

    whole: bool = Field(True, description="round integer columns to whole numbers")


class NumericMethod(OnNumbers):
    """A method that masks the numbers of the chosen columns together.

    A missing value stays missing, and is never read as a number.
    """

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
        warnings = no_numbers(left)
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


def no_numbers(left: Sequence[str]) -> list[str]:
    """Words about columns of the right role that hold none."""
    return [f"{name} was left alone: it is not a number" for name in left]


def with_numbers(
    table: Table, names: list[str], values: np.ndarray, *, whole: bool = True
) -> Table:
    """The table with these columns' numbers replaced."""
    return table.with_columns(*number_columns(table, names, values, whole=whole))


def number_columns(
    table: Table, names: Sequence[str], values: np.ndarray, *, whole: bool
) -> tuple[list[pl.Series], list[Column]]:
    """Numbers as these columns of the table."""
    series = [
        from_floats(values[:, j], table.schema[name], table[name], whole=whole)
        for j, name in enumerate(names)
    ]
    return series, [widened(table.schema[one.name], one) for one in series]


def widened(column: Column, made: pl.Series) -> Column:
    """The column of these values: of whole numbers that are so no longer, a continuous one."""
    real = column.kind == Kind.INTEGER and made.dtype.is_float()
    return column.with_(kind=Kind.CONTINUOUS) if real else column


def finite(series: pl.Series, column: Column) -> np.ndarray:
    """A column's numbers, NaN where missing; infinite ones are refused."""
    x = floats(series, column)
    if np.isinf(x).any():
        raise MethodError(
            f"column {column.name!r} is infinite in row {int(np.isinf(x).argmax()) + 1}",
            remedy="make it missing, or leave the row out",
        )
    return x


def refuse(method: Method, wrong: np.ndarray, names: Sequence[str]) -> None:
    """An error for columns whose numbers overflowed, where any is (by column or by cell)."""
    columns = wrong if wrong.ndim == 1 else wrong.any(axis=0)
    if columns.any():
        raise MethodError(
            f"{method.name} made no finite number of column {names[int(np.argmax(columns))]!r}",
            remedy="its values are too large to calculate with: rescale the column",
        )


def require_size(records: Table | Relation, least: int, asking: str) -> None:
    """Refuse fewer records than a method needs."""
    if records.height < least:
        raise MethodError(
            f"{asking} needs {least} records or more, not {records.height}",
            remedy="use another method for a table this small",
        )
