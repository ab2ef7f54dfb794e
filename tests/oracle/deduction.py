"""What a stranger works out of a table with hidden cells, by subtraction and by linear programs."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.errors import MethodError
from sfumato.kernels.arrays import Bools, Floats
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.threats.problem import Problem

EXACT = 1e-9
"""An interval narrower than this share of the largest hidden number is a number."""


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
