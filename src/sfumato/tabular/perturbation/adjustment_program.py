"""Controlled adjustment as programs: the moves of all cells, and which way sensitive ones go."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ...progress import report
from ..cells.relations import Relations
from ..program import Infeasible, OutOfTime, Program
from .adjustment_l2 import Moves, least_squares

BLOCK = 24
"""Signs that are chosen anew together, while the others stay."""
EXACT = 400
"""With more sensitive cells than this no optimum is sought, only better signs."""
ROUNDS = 40
"""How often signs that cannot be had are turned over before all are sought at once."""


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Cells move within [-below, above]; cell at[p] by at least up[p], or by at most -down[p].

    `ups` and `downs` say which ways sensitive cell p may go at all.
    """

    relations: Relations
    below: Floats
    above: Floats
    weights: Floats
    at: Ints
    up: Floats
    down: Floats
    ups: Bools
    downs: Bools

    def bounds(self, signs: Ints) -> tuple[Floats, Floats]:
        """The least and greatest move of each cell; sign 0 leaves a sensitive cell open."""
        low, high = -self.below.copy(), self.above.copy()
        rise, fall = signs > 0, signs < 0
        low[self.at[rise]] = self.up[rise]
        high[self.at[fall]] = -self.down[fall]
        return low, high

    def l1(
        self,
        signs: Ints,
        *,
        seconds: float,
        best: Moves | None = None,
        gap: float = 1e-6,
    ) -> Moves:
        """The moves of least sum w |z|; signs that are 0 are chosen too, by integer programming.

        `best` are moves known beforehand: they bound what is worth looking at.
        """
        from scipy.sparse import coo_array, hstack, vstack

        low, high = self.bounds(signs)
        free = np.flatnonzero(high > low)
        fixed = np.where(low == high, low, 0.0)
        due = -self.relations.sums(fixed)
        scale = float(max(self.up.max(initial=0.0), self.down.max(initial=0.0))) or 1.0
        part = self.relations.matrix.tocsc()[:, free]
        n, f = len(self.relations), free.size
        open_ = np.flatnonzero(signs == 0)
        most = np.full(f, np.inf)
        if best is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                most = np.where(
                    self.weights[free] > 0, 1.001 * best.objective / self.weights[free], np.inf
                )
            # A move that was forced needs no further reason.
            most = np.maximum(most, np.maximum(low[free], -high[free]) * 1.001)
        top, bottom = np.minimum(high[free], most), np.minimum(-low[free], most)
        lower = np.concatenate((np.maximum(low[free], 0), np.maximum(-high[free], 0)))
        upper = np.concatenate((np.maximum(top, 0), np.maximum(bottom, 0)))
        cost = self.weights[free] / max(float(self.weights[free].mean()), 1e-300)
        where = np.searchsorted(free, self.at[open_])
        q = open_.size
        # Where nothing bounds a move, this many times all needs is taken to.
        huge = 100.0 * float(np.maximum(self.up, self.down).sum())
        rise = np.minimum(upper[where], huge) / scale
        fall = np.minimum(upper[f + where], huge) / scale
        i = np.arange(q)
        one = np.ones(q)
        blocks = []
        rows_low, rows_high = [due / scale], [due / scale]
        matrix = hstack((part, -part, coo_array((n, q))), format="csr")
        if q:
            up, down = self.up[open_] / scale, self.down[open_] / scale
            width = 2 * f + q
            never, zero = np.full(q, np.inf), np.zeros(q)
            for column, coef, least, greatest in (
                (where, -rise, -never, zero),  # plus <= rise y
                (where, -up, zero, never),  # plus >= up y
                (f + where, fall, -never, fall),  # minus <= fall (1 - y)
                (f + where, down, down, never),  # minus >= down (1 - y)
            ):
                place = (np.r_[i, i], np.r_[column, 2 * f + i])
                blocks.append(coo_array((np.r_[one, coef], place), (q, width)))
                rows_low.append(least)
                rows_high.append(greatest)
            matrix = vstack((matrix, *blocks), format="csr")
        y_low = np.where(self.downs[open_], 0.0, 1.0)
        y_high = np.where(self.ups[open_], 1.0, 0.0)
        whole = np.concatenate((np.zeros(2 * f, bool), np.ones(q, bool)))
        program = Program(
            matrix,
            np.concatenate((cost, cost, np.zeros(q))),
            np.concatenate((lower / scale, y_low)),
            np.concatenate((upper / scale, y_high)),
            np.concatenate(rows_low),
            np.concatenate(rows_high),
            whole if q else None,
        )
        start = None
        if best is not None and q:
            z = best.z[free] / scale
            start = np.concatenate(
                (np.maximum(z, 0), np.maximum(-z, 0), (best.z[self.at[open_]] > 0) * 1.0)
            )
        solved = program.solve(seconds=seconds, start=start, gap=gap)
        z = fixed.copy()
        z[free] = (solved.x[:f] - solved.x[f : 2 * f]) * scale
        factor = float(self.weights[free].mean()) * scale if f else 0.0
        constant = float(self.weights @ np.abs(fixed))
        return Moves(z, float(self.weights @ np.abs(z)), constant + solved.bound * factor)

    def greedy(self, rng: np.random.Generator) -> Ints:
        """Signs that let the needs of each relation cancel out, largest needs first."""
        starts, rows, coefs = self.relations.by_cell
        net = np.zeros(len(self.relations))
        signs = np.zeros(self.at.size, np.int64)
        for p in np.argsort(-np.maximum(self.up, self.down), kind="stable"):
            span = slice(starts[self.at[p]], starts[self.at[p] + 1])
            r, c = rows[span], coefs[span]
            if not (self.ups[p] and self.downs[p]):
                signs[p] = 1 if self.ups[p] else -1
            else:
                rise = np.abs(net[r] + c * self.up[p]).sum()
                fall = np.abs(net[r] - c * self.down[p]).sum()
                signs[p] = (
                    (1 if rng.random() < 0.5 else -1)
                    if rise == fall
                    else (1 if rise < fall else -1)
                )
            net[r] += c * (self.up[p] if signs[p] > 0 else -self.down[p])
        return signs

    def feasible(self, signs: Ints, rng: np.random.Generator, *, seconds: float) -> Ints:
        """Signs with which the table can add up: those given, turned over where they cannot be.

        Only some of those that cannot be had are turned at a time, for neighbours hinder one
        another.
        """
        begun = time.monotonic()
        best, least = signs, np.inf
        for turn in range(ROUNDS):
            short = self._shortage(signs, seconds=seconds)
            lack = short / np.maximum(np.maximum(self.up, self.down), 1e-300)
            bad = (lack > 1e-7) & self.ups & self.downs
            if not (lack > 1e-7).any():
                return signs
            if lack.sum() < least:
                best, least = signs, float(lack.sum())
            if not bad.any() or time.monotonic() - begun > seconds / 2:
                break
            some = bad & (rng.random(bad.size) < (1.0 if turn == 0 else 0.5))
            if not some.any():
                some[rng.choice(np.flatnonzero(bad))] = True
            signs = np.where(some, -signs, signs)
            report("choosing signs", turn, ROUNDS)
        left = max(seconds - (time.monotonic() - begun), 1.0)
        found = self.l1(np.zeros_like(best), seconds=left, gap=np.inf)
        return np.where(found.z[self.at] > 0, 1, -1)

    def _shortage(self, signs: Ints, *, seconds: float) -> Floats:
        """How much each sensitive cell must lack of its move so that the table adds up."""
        from scipy.sparse import coo_array, hstack, vstack

        low, high = -self.below, self.above
        n, p = self.relations.n, self.at.size
        scale = float(max(self.up.max(initial=0.0), self.down.max(initial=0.0))) or 1.0
        need = np.where(signs > 0, self.up, self.down)
        asked = coo_array((signs.astype(np.float64), (np.arange(p), self.at)), (p, n))
        eye = coo_array((np.ones(p), (np.arange(p), np.arange(p))), (p, p))
        matrix = vstack(
            (
                hstack((self.relations.matrix, coo_array((len(self.relations), p)))),
                hstack((asked, eye)),
            ),
            format="csr",
        )
        zero = np.zeros(len(self.relations))
        solved = Program(
            matrix,
            np.concatenate((np.zeros(n), scale / np.maximum(need, 1e-9 * scale))),
            np.concatenate((low / scale, np.zeros(p))),
            np.concatenate((high / scale, np.full(p, np.inf))),
            np.concatenate((zero, need / scale)),
            np.concatenate((zero, np.full(p, np.inf))),
        ).solve(seconds=seconds)
        return solved.x[n:] * scale

    def search(self, rng: np.random.Generator, *, seconds: float, patience: float = 0.0) -> Moves:
        """The best signs for the sum w |z| that the time allows, and the moves.

        Greedy signs are made feasible, then blocks of them are chosen anew by small integer
        programs; a table with few sensitive cells is solved to the optimum at last. The first
        moves may take `patience` seconds where that is longer.
        """
        begun = time.monotonic()

        def left() -> float:
            return seconds - (time.monotonic() - begun)

        patience = max(seconds, patience)
        signs = self.feasible(self.greedy(rng), rng, seconds=patience)
        best = self.l1(signs, seconds=patience)
        if not self.at.size:
            return best
        choose = self.at.size <= EXACT
        end = seconds / 2 if choose else seconds
        if self.at.size > BLOCK:
            best = self._blocks(best, rng, until=begun + end)
        best = Moves(best.z, best.objective)
        if choose:
            try:
                found = self.l1(
                    np.zeros(self.at.size, np.int64), seconds=max(left(), 1.0), best=best
                )
            except (OutOfTime, Infeasible):
                return best
            bound = None if found.bound is None else max(found.bound, 0.0)
            lead = found if found.objective < best.objective else best
            # Integer programs are solved less exactly than linear ones.
            exact = self._polished(lead, seconds=seconds)
            best = Moves(exact.z, exact.objective, bound)
        return best

    def _polished(self, moves: Moves, *, seconds: float) -> Moves:
        """The best moves with the same signs, by a linear program of its own."""
        signs = np.where(moves.z[self.at] > 0, 1, -1)
        try:
            return self.l1(signs, seconds=seconds)
        except (Infeasible, OutOfTime):
            return moves

    def _blocks(self, best: Moves, rng: np.random.Generator, *, until: float) -> Moves:
        """Better signs, a block at a time: neighbours in the relations of a random cell."""
        starts, rows, _ = self.relations.by_cell
        number = np.full(self.relations.n, -1, np.int64)
        number[self.at] = np.arange(self.at.size)
        idle, turn = 0, 0
        limit = max(8, 2 * self.at.size // BLOCK)
        while time.monotonic() < until and idle < limit:
            turn += 1
            block = self._near(int(rng.integers(self.at.size)), number, starts, rows, rng)
            signs = np.where(best.z[self.at] > 0, 1, -1)
            signs[block] = 0
            slice_ = max(min(until - time.monotonic(), (until - time.monotonic()) / 4 + 2), 0.5)
            try:
                found = self.l1(signs, seconds=slice_, best=best, gap=1e-4)
            except (OutOfTime, Infeasible):
                idle += 1
                continue
            if found.objective < best.objective * (1 - 1e-9):
                best, idle = found, 0
            else:
                idle += 1
            report("choosing signs", turn, turn + limit - idle)
        return best

    def _near(
        self, p: int, number: Ints, starts: Ints, rows: Ints, rng: np.random.Generator
    ) -> Ints:
        """Sensitive cells around p: those that share a relation with it or with such a cell."""
        chosen = {p}
        queue = [int(self.at[p])]
        while queue and len(chosen) < BLOCK:
            cell = queue.pop(0)
            for r in rng.permutation(rows[starts[cell] : starts[cell + 1]]):
                span = slice(self.relations.starts[r], self.relations.starts[r + 1])
                for q in number[self.relations.cells[span]]:
                    if q >= 0 and int(q) not in chosen and len(chosen) < BLOCK:
                        chosen.add(int(q))
                        queue.append(int(self.at[q]))
        extra = rng.permutation(self.at.size)[: max(BLOCK - len(chosen), 0)]
        return np.unique(np.concatenate((np.array(sorted(chosen)), extra)).astype(np.int64))

    def l2(self, signs: Ints) -> Moves:
        """The moves of least sum w z^2 with these signs; 0 leaves a cell open."""
        return least_squares(self.relations.matrix, self.weights, *self.bounds(signs))

    def search_l2(self, first: Ints, rng: np.random.Generator, *, seconds: float) -> Moves:
        """Signs for the sum w z^2, from the signs given: by branch and bound where they are few,
        else by going down and by turning over one sign at a time."""
        begun = time.monotonic()
        best = self.l2(first)
        if self.at.size <= BLOCK:
            return self._branched(best, until=begun + seconds)
        for start in (self._dive, self.greedy):
            if time.monotonic() - begun > seconds / 2:
                break
            try:
                found = self.l2(start(rng))
            except Infeasible:
                continue
            best = found if found.objective < best.objective else best
        # A cell that is pushed hard against its need is the likelier to want the other way.
        cost = self.weights[self.at] * best.z[self.at] ** 2
        either = np.flatnonzero(self.ups & self.downs)
        for turn, p in enumerate(either[np.argsort(-cost[either], kind="stable")]):
            if time.monotonic() - begun > seconds:
                break
            signs = np.where(best.z[self.at] > 0, 1, -1)
            signs[p] = -signs[p]
            try:
                found = self.l2(signs)
            except Infeasible:
                continue
            best = found if found.objective < best.objective else best
            report("choosing signs", turn + 1, either.size)
        return Moves(best.z, best.objective)

    def _dive(self, rng: np.random.Generator) -> Ints:
        """Signs by the way that cells lean while theirs is open, a third of them at a time."""
        signs = np.zeros(self.at.size, np.int64)
        usual = self.greedy(rng)
        while True:
            open_ = np.flatnonzero(signs == 0)
            if not open_.size:
                return signs
            move = self.l2(signs).z[self.at]
            lean = np.abs(move) / np.maximum(np.maximum(self.up, self.down), 1e-300)
            some = open_[np.argsort(-lean[open_], kind="stable")][: -(-open_.size // 3)]
            way = np.where(lean[some] > 1e-6, np.where(move[some] > 0, 1, -1), usual[some])
            signs[some] = np.where(self.ups[some] & self.downs[some], way, usual[some])

    def _branched(self, best: Moves, *, until: float) -> Moves:
        """Branch and bound, depth first: cells whose sign is open bound the sum from below."""
        order = np.argsort(-np.maximum(self.up, self.down), kind="stable")
        stack = [(np.zeros(self.at.size, np.int64), 0.0)]
        closed = np.inf  # the least bound of what was not looked into further
        while stack and time.monotonic() < until:
            signs, _ = stack.pop()
            try:
                found = self.l2(signs)
            except Infeasible:
                continue
            bound = found.objective if found.bound is None else found.bound
            if bound >= best.objective * (1 - 1e-7):
                closed = min(closed, bound)
                continue
            move = found.z[self.at]
            met = (self.ups & (move >= self.up * (1 - 1e-9))) | (
                self.downs & (move <= -self.down * (1 - 1e-9))
            )
            open_ = order[(signs[order] == 0) & ~met[order]]
            if not open_.size:
                closed = min(closed, bound)
                if found.objective < best.objective:
                    best = found
                continue
            p = int(open_[0])
            way = 1 if move[p] >= 0 else -1
            for sign in (-way, way):
                if (self.ups if sign > 0 else self.downs)[p]:
                    child = signs.copy()
                    child[p] = sign
                    stack.append((child, bound))
        left = min((bound for _, bound in stack), default=np.inf)
        return Moves(best.z, best.objective, max(min(closed, left, best.objective), 0.0))
