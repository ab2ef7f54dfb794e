"""Classes of k with limits on their confidential values: (alpha, k), p-sensitive, (p, alpha)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.schema import Column
from ...errors import MeasureError
from ...protocols import OnParts
from ..classes import Grouping, ValueCounts
from ..value_groups import comparable_codes
from ..verdict import (
    ROUNDING,
    Judged,
    OfValues,
    all_of,
    and_of_size,
    different,
    largest,
    shares,
    telling,
)
from .categories import Lists, OfCategories, category_counts, check_listed, check_lists


class AlphaK(OfValues):
    """Classes of k in which no confidential value takes more than a share alpha.

    With a `value` named, the share of that value alone is limited; without, that of every value
    (general (alpha, k)-anonymity). The figure is the largest share in a class; where a class is
    smaller than k and all shares are kept, it is the size of the smallest class. A missing or
    suppressed value hides nothing: shares are of the records whose value is known, unless `missing`
    says that it is a value like any other. A value that is a group of another one of its class
    counts as that, and to a named value count the groups above it and what is below it. Of a column
    of sets, the share of a class that holds each item is limited.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "hiv"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(AlphaK(k=2, alpha=0.5).check(t))
    the largest share of a value of ill is 0.6667 (limit 0.5) in 1 of 2 classes
    >>> AlphaK(k=2, alpha=0.5, value="hiv").check(t).met
    True
    """

    name: ClassVar[str] = "alpha-k-anonymity"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "k": 5, "alpha": 0.5}
    paper: ClassVar[str] = (
        "Wong, Li, Fu & Wang (2006), (alpha, k)-anonymity: an enhanced k-anonymity model for "
        "privacy preserving data publishing, KDD"
    )
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "classes"

    k: int = Field(ge=1, description="smallest class allowed")
    alpha: float = Field(gt=0, le=1, description="largest share of a value in a class")
    value: str = Field("", description="the value whose share is limited; every value unless given")

    def _judged(self, grouping: Grouping) -> Judged:
        column, counts = self._of(grouping)
        if self.value:
            figures = self._of_value(counts, grouping, column.name)
        else:
            figures = largest(counts.cls, shares(counts, len(grouping)), len(grouping))
        detail = {
            "column": column.name,
            "k": int(grouping.people.min()),
            "largest_share": float(figures.max()),
        }
        what = repr(self.value) if self.value else "a value"
        subject = f"the largest share of {what} of {column.name}"
        judged = Judged(figures, figures <= self.alpha + ROUNDING, subject, self.alpha, detail)
        return and_of_size(judged, grouping, self.k, self.name)

    def _of_value(self, counts: ValueCounts, grouping: Grouping, name: str) -> np.ndarray:
        """The share of each class that has the value, or may have it by a group."""
        value = self._code(counts, name)
        if counts.groups and self.missing == "ignore":
            counts = telling(grouping.counts(name), settle=False)
        meant = np.isin(counts.code, comparable_codes(counts.groups, value))
        share = shares(counts, len(grouping))[meant]
        return np.bincount(counts.cls[meant], weights=share, minlength=len(grouping))

    def _code(self, counts: ValueCounts, name: str) -> int:
        found = np.flatnonzero((counts.values.cast(pl.String) == self.value).to_numpy())
        if not found.size:
            raise MeasureError(
                f"column {name!r} holds no value {self.value!r}: to limit its share means nothing",
                remedy="write the value as the column has it, or leave the requirement out",
            )
        return int(found[0]) + 1


class PSensitive(OfCategories):
    """Classes of k with at least p different confidential values.

    That is k-anonymity and distinct p-diversity of every confidential column (or of the one named).
    The figure is the least number of different values in a class; where only k is broken, it is the
    size of the smallest class. A missing or suppressed value does not count as one of the p, nor
    does one that is a group of another one of its class ("infection" beside "flu"), unless
    `missing` says that it is a value like any other. Of a column of sets the items count, and
    holding none, as far as there are different sets; an item that all of a class hold leaves one
    value.

    With `categories`, p different categories of values: a class of healthy people and people with
    flu holds one, if both are of one category. Every value needs a category.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "flu"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(PSensitive(k=2, p=2).check(t))
    the number of different values of ill is 1 (limit 2) in 1 of 2 classes
    >>> print(PSensitive(k=2, p=2, categories=[["hiv", "flu"], ["healthy"]]).check(t))
    the number of different categories of ill is 1 (limit 2) in 2 of 2 classes
    """

    name: ClassVar[str] = "p-sensitive"
    example: ClassVar[dict[str, Any]] = {"k": 5, "p": 2}
    paper: ClassVar[str] = (
        "Truta & Vinay (2006), Privacy protection: p-sensitive k-anonymity property, ICDE Workshops"
    )
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "classes"

    k: int = Field(ge=1, description="smallest class allowed")
    p: int = Field(ge=1, description="different confidential values in every class")
    column: str = Field("", description="confidential column; every one of them unless given")

    @model_validator(mode="after")
    def _p_fits_k(self) -> Self:
        if self.p > self.k:
            raise ValueError(f"{self.p} different values need classes of {self.p}: p is at most k")
        return self

    def _columns(self, grouping: Grouping) -> list[str]:
        if self.column:
            return [grouping.table.schema[self.column].name]
        found = grouping.table.schema.confidential
        if not found:
            raise MeasureError(
                f"{self.name} speaks of confidential columns, and the table has none",
                remedy=f'{self.name} = {{ column = "NAME", ... }}',
            )
        if len(found) > 1 and self.categories and not isinstance(self.categories, int):
            raise MeasureError(
                f"categories are of one column, and {self.name} speaks of {', '.join(found)}",
                remedy=f'{self.name} = {{ column = "{found[0]}", ... }}',
            )
        return found

    def _figures(self, grouping: Grouping) -> np.ndarray:
        fewest = np.full(len(grouping), np.iinfo(np.int64).max)
        for name in self._columns(grouping):
            counts = self._counts(grouping, grouping.table.schema[name])
            fewest = np.minimum(fewest, different(counts, len(grouping)))
        return fewest

    def _judged(self, grouping: Grouping) -> Judged:
        columns = self._columns(grouping)
        figures = self._figures(grouping)
        detail = {
            "columns": columns,
            "k": int(grouping.people.min()),
            f"different_{self._things()}": int(figures.min()),
        }
        subject = f"the number of different {self._things()} of {', '.join(columns)}"
        judged = Judged(figures, figures >= self.p, subject, self.p, detail, at_least=True)
        return and_of_size(judged, grouping, self.k, self.name)


class PAlphaSensitive(OfValues):
    """Classes of k with p different confidential values, none above a share alpha.

    Two readings of alpha:

    - as it stands, p-sensitive k-anonymity and (alpha, k)-anonymity together: no value takes more
      than a share alpha of its class;
    - with `categories`, that of Sun et al.: confidential values are sorted into categories, the
      most sensitive first. A value of the i-th of m categories weighs (i - 1) / (m - 1), and the
      different values of every class weigh at least alpha together, so that not all of them are of
      the worst kind. Every value needs a category. The p different ones are then categories, so
      that not all are of one kind, be it the best; `of = "values"` counts values, as Sun et al. do.

    The figure is that of alpha; where alpha holds and another part is broken, the finding speaks of
    that part. A missing or suppressed value is none of the p and weighs nothing, a group of another
    value of its class counts as that, and shares are of the records whose value is known, unless
    `missing` says that it is a value like any other (which the categories then must list as ""). Of
    a column of sets the items are the values.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "hiv", "flu", "cold", "hiv", "cancer"]
    >>> t = table({"q": list("aaaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> PAlphaSensitive(k=2, p=2, alpha=0.5).check(t).met
    True
    >>> kinds = [["hiv", "cancer"], ["flu"], ["cold"]]
    >>> print(PAlphaSensitive(k=2, p=2, alpha=1, categories=kinds).check(t))
    the weight of the values of ill is 0 (limit 1) in 1 of 2 classes
    >>> kinds = [["hiv", "cancer"], ["flu", "cold"]]
    >>> few = table({"q": ["a", "a"], "ill": ["flu", "cold"]}, quasi=["q"], confidential="ill")
    >>> print(PAlphaSensitive(k=2, p=2, alpha=1, categories=kinds).check(few))
    the number of different categories of ill is 1 (limit 2) in 1 of 1 classes
    """

    name: ClassVar[str] = "p-alpha-sensitive"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "k": 5, "p": 2, "alpha": 0.6}
    paper: ClassVar[str] = (
        "Sun, Sun & Wang (2011), Extended k-anonymity models against sensitive attribute "
        "disclosure, Computer Communications 34(4)"
    )
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "classes"

    k: int = Field(ge=1, description="smallest class allowed")
    p: int = Field(ge=1, description="different confidential values in every class")
    alpha: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="largest share of a value in a class, or least weight of its values",
    )
    categories: Lists = Field(
        (), description="values by category, the most sensitive category first"
    )
    of: Literal["categories", "values"] = Field(
        "categories", description="what p counts where there are categories"
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.p > self.k:
            raise ValueError(f"{self.p} different values need classes of {self.p}: p is at most k")
        if not self.categories and self.alpha > 1:
            raise ValueError("a share alpha is at most 1; weights need categories")
        check_lists(self.categories)
        return self

    def _judged(self, grouping: Grouping) -> Judged:
        column, counts = self._of(grouping)
        sizes, (things, values) = grouping.people, self._different(grouping, column, counts)
        if self.categories:
            weights = self._weights(counts, column.name)[counts.code]
            alpha = np.bincount(counts.cls, weights=weights, minlength=len(grouping))
            held = alpha >= self.alpha - ROUNDING
        else:
            alpha = largest(counts.cls, shares(counts, len(grouping)), len(grouping))
            held = alpha <= self.alpha + ROUNDING
        share = "weight of the values" if self.categories else "largest share of a value"
        detail = {
            "column": column.name,
            "k": int(sizes.min()),
            f"different_{things}": int(values.min()),
        }
        of_values = f"the number of different {things} of {column.name}"
        of_classes = f"the smallest class under {self.name}"
        by_weight = bool(self.categories)
        parts = (
            Judged(alpha, held, f"the {share} of {column.name}", self.alpha, detail, by_weight),
            Judged(values, values >= self.p, of_values, self.p, detail, at_least=True),
            Judged(sizes, sizes >= self.k, of_classes, self.k, detail, at_least=True),
        )
        return all_of(parts)

    def _different(
        self, grouping: Grouping, column: Column, counts: ValueCounts
    ) -> tuple[str, np.ndarray]:
        """What p counts, and how many different ones each class holds."""
        if not self.categories or self.of == "values":
            return "values", different(counts, len(grouping))
        found = category_counts(grouping, column, self.categories, self.missing)
        return "categories", different(found, len(grouping))

    def _weights(self, counts: ValueCounts, name: str) -> np.ndarray:
        """By code, the weight of its category."""
        steps = len(self.categories) - 1
        of = {v: i / steps for i, category in enumerate(self.categories) for v in category}
        texts = ["", *counts.values.cast(pl.String).to_list()]
        check_listed(of, [texts[code] for code in np.unique(counts.code)], name)
        return np.array([of.get(text, 0.0) for text in texts])
