"""The fast method: a box of cells around each sensitive cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array

from ...errors import MethodError
from ...kernels.arrays import Bools, Floats, Ints, Rows
from ...kernels.interpreted import suited
from ...kernels.tables import hypercube as boxes
from ...progress import report
from ..audit.witness import Witnesses, proven
from ..base import TableMethod
from ..cells.cube import CubeShape, Dimension
from ..cells.table import CellTable
from ..outcome import TableOutcome, suppressed
from ..threats.problem import Problem, Threats
from .ledger import needs

TRIES = 20_000
"""How many partial boxes a first search looks at; one that finds nothing goes on tenfold twice."""
SLICE = 5_000
"""Cells or demands between two reports of progress."""
LARGE = 30_000
"""With more demands than this a round that saves less than ENOUGH of the costs is the last."""
ENOUGH = 1e-3
CLEANED = 30_000
"""With at most this many secondary cells `auto` cleans up by linear programs."""
ONE_BOX = boxes.Way(1.0, 1, 1, TRIES)
SHARED = boxes.Way(0.5, 4, boxes.PARTS, TRIES)
ANEW = boxes.Way(1.0, 1, boxes.PARTS, TRIES)
"""Ways to lay boxes: one, several if that costs less, and several where one will not do."""


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
    found = Witnesses.joined(parts)
    for part in parts:
        hidden[part.cells] = True
    short = _short(problem, hidden, found, up, down)
    if not short.size or not complete:
        return hidden, found
    from .sequential import complete as finish

    hidden, more = finish(problem, hidden, witnesses=found)
    return hidden, Witnesses.joined([found, more])


def _short(problem: Problem, hidden: Bools, found: Witnesses, up: Floats, down: Floats) -> Ints:
    """The threats that the witnesses do not meet."""
    lower, upper = problem.known_bounds(hidden)
    above, below = proven(found, problem.relations, problem.values, lower, upper, problem.threats)
    lacks = (above < up * (1 - 1e-9)) | (below < down * (1 - 1e-9))
    return np.flatnonzero(lacks).astype(np.int64)


@dataclass
class _Field:
    """One cube as the kernels see it."""

    search: boxes.Search
    demands: boxes.Demands
    filled: int
    """Rows that hold demands."""
    number: Ints
    """The cell at each position."""
    entries: Rows
    """Which demands use a cell, as lists; `entered` of the entries are filled."""
    entered: int = 0

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
        cost[~usable | problem.fixed[there]] = np.inf
        cost[own] = 0.0
        cells = np.zeros(number.size, boxes.CELL)
        cells["price"] = cells["cost"] = cost
        cells["rise"] = cells["whole_rise"] = (problem.upper - problem.values)[there]
        cells["fall"] = cells["whole_fall"] = (problem.values - problem.lower)[there]
        position = np.full(problem.n, -1, np.int64)
        position[number[usable]] = np.flatnonzero(usable)
        size = np.array([o.size for o in orders], np.int64)
        strides = np.concatenate((np.cumprod(size[:0:-1])[::-1], [1])).astype(np.int64)
        widest = int(np.prod([2 * (d.depth.max() + 1) for d in shape.dimensions]))
        demands = _demands(problem.threats, position, up, down, len(orders))
        return cls(
            boxes.search(_trees(shape, orders), cells, strides, widest),
            demands,
            demands.rows.size - 2 * boxes.PARTS,
            number,
            np.empty(0, boxes.ENTRY),
        )

    def run(self, rounds: int) -> None:
        """Lay boxes, then better them."""
        total = self.filled
        for tries in (TRIES, 10 * TRIES, 100 * TRIES):
            order = self.order()
            lacking = order[self.demands.rows["served"][order] == 0]
            self.renew("laying boxes", lacking, ONE_BOX._replace(tries=tries))
        self.renew("sharing out needs", self.order(), SHARED)
        least = ENOUGH if total > LARGE else 0.0
        for _ in range(rounds):
            cost = self.search.cells["cost"]
            secondary = self.secondary()
            dearest = secondary[np.argsort(-cost[secondary], kind="stable")]
            self.entered = 0
            saved = self.renew("laying boxes anew", dearest, ANEW, by_cell=True)
            if saved <= least * float(cost[self.secondary()].sum()):
                break

    def renew(self, doing: str, order: Ints, way: boxes.Way, by_cell: bool = False) -> float:
        """Lay boxes for these demands, or anew for those that use these cells; what it saved."""
        start, saved = 0, 0.0
        while start < order.size:
            report(doing, start, order.size)
            if by_cell and not self.entered:
                self.list_users()
            self.demands.rows["seen"] = -1
            chunk = order[start : start + SLICE]
            renew = suited(boxes.renew, chunk.size * self.number.size)
            less, done, self.filled, self.entered = renew(
                self.search, self.demands, self.entries, chunk, by_cell, way,
                self.filled, self.entered,
            )  # fmt: skip
            if done < chunk.size:
                self.demands = _roomier(self.demands)
            if done < chunk.size or self.entered * 10 > self.entries.size * 9:
                self.entered = 0
            saved, start = saved + less, start + done
        return saved

    def list_users(self) -> None:
        """The demands that use each cell, with space for as many entries again."""
        cells = self.search.cells
        self.entries = np.empty(2 * int(cells["use"].sum()) + 1000, boxes.ENTRY)
        cells["head"] = -1
        enter = suited(boxes.enter, boxes.PARTS * self.filled)
        self.entered = enter(self.search, self.demands, self.entries, 0, self.filled, 0)

    def order(self) -> Ints:
        """The demands, greatest need first."""
        return np.argsort(-self.demands.rows["need"][: self.filled], kind="stable")

    def secondary(self) -> Ints:
        """Where cells are hidden that are not sensitive."""
        cells = self.search.cells
        return np.flatnonzero((cells["use"] > 0) & (cells["cost"] > 0))

    def witnesses(self) -> Witnesses:
        """The boxes in use; those that share out a need as one."""
        self.list_users()
        entries = self.entries[: self.entered]
        rows = self.demands.rows[entries["demand"]]
        # Fellows come with one threat and side, and may have cells in common.
        group, owner = np.unique(2 * rows["threat"] + (rows["side"] > 0), return_inverse=True)
        moves = entries["sign"] * (rows["side"] * rows["need"])
        merged = csr_array(
            (moves, (owner, self.number[entries["pos"]])),
            shape=(group.size, int(self.number.max()) + 1),
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


def _trees(shape: CubeShape, orders: list[Ints]) -> Rows:
    """Parents and ends, one row to a dimension."""
    tree = np.zeros((len(orders), max(order.size for order in orders)), boxes.CODE)
    tree["parent"] = -1
    for row, dimension, order in zip(tree, shape.dimensions, orders, strict=True):
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size)
        parent, end = row["parent"], row["end"]
        parent[1 : order.size] = rank[dimension.parent[order[1:]]]
        end[: order.size] = np.arange(1, order.size + 1)
        for code in range(order.size - 1, 0, -1):
            end[parent[code]] = max(end[parent[code]], end[code])
    return tree


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
    return (ties > within) | (places > 1)


def _demands(
    threats: Threats, position: Ints, up: Floats, down: Floats, dims: int
) -> boxes.Demands:
    """One demand to each side of a threat that has a need there and whose cell lies in the cube."""
    pos = position[threats.cell]
    which = [np.flatnonzero((pos >= 0) & (need > 0)) for need in (up, down)]
    threat = np.concatenate(which)
    lists = [position[threats.known(int(t))] for t in threat]
    lists = [known[known >= 0] for known in lists]
    ends = np.cumsum([known.size for known in lists])
    rows = np.zeros(threat.size + 2 * boxes.PARTS, boxes.DEMAND)
    filled = rows[: threat.size]
    filled["pos"], filled["threat"] = pos[threat], threat
    filled["side"] = np.repeat([1, -1], [w.size for w in which])
    filled["need"] = np.concatenate((up[which[0]], down[which[1]]))
    filled["known"][1:], filled["known_end"] = ends[:-1], ends
    filled["fellow"] = np.arange(threat.size)
    leaves = np.zeros((rows.size, dims, 2), np.int64)
    return boxes.Demands(rows, leaves, np.concatenate([*lists, np.empty(0, np.int64)]))


def _roomier(demands: boxes.Demands) -> boxes.Demands:
    """The same with more spare rows."""
    more = (demands.rows.size - 2 * boxes.PARTS) // 4 + boxes.MOST * boxes.PARTS
    rows, leaves = (
        np.concatenate((part, np.zeros((more, *part.shape[1:]), part.dtype)))
        for part in (demands.rows, demands.leaves)
    )
    return demands._replace(rows=rows, leaves=leaves)


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

    rounds: int = Field(10, ge=0, le=1000, description="how often at most all boxes are laid anew")

    clean: Literal["auto", "always", "never"] = Field(
        "auto",
        description="whether linear programs then publish what moves other than boxes do "
        "without; auto: where boxes hide 30,000 cells at most",
    )

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
