"""Finding out how far cells can move: cheap bounds first, then linear programs, each of which is
made to serve as many cells as it can.

The work is cut into pieces that do not depend on the number of threads, and what they find is put
together in a fixed order: so is the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ...kernels.arrays import Ints
from ...kernels.tables.moves import near
from ...kernels.threads import cores
from ...progress import report
from .attack_lp import Program, Vertex
from .component import Field, fields
from .feasible_ranges import PROGRAM, SHORT, FeasibleRanges
from .presolve import Moves

SMALL = 300
"""Components of so many classes are one piece of work."""
HUGE = 6000
"""In components of more classes the surroundings of a cell are tried before the whole."""
AROUND = (300, 1500, 6000)
"""Classes in the surroundings, try by try."""
CHUNK, WAVE = 64, 8
"""Targets to a piece of work, and pieces between two exchanges of what was found."""


def search_ranges(
    moves: Moves, ranges: FeasibleRanges, *, exact: bool, deadline: float | None = None
) -> int:
    """Find out how far the targets can move; how many programs it took.

    With `exact`, both ends of every target; else until its need is proven or refuted. At the
    deadline what was found so far stands, and the ends that are not `sure` are inner ones.
    """
    ranges.settle()
    parts = fields(moves, ranges, exact)
    of = len(ranges)
    programs = 0
    small = [f for f in parts if f.columns.size <= SMALL]
    with ThreadPoolExecutor(max_workers=min(cores(), 16)) as pool:

        def run(work: list[tuple[Field, Callable[[FeasibleRanges], int]]]) -> int:
            """The pieces of a wave side by side, then their findings in order."""
            copies = [ranges.part(field.ranges) for field, _ in work]
            jobs = [pool.submit(do, copy) for (_, do), copy in zip(work, copies, strict=True)]
            took = sum(job.result() for job in jobs)
            for (field, _), copy in zip(work, copies, strict=True):
                ranges.merge(field.ranges, copy)
            ranges.settle()
            report("auditing cells", of - int(ranges.unsettled(exact).sum()), of)
            return took

        for at in range(0, len(small), CHUNK):
            programs += run([(f, _whole(f, None, exact, deadline)) for f in small[at : at + CHUNK]])
        for field in parts:
            if field.columns.size <= SMALL:
                continue
            if field.columns.size > HUGE:
                for limit in AROUND:
                    pieces = _chunks(ranges, field, exact)
                    for at in range(0, len(pieces), WAVE):
                        programs += run(
                            [
                                (field, _around(field, piece, limit, deadline))
                                for piece in pieces[at : at + WAVE]
                            ]
                        )
            if not _open(ranges, field, exact).size or _late(deadline):
                continue
            start = _Start(field, deadline)
            programs += run([(field, start)])
            pieces = _chunks(ranges, field, exact)
            for at in range(0, len(pieces), WAVE):
                programs += run(
                    [
                        (field, _whole(field, piece, exact, deadline, start.basis))
                        for piece in pieces[at : at + WAVE]
                    ]
                )
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
        need = np.maximum(ranges.need_low, ranges.need_high)
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
    field: Field,
    piece: Ints | None,
    exact: bool,
    deadline: float | None,
    basis: Any = None,
) -> Callable[[FeasibleRanges], int]:
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


def _around(
    field: Field, piece: Ints, limit: int, deadline: float | None
) -> Callable[[FeasibleRanges], int]:
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
        for t in chosen:
            if program.late():
                return
            known = tuple(int(c) for c in self._held(int(t)))
            if known != holding:
                program.free()
                if known:
                    program.hold(np.array(known, np.int64))
                holding = known
            # Upwards once more: where it turns out too narrow below, both ends are to be told.
            for sign in (1.0, -1.0, 1.0)[: 3 if whole else 2]:
                if self._wanted(int(t), sign):
                    self._end(program, int(t), sign, whole)
        program.free()

    def narrow(self, rest: Field, chosen: Ints) -> None:
        """Outer ends of the chosen targets, by the relations that lie in their surroundings."""
        t_ = self.ranges
        program = rest.program(self.deadline)
        for t in chosen:
            program.free()
            held = self._held(int(t))
            if held.size:
                program.hold(held)
            for sign in (1.0, -1.0):
                if program.late() or not self._wanted(int(t), sign):
                    continue
                vertex = program.farthest(int(self.columns[t]), sign)
                self.programs += 1
                # Rounding up: an outer end is never too near.
                far = sign * vertex.move[self.columns[t]] * (1.0 + 1e-9) + program.grain
                if vertex.best and sign > 0:
                    t_.outer_high[t] = max(t_.high[t], min(t_.outer_high[t], far))
                elif vertex.best:
                    t_.outer_low[t] = min(t_.low[t], max(t_.outer_low[t], -far))

    def _held(self, t: int) -> Ints:
        """The positions of what attacker t knows."""
        known = self.field.positions(self.ranges.knows(t))
        return known[known < self.field.columns.size]

    def _wanted(self, t: int, sign: float) -> bool:
        t_ = self.ranges
        if (t_.sure_high if sign > 0 else t_.sure_low)[t]:
            return False
        if self.exact:
            return True
        high, low = float(t_.high[t]), -float(t_.low[t])
        share = 1.0 - SHORT
        hopeless = (
            t_.outer_high[t] < share * t_.need_high[t] or -t_.outer_low[t] < share * t_.need_low[t]
        )
        wide = high + low >= share * t_.slide[t]
        enough = high >= share * t_.need_high[t] if sign > 0 else low >= share * t_.need_low[t]
        # Too narrow for certain: then say how narrow, at both ends.
        return bool(hopeless or not enough or not wide)

    def _end(self, program: Program, t: int, sign: float, whole: bool) -> None:
        t_ = self.ranges
        column = int(self.columns[t])
        vertex = program.farthest(column, sign)
        self.programs += 1
        self._record(vertex)
        if not whole:
            return
        t_.by[t] = PROGRAM
        far = float(sign * vertex.move[column])
        need = float((t_.need_high if sign > 0 else t_.need_low)[t])
        proven = float(t_.high[t] if sign > 0 else -t_.low[t])
        if vertex.best and proven < min(far, need) * (1.0 - SHORT):
            # Too small beside its component to be proven there: a program to its own scale.
            bound = 1e5 * need
            fine = Program(
                program.matrix,
                np.maximum(program.low, -bound),
                np.minimum(program.high, bound),
                bound,
                self.deadline,
            )
            if program.held is not None:
                fine.hold(program.held)
            self._record(fine.farthest(column, sign))
            self.programs += 1
        if vertex.best:
            self._close(t, sign, float(far), float(program.grain))

    def _close(self, t: int, sign: float, far: float, grain: float) -> None:
        """The end itself is `far`: sure where a table that goes there was proven too."""
        t_ = self.ranges
        if sign > 0:
            t_.outer_high[t] = max(t_.high[t], min(t_.outer_high[t], far))
            t_.sure_high[t] = far - t_.high[t] <= max(SHORT * far, grain)
        else:
            t_.outer_low[t] = min(t_.low[t], max(t_.outer_low[t], -far))
            t_.sure_low[t] = far + t_.low[t] <= max(SHORT * far, grain)

    def boundless(self, chosen: Ints) -> None:
        """Ends at infinity: a direction in which only classes without a bound move, and which
        moves the target."""
        t_, field = self.ranges, self.field
        open_ = [t for t in chosen if np.isinf(t_.outer_high[t]) or np.isinf(t_.outer_low[t])]
        if not open_:
            return
        low = np.where(np.isinf(field.low), -1.0, 0.0)
        high = np.where(np.isinf(field.high), 1.0, 0.0)
        program = Program(field.matrix, low, high, 1.0, self.deadline)
        for t in open_:
            for sign in (1.0, -1.0):
                end, sure = (
                    (t_.outer_high, t_.sure_high) if sign > 0 else (t_.outer_low, t_.sure_low)
                )
                if sure[t] or not np.isinf(end[t]) or program.late():
                    continue
                held = self._held(int(t))
                if held.size:
                    program.hold(held)
                vertex = program.farthest(int(self.columns[t]), sign)
                program.free()
                self.programs += 1
                self._directions(vertex)

    def _directions(self, vertex: Vertex) -> None:
        t_ = self.ranges
        own = vertex.move[self.columns]
        good = (np.abs(own) > 1e-6) & (np.abs(own) * SHORT >= vertex.off)
        if t_.known.size:
            stirs = np.append(vertex.move, 0.0)[self.known] != 0
            moved = np.concatenate(([0], np.cumsum(stirs)))
            good &= moved[t_.known_starts[1:]] == moved[t_.known_starts[:-1]]
        up, down = good & (own > 0), good & (own < 0)
        t_.high[up], t_.low[down] = np.inf, -np.inf
        t_.sure_high |= up
        t_.sure_low |= down
        t_.by[up | down] = PROGRAM

    def _record(self, vertex: Vertex) -> None:
        self.ranges.record(self.columns, self.known, vertex, self.field.low, self.field.high)
