"""Classes of k with limits on their confidential values: (alpha, k), p-sensitive, (p, alpha)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Criterion, Finding
from ..classes import Grouping, ValueCounts
from ..verdict import ROUNDING, OfValues, different, largest, shares, telling, too_small, verdict


class AlphaK(OfValues):
    """Classes of k in which no confidential value takes more than a share alpha.

    With a `value` named, the share of that value alone is limited; without, that of every value
    (general (alpha, k)-anonymity). The figure is the largest share in a class; where a class is
    smaller than k and all shares are kept, it is the size of the smallest class. A missing or
    suppressed value hides nothing: shares are of the records whose value is known, unless `missing`
    says that it is a value like any other. Of a column of sets, the share of a class that holds
    each item is limited.

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

    k: int = Field(ge=1, description="smallest class allowed")
    alpha: float = Field(gt=0, le=1, description="largest share of a value in a class")
    value: str = Field("", description="the value whose share is limited; every value unless given")

    def keeps(self, grouping: Grouping) -> np.ndarray:
        kept: np.ndarray = self._keeps(self._figures(grouping)) & (grouping.sizes >= self.k)
        return kept

    def _keeps(self, figures: np.ndarray) -> np.ndarray:
        kept: np.ndarray = figures <= self.alpha + ROUNDING
        return kept

    def _figures(self, grouping: Grouping) -> np.ndarray:
        column, counts = self._of(grouping)
        share = shares(counts, len(grouping))
        if self.value:
            chosen = counts.code == self._code(counts, column.name)
            return largest(counts.cls[chosen], share[chosen], len(grouping))
        return largest(counts.cls, share, len(grouping))

    def _code(self, counts: ValueCounts, name: str) -> int:
        found = np.flatnonzero((counts.values.cast(pl.String) == self.value).to_numpy())
        if not found.size:
            raise MeasureError(
                f"column {name!r} holds no value {self.value!r}: to limit its share means nothing",
                remedy="write the value as the column has it, or leave the requirement out",
            )
        return int(found[0]) + 1

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        figures = self._figures(grouping)
        fits, large = self._keeps(figures), grouping.sizes >= self.k
        column, _ = self._of(grouping)
        detail = {
            "column": column.name,
            "k": int(grouping.sizes.min()),
            "largest_share": float(figures.max()),
        }
        if fits.all() and not large.all():
            return too_small(self, grouping, self.k, ~large, detail)
        what = repr(self.value) if self.value else "a value"
        return verdict(
            self,
            grouping,
            figures,
            fits & large,
            subject=f"the largest share of {what} of {column.name}",
            limit=self.alpha,
            detail=detail,
        )


class PSensitive(Criterion):
    """Classes of k with at least p different confidential values.

    That is k-anonymity and distinct p-diversity of every confidential column (or of the one named).
    The figure is the least number of different values in a class; where only k is broken, it is the
    size of the smallest class. A missing or suppressed value does not count as one of the p, unless
    `missing` says that it is a value like any other. Of a column of sets the items count, and
    holding none, as far as there are different sets; an item that all of a class hold leaves one
    value.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "flu"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> print(PSensitive(k=2, p=2).check(t))
    the number of different values of ill is 1 (limit 2) in 1 of 2 classes
    """

    name: ClassVar[str] = "p-sensitive"
    example: ClassVar[dict[str, Any]] = {"k": 5, "p": 2}
    paper: ClassVar[str] = (
        "Truta & Vinay (2006), Privacy protection: p-sensitive k-anonymity property, ICDE Workshops"
    )
    monotone: ClassVar[bool] = True

    k: int = Field(ge=1, description="smallest class allowed")
    p: int = Field(ge=1, description="different confidential values in every class")
    column: str = Field("", description="confidential column; every one of them unless given")
    missing: Literal["ignore", "value"] = Field(
        "ignore", description="whether a missing confidential value counts as a value"
    )

    @model_validator(mode="after")
    def _p_fits_k(self) -> Self:
        if self.p > self.k:
            raise ValueError(f"{self.p} different values need classes of {self.p}: p is at most k")
        return self

    def keeps(self, grouping: Grouping) -> np.ndarray:
        kept: np.ndarray = (self._figures(grouping) >= self.p) & (grouping.sizes >= self.k)
        return kept

    def _columns(self, grouping: Grouping) -> list[str]:
        if self.column:
            return [grouping.table.schema[self.column].name]
        found = grouping.table.schema.confidential
        if not found:
            raise MeasureError(
                f"{self.name} speaks of confidential columns, and the table has none",
                remedy=f'{self.name} = {{ column = "NAME", ... }}',
            )
        return found

    def _figures(self, grouping: Grouping) -> np.ndarray:
        fewest = np.full(len(grouping), np.iinfo(np.int64).max)
        for name in self._columns(grouping):
            counts = grouping.counts(name)
            if self.missing == "ignore":
                counts = telling(counts)
            fewest = np.minimum(fewest, different(counts, len(grouping)))
        return fewest

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        columns = self._columns(grouping)
        figures = self._figures(grouping)
        fits, large = figures >= self.p, grouping.sizes >= self.k
        detail = {
            "columns": columns,
            "k": int(grouping.sizes.min()),
            "different_values": int(figures.min()),
        }
        if fits.all() and not large.all():
            return too_small(self, grouping, self.k, ~large, detail)
        return verdict(
            self,
            grouping,
            figures,
            fits & large,
            subject=f"the number of different values of {', '.join(columns)}",
            limit=self.p,
            at_least=True,
            detail=detail,
        )


class PAlphaSensitive(OfValues):
    """Classes of k with p different confidential values, none above a share alpha.

    Two readings of alpha:

    - as it stands, p-sensitive k-anonymity and (alpha, k)-anonymity together: no value takes more
      than a share alpha of its class;
    - with `categories`, that of Sun et al.: confidential values are sorted into categories, the
      most sensitive first. A value of the i-th of m categories weighs (i - 1) / (m - 1), and the
      different values of every class weigh at least alpha together, so that not all of them are of
      the worst kind. Every value needs a category.

    The figure is that of alpha; where alpha holds and another part is broken, the finding speaks of
    that part. A missing or suppressed value is none of the p and weighs nothing, and shares are of
    the records whose value is known, unless `missing` says that it is a value like any other (which
    the categories then must list as ""). Of a column of sets the items are the values.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "hiv", "flu", "cold", "hiv", "cancer"]
    >>> t = table({"q": list("aaaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> PAlphaSensitive(k=2, p=2, alpha=0.5).check(t).met
    True
    >>> kinds = [["hiv", "cancer"], ["flu"], ["cold"]]
    >>> print(PAlphaSensitive(k=2, p=2, alpha=1, categories=kinds).check(t))
    the weight of the values of ill is 0 (limit 1) in 1 of 2 classes
    """

    name: ClassVar[str] = "p-alpha-sensitive"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "k": 5, "p": 2, "alpha": 0.6}
    paper: ClassVar[str] = (
        "Sun, Sun & Wang (2011), Extended k-anonymity models against sensitive attribute "
        "disclosure, Computer Communications 34(4)"
    )
    monotone: ClassVar[bool] = True

    k: int = Field(ge=1, description="smallest class allowed")
    p: int = Field(ge=1, description="different confidential values in every class")
    alpha: float = Field(
        gt=0,
        allow_inf_nan=False,
        description="largest share of a value in a class, or least weight of its values",
    )
    categories: tuple[tuple[str, ...], ...] = Field(
        (), description="values by category, the most sensitive category first"
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.p > self.k:
            raise ValueError(f"{self.p} different values need classes of {self.p}: p is at most k")
        if not self.categories and self.alpha > 1:
            raise ValueError("a share alpha is at most 1; weights need categories")
        if len(self.categories) == 1:
            raise ValueError("one category weighs nothing: give two or more")
        listed = [value for category in self.categories for value in category]
        if len(set(listed)) != len(listed):
            raise ValueError("a value belongs to one category only")
        return self

    def keeps(self, grouping: Grouping) -> np.ndarray:
        kept: np.ndarray = np.logical_and.reduce([held for _, held in self._parts(grouping)])
        return kept

    def _parts(self, grouping: Grouping) -> list[tuple[np.ndarray, np.ndarray]]:
        """Figures and which classes hold, of alpha, of p and of k."""
        column, counts = self._of(grouping)
        values = different(counts, len(grouping))
        if self.categories:
            weights = self._weights(counts, column.name)[counts.code]
            alpha = np.bincount(counts.cls, weights=weights, minlength=len(grouping))
            held = alpha >= self.alpha - ROUNDING
        else:
            alpha = largest(counts.cls, shares(counts, len(grouping)), len(grouping))
            held = alpha <= self.alpha + ROUNDING
        sizes = grouping.sizes
        return [(alpha, held), (values, values >= self.p), (sizes, sizes >= self.k)]

    def _weights(self, counts: ValueCounts, name: str) -> np.ndarray:
        """By code, the weight of its category."""
        steps = len(self.categories) - 1
        of = {v: i / steps for i, category in enumerate(self.categories) for v in category}
        texts = ["", *counts.values.cast(pl.String).to_list()]
        used = np.unique(counts.code)
        stray = sum(texts[code] not in of for code in used)
        if stray:
            raise MeasureError(
                f"{stray} values of column {name!r} belong to no category",
                remedy="list every value of the column in `categories`",
            )
        return np.array([of.get(text, 0.0) for text in texts])

    def check(self, table: Table) -> Finding:
        grouping = Grouping.published(table)
        column, _ = self._of(grouping)
        parts = self._parts(grouping)
        kept = np.logical_and.reduce([held for _, held in parts])
        share = "weight of the values" if self.categories else "largest share of a value"
        words = (
            (f"the {share} of {column.name}", self.alpha, bool(self.categories)),
            (f"the number of different values of {column.name}", float(self.p), True),
            (f"the smallest class under {self.name}", float(self.k), True),
        )
        # The first part that is broken; alpha where none is.
        first_broken = next((i for i, (_, held) in enumerate(parts) if not held.all()), 0)
        subject, limit, at_least = words[first_broken]
        return verdict(
            self,
            grouping,
            parts[first_broken][0],
            kept,
            subject=subject,
            limit=limit,
            at_least=at_least,
            detail={
                "column": column.name,
                "k": int(grouping.sizes.min()),
                "different_values": int(parts[1][0].min()),
            },
        )
