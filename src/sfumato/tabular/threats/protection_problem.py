"""From a table and rules to the problem of protecting it: what must not be learned, and by whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from ...errors import MethodError, ParameterError
from ...kernels.arrays import Bools, Floats
from ..base import Judged, Rule
from ..cells.table import PUBLISH, SENSITIVE, STATUSES, ZERO, CellTable
from ..rules.minimum_frequency import MinimumFrequency
from ..rules.stated import Stated
from .insiders import ATTACKERS, insiders, joined
from .problem import Problem, Threats

Cost = Literal["value", "frequency", "log", "unity", "given"]
"""What hiding a cell costs: its value, its people, log(1 + value), 1, or what the table says."""

_DEEPEST = 64
"""Levels that bounds climb at most."""
CHEAP = 1e-3
"""The cost of a cell whose value is zero, as a share of the smallest cost other than zero."""


def protection_problem(
    table: CellTable,
    rules: Sequence[Rule],
    *,
    cost: Cost = "value",
    singletons: bool = True,
    holdings: bool = True,
    attackers: int | None = ATTACKERS,
    slide: float = 0.0,
    bounds: Literal["apriori"] | float = "apriori",
) -> Problem:
    """The problem of protecting the cells that the rules find sensitive.

    Cells that the user calls sensitive are, whether or not "stated" is among the rules. A cell
    that several rules find takes the largest need on each side. Needs end at the bounds that
    everybody knows beforehand: those of the table ("apriori"), or `bounds` percent of the value on
    either side where the attacker knows each value that well. `slide` is the least width of an
    interval as a share of the value, wherever it lies.

    A hidden count is known to be 1 at least where empty cells are published as zeros.

    Empty cells, cells that are known to be zero, and cells that the user publishes in any case are
    fixed; one of them that a rule finds sensitive is an error. Costs are never zero: a cell that
    holds nothing but people has a thousandth of the smallest cost.

    Strangers threaten every sensitive cell. With `singletons`, the only contributor of a sensitive
    cell threatens others near it: see `insiders`, also for `holdings` and `attackers`. Which other
    single contributors learn too much depends on what is hidden: `open_insiders` finds them in a
    protected table. Groups of contributors who pool what they know are no attackers.
    """
    _sound(table)
    verdict = judge(table, rules)
    lower, upper = _bounds(table, bounds)
    fixed = _fixed(table, verdict, lower == upper)
    at = np.flatnonzero(verdict.sensitive)
    room = upper[at] - table.values[at], table.values[at] - lower[at]
    if not 0 <= slide < np.inf:
        raise ParameterError(f"slide must be 0 or more (got {slide})", remedy="a share: 0.2")
    problem = Problem(
        values=table.values,
        relations=table.relations,
        lower=lower,
        upper=upper,
        primary=verdict.sensitive,
        fixed=fixed,
        costs=costs(table, cost),
        threats=Threats.of(
            at,
            np.minimum(verdict.up[at], room[0]),
            np.minimum(verdict.down[at], room[1]),
            np.minimum(slide * np.abs(table.values[at]), room[0] + room[1]),
        ),
        cubes=table.cubes,
        few=max(
            (rule.minimum - 1.0 for rule in rules if isinstance(rule, MinimumFrequency)),
            default=0.0,
        ),
    )
    if not singletons:
        return problem
    inside = insiders(table, problem, holdings=holdings, attackers=attackers)
    return problem.with_(threats=joined(problem.threats, inside))


def judge(table: CellTable, rules: Sequence[Rule]) -> Judged:
    """What the rules find together: the largest need on each side."""
    found = [rule.judge(table) for rule in _heard(table, rules)]
    return Judged(
        np.logical_or.reduce([one.sensitive for one in found]),
        np.maximum.reduce([one.up for one in found]),
        np.maximum.reduce([one.down for one in found]),
    )


def _heard(table: CellTable, rules: Sequence[Rule]) -> list[Rule]:
    """The rules, and the user's own word where it was given and no rule asks for it."""
    heard = list(rules)
    if (table.status == SENSITIVE).any() and not any(isinstance(rule, Stated) for rule in rules):
        heard.append(Stated())
    if not heard:
        raise ParameterError(
            "no rule says which cells are sensitive",
            remedy='name one: "p-percent", p = 10; or "stated" where none but named cells are',
        )
    return heard


def costs(table: CellTable, cost: Cost) -> Floats:
    """What hiding each cell costs; never zero."""
    if cost == "value":
        found = np.abs(table.values)
    elif cost == "log":
        found = np.log1p(np.abs(table.values))
    elif cost == "unity":
        found = np.ones(table.n)
    elif cost == "frequency":
        found = _people(table)
    elif cost == "given":
        if table.costs is None:
            raise MethodError("this table has no costs of its own", remedy='cost = "value"')
        found = table.costs.astype(np.float64)
        wrong = ~(found >= 0) | ~np.isfinite(found)
        if wrong.any():
            cell = int(np.flatnonzero(wrong)[0])
            raise MethodError(
                f"the cost of cell {table.name(cell)} is {found[cell]}", remedy="give 0 or more"
            )
    else:
        raise ParameterError(
            f"there is no cost {cost!r}", remedy=f"one of {', '.join(get_args(Cost))}"
        )
    least = found.min(initial=1.0, where=found > 0)
    return np.where(found > 0, found, CHEAP * least)


def _people(table: CellTable) -> Floats:
    if table.frequency is not None:
        return table.frequency.astype(np.float64)
    if table.contributions is not None:
        return table.contributions.count.astype(np.float64)
    if table.is_count:
        return np.abs(table.values)
    raise MethodError(
        f"costs by frequency need the frequencies, and this table of {table.measure} has none",
        remedy='cost = "value", or give the cells a frequency',
    )


def _sound(table: CellTable) -> None:
    """Every value lies where everybody knows it to be."""
    finite = np.isfinite(table.values)
    inside = finite & (table.lower <= table.values) & (table.values <= table.upper)
    if not inside.all():
        cell = int(np.flatnonzero(~inside)[0])
        raise MethodError(
            f"cell {table.name(cell)} is {table.values[cell]:g}, outside of its known bounds "
            f"{table.lower[cell]:g} to {table.upper[cell]:g}",
            remedy="correct the value or the bounds",
        )
    wrong = (table.status == ZERO) & (table.values != 0)
    if wrong.any():
        cell = int(np.flatnonzero(wrong)[0])
        raise MethodError(
            f"cell {table.name(cell)} is said to be zero but is {table.values[cell]:g}",
            remedy="correct its status",
        )


def _fixed(table: CellTable, verdict: Judged, certain: Bools) -> Bools:
    """The cells that must be published. What the user calls sensitive is not, even if empty."""
    fixed: Bools = table.empty & (table.status != SENSITIVE)
    fixed |= certain & ~verdict.sensitive
    fixed |= table.status == PUBLISH
    both = np.flatnonzero(fixed & verdict.sensitive)
    if both.size:
        more = f", and {both.size - 1} more," if both.size > 1 else ""
        status = STATUSES[int(table.status[both[0]])]
        raise MethodError(
            f"cell {table.name(int(both[0]))}{more} must be published (status {status!r}) but is "
            "sensitive",
            remedy="take the status away, or merge it with another category",
        )
    return fixed


def _bounds(table: CellTable, bounds: Literal["apriori"] | float) -> tuple[Floats, Floats]:
    if isinstance(bounds, str):
        if bounds != "apriori":
            raise ParameterError(
                f"bounds are not {bounds!r}", remedy='"apriori", or a percentage such as 50'
            )
        return _least(table), table.upper
    if not 0 < bounds < np.inf:
        raise ParameterError(
            f"bounds must be a percentage above 0 (got {bounds})", remedy="50 is usual"
        )
    within = bounds / 100 * np.abs(table.values)
    return (
        np.maximum(_least(table), table.values - within),
        np.minimum(table.upper, table.values + within),
    )


def _least(table: CellTable) -> Floats:
    """What no cell is below: the table's bounds, and 1 for a count that is not published as 0.

    Empty cells are published as zeros, so whoever sees a hidden count knows that somebody is
    there: two hidden cells that add up to 2 hold one person each.
    """
    people = table.frequency
    if not table.is_count or people is None or not table.empty[people == 0].all():
        return table.lower
    plain = (people > 0) & (people == table.values)
    least = np.where(plain, np.maximum(table.lower, 1.0), table.lower)
    # A total is what its addends are at least; level by level, as deep as the hierarchies go.
    relations = table.relations
    total = relations.coefs == -1.0
    sums = np.bincount(relations.rows[total], minlength=len(relations)) == 1
    sums &= np.bincount(relations.rows, relations.coefs != 1.0, len(relations)) == 1
    use = sums[relations.rows[total]]
    at, row = relations.cells[total][use], relations.rows[total][use]
    addends = ~total & sums[relations.rows]
    for _ in range(_DEEPEST):
        parts = np.bincount(
            relations.rows[addends], least[relations.cells[addends]], len(relations)
        )
        raised = least.copy()
        np.maximum.at(raised, at, np.minimum(parts[row], table.values[at]))
        if (raised == least).all():
            break
        least = raised
    return least


def found_by(table: CellTable, rules: Sequence[Rule]) -> list[str]:
    """For each cell the rules that find it sensitive; for the owner's eyes only."""
    named = [""] * table.n
    for rule in _heard(table, rules):
        for cell in np.flatnonzero(rule.judge(table).sensitive).tolist():
            named[cell] += f" + {rule.name}" if named[cell] else rule.name
    return named
