"""Trees as a plan declares them: from a file, by prefixes, or made from the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from ...protocols import PosetSource
from ..bound import MOST_FAULTS, Faults
from ..files.hierarchies import hierarchy_rows, read_tree
from ..values.scale import MomentScale, Scale, scale_of
from ..values.text import SUPPRESSED, set_label, text
from .grow import (
    balance_ordered,
    balance_unordered,
    group_numbers,
    nodes_from_merges,
    nodes_from_rows,
)
from .tree import Tree


class Hierarchy(PosetSource):
    """A tree read from a hierarchy CSV.

    One row for each value: first the value, then its ancestors, last "*" (ARX's layout). A row may
    be shorter than others. Values of any kind are looked up by their text, so that the integer 39
    finds "39". A record may hold a group: "Germany" beside "Bonn".

    >>> tree = Hierarchy(levels=[["Bonn", "Germany", "*"], ["Ulm", "Germany", "*"],
    ...                          ["Nice", "France", "*"]]).bind(["Bonn", "Nice", "Ulm"])
    >>> tree.lub(["Bonn", "Ulm"]), tree.measure("Germany"), tree.at_level(["Nice"], 1)
    ('Germany', 0.5, ['France'])
    """

    name: ClassVar[str] = "hierarchy"
    example: ClassVar[dict[str, Any]] = {"path": "zip.csv"}
    shorthand: ClassVar[str] = "path"

    path: str | None = Field(
        None, description="hierarchy file, value;ancestor;...;* in each row; may be compressed"
    )
    levels: tuple[tuple[str, ...], ...] | None = Field(
        None, description="the rows themselves, instead of a file"
    )
    header: bool = Field(False, description="whether the file's first row names the columns")
    delimiter: Literal["", ";", ",", "\t", "|"] = Field(
        "", description="what separates the columns; found by looking unless given"
    )

    @field_validator("levels", mode="before")
    @classmethod
    def _as_text(cls, rows: Any) -> Any:
        if not isinstance(rows, list | tuple):
            return rows
        return [[text(v) for v in row] if isinstance(row, list | tuple) else row for row in rows]

    @model_validator(mode="after")
    def _one_origin(self) -> Hierarchy:
        if (self.path is None) == (self.levels is None):
            raise ValueError("give either `path` (a file) or `levels` (the rows)")
        return self

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The tree, every value of the column in it; `counts` is not looked at."""
        faults: list[str] = []
        try:
            tree = self._tree()
        except Faults as error:
            faults += error.faults
            tree = self._flat()
        tree = tree.holding(domain)
        strays = [v for v, key in zip(domain, tree.keys(domain), strict=True) if np.isnan(key)]
        faults += [tree.unknown(value) for value in strays[:MOST_FAULTS]]
        if len(strays) > MOST_FAULTS:
            more = f"{len(strays) - MOST_FAULTS:,} more values are not in {tree.name}"
            faults.append(f"{more} -> add them with their ancestors")
        if faults:
            raise Faults(faults)
        return tree

    def _tree(self) -> Tree:
        if self.path is not None:
            return read_tree(self.path, header=self.header, delimiter=self.delimiter)
        rows, name = self._rows()
        return Tree(nodes_from_rows(rows, name), name)

    def _rows(self) -> tuple[Sequence[Sequence[str]], str]:
        if self.path is not None:
            return hierarchy_rows(self.path, header=self.header, delimiter=self.delimiter)
        name = "the hierarchy in `levels`"
        if not self.levels:
            raise ValueError(f"{name} has no rows -> give one row for each value")
        return self.levels, name

    def _flat(self) -> Tree:
        """All labels of rows that make no tree, below "*": whether a value is among them can be
        told."""
        rows, name = self._rows()
        labels = dict.fromkeys(cell for row in rows for cell in row if cell not in ("", SUPPRESSED))
        return Tree(nodes_from_rows([(label, SUPPRESSED) for label in labels], name), name)


class Prefix(PosetSource):
    """A tree of ever shorter prefixes (ZIP, ICD).

    >>> zips = Prefix(lengths=[5, 3, 2]).bind(["02138", "02139", "10001"])
    >>> [zips.at_level(["02139"], level)[0] for level in range(zips.levels)]
    ['02139', '021**', '02***', '*']
    >>> Prefix(lengths=[3, 1], pad="").bind(["E11.9", "E10.1", "I10"]).lub(["E11.9", "E10.1"])
    'E'
    """

    name: ClassVar[str] = "prefix"
    example: ClassVar[dict[str, Any]] = {"lengths": [5, 3, 2]}
    shorthand: ClassVar[str] = "lengths"

    lengths: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        min_length=1, description="how many characters each level keeps, longest first"
    )
    pad: str = Field(
        "*", max_length=1, description='stands for what was cut off, as in 021**; "" for nothing'
    )

    @field_validator("lengths")
    @classmethod
    def _shrinking(cls, lengths: tuple[int, ...]) -> tuple[int, ...]:
        if any(longer <= shorter for longer, shorter in pairwise(lengths)):
            raise ValueError("each length must be smaller than the one before")
        return lengths

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The prefixes of the column's values; `counts` is not looked at."""
        values = [text(value) for value in domain]
        widths = {len(value) for value in values}
        longest = max(widths, default=self.lengths[0])
        if longest < self.lengths[0]:
            fitting = [longest, *(length for length in self.lengths if length < longest)]
            raise ValueError(
                f"no value has {self.lengths[0]} characters; the longest has {longest} -> "
                f"lengths = {fitting}"
            )
        if "" in values:
            raise ValueError("an empty text has no prefix -> make it missing")
        cuts = [length for length in self.lengths if length < longest]
        columns = [values, *(self._cut(values, cut, widths) for cut in cuts)]
        rows = [(*labels, SUPPRESSED) for labels in zip(*columns, strict=True)]
        if self.pad:
            self._check_clear(columns)
        name = "the tree of prefixes"
        nodes = nodes_from_rows(rows, name, levels=len(columns) + 1)
        return Tree(nodes, name).holding(values)

    def _cut(self, values: Sequence[str], length: int, widths: set[int]) -> list[str]:
        """The labels of one level. Where all values are equally long, so are their labels."""
        tail = self.pad * (max(widths) - length if len(widths) == 1 else 1)
        sizes: dict[str, int] = {}
        for value in values:
            sizes[value[:length]] = sizes.get(value[:length], 0) + 1
        # A value that is short already, and alone, stays as it is.
        return [
            value if len(value) <= length and sizes[value] == 1 else value[:length] + tail
            for value in values
        ]

    def _check_clear(self, columns: Sequence[Sequence[str]]) -> None:
        """A padded label must not be a value as well."""
        leaves = set(columns[0])
        for level in columns[1:]:
            for value, label in zip(columns[0], level, strict=True):
                if label != value and label in leaves:
                    raise ValueError(
                        f'"{label}" is a value and also the prefix of "{value}" -> '
                        'pad = "…", or another character'
                    )


class Balanced(PosetSource):
    """A tree made from the data, its branches equally frequent.

    Each level joins the groups of the one below, about `fanout` at a time and so that the new
    groups are about equally frequent. Ordered values are joined with their neighbours and published
    as intervals (numbers, dates) or sets; unordered ones are joined by frequency alone and
    published as sets.

    >>> tree = Balanced().bind([20, 30, 40, 50], np.array([10, 10, 10, 10]))
    >>> tree.at_level([20, 50], 1), tree.lub([20, 40])
    (['[20, 30]', '[40, 50]'], '*')
    """

    name: ClassVar[str] = "balanced"
    shorthand: ClassVar[str] = "fanout"

    fanout: int = Field(2, ge=2, description="groups that join to one at the next level")
    levels: int | None = Field(
        None, ge=2, description='most levels, the values and "*" included; no limit unless given'
    )
    ordered: bool | None = Field(
        None, description="whether only neighbours join; numbers and dates unless given"
    )

    def for_ordered(self) -> Balanced:
        return self if self.ordered is not None else self.model_copy(update={"ordered": True})

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The tree over the column's values, which occur `counts` times."""
        if counts is None:
            raise ValueError("a balanced tree needs to know how often each value occurs")
        if len(counts) != len(domain):
            raise ValueError(f"{len(counts):,} counts do not fit {len(domain):,} values")
        if len(counts) and int(np.min(counts)) < 0:
            raise ValueError("a value cannot occur less than never -> mend the counts")
        scale = _scale_or_none(domain)
        values = [text(value) for value in domain]
        if isinstance(scale, MomentScale):
            # Midnight among other times is a moment, not the whole day that "2020-01-31" would be.
            values = [scale.text(scale.number(value)) for value in domain]
        ordered = scale is not None if self.ordered is None else self.ordered
        merges = self._merges(np.asarray(counts, dtype=np.int64), ordered=ordered)
        name = "the balanced tree"
        if scale is not None and ordered:
            order = np.argsort(scale.array(domain), kind="stable")
            if not np.array_equal(order, np.arange(order.size)):
                raise ValueError("the values of an ordered column must be given in their order")

            def interval(members: np.ndarray) -> str:
                return f"[{values[members[0]]}, {values[members[-1]]}]"

            return Tree(nodes_from_merges(values, merges, interval), name)
        leaves = [set_label([value]) for value in values]

        def joined(members: np.ndarray) -> str:
            return set_label([values[i] for i in members.tolist()])

        return Tree(nodes_from_merges(leaves, merges, joined), name, values)

    def _merges(self, counts: np.ndarray, *, ordered: bool) -> list[np.ndarray]:
        balance = balance_ordered if ordered else balance_unordered
        if not counts.any():
            counts = np.ones_like(counts)
        merges = []
        for groups in group_numbers(counts.size, self.fanout, self.levels):
            merge = balance(counts, groups) if counts.size else np.zeros(0, dtype=np.int64)
            counts = np.bincount(merge, weights=counts, minlength=groups).astype(np.int64)
            merges.append(merge)
        return merges


def _scale_or_none(domain: Sequence[Any]) -> Scale | None:
    try:
        return scale_of(domain)
    except ValueError:
        return None
