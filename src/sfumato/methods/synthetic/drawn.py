"""What all methods share that draw whole records from a model.

A drawn record stems from no single original. Columns that the model leaves out cannot stand beside
it, since they would be somebody's: they are dropped, and a warning names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.schema import Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...protocols import Method
from ..numeric.base import require_size


class Synthesizer(Method):
    """A method whose rows are all new."""

    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential", "target", "insensitive")
    kinds: ClassVar[tuple[str, ...]] = (Kind.CONTINUOUS, Kind.INTEGER)
    perturbs: ClassVar[bool | None] = True
    least: ClassVar[int] = 3
    """Records that it needs: of one or two, every moment tells all."""

    records: int = Field(0, ge=0, description="rows to draw; 0: as many as the original has")

    def rows_of(self, table: Table) -> int:
        """How many rows to draw."""
        require_size(table, self.least, self.name)
        return self.records or table.height


def refuse(method: Method, wrong: np.ndarray, names: Sequence[str]) -> None:
    """An error for columns whose numbers overflowed, where any is (by column or by cell)."""
    columns = wrong if wrong.ndim == 1 else wrong.any(axis=0)
    if columns.any():
        raise MethodError(
            f"{method.name} made no finite number of column {names[int(np.argmax(columns))]!r}",
            remedy="its values are too large to calculate with: rescale the column",
        )


def whole_table(
    table: Table, rows: int, series: Sequence[pl.Series], columns: Sequence[Column]
) -> tuple[Table, list[str]]:
    """A table of these drawn columns alone, in the order of the original, and a warning that names
    the others."""
    made = {one.name for one in series}
    gone = [name for name in table.names if name not in made]
    # Any row will do, as often as rows are needed: all of its values are replaced.
    blank = table.without(gone).take(np.zeros(rows, dtype=np.int64))
    nothing = {name: np.zeros(rows, dtype=bool) for name in made}
    warnings = []
    if gone:
        warnings.append(
            f"{', '.join(gone)}: dropped, since drawn records belong to nobody whose values could "
            "stand beside them; name columns in `columns` to have them drawn"
        )
    return blank.with_columns(series, columns, nothing), warnings
