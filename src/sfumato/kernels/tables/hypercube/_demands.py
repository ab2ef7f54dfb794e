"""Hide boxes until every demand has one, then take them up again where others cost less.

A demand is a cell, a side and a need. Which cells are hidden follows from the boxes in use: the
sensitive ones, and every cell that some box needs. So the table is protected at every moment.

A box moves each of its cells by the whole need, so that a large need asks for large cells: several
boxes may share it out, which makes them fellows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Ints, Rows
from ._boxes import Search, cheapest, fields, spread

PARTS = 16
"""How many boxes may share out one need."""
MOST = 500
"""A cell that more boxes need than this is not taken up again."""

DEMAND = fields("pos side need threat known known_end fellow served seen", "need")
"""The cell at `pos` must be able to move by `need` to `side` (+1 or -1), because of a threat whose
attacker knows the cells `known` to `known_end` of the list. Fellows are a ring: the next one, or
itself where a demand is alone. They fit within the cells' room together, and can move at once."""
ENTRY = fields("demand pos sign following", "")
"""A cell of a demand's box, and the entry before it for the same cell."""


class Demands(NamedTuple):
    """What must be possible, and the boxes that make it so."""

    rows: Rows
    """DEMAND[row], with spare rows after those in use; the last 2 * PARTS are space to work in."""
    leaves: Ints
    """The box of each demand, int64[row, dimension, 2]."""
    known: Ints


class Way(NamedTuple):
    """How boxes are laid: the first share of a need, how many that are halves of one another are
    tried, how many boxes at most, and how many partial boxes a search looks at."""

    share: float
    halvings: int
    parts: int
    tries: int


@njit(cache=True, nogil=True)
def _load(search: Search, count: int, side: int, need: float) -> None:
    """Take a need from the room that the spread box's cells have; give all back if negative.

    Moves the other way are not set off: their box may be laid anew.
    """
    for i in range(count):
        corner = search.box[0, i]
        cell = search.cells[corner.pos]
        if need < 0.0:
            cell.rise, cell.fall = cell.whole_rise, cell.whole_fall
        elif corner.sign * side > 0:
            cell.rise -= need
        else:
            cell.fall -= need


@njit(cache=True, nogil=True)
def _bar(search: Search, demands: Demands, q: int, price: float) -> None:
    """Keep what an attacker knows and what fellows take out of the search (a price that is
    infinite), or let it in (no price)."""
    rows = demands.rows
    for i in range(rows[q].known, rows[q].known_end):
        cell = search.cells[demands.known[i]]
        cell.price = price + (cell.cost if cell.use == 0 else 0.0)
    other = rows[q].fellow
    while other != q:
        count = spread(search, rows[other].pos, demands.leaves[other])
        _load(search, count, rows[other].side, rows[other].need if price > 0.0 else -1.0)
        other = rows[other].fellow


@njit(cache=True, nogil=True)
def _take(search: Search, demands: Demands, q: int, by: float) -> float:
    """Put a box to use (by = 1.0) or out of use (-1); what it costs more, or less."""
    changed = 0.0
    for i in range(spread(search, demands.rows[q].pos, demands.leaves[q])):
        cell = search.cells[search.box[0, i].pos]
        before = cell.use
        cell.use = before + by
        if before == 0:
            changed += cell.cost
            cell.price = 0.0
        elif before + by == 0:
            changed += cell.cost
            cell.price = cell.cost
    return changed


@njit(cache=True, nogil=True, inline="always")
def _parts(
    search: Search, demands: Demands, q: int, share: float, way: Way, limit: float, onto: int
) -> tuple[float, int]:
    """Boxes that carry the need of q together, each at most `share`, for less than `limit`.

    A share that no box carries is halved. The boxes are left in the rows from `onto`. Returns the
    cost (infinite if it fails) and the number.
    """
    rows, leaves, cells = demands.rows, demands.leaves, search.cells
    pos, side, need = rows[q].pos, rows[q].side, rows[q].need
    rest, spent, count = need, 0.0, 0
    while rest > 0.0 and count < way.parts and share * way.parts >= rest:
        part = min(share, rest)
        cost = cheapest(search, pos, side, part, limit - spent, way.tries)
        if not np.isfinite(cost):
            share = part / 2
            continue
        rows[onto + count].need = part
        for d in range(leaves.shape[1]):
            leaves[onto + count, d, 0] = search.levels[d].upper
            leaves[onto + count, d, 1] = search.levels[d].lower
        rest = rest - part if rest - part > 1e-12 * need else 0.0
        spent += cost
        many = spread(search, pos, leaves[onto + count])
        _load(search, many, side, part)
        for i in range(many):
            cells[search.box[0, i].pos].price = 0.0
        count += 1
    for j in range(count):
        many = spread(search, pos, leaves[onto + j])
        _load(search, many, side, -1.0)
        for i in range(many):
            cell = cells[search.box[0, i].pos]
            cell.price = cell.cost if cell.use == 0 else 0.0
    return (spent, count) if rest <= 0.0 else (np.inf, 0)


@njit(cache=True, nogil=True)
def _copy(demands: Demands, row: int, onto: int) -> None:
    """The share and the box of a row in another one."""
    demands.rows[onto].need = demands.rows[row].need
    for d in range(demands.leaves.shape[1]):
        demands.leaves[onto, d, 0] = demands.leaves[row, d, 0]
        demands.leaves[onto, d, 1] = demands.leaves[row, d, 1]


@njit(cache=True, nogil=True)
def _lay(
    search: Search, demands: Demands, q: int, x: int, filled: int, way: Way, limit: float
) -> tuple[float, int]:
    """Boxes for demand q without cell x that cost less than `limit`, put to use in its row and in
    those from `filled` on; what they cost (infinite if there are none), and the rows filled now."""
    rows, cells = demands.rows, search.cells
    kept = rows.size - PARTS
    _bar(search, demands, q, np.inf)
    if x >= 0:
        cells[x].price = np.inf
    share, best, parts = way.share * rows[q].need, limit, 0
    for _ in range(way.halvings):
        cost, count = _parts(search, demands, q, share, way, best, kept - PARTS)
        if cost < best:
            best, parts = cost, count
            for j in range(count):
                _copy(demands, kept - PARTS + j, kept + j)
        share /= 2
    _bar(search, demands, q, 0.0)
    if x >= 0:
        cells[x].price = np.inf
    total, ring, row = 0.0, rows[q].fellow, q
    for j in range(parts):
        if j > 0:
            rows[filled] = rows[q]
            rows[row].fellow, row = filled, filled
            filled += 1
        _copy(demands, kept + j, row)
        rows[row].fellow, rows[row].served = ring, 1
        total += _take(search, demands, row, 1.0)
    return (total if parts > 0 else np.inf), filled


@njit(cache=True, nogil=True)
def enter(
    search: Search, demands: Demands, entries: Rows, first: int, last: int, entered: int
) -> int:
    """Add the boxes of these rows to the lists of their cells, which hold `entered` entries; -1
    where no space is left, or was before."""
    for q in range(first, last if entered >= 0 else first):
        if demands.rows[q].served == 0:
            continue
        count = spread(search, demands.rows[q].pos, demands.leaves[q])
        if entered + count > entries.size:
            return -1
        for i in range(count):
            corner = search.box[0, i]
            cell, entry = search.cells[corner.pos], entries[entered]
            entry.demand, entry.pos, entry.sign = q, corner.pos, corner.sign
            entry.following, cell.head = cell.head, entered
            entered += 1
    return entered


@njit(cache=True, nogil=True, inline="always")
def _using(search: Search, demands: Demands, entries: Rows, x: int, mark: int, group: Ints) -> int:
    """The demands whose box needs cell x into `group`, greatest need first; how many.

    The lists may hold old entries.
    """
    rows, many, node = demands.rows, 0, search.cells[x].head
    while node >= 0:
        q, node = entries[node].demand, entries[node].following
        if rows[q].seen == mark:
            continue
        rows[q].seen = mark
        for i in range(spread(search, rows[q].pos, demands.leaves[q])):
            if search.box[0, i].pos == x:
                j = many
                while j > 0 and rows[group[j - 1]].need < rows[q].need:
                    group[j] = group[j - 1]
                    j -= 1
                group[j] = q
                many += 1
                break
    return many


@njit(cache=True, nogil=True)
def renew(
    search: Search, demands: Demands, entries: Rows, order: Ints, by_cell: bool, way: Way,
    filled: int, entered: int,
) -> tuple[float, int, int, int]:  # fmt: skip
    """Take up boxes and lay them anew where that costs less, else put them back.

    `order` holds cells: all boxes that need one are taken up, which publishes what only they
    needed, and laid anew without it. Or it holds demands, each by itself, with a box or none yet.
    Returns what was saved, how many of `order` were looked at (fewer if space ran out), and how
    many rows of demands and entries of the lists are filled now.
    """
    rows, cells, saved = demands.rows, search.cells, 0.0
    group = np.empty(MOST, np.int64)
    for i in range(order.size):
        x, many = -1, 1
        group[0] = order[i]
        if by_cell:
            x = order[i]
            if cells[x].use == 0 or cells[x].use > MOST:
                continue
            many = _using(search, demands, entries, x, i, group)
        # What is taken up is kept in the last rows that the new boxes cannot reach.
        former = filled + (way.parts - 1) * many
        if way.parts > 1 and former + many > rows.size - 2 * PARTS:
            return saved, i, filled, entered
        refund = 0.0
        for j in range(many):
            q = group[j]
            if rows[q].served == 0:
                refund = np.inf
                continue
            _copy(demands, q, former + j)
            rows[former + j].fellow = rows[q].fellow
            refund += _take(search, demands, q, -1.0)
        spent, done, last, cut = 0.0, 0, filled, refund * (1.0 - 1e-9)
        while done < many and cut > 0.0:
            cost, last = _lay(search, demands, group[done], x, last, way, cut - spent)
            if not np.isfinite(cost):
                break
            spent += cost
            done += 1
        if done == many and spent < cut:
            if by_cell:
                saved += refund - spent
                cells[x].price = cells[x].cost
                for j in range(many):
                    entered = enter(search, demands, entries, group[j], group[j] + 1, entered)
                entered = enter(search, demands, entries, filled, last, entered)
                if entered < 0:
                    return saved, i + 1, last, entries.size
            filled = last
            continue
        for j in range(done + last - filled):
            _take(search, demands, group[j] if j < done else filled + j - done, -1.0)
        for j in range(many):
            q = group[j]
            if rows[q].served > 0:
                _copy(demands, former + j, q)
                rows[q].fellow = rows[former + j].fellow
                _take(search, demands, q, 1.0)
    return saved, order.size, filled, entered
