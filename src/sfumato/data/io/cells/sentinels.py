"""Numbers and words that stand for "no answer": 999, -9, "N". Applied where the caller names them;
elsewhere they are only pointed out, since 999 may be a value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from ....errors import InputError, SchemaError
from ...schema import missing_column

EVERY = "*"
"""Stands for all columns."""

MISSING_WORDS = frozenset(
    (
        *("na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "not applicable"),
        *("refused", "don't know", "dk", "not known", "not stated", "no answer", ".", "?", "-"),
        *("--", "k.a.", "keine angabe", "unbekannt", "inconnu", "desconocido", "sconosciuto"),
        *("onbekend", "nieznany", "brak", "n.d.", "ns/nc"),
    )
)
"""What is no name of a column and hardly a value, in lower case."""

_NINES = tuple(float(d * (10**n - 1) // 9) for n in range(1, 9) for d in (9, 8, 7))
_BESIDE = tuple(float(10**n - d) for n in range(2, 9) for d in (2, 3, 4))
"""997 and 998 beside 999."""
_HIGH = frozenset((*_NINES, *_BESIDE))
_LOW = frozenset((-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, *(-n for n in _NINES)))
_ENOUGH = 20
_MOST = 4

Given = Any
"""One value, several, or a mapping of columns to them; "*" is all columns."""


def by_column(given: Given, names: Sequence[str], label: str) -> dict[str, list[Any]]:
    """What means missing, for each column.

    >>> by_column({"pay": "N", "*": [-9]}, ["age", "pay"], "x.csv")
    {'age': [-9], 'pay': ['N', -9]}
    """
    if given is None:
        return {}
    words = given if isinstance(given, Mapping) else {EVERY: given}
    unknown = [name for name in words if name != EVERY and name not in names]
    if unknown:
        raise SchemaError(label, [missing_column(str(name), names) for name in unknown])
    listed = {name: _listed(values) for name, values in words.items()}
    every = listed.pop(EVERY, [])
    found = {name: [*listed.get(name, []), *every] for name in names}
    return {name: values for name, values in found.items() if values}


def _listed(values: Any) -> list[Any]:
    several = isinstance(values, Iterable) and not isinstance(values, str)
    found = list(values) if several else [values]
    for value in found:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"{value!r} cannot stand for a missing value",
                remedy='sentinels = [999, "N"], or { income = ["N"] } for one column',
            )
    return found


def take_out(series: pl.Series, values: Sequence[Any], notes: list[str]) -> pl.Series:
    """The column without the values that mean missing, and a note on how many cells they were."""
    if not values:
        return series
    hit = _hits(series, values)
    if count := int(hit.sum()):
        shown = ", ".join(map(repr, values))
        notes.append(f"missing: {shown} in {series.name!r} ({count:,} cells, as you said)")
        nothing = pl.Series(series.name, [None], dtype=series.dtype)
        return series.zip_with(~hit, nothing)
    return series


def told_missing(
    absent: Mapping[str, Sequence[str]], raw: pl.DataFrame, missing: Iterable[str]
) -> dict[str, Any]:
    """The option by which the same cells are missing again, whatever kind their column gets.

    Words that no other column holds mean missing everywhere; others only where they were found.
    """
    words = sorted({word for found in absent.values() for word in found})
    if not words:
        return {}
    elsewhere = any(raw[name].is_in(words).any() for name in raw.columns if name not in absent)
    if elsewhere or "" in words:
        stripped = {name: sorted({w.strip() for w in found}) for name, found in absent.items()}
        return {"sentinels": stripped}
    return {"missing": tuple(dict.fromkeys((*missing, *words)))}


def _hits(series: pl.Series, values: Sequence[Any]) -> pl.Series:
    figures = [f for f in map(_figure, values) if f is not None]
    if series.dtype.is_numeric():
        return series.cast(pl.Float64, strict=False).is_in(figures).fill_null(False)
    if series.dtype not in (pl.String, pl.Categorical) and not isinstance(series.dtype, pl.Enum):
        if series.dtype.is_nested():
            return pl.repeat(False, len(series), eager=True)
        series = series.cast(pl.String)
    text = series.cast(pl.String).str.strip_chars()
    found = text.is_in([str(value) for value in values])
    if figures:
        found |= text.cast(pl.Float64, strict=False).is_in(figures)
    return found.fill_null(False)


def _figure(value: Any) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def quoted(text: str) -> str:
    """A text as a plan writes it, on one line."""
    return json.dumps(text, ensure_ascii=False)


def suspects(series: pl.Series) -> list[float]:
    """Numbers that look as if they meant "no answer": 999 far above all others, -9 below zero."""
    if not series.dtype.is_numeric() or len(series) - series.null_count() < _ENOUGH:
        return []
    top, bottom = series.max(), series.min()
    found: list[float] = []
    if float(top) not in _HIGH and float(bottom) not in _LOW:  # type: ignore[arg-type]
        return found
    values = series.drop_nulls().unique().sort().cast(pl.Float64)
    values = values.filter(values.is_finite())
    negative = values.filter(values < 0)
    if 0 < len(negative) <= _MOST and negative.is_in(list(_LOW)).all() and len(values) > _MOST:
        found += negative.to_list()
        values = values.filter(values >= 0)
    return found + _far_above(values)


def _far_above(values: pl.Series) -> list[float]:
    """Of sorted values, the last few that are such numbers and lie apart from the others."""
    for count in range(min(_MOST, len(values) - 3), 0, -1):
        rest, last = values[:-count], values[-count:]
        gap = last[0] - rest[-1]
        if last.is_in(list(_HIGH)).all() and gap >= max(2.0, 0.5 * (rest[-1] - rest[0])):
            return last.to_list()
    return []


def point_out(frame: pl.DataFrame, named: Mapping[str, Any]) -> list[str]:
    """A note for every column that holds such numbers, unless the caller has settled it."""
    notes = []
    settled = {
        name for name, values in named.items() if any(_figure(v) is not None for v in values)
    }
    for series in frame:
        if series.name in settled or not (found := suspects(series)):
            continue
        shown = ", ".join(f"{value:.15g}" for value in found)
        notes.append(
            f"{series.name!r} holds {shown}, which may stand for no answer and was read as a "
            f"number; sentinels = {{ {quoted(series.name)} = [{shown}] }} reads it as missing"
        )
    return notes
