"""The fast method: a box of cells around each sensitive cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array

from ...errors import MethodError
from ...kernels.tables import hypercube as boxes
from ...kernels.tables import hypercube as covering
from ...kernels.tables import hypercube as sharing
from ...kernels.tables.hypercube import improve
from ...progress import report
from ..audit.witness import Witnesses, proven
from ..base import TableMethod
from ..outcome import suppressed
from .ledger import needs

if TYPE_CHECKING:
    from ...kernels.arrays import Bools, Floats, Ints
    from ..cells.cube import CubeShape, Dimension
    from ..cells.table import CellTable
    from ..outcome import TableOutcome
    from ..threats.problem import Problem, Threats

TRIES = 20_000
"""How many partial boxes a first search looks at; one that finds nothing goes on tenfold twice."""
SLICE = 5_000
"""Cells or demands between two reports of progress."""
LARGE = 30_000
"""With more demands than this a round that saves less than ENOUGH of the costs is the last."""
ENOUGH = 1e-3
CLEANED = 30_000
"""With at most this many secondary cells `auto` cleans up by linear programs."""
MOST = 500
"""A cell that more boxes need than this is not taken up again."""


def cover(problem: Problem, *, rounds: int = 10, complete: bool = True) -> tuple[Bools, Witnesses]:
    """The cells to hide so that every threat is met, and the proof that it is.

    Each threat gets the cheapest box that holds its cell, then boxes are laid anew while that saves
    anything, at most `rounds` times over. Where no box will do, `sequential.complete` goes on;
    without `complete` such threats are left unmet (and without a witness).
    """
    if not problem.cubes:
        raise MethodError(
            "the hypercube method needs to know how the cells lie in a cube, and only relations "
            "were given",
            remedy="use sequential-suppression, which works on relations alone",
        )
    up, down = needs(problem)
    hidden = problem.primary.copy()
    hidden[problem.threats.cell[(up > 0) | (down > 0)]] = True
    parts = []
    for shape in problem.cubes:
        field = _Field.of(problem, shape, hidden, up, down)
        field.run(rounds)
        parts.append(field.witnesses())
    found = _joined(parts)
    for part in parts:
        hidden[part.cells] = True
    short = _short(problem, hidden, found, up, down)
    if not short.size or not complete:
        return hidden, found
    from .sequential import complete as finish

    hidden, more = finish(problem, hidden, witnesses=found)
    return hidden, _joined([found, more])


def _short(problem: Problem, hidden: Bools, found: Witnesses, up: Floats, down: Floats) -> Ints:
    """The threats that the witnesses do not meet."""
    lower, upper = problem.known_bounds(hidden)
    above, below = proven(found, problem.relations, problem.values, lower, upper, problem.threats)
    lacks = (above < up * (1 - 1e-9)) | (below < down * (1 - 1e-9))
    return np.flatnonzero(lacks).astype(np.int64)


def _joined(parts: list[Witnesses]) -> Witnesses:
    sizes = np.concatenate([np.diff(part.starts) for part in parts])
    return Witnesses(
        np.concatenate([part.threat for part in parts]),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        np.concatenate([part.cells for part in parts]),
        np.concatenate([part.moves for part in parts]),
    )


@dataclass
class _Field:
    """One cube as the kernels see it."""

    cube: boxes.Cube
    cells: boxes.Cells
    hiding: covering.Hiding
    demands: covering.Demands
    work: boxes.Room
    number: Ints
    """The cell at each position."""
    threat: Ints
    """The threat behind each demand."""

    @classmethod
    def of(
        cls, problem: Problem, shape: CubeShape, hidden: Bools, up: Floats, down: Floats
    ) -> _Field:
        orders = [_preorder(d) for d in shape.dimensions]
        number = shape.cells[np.ix_(*orders)].ravel()
        there = np.maximum(number, 0)
        usable = (number >= 0) & ~_shared(problem, shape)[there]
        own = usable & hidden[there] & ~(problem.fixed & ~problem.primary)[there]
        cost = problem.costs[there].astype(np.float64)
        # Of two boxes that cost the same the smaller one is better.
        cost += 1e-6 * float(problem.costs.sum()) / max(int((~problem.fixed).sum()), 1) + 1e-12
        cost[~usable | (problem.fixed[there] & ~own)] = np.inf
        rise = (problem.upper - problem.values)[there]
        fall = (problem.values - problem.lower)[there]
        position = np.full(problem.n, -1, np.int64)
        position[number[usable]] = np.flatnonzero(usable)
        cube = _trees(shape, orders)
        demands, threat = _demands(problem.threats, position, up, down, len(orders))
        widest = int(np.prod([2 * (d.depth.max() + 1) for d in shape.dimensions]))
        return cls(
            cube,
            boxes.Cells(np.where(own, 0.0, cost), rise.copy(), fall.copy(), rise, fall),
            covering.Hiding(cost, own, np.zeros(number.size, np.int64)),
            demands,
            boxes.room(cube, widest),
            number,
            threat,
        )

    def run(self, rounds: int) -> None:
        """Lay boxes, then better them."""
        order = self.order()
        for tries in (TRIES, 10 * TRIES, 100 * TRIES):
            lacking = 0
            for start in range(0, order.size, SLICE):
                report("laying boxes", start, order.size)
                lacking += covering.cover(
                    self.cube, self.cells, self.hiding, self.work, self.demands,
                    order[start : start + SLICE], tries,
                )  # fmt: skip
            if not lacking:
                break
        self.share_out()
        least = ENOUGH if order.size > LARGE else 0.0
        for _ in range(rounds):
            saved = self.better()
            if saved <= least * float(self.hiding.cost[self.secondary()].sum()):
                break

    def share_out(self) -> float:
        """Several boxes for demands that no single one meets, or that they meet for less."""
        order, start, saved = self.order(), 0, 0.0
        while start < order.size:
            report("sharing out needs", start, order.size)
            chunk = order[start : start + SLICE]
            less, done = sharing.share_out(
                self.cube, self.cells, self.hiding, self.work, self.demands, chunk, TRIES
            )
            if done < chunk.size:
                self.demands = _roomier(self.demands)
            saved, start = saved + less, start + done
        return saved

    def order(self) -> Ints:
        """The demands, greatest need first."""
        found: Ints = np.argsort(-self.demands.need[: self.demands.filled[0]], kind="stable")
        return found

    def secondary(self) -> Ints:
        """Where cells are hidden that are not sensitive."""
        found: Ints = np.flatnonzero((self.hiding.use > 0) & ~self.hiding.free)
        return found

    def better(self) -> float:
        """One round through the secondary cells, dearest first; what it saved."""
        secondary = self.secondary()
        order = secondary[np.argsort(-self.hiding.cost[secondary], kind="stable")]
        if not order.size:
            return 0.0
        saved, start, found = 0.0, 0, None
        while start < order.size:
            if found is None:
                found = covering.users(self.cube, self.work, self.demands, self.number.size)
            report("laying boxes anew", start, order.size)
            chunk = order[start : start + SLICE]
            less, done = improve(
                self.cube, self.cells, self.hiding, self.work, self.demands, found, chunk,
                np.full(self.demands.pos.size, -1, np.int64), TRIES, MOST,
            )  # fmt: skip
            if done < chunk.size:
                self.demands = _roomier(self.demands)
            if done < chunk.size or found.filled[0] * 10 > found.demand.size * 9:
                found = None
            saved, start = saved + less, start + done
        return saved

    def witnesses(self) -> Witnesses:
        """The boxes in use; those that share out a need as one."""
        demands = self.demands
        which = np.flatnonzero(demands.served)
        starts, positions, moves = covering.rows(self.cube, self.work, demands, which)
        threat = self.threat[demands.origin[which]]
        # Fellows come with one threat and side, and may have cells in common.
        key = 2 * threat + (demands.side[which] > 0)
        group, number = np.unique(key, return_inverse=True)
        owner = np.repeat(number, np.diff(starts))
        merged = csr_array(
            (moves, (owner, self.number[positions])), shape=(group.size, int(self.number.max()) + 1)
        )
        return Witnesses(
            group // 2,
            merged.indptr.astype(np.int64),
            merged.indices.astype(np.int64),
            merged.data,
        )


def _preorder(dimension: Dimension) -> Ints:
    """The codes, each followed by all below it."""
    out, stack = [], [0]
    while stack:
        code = stack.pop()
        out.append(code)
        stack.extend(dimension.children[code][::-1].tolist())
    return np.array(out, np.int64)


def _trees(shape: CubeShape, orders: list[Ints]) -> boxes.Cube:
    size = np.array([o.size for o in orders], np.int64)
    parent = np.full((size.size, int(size.max())), -1, np.int64)
    end = np.zeros_like(parent)
    for d, (dimension, order) in enumerate(zip(shape.dimensions, orders, strict=True)):
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        parent[d, 1 : order.size] = rank[dimension.parent[order[1:]]]
        last = np.arange(1, order.size + 1)
        for code in range(order.size - 1, 0, -1):
            last[parent[d, code]] = max(last[parent[d, code]], last[code])
        end[d, : order.size] = last
    stride = np.concatenate((np.cumprod(size[:0:-1])[::-1], [1])).astype(np.int64)
    return boxes.Cube(parent, end, stride, size)


def _shared(problem: Problem, shape: CubeShape) -> Bools:
    """Cells that lie in relations outside this cube, or in two places of it."""
    ties = np.bincount(problem.relations.cells, minlength=problem.n)
    within = np.zeros(problem.n, np.int64)
    for axis, dimension in enumerate(shape.dimensions):
        lines = np.moveaxis(shape.cells, axis, 0)
        below = np.array([c.size > 0 for c in dimension.children])
        total = lines[below]
        within += np.bincount(total[total >= 0], minlength=problem.n)
        part, above = lines[1:], lines[dimension.parent[1:]]
        within += np.bincount(part[(part >= 0) & (above >= 0)], minlength=problem.n)
    places = np.bincount(shape.cells[shape.cells >= 0], minlength=problem.n)
    shared: Bools = (ties > within) | (places > 1)
    return shared


def _demands(
    threats: Threats, position: Ints, up: Floats, down: Floats, dims: int
) -> tuple[covering.Demands, Ints]:
    """One demand to each side of a threat that has a need there and whose cell lies in the cube."""
    pos = position[threats.cell]
    which = [np.flatnonzero((pos >= 0) & (need > 0)) for need in (up, down)]
    threat = np.concatenate(which)
    lists = [position[threats.known(int(t))] for t in threat]
    lists = [known[known >= 0] for known in lists]
    return covering.Demands(
        pos[threat],
        np.repeat(np.array([1, -1]), [w.size for w in which]),
        np.concatenate((up[which[0]], down[which[1]])),
        np.arange(threat.size),
        np.concatenate(([0], np.cumsum([k.size for k in lists]))).astype(np.int64),
        np.concatenate([*lists, np.empty(0, np.int64)]),
        np.full((threat.size, dims, 2), -1, np.int64),
        np.zeros(threat.size, bool),
        np.arange(threat.size),
        np.array([threat.size]),
    ), threat


def _roomier(demands: covering.Demands) -> covering.Demands:
    """The same with more spare rows."""
    more = demands.pos.size // 4 + MOST * sharing.PARTS
    grown = {
        name: np.concatenate((rows, np.zeros((more, *rows.shape[1:]), rows.dtype)))
        for name, rows in demands._asdict().items()
        if name not in ("known_starts", "known", "filled")
    }
    return demands._replace(**grown)


class Hypercube(TableMethod):
    """Protect each sensitive cell by the cheapest box of cells; for millions of cells.

    A box takes one leaf against another in every dimension, with the subtotals between them: all
    its cells can move together while every total above stays as it is. So one box, once hidden,
    proves by itself how far an attacker must find its sensitive cell possible, in the whole table
    and not in one subtable alone. A need too large for one box is shared out among several. Boxes
    are then laid anew as long as that publishes more.
    """

    name: ClassVar[str] = "hypercube"
    aliases: ClassVar[tuple[str, ...]] = ("fast-suppression",)
    paper: ClassVar[str] = (
        "Giessing & Repsilber 2002, Tools and strategies to protect multiple tables with the "
        "GHQUAR cell suppression engine (the hypercube; here a box holds in the whole hierarchy)"
    )

    rounds: Annotated[
        int, Field(ge=0, le=1000, description="how often at most all boxes are laid anew")
    ] = 10

    clean: Annotated[
        Literal["auto", "always", "never"],
        Field(
            description="whether linear programs then publish what moves other than boxes do "
            "without; auto: where boxes hide 30,000 cells at most"
        ),
    ] = "auto"

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        hidden, witnesses = cover(problem, rounds=self.rounds)
        few = int((hidden & ~problem.primary).sum()) <= CLEANED
        cleaned = self.clean == "always" or (self.clean == "auto" and few)
        if cleaned:
            from .sequential import clean

            hidden, witnesses = clean(problem, hidden, witnesses)
        return suppressed(problem, hidden, facts={"cleaned": cleaned}, witnesses=witnesses)

    def extend(
        self, table: CellTable, problem: Problem, outcome: TableOutcome, rng: np.random.Generator
    ) -> TableOutcome:
        from .sequential import extended

        return extended(problem, outcome)
