"""A column as the recognizers see it: a sample of its values, as texts and as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from ..kinds import is_text, kind_of
from ..schema import Column, Kind
from ..table import Table
from .found import PERSONAL
from .tongues import OPINION
from .words import called, plain_name

ROWS = 10_000
"""Rows that are looked at; the recognizers' time does not grow with the table."""
_TEXTS = 2_000
ENOUGH = 20
"""Values from which on something can be said about how they are spread."""
UNIQUE = 0.9
"""The share of distinct values from which on a column has one for nearly every record."""
_MANY_WORDS = 3
_LONGEST = 1e18
"""Whole numbers below it fit into 64 bits."""
_NUMERAL = re.compile(
    r"^[+-]?(?:[€$£] ?|chf |eur |zł )?(?:\d+|\d{1,3}(?:[ \u00a0\u202f'’.,]\d{3})+)(?:[.,]\d+)?"
    r"(?: ?[€$£%]| eur| zł)?$"
    r"|^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$|^[+-]?\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?$"
)


def sample(table: Table) -> pl.DataFrame:
    """At most so many rows, spread over the table in an order that follows no period in it."""
    if table.height <= ROWS:
        return table.frame
    rows = np.sort(np.random.default_rng(0).choice(table.height, ROWS, replace=False))
    return table.frame[pl.Series(rows.astype(np.uint32 if table.height < 2**32 else np.uint64))]


@dataclass(frozen=True)
class View:
    """One column: its schema entry, its sampled values without missing ones, and the whole."""

    column: Column
    values: pl.Series
    whole: pl.Series

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def plain(self) -> str:
        """The name in lower case, without accents, words joined by underscores."""
        return plain_name(self.name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The plain name, and what the file calls the column in words, where it does."""
        return tuple(filter(None, (self.plain, plain_name(self.column.label))))

    @cached_property
    def said(self) -> list[str]:
        """What the name says, the likeliest first, and then what the label says."""
        found = dict.fromkeys(what for name in self.names for what in called(name))
        if self.named(OPINION) and not PERSONAL.intersection(called(self.plain)):
            return ["private", *(what for what in found if what != "private")]
        return list(found)

    def named(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found in the name or in the label."""
        return any(pattern.search(name) is not None for name in self.names)

    @property
    def kind(self) -> Kind:
        """What the values are: whole numbers are integers, whatever the table stores them as."""
        whole = self.column.kind == Kind.CONTINUOUS and self.values.dtype.is_integer()
        return Kind.INTEGER if whole else self.column.kind

    @property
    def textual(self) -> bool:
        return is_text(self.values)

    @property
    def size(self) -> int:
        return len(self.values)

    @cached_property
    def distinct(self) -> int:
        """Different values in the sample."""
        return self.values.n_unique() if self.size else 0

    @property
    def spread(self) -> float:
        """The share of different values in the sample."""
        return self.distinct / max(1, self.size)

    @cached_property
    def unique(self) -> bool:
        """Whether nearly every record of the whole column has a value of its own."""
        if self.size < ENOUGH or self.spread < UNIQUE:
            return False
        present = self.whole.drop_nulls()
        return present.n_unique() >= UNIQUE * len(present)

    @cached_property
    def texts(self) -> pl.Series:
        """Different values as stripped texts, at most so many; none for sets."""
        if isinstance(self.values.dtype, pl.List) or not self.size:
            return pl.Series([], dtype=pl.String)
        found = self.values.unique(maintain_order=True).head(_TEXTS).cast(pl.String)
        found = found.str.strip_chars()
        return found.filter(found != "")

    @cached_property
    def listed(self) -> list[str]:
        """The texts as a list."""
        return self.texts.to_list()

    def share(self, pattern: str) -> float:
        """The share of the different texts that a pattern describes wholly."""
        return self.count(pattern) / max(1, len(self.texts))

    def count(self, pattern: str) -> int:
        """How many of the different texts a pattern describes wholly."""
        return int(self.texts.str.contains(f"^(?:{pattern})$").sum())

    @cached_property
    def numerals(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """The values as numbers, and the few words among them ("N", "unknown"); else none."""
        if self.values.dtype.is_numeric():
            numbers = self.values.cast(pl.Float64).to_numpy()
            return numbers[np.isfinite(numbers)], ()
        if not self.textual or not self.size:
            return np.empty(0), ()
        words = [text for text in self.listed if not _NUMERAL.match(text.lower())]
        if len(words) > min(_MANY_WORDS, len(self.listed) - 2):
            return np.empty(0), ()
        texts = self.values.cast(pl.String).str.strip_chars()
        kept = texts.filter(~texts.is_in([*words, ""]))
        if not len(kept):
            return np.empty(0), ()
        return np.array([_number(text) for text in kept.to_list()]), tuple(words)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The values as numbers, whatever they are stored as; none where they are no numbers."""
        return self.numerals[0]

    @cached_property
    def whole_numbers(self) -> bool:
        """Whether all values are whole numbers."""
        return bool(len(self.numbers) and (self.numbers == np.round(self.numbers)).all())

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the greatest number."""
        return float(self.numbers.min()), float(self.numbers.max())


def _number(text: str) -> float:
    """A numeral as a number; where a single mark could be either, the later reading is decimal."""
    bare = re.sub(r"[^\d.,eE+-]", "", text)
    if bare.count(",") and bare.count("."):
        group = "," if bare.rfind(".") > bare.rfind(",") else "."
        bare = bare.replace(group, "")
    elif max(bare.count(","), bare.count(".")) > 1:
        bare = bare.replace(",", "").replace(".", "")
    try:
        return float(bare.replace(",", "."))
    except ValueError:
        return float("nan")


def views(table: Table) -> dict[str, View]:
    """Every column that holds values; labels that a method made are left to it."""
    rows = sample(table)
    return {
        column.name: View(
            column,
            _integers(rows.get_column(column.name).drop_nulls()),
            table.frame.get_column(column.name),
        )
        for column in table.schema
        if not column.generalized
    }


def of_items(view: View) -> View:
    """The items of sets as a column of their own, under the same name."""
    items, whole = (_items(series) for series in (view.values, view.whole))
    return View(view.column.with_(kind=kind_of(items)), _integers(items), whole)


def _items(sets: pl.Series) -> pl.Series:
    items = sets.drop_nulls()
    return items.filter(items.list.len() > 0).explode().drop_nulls()


def _integers(values: pl.Series) -> pl.Series:
    """Whole floats as integers: pandas makes floats of numbers with gaps, and long ones would be
    written with a power of ten."""
    if not values.dtype.is_float() or not len(values):
        return values
    whole = ((values == values.round(0)) & (values.abs() < _LONGEST)).all()
    return values.cast(pl.Int64) if whole else values
