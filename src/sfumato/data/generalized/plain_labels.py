"""Many labels read at once, where they are written as releases write them: "[20, 29]", "{a, b}".

Labels that are written otherwise are left to the posets, which read one at a time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ...poset.values.scale import DateScale, NumberScale, Scale
from ...poset.values.text import set_label

Plain = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Two arrays, and which labels were read."""
_FIRST_DAY = dt.date.min.toordinal() - dt.date(1970, 1, 1).toordinal()
_EXACT = 2**62
_ISO = 10
"""Characters of a date."""


def plain_ranges(labels: Sequence[str], scale: Scale) -> Plain:
    """First and last number of each label of the form "[20, 29]" or "20", and which are so.

    >>> low, high, read = plain_ranges(["[20, 29]", "7", ">= 3"], NumberScale(whole=True))
    >>> low[read].tolist(), high[read].tolist(), read.tolist()
    ([20, 7], [29, 7], [True, True, False])
    """
    texts = pl.Series("", labels, dtype=pl.String)
    braced = texts.str.starts_with("[") & texts.str.ends_with("]")
    parts = texts.str.strip_prefix("[").str.strip_suffix("]").str.splitn(", ", 2).struct.unnest()
    first, last = (_numbers(part, scale) for part in parts)
    last = last.zip_with(braced, first)
    read = (first <= last).fill_null(False) & (braced | parts.to_series(1).is_null())
    return first.fill_null(0).to_numpy(), last.fill_null(0).to_numpy(), read.to_numpy()


def _numbers(texts: pl.Series, scale: Scale) -> pl.Series:
    """The numbers that texts stand for; null where another reader has to look."""
    if isinstance(scale, DateScale):
        days = texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64)
        good = (texts.str.len_bytes() == _ISO) & (days >= _FIRST_DAY)
    elif isinstance(scale, NumberScale):
        days = texts.cast(pl.Int64 if scale.whole else pl.Float64, strict=False)
        good = days.is_between(-_EXACT, _EXACT) if scale.whole else days.is_finite()
        days = days if scale.whole else days + 0.0  # -0.0 and 0.0 are one place
    else:
        days = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(texts))
        good = days.is_not_null()
    return days.zip_with(good.fill_null(False), pl.Series([None], dtype=days.dtype))


def plain_sets(labels: Sequence[str], place_of: dict[str, int]) -> Plain:
    """Labels that are values or list them, as pairs of a label and a value's place, and which
    labels these are.

    >>> of, place, read = plain_sets(["{a, b}", "b", "{a; b}"], {"a": 0, "b": 1})
    >>> of.tolist(), place.tolist(), read.tolist()
    ([0, 0, 1], [0, 1, 1], [True, True, False])
    """
    texts = pl.Series("text", labels, dtype=pl.String)
    braced = texts.str.starts_with("{") & texts.str.ends_with("}")
    inside = [value for value in place_of if set_label([value, ""]) == f'{{{value}, ""}}']
    alone = [value for value in place_of if set_label([value]) == value]
    listed = pl.DataFrame({"of": np.arange(len(labels)), "text": texts}).filter(braced)
    listed = listed.with_columns(pl.col("text").str.slice(1).str.head(-1).str.split(", "))
    members = listed.explode("text")
    of = np.concatenate((members["of"].to_numpy(), np.flatnonzero(~braced.to_numpy())))
    place = np.concatenate(
        (
            _places(members["text"], inside, place_of),
            _places(texts.filter(~braced), alone, place_of),
        )
    )
    read = np.ones(len(labels), bool)
    read[of[place < 0]] = False
    there = read[of]
    return of[there], place[there], read


def _places(texts: pl.Series, values: Sequence[str], place_of: dict[str, Any]) -> np.ndarray:
    """The places of values, -1 for what is none of these."""
    known = pl.Series(values, dtype=pl.String)
    places = pl.Series([place_of[value] for value in values], dtype=pl.Int64)
    return texts.replace_strict(known, places, default=-1, return_dtype=pl.Int64).to_numpy()
