"""A hierarchy for a column of which nothing is said, by what it seems to be."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import polars as pl

from ...data.schema import NUMERIC, Kind, Role
from ...data.table import Table
from ...errors import MethodError
from .guess import Guess, guess, over_89

_AGES = 5.0
_OLD = 90
_DIAGNOSIS = re.compile(r"[A-Z][0-9][0-9A-Z]\.?[0-9A-Z]*")
_PERIODS = (("day", "1d"), ("month", "1mo"), ("quarter", "1q"), ("year", "1y"), ("decade", "10y"))
_NO_GROUPS = (Role.IDENTIFIER, Role.HOUSEHOLD, Role.WEIGHT)
_FEW = 3
"""Of fewer values there is nothing to join but all."""


def proposed(table: Table, name: str) -> Guess:
    """What a column seems to be, with a poset that suits it; `MethodError` where none does.

    >>> from sfumato.data.table import table
    >>> proposed(table({"age": [*range(18, 80)]}), "age").poset
    {'kind': 'bins', 'width': 5, 'fanouts': [2, 2]}
    """
    made = next(one for one in guess(table) if one.name == name)
    words = made.poset or _words(table, made)
    if not words:
        raise MethodError(
            f"column {name!r} has neither a hierarchy nor a partial order, and suggests none",
            remedy='give it a poset: { kind = "hierarchy", path = ... }, or one of those that '
            "`sfumato methods` lists",
        )
    return replace(made, poset=words)


def all_proposed(table: Table) -> dict[str, Guess]:
    """What the columns seem to be, of those that a poset suits.

    >>> from sfumato.data.table import table
    >>> [*all_proposed(table({"age": [*range(18, 80)], "sex": ["f", "m"] * 31}))]
    ['age']
    """
    found = ((made, made.poset or _words(table, made)) for made in guess(table))
    return {made.name: replace(made, poset=words) for made, words in found if words}


def _words(table: Table, made: Guess) -> dict[str, Any]:
    series = table[made.name].drop_nulls()
    kind = table.schema[made.name].kind
    if Kind.SET in (kind, made.kind) or made.role in _NO_GROUPS or series.n_unique() < _FEW:
        return {}
    if kind == Kind.DATE:
        return {"kind": "date", "levels": _periods(series)}
    if kind in NUMERIC:
        return _bins(series, made, old=made.name in over_89(table, [made]))
    if kind == Kind.ORDINAL:
        order = table.schema[made.name].categories
        halvings = math.ceil(math.log2(len(order))) - 1
        return {"kind": "order", "order": list(order), "groups": [2] * halvings}
    if kind != Kind.NOMINAL:
        return {}
    texts = series.cast(pl.String).unique()
    if made.what == "diagnosis" and all(map(_DIAGNOSIS.fullmatch, texts.to_list())):
        return {"kind": "prefix", "lengths": [3, 1], "pad": ""}
    return {"kind": "priority"} if len(texts) > _FEW else {}


def _periods(series: pl.Series) -> list[str]:
    """The periods that join some dates and not all."""
    found, before = [], series.n_unique()
    for period, every in _PERIODS:
        groups = series.dt.truncate(every).n_unique()
        if 1 < groups < before:
            found.append(period)
            before = groups
    return found or ["month"]


def _bins(series: pl.Series, made: Guess, *, old: bool) -> dict[str, Any]:
    """About ten bins, and halves as many of them twice; ages in fives, and from 90 on in one."""
    values = finite(series)
    if not len(values):
        return {}
    spread = float(values.max()) - float(values.min())  # type: ignore[arg-type]
    width = bin_width(values, made)
    if made.kind != Kind.CONTINUOUS:
        width = max(2.0, width)  # of whole numbers, 1 joins nothing
    words: dict[str, Any] = {"kind": "bins", "width": int(width) if width.is_integer() else width}
    fanouts = [2 for level in (1, 2) if width * 2**level < spread]
    return words | ({"fanouts": fanouts} if fanouts else {}) | ({"high": _OLD} if old else {})


def finite(series: pl.Series) -> pl.Series:
    """The numbers that are finite."""
    values = series.cast(pl.Float64)
    return values.filter(values.is_finite())


def bin_width(values: pl.Series, made: Guess) -> float:
    """A round width that makes about ten bins of these numbers; five for ages."""
    low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
    tenth = high / 10 - low / 10
    step = _AGES if made.what == "age" and tenth < 4 * _AGES else _width(tenth)
    return step if made.kind == Kind.CONTINUOUS else max(1.0, step)


def _width(tenth: float) -> float:
    """A round width of at least this."""
    if tenth <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(tenth))
    return next(power * f for f in (1.0, 2.0, 5.0, 10.0) if power * f >= tenth * (1 - 1e-9))
