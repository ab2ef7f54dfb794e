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
from typing import NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.arrays import Floats, Ints
from sfumato.kernels.micro.mdav._lanes import LANES, add_distances, lanes_at_least, lowest_lane

LEAST = 1e-300
"""Above the square of anything that underflow can take from a distance."""
EPSILON = float(np.finfo(np.float64).eps)

# Columns of the table of points: where the remaining rows of a point start in the rows by point and
# where they end; its place in the tree and in the shells, which is piece * LANES + lane.
AHEAD, END, LEAF, CHUNK = range(4)
# Entries of the marks that searches leave: how many pieces they looked at, and the first chunk that
# is not empty.
SEEN, OUTERMOST = range(2)


class Shells(NamedTuple):
    """Points by distance from a centre, falling, in chunks; the last chunk is filled up."""

    pieces: Floats
    """(chunks, 1 + columns, LANES): 0 for a point that remains, else -infinity; then its values."""
    point: Ints
    """(chunks, LANES): its number."""
    left: Ints
    """(chunks,): points that remain."""
    reach: Floats
    """(chunks,): the greatest distance from the centre."""
    centre: Floats


def in_pieces(x: Floats, points: Ints, gone: float) -> Floats:
    """Points in pieces of LANES, where sums start and then column by column.

    Sums start at 0. The last piece is filled up with the last point; there they start at `gone`.
    """
    short = -len(points) % LANES
    full = x.take(np.append(points, np.full(short, points[-1])), axis=0)
    start = np.append(np.zeros(len(points)), np.full(short, gone))
    lanes = np.column_stack([start, full]).reshape(-1, LANES, 1 + x.shape[1])
    return lanes.transpose(0, 2, 1).copy()


def numbers(points: Ints) -> Ints:
    """Numbers of points in pieces of LANES."""
    return np.append(points, np.zeros(-len(points) % LANES, np.int64)).reshape(-1, LANES)


def _from_centre(x: Floats, weights: Floats, centre: Floats) -> Floats:
    """Squared distances of points from a centre, summed as MDAV says."""
    total = np.zeros(len(x))
    p = x.shape[1] - len(weights)
    for j in range(p):
        total += (x[:, j] - centre[j]) ** 2
    for j, weight in enumerate(weights, p):
        total += np.where(x[:, j] != centre[j], weight, 0.0)
    return total


def shells(x: Floats, weights: Floats, points: Ints, centre: Floats, place: Ints) -> Shells:
    """Sort `points`, the ones that remain; their places are filled in."""
    square = _from_centre(x.take(points, axis=0), weights, centre)
    falling = np.argsort(-square)  # the order of equals changes no answer
    order = points[falling]
    place[order, CHUNK] = np.arange(len(order))
    pieces = in_pieces(x, order, -np.inf)
    left = np.full(len(pieces), LANES)
    left[-1] -= -len(points) % LANES
    return Shells(
        pieces=pieces,
        point=numbers(order),
        left=left,
        reach=np.sqrt(square[falling[::LANES]]),
        centre=centre.copy(),
    )


@njit(cache=True, nogil=True, inline="always")
def leave_shells(pieces: Floats, left: Ints, place: Ints, points: Ints, marks: Ints) -> None:
    """Take points off."""
    for point in points:
        b = place[point, CHUNK] // LANES
        pieces[b, 0, place[point, CHUNK] % LANES] = -np.inf
        left[b] -= 1
    while marks[OUTERMOST] < left.size and left[marks[OUTERMOST]] == 0:
        marks[OUTERMOST] += 1


@njit(cache=True, nogil=True)
def farthest(
    s: Shells, x: Floats, weights: Floats, rows: Ints, place: Ints, marks: Ints, out: Floats
) -> int:
    """The remaining point farthest from `x`; of equals the one with the lowest row.

    The lowest remaining row of point i is `rows[place[i, AHEAD]]`. `out` is room for LANES sums.
    """
    away, p = 0.0, x.size - weights.size
    for j in range(x.size):
        step = x[j] - s.centre[j]
        away += step * step if j < p else (weights[j - p] if step != 0.0 else 0.0)
    away = math.sqrt(away)
    # Each of the roundings in three sums of squares takes at most this share away.
    rise = 1.0 + 8.0 * (x.size + 4) * EPSILON
    best, found = -1.0, -1
    # Fields are read once: each reading counts a reference, which costs as much as a column.
    pieces, point, left, reach = s.pieces, s.point, s.left, s.reach
    for b in range(marks[OUTERMOST], left.size):
        marks[SEEN] += 1
        if left[b] == 0:
            continue
        bound = reach[b] + away
        if bound * bound * rise + LEAST < best:
            break
        add_distances(pieces, b * (x.size + 1) * LANES, x, weights, out)
        hits = lanes_at_least(out, best)
        while hits != 0:
            i = lowest_lane(hits)
            hits &= hits - 1
            this = point[b, i]
            row = rows[place[this, AHEAD]]
            if out[i] > best or (out[i] == best and row < rows[place[found, AHEAD]]):
                best, found = out[i], this
    return found
