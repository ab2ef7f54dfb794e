"""What a scan keeps of each target that looks for its nearest records.

The k nearest rows, the lower of equally near ones first; and by distance the records that tie for
the nearest place, up to TIES different distances. Where there are more, the target is marked as
spilt, and is counted anew (`_recount.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import cuda

from ._exact import plus, squared, times
from ._scan import ROOM, Rule

TIES = 8
"""Different distances that may tie for the nearest place before a target is spilt."""
LEAST = 1e-300
"""More than rounding does to the smallest squares."""


class Lists(NamedTuple):
    """Of each target, on the card."""

    begin: Any
    """what concerns it at most from the beginning"""
    squares: Any
    rows: Any
    values: Any
    """distances of records that tie"""
    counts: Any
    """their rows, and"""
    lowest: Any
    """the lowest of these"""
    spilt: Any


@cuda.jit(device=True)
def put_row(total: float, row: int, i: int, squares: Any, rows: Any) -> bool:
    """Put a row into the list of the nearest of target i; False where it is too far."""
    at = squares.shape[1] - 1
    if total > squares[i, at] or (total == squares[i, at] and row > rows[i, at]):
        return False
    while at > 0 and (
        squares[i, at - 1] > total or (squares[i, at - 1] == total and rows[i, at - 1] > row)
    ):
        squares[i, at], rows[i, at] = squares[i, at - 1], rows[i, at - 1]
        at -= 1
    squares[i, at], rows[i, at] = total, row
    return True


@cuda.jit(device=True)
def put_tie(
    total: float, many: int, row: int, i: int, within: float, values: Any, counts: Any, lowest: Any
) -> bool:
    """Count a record among those of its distance; False where there is no place for another."""
    place = -1
    for c in range(values.shape[1]):
        if values[i, c] == total:
            counts[i, c] += many
            lowest[i, c] = min(lowest[i, c], row)
            return True
        if values[i, c] > within:
            place = c
    if place < 0:
        return False
    values[i, place], counts[i, place], lowest[i, place] = total, many, row
    return True


@cuda.jit(device=True)
def tied(least: float, tolerance: float) -> float:
    """What ties with the nearest, and a hair more: how exactly it is rounded is the caller's."""
    return plus(times(times(least, plus(1.0, tolerance)), ROOM), LEAST)


@cuda.jit(device=True)
def _limit(i: int, tolerance: float, lists: Any) -> float:
    """What a record's squared distance to target i may be for it to matter still."""
    squares = lists[1]
    ties = tied(squares[i, 0], tolerance)
    return min(lists[0][i], max(squares[i, squares.shape[1] - 1], ties))


@cuda.jit(device=True)
def _decide(
    i: int, u: int, limit: float, tolerance: float, a: Any, b: Any, starts: Any, its: Any,
    lists: Any,
) -> float:  # fmt: skip
    """Look at record u for target i in double precision; what matters from now on."""
    _, squares, rows, values, counts, lowest, spilt = lists
    total = squared(b, u, a, i)
    if total > limit:
        return limit
    for at in range(starts[u], starts[u + 1]):
        if not put_row(total, its[at], i, squares, rows):
            break
    ties = tied(squares[i, 0], tolerance)
    many = starts[u + 1] - starts[u]
    if total <= ties and not put_tie(total, many, its[starts[u]], i, ties, values, counts, lowest):
        spilt[i] = 1
    return _limit(i, tolerance, lists)


NEAREST = Rule(_limit, _decide)
