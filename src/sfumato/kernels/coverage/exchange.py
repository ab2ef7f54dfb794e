"""Which values the people of a class may have exchanged, if nobody could see it.

A network whose nodes are classes and, beside each, its values; an arrow says that one more unit may
pass. A round trip that leaves a class by one of its values and comes back by another is an
exchange: what is published stays as it is.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Bools, Ints

MOST = 50_000
"""Nodes that one search visits; what it has not found by then counts as impossible."""


@njit(cache=True, nogil=True)
def _search(
    starts: Ints, heads: Ints, begin: int, avoid: int, stamp: int, seen: Ints, queue: Ints,
    most: int,
) -> None:  # fmt: skip
    """Mark with `stamp` what can be reached from `begin` without `avoid`."""
    seen[begin] = stamp
    queue[0] = begin
    done, size = 0, 1
    while done < size and size < most:
        node = queue[done]
        done += 1
        for e in range(starts[node], starts[node + 1]):
            head = heads[e]
            if head != avoid and seen[head] != stamp:
                seen[head] = stamp
                queue[size] = head
                size += 1


@njit(cache=True, nogil=True)
def _exchanges(
    starts: Ints, heads: Ints, asked: Ints, first: Ints, cells: Ints, out: Bools, back: Bools,
    most: int, gives: Bools, takes: Bools,
) -> None:  # fmt: skip
    seen = np.full(starts.size - 1, -1, dtype=np.int64)
    queue = np.empty(starts.size - 1, dtype=np.int64)
    for own in asked:
        for e in range(first[own], first[own + 1]):
            if not out[e]:
                continue
            _search(starts, heads, cells[e], own, e, seen, queue, most)
            for other in range(first[own], first[own + 1]):
                if other != e and back[other] and seen[cells[other]] == e:
                    gives[e] = True
                    takes[other] = True


def exchanges(
    arrows: tuple[Ints, Ints], asked: Ints, first: Ints, cells: Ints, out: Bools, back: Bools
) -> tuple[Bools, Bools]:
    """For each cell (a value of a class): whether it can be left, and come back by, on a round trip
    from its class that comes back by another cell.

    `arrows` are the starts and heads between all nodes, of which the classes come first; the cells
    of class c are the nodes cells[first[c]:first[c + 1]]; `out` and `back` say which of them an
    arrow leads to from the class, and from which one leads to it.

    >>> arrows = np.array([0, 1, 2, 2]), np.array([1, 2])  # class 0, cell 1 -> cell 2
    >>> both = np.array([True, False]), np.array([False, True])
    >>> gives, takes = exchanges(arrows, np.array([0]), np.array([0, 2]), np.array([1, 2]), *both)
    >>> gives.tolist(), takes.tolist()
    ([True, False], [False, True])
    """
    gives, takes = np.zeros(cells.size, dtype=np.bool_), np.zeros(cells.size, dtype=np.bool_)
    _exchanges(*arrows, asked, first, cells, out, back, MOST, gives, takes)
    return gives, takes
