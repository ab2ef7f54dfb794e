"""Where people are: addresses, postal codes, and coordinates in every form."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from ..schema import Kind
from .view import ENOUGH, View

_DECIMAL = r"[+-]?\d{1,3}[.,]\d{2,}"
# With a decimal, a sign of degrees or minutes behind it: "N10" alone may be any code.
_DEGREES = (
    r"\d{1,3}(?:[.,]\d+ ?°?|(?: ?° ?| )(?:\d{1,2}(?:[.,]\d+)? ?['′’]? ?"
    r"(?:\d{1,2}(?:[.,]\d+)? ?(?:\"|″|''|”)?)?)?) ?"
)
COORDINATES = (
    rf"\(?{_DECIMAL} ?°?[,;/ ] ?{_DECIMAL} ?°?\)?",
    rf"[NSEWO] ?{_DEGREES}[,;/ ]*(?:[NSEWO] ?{_DEGREES})?",
    rf"{_DEGREES}[NSEWO][,;/ ]*(?:{_DEGREES}[NSEWO])?",
    r"-?\d{1,3}° ?\d{1,2}['′’].*",
    r"(?i)(?:srid=\d+;)?point ?z?m? ?\([^)]*\)",
    r"\{.*\"coordinates\".*\}",
    r"\d{1,2} ?[C-HJ-NP-X] ?\d{5,7}(?:[., ]+)\d{6,8}",
    r"\d{1,2}[C-HJ-NP-X] ?[A-Z]{2} ?\d{4,5} ?\d{4,5}",
    r"[23456789CFGHJMPQRVWX]{8}\+[23456789CFGHJMPQRVWX]{2,3}",
)
_GEOHASH = r"[0-9b-hjkmnp-z]{5,12}"
_STREETS = (
    r"(?i)(?:stra(?:ß|ss)e|str\.|weg|gasse|platz|allee|ring|damm|ufer"
    r"|street|\bst\b|avenue|\bave\b|road|\brd\b|lane|drive|court|square|terrace|close|boulevard"
    r"|\brue\b|\bchemin|\bplace\b|impasse|\bquai\b|\bcalle\b|\bc/|avenida|plaza|paseo|camino"
    r"|\bvia\b|viale|piazza|corso|vicolo|\brua\b|travessa|largo|praça|alameda"
    r"|straat|laan|plein|gracht|kade|dreef|\bul\.|ulica|aleja|\bal\.|plac\b|osiedle)"
)
_ADDRESS = (
    r"\d{1,5} ?[a-zA-Z]?(?:[-/]\d+)?,? \p{L}[\p{L}.'’-]*(?: [\p{L}\d.'’#,-]+){0,7}",
    r"\p{L}[\p{L}.'’/-]*(?: [\p{L}.'’-]+){0,6},? (?:n[°ºr.]*\.? ?)?\d{1,5} ?[a-zA-Z]?(?:[-/ ,].*)?",
)
# Districts and blocks with numbers, where no blanks part the words.
_UNPARTED = (
    r".*(?:[市区區县縣郡町村路街巷道弄]|丁目|番地?|[동로길읍면]).*\d.*"
    r"(?:[号號番室楼]|丁目|-\d+|호|\d)"
)
_BRITISH = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_CANADIAN = r"[A-Z]\d[A-Z][ -]?\d[A-Z]\d"
_IRISH = r"[AC-FHKNPRTV-Y]\d[\dW] ?[\dAC-FHKNPRTV-Y]{4}"
_DUTCH = r"\d{4} ?[A-Z]{2}"
_LETTERED = (_BRITISH, _CANADIAN, _IRISH, _DUTCH, r"[A-Z]\d{4}[A-Z]{3}", r"[A-Z]{3} \d{4}")
_POSTAL = (
    "|".join(_LETTERED),
    r"\d{2}-\d{3}",
    r"\d{4}-\d{3}",
    r"\d{5}-\d{3}",
    r"\d{3}-\d{4}",
    r"\d{5}-\d{4}",
    r"\d{3} \d{2}",
    r"(?:D|A|CH|F|I|E|B|L|DK|PL|NL|S|FIN|CZ)-\d{4,5}",
)
_MOST, _SOME, _INSIDE = 0.8, 0.5, 0.9


def is_coordinate(view: View) -> bool:
    """Whether texts are coordinates: decimal pairs, degrees, points, grids, plus codes."""
    if not view.textual or view.distinct < 2:
        return False
    if any(view.share(pattern) >= _MOST for pattern in COORDINATES):
        return True
    return view.distinct >= ENOUGH and _is_geohash(view)


def _is_geohash(view: View) -> bool:
    """Letters and digits mixed, one length, and beginnings that many share."""
    if view.share(_GEOHASH) < 0.98 or len({len(text) for text in view.listed}) > 2:
        return False
    # Codes have letters in some places and digits in others; here the last ones have both.
    ends = [{text[-at].isdigit() for text in view.listed if len(text) > 1} for at in (1, 2)]
    if not all(len(kinds) == 2 for kinds in ends):
        return False
    # Places lie together: the first two letters repeat far more than drawn ones would.
    return len({text[:2] for text in view.listed}) <= min(40, 0.2 * len(view.listed))


def is_address(view: View, named: bool) -> bool:
    """Whether texts are streets with numbers; where the name says so, any of many values."""
    if not view.textual:
        return False
    if named:
        return view.distinct > 5 or view.size < ENOUGH
    if view.distinct < ENOUGH or view.spread < 0.3:
        return False
    if view.share(_UNPARTED) >= _MOST:
        return True
    formed = max(view.share(pattern) for pattern in _ADDRESS)
    streets = float(view.texts.str.contains(_STREETS).mean() or 0.0)  # type: ignore[arg-type]
    return min(formed, streets) >= 0.4 and max(formed, streets) >= _MOST


def is_postal(view: View) -> bool:
    """Whether texts have the form of a country's postal codes, without any help of the name."""
    if not view.textual or view.distinct < 10:
        return False
    return any(view.share(pattern) >= 0.95 for pattern in _POSTAL)


# How many characters of a postal code name a district, then a town or a region.
_DISTRICTS = ((_DUTCH, (4, 2)), (_CANADIAN, (3, 1)), (_IRISH, (3, 1)), (_BRITISH, (4, 2, 1)))
_USUAL = (3, 2, 1)
_TELLING = 0.5


def postal_districts(view: View) -> list[int]:
    """How many characters of the view's postal codes to keep, step by step, longest first; none
    where no beginning is shared by several codes."""
    lengths = {len(text) for text in view.listed}
    longest = max(lengths, default=0)
    found = [cuts for form, cuts in _DISTRICTS if view.share(f"(?i:{form})") >= _MOST]
    usual = _USUAL[: 3 if longest < 4 else 2]
    cuts = [cut for cut in (found[0] if found else usual) if cut < longest]
    if not cuts or bool((view.whole.cast(pl.String) == "").any()):
        return []
    begun = len({text[: cuts[-1]] for text in view.listed})
    return [longest, *cuts] if begun <= max(1, _TELLING * len(view.listed)) else []


def could_be_postal(view: View) -> bool:
    """Whether values can be postal codes at all, where the name says that they are."""
    if view.kind in (Kind.CONTINUOUS, Kind.BOOLEAN, Kind.DATE):
        return False
    return view.size < ENOUGH or view.share(r"(?i)[a-z0-9][a-z0-9 -]{1,10}") >= _SOME


_DEGREES_OF = re.compile(r"(?:^|_)(lat|lon|lng|long)$")


def could_be_coordinate(view: View) -> bool:
    """Whether values can be coordinates, where the name says so: numbers, or texts of that form."""
    short = _DEGREES_OF.search(view.plain)
    if short and not view.name.isascii():
        return False  # "lön" is a wage, and reads "lon" without its accent
    if view.values.dtype.is_numeric():
        if view.kind == Kind.BOOLEAN or view.distinct <= 2:
            return False
        return short is None or _in_range(view, short[1])
    return view.textual and (is_coordinate(view) or bool(len(view.numbers)) or view.distinct > 20)


def _in_range(view: View, axis: str) -> bool:
    """Whether numbers can be degrees; whole ones under "long" may be how long something took."""
    if not len(view.numbers):
        return True
    limit = 90 if axis == "lat" else 180
    inside = float((np.abs(view.numbers) <= limit).mean()) >= _INSIDE
    return inside and not (axis == "long" and view.whole_numbers)


def _decimals(view: View) -> float:
    """The share of numbers with four decimals or more, as degrees of a place have them."""
    scaled = view.numbers * 1000
    return float((np.abs(scaled - np.round(scaled)) > 1e-6).mean())


def _degrees(view: View, limit: float) -> bool:
    return (
        view.values.dtype.is_float()
        and len(view.numbers) >= ENOUGH
        and bool((np.abs(view.numbers) <= limit).mean() > 0.99)
        and _decimals(view) > 0.8
    )


def is_pair(one: View, other: View) -> bool:
    """Whether two columns side by side are degrees of north and east that no name gives away.

    People of one table live within a country or a continent, away from zero degrees in one
    direction at least, and both numbers have the many decimals of a device.
    """
    if not _degrees(one, 90) or not _degrees(other, 180):
        return False
    inner = np.quantile(one.numbers, (0.05, 0.95))
    outer = np.quantile(other.numbers, (0.05, 0.95))
    near = inner[1] - inner[0] <= 25 and outer[1] - outer[0] <= 65
    away = max(np.abs(inner).min() * (inner[0] * inner[1] > 0), np.abs(outer).min())
    return bool(near and away >= 20)


def is_grid(one: View, other: View) -> bool:
    """Whether two columns named x and y are metres in a national grid."""
    axes = {one.plain[-1:], other.plain[-1:]}
    if axes not in ({"x", "y"}, {"e", "n"}) or len(one.plain) > 6 or len(other.plain) > 6:
        return False
    views = (one, other)
    if not all(len(v.numbers) and v.distinct > ENOUGH for v in views):
        return False
    low, high = (min(v.range[0] for v in views), max(v.range[1] for v in views))
    metres = low > 10_000 and high < 11_000_000
    return metres or (is_pair(one, other) or is_pair(other, one))
