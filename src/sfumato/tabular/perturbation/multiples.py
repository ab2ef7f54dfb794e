"""Whole numbers near given ones that add up: the program behind controlled rounding.

Everything is counted in bases: cell i is rounded to the whole number k[i] near `ratio[i]`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ...progress import report
from ..cells.cube import CubeShape
from ..cells.relations import Relations
from ..lists import entries_of
from ..program import WHOLE, Infeasible, OutOfTime, Program

STEP_COST = 1000.0
"""What one step beyond the neighbouring multiples counts, in bases: as few as possible."""

MANY = 5000
"""With more cells than this a thousandth above the least cost is good enough."""
PART_GAP = 0.01
"""How far above its least cost a part may be rounded, as a share of it."""


@dataclass(frozen=True, eq=False)
class Multiples:
    """The whole numbers, what they cost, and a bound on the least cost (None: nothing proven)."""

    k: Ints
    cost: float
    bound: float | None


@dataclass(frozen=True, eq=False)
class Choice:
    """What each cell may become: whole numbers from `low` to `high`, and what they cost.

    `floor` is the multiple below; a cell with `exact` is a multiple itself. Going from `floor` to
    `floor + 1` costs `rise`; each step beyond the two neighbours costs STEP_COST + 1.
    """

    floor: Ints
    exact: Bools
    low: Ints
    high: Ints
    rise: Floats
    base_cost: Floats
    """What rounding down costs."""

    def take(self, cells: Ints, low: Ints, high: Ints) -> Choice:
        """Some cells, with other limits."""
        return Choice(
            self.floor[cells],
            self.exact[cells],
            low,
            high,
            self.rise[cells],
            self.base_cost[cells],
        )

    def cost(self, k: Ints) -> Floats:
        """What these whole numbers cost, cell by cell."""
        top = self.floor + ~self.exact
        beyond = np.maximum(k - top, 0) + np.maximum(self.floor - k, 0)
        risen = (k > self.floor) & ~self.exact
        found: Floats = self.base_cost + risen * self.rise + beyond * (1.0 + STEP_COST)
        return found


def whole_numbers(
    relations: Relations, choice: Choice, *, seconds: float, gap: float | None = None
) -> Multiples:
    """The cheapest choice that adds up.

    The linear program comes first: for two-way tables its corners are whole. Raises Infeasible, or
    OutOfTime where no choice was found.
    """
    from scipy.sparse import csr_array, hstack

    start = choice.low
    free = np.flatnonzero(choice.high > choice.low)
    matrix = relations.matrix
    due = -(matrix @ start.astype(np.float64))
    part = matrix[:, free] if free.size else csr_array((len(relations), 0))
    rows = np.flatnonzero(np.diff(part.indptr))
    idle = np.ones(len(relations), bool)
    idle[rows] = False
    if np.any(np.abs(due[idle]) > WHOLE):
        raise Infeasible
    if not free.size:
        cost = float(choice.cost(start).sum())
        return Multiples(start.copy(), cost, cost)
    part, due = part[rows], due[rows]
    # Each cell goes up from `low` in up to three stretches of growing slope.
    floor, low, high = choice.floor[free], choice.low[free], choice.high[free]
    top = floor + ~choice.exact[free]
    stretches = (
        (np.clip(floor, low, high) - low, np.full(free.size, -(1.0 + STEP_COST))),
        (np.clip(top, low, high) - np.clip(floor, low, high), choice.rise[free]),
        (high - np.clip(top, low, high), np.full(free.size, 1.0 + STEP_COST)),
    )
    used = [(np.flatnonzero(room), room, slope) for room, slope in stretches]
    blocks = hstack([part[:, at] for at, _, _ in used], format="csr")
    size = np.concatenate([room[at] for at, room, _ in used]).astype(np.float64)
    program = Program(
        blocks,
        np.concatenate([slope[at] for at, _, slope in used]),
        np.zeros(size.size),
        size,
        due,
        due,
        np.ones(size.size, bool),
    )
    constant = float(choice.cost(start).sum())
    begun = time.monotonic()
    solution = program.solve(seconds=seconds, relaxed=True)
    bound = solution.bound
    if np.abs(solution.x - np.rint(solution.x)).max(initial=0.0) > WHOLE:
        left = seconds - (time.monotonic() - begun)
        if gap is None:
            gap = 1e-9 if free.size < MANY else 1e-3
        solution = program.solve(seconds=left, gap=gap)
        bound = max(bound, solution.bound)
    k = start.copy()
    at = np.concatenate([free[at] for at, _, _ in used])
    np.add.at(k, at, np.rint(solution.x).astype(np.int64))
    if np.abs(relations.matrix @ k.astype(np.float64)).max(initial=0.0) > WHOLE:
        raise OutOfTime
    return Multiples(k, float(choice.cost(k).sum()), constant + bound)


def part_by_part(
    relations: Relations,
    cube: CubeShape,
    choices: Sequence[Choice],
    *,
    seconds: float,
) -> tuple[Multiples, int]:
    """A cheap choice that adds up, found from the top of a hierarchical cube down.

    A part is a combination of codes with children, one to a dimension. What lies above it has been
    rounded before; the cells between its children are rounded then. `choices` allow more and more
    steps: each part takes the first that it can be rounded with. Also returns the index of the
    last choice that was needed. Raises Infeasible where a part admits none.
    """
    home = _homes(cube, relations.n)
    group = np.zeros(len(relations), np.int64)
    np.maximum.at(group, relations.rows, home[relations.cells])
    order = np.argsort(group, kind="stable")
    ends = np.flatnonzero(np.diff(group[order], append=-1)) + 1
    k = choices[0].low.copy()
    done = choices[0].low == choices[0].high
    for choice in choices:
        done &= choice.low == choice.high
    begun, worst, begin = time.monotonic(), 0, 0
    for turn, end in enumerate(ends):
        rows = order[begin:end]
        begin = int(end)
        part, cells = _restricted(relations, rows)
        # No part may take much more than its share of the time that is left.
        share = 10 * (seconds - (time.monotonic() - begun)) / (ends.size - turn)
        for s, choice in enumerate(choices):
            low = np.where(done[cells], k[cells], choice.low[cells])
            high = np.where(done[cells], k[cells], choice.high[cells])
            local = choice.take(cells, low, high)
            try:
                found = whole_numbers(part, local, seconds=max(share, 2.0), gap=PART_GAP)
            except (Infeasible, OutOfTime):
                if s == len(choices) - 1:
                    raise
                continue
            worst = max(worst, s)
            k[cells] = found.k
            break
        done[cells] = True
        report("rounding", turn + 1, ends.size)
    last = choices[worst]
    # Cells in no relation go to the nearer multiple.
    nearer = np.clip(last.floor + ((last.rise < 0) & ~last.exact), last.low, last.high)
    k = np.where(done, k, nearer)
    return Multiples(k, float(last.cost(k).sum()), None), worst


def _homes(cube: CubeShape, n: int) -> Ints:
    """The part in which each cell is rounded; parts are numbered from the top down."""
    parents = [np.maximum(d.parent, 0) for d in cube.dimensions]
    shape = cube.cells.shape
    number = np.zeros(shape, np.int64)
    depth = np.zeros(shape, np.int64)
    for axis, (d, parent) in enumerate(zip(cube.dimensions, parents, strict=True)):
        wide = [1] * len(shape)
        wide[axis] = -1
        number = number * len(d) + parent.reshape(wide)
        depth = depth + d.depth[parent].reshape(wide)
    there = cube.cells >= 0
    home = np.zeros(n, np.int64)
    home[cube.cells[there]] = (depth * (int(number.max(initial=0)) + 1) + number)[there]
    return np.unique(home, return_inverse=True)[1].astype(np.int64)


def _restricted(relations: Relations, rows: Ints) -> tuple[Relations, Ints]:
    """Some of the relations over their own cells, and which cells these are."""
    starts, entry = entries_of(relations.starts, rows)
    cells, local = np.unique(relations.cells[entry], return_inverse=True)
    return type(relations)(starts, local, relations.coefs[entry], cells.size), cells
