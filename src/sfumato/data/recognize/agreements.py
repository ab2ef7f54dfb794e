"""How far records that share a value agree in other columns: whether it stands for one person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from .words import BIRTH, SEX, plain_name

_TRIED = 20_000
"""About so many records are compared, each with the next one of the same value."""
_FEWEST = 3
"""Fewer may agree or differ by mistake."""
_SCALE = 10
"""Different numbers from which on nearly the same is nearly agreement."""
_SURE = 0.95
"""What nearly all records have in common tells nothing."""


def never_changes(name: str) -> bool:
    """Whether a column's name says that it tells a person's sex or birth."""
    plain = plain_name(name)
    return bool(SEX.search(plain) or BIRTH.search(plain))


def agreements(key: pl.Series, others: Sequence[pl.Series]) -> dict[str, float]:
    """By column: 1 where records of the same key always agree, 0 where they do as by chance.

    Columns that nearly always or hardly ever agree anyway tell nothing, and are left out; numbers
    of many values agree the better the nearer they are.

    >>> sex = pl.Series("sex", ["f", "f", "m", "m", "f", "f"])
    >>> agreements(pl.Series(["a", "a", "b", "b", "c", "c"]), [sex])
    {'sex': 1.0}
    """
    rows = np.arange(len(key))
    if (parts := len(key) // _TRIED) > 1:
        # All records of some keys, whatever their order.
        rows = rows[key.hash(0).to_numpy() % np.uint64(parts) == 0]
    codes = _ranks(key, rows)
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] > 0][: 2 * _TRIED]
    here = np.flatnonzero(np.diff(codes[order]) == 0)
    found = {}
    if here.size >= _FEWEST:
        for other in others:
            value = _apart(other, rows[order], here)
            if value is not None:
                found[other.name] = value
    return found


def _ranks(series: pl.Series, rows: np.ndarray) -> np.ndarray:
    """Equal values have equal numbers, in their order; 0 is missing."""
    found = series.gather(rows).rank("dense").fill_null(0).cast(pl.Int64)
    return np.asarray(found.to_numpy())


def _apart(series: pl.Series, rows: np.ndarray, here: np.ndarray) -> float | None:
    """How much nearer each of `here` is to the next than any two of the rows are."""
    ranks = _ranks(series, rows)
    shares = np.bincount(ranks) / max(ranks.size, 1)
    shares = shares[shares > 0]
    if shares.max() > _SURE:
        return None
    if series.dtype.is_numeric() and shares.size > _SCALE:
        chance = 2 * float(ranks.var())
        within = float((np.diff(ranks)[here] ** 2).mean())
    else:
        chance = 1 - float((shares**2).sum())
        within = float((np.diff(ranks)[here] != 0).mean())
    return 1 - within / chance
