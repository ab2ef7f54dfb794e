"""Trees by an order of values: neighbours join, or those of least priority do first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from ...protocols import PosetSource
from ..bound import unknown
from ..values.patterns import check_pattern, filled
from ..values.text import SUPPRESSED, text
from .grow import check_labels, nodes_from_rows
from .tree import Tree

_MOST_LISTED = 100
"""Values that an error lists."""


def _listed(order: Any) -> Any:
    """Values in a plan may be numbers."""
    return [text(value) for value in order] if isinstance(order, list | tuple) else order


def _once(order: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(order)) < len(order):
        twice = next(value for i, value in enumerate(order) if value in order[:i])
        raise ValueError(f'"{twice}" is there twice')
    return order


def _quoted(values: Sequence[str]) -> str:
    """The values as a plan lists them, not too many."""
    listed = [json.dumps(value, ensure_ascii=False) for value in values[:_MOST_LISTED]]
    return ", ".join([*listed, "..."] if len(values) > _MOST_LISTED else listed)


class OrderTree(PosetSource):
    """A tree of neighbours in an order: so many values join, then so many groups.

    A group is written by its first and last value, a group of one as that value, unless `names`
    says otherwise. `order` must list all values that the column can have: were they taken from the
    records, a value that is hidden could be in the label of others.

    >>> school = OrderTree(order=["none", "primary", "middle", "high", "college"],
    ...                    groups=[[2, 2, 1], [2, 1]], names=[[], ["school", "more"]])
    >>> tree = school.bind(["college", "none", "middle"])
    >>> [tree.at_level(["none", "college"], level) for level in range(tree.levels)]
    [['none', 'college'], ['none-primary', 'college'], ['school', 'more'], ['*', '*']]
    """

    name: ClassVar[str] = "order"
    example: ClassVar[dict[str, Any]] = {
        "order": ["none", "primary", "middle", "high", "college"],
        "groups": [[2, 2, 1], [2, 1]],
    }
    shorthand: ClassVar[str] = "groups"

    order: tuple[str, ...] = Field(
        (), description="all values that the column can have, in their order; needed"
    )
    groups: tuple[
        Annotated[int, Field(ge=2)] | tuple[Annotated[int, Field(ge=1)], ...], ...
    ] = Field(
        min_length=1,
        description="for each level how many neighbours join: a number, or a list of each group's",
    )
    names: tuple[tuple[str, ...], ...] = Field(
        (), description="for each level the names of its groups, an empty list for those by pattern"
    )
    pattern: str = Field(
        "{first}-{last}", description="how a group without a name is written: {first}, {last}"
    )

    _text = field_validator("order", mode="before")(_listed)
    _distinct = field_validator("order")(_once)

    @field_validator("pattern")
    @classmethod
    def _known(cls, pattern: str) -> str:
        return check_pattern(pattern, ("first", "last"))

    @model_validator(mode="after")
    def _fitting(self) -> OrderTree:
        if self.names and len(self.names) != len(self.groups):
            raise ValueError(
                f"groups have {len(self.groups)} levels and names {len(self.names)}: "
                "give an empty list for a level without names"
            )
        if self.order:
            self._columns(self.order)
        return self

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The order, every value of the column in it; `counts` is not looked at."""
        values = [text(value) for value in domain]
        if values and not self.order:
            raise ValueError(
                "labels name the first and the last value of a group, so that values must not be "
                f"taken from the records -> order = [{_quoted(values)}], and all others that the "
                "column can have"
            )
        known = set(self.order)
        strays = [value for value in values if value not in known]
        if strays:
            raise unknown("value", strays, "in `order`", "add it where it belongs")
        columns = self._columns(self.order) if self.order else []
        name = "the tree of neighbours"
        if columns:
            check_labels(columns, name, "mend `names` or `pattern`")
        rows = list(zip(*columns, strict=True))
        return Tree(nodes_from_rows(rows, name, levels=len(self.groups) + 2), name)

    def _columns(self, values: Sequence[str]) -> list[list[str]]:
        """The labels of all values, level by level."""
        columns = [list(values)]
        ends = list(range(1, len(values) + 1))  # where each group of the level below ends
        for level, wanted in enumerate(self.groups):
            sizes = wanted
            if isinstance(sizes, int):
                sizes = tuple(min(sizes, len(ends) - at) for at in range(0, len(ends), sizes))
            if sum(sizes) != len(ends):
                below = f"groups of level {level}" if level else "values"
                raise ValueError(
                    f"level {level + 1} joins {sum(sizes)} {below}, but there are {len(ends)} -> "
                    "mend `groups`"
                )
            ends = [ends[at - 1] for at in np.cumsum(sizes).tolist()]
            named = self.names[level] if self.names else ()
            if named and len(named) != len(ends):
                raise ValueError(
                    f"level {level + 1} has {len(ends)} groups and {len(named)} names -> "
                    "one name for each group"
                )
            column = []
            for i, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
                label = named[i] if named else self._label(values[first], values[last - 1])
                column += [label] * (last - first)
            columns.append(column)
        return [*columns, [SUPPRESSED] * len(values)]

    def _label(self, first: str, last: str) -> str:
        return first if first == last else filled(self.pattern, {"first": first, "last": last})


class Priority(PosetSource):
    """A tree that joins the values of least priority first: the rare, unless said otherwise.

    Each level joins about as many values more as the one before, until all are "*"; the others
    stay as they are. By frequency, the tree tells which values are rarer than which, as every
    release that uses it does; `order` says it without a look at the data.

    >>> names = ["baker", "clerk", "diver", "farmer", "judge", "nurse"]
    >>> jobs = Priority(levels=4).bind(names, np.array([9, 50, 1, 20, 2, 40]))
    >>> [jobs.at_level(["diver", "baker", "clerk"], level) for level in range(1, 4)]
    [['other (2 values)', 'baker', 'clerk'],
     ['other (4 values)', 'other (4 values)', 'clerk'], ['*', '*', '*']]
    """

    name: ClassVar[str] = "priority"
    shorthand: ClassVar[str] = "levels"

    levels: int = Field(4, ge=3, le=100, description='how many levels, the values and "*" included')
    first: Literal["rare", "frequent"] = Field("rare", description="which values join first")
    order: tuple[str, ...] = Field(
        (),
        description="instead of frequency: values from that which is kept longest on; others join "
        "before them",
    )
    other: str = Field(
        "other ({count} values)",
        min_length=1,
        description='how those that joined are written; "*" suppresses them',
    )

    _text = field_validator("order", mode="before")(_listed)
    _distinct = field_validator("order")(_once)

    @field_validator("other")
    @classmethod
    def _known(cls, other: str) -> str:
        return other if other == SUPPRESSED else check_pattern(other, ("count",))

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The tree over the column's values, which occur `counts` times."""
        values = [text(value) for value in domain]
        name = "the tree by priority"
        # From the value that joins first to the one that is kept longest.
        if self.order:
            place = {value: -i for i, value in enumerate(self.order)}
            ranks = np.array([place.get(value, -len(place)) for value in values], dtype=np.int64)
        elif counts is None:
            raise ValueError(f"{name} needs to know how often each value occurs")
        elif len(counts) != len(values):
            raise ValueError(f"{len(counts):,} counts do not fit {len(values):,} values")
        else:
            ranks = np.asarray(counts, dtype=np.int64) * (1 if self.first == "rare" else -1)
        joins = np.argsort(ranks, kind="stable").tolist()
        columns = [values]
        for step in range(1, self.levels - 1):
            joined = len(values) * step // (self.levels - 1)
            column = list(values)
            # One that is alone hides behind nobody.
            for i in joins[: joined if joined > 1 else 0]:
                column[i] = filled(self.other, {"count": f"{joined:,}"})
            columns.append(column)
        columns.append([SUPPRESSED] * len(values))
        check_labels(columns, name, "give `other` another name")
        rows = list(zip(*columns, strict=True))
        return Tree(nodes_from_rows(rows, name, levels=self.levels), name)
