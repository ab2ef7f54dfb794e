"""Where the labels of a generalized column lie among the values of the original.

"[20, 29]" lies in its middle, "Europe" and "{a, b}" at the mean of the values below them. A label
is read by the poset that the original's column declares; one that it does not know is read as an
interval or as a set of values, since a release need not follow any plan.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...poset.interval import Interval, IntervalPoset
from ...poset.ranges import Range, read_range
from ...poset.scale import scale_of
from ...poset.text import SUPPRESSED, read_set, text
from ...poset.tree import Tree
from ...poset.valueset import ValueSet, ValueSetPoset
from ...protocols import Poset
from ..codec import bind, domain_values, floats
from ..schema import NUMERIC, ORDERED, Column, Kind


class LabelPlaces:
    """Reads labels over the sorted distinct values of an original column.

    >>> ages = LabelPlaces(Column("age", Kind.INTEGER), pl.Series([20, 25, 40]))
    >>> ages.middle("[20, 40]"), ages.middle("{20, 25}"), ages.middle(">30"), ages.middle("old")
    (30.0, 22.5, 40.0, None)
    """

    def __init__(self, column: Column, domain: pl.Series) -> None:
        self.column, self.domain = column, domain

    @cached_property
    def _values(self) -> list[Any]:
        if self.column.kind == Kind.ORDINAL and not self.column.generalized:
            return self.domain.cast(pl.String).to_list()
        return domain_values(self.column, self.domain)

    @cached_property
    def _posets(self) -> list[Poset]:
        found: list[Poset] = [bind(self.column, self.domain)]
        if self.column.generalized:
            return found
        if self.column.kind in (*NUMERIC, Kind.DATE) and not isinstance(found[0], IntervalPoset):
            found.append(Interval().bind(self._values))
        if not isinstance(found[0], ValueSetPoset):
            found.append(ValueSet().bind(self._values))
        return found

    @cached_property
    def _scale(self) -> Any:
        return scale_of(self._values)

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.asarray(self._scale.array(self._values))

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {text(value): place for place, value in enumerate(self._values)}

    def covered(self, label: str) -> np.ndarray | None:
        """The places of the values that a label stands for; None where it cannot be read."""
        if label == SUPPRESSED:
            return np.arange(len(self.domain))
        for poset in self._posets:
            try:
                poset.measure(label)
                return self._below(poset, label)
            except ValueError:
                continue
        return None

    def middle(self, label: str) -> float | None:
        """The number at which a label of an ordered column lies; None where it cannot be read, or
        stands for no value."""
        ends = self._range(label)
        if ends is not None and math.isfinite(ends.low) and math.isfinite(ends.high):
            low, high = self._scale.positions(np.array([ends.low, ends.high]))
            return float(low / 2 + high / 2)
        found = self.covered(label)
        if found is None or not found.size:
            return None
        return float(self._positions[found].mean())

    @cached_property
    def _positions(self) -> np.ndarray:
        return floats(self.domain, self.column)

    def _range(self, label: str) -> Range | None:
        if self.column.kind not in ORDERED or self.column.kind == Kind.ORDINAL:
            return None
        if not isinstance(self._posets[0], IntervalPoset) and _knows(self._posets[0], label):
            return None
        try:
            return read_range(label, self._scale)
        except ValueError:
            return None

    def _below(self, poset: Poset, label: str) -> np.ndarray:
        if isinstance(poset, Tree):
            node = poset.node(label)
            codes = poset.codes(self._values)
            inside = (codes >= poset.first_leaf[node]) & (codes <= poset.last_leaf[node])
            return np.flatnonzero(inside)
        if isinstance(poset, IntervalPoset):
            ends, x = read_range(label, self._scale), self._numbers
            above = x > ends.low if ends.low_open else x >= ends.low
            below = x < ends.high if ends.high_open else x <= ends.high
            return np.flatnonzero(above & below)
        if isinstance(poset, ValueSetPoset) and label.startswith("{"):
            # One look for each member, not for each value of the column.
            try:
                return np.array(sorted(self._place_of[one] for one in read_set(label)))
            except (KeyError, ValueError, IndexError):
                pass
        return np.array([i for i, v in enumerate(self._values) if poset.leq(v, label)], dtype=int)


def _knows(poset: Poset, label: str) -> bool:
    try:
        poset.measure(label)
    except ValueError:
        return False
    return True
