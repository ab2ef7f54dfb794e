"""What the columns of a table are (kinds) and what they mean for disclosure (roles)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..errors import Complaint, SchemaError, suggest
from ..poset.values.text import SUPPRESSED as SUPPRESSED  # how a suppressed value is published
from ..protocols import Poset, PosetSource
from ..texts import one_line

if TYPE_CHECKING:
    from .domain import Domain


class Kind(StrEnum):
    """What the values of a column are."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"
    BOOLEAN = "boolean"
    DATE = "date"
    SET = "set"
    TEXT = "text"


NUMERIC = (Kind.CONTINUOUS, Kind.INTEGER)
MEASURED = (Kind.CONTINUOUS, Kind.INTEGER, Kind.DATE)
ORDERED = (Kind.CONTINUOUS, Kind.INTEGER, Kind.ORDINAL, Kind.DATE)
CATEGORICAL = (Kind.ORDINAL, Kind.NOMINAL, Kind.BOOLEAN, Kind.TEXT)


class Role(StrEnum):
    """What a column means for disclosure."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    CONFIDENTIAL = "confidential"
    TARGET = "target"
    WEIGHT = "weight"
    HOUSEHOLD = "household"
    INSENSITIVE = "insensitive"
    UNDECIDED = "undecided"
    """Nobody said what it is. It is measured, but never published."""


SET_ASIDE = (Role.IDENTIFIER, Role.HOUSEHOLD, Role.WEIGHT)
"""Roles whose columns carry no statistics of their own."""


@dataclass(frozen=True)
class Column:
    """One column: its kind and role, the order of its categories, and how it generalizes.

    `generalized` marks a masked column that holds labels ("[20, 29]", "{a, b}", "*") instead of
    values.
    """

    name: str
    kind: Kind
    role: Role = Role.UNDECIDED
    categories: tuple[str, ...] = ()
    poset: PosetSource | None = None
    generalized: bool = False
    bound: Poset | None = field(default=None, repr=False, compare=False)
    """The poset that a generalized column's labels came from, for whoever generalizes them more."""
    label: str = ""
    """What the column is called in words, where its file says so."""
    labels: tuple[tuple[float | str, str], ...] = ()
    """Codes of the column's file and what they mean; its cells are the meanings, or the codes where
    some have none."""
    person: bool = False
    """Whether it tells who a record is about, from one file to the next."""
    whole: Domain | None = field(default=None, repr=False, compare=False)
    """What is known of the whole column, where the table is a part of the records."""

    def with_(self, **changes: Any) -> Column:
        """A copy with some attributes changed."""
        return replace(self, **changes)


class Schema(Mapping[str, Column]):
    """The columns of a table, by name and in order. Iterates over `Column` objects.

    >>> schema = Schema([Column("age", Kind.INTEGER, Role.QUASI), Column("pay", Kind.CONTINUOUS)])
    >>> schema.names, schema.of_role("quasi")
    (['age', 'pay'], ['age'])
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        listed = tuple(columns)
        refuse_names([column.name for column in listed])
        self._columns = {column.name: column for column in listed}
        if len(self._columns) != len(listed):
            seen: set[str] = set()
            twice = sorted({c.name for c in listed if c.name in seen or seen.add(c.name)})  # type: ignore[func-returns-value]
            raise SchemaError(
                "the table",
                [Complaint(name, "appears more than once", "rename one of them") for name in twice],
            )

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError:
            raise SchemaError("the table", [missing_column(name, self.names)]) from None

    def __iter__(self) -> Iterator[Column]:  # type: ignore[override]
        return iter(self._columns.values())

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self.names))

    def __repr__(self) -> str:
        inside = ", ".join(f"{one_line(c.name)}: {c.kind} {c.role}" for c in self)
        return f"Schema({inside})"

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self._columns)

    def of_role(self, *roles: str) -> list[str]:
        """Names of the columns that have one of the roles."""
        return [column.name for column in self if column.role in roles]

    @property
    def quasi(self) -> list[str]:
        """Names of the quasi-identifiers."""
        return self.of_role(Role.QUASI)

    @property
    def person(self) -> str | None:
        """The column that tells who a record is about: the one that was named, else the only
        identifier that is no set; None where nobody can say."""
        named = [column.name for column in self if column.person]
        names = self.of_role(Role.IDENTIFIER)
        known = named or [name for name in names if self[name].kind != Kind.SET]
        return known[0] if len(known) == 1 else None

    @property
    def confidential(self) -> list[str]:
        """Names of the confidential columns."""
        return self.of_role(Role.CONFIDENTIAL)

    def with_column(self, column: Column) -> Schema:
        """A copy with one column replaced (same name) or appended."""
        return self.with_columns([column])

    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """A copy with some columns replaced (same names) or appended."""
        return Schema({**self._columns, **{column.name: column for column in columns}}.values())

    def only(self, names: Iterable[str]) -> Schema:
        """A copy with these columns, in this order."""
        return Schema(self[name] for name in names)


def refuse_names(names: Sequence[str], label: str = "the table") -> None:
    """Refuse names that Polars does not keep: from ^ to $ they are patterns, even to its methods of
    one column, and a column without a name is given one.

    >>> refuse_names(["^age", "age$", "*", " "])
    """
    pattern = "a name from ^ to $ would be taken for a pattern, which other columns may fit"
    wrong = {name: pattern for name in names if name.startswith("^") and name.endswith("$")}
    wrong |= {name: "a column has no name" for name in names if not name}
    if wrong:
        raise SchemaError(label, [Complaint(n, what, "rename it") for n, what in wrong.items()])


def missing_column(name: str, known: Iterable[str]) -> Complaint:
    """The complaint about a column that is not there."""
    known = list(known)
    close = suggest(name, known)
    listed = ", ".join(known[:12]) + (" ..." if len(known) > 12 else "")
    remedy = f'did you mean "{close[0]}"?' if close else f"the columns are {listed}"
    return Complaint(name, "there is no such column", remedy)
