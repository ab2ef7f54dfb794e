"""The p% rule."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..base import Judged, Rule
from ..cells.table import CellTable
from .contributors import contributions, largest, verdict


class PPercent(Rule):
    """Cells whose largest contributor the second can estimate within p percent are sensitive.

    The second largest contributor subtracts its own amount from the total T and has an upper bound
    of the largest, t1. It is too large by T - t1 - t2, what all others hold. Where that is less
    than p percent of t1 the cell is sensitive, and needs p t1 - (T - t1 - t2) of room. This
    attacker is the most dangerous one, and t1 the contributor in most danger.

    A cell with one contributor has t2 = 0 and is always sensitive, unless that contributor's amount
    is zero. With `coalition` more than one, that many of the largest others pool what they know.
    Amounts count without their sign. With sampling weights, a contributor of weight w stands for w
    contributors of its size.
    """

    name: ClassVar[str] = "p-percent"
    aliases: ClassVar[tuple[str, ...]] = ("p%",)
    shorthand: ClassVar[str] = "p"
    paper: ClassVar[str] = (
        "Hundepool et al. (2012), Statistical disclosure control, Wiley, chapter 4; "
        "Cox (1981), Linear sensitivity measures in statistical disclosure control, JSPI 5"
    )

    p: float = Field(
        10.0, gt=0, description="percent of its amount within which nobody may be estimated"
    )
    coalition: int = Field(
        1, ge=1, description="how many of the other contributors pool what they know"
    )

    def judge(self, table: CellTable) -> Judged:
        total = contributions(table, self.name).total
        top = largest(table, 1 + self.coalition, self.name)
        need = self.p / 100 * top[:, 0] - (total - top.sum(axis=1))
        return verdict(table, need, total)
