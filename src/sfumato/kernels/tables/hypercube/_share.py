"""Several boxes for one demand, where no single one carries it or where smaller ones cost less.

A box moves each of its cells by the whole need, so that a large need asks for large cells. Two
boxes may carry half each.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ._boxes import Cells, Cube, Room, cheapest, spread
from ._cover import Demands, Hiding, bar, load, price, take

PARTS = 16
"""How many boxes may share out one need."""
HALVINGS = 4
"""First shares that are tried: a half, a quarter ..."""


@njit(cache=True, nogil=True)
def parts_of(
    cube: Cube,
    cells: Cells,
    hiding: Hiding,
    work: Room,
    pos: int,
    side: int,
    need: float,
    share: float,
    limit: float,
    tries: int,
    needs: Floats,
    chosen: Ints,
) -> tuple[float, int]:
    """Boxes that carry `need` together, each at most `share`, for less than `limit`.

    A share that no box carries is halved. Returns the cost (infinite if it fails) and the number.
    """
    dims = cube.size.size
    rest, spent, count = need, 0.0, 0
    while rest > 0.0 and count < PARTS and share * PARTS >= rest:
        part = min(share, rest)
        cost = cheapest(cube, cells, work, pos, side, part, limit - spent, tries)
        if not np.isfinite(cost):
            share = part / 2
            continue
        needs[count], chosen[count] = part, work.chosen
        rest = rest - part if rest - part > 1e-12 * need else 0.0
        spent += cost
        many = spread(cube, work, pos, chosen[count])
        load(cells, work, many, side, part)
        for i in range(many):
            cells.price[work.at[dims, i]] = 0.0
        count += 1
    for j in range(count):
        many = spread(cube, work, pos, chosen[j])
        load(cells, work, many, side, -1.0)
        for i in range(many):
            cells.price[work.at[dims, i]] = price(hiding, work.at[dims, i])
    return (spent, count) if rest <= 0.0 else (np.inf, 0)


@njit(cache=True, nogil=True)
def share_out(
    cube: Cube,
    cells: Cells,
    hiding: Hiding,
    work: Room,
    demands: Demands,
    order: Ints,
    tries: int,
) -> tuple[float, int]:
    """Give each demand in turn several boxes if those cost less than its one, or it has none.

    Returns what was saved and how many of `order` were looked at (fewer if rows ran out).
    """
    dims, saved = cube.size.size, 0.0
    needs, chosen = np.empty(PARTS), np.empty((PARTS, dims, 2), np.int64)
    kept, leaves = np.empty(PARTS), np.empty((PARTS, dims, 2), np.int64)
    for i in range(order.size):
        q = order[i]
        if demands.fellow[q] != q:
            continue
        free = demands.filled[0]
        if free + PARTS > demands.pos.size:
            return saved, i
        pos, refund = demands.pos[q], np.inf
        if demands.served[q]:
            refund = take(cube, cells, hiding, work, pos, demands.chosen[q], -1)
        best, parts = refund * (1.0 - 1e-9), 0
        if best > 0.0:
            bar(cube, cells, hiding, work, demands, q, True)
            share = demands.need[q]
            for _ in range(HALVINGS):
                share /= 2
                cost, count = parts_of(
                    cube, cells, hiding, work, pos, demands.side[q], demands.need[q],
                    share, best, tries, needs, chosen,
                )  # fmt: skip
                if cost < best:
                    best, parts = cost, count
                    kept[:count], leaves[:count] = needs[:count], chosen[:count]
            bar(cube, cells, hiding, work, demands, q, False)
        if parts == 0:
            if demands.served[q]:
                take(cube, cells, hiding, work, pos, demands.chosen[q], 1)
            continue
        saved += refund - best if demands.served[q] else 0.0
        for j in range(parts):
            row = q if j == 0 else free + j - 1
            demands.pos[row], demands.side[row] = pos, demands.side[q]
            demands.need[row], demands.chosen[row] = kept[j], leaves[j]
            demands.served[row], demands.origin[row] = True, demands.origin[q]
            demands.fellow[row] = q if j == parts - 1 else free + j
            take(cube, cells, hiding, work, pos, demands.chosen[row], 1)
        demands.filled[0] = free + parts - 1
    return saved, order.size
