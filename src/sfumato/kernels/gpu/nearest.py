"""The nearest records on the card: what `linkage.nearest` and `nearest_k` find, to the last bit.

Both files are arranged on the host and go to the card in parts that fit: targets in parts, for each
of which the records pass by in slabs. Of the card's free memory a share is taken and no more
(`_card.SHARE`); where everything fits, records go there once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from sfumato.progress import report

from ..arrays import Floats, Ints
from . import _card
from ._recount import recount, settle
from ._scan import LEAST, ROOM, SHAPE, TIES, depth_of, scan_of
from ._tiles import MOST_COLUMNS, NOBODY, Side, arranged, greatest, padded, scale_of

NO_ROW = np.iinfo(np.int64).max
SOME = 1 << 20
"""Targets to a part at most, so that progress is told."""


class Near(NamedTuple):
    """What is found of each target."""

    squares: Floats
    """(n, k) squared distances, ascending"""
    rows: Ints
    """(n, k): of equally near rows the lowest first"""
    ties: Ints
    """rows within the limit of the nearest"""
    first: Ints
    """the lowest of them"""


class _Slab(NamedTuple):
    """Records on the card."""

    singles: Any
    base: Any
    points: Any
    lengths: Any
    box: Any
    starts: Any
    rows: Any


def suited(d: int) -> bool:
    """Whether records of so many columns are compared here."""
    return 1 <= d <= MOST_COLUMNS


def bytes_of(d: int, k: int) -> tuple[int, int]:
    """Bytes that a target and a record take on the card, at most."""
    both = 4 * depth_of(d)[1] + 8 * d + 16 * d // SHAPE.tile + 40
    return both + 16 * k + 24 * TIES + 48, both + 16


def nearest(
    a: Floats,
    b: Floats,
    k: int,
    tolerance: float,
    within: Callable[[Floats], Floats],
    begin: Floats | None = None,
) -> Near | None:
    """The k rows of `b` nearest to each row of `a`, and those that tie for the nearest place.

    Both are matrices without missing values, each zero of one sign. A row ties where its squared
    distance is at most `within(least)`, which is about (1 + `tolerance`) times the least; `begin`
    are squared distances that some row of `b` attains or comes below. None where these records are
    the CPU's: more columns than the error of single precision is bounded for, or a spread that
    squares do not bear.
    """  # fmt: skip
    d = a.shape[1]
    scale = scale_of(a, b) if len(a) and suited(d) else None
    if scale is None:
        return None
    depth, wide = depth_of(d)
    theirs = arranged(b, scale, SHAPE.tile, wide, targets=False)
    ours = arranged(a, scale, SHAPE.tile, wide, targets=True)
    n, m = len(ours.points), len(theirs.points)
    first = np.full(n, np.inf)
    if begin is not None:
        # Rows of one record may know of different distances: the least of them holds for it.
        np.minimum.at(first, np.repeat(np.arange(n), np.diff(ours.starts)), begin[ours.rows])
        known = np.isfinite(first)
        first[known] = (first[known] + tolerance * first[known]) * ROOM + LEAST
    target, record = bytes_of(d, k)
    room = _card.room() - 8 * len(b)  # at most all rows, whatever the slab
    part = _tiles(min(n, SOME, room // 2 // target))
    slab = _tiles(min(m, (room - part * target) // record))
    if part <= 0 or slab <= 0:
        raise MemoryError("the card has too little memory for one tile of records")
    scan = scan_of(depth)
    found = Near(
        np.empty((n, k)), np.empty((n, k), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    )
    error = (d + 12) * 2.0**-24
    kept = _slab(theirs, 0, m) if slab >= m else None

    def slabs() -> Iterator[_Slab]:
        if kept is not None:
            yield kept
        else:
            for low in range(0, m, slab):
                yield _slab(theirs, low, min(low + slab, m))

    for low in range(0, n, part):
        high = min(low + part, n)
        lengths = np.sqrt(ours.squares[low:high])
        points, start = cuda.to_device(ours.points[low:high]), cuda.to_device(first[low:high])
        singles = cuda.to_device(np.ascontiguousarray(ours.singles[:, low : _up(high)]))
        box = cuda.to_device(np.ascontiguousarray(ours.box[:, :, low // SHAPE.tile :]))
        far = cuda.to_device(lengths)
        many = high - low
        squares, rows = _filled((many, k), np.inf), _filled((many, k), NO_ROW)
        values = _filled((many, TIES), np.inf)
        counts, lowest = _filled((many, TIES), 0), _filled((many, TIES), NO_ROW)
        spilt = _filled((many,), 0)
        blocks = -(-many // SHAPE.tile)
        for these in slabs():
            scan[blocks, SHAPE.threads](
                singles, points, far, box, these.singles, these.base, these.points, these.lengths,
                these.box, these.starts, these.rows, scale.unit**2, error, tolerance, start,
                squares, rows, values, counts, lowest, spilt,
            )  # fmt: skip
        found.squares[low:high] = squares.copy_to_host()
        found.rows[low:high] = rows.copy_to_host()
        limits = cuda.to_device(within(found.squares[low:high, 0]))
        ties, lead = _filled((many,), 0), _filled((many,), NO_ROW)
        threads = SHAPE.threads
        settle[-(-many // threads), threads](limits, values, counts, lowest, spilt, ties, lead)
        if spilt.copy_to_host().any():
            for these in slabs():
                recount[-(-many // threads), threads](
                    limits, spilt, points, these.points, these.box, SHAPE.tile, these.starts,
                    these.rows, ties, lead,
                )  # fmt: skip
        found.ties[low:high], found.first[low:high] = ties.copy_to_host(), lead.copy_to_host()
        report("nearest records", high, n)
    return Near(*(ours.back(one) for one in found))


def _tiles(records: int) -> int:
    """So many records in whole tiles, downwards; one tile where there are fewer."""
    return max(records, SHAPE.tile) // SHAPE.tile * SHAPE.tile if records > 0 else 0


def _up(records: int) -> int:
    return -(-records // SHAPE.tile) * SHAPE.tile


def _slab(b: Side, low: int, high: int) -> _Slab:
    """Records low..high, which are whole tiles, on the card."""
    tile = SHAPE.tile
    squares = b.squares[low:high]
    rows = b.rows[b.starts[low] : b.starts[high]]
    return _Slab(
        singles=cuda.to_device(np.ascontiguousarray(b.singles[:, low : _up(high)])),
        base=cuda.to_device(padded(squares, tile, float(NOBODY))),
        points=cuda.to_device(b.points[low:high]),
        lengths=cuda.to_device(np.sqrt(greatest(squares, tile))),
        box=cuda.to_device(np.ascontiguousarray(b.box[:, :, low // tile : -(-high // tile)])),
        starts=cuda.to_device(b.starts[low : high + 1] - b.starts[low]),
        rows=cuda.to_device(rows),
    )


@cuda.jit
def _fill(out: Any, value: Any) -> None:
    at = cuda.grid(1)
    if at < out.shape[0]:
        out[at] = value


def _filled(shape: tuple[int, ...], value: float) -> Any:
    """An array on the card, of numbers or of whole numbers as the value is."""
    flat = cuda.device_array(int(np.prod(shape)), np.float64 if value == np.inf else np.int64)
    _fill[-(-flat.size // SHAPE.threads), SHAPE.threads](flat, value)
    return flat.reshape(shape)
