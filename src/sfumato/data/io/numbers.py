"""Numbers as people write them: decimal points and commas, thousands separators, and codes that
only look so.

A column is read as numbers only if every one of its values is one; `007` and `12345678901234567890`
are codes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import polars as pl

_INTEGER = r"^[+-]?\d+$"
_LEADING_ZERO = r"^[+-]?0\d"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_COMMA = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
_COMMA_GROUPED = r"^[+-]?\d{1,3}(\.\d{3})*(,\d+)?$"
_POINT_GROUPED = r"^[+-]?\d{1,3}(,\d{3})*(\.\d+)?$"
# 1,234 may be one thousand or one and a bit; 0,234 and 12,5 may not.
_EITHER_COMMA = r"^[+-]?([1-9]\d{0,2}(,\d{3})?|0)$"
_EITHER_POINT = r"^[+-]?([1-9]\d{0,2}(\.\d{3})?|0)$"
_BLANKS = " \u00a0\u202f\u2009"
_APOSTROPHES = "'’"
_APART = f"[{_BLANKS}{_APOSTROPHES}]"
_SPACED = rf"^[+-]?\d{{1,3}}({_APART}\d{{3}})+([.,]\d+)?$"
_SPACED_OR_NOT = rf"^[+-]?(\d+|\d{{1,3}}({_APART}\d{{3}})+)([.,]\d+)?$"

_GROUPED = rf"\d{{1,3}}([.,{_BLANKS}{_APOSTROPHES}]\d{{3}})+"
NUMBERISH = rf"^[+-]?(\d+|{_GROUPED}|\d*[.,]\d+|\d+[.,]|{_GROUPED}[.,]\d+)([eE][+-]?\d+)?$"
"""A text that may be a number in some style."""

Style = Literal["plain", "comma", "comma-grouped", "point-grouped", "spaced"]

THOUSANDS = ("'", " ", ".", ",")
"""What a caller may name; other apostrophes and blanks count as these."""

_EXACT_DIGITS = 17


@dataclass(frozen=True)
class Numbers:
    """A column as numbers, and whether another reading was possible."""

    values: pl.Series
    style: Style
    ambiguous: bool = False
    apart: str = ""
    """What stands between thousands, where it is an apostrophe or a blank."""
    decimal: str = "."


@dataclass(frozen=True)
class Codes:
    """Digits that are no number, and why."""

    reason: str


def plain(series: pl.Series) -> Numbers | Codes | None:
    """Numbers with a decimal point and nothing else; None if some value is none."""
    whole = series.cast(pl.Int64, strict=False)
    if whole.null_count() == series.null_count():
        return _code_like(series) or Numbers(whole, "plain")
    values = series.cast(pl.Float64, strict=False)
    if values.null_count() != series.null_count() or values.is_nan().any():
        return None
    if all_whole(series):
        return Codes("some are longer than 64-bit integers")
    if values.is_infinite().any():
        beyond = values.is_infinite() & ~series.str.contains(_INFINITE)
        if beyond.any():
            return Codes(f"{series[beyond.arg_max() or 0]!r} is beyond every float")
    code = _code_like(series)
    return code or Numbers(
        values, "plain", ambiguous=bool(series.str.contains(_EITHER_POINT).all())
    )


def _code_like(series: pl.Series) -> Codes | None:
    if series.str.contains(_LEADING_ZERO).any():
        return Codes("some begin with 0")
    if series.str.starts_with("+").any() and not series.str.starts_with("-").any():
        return Codes("some begin with +, and none with -")
    long = series.filter(series.str.len_bytes() > _EXACT_DIGITS)
    digits = long.str.replace_all(r"[eE].*$|[^0-9]", "").str.strip_chars("0")
    exact = not (digits.str.len_chars() > _EXACT_DIGITS).any()
    if not exact and series.str.contains(".", literal=True).any():
        return Codes("some have more digits than a number can hold")
    return None


def styled(series: pl.Series, decimal: str | None) -> Numbers | None:
    """Numbers with decimal commas or thousands separators, in one consistent style; None if they
    are not.

    With `decimal` unknown, a column such as 1,234 and 5,678 fits two styles and is marked
    ambiguous.
    """
    if series.str.contains(_LEADING_ZERO).any():
        return None
    comma = point = None
    if decimal != ".":
        comma = _comma(series)
    if decimal != ",":
        point = _grouped(series, _POINT_GROUPED, ",", "point-grouped")
    return comma or point


def spaced(series: pl.Series) -> Numbers | Codes | None:
    """Numbers with an apostrophe or a blank between thousands; None if they are not.

    Numbers of one length with blanks in them may as well be codes or telephone numbers.

    >>> spaced(pl.Series(["1'234.50", "12"])).values.to_list()
    [1234.5, 12.0]
    """
    if not series.str.contains(_SPACED_OR_NOT).all() or series.str.contains(_LEADING_ZERO).any():
        return None
    blanks = series.str.contains(f"[{_BLANKS}]")
    apostrophes = bool(series.str.contains(f"[{_APOSTROPHES}]").any())
    if bool(blanks.any()) == apostrophes:
        return None
    if not apostrophes and blanks.all() and series.str.len_chars().n_unique() == 1:
        return Codes('they may be codes with blanks in them; thousands = " " overrules it')
    bare = series.str.replace_all(_APART, "")
    commas = bare.str.contains(",", literal=True).any()
    if commas and bare.str.contains(".", literal=True).any():
        return None
    values = _cast(bare.str.replace(",", ".", literal=True))
    apart, decimal = "'" if apostrophes else " ", "," if commas else "."
    return Numbers(values, "spaced", apart=apart, decimal=decimal)


def _cast(bare: pl.Series) -> pl.Series:
    """Plain digits as whole numbers where all are, else as floats."""
    whole = bare.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == bare.null_count() else bare.cast(pl.Float64, strict=False)


def ungrouped(series: pl.Series, thousands: str) -> pl.Series:
    """The column without its thousands separators, in the cells that are grouped by them.

    >>> ungrouped(pl.Series(["1.234,5", "1.5"]), ".").to_list()
    ['1234,5', '1.5']
    """
    kinds = {"'": _APOSTROPHES, " ": _BLANKS}.get(thousands, re.escape(thousands))
    other = "[.,]" if thousands in ("'", " ") else re.escape("," if thousands == "." else ".")
    grouped = series.str.contains(rf"^[+-]?\d{{1,3}}([{kinds}]\d{{3}})+({other}\d+)?$")
    return series.str.replace_all(f"[{kinds}]", "").zip_with(grouped.fill_null(False), series)


def is_whole(cell: str) -> bool:
    """Whether a text is digits with at most a sign."""
    return re.fullmatch(r"[+-]?[0-9]+", cell) is not None


def all_whole(series: pl.Series) -> bool:
    """Whether all values are digits with at most a sign."""
    return bool(series.str.contains(_INTEGER).all())


def fits(value: str) -> bool:
    """Whether a value could be a number in some style; spares columns of words the full look."""
    return any(re.match(p, value) for p in (_COMMA, _COMMA_GROUPED, _POINT_GROUPED, _SPACED))


def _comma(series: pl.Series) -> Numbers | None:
    if series.str.contains(_COMMA).all():
        values = series.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        if values.null_count() == series.null_count() and not values.is_infinite().any():
            either = series.str.contains(_EITHER_COMMA).all()
            return Numbers(values, "comma", ambiguous=bool(either))
        return None
    return _grouped(series, _COMMA_GROUPED, ".", "comma-grouped")


def _grouped(series: pl.Series, pattern: str, group: str, style: Style) -> Numbers | None:
    if not series.str.contains(pattern).all():
        return None
    bare = series.str.replace_all(group, "", literal=True).str.replace(",", ".", literal=True)
    if not bare.str.contains(".", literal=True).any():
        whole = bare.cast(pl.Int64, strict=False)
        return Numbers(whole, style) if whole.null_count() == series.null_count() else None
    return Numbers(bare.cast(pl.Float64, strict=False), style)


def as_thousands(series: pl.Series) -> pl.Series:
    """An ambiguous column with its comma or point read as a thousands separator."""
    return series.str.replace_all(r"[.,]", "").cast(pl.Int64)


def forced(series: pl.Series, decimal: str | None, thousands: str | None = None) -> pl.Series:
    """Each value as a number by whatever style fits it alone, null where none does.

    For a column that the caller has declared to be numbers, so that `007` and `1 234` are welcome.
    The separators must still be those of one style over the column: `decimal`, else the point.
    """
    text = series.str.strip_chars()
    if thousands:
        text = ungrouped(text, thousands)
    apart = text.str.contains(_SPACED).fill_null(False)
    text = text.str.replace_all(_APART, "").zip_with(apart, text)
    if decimal is None:
        # 47.128 is read with a decimal point, as it is in a column that nobody has declared.
        pointed = text.cast(pl.Float64, strict=False).null_count() == text.null_count()
        found = None if pointed else styled(text, None)
        decimal = (
            ","
            if found and found.style in ("comma", "comma-grouped") and not found.ambiguous
            else "."
        )
    if decimal == ",":
        pattern, group = _COMMA_GROUPED, "."
        loose = text.str.contains(_COMMA) | text.str.contains(pattern)
    else:
        pattern, group = _POINT_GROUPED, ","
        loose = text.str.contains(pattern) | ~text.str.contains(",", literal=True)
    kept = text.zip_with(loose, pl.Series([None], dtype=pl.String))
    grouped = kept.str.contains(pattern)
    bare = kept.str.replace_all(group, "", literal=True).zip_with(grouped, kept)
    if decimal == ",":
        bare = bare.str.replace(",", ".", literal=True)
    return _cast(bare)
