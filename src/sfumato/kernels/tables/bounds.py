"""What relations between cells leave to each of them."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Floats, Ints

ROUNDS = 100
"""Passes over all relations at most; each narrows what the one before left."""


@njit(cache=True, nogil=True)
def narrowed(starts: Ints, cells: Ints, low: Floats, high: Floats, rounds: int) -> None:
    """Narrow low <= value <= high, in place. In each relation the first cell is the sum of the
    others: cells[starts[r]] of cells[starts[r] + 1 : starts[r + 1]]. Relations that contradict the
    bounds are passed over."""
    for _ in range(rounds):
        moved = False
        for r in range(starts.size - 1):
            first, last = starts[r], starts[r + 1]
            least, most, open_least, open_most = 0.0, 0.0, 0, 0
            size = 0.0
            for e in range(first, last):
                # total - parts = 0: the total with +1, the parts with -1.
                p, q = low[cells[e]], high[cells[e]]
                if e > first:
                    p, q = -q, -p
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
            spare = 1e-12 * size
            if (least > spare and open_least == 0) or (most < -spare and open_most == 0):
                continue
            for e in range(first, last):
                c = cells[e]
                p, q = low[c], high[c]
                if e > first:
                    p, q = -q, -p
                # The others reach from `under` to `over`; this one makes up for them.
                under, over = -np.inf, np.inf
                if open_least == 0:
                    under = least - p
                elif open_least == 1 and p == -np.inf:
                    under = least
                if open_most == 0:
                    over = most - q
                elif open_most == 1 and q == np.inf:
                    over = most
                bottom, top = -over - spare, spare - under
                if e > first:
                    bottom, top = -top, -bottom
                if top < high[c] - 2.0 * spare and top >= low[c] - 2.0 * spare:
                    high[c] = max(top, low[c])
                    moved = True
                if bottom > low[c] + 2.0 * spare and bottom <= high[c] + 2.0 * spare:
                    low[c] = min(bottom, high[c])
                    moved = True
        if not moved:
            break
