"""Confidential columns as classes: what an intruder would like to know of a person.

A class is a value, or for numbers and dates with many values a range that holds about one q-th of
the records. Several columns make one compound class (Li & Sarkar 2013, section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from ..errors import ParameterError
from .codec import encode
from .schema import MEASURED
from .sets.flat_lists import canonical
from .table import Table

MISSING = "missing"
"""How the class of those without a value is called."""


class ClassCodes(NamedTuple):
    """The class of each record."""

    codes: np.ndarray
    """int64, 0..c-1; every class has a record."""
    labels: list[str]
    """What each class is: a value, a range, "missing", or several of these joined by " & "."""
    cut: list[str]
    """The columns that were cut into ranges."""


def class_codes(table: Table, names: Sequence[str], quantiles: int = 4) -> ClassCodes:
    """The classes of these columns, taken together.

    A column of numbers or dates with more than `quantiles` different values is cut into that many
    ranges of about equally many records; equal values stay together, so there may be fewer ranges.
    With `quantiles` = 0 nothing is cut. Missing is a class of its own.

    >>> from sfumato.data.table import table
    >>> t = table({"pay": [1.0, 2.0, 3.0, 9.0], "ill": ["flu", None, "flu", "flu"]})
    >>> class_codes(t, ["ill"])[:2]
    (array([1, 0, 1, 1]), ['missing', 'flu'])
    >>> class_codes(t, ["pay"], quantiles=2).labels
    ['[1.0, 2.0]', '[3.0, 9.0]']
    """
    if quantiles < 0 or quantiles == 1:
        raise ParameterError(
            f"{quantiles} quantile classes say nothing",
            remedy="quantiles = 2 or more, or 0 to take every value as a class",
        )
    parts: list[np.ndarray] = []
    words: list[list[str]] = []
    cut = []
    for name in names:
        found = encode(_comparable(table[name]))
        codes = found.codes.astype(np.int64)
        labels = [MISSING, *(str(value) for value in found.domain.to_list())]
        column = table.schema[name]
        cuttable = column.kind in MEASURED and not column.generalized
        if cuttable and quantiles and len(found.domain) > quantiles:
            codes, labels = _ranges(codes, found.domain, quantiles)
            cut.append(name)
        parts.append(codes)
        words.append(labels)
    if not parts:
        return ClassCodes(np.zeros(table.height, dtype=np.int64), [""] * (table.height > 0), cut)
    combined = np.column_stack(parts)
    distinct, inverse = np.unique(combined, axis=0, return_inverse=True)
    joined = [" & ".join(words[j][code] for j, code in enumerate(row)) for row in distinct.tolist()]
    return ClassCodes(inverse.reshape(-1).astype(np.int64), joined, cut)


def _comparable(series: pl.Series) -> pl.Series:
    """The column in a form in which equal values have equal codes."""
    if series.dtype.is_float():
        # Minus zero is zero.
        unsigned = pl.Series([0.0], dtype=series.dtype)
        return series.zip_with((series != 0).fill_null(True), unsigned)
    if isinstance(series.dtype, pl.List):
        return canonical(series)
    return series


def _ranges(codes: np.ndarray, domain: pl.Series, quantiles: int) -> tuple[np.ndarray, list[str]]:
    """Codes and labels after each value has gone to its range."""
    place = equal_ranges(np.bincount(codes, minlength=len(domain) + 1), quantiles)
    values = domain.to_list()
    labels = [MISSING]
    for block in range(1, int(place.max()) + 1):
        inside = np.flatnonzero(place[1:] == block)
        labels.append(f"[{values[inside[0]]}, {values[inside[-1]]}]")
    return place[codes], labels


def equal_ranges(counts: np.ndarray, pieces: int) -> np.ndarray:
    """int64: the range 1.. of each distinct value; ranges have about equally many records.

    A value goes where its middle rank lies, because one that a third of the records share has no
    single quantile. Entry 0 of the counts is that of missing values, and has no range.
    """
    inside, pieces = counts[1:], max(pieces, 1)
    middle = (np.cumsum(inside) - inside / 2) / max(int(inside.sum()), 1)
    block = np.minimum((middle * pieces).astype(np.int64), pieces - 1)
    _, block = np.unique(block, return_inverse=True)
    return np.concatenate(([0], block.reshape(-1) + 1)).astype(np.int64)
