"""Moves of cells that keep a table's relations: cells tied two by two, and how far each can go.

A relation with two hidden cells ties them: one moves by a multiple of the other. Chains of such
ties make classes of cells that move together, and a chain that closes with another multiple cannot
move at all.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Bools, Floats, Ints

SAME = 1e-12
"""Two multiples are the same up to this, relative to their size."""


@njit(cache=True, nogil=True)
def _root(parent: Ints, factor: Floats, cell: int) -> int:
    """The root of a cell; afterwards cell = factor[cell] * root."""
    root = cell
    total = 1.0
    while parent[root] != root:
        total *= factor[root]
        root = parent[root]
    # Second pass: everything on the way hangs on the root itself.
    at = cell
    while parent[at] != root and at != root:
        above, own = parent[at], factor[at]
        parent[at], factor[at] = root, total
        total /= own
        at = above
    return root


@njit(cache=True, nogil=True)
def tie(
    first: Ints, second: Ints, ratio: Floats, parent: Ints, factor: Floats, still: Bools
) -> None:
    """Tie first[i] = ratio[i] * second[i], for all i, into the forest (parent, factor).

    `still` marks the roots whose class cannot move. All three are changed in place.
    """
    for i in range(first.size):
        a = _root(parent, factor, first[i])
        b = _root(parent, factor, second[i])
        along = factor[first[i]] if first[i] != a else 1.0
        other = ratio[i] * (factor[second[i]] if second[i] != b else 1.0)
        if a == b:
            if abs(along - other) > SAME * max(abs(along), abs(other)):
                still[a] = True
        else:
            # along * a = other * b
            if a < b:
                parent[b], factor[b] = a, along / other
                still[a] |= still[b]
            else:
                parent[a], factor[a] = b, other / along
                still[b] |= still[a]


@njit(cache=True, nogil=True)
def roots(parent: Ints, factor: Floats) -> tuple[Ints, Floats]:
    """The root of every cell, and cell = factor * root."""
    n = parent.size
    root, times = np.empty(n, np.int64), np.ones(n)
    for i in range(n):
        root[i] = _root(parent, factor, i)
        if root[i] != i:
            times[i] = factor[i]
    return root, times


@njit(cache=True, nogil=True)
def propagate(
    starts: Ints, cells: Ints, coefs: Floats, low: Floats, high: Floats, rounds: int
) -> None:
    """Narrow low <= move <= high, in place, by what each relation (sum of coefs * moves = 0)
    leaves to each of its cells. What remains holds for every move that keeps the relations."""
    for _ in range(rounds):
        narrowed = False
        for r in range(starts.size - 1):
            least, most, size = 0.0, 0.0, 0.0
            open_least, open_most = 0, 0
            for e in range(starts[r], starts[r + 1]):
                a, c = coefs[e], cells[e]
                p, q = (a * low[c], a * high[c]) if a > 0 else (a * high[c], a * low[c])
                if p == -np.inf:
                    open_least += 1
                else:
                    least += p
                    size += abs(p)
                if q == np.inf:
                    open_most += 1
                else:
                    most += q
                    size += abs(q)
            if open_least > 1 and open_most > 1:
                continue
            # Rounding never makes a bound too narrow.
            spare = 1e-15 * (starts[r + 1] - starts[r] + 2) * size
            for e in range(starts[r], starts[r + 1]):
                a, c = coefs[e], cells[e]
                p, q = (a * low[c], a * high[c]) if a > 0 else (a * high[c], a * low[c])
                # The others reach from `under` to `over`, so a * move lies in -over .. -under.
                under, over = -np.inf, np.inf
                if open_least == 0:
                    under = least - p
                elif open_least == 1 and p == -np.inf:
                    under = least
                if open_most == 0:
                    over = most - q
                elif open_most == 1 and q == np.inf:
                    over = most
                top, bottom = (spare - under) / abs(a), (-over - spare) / abs(a)
                if a < 0:
                    top, bottom = -bottom, -top
                # Not below zero: no move is always possible.
                top, bottom = max(top, 0.0), min(bottom, 0.0)
                if top < high[c] and (high[c] == np.inf or high[c] - top > 1e-9 * high[c]):
                    high[c] = top
                    narrowed = True
                if bottom > low[c] and (low[c] == -np.inf or bottom - low[c] > -1e-9 * low[c]):
                    low[c] = bottom
                    narrowed = True
        if not narrowed:
            break


@njit(cache=True, nogil=True)
def near(starts: Ints, cells: Ints, by_starts: Ints, by_rows: Ints, seed: int, limit: int) -> Ints:
    """Cells around one, by the number of relations in between, the seed first; about `limit`."""
    seen = {seed}
    used = {-1}
    order = [seed]
    at = 0
    while at < len(order) and len(order) < limit:
        c = order[at]
        at += 1
        for i in range(by_starts[c], by_starts[c + 1]):
            r = by_rows[i]
            if r in used:
                continue
            used.add(r)
            for e in range(starts[r], starts[r + 1]):
                if cells[e] not in seen:
                    seen.add(cells[e])
                    order.append(cells[e])
    return np.array(order, np.int64)
