"""The minimum frequency rule."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ...kernels.arrays import Floats
from ..base import Judged, Rule
from ..cells.table import CellTable
from .contributors import judged, share_of_value


class MinimumFrequency(Rule):
    """Cells with fewer contributors than the minimum are sensitive.

    Contributors are counted where they are known (a holding is one), otherwise records; in a table
    of counts without either, the counts themselves. Empty cells are not sensitive.

    The rule says nothing about how wide an interval must be, so the width is the user's: a share of
    the cell's value on either side, 0.3 unless told otherwise; in tables of counts at least 1. A
    cell of value zero needs the smallest amount other than zero of any cell. Below, no cell needs
    more than the known bound leaves.

    With `zeros`, cells whose contributors all contribute zero are sensitive too, however many they
    are: whoever knows a contributor learns its amount.
    """

    name: ClassVar[str] = "minimum-frequency"
    aliases: ClassVar[tuple[str, ...]] = ("threshold",)
    shorthand: ClassVar[str] = "minimum"
    paper: ClassVar[str] = (
        "Hundepool et al. (2012), Statistical disclosure control, Wiley, chapter 4"
    )

    minimum: int = Field(3, ge=1, description="the least number of contributors of a safe cell")
    width: float = Field(
        0.3, gt=0, description="protection need on either side, as a share of the cell's value"
    )
    zeros: bool = Field(
        False, description="whether cells are sensitive to which everybody contributes zero"
    )

    def judge(self, table: CellTable) -> Judged:
        people = self._people(table)
        sensitive = (people > 0) & (people < self.minimum)
        if self.zeros:
            known = table.contributions
            held = np.abs(table.values) if known is None else known.total
            sensitive |= (people > 0) & (held == 0)
        return judged(table, sensitive & ~table.empty, share_of_value(table, self.width))

    def _people(self, table: CellTable) -> Floats:
        if table.contributions is not None:
            return table.contributions.count.astype(np.float64)
        if table.frequency is not None:
            return table.frequency.astype(np.float64)
        if table.is_count:
            return table.values
        raise MethodError(
            f"{self.name} needs to know how many contribute to each cell, and this table of "
            f"{table.measure} does not say",
            remedy="build the table from microdata, or give the cells a frequency",
        )
