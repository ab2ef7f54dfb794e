"""How near the own record is: how many others are nearer, and how many equally near, exactly.

Linking a masked record to the closest or second closest original (Pagliuca & Seri 1999) asks for no
neighbours at all, only for the place of the own record among them: fewer than two records may be
nearer. So each search starts from the known distance to the own record, counts, and stops at the
second that is nearer, which a far own record meets in the first blocks.

Distances, blocks and boxes are those of linkage.py: squared differences summed in column order,
then weighted mismatches, and bounds that rounding cannot lift above a distance.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.neighbours.blocks import distinct_rows, order_in_blocks
from sfumato.kernels.neighbours.linkage import (
    BLOCK,
    _bounds,
    _code_matrix,
    _distances,
    _fill,
    _matrix,
    _own,
)
from sfumato.kernels.threads import cores


class OwnRank(NamedTuple):
    """What `own_rank` finds for each row of `a`."""

    nearer: Ints
    """rows of `b` that are nearer than its own, counted up to `enough`"""
    ties: Ints
    """rows of `b` as near as its own, itself included; 0 where `enough` were nearer"""


@njit(cache=True, nogil=True)
def _far(
    block: int, box: Floats, span: Codes, gaps: Codes, weights: Floats, penalty: Floats,
    x: Floats, c: Codes,
) -> float:  # fmt: skip
    """Least squared distance that a record of the block can have to this one."""
    total = 0.0
    for j in range(x.size):
        low, high = box[j, 0, block], box[j, 1, block]
        if penalty[j] < 0.0:
            step = max(low - x[j], x[j] - high, 0.0)
            total += step * step
        elif np.isnan(x[j]):
            total += penalty[j] if gaps[j, block] == 0 else 0.0
        else:
            step = max(low - x[j], x[j] - high, 0.0)
            square = step * step
            total += min(square, penalty[j]) if gaps[j, block] > 0 else square
    for j in range(c.size):
        outside = c[j] < span[j, 0, block] or c[j] > span[j, 1, block]
        total += weights[j] if outside else 0.0
    return total


@njit(cache=True, nogil=True)
def _count(
    a: tuple[Floats, Codes, Floats, Codes, Codes], b: tuple[Floats, Codes, Floats, Codes, Codes],
    copies: Ints, weights: Floats, penalty: Floats, tolerance: float, enough: int,
    start: int, stop: int, to_own: Floats, nearer: Ints, ties: Ints,
) -> None:  # fmt: skip
    """Fill `nearer` and `ties` for the queries of blocks start..stop of `a`."""
    ax, ac, abox, aspan, agaps = a
    bx, bc, bbox, bspan, bgaps = b
    bound, out = np.empty(bx.shape[0]), np.empty(BLOCK)
    for g in range(start, stop):
        # One order of the blocks serves all queries of the group, which lie close together.
        _bounds(
            bbox, bspan, bgaps, weights, penalty,
            abox[:, :, g].copy(), aspan[:, :, g].copy(), agaps[:, g].copy(), bound,
        )  # fmt: skip
        order = np.argsort(bound)
        for i in range(g * BLOCK, min((g + 1) * BLOCK, to_own.size)):
            if to_own[i] == np.inf:
                nearer[i], ties[i] = enough, 0
                continue
            x, c = ax[g, :, i - g * BLOCK].copy(), ac[g, :, i - g * BLOCK].copy()
            low = to_own[i] - tolerance * to_own[i]
            high = to_own[i] + tolerance * to_own[i]
            below, level = np.int64(0), np.int64(0)
            for s in range(order.size):
                block = order[s]
                if bound[block] > high or below >= enough:
                    break
                if _far(block, bbox, bspan, bgaps, weights, penalty, x, c) > high:
                    continue
                _distances(bx[block], bc[block], weights, penalty, x, c, out)
                for k in range(block * BLOCK, min((block + 1) * BLOCK, copies.size)):
                    if out[k - block * BLOCK] < low:
                        below += copies[k]
                    elif out[k - block * BLOCK] <= high:
                        level += copies[k]
            nearer[i] = below if below < enough else enough
            ties[i] = level if below < enough else 0


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
    xa, xb = _matrix("a", a), _matrix("b", b)
    ca, cb = _code_matrix("codes_a", codes_a, len(xa)), _code_matrix("codes_b", codes_b, len(xb))
    mine = np.array(own, dtype=np.int64)
    if xa.shape[1] != xb.shape[1] or ca.shape[1] != cb.shape[1]:
        raise ValueError("a and b must have the same columns")
    if not len(xb):
        raise ValueError("b has no records to link to")
    if mine.shape != (len(xa),) or (mine.size and (mine.min() < -1 or mine.max() >= len(xb))):
        raise ValueError("own must name a row of b, or -1, for each row of a")
    if enough < 1 or not 0 <= tolerance < 1:
        raise ValueError("enough is at least 1, and the tolerance from 0 to below 1")
    nearer, ties = np.empty(len(xa), np.int64), np.empty(len(xa), np.int64)
    if not len(xa):
        return OwnRank(nearer, ties)
    weights, penalty = np.ones(ca.shape[1]), np.ones(xa.shape[1])
    whole = ~(np.isnan(xa).any(axis=0) | np.isnan(xb).any(axis=0))
    rule = np.where(whole, -1.0, penalty)
    first, member = distinct_rows(xb.view(np.int64), cb)
    by_block = order_in_blocks(xb, cb, weights, first, BLOCK)
    copies = np.bincount(member, minlength=first.size)[member[by_block]].astype(np.int64)
    order = order_in_blocks(xa, ca, weights, np.arange(len(xa)), BLOCK)
    queries, blocks = _fill(xa, ca, order), _fill(xb, cb, by_block)
    to_own = _own(xa, xb, ca, cb, mine, weights, penalty)[order]
    workers = cores(threads)
    groups = len(queries[0])
    cuts = np.linspace(0, groups, min(groups, 8 * workers) + 1).astype(np.int64)
    found, level = np.empty(len(xa), np.int64), np.empty(len(xa), np.int64)
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(_count, queries, blocks, copies, weights, rule, float(tolerance), enough,
                        start, stop, to_own, found, level)
            for start, stop in pairwise(cuts.tolist())
        ]  # fmt: skip
        for task in tasks:
            task.result()
    nearer[order], ties[order] = found, level
    return OwnRank(nearer, ties)
