"""Value labels: 1 is shown as "male" where every value of a column has a label of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from ...schema import Kind

TRUTH = {0.0: "false", 1.0: "true"}
"""How a column of truth values is written."""


@dataclass(frozen=True)
class Labelled:
    """What a file says about one variable."""

    label: str = ""
    values: tuple[tuple[float | str, str], ...] = ()
    """Codes in order, with what they mean."""
    ordered: bool = False


def labelled(series: pl.Series, words: Labelled) -> tuple[pl.Series, Kind | None]:
    """The column with labels in place of codes, and its kind; as it is where a value has none, or
    where two mean the same.

    >>> sex = Labelled("Sex", ((1.0, "male"), (2.0, "female")))
    >>> labelled(pl.Series([2, 1, None]), sex)[0].to_list()
    ['female', 'male', None]
    """
    names = dict(words.values)
    held = _held(series)
    texts = [names.get(code) for code in held]
    if not held or not all(texts) or len(set(texts)) < len(texts):
        return series, None
    if names.items() <= TRUTH.items():
        return series.cast(pl.Float64) == 1.0, Kind.BOOLEAN
    shown = with_labels(series, names)
    if words.ordered and len(set(names.values())) == len(names):
        return shown.cast(pl.Enum(list(names.values()))), Kind.ORDINAL
    return shown, Kind.NOMINAL


def with_labels(series: pl.Series, names: Mapping[Any, str]) -> pl.Series:
    """Each code's label, and null where there is none."""
    codes = series if series.dtype == pl.String else series.cast(pl.Float64)
    return codes.replace_strict(
        list(names), list(names.values()), default=None, return_dtype=pl.String
    )


def with_codes(
    series: pl.Series, values: tuple[tuple[float | str, str], ...]
) -> tuple[pl.Series, dict[Any, str]] | None:
    """Labels turned back into codes, and the labels of those that are held; None where a value is
    no label."""
    codes = {name: code for code, name in values}
    held = _held(series.cast(pl.String))
    if not held or len(codes) < len(values) or any(name not in codes for name in held):
        return None
    number = all(isinstance(codes[name], float) for name in held)
    made = series.cast(pl.String).replace_strict(
        held, [codes[name] for name in held], return_dtype=pl.Float64 if number else pl.String
    )
    return made, {codes[name]: name for name in held}


def _held(series: pl.Series) -> list[Any]:
    """The different values, numbers as floats."""
    found = series.drop_nulls().unique()
    if found.dtype.is_numeric():
        return found.cast(pl.Float64).to_list()
    return found.to_list() if found.dtype == pl.String else []
