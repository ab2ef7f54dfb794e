"""Where the records of a release lie beside the original's, whatever its origin and its unit.

Released numbers standardized by their own means and deviations are not hidden by an offset or by
another unit, but by what alters the deviation: without its extreme people, or with one of them far
out, a table of copies is stretched or squeezed, and every copy moves. By the original's means and
deviations it is the other way round. Neither alone can be relied on.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from ..codec import floats
from ..schema import NUMERIC
from ..table import Table
from .encoding import Encoding, Moments

Placing = Literal["worst", "own", "original"]

FAR = 1e6
"""Nothing lies further from the mean, in deviations: its square would swallow the others."""
_ROUNDING = 1e-9
"""In deviations."""


def placements(
    encoding: Encoding, table: Table, wanted: Placing, *, thresholded: bool = False
) -> dict[Moments, np.ndarray]:
    """The records as points: by the table's own moments, by the original's, or ("worst") both.

    Where both are the same up to rounding they are one array, so that it is searched once.

    >>> from sfumato.data.table import table
    >>> people, moved = table({"age": [30, 40, 50]}), table({"age": [130, 140, 150]})
    >>> both = placements(Encoding.of(people, ["age"], log="never"), moved, "worst")
    >>> {place: x[:, 0].round(2).tolist() for place, x in both.items()}
    {'own': [-1.22, 0.0, 1.22], 'original': [11.02, 12.25, 13.47]}
    """
    chosen: tuple[Moments, ...] = ("own", "original") if wanted == "worst" else (wanted,)
    found: dict[Moments, np.ndarray] = {}
    for place in chosen:
        here = brought_back(table, encoding) if place == "own" else table
        x = encoding.encode(here, moments=place, thresholded=thresholded)
        np.clip(x, -FAR, FAR, out=x)
        same = next((y for y in found.values() if _same(x, y)), x)
        found[place] = same
    return found


def distinct(*tables: dict[Moments, np.ndarray]) -> tuple[Moments, ...]:
    """The placements of which no earlier one puts all tables at the same points."""
    kept: dict[tuple[int, ...], Moments] = {}
    for place in tables[0]:
        kept.setdefault(tuple(id(one[place]) for one in tables), place)
    return tuple(kept.values())


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    # Most differ in the first records.
    return all(
        np.allclose(x[rows], y[rows], rtol=_ROUNDING, atol=_ROUNDING)
        for rows in (slice(100), slice(100, None))
    )


def brought_back(table: Table, encoding: Encoding) -> Table:
    """The table with the offset or the other unit undone of columns that have one.

    Standardizing undoes it for plain numbers, but not for two values, and not before a logarithm.
    """
    moved = []
    for block in encoding.blocks:
        column, before = table.schema[block.column.name], block.column
        concerned = block.logged if block.scale is not None else block.wide == 1 or block.two
        number = before.kind in NUMERIC and not (column.generalized or before.generalized)
        series = table[column.name]
        if not (concerned and number and series.dtype.is_numeric()):
            continue
        x, was = floats(series, column), floats(block.series, before)
        here, there = x[~np.isnan(x)], was[~np.isnan(was)]
        if not here.size or not np.isfinite(here).all():
            continue
        if block.logged:
            centre, spread = _quartiles(here)
            aim, width = _quartiles(there)
            # Other samples differ by less, and less hardly bends a logarithm.
            as_it_was = abs(centre - aim) <= width and width <= 2 * spread <= 4 * width
        else:
            low, high = float(here.min()), float(here.max())
            if two := bool(((here == low) | (here == high)).all()):
                centre, spread = low, high - low
                aim, width = block.ends[0], block.ends[1] - block.ends[0]
            else:
                centre, spread = float(here.mean()), float(here.std())
                aim, width = float(there.mean()), float(there.std())
            inside = block.ends[0] <= low and high <= block.ends[1]
            as_it_was = inside and not (two and low < high)
        if not as_it_was and spread > 0 and width > 0:
            x = (x - centre) * (width / spread) + aim
            moved.append(pl.Series(column.name, x, nan_to_null=True))
    return table.with_columns(moved) if moved else table


def _quartiles(x: np.ndarray) -> tuple[float, float]:
    """The median, and how far the quartiles lie apart."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    return float(middle), float(high - low)
