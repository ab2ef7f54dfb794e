"""Attacks on tables, each with the number that the attacker obtains. For the owner's eyes only.

They need no more than the published totals and what the attacker knows of itself.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from ...errors import MethodError
from ...kernels.arrays import Bools, Floats, Ints
from ..cells.table import CellTable, Contributions


def _frame(
    table: CellTable, cells: Ints, knows: list[str], number: Floats, learns: list[str]
) -> pl.DataFrame:
    return table.labels[cells].with_columns(
        pl.Series("value", table.values[cells]),
        pl.Series("attacker knows", knows, dtype=pl.String),
        pl.Series("number obtained", number, dtype=pl.Float64),
        pl.Series("attacker learns", learns, dtype=pl.String),
    )


def _known(table: CellTable) -> Contributions:
    if table.contributions is None:
        raise MethodError(
            "this attack needs the contributions, which this table does not have",
            remedy="build the table from microdata",
        )
    return table.contributions


def _plain(known: Contributions) -> Bools:
    """Cells whose contributors, as far as they are kept, stand for themselves alone."""
    if known.weight is None:
        return np.ones(known.count.size, bool)
    found: Bools = ((known.weight == 1) | (known.who < 0)).all(axis=1)
    return found


def external(table: CellTable) -> pl.DataFrame:
    """The external attack: cells with one contributor, whose amount anybody reads off the table.

    That one person contributes may be published, or be seen from the street. Somebody of a weight
    other than 1 is not read off: the cell holds a multiple of the amount.
    """
    if table.contributions is not None:
        people = np.where(_plain(table.contributions), table.contributions.count, 0)
    elif table.frequency is not None:
        people = table.frequency
    else:
        raise MethodError(
            "the external attack needs the frequencies, which this table does not have",
            remedy="build the table from microdata, or give the cells a frequency",
        )
    cells = np.flatnonzero(people == 1)
    number = table.values[cells]
    return _frame(
        table,
        cells,
        ["that one person contributes"] * cells.size,
        number,
        [f"the amount of the only contributor is {value:g}" for value in number],
    )


def internal(table: CellTable, *, others: int = 1) -> pl.DataFrame:
    """The internal attack: each contributor subtracts its own amount, and has what is left.

    Of cells with at most `others` other contributors. One other: its amount is obtained exactly.
    Each contributor that the table keeps is an attacker. Amounts count without their sign. Cells
    with weights other than 1 are left out, for these hide how much anybody contributes.
    """
    known = _known(table)
    few = (known.count > 1) & (known.count <= others + 1) & _plain(known)
    cells, place = np.nonzero(few[:, None] & (known.who >= 0))
    own = known.top[cells, place]
    left = known.total[cells] - own
    left = np.where(np.abs(left) <= 1e-12 * known.total[cells], 0.0, left)
    count = known.count[cells] - 1
    return _frame(
        table,
        cells,
        [f"its own amount, {amount:g}" for amount in own],
        left,
        [
            f"the other has {amount:g}" if n == 1 else f"the other {n} have {amount:g} together"
            for amount, n in zip(left, count, strict=True)
        ],
    )


def dominance_attack(table: CellTable, *, share: float = 0.5) -> pl.DataFrame:
    """The internal attack of a large contributor: what is left bounds each of the others.

    Of cells with three contributors or more of which the largest holds more than `share`.
    """
    known = _known(table)
    own = known.top[:, 0]
    cells = np.flatnonzero((known.count > 2) & (own > share * known.total))
    left = (known.total - own)[cells]
    return _frame(
        table,
        cells,
        [f"its own amount, {amount:g}, the largest" for amount in own[cells]],
        left,
        [
            f"each of the other {n} has at most {amount:g}"
            for amount, n in zip(left, known.count[cells] - 1, strict=True)
        ],
    )
