"""The audit: what an attacker can work out of a protected table, for every threatened cell.

The least and greatest value of a cell over all tables that agree with everything published are two
linear programs (Fischetti & Salazar-Gonzalez 2001; Willenborg & de Waal 2001). Few of them are
solved: the system is reduced once, cells that move together are one, every vertex found is a table
that serves all other cells too, and bounds settle the rest.
"""

from __future__ import annotations

import time

import numpy as np

from ...errors import MethodError, ParameterError
from ...kernels.arrays import Floats, Ints
from ..threats.problem import Problem, Threats
from .attack import attack as attack
from .audited import HOW, PRECISION
from .audited import Audit as Audit
from .feasible_ranges import PROGRAM, WITNESS, FeasibleRanges
from .presolve import Moves, moves
from .range_search import search_ranges
from .witness import Witnesses, proven


def audit(
    problem: Problem,
    lower: Floats,
    upper: Floats,
    *,
    witnesses: Witnesses | None = None,
    exact: bool = True,
    sample: int | None = None,
    rng: np.random.Generator | None = None,
    seconds: float | None = None,
) -> Audit:
    """What every attacker can work out where the publication says lower <= cell <= upper.

    With exact=False an interval is followed only until its need is met. `sample` threats are drawn
    by `rng`; witnesses spare programs, and are checked. What is not settled after `seconds` counts
    as too narrow.
    """
    began = time.monotonic()
    deadline = None if seconds is None else began + seconds
    low, high = _rooms(problem, lower, upper)
    threats, of = problem.threats, len(problem.threats)
    up = down = np.zeros(of)
    if witnesses is not None and len(witnesses):
        up, down = _witnessed(problem, witnesses, lower, upper)
    if sample is not None and sample < of:
        if rng is None:
            raise ParameterError("a sample needs random numbers", remedy="give `rng`")
        which = np.sort(rng.choice(of, sample, replace=False))
        threats, up, down = threats.take(which), up[which], down[which]
    system = moves(problem.relations, low, high)
    values = problem.values[threats.cell]
    needs = (
        np.minimum(threats.up, problem.upper[threats.cell] - values),
        np.minimum(threats.down, values - problem.lower[threats.cell]),
        np.minimum(threats.slide, problem.upper[threats.cell] - problem.lower[threats.cell]),
    )
    ranges, of_threat = _targets(system, threats, needs)
    _take_over(ranges, of_threat, system.factor[threats.cell], up, down)
    programs = search_ranges(system, ranges, exact=exact, deadline=deadline)
    return _found(
        problem, system, threats, needs, ranges, of_threat, (low, high), of, programs, began
    )


def _rooms(problem: Problem, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """How far each cell can be from its true value by what is said of it alone."""
    values = problem.values
    if np.isnan(values).any():
        raise MethodError(
            f"cell {int(np.flatnonzero(np.isnan(values))[0])} has no value: its need cannot be "
            "audited",
            remedy="use `attack` for tables whose true values are not at hand",
        )
    size = np.maximum(np.abs(values), PRECISION * np.abs(values).max(initial=0.0))
    wrong = (lower > values + 1e-9 * size) | (upper < values - 1e-9 * size) | (lower > upper)
    if wrong.any():
        cell = int(np.flatnonzero(wrong)[0])
        raise MethodError(
            f"cell {cell} is said to lie between {lower[cell]:.10g} and {upper[cell]:.10g}, which "
            "its true value does not",
            remedy="give bounds that hold: what a reader may conclude from the publication",
        )
    off = np.abs(problem.relations.sums(values))
    sizes = np.asarray(abs(problem.relations.matrix) @ np.abs(values))
    if (off > 1e-6 * sizes + 1e-300).any():
        row = int(np.argmax(off - 1e-6 * sizes))
        raise MethodError(
            f"relation {row} does not hold: its cells add up to {off[row]:.6g} instead of 0",
            remedy="the values of a table must keep its relations",
        )
    same = lower == upper
    low = np.where(same, 0.0, np.minimum(lower - values, 0.0))
    return low, np.where(same, 0.0, np.maximum(upper - values, 0.0))


def _witnessed(
    problem: Problem, witnesses: Witnesses, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """What the witnesses prove; those whose own cell moves little beside others are left aside, as
    rounding of the others could make up its move."""
    which = np.repeat(np.arange(len(witnesses)), np.diff(witnesses.starts))
    size, own = np.zeros(len(witnesses)), np.zeros(len(witnesses))
    np.maximum.at(size, which, np.abs(witnesses.moves))
    target = witnesses.cells == problem.threats.cell[witnesses.threat[which]]
    np.maximum.at(own, which[target], np.abs(witnesses.moves[target]))
    kept = witnesses.take(np.flatnonzero(own * 1e3 >= size))
    return proven(kept, problem.relations, problem.values, lower, upper, problem.threats)


def _targets(
    system: Moves, threats: Threats, needs: tuple[Floats, Floats, Floats]
) -> tuple[FeasibleRanges, Ints]:
    """The classes to look at, each with the greatest need of its cells; and the target of each
    threat, -1 where the cell cannot move."""
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    of_threat = np.full(len(threats), -1, np.int64)
    insider = np.diff(threats.known_starts) > 0
    for t in range(len(threats)):
        own = int(system.of[threats.cell[t]])
        if own < 0:
            continue
        knows: tuple[int, ...] = ()
        if insider[t]:
            classes = np.unique(system.of[threats.known(t)])
            classes = classes[classes >= 0]
            classes = classes[system.component[classes] == system.component[own]]
            knows = tuple(int(c) for c in classes)
            if own in knows:
                continue
        of_threat[t] = numbers.setdefault((own, knows), len(numbers))
    count = len(numbers)
    need, slide = np.zeros((2, count)), np.zeros(count)
    live = np.flatnonzero(of_threat >= 0)
    factor = system.factor[threats.cell[live]]
    up, down, wide = (asked[live] / np.abs(factor) for asked in needs)
    side, at = (factor > 0).astype(int), of_threat[live]
    np.maximum.at(need, (side, at), up)
    np.maximum.at(need, (1 - side, at), down)
    np.maximum.at(slide, at, wide)
    keys = list(numbers)
    of = np.array([own for own, _ in keys], np.int64)
    shared = np.bincount(of_threat[live], minlength=count) > 1
    known = [knows for _, knows in keys]
    return FeasibleRanges.at(system, of, known, need, slide, shared), of_threat


def _take_over(
    ranges: FeasibleRanges, of_threat: Ints, factor: Floats, up: Floats, down: Floats
) -> None:
    """What witnesses prove of the threats' cells, for their classes."""
    live = np.flatnonzero((of_threat >= 0) & ((up > 0) | (down > 0)))
    size, side, at = np.abs(factor[live]), (factor[live] > 0).astype(int), of_threat[live]
    np.maximum.at(ranges.inner, (side, at), up[live] / size)
    np.maximum.at(ranges.inner, (1 - side, at), down[live] / size)
    ranges.inner = np.minimum(ranges.inner, ranges.outer)
    ranges.by[at] = WITNESS


def _found(
    problem: Problem,
    system: Moves,
    threats: Threats,
    needs: tuple[Floats, Floats, Floats],
    ranges: FeasibleRanges,
    of_threat: Ints,
    rooms: tuple[Floats, Floats],
    of: int,
    programs: int,
    began: float,
) -> Audit:
    """The targets' moves as intervals of the threats' cells."""
    count = len(threats)
    cells, values = threats.cell, problem.values[threats.cell]
    down, up = np.zeros(count), np.zeros(count)
    sure_low, sure_high = np.ones(count, bool), np.ones(count, bool)
    live = np.flatnonzero(of_threat >= 0)
    at, factor = of_threat[live], system.factor[cells[live]]
    size, side = np.abs(factor), (factor > 0).astype(int)
    up[live], down[live] = size * ranges.inner[side, at], size * ranges.inner[1 - side, at]
    sure_high[live], sure_low[live] = ranges.sure[side, at], ranges.sure[1 - side, at]
    hidden = (rooms[0] < 0) | (rooms[1] > 0)
    settled = ranges.reached() | ranges.refuted() | ranges.exact()
    by = ["follows" if hidden[c] else "published" for c in cells]
    for t, k in zip(live, at, strict=True):
        by[t] = HOW[min(int(ranges.by[k]), PROGRAM)] if settled[k] else "open"
    return Audit(
        threats=threats,
        values=values,
        low=values - down,
        high=values + up,
        exact_low=sure_low,
        exact_high=sure_high,
        need_up=needs[0],
        need_down=needs[1],
        need_width=needs[2],
        by=tuple(by),
        determined=hidden & (system.of < 0),
        of=of,
        programs=programs,
        seconds=time.monotonic() - began,
        _room=(up, down),
    )
