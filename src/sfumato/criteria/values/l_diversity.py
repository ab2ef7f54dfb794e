"""l-diversity: distinct, entropy and recursive."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.schema import Column
from ...protocols import Finding, OnParts
from ..classes import Grouping, ValueCounts, confidential_column
from ..item_counts import held_by_all, with_none
from ..verdict import ROUNDING, Judged, all_of, different, largest, shares
from .categories import Lists, Missing, OfCategories, category_counts, listed


class LDiversity(OfCategories):
    """Every class holds well-represented confidential values.

    Three readings of "well-represented", each with the figure that is compared with l:

    - distinct: the number of different values in the class;
    - entropy: the class's effective number of values, exp(entropy), which is l when l values are
      equally frequent;
    - recursive: the largest l for which the class is (c, l)-diverse: its most frequent value occurs
      fewer than c times as often as the l-th, (l+1)-th ... most frequent ones together (0 if there
      is no such l).

    Each is the least over the classes, so that l-diversity holds where it is at least l. A missing
    or suppressed value hides nothing when all the others are the same, so it does not count, unless
    `missing` says that it is a value like any other; the finding names both figures. Nor does a
    value that is a group of others hide: "infection" beside "flu" may be the flu, and counts as the
    value below it that most of its class may have. Of a column of sets the items count, and holding
    none as one more; but the figure is no more than the number of different sets, 1 where everybody
    of a class holds the same item, and for entropy no more than 1 / the largest share of an item.

    With `categories`, categories are counted in place of values, in each of the readings: a class
    of healthy people and people with flu holds one, if both are of one category.

    Two more of the paper's readings refine the recursive one. Of values that `may_disclose` lists
    nobody minds being known (positive disclosure): what must stay below c times the rest is then
    the most frequent of the other values, and the rest lacks the l - 2 most frequent values besides
    it; a class of listed values alone is met. A category may be disclosed if all of its values may.
    Values that `never_ruled_out` lists must not be denied either (negative disclosure): each is
    held by a share of at least c2 of the records of every class.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "hiv"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> [LDiversity(at_least=2, variant=v, c=3).check(t).value for v in ("distinct", "recursive")]
    [2.0, 2.0]
    >>> print(LDiversity(at_least=2, variant="entropy").check(t))
    entropy l-diversity of ill is 1.89 (limit 2) in 1 of 2 classes
    >>> kinds = [["hiv", "cancer"], ["flu", "healthy"]]
    >>> well = ["healthy", "flu", "hiv", "flu", "healthy"]
    >>> t = table({"q": list("aaabb"), "ill": well}, quasi=["q"], confidential="ill")
    >>> print(LDiversity(at_least=2, categories=kinds).check(t))
    l-diversity of the categories of ill is 1 (limit 2) in 1 of 2 classes
    """

    name: ClassVar[str] = "l-diversity"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "at-least": 3}
    paper: ClassVar[str] = (
        "Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007), l-diversity: privacy beyond "
        "k-anonymity, ACM TKDD 1(1)"
    )
    shorthand: ClassVar[str] = "at_least"
    letter: ClassVar[str] = "l"
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "classes"

    at_least: float = Field(ge=1, allow_inf_nan=False, description="l (also accepted as l)")
    column: str = Field("", description="confidential column; the only one unless given")
    variant: Literal["distinct", "entropy", "recursive"] = Field(
        "distinct", description="how the values of a class are counted"
    )
    c: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="c of recursive (c, l)-diversity"
    )
    may_disclose: tuple[str, ...] = Field(
        (), description="values that do no harm when they are known (recursive)"
    )
    never_ruled_out: tuple[str, ...] = Field(
        (), description="values that a share c2 of every class must have (recursive)"
    )
    c2: float | None = Field(
        None, gt=0, le=1, description="least share of each value that is never ruled out"
    )

    @model_validator(mode="after")
    def _recursive_needs_c(self) -> Self:
        if self.variant == "recursive" and self.c is None:
            raise ValueError("recursive l-diversity needs c, for instance c = 3")
        if self.variant != "entropy" and self.at_least != int(self.at_least):
            raise ValueError(f"{self.variant} l-diversity needs a whole number at_least")
        return self

    @model_validator(mode="after")
    def _disclosure_sets_fit(self) -> Self:
        if self.variant != "recursive" and (self.may_disclose or self.never_ruled_out):
            raise ValueError('disclosure sets refine recursive l-diversity: variant = "recursive"')
        if bool(self.never_ruled_out) != (self.c2 is not None):
            raise ValueError("never_ruled_out and c2 go together")
        if self.c2 is not None and self.c2 * len(set(self.never_ruled_out)) > 1 + ROUNDING:
            raise ValueError("no class can hold a share c2 of each value that is never ruled out")
        if self.may_disclose and isinstance(self.categories, int):
            raise ValueError("may_disclose names values: list the categories with their values")
        return self

    def _judged(self, grouping: Grouping) -> Judged:
        column = confidential_column(grouping.table, self.column, self.name)
        figures = self._figures(self._counts(grouping, column), len(grouping))
        detail: dict[str, Any] = {"column": column.name, "variant": self.variant}
        if self.variant == "recursive":
            detail["c"] = self.c
        if self.categories:
            detail["by"] = "category"
        kept = figures >= self.at_least * (1 - ROUNDING)
        subject = (
            f"{self._meaning()} of {'the categories of ' * bool(self.categories)}{column.name}"
        )
        judged = Judged(figures, kept, subject, self.at_least, detail, at_least=True)
        if self.c2 is None:
            return judged
        return all_of((judged, self._possible(grouping, column, self.c2, detail)))

    def _counts(
        self, grouping: Grouping, column: Column, missing: Missing | None = None
    ) -> ValueCounts:
        how = missing or self.missing
        return category_counts(grouping, column, self.categories, how, self._harmless_values())

    def _possible(
        self, grouping: Grouping, column: Column, c2: float, detail: dict[str, Any]
    ) -> Judged:
        """How much of each class has the value that it has least of those never ruled out."""
        counts = grouping.counts(column.name)
        texts = ["", *counts.values.cast(pl.String).to_list()]
        least = np.ones(len(grouping))
        for value in self.never_ruled_out:
            here = np.array([text == value for text in texts])[counts.code]
            held = np.bincount(
                counts.cls[here], weights=counts.count[here], minlength=len(grouping)
            )
            least = np.minimum(least, held / grouping.sizes)
        subject = f"the least share of a value of {column.name} that is never ruled out"
        return Judged(least, least >= c2 - ROUNDING, subject, c2, detail, at_least=True)

    def _found(self, grouping: Grouping) -> Finding:
        finding = super()._found(grouping)
        column = grouping.table.schema[finding.detail["column"]]
        missing = grouping.counts(column.name).missing
        if not missing:
            return finding
        counted, ignored = (
            float(self._figures(self._counts(grouping, column, how), len(grouping)).min())
            for how in ("value", "ignore")
        )
        both = {"missing": missing, "with_missing": counted, "without_missing": ignored}
        return replace(finding, detail={**finding.detail, **both})

    def _meaning(self) -> str:
        if self.variant == "recursive":
            return f"recursive ({self.c:g}, l)-diversity"
        return "l-diversity" if self.variant == "distinct" else "entropy l-diversity"

    def _figures(self, counts: ValueCounts, classes: int) -> np.ndarray:
        if self.variant == "distinct":
            return different(counts, classes).astype(np.float64)
        if counts.holders is None:
            return self._spread(counts, classes)
        found: np.ndarray = self._spread(with_none(counts), classes)
        if self.variant == "entropy":
            most = largest(counts.cls, shares(counts, classes), classes)
            found = np.minimum(found, 1.0 / np.maximum(most, 1e-300))
        else:
            found = np.minimum(found, counts.holders.different)
            found[held_by_all(counts) & (found > 1)] = 1.0
        return found

    def _spread(self, counts: ValueCounts, classes: int) -> np.ndarray:
        if self.variant == "entropy":
            return effective_values(counts, classes)
        assert self.c is not None
        depth = recursive_depth(counts, classes, self.c, self._harmless(counts))
        # Without a bound where nothing that is told does harm: such a class is met.
        return np.where(np.isinf(depth), self.at_least, depth)

    def _harmless(self, counts: ValueCounts) -> np.ndarray:
        """By code, and one more for holding no item: whether it may be disclosed."""
        if not self.may_disclose:
            return np.zeros(len(counts.values) + 2, dtype=bool)
        may: Set[str] = self._harmless_values()
        if self.categories:
            may = {listed(self._lists())[value] for value in may}
        texts = ["", *counts.values.cast(pl.String).to_list()]
        return np.array([*(text in may for text in texts), False])

    def _harmless_values(self) -> frozenset[str]:
        """The values that may be disclosed; with categories, those of which all values may."""
        may = frozenset(self.may_disclose)
        if not may or not self.categories:
            return may
        return frozenset(
            v for category in self._lists() if may.issuperset(category) for v in category
        )

    def _lists(self) -> Lists:
        assert not isinstance(self.categories, int)
        return self.categories


def effective_values(counts: ValueCounts, classes: int) -> np.ndarray:
    """exp(entropy) of each class: its effective number of values; 0 for a class without any."""
    total = np.bincount(counts.cls, weights=counts.count, minlength=classes)
    share = counts.count / total[counts.cls]
    entropy = np.bincount(counts.cls, weights=-share * np.log(share), minlength=classes)
    return np.where(total > 0, np.exp(entropy), 0.0)


def recursive_depth(
    counts: ValueCounts, classes: int, c: float, harmless: np.ndarray
) -> np.ndarray:
    """The largest l for which each class is (c, l)-diverse; 0 where there is none.

    With the counts of a class sorted r1 >= r2 >= ... >= rm, it is (c, l)-diverse when r1 < c (rl +
    ... + rm). The right side shrinks as l grows, so the l that pass are 1, 2 ... up to a largest
    one, and counting them finds it. Where values are harmless by code, r1 is the most frequent of
    the others, put first, and the rest are sorted behind it; a class without others is infinite.
    """
    order = np.lexsort((-counts.count, harmless[counts.code], counts.cls))
    cls, count, free = counts.cls[order], counts.count[order], harmless[counts.code][order]
    leads = np.concatenate(([True], cls[1:] != cls[:-1])) if cls.size else np.zeros(0, dtype=bool)
    most = np.zeros(classes, dtype=np.int64)
    most[cls[leads]] = np.where(free[leads], -1, count[leads])
    order = np.lexsort((-count, ~leads, cls))
    cls, count = cls[order], count[order]
    total = np.bincount(cls, weights=count, minlength=classes).astype(np.int64)
    running = np.cumsum(count)
    ahead = np.concatenate(([0], np.cumsum(total)))[:-1]
    # What is left of the class from this value on; all of it whole numbers.
    tail = total[cls] - (running - count - ahead[cls])
    passes = most[cls] < c * tail
    depth = np.bincount(cls[passes], minlength=classes).astype(np.float64)
    return np.where(most < 0, np.inf, depth)
