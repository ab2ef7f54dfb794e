"""Products of posets: least upper bounds of whole records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, product
from typing import Any

from ..errors import MethodError
from ..protocols import Poset

MOST_CHOICES = 100_000
"""Records of a set of least upper bounds that are compared one by one."""

Record = Sequence[Any]
RecordMeasure = Callable[[Sequence[Any]], float]
LubSet = tuple[tuple[Any, ...], ...]
"""For each column, all least upper bounds: any choice of one from each column is one."""


class Product:
    """Records over several posets, in the order of the columns (the thesis' MultiPoset).

    `weights` multiply the columns' measures. `measure` judges whole records where several least
    upper bounds compete; unless given it is the weighted mean of the cells' measures.

    H. Katirai: A theory and toolkit for the mathematics of privacy, 2006, definitions 3 and 4.

    >>> from sfumato.poset.interval import Interval
    >>> from sfumato.poset.valueset import ValueSet
    >>> both = Product({"age": Interval().bind([10, 20, 35]), "sex": ValueSet().bind(["f", "m"])})
    >>> both.lub([10, "f"], [20, "m"]), both.measure(["[10, 20]", "f"])
    (('[10, 20]', '*'), 0.2)
    """

    def __init__(
        self,
        posets: Mapping[str, Poset],
        weights: Mapping[str, float] | None = None,
        measure: RecordMeasure | None = None,
    ) -> None:
        stray = [name for name in weights or {} if name not in posets]
        if stray:
            raise MethodError(f"{stray[0]!r} has a weight, and is no column", remedy="mend it")
        self.names = tuple(posets)
        self.posets = tuple(posets.values())
        self.weights = tuple((weights or {}).get(name, 1.0) for name in self.names)
        self._measure = measure

    def _cells(self, record: Record) -> Record:
        if len(record) != len(self.posets):
            raise MethodError(
                f"a record has {len(record)} values for {len(self.posets)} columns",
                remedy=f"give {', '.join(self.names)}",
            )
        return record

    def leq(self, lower: Record, upper: Record) -> bool:
        """Whether every cell of `upper` is that of `lower` or a generalization of it."""
        pairs = zip(self.posets, self._cells(lower), self._cells(upper), strict=True)
        return all(poset.leq(a, b) for poset, a, b in pairs)

    def measure(self, record: Record) -> float:
        """What a record leaves open."""
        if self._measure is not None:
            return float(self._measure(self._cells(record)))
        cells = zip(self.posets, self.weights, self._cells(record), strict=True)
        total = math.fsum(weight * poset.measure(cell) for poset, weight, cell in cells)
        return total / max(math.fsum(self.weights), 1e-300)

    def lub(self, *records: Record) -> tuple[Any, ...]:
        """The least upper bound of records: in each column that of all cells together."""
        if not records:
            raise ValueError("nothing has no least upper bound -> give at least one record")
        columns = zip(*map(self._cells, records), strict=True)
        return tuple(poset.lub(cells) for poset, cells in zip(self.posets, columns, strict=True))

    def lub_set(self, one: Record, other: Record) -> LubSet:
        """All least upper bounds of two records (definition 3)."""
        pairs = zip(self.posets, self._cells(one), self._cells(other), strict=True)
        return tuple(lub_set(poset, (a, b)) for poset, a, b in pairs)

    def lub_with(self, bounds: LubSet, record: Record) -> LubSet:
        """The least upper bounds of a set of them and a record (definition 4).

        Of all choices from the set, those whose bound with the record measures least.
        """
        if self._measure is None:
            # A sum of cells is least where every cell is.
            cells = zip(self.posets, bounds, self._cells(record), strict=True)
            return tuple(_least(poset, choices, cell) for poset, choices, cell in cells)
        count = math.prod(map(len, bounds))
        if count > MOST_CHOICES:
            raise MethodError(
                f"{count:,} least upper bounds are too many to compare one by one",
                remedy="leave `measure` out, which compares cell by cell",
            )
        found = [self.lub_set(choice, record) for choice in product(*bounds)]
        return min(found, key=self.set_measure)

    def set_measure(self, bounds: LubSet) -> float:
        """The least measure of the records that can be chosen from a set of bounds."""
        if self._measure is None:
            return self.measure([choices[0] for choices in bounds])
        return min(self.measure(choice) for choice in product(*bounds))

    def fold(self, records: Iterable[Record]) -> LubSet:
        """The least upper bounds of many records as the thesis defines them: joined one by one.

        In partial orders this may end above `lub`, which looks at all of them together.
        """
        listed = [self._cells(record) for record in records]
        if not listed:
            raise ValueError("nothing has no least upper bound -> give at least one record")
        bounds: LubSet = tuple(
            lub_set(poset, (cell,)) for poset, cell in zip(self.posets, listed[0], strict=True)
        )
        for record in listed[1:]:
            bounds = self.lub_with(bounds, record)
        return bounds

    def choices(self, bounds: LubSet) -> list[tuple[Any, ...]]:
        """The records of a set of least upper bounds."""
        return list(product(*bounds))


def lub_set(poset: Poset, values: Iterable[Any]) -> tuple[Any, ...]:
    """All least upper bounds; most posets have a single one."""
    several = getattr(poset, "lub_set", None)
    return tuple(several(values)) if several is not None else (poset.lub(values),)


def _least(poset: Poset, choices: Iterable[Any], cell: Any) -> tuple[Any, ...]:
    bounds = list(dict.fromkeys(chain.from_iterable(lub_set(poset, (c, cell)) for c in choices)))
    costs = [poset.measure(bound) for bound in bounds]
    return tuple(b for b, cost in zip(bounds, costs, strict=True) if cost == min(costs))
