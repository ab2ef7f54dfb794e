"""The scan: every target beside every record, in tiles, by single precision; decided in double.

A block of threads holds a tile of targets and goes through the tiles of records. A tile whose box
lies beyond what each of its targets looks for is passed over. The others are scored as a matrix
product, |b|^2 - 2 a.b, each thread adding EACH by EACH scores in registers from coordinates in
shared memory. A score that may, by the bound of its error, be within a target's limit is a hit, and
the thread to which the target belongs decides it in double precision: so nothing is decided twice,
in no order but that of one thread, and the limit falls while the scan goes on. Where a tile has
more hits of a target than HITS, its owner looks at the whole tile.

What a target looks for, and what is kept of it, is said by a `Rule`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ._exact import SIMULATED, apart

FLUSHED = 1e-30
"""More than what underflow takes from a score, for coordinates of at most 1."""
ROOM = 1.0 + 2.0**-40
"""More than the roundings by which double precision differs from real numbers."""
NARROW = 2.0**-22
"""More than what is lost where a limit becomes single precision, as a share of it."""
FINITE = 3e38


class Rule(NamedTuple):
    """What targets look for: two functions on the card."""

    limit: Any
    """(target, tolerance, lists): the squared distance up to which records concern it"""
    decide: Any
    """(target, record, limit, tolerance, a, b, starts, rows, lists): notes the record in the lists
    where it is within the limit, and gives the limit from then on; below 0 nothing concerns the
    target any more"""


class Shape(NamedTuple):
    """How a scan is cut into pieces."""

    tile: int
    """targets to a block of threads, and records to a tile"""
    side: int
    """threads along each edge of the square of scores"""
    hits: int
    """hits of a target in one tile that are written down"""
    blocks: int
    """blocks that a multiprocessor is to hold, which bounds the registers of a thread"""

    @property
    def threads(self) -> int:
        return self.side**2


SHAPE = Shape(4, 2, 2, 1) if SIMULATED else Shape(128, 16, 8, 2)
"""The simulator runs each thread as one of Python's, and so gets few."""
DEPTHS = (2, 4) if SIMULATED else (2, 4, 6, 8, 10, 12, 14, 16)
"""Coordinates in shared memory at once; each takes a kernel of its own, which is compiled."""


def depth_of(d: int) -> tuple[int, int]:
    """How many coordinates at once, and how many there are when padded to a multiple of that.

    >>> depth_of(4), depth_of(1)
    ((4, 4), (2, 2))
    """
    # Not measured: a time through shared memory, with its barriers, is taken for two coordinates.
    _, padded, depth = min(
        (-(-d // depth) * (depth + 2), -(-d // depth) * depth, depth) for depth in DEPTHS
    )
    return depth, padded


@cache
def scan_of(depth: int, rule: Rule, shape: Shape) -> Any:
    """The kernel for points whose coordinates are padded to a multiple of `depth`."""
    limit_of, decide = rule
    tile, side, hits_kept, blocks = shape
    each, threads, cells = tile // side, side * side, depth * tile
    # Indices without a sign: numba looks whether others are negative, for each of them.
    across, edge, wide = np.uint64(each), np.uint64(side), np.uint64(tile)
    deep = np.uint64(depth)

    @cuda.jit(**({} if SIMULATED else {"launch_bounds": (threads, blocks)}))
    def scan(
        a_singles: Any, a: Any, a_lengths: Any, a_box: Any, b_singles: Any, base: Any, b: Any,
        b_lengths: Any, b_box: Any, starts: Any, its: Any, scale: float, error: float,
        tolerance: float, lists: Any, scored: Any,
    ) -> None:  # fmt: skip
        """Fill the lists of the targets of this block; they may hold what was found before.

        How many tiles were scored is added to `scored`, of each block.
        """
        a_tile = cuda.shared.array(cells, np.float32)
        b_tile = cuda.shared.array(cells, np.float32)
        cut = cuda.shared.array(tile, np.float32)
        count = cuda.shared.array(tile, np.int32)
        hit = cuda.shared.array((tile, hits_kept), np.int32)
        bound = cuda.shared.array(threads, np.float64)
        nearest = cuda.shared.array(threads, np.int32)
        score = cuda.local.array((each, each), np.float32)
        ours = cuda.local.array(each, np.float32)
        theirs = cuda.local.array(each, np.float32)
        t, g = cuda.threadIdx.x, cuda.blockIdx.x
        row, column = np.uint64(t // side), np.uint64(t % side)
        n, m, tiles = a.shape[0], b.shape[0], b_box.shape[2]
        i = g * tile + t  # the target that belongs to this thread
        owner = t < tile and i < n
        limit = -1.0
        if owner:
            limit = limit_of(i, tolerance, lists)
        # The scan begins at the tile nearest to the targets, so that limits are low at once.
        least, at_least = np.inf, 0
        for h in range(t, tiles, threads):
            gap = apart(a_box, g, b_box, h)
            if gap < least:
                least, at_least = gap, h
        bound[t], nearest[t] = least, at_least
        cuda.syncthreads()
        home, least = 0, np.inf
        for w in range(threads):
            if bound[w] < least:
                least, home = bound[w], nearest[w]
        for s in range(tiles):
            inner = s % threads
            if inner == 0:
                cuda.syncthreads()
                if s + t < tiles:
                    bound[t] = apart(a_box, g, b_box, (home + s + t) % tiles)
                cuda.syncthreads()
            if cuda.syncthreads_or(int(owner and bound[inner] <= limit)) == 0:
                continue
            h = (home + s) % tiles
            if t == 0:
                scored[g] += 1
            if t < tile:
                count[t] = 0
                cut[t] = -FINITE
                if owner and limit >= 0.0:
                    length = a_lengths[i] + b_lengths[h]
                    value = (
                        limit * scale * ROOM
                        - a_lengths[i] * a_lengths[i]
                        + error * length * length
                        + FLUSHED
                    )
                    value += abs(value) * NARROW
                    cut[t] = value if value < FINITE else FINITE
            ahead = np.uint64(h * tile) + column
            for v in range(across):
                theirs[v] = base[ahead + edge * v]
            for u in range(across):
                for v in range(across):
                    score[u, v] = theirs[v]
            for c in range(b_singles.shape[0] // depth):
                cuda.syncthreads()
                for e in range(t, cells, threads):
                    j, at = c * depth + e // tile, e % tile
                    a_tile[e] = a_singles[j, g * tile + at]
                    b_tile[e] = b_singles[j, h * tile + at]
                cuda.syncthreads()
                for j in range(deep):
                    for u in range(across):
                        ours[u] = a_tile[j * wide + row + edge * u]
                        theirs[u] = b_tile[j * wide + column + edge * u]
                    for u in range(across):
                        for v in range(across):
                            score[u, v] += ours[u] * theirs[v]
            for u in range(across):
                q = row + edge * u
                for v in range(across):
                    if score[u, v] <= cut[q]:
                        at = cuda.atomic.add(count, q, 1)
                        if at < hits_kept:
                            hit[q, at] = np.int32(column + edge * v)
            cuda.syncthreads()
            if owner:
                whole = count[t] > hits_kept
                for at in range(tile if whole else count[t]):
                    u = h * tile + (at if whole else hit[t, at])
                    if u < m:
                        limit = decide(i, u, limit, tolerance, a, b, starts, its, lists)

    return scan
