"""Attacks on tables, each with the number that the attacker obtains. For the owner's eyes only.

Three need no more than the published totals and what the attacker knows of itself. The fourth adds
up and subtracts published cells to find what a suppression left within reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ...errors import MethodError

if TYPE_CHECKING:
    from ...kernels.arrays import Bools, Floats, Ints
    from ..cells.table import CellTable, Contributions
    from .problem import Problem

EXACT = 1e-9
"""An interval narrower than this share of the largest hidden number is a number."""


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


def deduce(problem: Problem, hidden: Bools, table: CellTable | None = None) -> pl.DataFrame:
    """What a stranger obtains of every sensitive or hidden cell when these cells are hidden.

    First by subtraction: a relation in which one cell is hidden gives it away, which may leave
    another relation with one. For all others the least and the largest possible value, by two
    linear programs to a cell: meant for small tables; the audit serves large ones. `met` says
    whether the interval is as wide as the cell's needs ask (sensitive cells only).
    """
    hidden = np.asarray(hidden, bool)
    low, high = problem.known_bounds(hidden)
    low, high = low.astype(np.float64), high.astype(np.float64)
    named = [str(c) for c in range(problem.n)] if table is None else _names(table)
    how = np.full(problem.n, "", object)
    how[~hidden] = "is published"
    unknown = _subtract(problem, hidden, named, how)
    found = hidden & ~unknown
    low[found] = high[found] = problem.values[found]
    _ranges(problem, unknown, low, high)
    slack = EXACT * float(np.abs(problem.values[hidden]).max(initial=0.0))
    exact = high - low <= slack
    how[unknown & exact] = "follows from totals and bounds together"
    cells = np.flatnonzero(problem.primary | hidden)
    met = hidden & _met(problem, low, high, slack)
    frame = pl.DataFrame({"cell": cells}) if table is None else table.labels[cells]
    return frame.with_columns(
        pl.Series("value", problem.values[cells]),
        pl.Series("sensitive", problem.primary[cells]),
        pl.Series("hidden", hidden[cells]),
        pl.Series("lowest", low[cells]),
        pl.Series("highest", high[cells]),
        pl.Series("exact", exact[cells]),
        pl.Series("met", [bool(met[c]) if problem.primary[c] else None for c in cells], pl.Boolean),
        pl.Series(
            "attacker learns",
            [
                f"{problem.values[c]:g}: {how[c]}"
                if exact[c]
                else f"between {low[c]:g} and {high[c]:g}"
                for c in cells
            ],
            pl.String,
        ),
    )


def _names(table: CellTable) -> list[str]:
    return [" ".join(map(str, row)) for row in table.labels.iter_rows()]


def _subtract(problem: Problem, hidden: Bools, named: list[str], how: np.ndarray) -> Bools:
    """Solve every relation with one unknown cell, again and again; what stays unknown."""
    relations, unknown = problem.relations, hidden.copy()
    while True:
        open_ = np.bincount(
            relations.rows, unknown[relations.cells].astype(np.float64), len(relations)
        )
        rows = np.flatnonzero(open_ == 1)
        if not rows.size:
            return unknown
        for row in rows:
            span = slice(relations.starts[row], relations.starts[row + 1])
            cells, coefs = relations.cells[span], relations.coefs[span]
            alone = np.flatnonzero(unknown[cells])
            if alone.size != 1:  # solved a moment ago by another relation
                continue
            at = int(alone[0])
            parts = [
                f"{'-' if -coefs[i] / coefs[at] < 0 else '+'} {_times(coefs[i] / coefs[at])}"
                f"{problem.values[cells[i]]:g} ({named[cells[i]]})"
                for i in np.argsort(coefs, kind="stable")
                if i != at and problem.values[cells[i]] != 0
            ]
            how[cells[at]] = "is " + " ".join(parts).removeprefix("+ ") if parts else "nothing"
            unknown[cells[at]] = False


def _times(ratio: float) -> str:
    return "" if abs(ratio) == 1 else f"{abs(ratio):g} * "


def _ranges(problem: Problem, unknown: Bools, low: Floats, high: Floats) -> None:
    """The least and the largest value of each unknown cell, written into `low` and `high`."""
    from scipy.optimize import linprog

    cells = np.flatnonzero(unknown)
    if not cells.size:
        return
    matrix = problem.relations.matrix
    rest = -(matrix @ np.where(unknown, 0.0, problem.values))
    part = matrix[:, cells]
    rows = np.flatnonzero(np.diff(part.tocsr().indptr))
    part, rest = part[rows], rest[rows]
    # The solver is exact to 1e-7 or so: in this unit that is far less than the numbers.
    unit = float(np.abs(problem.values[cells]).max()) / 1000 or 1.0
    rest = rest / unit
    bounds = [
        (None if np.isinf(l) else l / unit, None if np.isinf(u) else u / unit)
        for l, u in zip(problem.lower[cells], problem.upper[cells], strict=True)
    ]
    for i, cell in enumerate(cells):
        for sign, side in ((1.0, low), (-1.0, high)):
            goal = np.zeros(cells.size)
            goal[i] = sign
            found = linprog(goal, A_eq=part, b_eq=rest, bounds=bounds, method="highs")
            if found.status == 3:  # no bound on this side
                side[cell] = -sign * np.inf
            elif found.status == 0:
                side[cell] = sign * found.fun * unit
            else:
                raise MethodError(
                    f"the values that cell {cell} can take were not found: {found.message}",
                    remedy="check that the table adds up, or audit it",
                )


def _met(problem: Problem, low: Floats, high: Floats, slack: float) -> Bools:
    """Whether each sensitive cell's interval reaches as far as strangers' threats ask."""
    met = np.ones(problem.n, bool)
    threats = problem.threats
    for t in np.flatnonzero(np.diff(threats.known_starts) == 0):
        c = threats.cell[t]
        met[c] &= bool(
            high[c] >= problem.values[c] + threats.up[t] - slack
            and low[c] <= problem.values[c] - threats.down[t] + slack
            and high[c] - low[c] >= threats.slide[t] - slack
        )
    return met
