"""Equivalence classes: the records that share their published quasi-identifiers.

They are counted on the published values as they stand, by code that no method or search uses: by
Polars, and sets by a hash of each, exactly. A missing value is a category of its own, and so is a
suppressed one. The elements of a set-valued cell have no order and no multiplicity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from ..data.people.repeated import repeated_key
from ..data.schema import SUPPRESSED, Column
from ..data.table import Table, kept_with
from ..errors import MeasureError
from .coding import Coded, coded, coded_column
from .coding import comparable as comparable
from .item_counts import Holders, count_pairs
from .sets import first_equal_lists, holds_sets
from .upper_bounds import least_upper_bounds
from .value_groups import Groups, value_groups

_ROW = "__row"
_DENSE = 1 << 16
"""Pairs of class and value that are counted in a table of all of them, whatever the records."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The equivalence classes of some columns, numbered 0..g-1 by first appearance."""

    columns: tuple[str, ...]
    labels: np.ndarray
    """int64: the class of each record."""
    first: np.ndarray
    """int64: the first record of each class."""

    def __len__(self) -> int:
        return int(self.first.size)

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64: the records in each class."""
        return np.bincount(self.labels, minlength=len(self)).astype(np.int64)

    @property
    def smallest(self) -> int:
        """Records in the smallest class."""
        return int(self.sizes.min())

    def of_records(self, per_class: np.ndarray) -> np.ndarray:
        """A figure of the classes, handed to their records."""
        found: np.ndarray = per_class[self.labels]
        return found


def equivalence_classes(table: Table, columns: Sequence[str] | None = None) -> Classes:
    """The classes of the table's quasi-identifiers, or of the columns named.

    Without any column nothing tells the records apart: they are one class.

    >>> from sfumato.data.table import table
    >>> found = equivalence_classes(table({"age": [30, None, 30, None, 41]}, quasi=["age"]))
    >>> found.labels.tolist(), found.sizes.tolist()
    ([0, 1, 0, 1, 2], [2, 2, 1])
    """
    names = tuple(table.schema.quasi if columns is None else columns)
    if not table.height:
        raise MeasureError(
            "the table has no records, hence no equivalence classes", remedy="publish some records"
        )
    if not names:
        nothing = np.zeros(table.height, dtype=np.int64)
        return Classes(names, nothing, np.zeros(1, dtype=np.int64))
    keys = [_key(table, name) for name in names]
    # A suppressed value is published otherwise than a missing one, though both are null in a table.
    keys += [pl.Series(mask) for name in names if (mask := _marks(table, name)) is not None]
    if len(keys) == 1 and holds_sets(table, names[0]):
        firsts = keys[0].to_numpy()
    else:
        firsts = first_equal(pl.DataFrame([key.alias(str(j)) for j, key in enumerate(keys)]))
    leads = firsts == np.arange(firsts.size)
    number = np.cumsum(leads) - 1
    return Classes(names, number[firsts], np.flatnonzero(leads))


def published_classes(table: Table) -> Classes:
    """The classes of a table's quasi-identifiers, which several criteria ask for; found once."""
    key = ("classes", tuple(table.schema.quasi))
    found: Classes = kept_with(table, key, table.marks, lambda: equivalence_classes(table))
    return found


def _key(table: Table, name: str) -> pl.Series:
    """A column in a form in which equal cells are equal: sets by the first record that has them."""
    if holds_sets(table, name):
        return pl.Series(first_equal_lists(table[name]))
    return comparable(table[name])


def _marks(table: Table, name: str) -> np.ndarray | None:
    """Which nulls of a column of values were suppressed; None where none was."""
    if table.schema[name].generalized:
        return None
    mask = table.suppressed(name)
    return mask if mask.any() else None


def wild(series: pl.Series, column: Column) -> np.ndarray:
    """Which cells could be anything: those without a value, and those published as "*"."""
    empty = series.is_null().to_numpy()
    if column.generalized or series.dtype in (pl.String, pl.Categorical, pl.Enum):
        starred = (series.cast(pl.String) == SUPPRESSED).fill_null(False).to_numpy()
        empty = np.logical_or(empty, starred)
    return empty


def first_equal(frame: pl.DataFrame) -> np.ndarray:
    """For each row the first row that is equal to it; missing equals missing."""
    # The least row index is the first, and Polars finds a least much sooner than a first.
    frame = pl.DataFrame([series.alias(f"{j}") for j, series in enumerate(frame)])
    first = pl.col(_ROW).min().over(frame.columns)
    found = frame.lazy().with_row_index(_ROW).select(first).collect()
    return found.get_column(_ROW).cast(pl.Int64).to_numpy()


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each class holds each value of a column: only the pairs that occur, sorted."""

    cls: np.ndarray
    """int64: the class."""
    code: np.ndarray
    """int64: 0 missing, 1..m the column's values in their natural order."""
    count: np.ndarray
    """int64: its records."""
    values: pl.Series
    """The value behind each code 1..m."""
    holders: Holders | None = None
    """For a column of sets, whose values are items: a record counts for each item it holds."""
    groups: Groups = field(default_factory=dict)
    """The values that are groups of others."""
    whole: np.ndarray | None = None
    """int64 (m + 1): by code, how often the whole release holds each value, where these are the
    counts of a part of its classes."""

    @cached_property
    def total(self) -> np.ndarray:
        """int64 (m + 1): by code, how often the whole holds each value; missing is code 0."""
        if self.whole is not None:
            return self.whole
        found = np.bincount(self.code, weights=self.count, minlength=len(self.values) + 1)
        return found.astype(np.int64)

    @property
    def missing(self) -> int:
        """Records of the whole without a value."""
        return int(self.total[0])

    def only(self, codes: np.ndarray) -> ValueCounts:
        """The pairs whose code is among these (bool, by code)."""
        chosen = codes[self.code]
        if self.whole is None and chosen.all():
            return self
        kept = self.cls[chosen], self.code[chosen], self.count[chosen]
        whole = None if self.whole is None else np.where(codes, self.whole, 0)
        return ValueCounts(*kept, self.values, self.holders, self.groups, whole)

    def recoded(self, block: np.ndarray, blocks: int) -> ValueCounts:
        """The counts after each code c has become block[c]; codes that meet are added up."""
        key = self.cls * (blocks + 1) + block[self.code]
        distinct, inverse = np.unique(key, return_inverse=True)
        count = np.bincount(inverse.reshape(-1), weights=self.count).astype(np.int64)
        whole = np.bincount(block, weights=self.total, minlength=blocks + 1).astype(np.int64)
        return ValueCounts(
            distinct // (blocks + 1),
            distinct % (blocks + 1),
            count,
            pl.Series(range(1, blocks + 1)),
            whole=whole,
        )


def value_counts(classes: Classes, series: pl.Series) -> ValueCounts:
    """The counts of a column's values in each class.

    >>> from sfumato.data.table import table
    >>> t = table({"q": ["a", "a", "b"], "ill": ["flu", "flu", None]}, quasi=["q"])
    >>> found = value_counts(equivalence_classes(t), t["ill"])
    >>> list(zip(found.cls.tolist(), found.code.tolist(), found.count.tolist()))
    [(0, 1, 2), (1, 0, 1)]
    """
    return _counted(classes.labels, len(classes), coded(series))


def _counted(
    labels: np.ndarray, groups: int, column: Coded, rows: np.ndarray | None = None
) -> ValueCounts:
    """The counts of coded values; of some rows, where only those have labels."""
    codes = column.codes if rows is None else column.codes[rows]
    # Class and value as one number.
    width = len(column.values) + 1
    key = labels * width + codes
    if groups * width <= max(_DENSE, 4 * labels.size):
        table = np.bincount(key, minlength=groups * width)
        found = np.flatnonzero(table)
        count = table[found]
    else:
        # Sorted, equal pairs are neighbours.
        key = np.sort(key)
        lead = np.flatnonzero(np.concatenate((key[:1] >= 0, key[1:] != key[:-1])))
        count = np.diff(np.append(lead, key.size))
        found = key[lead]
    cls, code = np.divmod(found, width)
    return ValueCounts(cls, code, count, column.values)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Classes that a search considers, before anything is published: what criteria count.

    `table` is the table as it is before the search; `classes` the classes that would be published.
    Records that would be suppressed may be left out: `rows` then says which records the labels of
    `classes` are of. A criterion asks for `table`, `sizes`, `people`, `counts`, `rows` and `shown`
    only, so that an engine that rolls up counts of its own may hand them over in a Grouping of its
    own.

    >>> from sfumato.data.table import table
    >>> t = table({"q": [1, 2, 3, 4], "ill": ["flu", "hiv", "flu", "flu"]}, quasi=["q"])
    >>> found = Grouping.of(t, np.array([0, 0, -1, 1]))
    >>> found.sizes.tolist(), found.counts("ill").count.tolist()
    ([2, 1], [1, 1, 1])
    """

    table: Table
    classes: Classes
    rows: np.ndarray | None = None
    publishes: Callable[[], Table] | None = None
    """Makes `shown`, for a search that does not publish least upper bounds."""
    key: str | None = None
    """The column that tells people apart, where it was handed over with the table."""

    @classmethod
    def of(
        cls, table: Table, labels: np.ndarray, publishes: Callable[[], Table] | None = None
    ) -> Grouping:
        """Of class labels 0..g-1 for each record, every class with a record; -1 leaves it out."""
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        rows = None
        if labels.size and labels.min() < 0:
            rows = np.flatnonzero(labels >= 0)
            labels = labels[rows]
        groups = int(labels.max()) + 1 if labels.size else 0
        first = np.zeros(groups, dtype=np.int64)
        first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
        return cls(table, Classes((), labels, first), rows, publishes)

    @classmethod
    def published(cls, table: Table, key: str | None = None) -> Grouping:
        """The equivalence classes of a table that is about to be published."""
        found = published_classes(table)
        others = [name for name in table.names if name not in found.columns]
        return cls(table, found, None, lambda: table.without(others).take(found.first), key)

    @cached_property
    def shown(self) -> Table:
        """What would be published: a row for each class, with the columns that are generalized.

        Unless the search says otherwise they are the quasi-identifiers, and a class shows the least
        upper bound of its records.
        """
        if self.publishes is not None:
            return self.publishes()
        return least_upper_bounds(self.table, self.classes.labels, len(self), self.rows)

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def sizes(self) -> np.ndarray:
        """int64: the records in each class."""
        return self.classes.sizes

    @property
    def people_key(self) -> str | None:
        """The column by which people have several records; None where a record is a person."""
        return self.key or repeated_key(self.table)

    @property
    def people(self) -> np.ndarray:
        """int64: the different people in each class; those without a key count as one."""
        key = self.people_key
        return self.sizes if key is None else self.units(key)

    @property
    def records_each(self) -> np.ndarray:
        """int64: for each record, how many its class has of the same person."""
        labels, key = self.classes.labels, self.people_key
        if key is None:
            return np.ones(labels.size, dtype=np.int64)
        codes = self.column(key).codes
        codes = codes if self.rows is None else codes[self.rows]
        both = labels * (int(codes.max(initial=0)) + 1) + codes
        _, place, many = np.unique(both, return_inverse=True, return_counts=True)
        return np.asarray(many[place.reshape(-1)])

    def units(self, name: str) -> np.ndarray:
        """int64: the different values of a column in each class, a missing one among them."""
        return np.bincount(self.counts(name).cls, minlength=len(self)).astype(np.int64)

    def column(self, name: str) -> Coded:
        """A column's values as codes, found once for each table."""
        return coded_column(self.table, name)

    def counts(self, column: str) -> ValueCounts:
        """How often each class holds each value of a column; each item, if its values are sets."""
        if isinstance(self.table[column].dtype, pl.List):
            found, count, sets, holders = count_pairs(
                self.table, column, self.classes.labels, len(self), self.rows
            )
            cls, code = np.divmod(found, len(sets.names) + 1)
            return ValueCounts(cls, code, count, sets.names, holders)
        counts = _counted(self.classes.labels, len(self), self.column(column), self.rows)
        known = self.table.schema[column].whole
        whole = None if known is None else np.concatenate(([known.missing], known.counts))
        return replace(counts, groups=value_groups(self.table, column), whole=whole)


def confidential_column(table: Table, named: str, asking: str) -> Column:
    """The column a criterion speaks of: the one named, else the only confidential one."""
    if named:
        return table.schema[named]
    found = table.schema.confidential
    if len(found) != 1:
        which = f"{len(found)} ({', '.join(found)})" if found else "none"
        raise MeasureError(
            f"{asking} speaks of one confidential column, and the table has {which}",
            remedy=f'{asking} = {{ column = "{found[0] if found else "NAME"}", ... }}',
        )
    return table.schema[found[0]]
