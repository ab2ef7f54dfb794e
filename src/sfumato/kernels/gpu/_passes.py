"""Both files on their way through the card: targets in parts, records in slabs, as memory allows.

Of the card's free memory a share is taken and no more (`_card.SHARE`). Where all records fit, they
go there once; else they pass by for every part of the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from sfumato.progress import report

from ..arrays import Floats
from . import _card
from ._scan import SHAPE, Rule, depth_of, scan_of
from ._tiles import MOST_COLUMNS, NOBODY, Scale, Side, arranged, greatest, padded, scale_of

SOME = 1 << 20
"""Targets to a part at most, so that progress is told."""


class Slab(NamedTuple):
    """Records on the card."""

    singles: Any
    base: Any
    points: Any
    lengths: Any
    box: Any
    starts: Any
    rows: Any


class Part(NamedTuple):
    """Targets on the card."""

    low: int
    high: int
    points: Any
    slabs: Callable[[], Iterator[Slab]]
    """the records, anew each time that it is asked for"""

    @property
    def blocks(self) -> int:
        """So many blocks have a thread for each target."""
        return -(-(self.high - self.low) // SHAPE.threads)


class Both(NamedTuple):
    """Both files, arranged."""

    ours: Side
    theirs: Side
    scale: Scale
    depth: int

    @classmethod
    def of(cls, a: Floats, b: Floats, *, distinct: bool) -> Both | None:
        """None where single precision tells nothing of these records, which are the CPU's then.

        Without `distinct` each row of `a` is a target of its own.
        """
        d = a.shape[1]
        scale = scale_of(a, b) if len(a) and 1 <= d <= MOST_COLUMNS else None
        if scale is None:
            return None
        depth, wide = depth_of(d)
        with ThreadPoolExecutor(2) as pool:
            theirs = pool.submit(arranged, b, scale, SHAPE.tile, wide, targets=False, distinct=True)
            ours = arranged(a, scale, SHAPE.tile, wide, targets=True, distinct=distinct)
        return cls(ours, theirs.result(), scale, depth)


def bytes_of(d: int) -> int:
    """Bytes that a target or a record of so many columns takes on the card, without lists."""
    return 4 * depth_of(d)[1] + 8 * d + 16 * d // SHAPE.tile + 56


def scanned(
    both: Both, rule: Rule, tolerance: float, lists: Callable[[int, int], Any], each: int
) -> Iterator[tuple[Part, Any]]:
    """Scan part after part; each with its lists, as `lists(low, high)` made and the scan left them.

    `each` is how many bytes the lists of a target take.
    """
    ours, theirs, scale, depth = both
    (n, d), m = ours.points.shape, len(theirs.points)
    one = bytes_of(d)
    room = _card.room() - 8 * len(theirs.rows)  # at most all rows, whatever the slab
    part = _at_once(n, min(SOME, room // 2 // (one + each)))
    slab = _at_once(m, (room - part * (one + each)) // one)
    if part <= 0 or slab <= 0:
        raise MemoryError("the card has too little memory for one tile of records")
    kept = _slab(theirs, 0, m) if slab >= m else None

    def slabs() -> Iterator[Slab]:
        if kept is not None:
            yield kept
        else:
            for low in range(0, m, slab):
                yield _slab(theirs, low, min(low + slab, m))

    # d products and sums, three roundings of what goes in, and room to spare (docs/gpu.md).
    error = (d + 12) * 2.0**-24
    scan = scan_of(depth, rule, SHAPE)
    for low in range(0, n, part):
        high = min(low + part, n)
        points = _card.sent(ours.points[low:high])
        singles = _card.sent(np.ascontiguousarray(ours.singles[:, low : _up(high)]))
        ends = slice(low // SHAPE.tile, _up(high) // SHAPE.tile)
        box = _card.sent(np.ascontiguousarray(ours.box[:, :, ends]))
        lengths = _card.sent(np.sqrt(ours.squares[low:high]))
        noted = lists(low, high)
        blocks = (_up(high) - low) // SHAPE.tile
        scored = filled((blocks,), 0)
        for these in slabs():
            scan[blocks, SHAPE.threads](
                singles, points, lengths, box, these.singles, these.base, these.points,
                these.lengths, these.box, these.starts, these.rows, scale.unit**2, error,
                tolerance, noted, scored,
            )  # fmt: skip
        if (meter := _card.meter()) is not None:
            columns = int(_card.fetched(scored).sum()) * theirs.singles.shape[0]
            meter.products += columns * SHAPE.tile**2
            meter.loaded += columns * SHAPE.tile * 8
        yield Part(low, high, points, slabs), noted
        report("nearest records", high, n)


def _at_once(records: int, room: int) -> int:
    """All records where there is room for them, else as many whole tiles as there is room for."""
    return records if records <= room else room // SHAPE.tile * SHAPE.tile


def _up(records: int) -> int:
    return -(-records // SHAPE.tile) * SHAPE.tile


def _slab(b: Side, low: int, high: int) -> Slab:
    """Records low..high, which are whole tiles, on the card."""
    tile = SHAPE.tile
    squares = b.squares[low:high]
    rows = b.rows[b.starts[low] : b.starts[high]]
    return Slab(
        singles=_card.sent(np.ascontiguousarray(b.singles[:, low : _up(high)])),
        base=_card.sent(padded(squares, tile, float(NOBODY))),
        points=_card.sent(b.points[low:high]),
        lengths=_card.sent(np.sqrt(greatest(squares, tile))),
        box=_card.sent(np.ascontiguousarray(b.box[:, :, low // tile : -(-high // tile)])),
        starts=_card.sent(b.starts[low : high + 1] - b.starts[low]),
        rows=_card.sent(rows),
    )


@cuda.jit
def _fill(out: Any, value: Any) -> None:
    at = cuda.grid(1)
    if at < out.shape[0]:
        out[at] = value


def filled(shape: tuple[int, ...], value: float) -> Any:
    """An array on the card, of numbers or of whole numbers as the value is."""
    flat = cuda.device_array(int(np.prod(shape)), np.array(value).dtype)
    _fill[-(-flat.size // SHAPE.threads), SHAPE.threads](flat, value)
    return flat.reshape(shape)
