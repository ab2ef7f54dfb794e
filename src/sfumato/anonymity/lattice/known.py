"""What full-domain generalization publishes, once its levels are chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...data.table import Table
from ...kernels.lattice.rollup import Fields, packed, places_of
from .averaged import Published
from .columns import Ladder, publish
from .lattice import Lattice
from .terms import Levels


class Chosen(NamedTuple):
    """A column at the level that was chosen."""

    ladder: Ladder
    domain: pl.Series
    level: int
    values: np.ndarray
    """int32: for each code of a value in the domain (and for suppressed) its number."""

    @classmethod
    def of(cls, one: Ladder, rows: Table, domain: pl.Series, level: int) -> Chosen:
        """Of a ladder over rows in which every value occurs."""
        values = np.zeros(len(domain) + 2, dtype=np.int32)
        values[one.raw(rows, domain)] = one.values
        nothing = (values[:0], one.fine[1][:0])
        return cls(replace(one, values=values[:0], fine=nothing), domain, level, values)

    def of_part(self, part: Table) -> Ladder:
        """The ladder with the values of a part's records."""
        return replace(self.ladder, values=self.values[self.ladder.raw(part, self.domain)])


class Known(NamedTuple):
    """What is published: the level of each column, and which classes are suppressed."""

    chosen: tuple[Chosen, ...]
    fields: Fields
    keys: np.ndarray
    own: np.ndarray
    """int64: the number of each class, -1 if it is suppressed."""
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    averages: tuple[Published, ...] = ()

    def published(self, part: Table) -> tuple[Table, np.ndarray]:
        """A part as it is published, and the class of each of its records."""
        levels = [one.level for one in self.chosen]
        ladders = [one.of_part(part) for one in self.chosen]
        groups = [one.groups[level][one.values] for one, level in zip(ladders, levels, strict=True)]
        places = places_of(packed(groups, self.fields), self.keys, self.fields.words)
        labels = self.own[places]
        averaged = {one.column.name for one in self.averages}
        shown = [j for j, one in enumerate(ladders) if one.name not in averaged]
        labelled, at = [ladders[j] for j in shown], [levels[j] for j in shown]
        table = publish(part, labelled, at, labels < 0)
        for one in self.averages:
            table = one.given_to(table, labels)
        return table, labels


def levels_of(lattice: Lattice, levels: Levels) -> list[tuple[str, int]]:
    """The columns with their levels, as the hierarchies count them."""
    return [(one.name, one.first + at) for one, at in zip(lattice.ladders, levels, strict=True)]


def all_hidden(lattice: Lattice, levels: Levels) -> bool:
    """Whether nothing but "*" is left."""
    return all(one.all_hidden(at) for one, at in zip(lattice.ladders, levels, strict=True))
