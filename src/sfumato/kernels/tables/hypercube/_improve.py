"""Publish cell after cell by laying anew the boxes that need it, while that costs less."""

from __future__ import annotations

import numpy as np
from numba import njit

from ...arrays import Ints
from ._boxes import Cells, Cube, Room, cheapest
from ._cover import Demands, Hiding, Users, bar, enter, take, using
from ._share import PARTS, parts_of


@njit(cache=True, nogil=True)
def _lay(
    cube: Cube,
    cells: Cells,
    hiding: Hiding,
    work: Room,
    demands: Demands,
    q: int,
    x: int,
    limit: float,
    tries: int,
) -> float:
    """A new box for demand q without cell x, or several where one will not do; their cost."""
    pos, side, need = demands.pos[q], demands.side[q], demands.need[q]
    bar(cube, cells, hiding, work, demands, q, True)
    cells.price[x] = np.inf
    cost = cheapest(cube, cells, work, pos, side, need, limit, tries)
    needs, chosen, count = np.empty(PARTS), np.empty((PARTS, cube.size.size, 2), np.int64), 1
    needs[0], chosen[0] = need, work.chosen
    if not np.isfinite(cost):
        cost, count = parts_of(
            cube, cells, hiding, work, pos, side, need, need / 2, limit, tries, needs, chosen
        )
    bar(cube, cells, hiding, work, demands, q, False)
    cells.price[x] = np.inf
    if not cost < limit:
        return np.inf
    total, ring = 0.0, demands.fellow[q]
    for j in range(count):
        row = q
        if j > 0:
            row = demands.filled[0]
            demands.filled[0] += 1
            demands.fellow[q if j == 1 else row - 1] = row
            demands.fellow[row] = ring
        demands.pos[row], demands.side[row], demands.origin[row] = pos, side, demands.origin[q]
        demands.need[row], demands.chosen[row], demands.served[row] = needs[j], chosen[j], True
        total += take(cube, cells, hiding, work, pos, demands.chosen[row], 1)
    return total


@njit(cache=True, nogil=True)
def improve(
    cube: Cube,
    cells: Cells,
    hiding: Hiding,
    work: Room,
    demands: Demands,
    found: Users,
    order: Ints,
    seen: Ints,
    tries: int,
    most: int,
) -> tuple[float, int]:
    """Try to publish the cells of `order`: every demand that needs one looks for other boxes.

    All boxes that need the cell are taken up, which publishes what only they needed, and laid anew
    without it. Kept if that costs less, else put back. Cells that more than `most` boxes need
    stay. Returns what was saved and how many cells were looked at (fewer if space ran out).
    """
    saved = 0.0
    for i in range(order.size):
        x = order[i]
        if hiding.use[x] == 0 or hiding.use[x] > most:
            continue
        which = using(cube, work, demands, found, x, seen, i)
        first = demands.filled[0]
        if first + PARTS * which.size > demands.pos.size:
            return saved, i
        before, needs, rings = demands.chosen[which], demands.need[which], demands.fellow[which]
        refund = 0.0
        for j in range(which.size):
            q = which[j]
            refund += take(cube, cells, hiding, work, demands.pos[q], demands.chosen[q], -1)
        spent, done, cut = 0.0, 0, refund * (1.0 - 1e-9)
        for j in range(which.size):
            cost = _lay(cube, cells, hiding, work, demands, which[j], x, cut - spent, tries)
            if not np.isfinite(cost):
                break
            spent += cost
            done += 1
        last = demands.filled[0]
        if done == which.size and spent < cut:
            saved += refund - spent
            cells.price[x] = hiding.cost[x]
            full = False
            for j in range(which.size + last - first):
                q = which[j] if j < which.size else first + j - which.size
                full = full or not enter(cube, work, demands, found, q)
            if full:
                return saved, i + 1
            continue
        for j in range(done + last - first):
            q = which[j] if j < done else first + j - done
            take(cube, cells, hiding, work, demands.pos[q], demands.chosen[q], -1)
        demands.served[first:last] = False
        demands.filled[0] = first
        for j in range(which.size):
            q = which[j]
            demands.chosen[q], demands.need[q], demands.fellow[q] = before[j], needs[j], rings[j]
            take(cube, cells, hiding, work, demands.pos[q], demands.chosen[q], 1)
    return saved, order.size
