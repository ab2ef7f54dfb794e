"""Reading tables: from a path or a URL to a `Table`, with a note for every decision on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import polars as pl

from ...bounds import Limits
from ...errors import Complaint, InputError, SchemaError
from ..exact import each
from ..schema import Kind, Role, refuse_names
from ..table import DROP, Table, with_others, with_person, wrong_others
from ..table import table as make_table
from .cells.infer import Formats
from .cells.sentinels import EVERY
from .content import MISSING, Asked, Content, read_content, typed_source
from .folders import placed, source_of
from .sets import SetSpec, columns_of, gather, made_columns, make_sets, specs
from .sheets import read_sheet
from .source import SHEETS, STAT, TEXT, Endpoint, load, locate
from .stat import Labelled
from .text.csv import headed, parse

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T")


class ReadTable(NamedTuple):
    """A table, what was decided on the way, and the options that say the same."""

    table: Table
    notes: list[str]
    decided: dict[str, Any]
    share: float = 1.0
    """Of the file; less than 1 where it was sampled."""


@dataclass(frozen=True)
class Request:
    """A source, and what the caller says about it."""

    end: Endpoint
    asked: Asked
    sets: list[SetSpec]
    words: _Words
    others: str
    person: str

    def of(self, first: Table) -> Request:
        """The same where kinds and categories are those of a first piece, not guessed again."""
        kinds = {column.name: str(column.kind) for column in first.schema}
        orders: dict[str, Sequence[str]] = {
            c.name: c.categories for c in first.schema if c.categories
        }
        return replace(self, words=replace(self.words, kinds=kinds, categories=orders))

    def only(self, names: Sequence[str]) -> Request:
        """The same about these columns alone, without their roles."""
        kept = set(names)
        words = replace(self.words._only(lambda name: name in kept), posets={}, roles={})
        sets = [spec for spec in self.sets if spec.get("column") in kept]
        means = self.asked.sentinels
        if isinstance(means, Mapping):
            means = {name: said for name, said in means.items() if name in kept or name == EVERY}
        asked = replace(
            self.asked,
            sentinels=means,
            kinds={n: k for n, k in self.asked.kinds.items() if n in kept},
            dates={n: f for n, f in self.asked.dates.items() if n in kept},
        )
        return Request(self.end, asked, sets, words, Role.UNDECIDED, "")

    def made(self, content: Content) -> ReadTable:
        """The table of a source's content."""
        end, listed = self.end, self.sets
        frame, more, worth = gather(content.frame, listed, end.label)
        words = replace(
            self.words,
            kinds={**content.kinds, **self.words.kinds},
            posets=_with(worth, self.words.posets, end),
        )
        now, later = words.apart(made_columns(listed))
        try:
            made = _finish(frame, end, now, content.complaints)
        except SchemaError as error:
            if frame.height != sum(content.heights):
                raise
            told = placed(error.complaints, end.parts, content.heights)
            raise SchemaError(end.label, told) from None
        # Sets that are made of themselves: what stands above their items is said of the same name.
        same = [name for name in made_columns(listed) if name in made.schema]
        same = [name for name in same if made.schema[name].kind == Kind.SET]
        made = _laid_over(made, later.apart(same)[1], end)
        made, said = make_sets(made, listed)
        made = with_person(_named(_laid_over(made, later, end), content.words), self.person)
        if self.others == DROP and (gone := made.schema.of_role(Role.UNDECIDED)):
            said = [*said, f"left out, since nobody named them: {', '.join(gone)}"]
        notes = [*content.notes, *more, *said]
        return ReadTable(with_others(made, self.others), notes, content.decided, content.share)


def asked_for(
    source: Any,
    *,
    kinds: Mapping[str, str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    posets: Mapping[str, Any] | None = None,
    query: str | None = None,
    table: str | None = None,
    key: str | None = None,
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
    limits: Mapping[str, Any] | None = None,
    **roles: str | Sequence[str],
) -> Request:
    """A `Table` from a file or a database; roles are given as lists: `quasi=["age", "zip"]`.

    `read` gives the table alone, `read_with_notes` also every decision taken on the way. `others`
    is the role of every column that is not named, or "drop" to leave these out; without it they
    are undecided, and a table with such a column is not released. `person` is the column that
    tells who a record is about, from one file to the next.

    `source` is a path (.csv .tsv .txt, also .gz; .parquet; .arrow .feather .ipc; .xlsx .xls .ods;
    .sav .por .dta .xpt .sas7bdat; .duckdb; .sqlite .db; .dat with one set per line) or a URL
    (postgresql://HOST/DATABASE, sqlite:///PATH, duckdb:///PATH), with `table` or `query` for a
    database and `sheet` for a workbook of several. A database's table has no order: `key` is the
    column that gives it one. `format` overrules the suffix. A folder of
    Parquet, Arrow or text files with the same columns is one table, in the order of their paths.

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

    `limits` raises the bounds of what is read, which are there for files that are not what they
    seem: `{"unpacked": "8 GiB", "columns": 200_000, "cell": "20 MiB"}`.
    """
    end = source_of(source, format)
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
        sentinels, dict(dates or {}), tuple(columns_of(listed)), sample, key, Limits.of(limits),
    )  # fmt: skip
    asked.check(end)
    listed_roles = {
        role: [given] if isinstance(given, str) else list(given) for role, given in roles.items()
    }
    words = _Words(wanted, dict(categories or {}), dict(posets or {}), listed_roles)
    return Request(end, asked, listed, words, others, person)


def _named(made: Table, words: Mapping[str, Labelled]) -> Table:
    """The table with what its file calls its columns and their codes."""
    known = [name for name in words if name in made.schema]
    return made.with_columns(
        [],
        [made.schema[n].with_(label=words[n].label, labels=words[n].values) for n in known],
    )


def _giving(name: str, part: Callable[[_S], _T], reader: Callable[_P, _S]) -> Callable[_P, _T]:
    """The same reader, its signature written once, that gives something of what it found."""

    @wraps(reader)
    def given(*source: _P.args, **options: _P.kwargs) -> _T:
        return part(reader(*source, **options))

    given.__name__ = given.__qualname__ = name
    return given


read_decided = _giving(
    "read_decided", lambda it: it.made(read_content(it.end, it.asked)), asked_for
)
read_with_notes = _giving("read_with_notes", lambda it: (it.table, it.notes), read_decided)
read = _giving("read", lambda it: it.table, read_decided)


def read_cells(source: Any) -> pl.DataFrame:
    """The cells of a file with a header as they stand: of a text file as texts, whatever they look
    like."""
    end = locate(source, None)
    if end.format in TEXT:
        frame = parse(load(end, Limits()), end.label, header=True, limits=Limits()).frame
    elif end.format in SHEETS:
        frame = headed(read_sheet(end, limits=Limits())[0], True, end.label)[0]
    else:
        frame = typed_source(end, limits=Limits())[0]
    refuse_names(frame.columns, end.label)
    return frame


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
            made.frame.select(each(columns)),
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
