"""Records arranged for the card: distinct ones in tiles of neighbours, in both precisions.

Single precision holds coordinates centred on the mean and scaled by a power of two so that none
exceeds 1; double precision holds them as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..neighbours.blocks import distinct_rows, order_in_blocks

Singles = NDArray[np.float32]

NOBODY = np.float32(1e30)
"""The score of what a last tile lacks; no real score exceeds 4 times the coordinates."""
WIDEST = 1e100
"""Spreads beyond this or below its inverse are left to the CPU: there squares under- or overflow
where the bound of the error does not look."""
MOST_COLUMNS = 5_000
"""Up to here (d + 12) units in the last place bound the error of a score (docs/gpu.md)."""


class Scale(NamedTuple):
    """What single precision is taken of."""

    centre: Floats
    unit: float


class Side(NamedTuple):
    """Records of one file, tile after tile."""

    points: Floats
    """(n, d)"""
    singles: Singles
    """(padded d, padded n): centred and scaled; of targets times -2"""
    squares: Floats
    """(n,): squared lengths of the centred and scaled points"""
    box: Floats
    """(2, d, tiles): least and greatest coordinates"""
    starts: Ints
    """(n + 1,): where the rows of each record begin"""
    rows: Ints
    """rows of the file, record after record, rising within each"""

    def back(self, found: np.ndarray) -> np.ndarray:
        """What was found of records, for the rows of the file."""
        out = np.empty((len(self.rows), *found.shape[1:]), found.dtype)
        out[self.rows] = np.repeat(found, np.diff(self.starts), axis=0)
        return out


def scale_of(a: Floats, b: Floats) -> Scale | None:
    """Of both files together; None where single precision cannot tell anything of them."""
    centre = b.mean(axis=0)
    # Rounding is monotone: no difference exceeds those of the ends.
    spread = max(
        float(max((x.max(axis=0) - centre).max(), (centre - x.min(axis=0)).max())) for x in (a, b)
    )
    if spread == 0.0:
        return Scale(centre, 1.0)
    if not 1 / WIDEST < spread < WIDEST:
        return None
    return Scale(centre, float(2.0 ** -np.ceil(np.log2(spread))))


def arranged(
    x: Floats, scale: Scale, tile: int, columns: int, *, targets: bool, distinct: bool
) -> Side:
    """The records of a file in tiles, their single precision padded to so many columns.

    Without `distinct` each row is a record.
    """
    if distinct:
        first, member = distinct_rows(x.view(np.int64), np.empty((len(x), 0), np.int32))
    else:
        first = member = np.arange(len(x))
    order = order_in_blocks(x, np.empty(0), first, tile)
    points = x[order]
    n, d = points.shape
    tiles = -(-n // tile)
    moved = (points - scale.centre) * scale.unit
    singles = np.zeros((columns, tiles * tile), np.float32)
    singles[:d, :n] = (-2 * moved if targets else moved).T
    place = np.empty(n, np.int64)
    place[member[order]] = np.arange(n)
    where = place[member]
    edges = np.arange(0, n, tile)
    low, high = np.minimum.reduceat(points, edges), np.maximum.reduceat(points, edges)
    return Side(
        points=points,
        singles=singles,
        squares=(moved**2).sum(axis=1),
        box=np.stack([low.T, high.T]),
        starts=np.concatenate([[0], np.cumsum(np.bincount(where, minlength=n))]),
        rows=np.argsort(where, kind="stable"),
    )


def padded(values: Floats, tile: int, with_: float) -> Singles:
    """In single precision, the last tile filled up."""
    out = np.full(-(-len(values) // tile) * tile, with_, np.float32)
    out[: len(values)] = values
    return out


def greatest(values: Floats, tile: int) -> Floats:
    """The greatest value of each tile."""
    return np.maximum.reduceat(values, np.arange(0, len(values), tile))
