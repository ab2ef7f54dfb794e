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
from ..recognize.agreements import agreements, never_changes
from ..schema import Column, Role
from ..table import Table, kept_with

_OFTEN = 0.9
"""People have several records each where their key has at most so many different values."""
_NEVER = (
    *("address", "household", "coordinate", "date", "date-time", "free-text", "other-person"),
    *("url", "ip-address"),
)
"""What is never a person's own, however often it comes back."""
_SHARED = ("name", "telephone", "fax", "e-mail")
"""What several people may have in common, unless their records agree in other columns too."""
_OWN = ("national-number", "health-number")
"""Numbers of a person, not of a record: where every record has its own, records are people."""
_FIRM = 0.9
"""How far records of one person agree, from chance (0) to always (1), in what does not change."""
_LOOSE = 0.5
"""Below it, records agree too little in what cannot change to be one person's."""
_COLUMNS = 60


def repeated_key(table: Table) -> str | None:
    """The identifier by which people have several records, if there is one; found once a table.

    The column that was named as the person's is taken at its word. Of others, it is looked for.
    Records of one value must agree in what a person does not change (sex, birth), where there is
    such a column: a doctor's records do not, nor those of a first name or a household. Of several
    that are left, a case's and its patient's, the coarsest whose records still agree in half of
    what those of the finest agree in.

    >>> from sfumato.data.table import table
    >>> visits = table({"pid": ["a", "a", "b", "b"], "visit": [1, 2, 3, 4]}, identifier=["pid"])
    >>> repeated_key(visits)
    'pid'
    """
    names = tuple(table.schema.of_role(Role.IDENTIFIER))
    said = tuple(column.name for column in table.schema if column.person)
    key = ("repeated key", names, said, tuple(table.schema.quasi))
    found: str | None = kept_with(table, key, None, lambda: _repeated(table, names))
    return found


def _repeated(table: Table, names: tuple[str, ...]) -> str | None:
    counts = {}
    for name in names:
        values = table[name].drop_nulls()
        if not values.dtype.is_nested() and len(values) > 1:
            counts[name] = (values.n_unique(), len(values))
    if (said := next((c.name for c in table.schema if c.person), None)) in counts:
        return said if counts[said][0] < counts[said][1] else None
    kinds = recognize(table) if counts else {}
    what = {name: kinds[name].what if name in kinds else "" for name in counts}
    if any(many == rows and what[name] in _OWN for name, (many, rows) in counts.items()):
        return None
    repeating = [
        name
        for name, (many, rows) in counts.items()
        if 1 < many < rows and what[name] not in _NEVER
    ]
    others = [c for c in table.names if not table[c].dtype.is_nested()][:_COLUMNS]
    told: dict[str, set[str]] = {}
    for name in repeating:
        agreement = agreements(table[name], [table[other] for other in others if other != name])
        if any(share < _LOOSE for other, share in agreement.items() if never_changes(other)):
            continue
        alike = {other for other, share in agreement.items() if share >= _FIRM}
        often = counts[name][0] <= _OFTEN * counts[name][1]
        if len(alike) >= _needed(table[name], what[name], often or not agreement):
            told[name] = alike
    if not told:
        return None
    finest = max(told, key=lambda name: counts[name][0])
    if not told[finest]:
        return finest
    people = [name for name in told if 2 * len(told[name] & told[finest]) >= len(told[finest])]
    return min(people, key=lambda name: counts[name][0])


def _needed(series: pl.Series, what: str, often: bool) -> int:
    """In how many columns the records of one value must agree to be one person's."""
    # A column of codes may be called "patient".
    coded = series.drop_nulls().head(100).cast(pl.String).str.contains(r"\d")
    if what in _SHARED and (what != "name" or not coded.all()):
        return 2
    # A number that nearly all records have for themselves may come back by mistake.
    return 0 if often else 1


COUNTED = "different people are counted, whatever their records"
"""What a figure says that counts people, where they have several records."""


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


def people_hidden(pair: Pair) -> bool:
    """Whether a figure that counts people would tell which records are one person's: that is known
    of the original, and not published."""
    known = pair.rows is not None and repeated_key(pair.original) is not None
    return known and repeated_key(pair.masked) is None


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
