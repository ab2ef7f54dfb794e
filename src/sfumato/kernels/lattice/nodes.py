"""Walking a lattice of levels: numbers of nodes, which are ruled out, and the way up.

A node is a tuple of levels, one for each column; its number counts the last column fastest. What is
known of a node speaks for others: what must be suppressed above must be suppressed below, and what
is joined below stays joined above. A node that is ruled out by any node checked so far is never
looked at (predictive tagging: Samarati 2001; Kohlmayer et al. 2012, Flash).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Ints

Flags = NDArray[np.uint8]


@njit(cache=True, nogil=True)
def node_levels(number: int, shape: Ints, out: Ints) -> None:
    """The levels of the node of that number."""
    for j in range(shape.size - 1, -1, -1):
        out[j] = number % shape[j]
        number //= shape[j]


def node_number(levels: tuple[int, ...], shape: Ints) -> int:
    """The number of a node.

    >>> node_number((1, 2), np.array([2, 3]))
    5
    """
    number = 0
    for level, size in zip(levels, shape.tolist(), strict=True):
        number = number * size + level
    return number


@njit(cache=True, nogil=True, inline="always")
def _below(a: Ints, b: Ints) -> bool:
    for j in range(a.size):  # noqa: SIM110 - compiled code has no generators
        if a[j] > b[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def ruled_out(
    levels: Ints, number: int, floor: int, best: int, best_at: int,
    above: Ints, penalty: Ints, count: int, under: Ints, least: Ints, under_count: int,
) -> bool:  # fmt: skip
    """Whether the node cannot be better than (best, best_at).

    `above[:count]` are nodes whose penalty is owed by every node below them; `under[:under_count]`
    nodes whose figure every node above them has at least. A penalty below zero forbids all below.
    """
    for i in range(count):
        if _below(levels, above[i]):
            owed = penalty[i]
            if owed < 0 or floor + owed > best or (floor + owed == best and number > best_at):
                if i > 0:
                    # What ruled out one node is likely to rule out the next.
                    for j in range(levels.size):
                        above[i, j], above[i // 2, j] = above[i // 2, j], above[i, j]
                    penalty[i], penalty[i // 2] = penalty[i // 2], owed
                return True
    for i in range(under_count):
        if _below(under[i], levels) and (
            least[i] > best or (least[i] == best and number > best_at)
        ):
            return True
    return False


@njit(cache=True, nogil=True)
def next_open(
    order: Ints, start: int, floors: Ints, done: Flags, shape: Ints, best: int, best_at: int,
    above: Ints, penalty: Ints, count: int, under: Ints, least: Ints, under_count: int,
) -> int:  # fmt: skip
    """The first place of `order` from `start` on whose node is not ruled out; its end if none."""
    levels = np.empty(shape.size, np.int64)
    for place in range(start, order.size):
        number = order[place]
        if floors[number] > best:
            return order.size
        if done[number]:
            continue
        node_levels(number, shape, levels)
        if not ruled_out(
            levels, number, floors[number], best, best_at,
            above, penalty, count, under, least, under_count,
        ):  # fmt: skip
            return place
    return order.size


@njit(cache=True, nogil=True)
def way_up(levels: Ints, shape: Ints, climbs: Ints, above: Ints, penalty: Ints, count: int) -> Ints:
    """Nodes from this one to the top, each time by the step that costs least; nodes known to be
    forbidden are gone around while that is possible."""
    steps = 1
    for j in range(shape.size):
        steps += shape[j] - 1 - levels[j]
    path = np.empty((steps, shape.size), np.int64)
    path[0] = levels
    for s in range(1, steps):
        path[s] = path[s - 1]
        chosen, least, open_step = -1, 0, False
        for j in range(shape.size):
            if path[s, j] + 1 >= shape[j]:
                continue
            price = climbs[j, path[s, j]]
            path[s, j] += 1
            free = True
            for i in range(count):
                if penalty[i] < 0 and _below(path[s], above[i]):
                    free = False
                    break
            path[s, j] -= 1
            better = free and not open_step
            if chosen < 0 or better or (free == open_step and price < least):
                chosen, least, open_step = j, price, free
        path[s, chosen] += 1
    return path


@njit(cache=True, nogil=True)
def nearest_below(levels: Ints, known: Ints, sizes: Ints, count: int) -> int:
    """Which of the known nodes at or below this one has the fewest classes; -1 if none."""
    found = -1
    for i in range(count):
        if (found < 0 or sizes[i] < sizes[found]) and _below(known[i], levels):
            found = i
    return found
