"""Reading tables: from a path or a URL to a `Table`, with a note for every decision on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import polars as pl

from ...errors import Complaint, InputError, SchemaError
from ..schema import Kind, Role
from ..table import DROP, Table, with_others, with_person, wrong_others
from ..table import table as make_table
from .cells.infer import Formats
from .content import MISSING, Asked, read_content, typed_source
from .sets import SetSpec, columns_of, gather, made_columns, make_sets, specs
from .sheets import read_sheet
from .source import SHEETS, STAT, TEXT, Endpoint, load, locate
from .stat import Labelled
from .text.csv import headed, parse

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ReadTable(NamedTuple):
    """A table, what was decided on the way, and the options that say the same."""

    table: Table
    notes: list[str]
    decided: dict[str, Any]
    share: float = 1.0
    """Of the file; less than 1 where it was sampled."""


def read_decided(
    source: Any,
    *,
    kinds: Mapping[str, str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    posets: Mapping[str, Any] | None = None,
    query: str | None = None,
    table: str | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header: bool | int | None = None,
    missing: Sequence[str] = MISSING,
    sentinels: Any = None,
    dates: Mapping[str, Formats] | None = None,
    sets: SetSpec | Sequence[SetSpec] | None = None,
    format: str | None = None,
    sample: bool = False,
    others: str = Role.UNDECIDED,
    person: str = "",
    **roles: str | Sequence[str],
) -> ReadTable:
    """A `Table` from a file or a database; roles are given as lists: `quasi=["age", "zip"]`.

    `read` gives the table alone, `read_with_notes` also every decision taken on the way. `others`
    is the role of every column that is not named, or "drop" to leave these out; without it they
    are undecided, and a table with such a column is not released. `person` is the column that
    tells who a record is about, from one file to the next.

    `source` is a path (.csv .tsv .txt, also .gz; .parquet; .arrow .feather .ipc; .xlsx .xls .ods;
    .sav .por .dta .xpt .sas7bdat; .duckdb; .sqlite .db; .dat with one set per line) or a URL
    (postgresql://HOST/DATABASE, sqlite:///PATH, duckdb:///PATH), with `table` or `query` for a
    database and `sheet` for a workbook of several. `format` overrules the suffix.

    Text files: encoding, delimiter, quotes, header, decimal comma, thousands and types are found
    out from the whole file unless given. `kinds` overrules a column's type ("nominal" keeps its
    text as it is), `dates` gives the format of a column of dates (`{"born": "%d/%m/%Y"}`), or
    several that are tried in turn, `missing` lists what stands for a missing value, and columns in
    `categories` are ordinal, in that order. A cell "" in quotes is an empty text, not a missing
    one. A `sample` is of lines spread over a large file.

    `sentinels` are numbers and words that mean missing, in all columns (`[999, "N"]`) or in some
    (`{"income": ["N", 999], "*": [-9]}`). Those that look so are noted and stay.

    SPSS, Stata and SAS: where every value of a column has a label, its cells are the labels; what
    the file declares missing is missing.

    Sets: `sets={"column": "diagnoses", "separator": " "}` cuts cells into items, and
    `sets={"id": "person", "item": "code"}` turns a long table into one record per id, with
    `"utility": "value"` for what an item is worth. `sets={"columns": ["sex", "job"], "into":
    "attributes"}` makes one set of several columns (see `enumerate_sets`), and `sets={"column":
    "buys", "sensitive": ["hiv test"], "into": "conditions"}` moves items to a column of their own.
    A list of such does one after the other.
    """
    end = locate(source, format)
    if others != DROP and others not in set(Role):
        raise SchemaError(end.label, [wrong_others(others)])
    wanted = dict(kinds or {})
    wanted.update({name: "ordinal" for name in categories or {} if name not in wanted})
    wanted.update({name: "date" for name in dates or {} if name not in wanted})
    listed = specs(sets)
    # A column of kind "set" in a text file needs no description: its cells are JSON lists or cut at
    # blanks.
    described = [*columns_of(listed), *made_columns(listed)]
    listed += [
        {"column": name}
        for name, kind in wanted.items()
        if kind == Kind.SET and name not in described and end.format in (*TEXT, *SHEETS, *STAT)
    ]
    absent = (missing,) if isinstance(missing, str) else tuple(missing)
    asked = Asked(
        wanted, table, query, sheet, delimiter, encoding, decimal, thousands, header, absent,
        sentinels, dict(dates or {}), tuple(columns_of(listed)), sample,
    )  # fmt: skip
    asked.check(end)
    content = read_content(end, asked)
    frame, more, worth = gather(content.frame, listed, end.label)
    listed_roles = {
        role: [given] if isinstance(given, str) else list(given) for role, given in roles.items()
    }
    said_of = {**content.kinds, **wanted}
    words = _Words(said_of, dict(categories or {}), _with(worth, posets, end), listed_roles)
    now, later = words.apart(made_columns(listed))
    made = _finish(frame, end, now, content.complaints)
    # Sets that are made of themselves: what stands above their items is said of the same name.
    same = [name for name in made_columns(listed) if name in made.schema]
    same = [name for name in same if made.schema[name].kind == Kind.SET]
    made = _laid_over(made, later.apart(same)[1], end)
    made, said = make_sets(made, listed)
    made = with_person(_named(_laid_over(made, later, end), content.words), person)
    if others == DROP and (gone := made.schema.of_role(Role.UNDECIDED)):
        said = [*said, f"left out, since nobody named them: {', '.join(gone)}"]
    notes = [*content.notes, *more, *said]
    return ReadTable(with_others(made, others), notes, content.decided, content.share)


def _named(made: Table, words: Mapping[str, Labelled]) -> Table:
    """The table with what its file calls its columns and their codes."""
    known = [name for name in words if name in made.schema]
    return made.with_columns(
        [],
        [made.schema[n].with_(label=words[n].label, labels=words[n].values) for n in known],
    )


def _giving(
    name: str, part: Callable[[ReadTable], _T], reader: Callable[_P, ReadTable]
) -> Callable[_P, _T]:
    """The same reader, its signature written once, that gives a part of what it found."""

    @wraps(reader)
    def given(*source: _P.args, **options: _P.kwargs) -> _T:
        return part(reader(*source, **options))

    given.__name__ = given.__qualname__ = name
    return given


read_with_notes = _giving("read_with_notes", lambda it: (it.table, it.notes), read_decided)
read = _giving("read", lambda it: it.table, read_decided)


def read_cells(source: Any) -> pl.DataFrame:
    """The cells of a file with a header as they stand: of a text file as texts, whatever they look
    like."""
    end = locate(source, None)
    if end.format in TEXT:
        return parse(load(end), end.label, header=True).frame
    if end.format in SHEETS:
        return headed(read_sheet(end)[0], True, end.label)[0]
    return typed_source(end)[0]


@dataclass(frozen=True)
class _Words:
    """What the caller says about columns, by their names."""

    kinds: dict[str, str]
    categories: dict[str, Sequence[str]]
    posets: dict[str, Any]
    roles: dict[str, Any]
    """Columns by role, in lists."""

    def apart(self, made: Sequence[str]) -> tuple[_Words, _Words]:
        """What is said about the columns that are read, and about those that are made of them."""
        return self._only(lambda name: name not in made), self._only(lambda name: name in made)

    def _only(self, wanted: Callable[[str], bool]) -> _Words:
        def of(given: dict[str, Any]) -> dict[str, Any]:
            return {name: words for name, words in given.items() if wanted(name)}

        roles = {role: list(filter(wanted, names)) for role, names in self.roles.items()}
        return _Words(of(self.kinds), of(self.categories), of(self.posets), roles)


def _with(
    worth: Mapping[str, Any], posets: Mapping[str, Any] | None, end: Endpoint
) -> dict[str, Any]:
    """The posets given, and those of items whose utilities were read."""
    twice = [name for name in worth if name in (posets or {})]
    if twice:
        what = "its utilities are a column of the table, and it has a poset besides"
        raise SchemaError(end.label, [Complaint(twice[0], what, "give one of them")])
    return {**(posets or {}), **worth}


def _laid_over(made: Table, words: _Words, end: Endpoint) -> Table:
    """The table with what is said about the columns that were made of others."""
    role_of = {name: role for role, names in words.roles.items() for name in names}
    named = [*words.kinds, *words.categories, *words.posets, *role_of]
    if not named:
        return made
    columns = list(dict.fromkeys(named))
    try:
        laid = make_table(
            made.frame.select(columns),
            kinds={**dict.fromkeys(columns, str(Kind.SET)), **words.kinds},
            posets=words.posets,
            categories=words.categories,
            others=Role.UNDECIDED,
            **words.roles,
        )
    except SchemaError as error:
        raise SchemaError(end.label, error.complaints) from None
    return made.with_columns(
        [],
        [
            made.schema[name].with_(
                role=laid.schema[name].role if name in role_of else made.schema[name].role,
                poset=laid.schema[name].poset or made.schema[name].poset,
            )
            for name in columns
        ],
    )


def _finish(
    frame: pl.DataFrame, end: Endpoint, words: _Words, complaints: list[Complaint]
) -> Table:
    """The table, or every complaint about values, kinds and roles at once."""
    if not frame.width:
        raise InputError(f"{end.label} has no columns", remedy="give a table with columns")
    bad = {complaint.where for complaint in complaints}
    sound = {name: kind for name, kind in words.kinds.items() if name not in bad}
    twice = [name for name, order in words.categories.items() if len(set(order)) < len(order)]
    complaints += [
        Complaint(name, "a category is listed twice", "list each one once") for name in twice
    ]
    if twice:
        raise SchemaError(end.label, complaints)
    try:
        made = make_table(
            frame,
            kinds=sound,
            posets=words.posets,
            categories=words.categories,
            others=Role.UNDECIDED,
            **words.roles,
        )
    except SchemaError as error:
        raise SchemaError(end.label, [*complaints, *error.complaints]) from None
    if complaints:
        raise SchemaError(end.label, complaints)
    return made
