"""How near the own record is: how many others are nearer, and how many equally near, exactly.

Linking a masked record to the closest or second closest original (Pagliuca & Seri 1999) asks for no
neighbours at all, only for the place of the own record among them: fewer than two records may be
nearer. So each search starts from the known distance to the own record, counts, and stops at the
second that is nearer, which a far own record meets in the first blocks.

Distances, blocks and boxes are those of linkage.py: squared differences summed in column order,
then weighted mismatches, and bounds that rounding cannot lift above a distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.device import on_card
from sfumato.kernels.neighbours.blocks import order_in_blocks, ranked
from sfumato.kernels.neighbours.linkage import (
    BLOCK,
    both_files,
    bounds,
    distances,
    masked_blocks,
    queries,
    to_own,
    where_missing,
)
from sfumato.kernels.threads import in_parts


class OwnRank(NamedTuple):
    """What `own_rank` finds for each row of `a`."""

    nearer: Ints
    """rows of `b` that are nearer than its own, counted up to `enough`"""
    ties: Ints
    """rows of `b` as near as its own, itself included; 0 where `enough` were nearer"""


@njit(cache=True, nogil=True)
def _far(block: int, box: Floats, weights: Floats, penalty: Floats, x: Floats) -> float:
    """Least squared distance that a record of the block can have to this one."""
    total = 0.0
    for j in range(x.size):
        low, high, gaps = box[0, j, block], box[1, j, block], box[2, j, block]
        step = max(low - x[j], x[j] - high, 0.0)
        square = step * step
        if j >= penalty.size:
            total += weights[j - penalty.size] if x[j] < low or x[j] > high else 0.0
        elif np.isnan(x[j]):
            total += penalty[j] if gaps == 0.0 else 0.0
        else:
            total += min(square, penalty[j]) if gaps > 0.0 else square
    return total


@njit(cache=True, nogil=True)
def _count(
    rows: Floats, groups: Floats, blocks: Floats, boxes: Floats, copies: Ints, weights: Floats,
    penalty: Floats, tolerance: float, enough: int, start: int, stop: int, own: Floats,
    nearer: Ints, ties: Ints,
) -> None:  # fmt: skip
    """Fill `nearer` and `ties` for the queries of groups start..stop."""
    bound, out = np.empty(len(blocks)), np.empty(BLOCK)
    for g in range(start, stop):
        # One order of the blocks serves all queries of the group, which lie close together.
        bounds(boxes, weights, penalty, groups[g], bound)
        order = ranked(bound)
        for i in range(g * BLOCK, min((g + 1) * BLOCK, own.size)):
            nearer[i], ties[i] = enough, 0
            if own[i] == np.inf:
                continue
            low, high = own[i] - tolerance * own[i], own[i] + tolerance * own[i]
            below, level = np.int64(0), np.int64(0)
            for block in order:
                if bound[block] > high or below >= enough:
                    break
                if _far(block, boxes, weights, penalty, rows[i]) > high:
                    continue
                distances(blocks[block], weights, penalty, rows[i], out)
                for k in range(block * BLOCK, min((block + 1) * BLOCK, copies.size)):
                    if out[k - block * BLOCK] < low:
                        below += copies[k]
                    elif out[k - block * BLOCK] <= high:
                        level += copies[k]
            if below < enough:
                nearer[i], ties[i] = below, level


def own_rank(
    a: ArrayLike,
    b: ArrayLike,
    own: ArrayLike,
    *,
    codes_a: ArrayLike | None = None,
    codes_b: ArrayLike | None = None,
    enough: int = 2,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> OwnRank:
    """For each row of `a`, how many rows of `b` are nearer than row `own` of `b`, and as near.

    `a` and `b` are numeric matrices, NaN where missing; `codes_a` and `codes_b` their nominal
    columns, which add 1 where they differ. Two missing values are equal, one adds 1. A row ties
    when its squared distance is within `tolerance` of the own one's, relative to it. `own[i]` = -1
    means that there is none: all are nearer. `threads` never alters the result.

    >>> found = own_rank([[0.0], [0.0], [9.0]], [[1.0], [2.0], [2.0]], [0, 1, -1])
    >>> found.nearer.tolist(), found.ties.tolist()
    ([0, 1, 2], [1, 2, 0])
    """
    xa, xb, p = both_files(a, b, codes_a, codes_b)
    mine = np.array(own, dtype=np.int64)
    if mine.shape != (len(xa),) or (mine.size and (mine.min() < -1 or mine.max() >= len(xb))):
        raise ValueError("own must name a row of b, or -1, for each row of a")
    if enough < 1 or not 0 <= tolerance < 1:
        raise ValueError("enough is at least 1, and the tolerance from 0 to below 1")
    weights, penalty = np.ones(xa.shape[1] - p), np.ones(p)
    rule = where_missing(xa, xb, penalty)
    size = (len(xa), len(xb), p, enough)
    plain = p == xa.shape[1] and bool(np.all(rule < 0.0))
    counted = on_card(
        "own-rank", size, lambda: _on_card(xa, xb, mine, tolerance, enough) if plain else None
    )
    if counted is not None:
        return counted
    blocks, boxes, copies, _ = masked_blocks(xb, weights)
    order = order_in_blocks(xa, weights, np.arange(len(xa)), BLOCK)
    rows, groups = queries(xa, order)
    far = to_own(xa, xb, mine, weights, penalty)[order]
    found, level = np.empty(len(xa), np.int64), np.empty(len(xa), np.int64)

    def work(start: int, stop: int) -> None:
        _count(rows, groups, blocks, boxes, copies, weights, rule, float(tolerance), enough,
               start, stop, far, found, level)  # fmt: skip

    in_parts(work, len(groups), threads)
    nearer, ties = np.empty_like(found), np.empty_like(level)
    nearer[order], ties[order] = found, level
    return OwnRank(nearer, ties)


def _on_card(a: Floats, b: Floats, own: Ints, tolerance: float, enough: int) -> OwnRank | None:
    """The same of numbers without gaps."""
    from ..gpu import own_rank as card

    far = to_own(a, b, own, np.empty(0), np.ones(a.shape[1]))
    has = far < np.inf
    low, high = np.full(len(a), -1.0), np.full(len(a), -1.0)
    low[has], high[has] = far[has] - tolerance * far[has], far[has] + tolerance * far[has]
    found = card.own_rank(a, b, low, high, enough)
    if found is None:
        return None
    settled = has & (found[:, 0] < enough)
    return OwnRank(np.where(settled, found[:, 0], enough), np.where(settled, found[:, 1], 0))
