"""Cells that the user calls sensitive."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ..base import Judged, Rule
from ..cells.table import SENSITIVE, CellTable
from .contributors import share_of_value


class Stated(Rule):
    """Cells that are called sensitive by hand, with the protection levels given for them.

    A level that is given on one side only holds on both. A cell without levels (none were given, or
    both are zero or missing) needs `width` of its value on either side, as under the minimum
    frequency rule: hidden without a level, a value could still be worked out exactly.
    """

    name: ClassVar[str] = "stated"
    paper: ClassVar[str] = (
        "Fischetti & Salazar-Gonzalez (2001), Solving the cell suppression problem on tabular data "
        "with linear constraints, Management Science 47"
    )

    width: float = Field(
        0.3, gt=0, description="need of cells without levels, as a share of the cell's value"
    )

    def judge(self, table: CellTable) -> Judged:
        sensitive = table.status == SENSITIVE
        usual = share_of_value(table, self.width)
        if table.needs is None:
            up = down = usual
        else:
            one, two = table.needs
            # A level that is missing on one side is that of the other.
            given = [np.where(np.isnan(one), two, one), np.where(np.isnan(two), one, two)]
            given = [np.nan_to_num(level, nan=0.0, posinf=np.inf) for level in given]
            for level, side in zip(given, ("upper", "lower"), strict=True):
                if (level[sensitive] < 0).any():
                    cell = int(np.flatnonzero(sensitive & (level < 0))[0])
                    raise MethodError(
                        f"the {side} protection level of cell {table.name(cell)} is negative",
                        remedy="give it as a distance from the value, 0 or more",
                    )
            missing = (given[0] == 0) & (given[1] == 0)
            up, down = (np.where(missing, usual, level) for level in given)
        room = np.maximum(table.values - table.lower, 0.0)
        return Judged(
            sensitive,
            np.where(sensitive, up, 0.0),
            np.where(sensitive, np.minimum(down, room), 0.0),
        )
