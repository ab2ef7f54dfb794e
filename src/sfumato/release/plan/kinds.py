"""What kind a column is beyond its type: truth values, orders, dates and numbers in disguise."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from ...data.io.dates import dates
from ...data.io.numbers import forced
from ...data.recognize import PERSONAL
from ...data.recognize.codes import is_scale, is_stand_in, is_truth, order_of, stand_ins
from ...data.recognize.columns import is_icd_sets
from ...data.recognize.dates import is_seconds
from ...data.recognize.view import View
from ...data.recognize.words import COUNTED, GRADED, SEX, UNORDERED
from ...data.schema import Kind


@dataclass(frozen=True)
class Shape:
    """How a column is to be read: its kind if not that of its type, and what goes with it."""

    kind: Kind | None = None
    categories: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    """The formats of its dates, where the reader must be told."""
    missing: tuple[str, ...] = ()
    """Words among numbers that stand for a missing value."""
    stand_ins: tuple[str, ...] = ()
    """Values that may stand for a missing one, for a person to decide."""


_FEW = 10
_EMPTY = frozenset(("nan", "na", "n/a", "null", "#n/a", "<na>", "?", "."))
"""Words that mean a missing value in any column, so that reading them so harms no other."""
_CODES = ("postal-code", "place", "region")


def shape(view: View, what: str, from_file: bool) -> Shape:
    """The kind that the values tell. What a text file holds can be read again by another kind."""
    if view.column.kind in (Kind.SET, Kind.DATE, Kind.TEXT, Kind.BOOLEAN, Kind.ORDINAL):
        return Shape()
    if what in ("", "diagnosis", "private", "free-text", "unique-code") and is_icd_sets(view):
        return Shape(Kind.SET)
    if what in ("date", "date-time"):
        return _dated(view, from_file)
    if what in PERSONAL or (what in _CODES and view.distinct > 2):
        return Shape(
            Kind.NOMINAL if view.column.kind == Kind.INTEGER and what != "coordinate" else None
        )
    return _category(view, what, from_file) or _number(view, from_file)


def _category(view: View, what: str, from_file: bool) -> Shape | None:
    """Truth values, orders and codes; None for numbers and for categories without an order."""
    if view.distinct > 20 or view.column.kind == Kind.CONTINUOUS:
        return None
    values = view.whole.drop_nulls().unique().sort()
    listed = values.cast(pl.String).to_list()
    empty = tuple(word for word in listed if word.lower() in _EMPTY) if from_file else ()
    listed = [word for word in listed if word not in empty]
    if is_truth(listed):
        coded = view.named(SEX) and not view.textual
        return Shape(Kind.NOMINAL) if coded else Shape(Kind.BOOLEAN, missing=empty)
    if view.textual:
        order = order_of(listed)
        return Shape(Kind.ORDINAL, tuple(order), missing=empty) if order else None
    if what in ("age", "weight", "date-part", "year", "target") or view.named(COUNTED):
        return None
    graded = view.named(GRADED) or what == "likert"
    if view.named(UNORDERED) and not graded and 1 < len(listed) <= 2 * _FEW:
        return Shape(Kind.NOMINAL)
    if len(listed) <= _FEW and (is_scale(view) or (graded and len(listed) > 2)):
        return Shape(Kind.ORDINAL, tuple(listed))
    return None


def _number(view: View, from_file: bool) -> Shape:
    """Numbers among words or with apostrophes, and values that may stand for missing ones."""
    odd = tuple(stand_ins(view))
    if not view.textual or not len(view.numbers):
        return Shape(stand_ins=odd)
    words = view.numerals[1]
    written = any(not text.isdigit() for text in view.listed if text not in words)
    few = view.distinct <= 2 * _FEW  # codes, of which "not applicable" is one
    if not from_file or few or not set(words) <= set(odd) or not (written or words):
        return Shape(stand_ins=() if few else odd)
    texts = view.texts.filter(~view.texts.is_in([*words]))
    if forced(texts, None).null_count():
        return Shape(stand_ins=odd)  # with signs of currencies or units, which no reader takes
    pointed = bool(texts.str.contains(r"[.,]\d{1,2}$").any())
    kind = Kind.INTEGER if view.whole_numbers and not pointed else Kind.CONTINUOUS
    rest = tuple(value for value in odd if value not in words)
    return Shape(kind, missing=words, stand_ins=rest)


def _dated(view: View, from_file: bool) -> Shape:
    """Dates that formats describe; those that none does stay what they are."""
    if not from_file or view.column.kind == Kind.CONTINUOUS:
        return Shape()
    if is_seconds(view):
        return Shape(Kind.DATE, dates=("%s",))
    texts = view.whole.cast(pl.String).str.strip_chars()
    nobody = tuple(text for text in view.listed if is_stand_in(text))
    when = dates(texts, asked=True)
    if when is None and nobody:
        when = dates(texts.filter(~texts.is_in(nobody)), asked=True)
    else:
        nobody = ()
    if when is None:
        return Shape()
    return Shape(Kind.DATE, dates=when.formats if when.values is None else (), missing=nobody)
