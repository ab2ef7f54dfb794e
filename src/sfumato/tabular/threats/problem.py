"""What the protection of a table has to achieve, in numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import MethodError
from ...kernels.arrays import Bools, Floats, Ints
from ..cells.cube import CubeShape
from ..cells.relations import Relations
from ..cells.table import CellTable
from ..lists import entries_of, starts_of


@dataclass(frozen=True, eq=False)
class Threats:
    """Who must not learn what: threat t says that an attacker who knows the cells `known` (besides
    all that is published) must find cell[t] possible up to value + up[t] and down to
    value - down[t], and the whole interval at least slide[t] wide.

    An outsider knows no hidden cell. The only contributor of a cell knows that cell, and a holding
    all cells that it has to itself: these are threats of their own against other cells.
    """

    cell: Ints
    up: Floats
    down: Floats
    slide: Floats
    known_starts: Ints
    known_cells: Ints

    @classmethod
    def of(
        cls,
        cell: Sequence[int] | Ints,
        up: Sequence[float] | Floats,
        down: Sequence[float] | Floats,
        slide: Sequence[float] | Floats | None = None,
        known: Sequence[Sequence[int] | Ints] | None = None,
    ) -> Threats:
        """From plain sequences; outsiders only, unless `known` lists what each attacker knows."""
        cells = np.asarray(cell, dtype=np.int64)
        lists = [np.asarray(k, dtype=np.int64) for k in known] if known is not None else []
        sizes = [k.size for k in lists] if known is not None else np.zeros(cells.size, np.int64)
        return cls(
            cells,
            np.asarray(up, dtype=np.float64),
            np.asarray(down, dtype=np.float64),
            np.zeros(cells.size) if slide is None else np.asarray(slide, dtype=np.float64),
            starts_of(sizes),
            np.concatenate([*lists, np.empty(0, np.int64)]),
        )

    def __len__(self) -> int:
        return int(self.cell.size)

    def known(self, t: int) -> Ints:
        """The hidden cells that attacker t knows."""
        return self.known_cells[self.known_starts[t] : self.known_starts[t + 1]]

    def take(self, which: Ints | Bools) -> Threats:
        """Some of them, in that order; by number, or by which are true."""
        which = np.arange(len(self))[which]
        starts, entries = entries_of(self.known_starts, which)
        return Threats(
            self.cell[which],
            self.up[which],
            self.down[which],
            self.slide[which],
            starts,
            self.known_cells[entries],
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """A table to protect: what the cells hold, how they add up, what everybody knows beforehand,
    which are sensitive, and what hiding or changing each one costs."""

    values: Floats
    relations: Relations
    lower: Floats
    """What every attacker takes for granted: no value is below this (0, or minus infinity) ..."""
    upper: Floats
    """... or above this (infinity where nothing is known)."""
    primary: Bools
    """Sensitive: must not be published as it is."""
    fixed: Bools
    """Must be published as it is: structural zeros, empty cells, what the user demands."""
    costs: Floats
    """What hiding a cell costs; not negative."""
    threats: Threats
    cubes: tuple[CubeShape, ...] = ()
    """How the cells lie in their cubes; nothing where only relations were given."""
    few: float = 0.0
    """The greatest count that is sensitive by the rules, whether or not some cell has it."""

    @property
    def n(self) -> int:
        """How many cells there are."""
        return int(self.values.size)

    @property
    def needs(self) -> tuple[Floats, Floats]:
        """How far above and below its value each cell must remain possible to any attacker."""
        up, down = np.zeros(self.n), np.zeros(self.n)
        np.maximum.at(up, self.threats.cell, self.threats.up)
        np.maximum.at(down, self.threats.cell, self.threats.down)
        return up, down

    def known_bounds(self, hidden: Bools) -> tuple[Floats, Floats]:
        """What a table with these cells hidden tells about every cell: (lower, upper)."""
        return (
            np.where(hidden, self.lower, self.values),
            np.where(hidden, self.upper, self.values),
        )

    def with_(self, **changes: object) -> Problem:
        """A copy with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


class Unprotectable(MethodError):
    """Some cells cannot be protected by hiding cells; `cells` are their numbers."""

    def __init__(self, cells: list[int], message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cells = cells

    def named(self, table: CellTable) -> MethodError:
        """The same with the cells' codes."""
        names = "; ".join(table.name(cell) for cell in self.cells[:5])
        more = f" and {len(self.cells) - 5:,} more" if len(self.cells) > 5 else ""
        return MethodError(
            f"not protected even if everything were hidden that may be: {names}{more}",
            remedy=self.remedy,
        )
