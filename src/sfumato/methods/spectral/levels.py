"""Categories with a hierarchy as points: coordinates for the groups of every level too.

Where only leaves have coordinates, what a group of rare values has to do with other columns is
spread over all of them, and the thresholds on the way back lose it. With coordinates of their own,
groups are as common as they are, and a value comes back from the top: the group first, then the
value within it (Lasko 2007, section 6.3, hierarchical data).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.codec import bind, decode, encode
from ...data.exact import each
from ...data.points.encoding import Encoding
from ...data.schema import ORDERED, Column, Kind
from ...data.table import Table

_FAR = 1e6
"""How far below the others a value lies that is not in its record's group."""


@dataclass(frozen=True)
class Levels:
    """A table with a column for each level of its columns' hierarchies."""

    table: Table
    groups: dict[str, list[str]]
    """Column -> the columns of its levels, the highest first."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> Levels:
        """The levels of these columns that tell anything: neither single values nor everything."""
        series: list[pl.Series] = []
        groups: dict[str, list[str]] = {}
        for name in names:
            found = _levels(table, name)
            groups |= {name: [one.name for one in found]} if found else {}
            series += found
        columns = [Column(one.name, Kind.NOMINAL) for one in series]
        return cls(table.with_columns(series, columns), groups)

    @property
    def names(self) -> list[str]:
        """The columns of levels."""
        return [name for found in self.groups.values() for name in found]

    def from_the_top(self, x: np.ndarray, encoding: Encoding) -> np.ndarray:
        """The points with every value that is not in the likeliest group far below the others: of
        the groups at a level, those in the group above."""
        out = x.copy()
        place = {block.column.name: block for block in encoding.blocks}
        for name, levels in self.groups.items():
            leaf = place[name]
            own = slice(leaf.first, leaf.first + leaf.wide)
            assert leaf.levels is not None
            open_ = np.ones((len(x), leaf.wide), dtype=bool)
            for level in levels:
                block = place[level]
                assert block.levels is not None
                inside = self._inside(name, level, leaf.levels, block.levels)
                score = x[:, block.first : block.first + block.wide]
                if block.wide == 1:  # two groups: below zero and above
                    score = np.column_stack([-score[:, 0], score[:, 0]])
                possible = (open_.astype(np.float64) @ np.eye(len(block.levels))[inside]) > 0
                best = np.where(possible, score, -np.inf).argmax(axis=1)
                open_ &= inside[None, :] == best[:, None]
            out[:, own] -= np.where(open_, 0.0, _FAR)
        return out

    def _inside(self, name: str, level: str, leaves: pl.Series, groups: pl.Series) -> np.ndarray:
        """The group of each value, as its place among the groups."""
        seen = self.table.frame.select(each([name, level])).unique().drop_nulls()
        group = dict(zip(seen[name].to_list(), seen[level].to_list(), strict=True))
        at = {value: k for k, value in enumerate(groups.to_list())}
        return np.array([at[group[leaf]] for leaf in leaves.to_list()])


def _levels(table: Table, name: str) -> list[pl.Series]:
    """The levels of a column of three values or more, the highest first; none where there is no
    tree."""
    column = table.schema[name]
    coded = encode(table[name])
    if column.kind in ORDERED or column.generalized or len(coded.domain) < 3:
        return []
    tree = bind(column, coded.domain).structure.tree
    if tree is None:
        return []
    values = coded.domain.to_list()
    found: list[pl.Series] = []
    before = len(values)
    for level in range(1, tree.levels - 1):
        labels = tree.at_level(values, level)
        if 1 < len(set(labels)) < before:
            before = len(set(labels))
            domain = pl.Series(labels, dtype=pl.String)
            found.append(decode(coded.codes, domain, f"{name}, level {level}"))
    return found[::-1]
