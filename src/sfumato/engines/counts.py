"""`Counts`: what figures are taken from where records do not fit into memory.

Sizes of classes, and how often a column has each of its values, are counted where the records are;
a measure that is a function of these alone (`Measure.by_counts`) gives the same figure as on the
tables themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from ..data.sets.flat_lists import is_list
from ..data.table import Table, as_published
from .relation import MOST_COUNTED, Counted, Part, Relation

Side = Literal["original", "masked"]
SIDES: tuple[Side, Side] = ("original", "masked")


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many classes have how many records."""

    columns: tuple[str, ...]
    size: np.ndarray
    """int64: the sizes that occur, ascending."""
    many: np.ndarray
    """int64: the classes of each size."""

    @classmethod
    def of(cls, columns: tuple[str, ...], sizes: np.ndarray) -> Sizes:
        """Of the sizes of classes.

        >>> found = Sizes.of(("q",), np.array([2, 1, 2]))
        >>> found.size.tolist(), found.many.tolist(), found.classes, found.records
        ([1, 2], [1, 2], 3, 5)
        """
        size, many = np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)
        return cls(columns, size, many.astype(np.int64))

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.many.sum())

    @property
    def records(self) -> int:
        """How many records they hold."""
        return int((self.size * self.many).sum())

    @property
    def smallest(self) -> int:
        """Records in the smallest class."""
        return int(self.size[0])

    @property
    def alone(self) -> int:
        """Classes of one record."""
        return int(self.many[self.size == 1].sum())

    @property
    def median(self) -> float:
        """The median size."""
        upto, half = np.cumsum(self.many), (self.classes - 1) // 2
        low, high = np.searchsorted(upto, [half, self.classes // 2], side="right")
        return float((self.size[low] + self.size[high]) / 2)


@dataclass(frozen=True, eq=False)
class Counts:
    """An original and its masked records, wherever they are, counted when they are asked for."""

    original: Relation
    masked: Relation
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def side(self, side: Side) -> Relation:
        """One of the two."""
        return self.original if side == "original" else self.masked

    def sizes(self, side: Side) -> Sizes:
        """The classes of the quasi-identifiers, as each side has them."""
        found: Sizes = self.once(("sizes", side), lambda: self._sizes(side))
        return found

    def _sizes(self, side: Side) -> Sizes:
        data = self.side(side)
        quasi = data.schema.quasi
        odd = [n for n in quasi if data.empty[n].dtype.is_float() or is_list(data.empty[n])]
        if odd:  # -0.0 is 0.0, and a set has no order
            data = data.only(quasi).map_parts(partial(_as_published, odd))[0]
        found = data.class_sizes(quasi)
        return Sizes(tuple(data.schema.quasi), found[:, 0], found[:, 1])

    def values(self, side: Side, column: str, most: int = MOST_COUNTED) -> Counted:
        """The different cells of a column, and how many records have each."""
        data = self.side(side)
        found: Counted = self.once(("values", side, column), lambda: data.count_by([column], most))
        return found

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made of the records the first time that it is asked for."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def _as_published(odd: Sequence[str], part: Table, numbers: np.ndarray) -> Part:
    """Of the odd columns alone: the categories of others would be those that this part holds."""
    shown = as_published(part.without([name for name in part.names if name not in odd]))
    return Part(part.with_columns([shown[name] for name in odd]))
