"""The (n,k) dominance rule."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..base import Judged, Rule
from ..cells.table import CellTable
from .contributors import contributions, largest, verdict


class Dominance(Rule):
    """Cells of which n contributors hold more than k percent are sensitive.

    With the largest contributions t1 >= t2 >= ... and the total T, the cell needs
    (t1 + ... + tn) / k - T of room: were the total that much larger, the n largest would hold k
    percent exactly. A share of exactly k percent is not sensitive.

    A cell with n contributors or fewer is always sensitive, unless all of them contribute zero.
    Amounts count without their sign, so that losses do not hide a large contributor. With sampling
    weights, a contributor of weight w stands for w contributors of its size.
    """

    name: ClassVar[str] = "dominance"
    aliases: ClassVar[tuple[str, ...]] = ("nk",)
    paper: ClassVar[str] = (
        "Hundepool et al. (2012), Statistical disclosure control, Wiley, chapter 4; "
        "Willenborg & de Waal (2001), Elements of statistical disclosure control, Springer"
    )

    n: int = Field(2, ge=1, description="how many of the largest contributors are counted")
    k: float = Field(85.0, gt=0, lt=100, description="the percentage that they may hold together")

    def judge(self, table: CellTable) -> Judged:
        total = contributions(table, self.name).total
        need = largest(table, self.n, self.name).sum(axis=1) / (self.k / 100) - total
        return verdict(table, need, total)
