"""`CellTable`: the cells of one or several linked tables, with everything the rules look at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from ...kernels.arrays import Bools, Floats, Ints
from .cube import CubeShape
from .relations import Relations

SAFE, SENSITIVE, PUBLISH, ZERO = 0, 1, 2, 3
"""What the user says of a cell beforehand: nothing, sensitive, publish in any case, known zero."""
STATUSES = ("safe", "sensitive", "publish", "zero")


def cell_name(labels: pl.DataFrame, row: int) -> str:
    """A cell in words."""
    return ", ".join(f"{name}={code}" for name, code in labels.row(row, named=True).items())


@dataclass(frozen=True, eq=False)
class Contributions:
    """The largest contributors of each cell, holdings taken together, largest amount first."""

    top: Floats
    """Amounts, float64[n, m], absolute values; 0 beyond the last contributor."""
    who: Ints
    """int64[n, m], the contributor's number; -1 beyond the last one."""
    total: Floats
    """The sum of the absolute amounts (weighted where there are weights)."""
    count: Ints
    """How many different contributors a cell has."""
    weight: Floats | None = None
    """The sampling weight of each of `top`; None where there are no weights."""
    asked: Floats | None = None
    """The request code of each of `top` (0: did not ask); None where nobody could ask."""


@dataclass(frozen=True, eq=False, repr=False)
class CellTable:
    """Cells, the relations between them, and what is known of each.

    Made by `from_microdata` or `from_cells` (tabular/cells/build.py and tabular/cells/given.py).
    """

    values: Floats
    relations: Relations
    labels: pl.DataFrame
    """One row to a cell: the code in each dimension (text); the total's code where it has none."""
    lower: Floats
    upper: Floats
    status: Ints
    """int64: what the user says of each cell (SAFE, SENSITIVE, PUBLISH, ZERO)."""
    costs: Floats | None = None
    """What hiding each cell costs, where the user says so."""
    frequency: Ints | None = None
    """Records in each cell."""
    contributions: Contributions | None = None
    needs: tuple[Floats, Floats] | None = None
    """Given protection levels (up, down), for tables that come without contributions."""
    cubes: tuple[CubeShape, ...] = ()
    measure: str = "count"
    """The column that was added up, or "count"."""
    summed: bool = False
    """Whether an amount was added up, even one whose column is called "count"."""
    record_keys: Floats | None = None
    """The cell key: the sum of the records' random keys, modulo 1; for cell-key perturbation."""
    keys_drawn: bool = False
    """Whether the records' keys were drawn for this table alone."""
    notes: tuple[str, ...] = field(default=())
    people: pl.Series | None = None
    """Whom the records are about, where a column tells; for the ledger of releases."""
    nameless: int = 0
    """Records of which it does not tell whose they are."""

    def __repr__(self) -> str:
        dimensions = ", ".join(self.labels.columns)
        return f"CellTable({self.n:,} cells of {self.measure}; dimensions: {dimensions})"

    @property
    def n(self) -> int:
        """How many cells there are."""
        return int(self.values.size)

    @property
    def is_count(self) -> bool:
        """Whether the cells count records (or people) rather than add up an amount."""
        return self.measure == "count" and not self.summed

    @property
    def empty(self) -> Bools:
        """Cells that hold nothing and are known to: no records, or zero by the user's word."""
        zero: Bools = self.status == ZERO
        if self.frequency is not None:
            zero = zero | (self.frequency == 0)
        return zero

    def name(self, cell: int) -> str:
        """A cell in words: "region=North, size=2"."""
        return cell_name(self.labels, cell)

    def find(self, **codes: str) -> int:
        """The number of the cell with these codes; dimensions left out are totals."""
        from ...errors import ParameterError

        wanted = np.ones(self.n, bool)
        for key in codes:
            if key not in self.labels.columns:
                raise ParameterError(
                    f"the table has no dimension {key!r}",
                    remedy=f"its dimensions are {', '.join(self.labels.columns)}",
                )
        total = {d.name: d.codes[0] for cube in self.cubes for d in cube.dimensions} | {
            key: str(value) for key, value in codes.items()
        }
        for key, value in total.items():
            wanted &= (self.labels[key] == value).to_numpy()
        found = np.flatnonzero(wanted)
        if found.size != 1:
            raise ParameterError(
                f"{found.size} cells have the codes {total}", remedy="name one code to a dimension"
            )
        return int(found[0])

    def with_(self, **changes: object) -> CellTable:
        """A copy with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]
