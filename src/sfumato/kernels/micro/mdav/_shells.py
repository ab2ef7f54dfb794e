"""MDAV's farthest record: points in shells around a centre, the outermost first.

MDAV asks for the record farthest from the centroid and for the one farthest from that record. Both
lie far out. Points are sorted by their distance from a centre, which is the centroid at the time of
sorting; by the triangle inequality a point at distance a from the centre is at most a + b from a
point at distance b from it. A search goes inwards and ends at the first chunk of points that this
bound puts below the best found. The centroid moves little while records are taken off, so a search
from it ends almost at once; a search from a far record ends after a few hundredths of the points.

The bound is raised by more than rounding can have taken from it, and who wins is decided by the
distances themselves, summed as MDAV says.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.micro.mdav._lanes import (
    LANES,
    add_squares,
    add_weights,
    lanes_at_least,
    lowest_lane,
)

LEAST = 1e-300
"""Above the square of anything that underflow can take from a distance."""


class Shells(NamedTuple):
    """Points by distance from a centre, falling, in chunks; the last chunk is filled up."""

    x: Floats
    """(chunks, p, LANES): numeric columns."""
    c: Codes
    """(chunks, q, LANES): nominal columns."""
    start: Floats
    """(chunks, LANES): 0 for a point that remains, else -infinity: sums of squares start here."""
    point: Ints
    """(chunks, LANES): its number."""
    where: Ints
    """(points,): chunk * LANES + place of each."""
    left: Ints
    """(chunks,): points that remain."""
    reach: Floats
    """(chunks,): the greatest distance from the centre."""
    centre: Floats
    modes: Codes
    weights: Floats
    outermost: Ints
    """(1,): all chunks before this one are empty."""


@njit(cache=True, nogil=True)
def distance(x: Floats, c: Codes, weights: Floats, at: int, centre: Floats, modes: Codes) -> float:
    """Squared distance of point `at` from a centre."""
    total = 0.0
    for j in range(x.shape[1]):
        step = x[at, j] - centre[j]
        total += step * step
    for j in range(c.shape[1]):
        if c[at, j] != modes[j]:
            total += weights[j]
    return total


@njit(cache=True, nogil=True)
def _from_centre(
    x: Floats, c: Codes, weights: Floats, points: Ints, centre: Floats, modes: Codes, out: Floats
) -> None:
    for i in range(points.size):
        out[i] = distance(x, c, weights, points[i], centre, modes)


@njit(cache=True, nogil=True)
def gather(x: Any, points: Ints, centre: Floats, scale: float, out: Any) -> None:
    """Write points into pieces of LANES, column by column, relative to `centre` and scaled.

    The last piece is filled up with the last point.
    """
    pieces, columns, _ = out.shape
    for b in range(pieces):
        for i in range(LANES):
            point = points[min(b * LANES + i, points.size - 1)]
            for j in range(columns):
                out[b, j, i] = (x[point, j] - centre[j]) * scale


@njit(cache=True, nogil=True)
def gather_codes(c: Codes, points: Ints, out: Codes) -> None:
    """Write codes into pieces, as `gather` does numbers."""
    pieces, columns, _ = out.shape
    for b in range(pieces):
        for i in range(LANES):
            point = points[min(b * LANES + i, points.size - 1)]
            for j in range(columns):
                out[b, j, i] = c[point, j]


def places(points: Ints, where: Ints, gone: float) -> tuple[Ints, Any]:
    """Numbers of the points in pieces of LANES, and where sums start: at 0, in a gap at `gone`.

    `where` is filled for the points.
    """
    pieces = -(-len(points) // LANES)
    point, start = np.zeros((pieces, LANES), np.int64), np.full((pieces, LANES), gone)
    point.reshape(-1)[: len(points)] = points
    start.reshape(-1)[: len(points)] = 0.0
    where[points] = np.arange(len(points))
    return point, start


def shells(
    x: Floats, c: Codes, weights: Floats, points: Ints, centre: Floats, modes: Codes, where: Ints
) -> Shells:
    """Sort `points`, the ones that remain; `where` is filled for them."""
    square = np.empty(len(points))
    _from_centre(x, c, weights, points, centre, modes, square)
    falling = np.argsort(-square)  # the order of equals changes no answer
    order = points[falling]
    point, start = places(order, where, -np.inf)
    pieces = len(point)
    sx, sc = np.empty((pieces, x.shape[1], LANES)), np.empty((pieces, c.shape[1], LANES), np.int32)
    gather(x, order, np.zeros(x.shape[1]), 1.0, sx)
    gather_codes(c, order, sc)
    return Shells(
        x=sx,
        c=sc,
        start=start,
        point=point,
        where=where,
        left=np.count_nonzero(start == 0.0, axis=1),
        reach=np.sqrt(square[falling[::LANES]]),
        centre=centre.copy(),
        modes=modes.copy(),
        weights=weights,
        outermost=np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def leave_shells(s: Shells, points: Ints) -> None:
    """Take points off."""
    where, start, left, outermost = s.where, s.start, s.left, s.outermost
    for point in points:
        b = where[point] // LANES
        start[b, where[point] % LANES] = -np.inf
        left[b] -= 1
    while outermost[0] < left.size and left[outermost[0]] == 0:
        outermost[0] += 1


@njit(cache=True, nogil=True)
def farthest(
    s: Shells, x: Floats, c: Codes, rows: Ints, ahead: Ints, seen: Ints, out: Floats
) -> int:
    """The remaining point farthest from (x, c); of equals the one with the lowest row.

    The lowest remaining row of point i is `rows[ahead[i]]`. `seen[0]` counts the chunks looked at,
    `out` is room for LANES sums.
    """
    p, q = x.size, c.size
    away = 0.0
    for j in range(p):
        step = x[j] - s.centre[j]
        away += step * step
    for j in range(q):
        if c[j] != s.modes[j]:
            away += s.weights[j]
    away = math.sqrt(away)
    # Each of the roundings in three sums of p + q squares takes at most this share away.
    rise = 1.0 + 8.0 * (p + q + 4) * np.finfo(np.float64).eps
    best, found = -1.0, -1
    # Fields are read once: each reading counts a reference, which costs as much as a column.
    columns, codes, start, weights, point = s.x, s.c, s.start, s.weights, s.point
    left, reach = s.left, s.reach
    for b in range(s.outermost[0], left.size):
        seen[0] += 1
        if left[b] == 0:
            continue
        bound = reach[b] + away
        if bound * bound * rise + LEAST < best:
            break
        add_squares(columns, b * p * LANES, x, weights, start, b * LANES, out)
        if q > 0:
            add_weights(codes, b * q * LANES, c, weights, out, 0, out)
        hits = lanes_at_least(out, best)
        while hits != 0:
            i = lowest_lane(hits)
            hits &= hits - 1
            this = point[b, i]
            if out[i] > best or (out[i] == best and rows[ahead[this]] < rows[ahead[found]]):
                best, found = out[i], this
    return found
