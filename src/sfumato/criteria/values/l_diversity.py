"""l-diversity: distinct, entropy and recursive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ...protocols import Finding
from ..classes import Grouping, ValueCounts, confidential_column
from ..item_counts import held_by_all, with_none
from ..verdict import ROUNDING, Judged, OfClasses, different, largest, shares, telling


class LDiversity(OfClasses):
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
    `missing` says that it is a value like any other; the finding names both figures. Of a column of
    sets the items count, and holding none as one more; but the figure is no more than the number of
    different sets, 1 where everybody of a class holds the same item, and for entropy no more than 1
    / the largest share of an item.

    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "hiv", "flu", "hiv"]
    >>> t = table({"q": list("aaabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> [LDiversity(at_least=2, variant=v, c=3).check(t).value for v in ("distinct", "recursive")]
    [2.0, 2.0]
    >>> print(LDiversity(at_least=2, variant="entropy").check(t))
    entropy l-diversity of ill is 1.89 (limit 2) in 1 of 2 classes
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

    at_least: float = Field(ge=1, allow_inf_nan=False, description="l (also accepted as l)")
    column: str = Field("", description="confidential column; the only one unless given")
    variant: Literal["distinct", "entropy", "recursive"] = Field(
        "distinct", description="how the values of a class are counted"
    )
    missing: Literal["ignore", "value"] = Field(
        "ignore", description="whether a missing confidential value counts as a value"
    )
    c: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="c of recursive (c, l)-diversity"
    )

    @model_validator(mode="after")
    def _recursive_needs_c(self) -> Self:
        if self.variant == "recursive" and self.c is None:
            raise ValueError("recursive l-diversity needs c, for instance c = 3")
        if self.variant != "entropy" and self.at_least != int(self.at_least):
            raise ValueError(f"{self.variant} l-diversity needs a whole number at_least")
        return self

    def _judged(self, grouping: Grouping) -> Judged:
        column = confidential_column(grouping.table, self.column, self.name)
        counts = grouping.counts(column.name)
        figures = self._figures(
            counts if self.missing == "value" else telling(counts), len(grouping)
        )
        detail: dict[str, Any] = {"column": column.name, "variant": self.variant}
        if self.variant == "recursive":
            detail["c"] = self.c
        kept = figures >= self.at_least * (1 - ROUNDING)
        subject = f"{self._meaning()} of {column.name}"
        return Judged(figures, kept, subject, self.at_least, detail, at_least=True)

    def _found(self, grouping: Grouping) -> Finding:
        finding = super()._found(grouping)
        counts = grouping.counts(finding.detail["column"])
        if not counts.missing:
            return finding
        both = {
            "missing": counts.missing,
            "with_missing": float(self._figures(counts, len(grouping)).min()),
            "without_missing": float(self._figures(telling(counts), len(grouping)).min()),
        }
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
        return recursive_depth(counts, classes, self.c)


def effective_values(counts: ValueCounts, classes: int) -> np.ndarray:
    """exp(entropy) of each class: its effective number of values; 0 for a class without any."""
    total = np.bincount(counts.cls, weights=counts.count, minlength=classes)
    share = counts.count / total[counts.cls]
    entropy = np.bincount(counts.cls, weights=-share * np.log(share), minlength=classes)
    return np.where(total > 0, np.exp(entropy), 0.0)


def recursive_depth(counts: ValueCounts, classes: int, c: float) -> np.ndarray:
    """The largest l for which each class is (c, l)-diverse; 0 where there is none.

    With the counts sorted r1 >= r2 >= ... >= rm, a class is (c, l)-diverse when r1 < c (rl + ... +
    rm). The right side shrinks as l grows, so the l that pass are 1, 2 ... up to a largest one, and
    counting them finds it.
    """
    order = np.lexsort((-counts.count, counts.cls))
    cls, count = counts.cls[order], counts.count[order]
    total = np.bincount(cls, weights=count, minlength=classes).astype(np.int64)
    running = np.cumsum(count)
    ahead = np.concatenate(([0], np.cumsum(total)))[:-1]
    # What is left of the class from this value on; all of it whole numbers.
    tail = total[cls] - (running - count - ahead[cls])
    leads = np.concatenate(([True], cls[1:] != cls[:-1])) if cls.size else np.zeros(0, dtype=bool)
    most = np.zeros(classes, dtype=np.int64)
    most[cls[leads]] = count[leads]
    passes = most[cls] < c * tail
    return np.bincount(cls[passes], minlength=classes).astype(np.float64)
