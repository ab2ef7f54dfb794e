"""Finding out how far cells can move: cheap bounds first, then linear programs, each of which is
made to serve as many cells as it can.

The work is cut into pieces that do not depend on the number of threads, and what they find is put
together in a fixed order: so is the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ...kernels.arrays import Ints
from ...kernels.tables.moves import near
from ...kernels.threads import cores
from ...progress import report
from .attack_lp import Program, Vertex
from .component import Field, fields
from .feasible_ranges import DOWN, PROGRAM, SHORT, SIGNS, UP, FeasibleRanges
from .presolve import Moves

SMALL = 300
"""Components of so many classes are one piece of work."""
HUGE = 6000
"""In components of more classes the surroundings of a cell are tried before the whole."""
AROUND = (300, 1500, 6000)
"""Classes in the surroundings, try by try."""
CHUNK, WAVE = 64, 8
"""Targets to a piece of work, and pieces between two exchanges of what was found."""
Work = Callable[[FeasibleRanges], int]
"""Finds out more about these, and returns how many programs it took."""


def search_ranges(
    moves: Moves, ranges: FeasibleRanges, *, exact: bool, deadline: float | None = None
) -> int:
    """Find out how far the targets can move; how many programs it took.

    With `exact`, both ends of every target; else until its need is proven or refuted. At the
    deadline what was found so far stands, and the ends that are not `sure` are inner ones.
    """
    ranges.settle()
    parts = fields(moves, ranges, exact)
    small = [f for f in parts if f.columns.size <= SMALL]
    programs = 0
    with ThreadPoolExecutor(max_workers=min(cores(), 16)) as pool:

        def run(work: Iterable[tuple[Field, Work]]) -> None:
            """The pieces of a wave side by side, then their findings in order."""
            nonlocal programs
            wave = [(field, ranges.part(field.ranges), do) for field, do in work]
            jobs = [pool.submit(do, copy) for _, copy, do in wave]
            programs += sum(job.result() for job in jobs)
            for field, copy, _ in wave:
                ranges.merge(field.ranges, copy)
            ranges.settle()
            of = len(ranges)
            report("auditing cells", of - int(ranges.unsettled(exact).sum()), of)

        def run_pieces(field: Field, work: Callable[[Ints], Work]) -> None:
            """Wave by wave."""
            pieces = _chunks(ranges, field, exact)
            for at in range(0, len(pieces), WAVE):
                run((field, work(piece)) for piece in pieces[at : at + WAVE])

        for at in range(0, len(small), CHUNK):
            run((f, _whole(f, exact, deadline)) for f in small[at : at + CHUNK])
        for field in parts:
            if field.columns.size <= SMALL:
                continue
            for limit in AROUND if field.columns.size > HUGE else ():
                run_pieces(field, partial(_around, field, limit, deadline))
            if _open(ranges, field, exact).size and not _late(deadline):
                start = _Start(field, deadline)
                run([(field, start)])
                run_pieces(field, partial(_whole, field, exact, deadline, start.basis))
    return programs


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


def _open(ranges: FeasibleRanges, field: Field, exact: bool) -> Ints:
    """The unsettled targets of a component, as numbers among its own. In a huge one it is enough to
    know that a need cannot be met: the ends themselves are found only if asked for."""
    todo = ranges.unsettled(exact)[field.ranges]
    if not exact and field.columns.size > HUGE:
        todo &= ~(ranges.refuted() & ~ranges.shared)[field.ranges]
    return np.flatnonzero(todo)


def _chunks(ranges: FeasibleRanges, field: Field, exact: bool) -> list[Ints]:
    """The unsettled targets of a component in pieces, those who know the same side by side."""
    todo = _open(ranges, field, exact)
    whom = field.ranges[todo]
    key = sorted(
        range(todo.size), key=lambda i: (*ranges.knows(int(whom[i])), -1, ranges.of[whom[i]])
    )
    todo = todo[np.array(key, np.int64)]
    return [todo[at : at + CHUNK] for at in range(0, todo.size, CHUNK)]


class _Start:
    """A first vertex of a component, which goes far in all its targets at once."""

    def __init__(self, field: Field, deadline: float | None) -> None:
        self.field, self.deadline, self.basis = field, deadline, None

    def __call__(self, ranges: FeasibleRanges) -> int:
        field = self.field
        program = field.program(self.deadline)
        columns = field.positions(ranges.of)
        # Every other one up, every other down, each by its need: neighbours seldom move alike.
        need = ranges.need.max(axis=0)
        weight = 1.0 / np.maximum(need, 1e-4 * need.max(initial=0.0) + 1e-300)
        weights = np.zeros(field.columns.size)
        np.maximum.at(weights, columns, weight)
        weights *= np.where(np.arange(weights.size) % 2, 1.0, -1.0) / weights.max(initial=1e-300)
        vertex = program.towards(weights, interior=field.columns.size > HUGE)
        ranges.record(columns, field.positions(ranges.known), vertex, field.low, field.high)
        if vertex.best:
            self.basis = program.basis()
        return 1


def _whole(
    field: Field, exact: bool, deadline: float | None, basis: Any = None, piece: Ints | None = None
) -> Work:
    """The work of finding out about some targets (numbers among the component's) on the whole."""

    def work(ranges: FeasibleRanges) -> int:
        chosen = np.flatnonzero(ranges.unsettled(exact)) if piece is None else piece
        chase = _Chase(field, ranges, exact, deadline)
        chase.boundless(chosen)
        program = field.program(deadline)
        if basis is not None:
            program.begin(basis)
        chase.run(program, chosen, whole=True)
        return chase.programs

    return work


def _around(field: Field, limit: int, deadline: float | None, piece: Ints) -> Work:
    """The same with only the surroundings of each target moving: inner ends alone."""

    def work(ranges: FeasibleRanges) -> int:
        at = field.positions(ranges.of)
        open_ = np.zeros(len(ranges), bool)
        open_[piece] = True
        programs = 0
        for t in piece:
            if not open_[t] or _late(deadline):
                continue
            found = near(*field.links, int(at[t]), limit)
            part, rest = field.part(np.sort(found), at)
            some = ranges.part(part.ranges)
            core = np.isin(at[part.ranges], found[: max(1, found.size // 3)])
            chase = _Chase(part, some, False, deadline)
            todo = np.flatnonzero(core & open_[part.ranges] & ~some.reached())
            chase.run(part.program(deadline), todo, whole=False)
            chase.narrow(rest, todo[~some.reached()[todo]])
            programs += chase.programs
            ranges.merge(part.ranges, some)
            # One try each: what its own surroundings do not show, the whole must.
            open_[part.ranges[todo]] = False
            open_[t] = False
        return programs

    return work


class _Chase:
    """Programs for one target after the other, each vertex recorded for all."""

    def __init__(
        self, field: Field, ranges: FeasibleRanges, exact: bool, deadline: float | None
    ) -> None:
        self.field, self.ranges, self.exact, self.deadline = field, ranges, exact, deadline
        self.columns = field.positions(ranges.of)
        self.known = field.positions(ranges.known)
        self.programs = 0

    def run(self, program: Program, chosen: Ints, *, whole: bool) -> None:
        """Both ends of the chosen targets, as far as they are wanted."""
        holding: tuple[int, ...] = ()
        for t in map(int, chosen):
            if program.late():
                return
            known = tuple(int(c) for c in self._held(t))
            if known != holding:
                program.free()
                program.hold(np.array(known, np.int64))
                holding = known
            # Upwards once more: where it is too narrow below, both ends are wanted.
            for side in (UP, DOWN, UP)[: 3 if whole else 2]:
                if self._wanted(t, side):
                    self._end(program, t, side, whole)
        program.free()

    def narrow(self, rest: Field, chosen: Ints) -> None:
        """Outer ends of the chosen targets, by the relations that lie in their surroundings."""
        program = rest.program(self.deadline)
        for t in map(int, chosen):
            program.free()
            program.hold(self._held(t))
            for side in (UP, DOWN):
                if program.late() or not self._wanted(t, side):
                    continue
                vertex, far = self._farthest(program, t, side)
                if vertex.best:
                    # Rounding up: an outer end is never too near.
                    self.ranges.limit(side, t, far * (1.0 + 1e-9) + float(program.grain))

    def _held(self, t: int) -> Ints:
        """The positions of what attacker t knows."""
        known = self.field.positions(self.ranges.knows(t))
        return known[known < self.field.columns.size]

    def _farthest(self, program: Program, t: int, side: int) -> tuple[Vertex, float]:
        """The vertex that takes target t as far as it goes, and how far that is."""
        self.programs += 1
        vertex = program.farthest(int(self.columns[t]), SIGNS[side])
        return vertex, float(SIGNS[side] * vertex.move[self.columns[t]])

    def _wanted(self, t: int, side: int) -> bool:
        ranges, share = self.ranges, 1.0 - SHORT
        if ranges.sure[side, t]:
            return False
        if self.exact:
            return True
        need = share * ranges.need[:, t]
        hopeless = (ranges.outer[:, t] < need).any()
        wide = ranges.inner[:, t].sum() >= share * ranges.slide[t]
        # Too narrow for certain: then say how narrow, at both ends.
        return bool(hopeless or ranges.inner[side, t] < need[side] or not wide)

    def _end(self, program: Program, t: int, side: int, whole: bool) -> None:
        ranges = self.ranges
        vertex, far = self._farthest(program, t, side)
        self._record(vertex)
        if not whole:
            return
        ranges.by[t] = PROGRAM
        need = float(ranges.need[side, t])
        if vertex.best and ranges.inner[side, t] < min(far, need) * (1.0 - SHORT):
            # Too small beside its component to be proven there: a program to its own scale.
            bound = 1e5 * need
            low, high = np.maximum(program.low, -bound), np.minimum(program.high, bound)
            fine = Program(program.matrix, low, high, bound, self.deadline)
            fine.hold(program.held)
            self._record(self._farthest(fine, t, side)[0])
        if vertex.best:
            # Sure where a table that goes there was proven too.
            ranges.limit(side, t, far)
            ranges.sure[side, t] = far - ranges.inner[side, t] <= max(SHORT * far, program.grain)

    def boundless(self, chosen: Ints) -> None:
        """Ends at infinity: a direction in which only classes without a bound move, and which
        moves the target."""
        ranges, field = self.ranges, self.field
        open_ = [int(t) for t in chosen if np.isinf(ranges.outer[:, t]).any()]
        if not open_:
            return
        low = np.where(np.isinf(field.low), -1.0, 0.0)
        high = np.where(np.isinf(field.high), 1.0, 0.0)
        program = Program(field.matrix, low, high, 1.0, self.deadline)
        for t in open_:
            for side in (UP, DOWN):
                endless = np.isinf(ranges.outer[side, t])
                if ranges.sure[side, t] or not endless or program.late():
                    continue
                program.hold(self._held(t))
                vertex, _ = self._farthest(program, t, side)
                program.free()
                self._directions(vertex)

    def _directions(self, vertex: Vertex) -> None:
        ranges, own = self.ranges, vertex.move[self.columns]
        good = (np.abs(own) > 1e-6) & (np.abs(own) * SHORT >= vertex.off)
        good &= ranges.unnoticed(vertex.move, self.known)
        endless = good & np.stack((own < 0, own > 0))
        ranges.inner[endless] = np.inf
        ranges.sure |= endless
        ranges.by[good] = PROGRAM

    def _record(self, vertex: Vertex) -> None:
        self.ranges.record(self.columns, self.known, vertex, self.field.low, self.field.high)
