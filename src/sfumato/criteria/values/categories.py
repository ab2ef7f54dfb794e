"""Confidential values by category: two values of one kind are no two answers.

Who is known to have either cancer or HIV is known to be gravely ill. A criterion with `categories`
therefore counts categories where it would count values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.schema import SUPPRESSED, Column, Kind
from ...data.table import Table, kept_with
from ...errors import MeasureError
from ..classes import Grouping, ValueCounts
from ..coding import coded_column
from ..sets import holds_sets
from ..value_groups import settled, value_groups, without_harmless
from ..verdict import OfClasses, telling
from .t_closeness import levels

Lists = tuple[tuple[str, ...], ...]
Missing = Literal["ignore", "value"]
_SILENT = ("", SUPPRESSED)


class OfCategories(OfClasses):
    """A criterion that counts the values of a class, or the categories that they belong to."""

    missing: Missing = Field(
        "ignore", description="whether a missing confidential value counts as a value"
    )
    categories: Lists | Annotated[int, Field(ge=1, strict=True)] = Field(
        (),
        description="categories that are counted instead of values: lists of all values, or the "
        "height in the column's tree up to which values are one category",
    )

    @model_validator(mode="after")
    def _categories_part(self) -> Self:
        if not isinstance(self.categories, int):
            check_lists(self.categories)
        return self

    def _counts(
        self, grouping: Grouping, column: Column, missing: Missing | None = None
    ) -> ValueCounts:
        """How often each class holds what counts."""
        return category_counts(grouping, column, self.categories, missing or self.missing)

    def _things(self) -> str:
        return "categories" if self.categories else "values"


def check_lists(categories: Lists) -> None:
    """Complains of lists that put nothing apart."""
    if len(categories) == 1:
        raise ValueError("one category tells nothing apart: give two or more")
    listed = [value for category in categories for value in category]
    if len(set(listed)) != len(listed):
        raise ValueError("a value belongs to one category only")
    if not all(categories):
        raise ValueError("a category without values is held by nobody")


def category_counts(
    grouping: Grouping,
    column: Column,
    categories: Lists | int,
    missing: Missing,
    harmless: frozenset[str] = frozenset(),
) -> ValueCounts:
    """How often each class holds each category, or each value where there are no categories.

    No group counts as a `harmless` value, unless it is harmless itself.
    """
    of_categories = categorized(grouping.table, column, categories, missing)
    if missing == "ignore" and value_groups(grouping.table, column.name):
        return _settled_counts(grouping, column.name, of_categories, harmless)
    counts = replace(grouping, table=of_categories).counts(column.name)
    return telling(counts) if missing == "ignore" else counts


def _settled_counts(
    grouping: Grouping, name: str, of_categories: Table, harmless: frozenset[str]
) -> ValueCounts:
    """The counts of categories, where a value that is a group of another one counts as that."""
    own, kind = coded_column(grouping.table, name), coded_column(of_categories, name)
    kinds = np.zeros(len(own.values) + 1, dtype=np.int64)
    kinds[own.codes] = kind.codes
    known = telling(grouping.counts(name), settle=False)
    texts = own.values.cast(pl.String).to_list()
    free = {number for number, text in enumerate(texts, 1) if text in harmless}
    groups = without_harmless(known.groups, free)
    return ValueCounts(*settled(known.cls, known.code, known.count, groups, kinds), kind.values)


def categorized(
    table: Table, column: Column, categories: Lists | int, missing: Missing = "ignore"
) -> Table:
    """The table with the category of each value of the column; made once for each table.

    What stands for missing stays so, unless it counts and the categories list it as "".

    >>> from sfumato.data.table import table
    >>> t = table({"ill": ["flu", "hiv", None, "cold"]}, confidential="ill")
    >>> kinds = (("hiv",), ("flu", "cold"))
    >>> categorized(t, t.schema["ill"], kinds)["ill"].to_list()
    ['2', '1', None, '2']
    """
    if not categories:
        return table

    def make() -> Table:
        if holds_sets(table, column.name):
            return table.with_columns([_of_sets(table, column, categories)])
        series = _of_values(table, column, categories, missing)
        plain = column.with_(kind=Kind.NOMINAL, poset=None, categories=(), whole=None)
        return table.with_columns([series], [plain])

    key = ("categories", column.name, categories, missing)
    found: Table = kept_with(table, key, column.poset, make)
    return found


def _of_values(
    table: Table, column: Column, categories: Lists | int, missing: Missing
) -> pl.Series:
    coded = coded_column(table, column.name)
    texts = coded.values.cast(pl.String)
    telling_ones = ~texts.is_in(_SILENT)
    of: dict[str, str | None] = dict.fromkeys(_SILENT)
    of.update(_labels(column, coded.values.filter(telling_ones), categories))
    if missing == "value" and not isinstance(categories, int):
        of[""] = listed(categories).get("")
        of[SUPPRESSED] = listed(categories).get(SUPPRESSED, of[""])
    by_code = pl.Series(
        column.name, [of[""], *(of[text] for text in texts.to_list())], dtype=pl.String
    )
    return by_code.gather(pl.Series(coded.codes, dtype=pl.UInt32))


def _of_sets(table: Table, column: Column, categories: Lists | int) -> pl.Series:
    """Sets of the categories that the items belong to."""
    if isinstance(categories, int):
        raise MeasureError(
            f"the items of {column.name!r} have no heights to be sorted by",
            remedy='categories = [["...", "..."], ["..."]]',
        )
    series = table[column.name].cast(pl.List(pl.String))
    items = series.explode().drop_nulls().unique()
    of = _labels(column, items.filter(~items.is_in(_SILENT)), categories)
    return series.list.eval(pl.element().replace(of)).list.unique()


def _labels(column: Column, values: pl.Series, categories: Lists | int) -> dict[str, str]:
    """The category of each value, by its text."""
    texts = values.cast(pl.String).to_list()
    if not isinstance(categories, int):
        of = listed(categories)
        check_listed(of, texts, column.name)
        return {text: of[text] for text in texts}
    heights = levels(column, values) if len(values) else []
    if len(values) and categories >= len(heights):
        raise MeasureError(
            f"at height {categories} all values of {column.name!r} are one category",
            remedy=f"categories below {len(heights)}, the height of its tree",
        )
    return {text: str(heights[categories][i + 1]) for i, text in enumerate(texts)}


def listed(categories: Lists) -> dict[str, str]:
    """By value, the number of its category, the first being 1."""
    return {v: str(i) for i, category in enumerate(categories, 1) for v in category}


def check_listed(of: Mapping[str, object], texts: list[str], name: str) -> None:
    """Complains of values without a category: nobody knows what they are like."""
    if stray := sum(text not in of for text in texts):
        raise MeasureError(
            f"{stray} values of column {name!r} belong to no category",
            remedy="list every value of the column in `categories`",
        )
