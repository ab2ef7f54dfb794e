"""Who has several records: the identifier by which visits, claims or answers are one person's.

A record is a person unless an identifier repeats. Five records of one person hide nobody, so that
whatever counts people must count them by that column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from ..codec import encode
from ..pair import Pair
from ..recognize import recognize
from ..schema import Column, Role
from ..table import Table, kept_with

_OFTEN = 0.9
"""People have several records each where their key has at most so many different values."""
_SHARED = ("name", "telephone", "fax", "e-mail", "address", "url", "ip-address", "free-text")
"""What several people may have in common, so that a few who agree need not be one person."""
_FIRM = 0.5
"""Of the pairs of records that chance would let differ, the share that agree if they are one
person's."""
_TRIED = 20_000


def repeated_key(table: Table) -> str | None:
    """The identifier by which people have several records, if there is one; found once a table.

    Of several that repeat often the finest: a doctor's name comes back more often than a patient's
    number. Where none does, a number that repeats now and then. An address is a household's, and
    a word of a name many people's, unless its records agree in other columns too.

    >>> from sfumato.data.table import table
    >>> visits = table({"pid": ["a", "a", "b", "b"], "visit": [1, 2, 3, 4]}, identifier=["pid"])
    >>> repeated_key(visits)
    'pid'
    """
    names = tuple(table.schema.of_role(Role.IDENTIFIER))
    key = ("repeated key", names, tuple(table.schema.quasi))
    found: str | None = kept_with(table, key, None, lambda: _repeated(table, names))
    return found


def _repeated(table: Table, names: tuple[str, ...]) -> str | None:
    different = {}
    for name in names:
        values = table[name].drop_nulls()
        if values.dtype.is_nested() or len(values) < 2:
            continue
        count = values.n_unique()
        if 1 < count < len(values):
            different[name] = (count, count / len(values))
    if not different:
        return None
    others = [name for name in table.names if name not in different]
    what = {name: found.what for name, found in recognize(table.without(others)).items()}
    often = {
        name: count
        for name, (count, share) in different.items()
        if share <= _OFTEN and _one_person(table, name, what.get(name, ""))
    }
    if often:
        return max(often, key=lambda name: often[name])
    seldom = {
        name: count
        for name, (count, share) in different.items()
        if share > _OFTEN and what.get(name) not in _SHARED
    }
    return min(seldom, key=lambda name: seldom[name], default=None)


def _one_person(table: Table, name: str, what: str) -> bool:
    """Whether records that agree in an identifier can be taken for one person's."""
    if what in ("address", "household"):
        return False
    return what != "name" or _full_names(table[name]) or _agree(table, name)


def _full_names(series: pl.Series) -> bool:
    """Whether most names are of several words."""
    texts = series.drop_nulls().cast(pl.String).unique().str.strip_chars()
    return int(texts.str.contains(r"[\s,]").sum()) >= len(texts) / 2


def _agree(table: Table, name: str) -> bool:
    """Whether records of one value agree in some quasi-identifier far more than chance explains."""
    key = encode(table[name]).codes
    order = np.argsort(key, kind="stable")[:_TRIED]
    here, there = order[:-1], order[1:]
    same = (key[here] == key[there]) & (key[here] > 0)
    if not same.any():
        return False
    for other in table.schema.quasi:
        if table[other].dtype.is_nested():
            continue
        codes = encode(table[other]).codes
        agree = float((codes[here] == codes[there])[same].mean())
        chance = float(((np.bincount(codes) / codes.size) ** 2).sum())
        if chance < 1 and (agree - chance) / (1 - chance) >= _FIRM:
            return True
    return False


class Counted(NamedTuple):
    """How many people have how many records, and by which column that is known."""

    key: str
    people: int
    records: int

    def __str__(self) -> str:
        return f"{self.people:,} people have {self.records:,} records, by `{self.key}`"


def people_counted(table: Table) -> Counted | None:
    """The people of a table and their records; None where a record is a person."""
    key = repeated_key(table)
    if key is None:
        return None
    return Counted(key, table[key].drop_nulls().n_unique(), table.height)


def people_published(pair: Pair) -> Counted | None:
    """The people of a release and their records; None where a record is a person, or nobody's."""
    key = repeated_key(pair.original)
    if key is None or pair.rows is None:
        return None
    return Counted(key, carried(pair, key)[0].drop_nulls().n_unique(), pair.masked.height)


def carried(pair: Pair, name: str) -> tuple[pl.Series, Column]:
    """A column of the original beside the masked records, under a name that they do not have."""
    assert pair.rows is not None
    free = name
    while free in pair.masked.schema:
        free += "_"
    rows = pl.Series(pair.rows)
    values = pair.original[name].gather(rows.set(rows < 0, None)).alias(free)
    return values, replace(pair.original.schema[name], name=free)


def with_people(pair: Pair) -> tuple[Table, str | None]:
    """The masked table with the column that tells people apart, and its name; the masked table
    alone where a record is a person, or nobody knows whose it is."""
    key = repeated_key(pair.original)
    if key is None or pair.rows is None:
        return pair.masked, None
    values, column = carried(pair, key)
    return pair.masked.with_columns([values], [column]), column.name


class OwnRecords(NamedTuple):
    """The masked records of each original row's person, one person after the other."""

    key: str
    first: np.ndarray
    """int64 (n,): where the person of each original row begins in `records`."""
    many: np.ndarray
    """int64 (n,): how many records the person has there."""
    records: np.ndarray

    def pairs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each of these rows and each record of its person: the place of the row, the
        record."""
        many = self.many[rows]
        asking = np.repeat(np.arange(rows.size), many)
        within = np.arange(asking.size) - np.repeat(np.cumsum(many) - many, many)
        return asking, self.records[self.first[rows][asking] + within]


def own_records(pair: Pair) -> OwnRecords | None:
    """All masked records of each original row's person; None where a record is a person. Who has
    no key is somebody else."""
    key = repeated_key(pair.original)
    if key is None:
        return None
    codes = encode(pair.original[key]).codes.astype(np.int64)
    alone = codes == 0
    codes[alone] = codes.max() + 1 + np.arange(int(alone.sum()))
    rows, masked = pair.aligned_rows()
    whose = codes[rows]
    order = np.argsort(whose, kind="stable")
    many = np.bincount(whose, minlength=int(codes.max()) + 1)
    first = np.cumsum(many) - many
    return OwnRecords(key, first[codes], many[codes], masked[order])
