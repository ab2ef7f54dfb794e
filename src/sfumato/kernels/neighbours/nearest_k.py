"""The k nearest release records of every target, exactly, and how many share the nearest place.

Equal records are collapsed first. Both files are arranged in blocks of neighbours (blocks.py), and
a block whose box lies beyond a target's k-th neighbour so far is passed over. In many coordinates
most blocks are not. There, four targets at a time are compared with a block in single precision,
by |b|^2 - 2 a.b, which is one multiplication to a coordinate. Its rounding error has a bound, and
every record that might be among the nearest within that bound is compared again in double
precision. So the answer is that of a plain scan, to the last bit: squared differences added in the
order of the coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..device import on_card
from ..threads import in_parts
from .blocks import LARGEST, box_distances, distinct_rows, order_in_blocks, ranked

TOLERANCE = 1e-9
"""Records tie for the nearest place up to this share of the squared distance."""
BLOCK = 64  # release records to a box, and targets to a group
LANES = 4  # targets compared at once
NOBODY = np.float32(1e30)  # the score of what a last block lacks; no real score exceeds 4 d
TINY = 1e-15  # more than all that underflow can lose, where coordinates are at most 1

Singles = NDArray[np.float32]
_LOOSE = {"contract", "nnan", "ninf", "nsz"}  # scores are bounded and finite by construction


class NearestK(NamedTuple):
    """What `nearest_k` finds for each target."""

    rows: Ints
    """(n, k) release rows, the nearest first; of equally near ones the lowest row"""
    squares: Floats
    """(n, k) squared distances, ascending"""
    ties: Ints
    """how many release rows are as near as the nearest, up to rounding"""


class _Blocks(NamedTuple):
    """Distinct release records in blocks."""

    points: Floats
    """(m, d), block after block"""
    box: Floats
    """(2, d, blocks): least and greatest coordinates"""
    scores: Singles
    """(blocks, d, BLOCK): centred and scaled, padded to four coordinates"""
    base: Singles
    """(blocks, BLOCK): their squared lengths"""
    length: Floats
    """(blocks,): the greatest length"""
    starts: Ints
    """(m + 1,): where each record's rows begin"""
    rows: Ints


class _Targets(NamedTuple):
    """Distinct targets, neighbours beside one another."""

    points: Floats
    factors: Singles
    """(n, d): centred, scaled, times -2"""
    length: Floats


@njit(cache=True, nogil=True, fastmath=_LOOSE)
def _scores(block: Singles, base: Singles, factors: Singles, out: Singles, least: Singles) -> None:
    """Scores of four targets against one block, and each target's least."""
    o0, o1, o2, o3 = out[0], out[1], out[2], out[3]
    for i in range(BLOCK):
        o0[i], o1[i], o2[i], o3[i] = base[i], base[i], base[i], base[i]
    for j in range(0, factors.shape[1], 4):
        b0, b1, b2, b3 = block[j], block[j + 1], block[j + 2], block[j + 3]
        p0, p1, p2, p3 = factors[0, j], factors[0, j + 1], factors[0, j + 2], factors[0, j + 3]
        q0, q1, q2, q3 = factors[1, j], factors[1, j + 1], factors[1, j + 2], factors[1, j + 3]
        r0, r1, r2, r3 = factors[2, j], factors[2, j + 1], factors[2, j + 2], factors[2, j + 3]
        s0, s1, s2, s3 = factors[3, j], factors[3, j + 1], factors[3, j + 2], factors[3, j + 3]
        for i in range(BLOCK):
            u, v, w, x = b0[i], b1[i], b2[i], b3[i]
            o0[i] = o0[i] + p0 * u + p1 * v + p2 * w + p3 * x
            o1[i] = o1[i] + q0 * u + q1 * v + q2 * w + q3 * x
            o2[i] = o2[i] + r0 * u + r1 * v + r2 * w + r3 * x
            o3[i] = o3[i] + s0 * u + s1 * v + s2 * w + s3 * x
    for q in range(LANES):
        line, best = out[q], NOBODY
        for i in range(BLOCK):
            best = min(best, line[i])
        least[q] = best


@njit(cache=True, nogil=True)
def _square(x: Floats, y: Floats) -> float:
    total = 0.0
    for j in range(x.size):
        step = x[j] - y[j]
        total += step * step
    return total


@njit(cache=True, nogil=True)
def _insert(total: float, r: int, squares: Floats, rows: Ints) -> bool:
    """Put a row into the list of the nearest; False where it is too far."""
    at = squares.size - 1
    if total > squares[at] or (total == squares[at] and r > rows[at]):
        return False
    while at > 0 and (squares[at - 1] > total or (squares[at - 1] == total and rows[at - 1] > r)):
        squares[at], rows[at] = squares[at - 1], rows[at - 1]
        at -= 1
    squares[at], rows[at] = total, r
    return True


@njit(cache=True, nogil=True)
def _search(
    a: _Targets, b: _Blocks, scale: float, error: float, start: int, stop: int,
    squares: Floats, rows: Ints, ties: Ints,
) -> None:  # fmt: skip
    """Fill the results for the targets of groups start..stop."""
    _, d, blocks = b.box.shape
    n, m = a.points.shape[0], b.points.shape[0]
    k = squares.shape[1]
    group, gap = np.empty(blocks), np.empty(blocks)
    out, least = np.empty((LANES, BLOCK), np.float32), np.empty(LANES, np.float32)
    reached = np.empty((LANES, blocks), np.float32)
    lower, upper = np.empty(d), np.empty(d)
    limit, offset = np.empty(LANES), np.empty(LANES)
    for g in range(start, stop):
        for j in range(d):
            here = a.points[g * BLOCK : min((g + 1) * BLOCK, n), j]
            lower[j], upper[j] = here.min(), here.max()
        box_distances(lower, upper, b.box, group)
        order = ranked(group)
        for first in range(g * BLOCK, min((g + 1) * BLOCK, n), LANES):
            lanes = min(LANES, n - first)
            for j in range(d):
                here = a.points[first : first + lanes, j]
                lower[j], upper[j] = here.min(), here.max()
            box_distances(lower, upper, b.box, gap)
            factors = a.factors[first : first + LANES]
            reached[:] = NOBODY
            limit[:] = np.inf
            furthest = np.inf
            for q in range(lanes):
                offset[q] = (a.length[first + q]) ** 2
            for s in range(blocks):
                h = order[s]
                if gap[h] > furthest:
                    continue
                _scores(b.scores[h], b.base[h], factors, out, least)
                for q in range(lanes):
                    i = first + q
                    reached[q, h] = least[q]
                    slack = error * (a.length[i] + b.length[h]) ** 2 + TINY
                    cut = limit[q] * scale - offset[q] + slack
                    if least[q] > cut:
                        continue
                    for c in range(min(BLOCK, m - h * BLOCK)):
                        if out[q, c] > cut:
                            continue
                        u = h * BLOCK + c
                        total = _square(a.points[i], b.points[u])
                        for at in range(b.starts[u], b.starts[u + 1]):
                            if not _insert(total, b.rows[at], squares[i], rows[i]):
                                break
                        limit[q] = max(squares[i, k - 1], squares[i, 0] * (1 + TOLERANCE))
                        cut = limit[q] * scale - offset[q] + slack
                    furthest = limit[:lanes].max()
            # Only now is the nearest known: count in the few blocks that come as near.
            for q in range(lanes):
                i = first + q
                nearest = squares[i, 0] * (1 + TOLERANCE)
                for h in range(blocks):
                    slack = error * (a.length[i] + b.length[h]) ** 2 + TINY
                    if reached[q, h] <= nearest * scale - offset[q] + slack:
                        for u in range(h * BLOCK, min((h + 1) * BLOCK, m)):
                            if _square(a.points[i], b.points[u]) <= nearest:
                                ties[i] += b.starts[u + 1] - b.starts[u]


def nearest_k(
    targets: np.ndarray, release: np.ndarray, k: int, *, threads: int | None = None
) -> NearestK:
    """The k rows of `release` nearest to each row of `targets` (Euclidean, no missing values).

    Of equally near rows the lower one comes first. `threads` never alters the result.

    >>> found = nearest_k(np.array([[0.0], [4.0]]), np.array([[3.0], [1.0], [3.0]]), 2)
    >>> found.rows.tolist(), found.squares.tolist(), found.ties.tolist()
    ([[1, 0], [0, 2]], [[1.0, 9.0], [1.0, 1.0]], [1, 2])
    """
    a, b = checked_points(targets, release, k)
    if not len(a):
        return NearestK(np.empty((0, k), np.int64), np.empty((0, k)), np.empty(0, np.int64))
    size = (len(a), len(b), a.shape[1], k)
    if (found := on_card("nearest-k", size, lambda: _on_card(a, b, k))) is not None:
        return found
    blocks, centre, unit = _arranged(b, a)
    first, member = distinct_rows(a.view(np.int64), np.empty((len(a), 0), np.int32))
    order = order_in_blocks(a, np.empty(0), first, BLOCK)
    queries = _queries(a[order], centre, unit)
    n, d = queries.points.shape
    squares, rows = np.full((n, k), np.inf), np.full((n, k), len(b), np.int64)
    ties = np.zeros(n, np.int64)
    # d products and sums, three roundings of what goes in, and room to spare.
    error = (d + 12) * 2.0**-24

    def work(start: int, stop: int) -> None:
        _search(queries, blocks, unit**2, error, start, stop, squares, rows, ties)

    in_parts(work, -(-n // BLOCK), threads, 16, "predicting")
    place = np.empty(n, np.int64)
    place[member[order]] = np.arange(n)
    where = place[member]
    return NearestK(rows[where], squares[where], ties[where])


def _on_card(a: Floats, b: Floats, k: int) -> NearestK | None:
    from ..gpu.nearest import nearest

    found = nearest(a, b, k, TOLERANCE, lambda least: least * (1 + TOLERANCE))
    return None if found is None else NearestK(found.rows, found.squares, found.ties)


def checked_points(targets: np.ndarray, release: np.ndarray, k: int) -> tuple[Floats, Floats]:
    """Both as matrices among which k nearest can be looked for."""
    a, b = _points("targets", targets), _points("release", release)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"targets have {a.shape[1]} coordinates and the release {b.shape[1]}")
    if not 1 <= k <= len(b):
        raise ValueError(f"k is from 1 to the {len(b)} records of the release, not {k}")
    return a, b


def _points(name: str, values: np.ndarray) -> Floats:
    x = np.ascontiguousarray(values, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix of records by coordinates, not {x.shape}")
    if x.size and not np.abs(x).max() <= LARGEST:
        raise ValueError(f"{name} hold a value that is missing or beyond {LARGEST:g}")
    return x + 0.0  # one zero, so that equal records have equal bits


def _singles(x: Floats, centre: Floats, unit: float, rows: int) -> tuple[Floats, Singles]:
    """Centred and scaled points: in double precision, and padded in single precision."""
    moved = (x - centre) * unit
    padded = np.zeros((rows, max(-(-x.shape[1] // 4) * 4, 4)), np.float32)
    padded[: len(x), : x.shape[1]] = moved
    return moved, padded


def _queries(x: Floats, centre: Floats, unit: float) -> _Targets:
    moved, padded = _singles(x, centre, unit, len(x) + LANES)
    return _Targets(x, -2 * padded, np.sqrt((moved**2).sum(axis=1)))


def _arranged(b: Floats, a: Floats) -> tuple[_Blocks, Floats, float]:
    """The release in blocks, and the centre and unit of its single precision."""
    first, member = distinct_rows(b.view(np.int64), np.empty((len(b), 0), np.int32))
    order = order_in_blocks(b, np.empty(0), first, BLOCK)
    points = b[order]
    m = len(points)
    blocks = -(-m // BLOCK)
    place = np.empty(m, np.int64)
    place[member[order]] = np.arange(m)
    where = place[member]
    starts = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=m))])
    rows = np.argsort(where, kind="stable")
    edges = np.arange(0, m, BLOCK)
    ends = (np.minimum.reduceat(points, edges, axis=0), np.maximum.reduceat(points, edges, axis=0))
    box = np.stack([ends[0].T, ends[1].T])
    centre = points.mean(axis=0)
    spread = max((np.abs(x - centre).max() if x.size else 0.0) for x in (points, a))
    # A power of two scales without rounding; no coordinate exceeds 1 in single precision.
    unit = float(2.0 ** -np.clip(np.ceil(np.log2(spread)), -500, 500)) if spread > 0 else 1.0
    moved, padded = _singles(points, centre, unit, blocks * BLOCK)
    squares = (moved**2).sum(axis=1)
    base = np.full(blocks * BLOCK, NOBODY, np.float32)
    base[:m] = squares
    scores = padded.reshape(blocks, BLOCK, -1).transpose(0, 2, 1).copy()
    length = np.sqrt(np.maximum.reduceat(squares, edges))
    return (
        _Blocks(points, box, scores, base.reshape(blocks, BLOCK), length, starts, rows),
        centre,
        unit,
    )
