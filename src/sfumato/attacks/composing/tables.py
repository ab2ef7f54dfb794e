"""Published tables of counts and sums, as a plan names them and as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...data.generalized.plain_labels import plain_ranges
from ...data.io import read_with_notes
from ...data.schema import SUPPRESSED
from ...data.table import Table, as_frame
from ...errors import MeasureError
from ...poset.values.scale import NumberScale

KEYS = ("path", "cells", "by", "value", "of")
COUNT = "count"
_LISTS = "the columns of `cells` are lists of the same length, of texts and numbers"


def plain_table(given: Any) -> dict[str, Any]:
    """A table as a plan file can hold it; raises ValueError where it is none."""
    if not isinstance(given, Mapping):
        given = {"cells": given}
    words = {str(key): value for key, value in given.items()}
    if unknown := sorted(set(words) - set(KEYS)):
        raise ValueError(f"a table takes {', '.join(KEYS)}, and no {unknown[0]}")
    if ("path" in words) == ("cells" in words):
        raise ValueError("a table is either a path or cells: { sex = [...], count = [...] }")
    if "path" in words:
        words["path"] = str(words["path"])
    else:
        cells = words["cells"]
        if not isinstance(cells, Mapping):
            cells = as_frame(cells)[0].to_dict(as_series=False)
        lists = {str(key): np.asarray(cells[key], dtype=object).tolist() for key in cells}
        if len({len(one) if isinstance(one, list) else -1 for one in lists.values()} - {-1}) != 1:
            raise ValueError(_LISTS)
        if any(not isinstance(one, list) or any(map(_nested, one)) for one in lists.values()):
            raise ValueError(_LISTS)
        # TOML has no nothing: a figure that is hidden is a star, a label that is missing is empty.
        gone = {str(words.get("value", COUNT)): SUPPRESSED}
        words["cells"] = {
            k: [gone.get(k, "") if x is None else x for x in v] for k, v in lists.items()
        }
    if isinstance(words.get("by"), str):
        words["by"] = [words["by"]]
    by = words.get("by", ())
    if not isinstance(by, list | tuple) or not all(isinstance(one, str) for one in by):
        raise ValueError('by = ["COLUMN"] names the columns of labels')
    for key in ("value", "of"):
        if not isinstance(words.get(key, ""), str):
            raise ValueError(f'{key} = "COLUMN" names a column')
    return words


def _nested(cell: Any) -> bool:
    return isinstance(cell, Mapping | list | tuple | set)


class Published(NamedTuple):
    """One published table."""

    by: dict[str, list[str]]
    """the label of each cell in each column"""
    low: np.ndarray
    high: np.ndarray
    """what each figure is at least and at most"""
    of: str
    """the column that is summed; empty for counts"""


def read_table(given: Mapping[str, Any], original: Table) -> Published:
    """A table by the words of the parameter."""
    if "path" in given:
        frame = read_with_notes(given["path"])[0].frame
    else:
        frame = pl.DataFrame(
            [pl.Series(name, [str(x) for x in cells]) for name, cells in given["cells"].items()]
        )
    of, value = str(given.get("of", "")), str(given.get("value", COUNT))
    by = list(given.get("by", ())) or [n for n in frame.columns if n in original.schema]
    by = [name for name in by if name != value]
    for name in (value, *by):
        if name not in frame.columns or (name != value and name not in original.schema):
            raise MeasureError(
                f"a published table has no column {name!r}, or the data have none",
                remedy='its columns are those of the data, and value = "NAME" that of its figures',
            )
    if not by or (of and of not in original.schema):
        raise MeasureError(
            f"a published table of {of or 'counts'} shares no column with the data",
            remedy='by = ["COLUMN"] and of = "COLUMN" name columns of the data',
        )
    texts = frame[value].cast(pl.String).str.strip_chars()
    low, high, read = plain_ranges(texts.fill_null("").to_list(), NumberScale(whole=False))
    least = -np.inf if of else 0.0
    labels = {name: _labels(frame[name], original[name].dtype) for name in by}
    return Published(labels, np.where(read, low, least), np.where(read, high, np.inf), of)


def _labels(series: pl.Series, dtype: Any) -> list[str]:
    """Cells as text, exact values as the data write them; a missing one is empty."""
    texts = series.cast(pl.String).fill_null("")
    if dtype == pl.Boolean:
        texts = texts.str.to_lowercase()
    elif dtype.is_numeric():
        numbers = texts.cast(dtype, strict=False)
        numbers = numbers.fill_null(texts.cast(pl.Float64, strict=False).cast(dtype, strict=False))
        texts = numbers.cast(pl.String).fill_null(texts)
    found: list[str] = texts.to_list()
    return found
