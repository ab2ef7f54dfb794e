"""t-closeness by the earth mover's distance, exactly, over the (class, value) pairs that occur.

A release may have 100,000 classes and as many confidential values, so no matrix of classes by
values is ever made. For each of the three ground distances the earth mover's distance has a closed
form whose terms belong to the pairs that occur and to prefix sums of the whole table's
distribution.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import bind, domain_values
from ...data.schema import ORDERED, Column, Kind
from ...errors import MeasureError
from ...protocols import OnParts
from ..classes import Grouping, ValueCounts, confidential_column
from ..item_counts import item_distances
from ..verdict import ROUNDING, Judged, OfClasses


class TCloseness(OfClasses):
    """Every class's confidential distribution is within t of the whole.

    The figure is the largest earth mover's distance between a class and the whole release. What
    moving one unit costs, from 0 to 1, is the ground distance:

    - equal: 1 between any two values (the distance is the total variation);
    - ordered: the difference of their ranks among the m distinct values, divided by m - 1;
    - hierarchical: the height of their lowest common ancestor, divided by that of the root, in the
      column's poset;
    - auto: ordered for numbers, dates and ordinal columns, else equal.

    A missing value is a value of its own, at distance 1 from every other. With the ordered distance
    that is bounded from above: the change of the missing share, plus the distance between the
    values that are present, weighted by the smaller present share. Joining classes never raises the
    figure, with or without missing values. Of a column of sets, each item is held or not: the
    figure is the largest difference of an item's shares.

    >>> from sfumato.data.table import table
    >>> pay = [3, 4, 5, 6, 8, 11, 7, 9, 10]
    >>> t = table({"q": list("aaabbbccc"), "pay": pay}, quasi=["q"], confidential="pay")
    >>> print(TCloseness(at_most=0.3).check(t))
    t-closeness of pay is 0.375 (limit 0.3) in 1 of 3 classes
    """

    name: ClassVar[str] = "t-closeness"
    example: ClassVar[dict[str, Any]] = {"column": "diagnosis", "at-most": 0.2}
    paper: ClassVar[str] = (
        "Li, Li & Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and "
        "l-diversity, ICDE"
    )
    shorthand: ClassVar[str] = "at_most"
    letter: ClassVar[str] = "t"
    monotone: ClassVar[bool] = True
    on_parts: ClassVar[OnParts | None] = "whole"

    at_most: float = Field(ge=0, le=1, description="t (also accepted as t)")
    column: str = Field("", description="confidential column; the only one unless given")
    distance: Literal["auto", "equal", "ordered", "hierarchical"] = Field(
        "auto", description="what moving a unit from one value to another costs"
    )

    def _judged(self, grouping: Grouping) -> Judged:
        column = confidential_column(grouping.table, self.column, self.name)
        distance = self._distance(column)
        counts = grouping.counts(column.name)
        figures = self._figures(grouping, column, counts, distance)
        detail: dict[str, Any] = {
            "column": column.name,
            "distance": distance,
            "values": len(counts.values),
            "mean": float(np.average(figures, weights=grouping.sizes)),
        }
        if counts.missing:
            detail["missing"] = counts.missing
        kept = figures <= self.at_most + ROUNDING
        return Judged(figures, kept, f"t-closeness of {column.name}", self.at_most, detail)

    def _figures(
        self, grouping: Grouping, column: Column, counts: ValueCounts, distance: str
    ) -> np.ndarray:
        if counts.holders is not None:
            return item_distances(counts)
        if distance == "ordered":
            return ordered_distances(_occurring(counts), grouping.sizes)
        if distance == "equal":
            return equal_distances(counts, grouping.sizes)
        of_column = grouping.column(column.name)
        blocks = of_column.derived("levels", column.poset, lambda: levels(column, counts.values))
        return hierarchical_distances(counts, grouping.sizes, blocks)

    def _distance(self, column: Column) -> Literal["equal", "ordered", "hierarchical"]:
        has_order = column.kind in ORDERED and not column.generalized
        if column.kind == Kind.SET and self.distance == "hierarchical":
            raise MeasureError(
                f"t-closeness of the sets of {column.name!r} is counted item by item",
                remedy='distance = "equal"',
            )
        if self.distance == "auto":
            return "ordered" if has_order else "equal"
        if self.distance == "ordered" and not has_order:
            raise MeasureError(
                f"the values of {column.name!r} have no order "
                f"({'labels' if column.generalized else column.kind})",
                remedy='distance = "equal", or kind = "ordinal" with its categories in order',
            )
        if self.distance == "hierarchical" and column.poset is None:
            raise MeasureError(
                f"column {column.name!r} has no hierarchy to measure distances in",
                remedy=f'{column.name} = {{ poset = {{ kind = "hierarchy", ... }} }}',
            )
        return self.distance


def _occurring(counts: ValueCounts) -> ValueCounts:
    """The counts with ranks among the values that occur: records left out may take some along."""
    total = counts.total
    if total[1:].all():
        return counts
    rank = np.cumsum(total > 0) - (total[0] > 0)
    rank[0] = 0
    return counts.recoded(rank, int(rank[-1]))


def equal_distances(counts: ValueCounts, sizes: np.ndarray) -> np.ndarray:
    """Total variation between each class and the whole.

    A value that the class lacks contributes its whole share; those shares are 1 less the ones the
    class has.
    """
    whole = counts.total / int(counts.total.sum())
    here = counts.count / sizes[counts.cls]
    there = whole[counts.code]
    apart = np.bincount(counts.cls, weights=np.abs(here - there) - there, minlength=sizes.size)
    found: np.ndarray = np.clip((apart + 1.0) / 2.0, 0.0, 1.0)
    return found


def ordered_distances(counts: ValueCounts, sizes: np.ndarray) -> np.ndarray:
    """Earth mover's distance between each class and the whole, for values on a line of ranks.

    It is the area between the two cumulative distributions. The class's is constant between two of
    its values, and the whole's never falls, so that the sign of the difference changes once: the
    area follows from prefix sums of the whole's cumulative counts, which are whole numbers and
    hence exact.
    """
    g, m = sizes.size, len(counts.values)
    total = counts.total
    present = counts.only(np.arange(m + 1) > 0)
    known = np.bincount(present.cls, weights=present.count, minlength=g).astype(np.int64)
    all_known = int(total[1:].sum())
    area: np.ndarray = np.zeros(g)
    if m > 1 and present.cls.size:
        below = np.cumsum(total[1:])  # records whose value has rank 1..i
        prefix = np.concatenate(([0], np.cumsum(below)))
        cls, rank, cum = _steps(present, known)
        last = np.concatenate((cls[1:] != cls[:-1], [True]))
        stop = np.where(last, m, np.append(rank[1:], 0))
        # From `rank` up to (not including) `stop` the class's distribution function is cum / known.
        start, stop = rank - 1, stop - 1
        level = cum / known[cls]
        cross = np.clip(np.searchsorted(below, level * all_known, side="right"), start, stop)
        low = level * (cross - start) - (prefix[cross] - prefix[start]) / all_known
        high = (prefix[stop] - prefix[cross]) / all_known - level * (stop - cross)
        area = np.bincount(cls, weights=low + high, minlength=g)
        first = np.concatenate(([True], cls[1:] != cls[:-1]))
        area[cls[first]] += prefix[start[first]] / all_known
        area = np.clip(area / (m - 1), 0.0, 1.0)
    here, whole = known / sizes, all_known / int(total.sum())
    found: np.ndarray = np.abs(here - whole) + np.minimum(here, whole) * area
    return found


def _steps(present: ValueCounts, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Class, rank and the class's records up to that rank, for each pair that occurs."""
    ahead = np.concatenate(([0], np.cumsum(known)))[:-1]
    return present.cls, present.code, np.cumsum(present.count) - ahead[present.cls]


def hierarchical_distances(
    counts: ValueCounts, sizes: np.ndarray, blocks: list[np.ndarray]
) -> np.ndarray:
    """Earth mover's distance where leaves are apart by the height of their common ancestor.

    blocks[h][c] is the block of code c when values are joined that meet at height h or below, for h
    = 0 .. H-1. The mass that must cross the edges above the blocks of height h is their total
    variation, and each crossing costs 1/H: the distance is the mean of the total variations. (It
    equals the paper's sum over the inner nodes of height/H times the lesser of what their children
    have too much and too little.)
    """
    total = np.zeros(sizes.size)
    for block in blocks:
        total += equal_distances(counts.recoded(block, int(block.max(initial=0))), sizes)
    return total / len(blocks)


def levels(column: Column, values: pl.Series) -> list[np.ndarray]:
    """For each height below the root, the block of every code 0..m; missing keeps its own.

    In the order of the tree's leaves, the heights at which neighbours meet say everything: values
    belong to one block where no two neighbours between them meet any higher.
    """
    tree = bind(column, values).structure.tree
    if tree is None:
        raise MeasureError(
            f"the poset of column {column.name!r} is no tree: it has no heights to measure by",
            remedy='use a poset such as "hierarchy" or "prefix", or distance = "equal"',
        )
    is_ordinal = column.kind == Kind.ORDINAL
    codes = tree.codes(
        values.cast(pl.String).to_list() if is_ordinal else domain_values(column, values)
    )
    order = np.argsort(codes)
    meet = tree.heights[tree.lub_nodes(codes[order][:-1], codes[order][1:])]
    found = []
    for height in range(max(int(tree.heights[tree.root]), 1)):
        block = np.zeros(codes.size + 1, dtype=np.int64)
        block[1 + order] = np.cumsum(np.concatenate(([1], meet > height)))[: codes.size]
        found.append(block)
    return found
