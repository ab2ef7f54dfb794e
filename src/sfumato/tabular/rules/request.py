"""The request rule."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...errors import MethodError
from ..base import Judged, Rule
from ..cells.table import CellTable
from .contributors import ROUNDING, contributions, verdict


class Request(Rule):
    """Cells dominated by a contributor who asked for protection are sensitive.

    Used for foreign trade, where protection is given to those who ask. A cell is sensitive when one
    of its two largest contributors asked and holds more than `percent` percent of the total T.

    With t the amount of the one who asked and s the largest of the others, the cell needs
    the larger of t / percent - T and p t - (T - t - s) of room. The first keeps a stranger, who has
    only the total as an estimate of t, that far from it; the second keeps the contributor of s,
    who subtracts its own amount, from an estimate within p percent.

    Everybody whose request code is not 0 asked, unless `codes` names the codes that count: two
    kinds of requests with different percentages are two rules. Amounts count without their sign;
    with sampling weights it is one contributor of that size who is compared with the total.
    """

    name: ClassVar[str] = "request"
    shorthand: ClassVar[str] = "percent"
    paper: ClassVar[str] = (
        "Hundepool et al. (2012), Statistical disclosure control, Wiley, chapter 4; "
        "de Wolf, Hundepool et al. (2014), tau-ARGUS user's manual 4.1"
    )

    percent: float = Field(
        70.0, gt=0, lt=100, description="the percentage that one who asked may hold"
    )
    p: float = Field(10.0, gt=0, description="percent within which the others may not estimate him")
    codes: tuple[float, ...] = Field((), description="request codes that count; none: all but 0")

    def judge(self, table: CellTable) -> Judged:
        known = contributions(table, self.name)
        if known.asked is None:
            raise MethodError(
                f"{self.name} needs to know who asked for protection, and this table does not say",
                remedy="name the column with the request codes when the table is built",
            )
        total, width = known.total, known.top.shape[1]
        need = np.full(table.n, -np.inf)
        for place in range(min(2, width)):
            code = known.asked[:, place]
            asked = np.isin(code, self.codes) if self.codes else code > 0
            own = known.top[:, place]
            # The largest of the others: the other one of the two, or one of the same size.
            other = known.top[:, 1 - place] if width > 1 else np.zeros(table.n)
            if known.weight is not None:
                other = np.where(known.weight[:, place] >= 2, np.maximum(own, other), other)
            stranger = own / (self.percent / 100) - total
            insider = self.p / 100 * own - (total - own - other)
            found = np.where(stranger > ROUNDING * total, np.maximum(stranger, insider), -np.inf)
            need = np.maximum(need, np.where(asked & (known.who[:, place] >= 0), found, -np.inf))
        return verdict(table, need, total)
