"""Reading published labels: how wide they are, and which values of a column they cover.

A label is read by the poset that the original's column declares, bound to the original's values;
one that this poset does not know is read as an interval or as a set of values, since a release may
recode a column with a hierarchy either way, and a release made by another tool need not follow any
plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ..data.codec import bind, domain_values, encode
from ..data.schema import NUMERIC, SUPPRESSED, Column, Kind
from ..data.table import Table
from ..errors import MeasureError
from ..poset.interval import Interval, IntervalPoset
from ..poset.ranges import Range, read_range
from ..poset.scale import MomentScale, scale_of
from ..poset.text import read_set, text
from ..poset.tree import Tree
from ..poset.valueset import ValueSet, ValueSetPoset
from ..protocols import Poset


def has_labels(original: Column, masked: Column, series: pl.Series) -> bool:
    """Whether a masked column holds labels rather than values.

    It does if it says so, and also where numbers or dates have become text.
    """
    is_text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    return masked.generalized or (is_text and original.kind in (*NUMERIC, Kind.DATE))


def distinct_labels(series: pl.Series) -> tuple[list[str], np.ndarray]:
    """The distinct labels of a column, sorted, and each row's place among them, -1 if missing."""
    texts = series.cast(pl.String)
    labels = texts.drop_nulls().unique().sort()
    places = texts.cast(pl.Enum(labels)).to_physical().cast(pl.Int64).fill_null(-1)
    return labels.to_list(), places.to_numpy()


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which values each label covers, by rank: 1..d, and 0 for missing, which only "*" covers.

    Either each label covers the ranks low..high (empty where low > high), or
    `members[starts[i]:starts[i + 1]]`, sorted. `unknown` counts values that only "*" covers because
    their hierarchy does not have them.
    """

    ranks: np.ndarray
    """int64: the rank of each value, in the order in which the values were given."""
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray | None = None
    members: np.ndarray | None = None
    unknown: int = 0

    def of(self, label: int) -> np.ndarray:
        """The ranks that a label covers."""
        if self.starts is None or self.members is None:
            return np.arange(self.low[label], self.high[label] + 1)
        return self.members[self.starts[label] : self.starts[label + 1]]


class Labels:
    """The reader of one column's labels.

    >>> from sfumato.data.table import table
    >>> ages = Labels(table({"age": [20, 25, 40]}, quasi=["age"]), "age")
    >>> ages.measure("[20, 25]"), ages.measure("{20, 40}"), ages.read_by("{20, 40}")
    (0.25, 0.5, 'value-set')
    >>> found = ages.coverage(ages.domain, ["[20, 25]", "*"])
    >>> found.of(0).tolist(), found.of(1).tolist()
    ([1, 2], [0, 1, 2, 3])
    """

    def __init__(self, original: Table, name: str) -> None:
        self.column = original.schema[name]
        found = encode(original[name])
        self.domain: pl.Series = found.domain
        self.codes: np.ndarray = found.codes
        counts = np.bincount(found.codes, minlength=len(found.domain) + 1)[1:]
        self._declared = bind(self.column, found.domain, counts)
        self._known: dict[str, Poset] = {}

    @cached_property
    def _others(self) -> list[Poset]:
        """Posets that may know a label which the declared one does not."""
        others: list[Poset] = []
        values = domain_values(self.column, self.domain)
        if self.column.kind in (*NUMERIC, Kind.DATE) and not isinstance(
            self._declared, IntervalPoset
        ):
            others.append(Interval().bind(values))
        if not isinstance(self._declared, ValueSetPoset):
            others.append(ValueSet().bind(values))
        return others

    def poset(self, label: str) -> Poset:
        """The poset that knows the label."""
        found = self._known.get(label)
        if found is None:
            found = self._known[label] = self._find(label)
        return found

    def _find(self, label: str) -> Poset:
        try:
            self._declared.measure(label)
        except ValueError as error:
            for other in self._others:
                try:
                    other.measure(label)
                except ValueError:
                    continue
                return other
            raise MeasureError(
                f"column {self.column.name!r} was published with the label {label!r}, "
                f"which cannot be read: {error}"
            ) from error
        return self._declared

    def measure(self, label: str) -> float:
        """The share of the column's domain that the label leaves open."""
        return self.poset(label).measure(label)

    def read_by(self, label: str) -> str:
        """What the label was read as."""
        return _word(self.poset(label))

    def range(self, label: str) -> Range | None:
        """The interval that the label stands for; None where it is read in another way."""
        return read_range(label, self._scale) if self.read_by(label) == "interval" else None

    @cached_property
    def _scale(self) -> Any:
        return scale_of(domain_values(self.column, self.domain))

    @property
    def whole(self) -> bool:
        """Whether the column's numbers are whole numbers or whole days."""
        return bool(self._scale.whole) and not isinstance(self._scale, MomentScale)

    def position(self, number: float) -> float:
        """Where the end of a range lies: numbers as they are, dates and times in days."""
        return float(self._scale.positions(np.array([number]))[0])

    @cached_property
    def positions(self) -> np.ndarray:
        """Where each value of the domain lies."""
        numbers = self._scale.array(domain_values(self.column, self.domain))
        return np.asarray(self._scale.positions(numbers))

    def coverage(self, values: pl.Series, labels: Sequence[str]) -> Coverage:
        """Which of these distinct values (of the original or another table) each label covers."""
        plain = _plain(self.column, values)
        readers = {id(p): p for p in (self.poset(label) for label in labels if label != SUPPRESSED)}
        first = next(iter(readers.values()), self._declared)
        if len(readers) <= 1 and isinstance(first, Tree | IntervalPoset):
            keys = self._keys(first, plain)
            ranks = _ranked(keys)
            low, high = self._runs(first, np.sort(keys), labels)
            return Coverage(ranks, low, high, unknown=int(np.isnan(keys).sum()))
        return self._sets(plain, labels)

    def _keys(self, poset: Poset, plain: Sequence[Any]) -> np.ndarray:
        """Where each value lies among the poset's own, as a number; NaN if nowhere."""
        if isinstance(poset, IntervalPoset):
            try:
                # Whole numbers stay whole: beyond 2**53 floats cannot tell neighbours apart.
                return np.asarray(self._scale.array(plain))
            except ValueError:
                return np.array([self._scale.number(value) for value in plain], dtype=np.float64)
        try:
            return poset.codes(plain).astype(np.float64)
        except ValueError:
            return np.array([_code(poset, value) for value in plain], dtype=np.float64)

    def _runs(
        self, poset: Poset, keys: np.ndarray, labels: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """First and last rank of each label, from the sorted keys."""
        low, high = np.empty(len(labels), dtype=np.int64), np.empty(len(labels), dtype=np.int64)
        for i, label in enumerate(labels):
            if label == SUPPRESSED:
                low[i], high[i] = 0, keys.size
                continue
            if isinstance(poset, Tree):
                node = poset.node(label)
                ends = Range(int(poset.first_leaf[node]), int(poset.last_leaf[node]))
            else:
                ends = read_range(label, self._scale)
            low[i] = 1 + np.searchsorted(keys, ends.low, "right" if ends.low_open else "left")
            high[i] = np.searchsorted(keys, ends.high, "left" if ends.high_open else "right")
        return low, high

    def _sets(self, plain: Sequence[Any], labels: Sequence[str]) -> Coverage:
        """Every label as a set of ranks, for labels that are no runs of one order."""
        everything = np.arange(len(plain) + 1)
        rank_of = {text(value): rank for rank, value in enumerate(plain, 1)}
        found = []
        stray = np.zeros(len(plain), dtype=bool)
        for label in labels:
            if label == SUPPRESSED:
                found.append(everything)
                continue
            poset = self.poset(label)
            members = _members(poset, label)
            if members is not None:
                ranks = sorted(rank_of[member] for member in members if member in rank_of)
            else:
                known = [_leq(poset, value, label) for value in plain]
                stray |= np.array([answer is None for answer in known], dtype=bool)
                ranks = [rank for rank, answer in enumerate(known, 1) if answer]
            found.append(np.array(ranks, dtype=np.int64))
        starts = np.concatenate(([0], np.cumsum([part.size for part in found]))).astype(np.int64)
        members_of = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        nothing = np.zeros(0, dtype=np.int64)
        return Coverage(everything[1:], nothing, nothing, starts, members_of, int(stray.sum()))


def _word(poset: Poset) -> str:
    if isinstance(poset, IntervalPoset):
        return "interval"
    return "value-set" if isinstance(poset, ValueSetPoset) else "hierarchy"


def _plain(column: Column, values: pl.Series) -> list[Any]:
    """Distinct values as posets see them."""
    if column.kind == Kind.ORDINAL and not column.generalized:
        return values.cast(pl.String).to_list()
    return domain_values(column, values)


def _ranked(keys: np.ndarray) -> np.ndarray:
    """Ranks 1.. of distinct keys; NaN, which nothing but "*" covers, comes last."""
    ranks = np.empty(keys.size, dtype=np.int64)
    ranks[np.argsort(keys, kind="stable")] = np.arange(1, keys.size + 1)
    return ranks


def _code(poset: Poset, value: Any) -> float:
    try:
        return float(poset.codes([value])[0])
    except ValueError:
        return float("nan")


def _leq(poset: Poset, value: Any, label: str) -> bool | None:
    try:
        return poset.leq(value, label)
    except ValueError:
        return None


def _members(poset: Poset, label: str) -> list[str] | None:
    """The members of a set of values if it is written plainly; else only the poset can tell."""
    if not isinstance(poset, ValueSetPoset):
        return None
    try:
        listed = read_set(label) if label.startswith("{") else [label]
        poset.codes(listed)
    except (ValueError, IndexError):
        return None
    return listed
