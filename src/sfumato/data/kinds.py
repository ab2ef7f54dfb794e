"""What kind a column is, and how a column of that kind is stored: validation and conversion in one.

Continuous is stored as floats, integer as integers, ordinal as an Enum in the order of its
categories, date as dates or datetimes, set as lists, nominal and text as text or categories. Not
a number is missing.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ..errors import Complaint
from .schema import Kind

_NOMINAL = 'mend the value, or use kind = "nominal"'
TRUTHS = (
    *(("true", "false"), ("1", "0"), ("yes", "no"), ("y", "n"), ("t", "f"), ("ja", "nein")),
    *(("j", "n"), ("wahr", "falsch"), ("oui", "non"), ("o", "n"), ("vrai", "faux"), ("sí", "no")),
    *(("si", "no"), ("sì", "no"), ("s", "n"), ("vero", "falso"), ("sim", "não"), ("sim", "nao")),
    *(("ja", "nee"), ("waar", "onwaar"), ("tak", "nie"), ("t", "n")),
)
"""Words for true and false, in pairs."""
TRUTH = {word: word == pair[0] for pair in TRUTHS for word in pair}
"""What each such word means in a column that is declared boolean."""


class Misfit(ValueError):
    """A column does not fit its kind."""

    def __init__(self, what: str, remedy: str, row: int | None = None) -> None:
        self.cell, self.remedy, self.row = what, remedy, row
        super().__init__(self.what)

    @property
    def what(self) -> str:
        """What is wrong, with the row if it is one cell's fault."""
        return self.cell if self.row is None else f"row {self.row + 1} {self.cell}"


def kind_of(series: pl.Series) -> Kind:
    """The kind that a column's type suggests."""
    dtype = series.dtype
    if dtype.is_float() or dtype.is_decimal():
        return Kind.CONTINUOUS
    if dtype.is_integer():
        return Kind.INTEGER
    if dtype == pl.Boolean:
        return Kind.BOOLEAN
    if dtype == pl.Date or isinstance(dtype, pl.Datetime):
        return Kind.DATE
    if isinstance(dtype, pl.List | pl.Array):
        return Kind.SET
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL
    return Kind.NOMINAL


def is_text(series: pl.Series) -> bool:
    """Whether a column holds text or categories."""
    return series.dtype in (pl.String, pl.Categorical, pl.Enum)


def lists_of(cells: Iterable[object]) -> list[object] | None:
    """Python's sets as sorted lists, or None where a column holds anything else.

    >>> lists_of([{"b", "a"}, None, frozenset()])
    [['a', 'b'], None, []]
    """
    found: list[object] = []
    some = False
    for cell in cells:
        if isinstance(cell, set | frozenset):
            some = True
            found.append(_sorted(cell))
        elif cell is None or (isinstance(cell, float) and cell != cell):
            found.append(None)
        elif isinstance(cell, list | tuple):
            found.append(cell)
        else:
            return None
    return found if some else None


def _sorted(items: set[object] | frozenset[object]) -> list[object]:
    """The items in one order, whatever they are."""
    try:
        return sorted(items)  # type: ignore[type-var]
    except TypeError:
        return sorted(items, key=lambda item: (type(item).__name__, str(item)))


def order_of(series: pl.Series, kind: Kind, given: tuple[str, ...]) -> tuple[str, ...]:
    """The categories of an ordinal column in order: as given, or as its type has them."""
    if kind != Kind.ORDINAL:
        return given
    if given:
        twice = sorted({name for name in given if given.count(name) > 1})
        if twice:
            raise Misfit(f"the category {twice[0]!r} is listed twice", "list each one once")
        return given
    if isinstance(series.dtype, pl.Enum):
        return tuple(series.dtype.categories.to_list())
    if series.dtype.is_numeric():
        return tuple(map(str, series.drop_nulls().unique().sort().to_list()))
    found = ", ".join(map(repr, series.drop_nulls().cast(pl.String).unique().sort().to_list()[:6]))
    raise Misfit(
        "an ordinal column needs the order of its categories",
        f"categories = [{found}] in the right order",
    )


def fit(series: pl.Series, kind: Kind, order: tuple[str, ...]) -> pl.Series:
    """The column stored as its kind asks; `Misfit` names the first row that does not fit."""
    dtype = series.dtype
    if isinstance(dtype, pl.Struct | pl.Object) or dtype in (pl.Binary, pl.Time, pl.Duration):
        raise Misfit(
            f"holds {dtype}, which no kind describes",
            "turn it into text or numbers first, or sets into lists",
        )
    if dtype.is_float():
        # pandas' way to write missing; an infinity stays, and methods that cannot use it say so.
        series = series.fill_nan(None) if series.is_nan().any() else series
    ways = {
        Kind.CONTINUOUS: _continuous,
        Kind.INTEGER: _integer,
        Kind.BOOLEAN: _boolean,
        Kind.DATE: _date,
        Kind.SET: _set,
    }
    if kind == Kind.ORDINAL:
        return _ordinal(series, order)
    if kind in ways:
        return ways[kind](series)
    if isinstance(dtype, pl.List | pl.Array):
        raise Misfit("holds lists", 'use kind = "set"')
    return series if is_text(series) else series.cast(pl.String)


def complaint(name: str, misfit: Misfit) -> Complaint:
    """The misfit of one column."""
    return Complaint(name, misfit.what, misfit.remedy)


def _first(bad: pl.Series, series: pl.Series, what: str, remedy: str) -> None:
    """Raise for the first row that is bad."""
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise Misfit(f"holds {series[row]!r}, {what}", remedy, row)


def _no_lists(series: pl.Series) -> None:
    if isinstance(series.dtype, pl.List | pl.Array):
        raise Misfit("holds lists", 'use kind = "set"')


def _continuous(series: pl.Series) -> pl.Series:
    if series.dtype.is_float():
        return series
    _no_lists(series)
    if series.dtype.is_temporal():
        raise Misfit(f"holds {series.dtype}, not numbers", 'use kind = "date"')
    numbers = series.cast(pl.Float64, strict=False)
    _first(
        numbers.is_null() & series.is_not_null() | numbers.is_nan().fill_null(False),
        series,
        "which is not a number",
        _NOMINAL,
    )
    return numbers


def _integer(series: pl.Series) -> pl.Series:
    if series.dtype.is_integer():
        return series
    _no_lists(series)
    if series.dtype == pl.Boolean:
        return series.cast(pl.Int64)
    if series.dtype.is_temporal():
        raise Misfit(f"holds {series.dtype}, not numbers", 'use kind = "date"')
    if series.dtype.is_float() or series.dtype.is_decimal():
        whole = series.cast(pl.Float64)
        bad = (whole.round(0) != whole) | whole.is_infinite()
        _first(bad.fill_null(False), series, "which is not whole", 'use kind = "continuous"')
        return series.cast(pl.Int64)
    # Not by way of floats: 9007199254740993 must keep its last digit.
    numbers = series.cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
    bad = numbers.is_null() & series.is_not_null()
    _first(bad, series, "which is not a whole number", _NOMINAL)
    return numbers


def _boolean(series: pl.Series) -> pl.Series:
    if series.dtype == pl.Boolean:
        return series
    _no_lists(series)
    words = series.cast(pl.String).str.strip_chars().str.to_lowercase()
    known = list(TRUTH)
    bad = ~words.is_in(known).fill_null(True)
    _first(bad, series, "which is neither true nor false", 'write true or false, or use "nominal"')
    return words.replace_strict(known, list(TRUTH.values()), return_dtype=pl.Boolean)


def _date(series: pl.Series) -> pl.Series:
    if series.dtype == pl.Date or isinstance(series.dtype, pl.Datetime):
        return series
    if series.dtype not in (pl.String, pl.Categorical):
        raise Misfit(f"holds {series.dtype}, not dates", 'use kind = "integer"')
    dates = series.cast(pl.String).str.to_date("%Y-%m-%d", strict=False)
    bad = dates.is_null() & series.is_not_null()
    _first(bad, series, "which is not a date (YYYY-MM-DD)", _NOMINAL)
    return dates


def _set(series: pl.Series) -> pl.Series:
    if isinstance(series.dtype, pl.Array):
        return series.arr.to_list()
    if isinstance(series.dtype, pl.List):
        if series.dtype.inner.is_nested():
            raise Misfit(f"holds {series.dtype}", "items must be single values")
        return series
    if series.dtype not in (pl.String, pl.Categorical):
        raise Misfit(f"holds {series.dtype}, not lists", "give lists, or text cut by blanks")
    from .io.sets import split  # the readers know how sets are written as text

    return split(series)


def _ordinal(series: pl.Series, order: tuple[str, ...]) -> pl.Series:
    _no_lists(series)
    wanted = pl.Enum(list(order))
    if series.dtype == wanted:
        return series
    text = series.cast(pl.String)
    bad = ~text.is_in(list(order)).fill_null(True)
    _first(
        bad, text, "which is not among its categories", f"add it to categories = {list(order)!r}"
    )
    return text.cast(wanted)
