"""What the rules look at: the largest contributors of each cell, and how needs become a verdict."""

from __future__ import annotations

import numpy as np

from ...errors import MethodError
from ...kernels.arrays import Floats
from ..base import Judged
from ..cells.table import CellTable, Contributions

ROUNDING = 1e-9
"""A need below this share of the cell's total comes from rounding: such a cell is not sensitive."""


def contributions(table: CellTable, rule: str) -> Contributions:
    """Who contributes what; a clear error where the table does not know."""
    if table.contributions is None:
        raise MethodError(
            f"{rule} needs the largest contributions of each cell, which this table does not have",
            remedy="build the table from microdata, or give protection levels and use the rule "
            '"stated"',
        )
    return table.contributions


def largest(table: CellTable, places: int, rule: str) -> Floats:
    """The amounts of the `places` largest contributors of each cell, float64[n, places].

    A contributor of weight w stands for w contributors of its size, and so fills w places; what is
    left of a place goes to the next one: of (100, weight 1.5) and (60, weight 3), two places hold
    100 and 0.5 * 100 + 0.5 * 60 = 80.
    """
    known = contributions(table, rule)
    kept = known.top.shape[1]
    # Weighted places end where the weights do: the running sum of weights, cut at each place.
    weight = np.ones_like(known.top) if known.weight is None else known.weight
    weight = np.where(known.who >= 0, weight, 0.0)
    ends = np.cumsum(weight, axis=1)
    filled = ends[:, -1] if kept else np.zeros(table.n)
    short = (known.count > kept) & (filled < places)
    if short.any():
        cell = int(np.flatnonzero(short)[0])
        raise MethodError(
            f"{rule} looks at the {places} largest contributors, but only {kept} of the "
            f"{int(known.count[cell])} of cell {table.name(cell)} are kept",
            remedy=f"keep at least {places} contributors to a cell when the table is built",
        )
    begins = ends - weight
    found = np.zeros((table.n, places))
    for place in range(places):
        share = np.minimum(ends, place + 1) - np.maximum(begins, place)
        found[:, place] = (np.clip(share, 0.0, None) * known.top).sum(axis=1)
    return found


def verdict(table: CellTable, need: Floats, scale: Floats) -> Judged:
    """The cells whose need is more than rounding, with that need on both sides.

    `scale` is the amount that the need was computed from. Below, no cell needs more than its value
    leaves above the bound that everybody knows.
    """
    return judged(table, (need > ROUNDING * scale) & ~table.empty, need)


def judged(table: CellTable, sensitive: np.ndarray, need: Floats) -> Judged:
    """These cells, with that need above, and below as far as the known bound leaves it."""
    up = np.where(sensitive, need, 0.0)
    down = np.minimum(up, np.maximum(table.values - table.lower, 0.0))
    return Judged(sensitive, up, down)


def unit(table: CellTable) -> float:
    """What a cell of value zero needs, having no share of its own: 1 in a table of counts,
    otherwise the smallest amount other than zero of any cell."""
    if table.is_count:
        return 1.0
    amounts = np.abs(table.values)
    return float(amounts.min(initial=np.inf, where=amounts > 0)) if (amounts > 0).any() else 1.0


def share_of_value(table: CellTable, share: float) -> Floats:
    """A share of each value as its need; at least 1 for counts, and `unit` where it is zero."""
    need = share * np.abs(table.values)
    if table.is_count:
        need = np.maximum(need, 1.0)
    return np.where(table.values == 0, unit(table), need)
