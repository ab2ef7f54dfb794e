"""Intervals of many records as labels, rounded so that they read well and never narrow."""

from __future__ import annotations

import numpy as np
import polars as pl


def interval_labels(low: np.ndarray, high: np.ndarray, *, whole: bool) -> pl.Series:
    """ "[low, high]", ends rounded outwards to a hundredth of the width or to whole numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.clip(2 - np.floor(np.log10(high - low)), 0, 300)
    sizes = [] if whole else np.unique(digits[~np.isnan(low) & (digits > 0)]).tolist()
    texts = []
    for values, outwards, outer in ((low, np.floor, np.minimum), (high, np.ceil, np.maximum)):
        made = outwards(values)
        for d in sizes:
            some = values[digits == d]
            # Dividing rounds: where that moves an end inwards, it stays as it was.
            made[digits == d] = outer(outwards(some * 10.0**d) / 10.0**d, some)
        end = pl.Series(made, nan_to_null=True)
        texts.append(end.cast(pl.Int64).cast(pl.String) if whole else _texts(end))
    frame = pl.DataFrame({"low": texts[0], "high": texts[1]})
    return frame.select(pl.format("[{}, {}]", "low", "high")).to_series()


def _texts(numbers: pl.Series) -> pl.Series:
    return numbers.cast(pl.String).str.replace(r"\.0$", "")
