"""The prior-posterior rule (pq rule)."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from ..base import Judged, Rule
from ..cells.table import CellTable
from .contributors import contributions, largest, verdict


class PriorPosterior(Rule):
    """The p% rule for intruders who know every contribution within q percent beforehand.

    The second largest contributor knows the others' total T - t1 - t2 within q percent. What it
    then finds of the largest, t1, is off by up to q (T - t1 - t2); where that is less than p
    percent of t1 the cell is sensitive, and needs (p/q) t1 - (T - t1 - t2) of room. With q = 100
    this is the p% rule. p must be less than q: nobody can learn less than he knew.

    Amounts count without their sign. With sampling weights, a contributor of weight w stands for w
    contributors of its size.
    """

    name: ClassVar[str] = "prior-posterior"
    aliases: ClassVar[tuple[str, ...]] = ("pq",)
    paper: ClassVar[str] = (
        "Hundepool et al. (2012), Statistical disclosure control, Wiley, chapter 4; "
        "Cox (1981), Linear sensitivity measures in statistical disclosure control, JSPI 5"
    )

    p: float = Field(
        10.0, gt=0, description="percent within which nobody may be estimated afterwards"
    )
    q: float = Field(50.0, gt=0, description="percent within which everybody is known beforehand")

    @model_validator(mode="after")
    def _learns(self) -> Self:
        if self.p >= self.q:
            raise ValueError(f"p ({self.p:g}) must be less than q ({self.q:g})")
        return self

    def judge(self, table: CellTable) -> Judged:
        total = contributions(table, self.name).total
        top = largest(table, 2, self.name)
        need = self.p / self.q * top[:, 0] - (total - top.sum(axis=1))
        return verdict(table, need, total)
