"""Which value became what: the mapping that a release applied, for its owner."""

from __future__ import annotations

import polars as pl

from ...criteria.classes import equivalence_classes
from ...data.pair import Pair
from ...data.schema import SUPPRESSED
from ...errors import MeasureError


def mapping(pair: Pair) -> pl.DataFrame:
    """One row for each column, original value and published value that occurs.

    `records` have it, in `classes` equivalence classes. In a global recoding every value has one
    row; in a local one, as many as there are ways in which it was published. "*" is suppressed, and
    null was missing. It tells an intruder what he must not know: it is for the owner.
    """
    if pair.rows is None:
        raise MeasureError(
            "the records of this release are no one person's, so that no value became another",
            remedy="compare the distributions instead",
        )
    number = equivalence_classes(pair.masked).labels
    parts = []
    for name in pair.masked.names:
        if name not in pair.original.schema or name not in pair.original.schema.quasi:
            continue
        shown = _text(pair.masked[name])
        hidden = pl.Series(pair.masked.suppressed(name))
        before = _text(pair.original[name]).gather(pl.Series(pair.rows))
        frame = pl.DataFrame(
            {
                "value": before,
                "published": pl.select(
                    pl.when(hidden).then(pl.lit(SUPPRESSED)).otherwise(shown)
                ).to_series(),
                "class": number,
            }
        )
        counted = frame.group_by("value", "published").agg(
            pl.len().cast(pl.Int64).alias("records"),
            pl.col("class").n_unique().cast(pl.Int64).alias("classes"),
        )
        parts.append(
            counted.sort("value", "published").select(pl.lit(name).alias("column"), pl.all())
        )
    if not parts:
        raise MeasureError("no quasi-identifier was published", remedy="there is no mapping")
    return pl.concat(parts)


def _text(series: pl.Series) -> pl.Series:
    """Values as text; a set as its elements with blanks between."""
    if isinstance(series.dtype, pl.List | pl.Array):
        if isinstance(series.dtype, pl.Array):
            series = series.arr.to_list()
        return series.cast(pl.List(pl.String)).list.unique().list.sort().list.join(" ")
    return series.cast(pl.String, strict=False)
