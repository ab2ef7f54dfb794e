"""Hide boxes until every demand has one, then take them up again where others cost less.

A demand is a cell, a side and a need. Which cells are hidden follows from the boxes in use: the
sensitive ones, and every cell that some box needs. So the table is protected at every moment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Bools, Floats, Ints
from ._boxes import Cells, Cube, Room, cheapest, spread


class Demands(NamedTuple):
    """What must be possible: the cell at `pos` moves by `need` to `side` (+1 or -1)."""

    pos: Ints
    side: Ints
    need: Floats
    origin: Ints
    """The row of `known` that holds for a demand."""
    known_starts: Ints
    known: Ints
    """Cells that must not move, as compressed rows."""
    chosen: Ints
    """The leaves of each demand's box, int64[demand, dimension, 2]."""
    served: Bools
    fellow: Ints
    """Demands that share out one need are a ring: the next one, itself where it is alone. Their
    boxes fit within the cells' room together, so that they can move at once."""
    filled: Ints
    """How many rows hold demands; the others are spare."""


class Hiding(NamedTuple):
    """Which cells are hidden and why, by position."""

    cost: Floats
    """Infinite where a cell must not be used."""
    free: Bools
    """Hidden in any case."""
    use: Ints
    """How many boxes need a cell."""


class Users(NamedTuple):
    """Which demands use a cell: linked lists that may hold old entries."""

    head: Ints
    following: Ints
    demand: Ints
    filled: Ints


@njit(cache=True, nogil=True)
def price(hiding: Hiding, pos: int) -> float:
    """What a cell costs that is not hidden yet."""
    return 0.0 if hiding.free[pos] or hiding.use[pos] > 0 else hiding.cost[pos]


@njit(cache=True, nogil=True)
def bar(
    cube: Cube, cells: Cells, hiding: Hiding, work: Room, demands: Demands, q: int, barred: bool
) -> None:
    """Keep what an attacker knows and what fellows take out of the search, or let it in."""
    row = demands.origin[q]
    for i in range(demands.known_starts[row], demands.known_starts[row + 1]):
        pos = demands.known[i]
        cells.price[pos] = np.inf if barred else price(hiding, pos)
    other = demands.fellow[q]
    while other != q:
        count = spread(cube, work, demands.pos[other], demands.chosen[other])
        load(cells, work, count, demands.side[other], demands.need[other] if barred else -1.0)
        other = demands.fellow[other]


@njit(cache=True, nogil=True)
def load(cells: Cells, work: Room, count: int, side: int, need: float) -> None:
    """Take a need from the room that the spread box's cells have; give all back if negative.

    Moves the other way are not set off: their box may be laid anew.
    """
    at, sign = work.at[-1], work.sign[-1]
    for i in range(count):
        p = at[i]
        if need < 0.0:
            cells.rise[p], cells.fall[p] = cells.whole_rise[p], cells.whole_fall[p]
        elif sign[i] * side > 0:
            cells.rise[p] -= need
        else:
            cells.fall[p] -= need


@njit(cache=True, nogil=True)
def take(
    cube: Cube, cells: Cells, hiding: Hiding, work: Room, pos: int, chosen: Ints, by: int
) -> float:
    """Put a box to use (by = 1) or out of use (-1); what it costs more, or less."""
    count = spread(cube, work, pos, chosen)
    at, changed = work.at[cube.size.size], 0.0
    for i in range(count):
        p = at[i]
        before = hiding.use[p]
        hiding.use[p] = before + by
        if not hiding.free[p]:
            if before == 0:
                changed += hiding.cost[p]
                cells.price[p] = 0.0
            elif before + by == 0:
                changed += hiding.cost[p]
                cells.price[p] = hiding.cost[p]
    return changed


@njit(cache=True, nogil=True)
def cover(
    cube: Cube,
    cells: Cells,
    hiding: Hiding,
    work: Room,
    demands: Demands,
    order: Ints,
    tries: int,
) -> int:
    """The cheapest box for one demand after the other; how many found none."""
    lacking = 0
    for i in range(order.size):
        q = order[i]
        if demands.served[q]:
            continue
        pos = demands.pos[q]
        bar(cube, cells, hiding, work, demands, q, True)
        cost = cheapest(cube, cells, work, pos, demands.side[q], demands.need[q], np.inf, tries)
        bar(cube, cells, hiding, work, demands, q, False)
        if np.isfinite(cost):
            demands.chosen[q] = work.chosen
            demands.served[q] = True
            take(cube, cells, hiding, work, pos, demands.chosen[q], 1)
        else:
            lacking += 1
    return lacking


@njit(cache=True, nogil=True)
def users(cube: Cube, work: Room, demands: Demands, positions: int) -> Users:
    """The lists for the boxes in use now, with space for as many entries again."""
    total = 0
    for q in range(demands.filled[0]):
        if demands.served[q]:
            total += spread(cube, work, demands.pos[q], demands.chosen[q])
    space = 2 * total + 1000
    found = Users(
        np.full(positions, -1, np.int64),
        np.empty(space, np.int64),
        np.empty(space, np.int64),
        np.zeros(1, np.int64),
    )
    for q in range(demands.filled[0]):
        if demands.served[q]:
            enter(cube, work, demands, found, q)
    return found


@njit(cache=True, nogil=True)
def enter(cube: Cube, work: Room, demands: Demands, found: Users, q: int) -> bool:
    """Add a demand to the list of every cell of its box; False where no space is left."""
    count = spread(cube, work, demands.pos[q], demands.chosen[q])
    at, free = work.at[cube.size.size], found.filled[0]
    if free + count > found.demand.size:
        return False
    for i in range(count):
        found.demand[free] = q
        found.following[free] = found.head[at[i]]
        found.head[at[i]] = free
        free += 1
    found.filled[0] = free
    return True


@njit(cache=True, nogil=True)
def using(
    cube: Cube, work: Room, demands: Demands, found: Users, x: int, seen: Ints, mark: int
) -> Ints:
    """The demands whose box needs cell x, greatest need first."""
    many, node = 0, found.head[x]
    while node >= 0:
        many += 1
        node = found.following[node]
    out, needs = np.empty(many, np.int64), np.empty(many)
    many, node = 0, found.head[x]
    while node >= 0:
        q = found.demand[node]
        node = found.following[node]
        if seen[q] == mark:
            continue
        seen[q] = mark
        count = spread(cube, work, demands.pos[q], demands.chosen[q])
        at = work.at[cube.size.size]
        for i in range(count):
            if at[i] == x:
                out[many], needs[many] = q, -demands.need[q]
                many += 1
                break
    return out[:many][np.argsort(needs[:many], kind="mergesort")]


@njit(cache=True, nogil=True)
def rows(cube: Cube, work: Room, demands: Demands, which: Ints) -> tuple[Ints, Ints, Floats]:
    """The boxes of these demands as compressed rows: starts, positions, moves."""
    starts = np.zeros(which.size + 1, np.int64)
    for i in range(which.size):
        q = which[i]
        starts[i + 1] = starts[i] + spread(cube, work, demands.pos[q], demands.chosen[q])
    positions, moves = np.empty(starts[-1], np.int64), np.empty(starts[-1])
    for i in range(which.size):
        q = which[i]
        count = spread(cube, work, demands.pos[q], demands.chosen[q])
        size = demands.side[q] * demands.need[q]
        positions[starts[i] : starts[i + 1]] = work.at[-1][:count]
        moves[starts[i] : starts[i + 1]] = work.sign[-1][:count] * size
    return starts, positions, moves
