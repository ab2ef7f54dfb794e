"""Attackers who know hidden cells: those who are the only contributor of a cell."""

from __future__ import annotations

import numpy as np

from ...errors import ParameterError
from ...kernels.arrays import Bools, Floats, Ints
from ..cells.relations import Relations
from ..cells.table import CellTable
from ..lists import by_group, entries_of
from ..rules.contributors import ROUNDING
from .problem import Problem, Threats

ATTACKERS = 2
"""How many attackers are set against a cell in each of its relations, unless told otherwise."""
DEPTH = 100
"""Totals of totals that are followed upwards, at most."""


def insiders(
    table: CellTable,
    problem: Problem,
    *,
    holdings: bool = True,
    attackers: int | None = ATTACKERS,
) -> Threats:
    """The threats of single contributors against the sensitive cells near their own, to start from.

    Whoever is the only contributor of a sensitive cell knows it though it is hidden. With
    `holdings` it knows all cells that it has to itself, otherwise that one cell only. It threatens
    every other sensitive cell that shares a relation with a cell it knows, and that cell needs the
    same room against it as against a stranger; less where it contributes to the cell itself: see
    `threats_of`.

    All such pairs may be very many: 500 single contributors in one relation make 250,000. So in
    each relation a cell is set against the `attackers` who know most of that relation (by value,
    ties by number); None sets it against all. With up to attackers + 1 single contributors in a
    relation these are all pairs.

    These are not all insiders. Others may learn a cell from further away, or though they know less
    of the relation, and the only contributor of a cell that is not sensitive becomes one as soon as
    that cell is hidden. Who of them learns too much depends on what is hidden: `open_insiders`
    finds them when a protected table is at hand. Groups who pool what they know are not among the
    attackers here or there.

    Only amounts are attacked this way. In a table of counts somebody who contributes does not know
    the count. Somebody of weight 2 or more stands for others and does not know the cell. Where the
    table holds frequencies but no contributors, every cell of one record is taken to have a
    contributor of its own, except that a total of one record has that of its addend.
    """
    if attackers is not None and attackers < 1:
        raise ParameterError(
            f"attackers must be 1 or more (got {attackers})", remedy="or singletons = false"
        )
    mine = attackers_of(table, problem, problem.primary, holdings=holdings)
    return threats_of(table, problem, mine, *_pairs(problem, mine, attackers))


def attackers_of(
    table: CellTable, problem: Problem, hidden: Bools, *, holdings: bool = True
) -> Ints:
    """The attacker who knows each cell, numbered 0, 1, ...; -1 where nobody does.

    Attackers are those who know a cell of `hidden`; they know all that they have to themselves,
    hidden or not, for more cells may be hidden later on.
    """
    owner = owners(table, problem.fixed, holdings=holdings)
    mine = np.full(table.n, -1, np.int64)
    known = np.flatnonzero(owner >= 0)
    active = np.isin(owner[known], owner[hidden & (owner >= 0)])
    known = known[active]
    mine[known] = np.unique(owner[known], return_inverse=True)[1]
    return mine


def threats_of(
    table: CellTable, problem: Problem, mine: Ints, cell: Ints, attacker: Ints
) -> Threats:
    """The threats of these pairs, sorted and each once, in which `mine` numbers the attackers.

    A cell needs the same room as against a stranger. Whoever contributes to it knows that part, and
    only the rest is left to protect: where the rest is the smaller part, the room shrinks to
    rest / own of it, and below it ends at the rest. Pairs with nothing left, and cells that no
    stranger threatens, are left out.
    """
    stranger = strangers(problem)
    own = _own(table, problem, mine, cell, attacker)
    value = np.abs(problem.values[cell])
    # Nothing is left to protect where the attacker contributes all that the cell holds.
    left = (own == 0) | (value - own > ROUNDING * value)
    left &= stranger[cell] >= 0
    cell, attacker, own, value = cell[left], attacker[left], own[left], value[left]
    starts, known = by_group(mine, int(mine.max(initial=-1)) + 1)
    ends, entries = entries_of(starts, attacker)
    as_for = stranger[cell]
    rest = np.maximum(value - own, 0.0)
    part = np.divide(rest, own, out=np.ones(cell.size), where=rest < own)
    # Whoever has a part in amounts that are not negative knows that the cell holds that much.
    room = np.where(problem.lower[cell] >= 0, rest, np.inf)
    return Threats(
        cell,
        problem.threats.up[as_for] * part,
        np.minimum(problem.threats.down[as_for] * part, room),
        problem.threats.slide[as_for] * part,
        ends,
        known[entries],
    )


def strangers(problem: Problem) -> Ints:
    """The threat against each cell of somebody who knows nothing hidden; -1 where there is none."""
    outside = np.flatnonzero(np.diff(problem.threats.known_starts) == 0)
    found = np.full(problem.n, -1, np.int64)
    found[problem.threats.cell[outside]] = outside
    return found


def owners(table: CellTable, fixed: Bools, *, holdings: bool = True) -> Ints:
    """The only contributor of each cell that may be hidden; -1 where there are none or several."""
    found = np.full(table.n, -1, np.int64)
    if table.is_count:
        return found
    known = table.contributions
    if known is not None:
        alone = known.count == 1
        if known.weight is not None:
            alone &= known.weight[:, 0] < 2
        who = known.who[:, 0]
    elif table.frequency is not None:
        alone = table.frequency == 1
        who = same_record(table.relations, alone)
    else:
        return found
    alone = alone & ~fixed
    found[alone] = who[alone] if holdings else np.flatnonzero(alone)
    return found


def same_record(relations: Relations, alone: Bools) -> Ints:
    """A number for each cell of one record, the same for a total and its only addend."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    total = _totals(relations)
    of = total[relations.rows]
    linked = (of >= 0) & alone[relations.cells] & alone[of]
    pairs = of[linked], relations.cells[linked]
    graph = coo_array((np.ones(pairs[0].size), pairs), shape=(relations.n, relations.n))
    found: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return found


def _totals(relations: Relations) -> Ints:
    """The cell of each relation that its other cells add up to; -1 where there is none."""
    below = relations.coefs < 0
    found = np.full(len(relations), -1, np.int64)
    found[relations.rows[below]] = relations.cells[below]
    several = np.bincount(relations.rows[below], minlength=len(relations)) != 1
    found[several] = -1
    return found


def _own(table: CellTable, problem: Problem, mine: Ints, cell: Ints, attacker: Ints) -> Floats:
    """What each attacker is known to contribute to the cell that it threatens."""
    found = np.zeros(cell.size)
    count = int(mine.max(initial=-1)) + 1
    if not count or not cell.size:
        return found
    # By relations: what it has to itself is in every total of it.
    wanted = cell * count + attacker  # sorted, each once
    keys, amounts = _climbed(problem, mine, np.unique(attacker))
    at = np.searchsorted(keys, wanted)
    here = np.append(keys, -1)[at] == wanted
    found[here] = amounts[at[here]]
    # By contributions, where the attacker is among those kept.
    known = table.contributions
    if known is not None:
        person = np.full(count, -1, np.int64)
        at_cells = np.flatnonzero(mine >= 0)
        person[mine[at_cells]] = known.who[at_cells, 0]
        same = (known.who[cell] == person[attacker][:, None]) & (known.who[cell] >= 0)
        weight = 1.0 if known.weight is None else known.weight[cell]
        np.maximum(found, (known.top[cell] * weight * same).sum(axis=1), out=found)
    return found


def _climbed(problem: Problem, mine: Ints, attackers: Ints) -> tuple[Ints, Floats]:
    """What the attackers have to themselves in their own cells and all totals of them: keys
    cell * count + attacker in rising order, and amounts."""
    from scipy.sparse import csr_array

    relations, count = problem.relations, int(mine.max()) + 1
    total = _totals(relations)
    first = np.flatnonzero(np.isin(mine, attackers))
    held = csr_array(
        (np.abs(problem.values[first]), (first, mine[first])), shape=(problem.n, count)
    )
    plus = (relations.coefs > 0) & (total[relations.rows] >= 0)
    adds = csr_array(
        (relations.coefs[plus], (relations.rows[plus], relations.cells[plus])),
        shape=(len(relations), problem.n),
    )
    # A total has a relation to each dimension; all of them say the same or less of it.
    order = np.argsort(total, kind="stable")
    order = order[np.searchsorted(total[order], 0) :]
    rank = np.arange(order.size) - np.searchsorted(total[order], total[order])
    lifts = [
        csr_array((np.ones(row.size), (total[row], row)), shape=(problem.n, len(relations)))
        for row in (order[rank == k] for k in range(int(rank.max(initial=-1)) + 1))
    ]
    for _ in range(DEPTH):
        sums = adds @ held
        more = held
        for lift in lifts:
            more = more.maximum(lift @ sums)
        if more.nnz == held.nnz and (more != held).nnz == 0:
            break
        held = more
    held.sort_indices()
    rows = np.repeat(np.arange(problem.n), np.diff(held.indptr))
    return rows * count + held.indices, held.data


def _pairs(problem: Problem, mine: Ints, limit: int | None) -> tuple[Ints, Ints]:
    """Sensitive cells and attackers that share a relation: (cell, attacker), each pair once."""
    relations = problem.relations
    entry = np.flatnonzero(mine[relations.cells] >= 0)
    count = int(mine.max(initial=-1)) + 1
    if not entry.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # How much each attacker knows of each relation.
    both, inverse = np.unique(
        relations.rows[entry] * count + mine[relations.cells[entry]], return_inverse=True
    )
    amount = np.bincount(inverse, np.abs(problem.values[relations.cells[entry]]))
    relation, attacker = both // count, both % count
    order = np.lexsort((attacker, -amount, relation))
    relation, attacker = relation[order], attacker[order]
    first = np.searchsorted(relation, np.arange(len(relations) + 1))
    sensitive = problem.primary[relations.cells]
    row, cell = relations.rows[sensitive], relations.cells[sensitive]
    here = np.diff(first)[row]
    if limit is not None:
        # One more than the limit, for one of them may be the cell's own contributor.
        here = np.minimum(here, limit + 1)
    ends = np.concatenate(([0], np.cumsum(here)))
    rank = np.arange(ends[-1]) - np.repeat(ends[:-1], here)
    against, by = np.repeat(cell, here), attacker[np.repeat(first[:-1][row], here) + rank]
    own = by == mine[against]
    if limit is not None:
        passed = np.cumsum(own) - np.repeat(np.concatenate(([0], np.cumsum(own)))[ends[:-1]], here)
        own |= rank - passed >= limit
    found = np.unique(against[~own] * count + by[~own])
    return found // count, found % count


def joined(first: Threats, second: Threats) -> Threats:
    """Both lists of threats, one after the other."""
    return Threats(
        np.concatenate((first.cell, second.cell)),
        np.concatenate((first.up, second.up)),
        np.concatenate((first.down, second.down)),
        np.concatenate((first.slide, second.slide)),
        np.concatenate((first.known_starts, first.known_starts[-1] + second.known_starts[1:])),
        np.concatenate((first.known_cells, second.known_cells)),
    )
