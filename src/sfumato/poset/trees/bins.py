"""Trees of bins: numbers and dates by given edges, or by a width and how many bins join."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator, model_validator

from ...protocols import PosetSource
from ..values.patterns import check_pattern, filled, names_placeholder
from ..values.ranges import INFINITY, Range, range_label
from ..values.scale import Number, NumberScale, Scale, _plain, scale_of
from ..values.text import SUPPRESSED, text
from .grow import check_labels, nodes_from_rows
from .tree import Tree

Edge = int | float | dt.date
_NAME = "the tree of bins"
_PLACES = ("low", "high", "next")
_MOST_EDGES = 200
"""Edges that are listed of a width."""


class Bins(PosetSource):
    """A tree of given bins, then everything.

    A bin holds its lower edge and not its upper one. Values below the first edge and from the last
    edge on are in open bins, "<20" and ">=80". Several lists of edges make several levels, the
    finest first.

    Instead of edges, `width` cuts bins of one width, of which `fanouts` join at each further level;
    the bins below `low` and from `high` on are open at every level.

    >>> ages = Bins(edges=[[0, 20, 40, 60, 80], [0, 40, 80]]).bind([3, 25, 38, 59, 93])
    >>> [ages.at_level([v], 1)[0] for v in (3, 38, 93)], ages.lub([25, 38]), ages.lub([25, 3])
    (['[0, 19]', '[20, 39]', '>=80'], '[20, 39]', '[0, 39]')
    >>> ages = Bins(width=5, fanouts=[2], high=90, pattern="{low}-{high}").bind([3, 38, 93])
    >>> [ages.at_level([v], level)[0] for v in (38, 93) for level in range(ages.levels)]
    ['38', '35-39', '30-39', '*', '93', '>=90', '>=90', '*']
    """

    name: ClassVar[str] = "bins"
    example: ClassVar[dict[str, Any]] = {"edges": [0, 18, 65]}
    shorthand: ClassVar[str] = "edges"

    edges: tuple[tuple[Edge, ...], ...] | None = Field(
        None, description="where bins begin, rising; or several such lists, the finest first"
    )
    width: Annotated[int, Field(gt=0)] | Annotated[float, Field(gt=0, lt=math.inf)] | None = Field(
        None, description="how wide the finest bins are, instead of edges (dates: in days)"
    )
    fanouts: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        (), description="beside width: how many bins join to one at each further level"
    )
    origin: Edge | None = Field(
        None, description="beside width: where a bin begins; else `low`, else 0 (dates: 1970-01-01)"
    )
    low: Edge | None = Field(None, description='beside width: what is less is in one bin, "<low"')
    high: Edge | None = Field(
        None, description='beside width: this and what is more is in one bin, ">=high"'
    )
    pattern: str = Field(
        "",
        description="how a bin that is not open is written, as {low}-{high}: its beginning {low}, "
        "its last value {high} (whole numbers, dates), where the next begins {next}; [low, high] "
        "unless given",
    )

    @field_validator("edges", mode="before")
    @classmethod
    def _as_levels(cls, edges: Any) -> Any:
        if isinstance(edges, list | tuple) and not any(isinstance(e, list | tuple) for e in edges):
            return (edges,)
        return edges

    @field_validator("edges")
    @classmethod
    def _nested(
        cls, levels: tuple[tuple[Edge, ...], ...] | None
    ) -> tuple[tuple[Edge, ...], ...] | None:
        for edges in levels or ():
            if not edges:
                raise ValueError("a level needs at least one edge")
            if len({isinstance(edge, dt.date) for edge in edges}) > 1:
                raise ValueError("edges are numbers or dates, not both")
            if any(low >= high for low, high in pairwise(edges)):  # type: ignore[operator]
                raise ValueError("each edge must be larger than the one before")
        for fine, coarse in pairwise(levels or ()):
            for edge in coarse:
                if edge not in fine:
                    raise ValueError(f"edge {text(edge)} is missing in the finer level before it")
        return levels

    @field_validator("pattern")
    @classmethod
    def _known(cls, pattern: str) -> str:
        return check_pattern(pattern, _PLACES) if pattern else pattern

    @model_validator(mode="after")
    def _edges_or_width(self) -> Bins:
        if (self.edges is None) == (self.width is None):
            raise ValueError("give either `edges` or `width`")
        given = [edge for edge in (self.low, self.high, self.origin) if edge is not None]
        if self.edges is not None and (given or self.fanouts):
            raise ValueError("fanouts, origin, low and high stand beside `width`, not `edges`")
        if len({isinstance(edge, dt.date) for edge in given}) > 1:
            raise ValueError("origin, low and high are numbers or dates, not both")
        if self.low is not None and self.high is not None and self.low >= self.high:  # type: ignore[operator]
            raise ValueError("low must be less than high")
        return self

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The bins of the column's values; `counts` is not looked at."""
        scale = scale_of(domain if len(domain) else self.edges[0] if self.edges else [])
        numbers = np.unique(scale.array(domain))
        columns = [[scale.text(number) for number in numbers.tolist()]]
        cut = self._by_edges if self.edges is not None else self._by_width
        for bins in cut(numbers, scale):
            written = {one: self._label(one, scale) for one in dict.fromkeys(bins)}
            columns.append([written[one] for one in bins])
        columns.append([SUPPRESSED] * numbers.size)
        if self.pattern:
            check_labels(columns, _NAME, "give `pattern` both ends: {low}-{high}, {low} to {next}")
        rows = list(zip(*columns, strict=True))
        return Tree(nodes_from_rows(rows, _NAME, levels=len(columns)), _NAME)

    def edges_over(self, least: float, most: float) -> list[list[float | int]]:
        """The edges that cut the values from least to most as the width does, level by level;
        nothing where they would be too many to be listed.

        >>> Bins(width=5, fanouts=[2], high=40).edges_over(18, 93)
        [[10, 15, 20, 25, 30, 35, 40], [10, 20, 30, 40]]
        """
        assert self.width is not None
        unit = _exact(self.width)
        low, high, start = (
            None if edge is None else _exact(edge)  # type: ignore[arg-type]
            for edge in (self.low, self.high, self.origin if self.origin is not None else self.low)
        )
        origin = start or Fraction(0)
        widest = math.prod(self.fanouts) * unit
        first = origin + math.floor((_exact(least) - origin) / widest) * widest
        last = origin + (math.floor((_exact(most) - origin) / widest) + 1) * widest
        first = first if low is None else max(first, low)
        last = last if high is None else min(last, high)
        if last < first or (last - first) / unit > _MOST_EDGES:
            return []
        levels: list[list[float | int]] = []
        for joined in accumulate((1, *self.fanouts), mul):
            size = joined * unit
            begin, end = math.ceil((first - origin) / size), math.floor((last - origin) / size)
            ends = {edge for edge in (low, high) if edge is not None and first <= edge <= last}
            found = sorted({*(origin + place * size for place in range(begin, end + 1)), *ends})
            levels.append([int(e) if e.denominator == 1 else float(e) for e in found])
        return levels

    def _by_edges(self, numbers: np.ndarray, scale: Scale) -> Iterator[list[tuple[Number, Number]]]:
        """The bin of each number, from one edge to the next, level by level."""
        for level in self.edges or ():
            edges = [_number("edges", edge, scale) for edge in level]
            ends = [-INFINITY, *edges, INFINITY]
            at = np.searchsorted(np.array(edges), numbers, side="right")
            yield [(ends[i], ends[i + 1]) for i in at.tolist()]

    def _by_width(self, numbers: np.ndarray, scale: Scale) -> Iterator[list[tuple[Number, Number]]]:
        assert self.width is not None
        if not isinstance(scale, NumberScale) and self.width % 1:
            raise ValueError(f"dates are cut at whole days, not {self.width} -> width = 7, say")
        if scale.whole and self.width < 1:
            raise ValueError(
                f"no bin of width {self.width} holds two whole numbers -> width = 2, say"
            )
        # In fractions of the decimal texts: three times 0.1 is 0.3, not 0.30000000000000004.
        unit = _exact(self.width) * scale.day
        low = -INFINITY if self.low is None else _number("low", self.low, scale)
        high = INFINITY if self.high is None else _number("high", self.high, scale)
        start = self.origin if self.origin is not None else self.low
        origin = Fraction(0) if start is None else _exact(_number("origin", start, scale))
        first, last = max(low, scale.least), min(high, scale.most + 1)
        finest = [math.floor((_exact(x) - origin) / unit) for x in numbers.tolist()]
        for joined in accumulate((1, *self.fanouts), mul):
            size = joined * unit
            inside: dict[int, tuple[Number, Number]] = {}
            for place in dict.fromkeys(at // joined for at in finest):
                edges = (origin + place * size, origin + (place + 1) * size)
                # Whole numbers stay whole: floats do not tell 2**53 + 1 from 2**53.
                begin, end = map(math.ceil if scale.whole else _plain, edges)
                inside[place] = max(begin, first), min(end, last)
            bins = [
                (-INFINITY, low)
                if number < low
                else (high, INFINITY)
                if number >= high
                else inside[at // joined]
                for number, at in zip(numbers.tolist(), finest, strict=True)
            ]
            for number, (begin, end) in zip(numbers.tolist(), bins, strict=True):
                if not begin <= number < end:
                    raise ValueError(
                        f"width {self.width} is too fine: the bin of {scale.text(number)} would be "
                        "written without it -> a larger width"
                    )
            yield bins

    def _label(self, ends: tuple[Number, Number], scale: Scale) -> str:
        low, high = ends
        if low == -INFINITY or high == INFINITY:
            return range_label(Range(low, high, high_open=True), scale)
        after = high
        if scale.whole:
            low, high = math.ceil(low), math.ceil(high) - 1
        if not self.pattern:
            return range_label(Range(low, high, high_open=not scale.whole), scale)
        words = {"low": scale.text(low)}
        if names_placeholder(self.pattern, "high"):
            if not scale.whole:
                raise ValueError("no real number is the last of its bin -> {next} in `pattern`")
            words["high"] = scale.text(high)
        if names_placeholder(self.pattern, "next"):
            if after > scale.most:
                raise ValueError("no date comes after the last bin -> {high} in `pattern`")
            words["next"] = scale.text(math.ceil(after) if scale.whole else after)
        return filled(self.pattern, words)


def _number(name: str, edge: Edge, scale: Scale) -> Number:
    try:
        return scale.number(edge)
    except ValueError as error:
        remedy = f"give {'them' if name == 'edges' else 'it'} as the column's values are"
        raise ValueError(f"{name}: {error} -> {remedy}") from None


def _exact(number: Number) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
