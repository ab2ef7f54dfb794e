"""Reading published labels: how wide they are, and which values of a column they cover.

A label is read by the poset that the original's column declares, bound to the original's values;
one that this poset does not know is read as an interval or as a set of values, since a release may
recode a column with a hierarchy either way, and a release made by another tool need not follow any
plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...errors import MeasureError
from ...poset.interval import Interval
from ...poset.or_missing import OrMissing, share_of
from ...poset.values.ranges import Range, read_range
from ...poset.values.scale import MomentScale, scale_of
from ...poset.values.text import says_missing, text, without_missing
from ...poset.valueset import ValueSet
from ...protocols import Poset
from ...structure import Line
from ..codec import bind, domain_values, encode, floats
from ..kinds import is_text
from ..schema import MEASURED, ORDERED, SUPPRESSED, Column, Kind
from ..table import Table, kept_with
from .coverage import Coverage
from .plain_labels import Plain, plain_ranges, plain_sets


def has_labels(original: Column, masked: Column, series: pl.Series) -> bool:
    """Whether a masked column holds labels rather than values.

    It does if it says so, and also where numbers or dates have become text.
    """
    return masked.generalized or (is_text(series) and original.kind in MEASURED)


def distinct_labels(series: pl.Series) -> tuple[list[str], np.ndarray]:
    """The distinct labels of a column, sorted, and each row's place among them, -1 if missing."""
    texts = series.cast(pl.String)
    labels = texts.drop_nulls().unique().sort()
    places = texts.cast(pl.Enum(labels)).to_physical().cast(pl.Int64).fill_null(-1)
    return labels.to_list(), places.to_numpy()


class LabelPlaces:
    """Reads labels over the sorted distinct values of an original column.

    "[20, 29]" lies in its middle, "Europe" and "{a, b}" at the mean of the values below them.

    >>> ages = LabelPlaces(Column("age", Kind.INTEGER), pl.Series([20, 25, 40]))
    >>> ages.middle("[20, 40]"), ages.middle("{20, 25}"), ages.middle(">30"), ages.middle("old")
    (30.0, 22.5, 40.0, None)
    """

    def __init__(self, column: Column, domain: pl.Series, counts: np.ndarray | None = None) -> None:
        self.column, self.domain, self._counts = column, domain, counts
        self._known: dict[str, Poset | ValueError] = {}

    @cached_property
    def _declared(self) -> Poset:
        return bind(self.column, self.domain, self._counts)

    @cached_property
    def _others(self) -> list[Poset]:
        """Posets that may know a label which the declared one does not."""
        others: list[Poset] = []
        if self.column.generalized:
            return others
        values, reads = domain_values(self.column, self.domain), self._declared.structure.reads
        if self.column.kind in MEASURED and reads != "interval":
            others.append(Interval().bind(values))
        if reads != "value-set":
            others.append(ValueSet().bind(values))
        return others

    def _find(self, label: str) -> Poset | ValueError:
        """The poset that knows the label, or why the declared one does not."""
        found = self._known.get(label)
        if found is None:
            found = _refused(self._declared, label) or self._declared
            if isinstance(found, ValueError):
                knows = (other for other in self._others if _refused(other, label) is None)
                found = next(knows, found)
            base, mixed = without_missing(label)
            if isinstance(found, ValueError) and mixed:
                inner = self._find(base)
                found = inner if isinstance(inner, ValueError) else OrMissing(inner)
            self._known[label] = found
        return found

    def _of_values(self, label: str) -> str:
        """The label without what it says of missing values."""
        return without_missing(label)[0] if isinstance(self._find(label), OrMissing) else label

    @cached_property
    def _values(self) -> list[Any]:
        return _plain(self.column, self.domain)

    @cached_property
    def _scale(self) -> Any:
        return scale_of(domain_values(self.column, self.domain))

    def covered(self, label: str) -> np.ndarray | None:
        """The places of the values that a label stands for; None where it cannot be read."""
        if label == SUPPRESSED:
            return np.arange(len(self.domain))
        label = self._of_values(label)
        poset = self._find(label)
        if isinstance(poset, ValueError):
            return None
        line, sets = poset.structure.line, poset.structure.sets
        if line is not None:
            return _inside(line.ends(label), line.keys(self._values))
        # One look for each member, not for each value of the column.
        listed = sets.listed(label) if sets is not None and label[:1] == "{" else None
        if listed is not None:
            return np.array(sorted(self._place_of[one] for one in listed))
        return np.array([i for i, v in enumerate(self._values) if poset.leq(v, label)], dtype=int)

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {text(value): place for place, value in enumerate(self._values)}

    def middle(self, label: str) -> float | None:
        """The number at which a label of an ordered column lies; None where it tells no value."""
        ends = self.interval(label)
        if ends is not None and math.isfinite(ends.low) and math.isfinite(ends.high):
            low, high = self._scale.positions(np.array([ends.low, ends.high]))
            return float(low / 2 + high / 2)
        found = self.covered(label)
        if found is None or not found.size:
            return None
        return float(self._floats[found].mean())

    @cached_property
    def _floats(self) -> np.ndarray:
        return floats(self.domain, self.column)

    def interval(self, label: str) -> Range | None:
        """The interval that a label reads as, unless a hierarchy has it."""
        if self.column.kind not in ORDERED or self.column.kind == Kind.ORDINAL:
            return None
        label = self._of_values(label)
        own = self._declared.structure.reads == "interval"
        if not own and _refused(self._declared, label) is None:
            return None
        try:
            return read_range(label, self._scale)
        except ValueError:
            return None


class Labels(LabelPlaces):
    """The reader of the labels of one column of a table.

    >>> from sfumato.data.table import table
    >>> ages = Labels(table({"age": [20, 25, 40]}, quasi=["age"]), "age")
    >>> ages.measure("[20, 25]"), ages.measure("{20, 40}"), ages.read_by("{20, 40}")
    (0.25, 0.5, 'value-set')
    >>> found = ages.coverage(ages.domain, ["[20, 25]", "*"])
    >>> found.of(0).tolist(), found.of(1).tolist()
    ([1, 2], [0, 1, 2, 3])
    """

    def __init__(self, original: Table, name: str) -> None:
        found = encode(original[name])
        counts = np.bincount(found.codes, minlength=len(found.domain) + 1)[1:]
        super().__init__(original.schema[name], found.domain, counts)
        self.codes: np.ndarray = found.codes
        # What is wrong with a poset is said before any label is read.
        _ = self._declared

    @classmethod
    def of(cls, original: Table, name: str) -> Labels:
        """The same reader for as long as the table lives: measures and searches ask often."""
        column = original.schema[name]
        found: Labels = kept_with(original, ("labels", name), column, lambda: cls(original, name))
        return found

    def poset(self, label: str) -> Poset:
        """The poset that knows the label."""
        found = self._find(label)
        if isinstance(found, ValueError):
            raise MeasureError(
                f"column {self.column.name!r} was published with the label {label!r}, "
                f"which cannot be read: {found}"
            ) from found
        return found

    def measure(self, label: str) -> float:
        """The share of the column's domain that the label leaves open; missing, where some values
        of the column are, is one more value of it."""
        poset = self.poset(label)
        found = poset.measure(label)
        if isinstance(poset, OrMissing) or not self._gaps:
            return found
        return share_of(poset, found, mixed=False)

    @cached_property
    def _gaps(self) -> bool:
        return bool((self.codes == 0).any())

    def read_by(self, label: str) -> str:
        """What the label was read as."""
        return self.poset(self._of_values(label)).structure.reads

    def range(self, label: str) -> Range | None:
        """The interval that the label stands for; None where it is read in another way."""
        if self.read_by(label) != "interval":
            return None
        return read_range(self._of_values(label), self._scale)

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
        bases = [self._of_values(one) if says_missing(one) else one for one in labels]
        mixed = np.array([a != b for a, b in zip(labels, bases, strict=True)], dtype=bool)
        if not mixed.any():
            return self._coverage(values, labels)
        return self._coverage(values, bases).with_missing(mixed)

    def _coverage(self, values: pl.Series, labels: Sequence[str]) -> Coverage:
        plain, reads = _plain(self.column, values), self._declared.structure.reads
        if reads == "value-set":
            return self._sets(plain, labels, plain_sets(labels, self._place_of))
        rest, ranges = labels, None
        if reads == "interval":
            ranges = plain_ranges(labels, self._scale)
            rest = [labels[i] for i in np.flatnonzero(~ranges[2]).tolist()]
        readers = {id(p): p for p in (self.poset(label) for label in rest if label != SUPPRESSED)}
        if len(rest) < len(labels):
            readers[id(self._declared)] = self._declared
        line = next(iter(readers.values()), self._declared).structure.line
        if len(readers) <= 1 and line is not None:
            keys = line.keys(plain)
            low, high = _runs(line, np.sort(keys), labels, ranges)
            return Coverage(_ranked(keys), low, high, unknown=int(np.isnan(keys).sum()))
        return self._sets(plain, labels)

    def _sets(
        self, plain: Sequence[Any], labels: Sequence[str], listed: Plain | None = None
    ) -> Coverage:
        """Every label as a set of ranks, for labels that are no runs of one order; some may have
        been read already."""
        everything = np.arange(len(plain) + 1)
        rank_of = {text(value): rank for rank, value in enumerate(plain, 1)}
        of, ranks = _ranks_of(listed, self._place_of, rank_of)
        parts, whose = [ranks], [of]
        stray = np.zeros(len(plain), dtype=bool)
        for i in range(len(labels)) if listed is None else np.flatnonzero(~listed[2]).tolist():
            label = labels[i]
            if label == SUPPRESSED:
                parts.append(everything)
            else:
                parts.append(self._ranks(label, plain, rank_of, stray))
            whose.append(np.full(parts[-1].size, i))
        of, ranks = np.concatenate(whose), np.concatenate(parts)
        order = np.lexsort((ranks, of))
        starts = np.searchsorted(of[order], np.arange(len(labels) + 1))
        nothing = np.zeros(0, dtype=np.int64)
        return Coverage(everything[1:], nothing, nothing, starts, ranks[order], int(stray.sum()))

    def _ranks(
        self, label: str, plain: Sequence[Any], rank_of: dict[str, int], stray: np.ndarray
    ) -> np.ndarray:
        """The ranks that one label covers; values that its poset does not have are noted."""
        poset = self.poset(label)
        sets = poset.structure.sets
        members = sets.listed(label) if sets is not None else None
        if members is not None:
            ranks = [rank_of[member] for member in members if member in rank_of]
        else:
            known = [_leq(poset, value, label) for value in plain]
            stray |= np.array([answer is None for answer in known], dtype=bool)
            ranks = [rank for rank, answer in enumerate(known, 1) if answer]
        return np.array(ranks, dtype=np.int64)


def _ranks_of(
    listed: Plain | None, place_of: dict[str, int], rank_of: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and ranks, from labels and places among the original's values."""
    if listed is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    of, place, _ = listed
    rank = np.array([rank_of.get(value, 0) for value in place_of], dtype=np.int64)[place]
    return of[rank > 0], rank[rank > 0]


def _runs(
    line: Line, keys: np.ndarray, labels: Sequence[str], ranges: Plain | None
) -> tuple[np.ndarray, np.ndarray]:
    """First and last rank of each label, from the sorted keys; some labels may have been read."""
    low, high = np.empty(len(labels), dtype=np.int64), np.empty(len(labels), dtype=np.int64)
    rest: Iterable[int] = range(len(labels))
    if ranges is not None:
        first, last, read = ranges
        low[read] = 1 + np.searchsorted(keys, first[read], "left")
        high[read] = np.searchsorted(keys, last[read], "right")
        rest = np.flatnonzero(~read).tolist()
    for i in rest:
        label = labels[i]
        if label == SUPPRESSED:
            low[i], high[i] = 0, keys.size
            continue
        ends = line.ends(label)
        low[i] = 1 + np.searchsorted(keys, ends.low, "right" if ends.low_open else "left")
        high[i] = np.searchsorted(keys, ends.high, "left" if ends.high_open else "right")
    return low, high


def _inside(ends: Range, keys: np.ndarray) -> np.ndarray:
    """The places of the keys that a range holds."""
    above = keys > ends.low if ends.low_open else keys >= ends.low
    below = keys < ends.high if ends.high_open else keys <= ends.high
    return np.flatnonzero(above & below)


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


def _leq(poset: Poset, value: Any, label: str) -> bool | None:
    try:
        return poset.leq(value, label)
    except ValueError:
        return None


def _refused(poset: Poset, label: str) -> ValueError | None:
    """Why a poset does not know a label; None where it does."""
    try:
        poset.measure(label)
    except ValueError as error:
        return error
    return None
