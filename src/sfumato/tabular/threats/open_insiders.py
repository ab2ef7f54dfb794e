"""Insiders whom a protected table does not stop: who learns too much from what is hidden now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from ...kernels.arrays import Bools, Floats, Ints
from ...progress import report
from ..audit.audit import audit
from ..audit.feasible_ranges import SHORT
from ..audit.witness import OWN, TOLERANCE, Witnesses
from ..cells.table import CellTable
from ..lists import by_group, entries_of, starts_of
from ..outcome import TableOutcome
from .insiders import attackers_of, joined, strangers, threats_of
from .problem import Problem, Threats

BLOCK = 10_000_000
"""Pairs of a cell and an attacker that are looked at together."""
AUDITED = 4_000
"""Threats that are audited together: what one of them shows is shown to all others."""
SPARE = 256
"""Witnesses that are kept for each side of a cell, those that move the fewest cells."""
MANY = 300
"""More pairs than this are not looked at one by one, but answered as if all of them were open: the
program that would clear a pair is the one that protects from it."""
SMALL = 1e-3
"""A cell that moves less than this share of the largest move of a witness might be its rounding."""


def open_insiders(
    table: CellTable, problem: Problem, outcome: TableOutcome, *, holdings: bool = True
) -> Threats:
    """The threats of single contributors that this outcome does not meet, beyond the problem's own.

    Whoever is the only contributor of a cell that is not published, sensitive or not, knows it, and
    all else that it has to itself. It is set against every sensitive cell of others, however far
    away. The needs are those of `insiders`. Cells that are not even protected from strangers are
    left to the audit. Groups who pool what they know are not looked at.

    Hide more until the threats are met, and ask again: what is hidden then makes new attackers.

    Few pairs need a linear program. A witness against a stranger is one against every attacker who
    knows none of the cells that it moves, so that only those who know some cell of each witness at
    hand are audited; where these are many they are returned without an audit, as if they were
    open.
    """
    hidden = outcome.lower < outcome.upper
    mine = attackers_of(table, problem, hidden, holdings=holdings)
    if not (mine >= 0).any():
        return Threats.of([], [], [])
    sides = _Sides(problem, outcome.lower, outcome.upper)
    pool = [outcome.witnesses, _boxes(problem, outcome, problem.threats.take(sides.threat))]
    bare = sides.without(sides.served(*pool))
    if bare.size:
        lacks = np.isin(np.arange(2 * sides.count), bare)
        pool.append(sides.found(np.unique(bare % sides.count), hidden, lacks))
    # For all attackers of a cell at once, and then one by one unless there are too many.
    for each in (False, True):
        if each:
            asked = _asked(table, problem, mine, sides.served(*pool), sides)
            pool.append(_boxes(problem, outcome, asked))
            asked = _asked(table, problem, mine, sides.served(*pool), sides)
            if len(asked) > MANY and not sides.without(sides.served(*pool)).size:
                return asked
        for cell, attacker, down in list(_who_may(sides.served(*pool), sides, mine)):
            new = _new(problem, mine, cell, attacker)
            if new[0].size:
                lacks = np.zeros(2 * sides.count, bool)
                attackers = int(mine.max()) + 1
                still = np.isin(cell * attackers + attacker, new[0] * attackers + new[1])
                lacks[(sides.of[cell] + sides.count * down)[still]] = True
                pool.append(sides.around(new, lacks, mine, hidden, each=each))
    served = sides.served(*pool)
    bare = sides.without(served)
    cells = _met(problem, outcome, sides.cell[np.unique(bare % sides.count)])
    made = Threats.of([], [], [])
    for cell, attacker, *_ in chain(
        _who_may(served, sides, mine), _everybody(problem, cells, mine, hidden)
    ):
        pairs = _new(problem, mine, cell, attacker)
        made = joined(made, _unmet(table, problem, outcome, mine, pairs))
    return made


def _boxes(problem: Problem, outcome: TableOutcome, threats: Threats) -> Witnesses | None:
    """Boxes of cells that are not published, as far as there are any: they move few cells, and few
    people know one of these."""
    if not problem.cubes or not len(threats):
        return None
    from ..suppression.hypercube import cover

    hidden = outcome.lower < outcome.upper
    inside = problem.with_(
        lower=outcome.lower,
        upper=outcome.upper,
        fixed=~hidden,
        primary=problem.primary & hidden,
        costs=np.zeros(problem.n),
        threats=threats,
    )
    return cover(inside, rounds=0, complete=False)[1]


def _asked(
    table: CellTable,
    problem: Problem,
    mine: Ints,
    served: tuple[Ints, Ints, list[Witnesses]],
    sides: _Sides,
) -> Threats:
    """The threats of all pairs that no witness clears."""
    made = Threats.of([], [], [])
    for cell, attacker, _ in _who_may(served, sides, mine):
        found = threats_of(table, problem, mine, *_new(problem, mine, cell, attacker))
        made = joined(made, found)
    return made.take((made.up > 0) | (made.down > 0) | (made.slide > 0))


class _Sides:
    """What strangers must find possible: side s is cell[s] upwards, side count + s downwards."""

    def __init__(self, problem: Problem, lower: Floats, upper: Floats) -> None:
        self.problem, self.lower, self.upper = problem, lower, upper
        stranger = strangers(problem)
        cell = np.flatnonzero((stranger >= 0) & problem.primary)
        threats, values = problem.threats, problem.values[cell]
        self.threat: Ints = stranger[cell]
        above, below = problem.upper[cell] - values, values - problem.lower[cell]
        down = np.minimum(threats.down[self.threat], below)
        up = np.minimum(threats.up[self.threat], above)
        # Where a width is asked for: as much of it as may be below, and the rest above.
        slide = np.minimum(threats.slide[self.threat], above + below)
        down = np.where(slide > up + down, np.clip(slide / 2, down, below), down)
        up = np.maximum(up, slide - down)
        down = np.maximum(down, slide - up)
        asked = (up > 0) | (down > 0)
        self.cell: Ints = cell[asked]
        self.threat = self.threat[asked]
        self.need: Floats = np.concatenate((up[asked], down[asked]))
        self.count = int(self.cell.size)
        self.of = np.full(problem.n, -1, np.int64)
        self.of[self.cell] = np.arange(self.count)

    def served(self, *lists: Witnesses | None) -> tuple[Ints, Ints, list[Witnesses]]:
        """Which sides each witness proves: (side, witness), and the witnesses, which are checked.

        They are numbered through all lists. A witness proves sides of every cell that it moves.
        """
        side, witness, kept = [], [], []
        first = 0
        for some in lists:
            if some is None or not len(some):
                continue
            at, which = self._proven(some)
            side.append(at)
            witness.append(first + which)
            kept.append(some)
            first += len(some)
        if not kept:
            return np.empty(0, np.int64), np.empty(0, np.int64), []
        return np.concatenate(side), np.concatenate(witness), kept

    def _proven(self, some: Witnesses) -> tuple[Ints, Ints]:
        from scipy.sparse import csr_array

        problem, count = self.problem, len(some)
        which = np.repeat(np.arange(count), np.diff(some.starts))
        moved = csr_array((some.moves, some.cells, some.starts), shape=(count, problem.n))
        off = np.zeros(count)
        if len(problem.relations):
            off = np.abs(moved @ problem.relations.matrix.T).max(axis=1).toarray().ravel()
        size = np.zeros(count)
        np.maximum.at(size, which, np.abs(some.moves))
        # How often it can be made within the bounds, and how often its opposite.
        up = np.maximum(self.upper - problem.values, 0.0)[some.cells]
        down = np.maximum(problem.values - self.lower, 0.0)[some.cells]
        still = self.lower[some.cells] >= self.upper[some.cells]
        up[still] = down[still] = 0.0
        there, back = np.full(count, np.inf), np.full(count, np.inf)
        live = some.moves != 0
        step, at = some.moves[live], which[live]
        rise = step > 0
        np.minimum.at(there, at, np.where(rise, up[live], down[live]) / np.abs(step))
        np.minimum.at(back, at, np.where(rise, down[live], up[live]) / np.abs(step))
        own = np.abs(some.moves)
        good = (self.of[some.cells] >= 0) & live
        good &= (off <= TOLERANCE * size)[which] & (off[which] <= OWN * own)
        good &= own >= SMALL * size[which]
        entry = np.flatnonzero(good)
        w, s, rise = which[entry], self.of[some.cells[entry]], some.moves[entry] > 0
        far = own[entry] * np.where(rise, there[w], back[w])
        near = own[entry] * np.where(rise, back[w], there[w])
        share = 1.0 - SHORT
        above = far >= share * self.need[s]
        below = near >= share * self.need[self.count + s]
        return np.concatenate((s[above], self.count + s[below])), np.concatenate(
            (w[above], w[below])
        )

    def without(self, served: tuple[Ints, Ints, list[Witnesses]]) -> Ints:
        """The sides that need room and have no witness."""
        none = np.bincount(served[0], minlength=2 * self.count) == 0
        return np.flatnonzero(none & (self.need > 0))

    def found(
        self, own: Ints, hidden: Bools, lacks: Bools, known: tuple[Ints, Ints] | None = None
    ) -> Witnesses:
        """Witnesses for the sides of these cells that lack one, as far as small programs find them.

        With `known` (starts, cells) they move none of these cells.
        """
        from ..suppression.merged import merge
        from ..suppression.sequential import Search

        problem = self.problem.with_(
            lower=self.lower,
            upper=self.upper,
            fixed=~hidden,
            primary=self.problem.primary & hidden,
            threats=Threats.of([], [], []),
        )
        count = own.size
        threats = Threats(
            self.cell[own],
            np.where(lacks, self.need, 0.0)[own],
            np.where(lacks, self.need, 0.0)[self.count + own],
            np.zeros(count),
            *(known or (np.zeros(count + 1, np.int64), np.empty(0, np.int64))),
        )
        movable = merge(problem).group[self.cell[own]] >= 0
        search = Search(problem.with_(threats=threats.take(movable)), hidden)
        ledger = search.ledger
        left = set(range(len(ledger)))
        for side in sorted(left, key=lambda s: (-ledger.need[s], s)):
            if side not in left:
                continue
            left.discard(side)
            move = search.move(side, whole=known is None)
            if move is not None:
                ledger.prove(side, move)
                ledger.rest(left, move)
            report("looking for insiders", len(ledger) - len(left), len(ledger))
        return ledger.witnesses()

    def around(
        self, pairs: tuple[Ints, Ints], lacks: Bools, mine: Ints, hidden: Bools, *, each: bool
    ) -> Witnesses:
        """Witnesses for the sides that lack one, which stir no cell of any attacker who is paired
        with their cell: one small program then answers many pairs. With `each`, pair by pair."""
        attackers = int(mine.max()) + 1
        key = np.unique(self.of[pairs[0]] * attackers + pairs[1])
        first, listed = by_group(mine, attackers)
        ends, entries = entries_of(first, key % attackers)
        own, cells = key // attackers, listed[entries]
        if not each:
            who = np.repeat(own, np.diff(ends))
            own = np.unique(own)
            ends = np.searchsorted(who, np.append(own, self.count))
        return self.found(own, hidden, lacks, (ends, cells))


def _who_may(
    served: tuple[Ints, Ints, list[Witnesses]], sides: _Sides, mine: Ints
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Cells and attackers for whom no witness is left, block by block: (cell, attacker, side), side
    0 upwards and 1 downwards."""
    from scipy.sparse import csr_array

    side, witness, lists = served
    if not side.size:
        return
    sizes = np.concatenate([np.diff(some.starts) for some in lists])
    cells = np.concatenate([some.cells for some in lists])
    moves = np.concatenate([some.moves for some in lists])
    count, attackers = sizes.size, int(mine.max()) + 1
    stirred = np.flatnonzero((mine[cells] >= 0) & (moves != 0))
    both = np.unique(np.repeat(np.arange(count), sizes)[stirred] * attackers + mine[cells[stirred]])
    knows = csr_array(
        (np.ones(both.size, np.int32), (both // attackers, both % attackers)),
        shape=(count, attackers),
    )
    # The sides of a cell one after the other, each with its smallest witnesses.
    place = side % sides.count * 2 + side // sides.count
    order = np.lexsort((witness, sizes[witness], place))
    place, witness = place[order], witness[order]
    starts = np.searchsorted(place, np.arange(2 * sides.count + 1))
    few = np.arange(place.size) - starts[place] < SPARE
    place, witness = place[few], witness[few]
    starts = np.searchsorted(place, np.arange(2 * sides.count + 1))
    work = starts_of(np.diff(knows.indptr)[witness])[starts[::2]]
    for first, last in _blocks(work):
        own = slice(int(starts[2 * first]), int(starts[2 * last]))
        own_starts = starts[2 * first : 2 * last + 1] - starts[2 * first]
        proves = csr_array(
            (np.ones(witness[own].size, np.int32), witness[own], own_starts),
            shape=(2 * (last - first), count),
        )
        spoilt = (proves @ knows).tocoo()
        none_left = spoilt.data == np.diff(own_starts)[spoilt.row]
        row, attacker = spoilt.row[none_left], spoilt.col[none_left].astype(np.int64)
        yield sides.cell[first + row // 2], attacker, row % 2


def _everybody(
    problem: Problem, cells: Ints, mine: Ints, hidden: Bools
) -> Iterator[tuple[Ints, Ints]]:
    """These cells and all attackers who know a cell that is tied to them, block by block."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not cells.size:
        return
    relations = problem.relations
    live = hidden[relations.cells]
    size = problem.n + len(relations)
    ties = coo_array(
        (np.ones(int(live.sum())), (relations.cells[live], problem.n + relations.rows[live])),
        shape=(size, size),
    )
    part = connected_components(ties, directed=False)[1].astype(np.int64)
    known, attackers = np.flatnonzero((mine >= 0) & hidden), int(mine.max()) + 1
    both = np.unique(part[known] * attackers + mine[known])
    starts = np.searchsorted(both // attackers, np.arange(int(part.max()) + 2))
    each = np.diff(starts)[part[cells]]
    ends = starts_of(each)
    for first, last in _blocks(ends):
        some = cells[first:last]
        _, entries = entries_of(starts, part[some])
        yield np.repeat(some, each[first:last]), both[entries] % attackers


def _blocks(ends: Ints) -> Iterator[tuple[int, int]]:
    """Runs of items that hold about BLOCK pairs together."""
    first, count = 0, int(ends.size) - 1
    while first < count:
        last = int(np.searchsorted(ends, ends[first] + BLOCK, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def _met(problem: Problem, outcome: TableOutcome, cells: Ints) -> Ints:
    """Those of the cells that are protected from strangers."""
    if not cells.size:
        return cells
    threats = problem.threats.take(strangers(problem)[cells])
    seen = audit(problem.with_(threats=threats), outcome.lower, outcome.upper, exact=False)
    return cells[seen.enough]


def _unmet(
    table: CellTable,
    problem: Problem,
    outcome: TableOutcome,
    mine: Ints,
    pairs: tuple[Ints, Ints],
) -> Threats:
    """The threats of these pairs that the outcome does not meet."""
    asked = threats_of(table, problem, mine, *pairs)
    asked = asked.take((asked.up > 0) | (asked.down > 0) | (asked.slide > 0))
    open_ = np.zeros(len(asked), bool)
    for first in range(0, len(asked), AUDITED):
        some = np.arange(first, min(first + AUDITED, len(asked)))
        seen = audit(
            problem.with_(threats=asked.take(some)), outcome.lower, outcome.upper, exact=False
        )
        open_[some] = ~seen.enough
    return asked.take(open_)


def _new(problem: Problem, mine: Ints, cell: Ints, attacker: Ints) -> tuple[Ints, Ints]:
    """These pairs, sorted and each once, without owners of the cell itself and without threats
    that the problem has."""
    attackers = int(mine.max()) + 1
    other = mine[cell] != attacker
    key = np.unique(cell[other] * attackers + attacker[other])
    old = problem.threats
    inside = np.flatnonzero(np.diff(old.known_starts) > 0)
    by = mine[old.known_cells[old.known_starts[inside]]]
    inside, by = inside[by >= 0], by[by >= 0]
    key = np.setdiff1d(key, old.cell[inside] * attackers + by)
    return key // attackers, key % attackers
