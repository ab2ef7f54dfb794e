"""Reading tables: from a path or a URL to a `Table`, with a note for every decision on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import polars as pl

from ...errors import Complaint, InputError, SchemaError
from ..schema import Kind, Role
from ..table import DROP, Table, with_others, wrong_others
from ..table import table as make_table
from .csv import parse
from .files import read_arrow, read_parquet, settle
from .infer import declare, interpret
from .sets import SetSpec, columns_of, gather, made_columns, make_sets, parse_fimi, specs
from .source import DATABASES, TEXT, Endpoint, load, locate
from .sql import read_duckdb, read_sqlite

MISSING = ("",)
"""What an unquoted cell of a text file holds where it is missing, unless the caller says more."""
_P = ParamSpec("_P")


def read_with_notes(
    source: Any,
    *,
    kinds: Mapping[str, str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    posets: Mapping[str, Any] | None = None,
    query: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    missing: Sequence[str] = MISSING,
    dates: Mapping[str, str] | None = None,
    sets: SetSpec | Sequence[SetSpec] | None = None,
    format: str | None = None,
    others: str = Role.UNDECIDED,
    **roles: str | Sequence[str],
) -> tuple[Table, list[str]]:
    """A `Table` from a file or a database; roles are given as lists: `quasi=["age", "zip"]`.

    `read` gives the table alone, `read_with_notes` also every decision taken on the way. `others`
    is the role of every column that is not named, or "drop" to leave these out; without it they
    are undecided, and a table with such a column is not released.

    `source` is a path (.csv .tsv .txt, also .gz; .parquet; .arrow .feather .ipc; .duckdb; .sqlite
    .db; .dat with one set per line) or a URL (postgresql://HOST/DATABASE, sqlite:///PATH,
    duckdb:///PATH), with `table` or `query` for a database. `format` overrules the suffix.

    Text files: encoding, delimiter, quotes, decimal comma and types are found out from the whole
    file unless given. `kinds` overrules a column's type ("nominal" keeps its text as it is),
    `dates` gives the format of a column of dates (`{"born": "%d/%m/%Y"}`), `missing` lists what
    stands for a missing value, and columns in `categories` are ordinal, in that order. A cell "" in
    quotes is an empty text, not a missing one.

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
        if kind == Kind.SET and name not in described and end.format in TEXT
    ]
    absent = (missing,) if isinstance(missing, str) else tuple(missing)
    text_options: dict[str, Any] = {
        "delimiter": delimiter,
        "decimal": decimal,
        "header": None if header else False,
    }
    text_options["missing"] = None if absent == MISSING else absent
    _check_options(end, {"table": table, "query": query}, text_options, encoding)
    complaints: list[Complaint] = []
    if end.format in TEXT:
        raw, dialect, notes = parse(
            load(end), end.label, delimiter=delimiter, encoding=encoding, header=header
        )
        as_text = dict.fromkeys(columns_of(listed), "nominal")
        reading = interpret(
            raw,
            kinds={**wanted, **as_text},
            missing=absent,
            decimal=_decimal(decimal),
            delimiter=dialect.delimiter,
            formats=dates,
        )
        frame, complaints = reading.frame, reading.complaints
        notes = notes + reading.notes
        wanted = {**reading.kinds, **wanted}
    else:
        frame, notes = _typed_source(end, table, query, encoding)
        frame, more = settle(frame, end.label)
        declared = declare(frame, wanted, dates)
        frame, complaints = declared.frame, declared.complaints
        notes = notes + more + declared.notes
    frame, more, worth = gather(frame, listed, end.label)
    listed_roles = {
        role: [given] if isinstance(given, str) else list(given) for role, given in roles.items()
    }
    words = _Words(wanted, dict(categories or {}), _with(worth, posets, end), listed_roles)
    now, later = words.apart(made_columns(listed))
    made = _finish(frame, end, now, complaints)
    made, said = make_sets(made, listed)
    made = _laid_over(made, later, end)
    if others == DROP and (gone := made.schema.of_role(Role.UNDECIDED)):
        said = [*said, f"left out, since nobody named them: {', '.join(gone)}"]
    return with_others(made, others), notes + more + said


def _without_notes(reader: Callable[_P, tuple[Table, list[str]]]) -> Callable[_P, Table]:
    """The same reader, its signature written once, that gives the table alone."""

    @wraps(reader)
    def read(*source: _P.args, **options: _P.kwargs) -> Table:
        return reader(*source, **options)[0]

    read.__name__ = read.__qualname__ = "read"
    return read


read = _without_notes(read_with_notes)


def read_cells(source: Any) -> pl.DataFrame:
    """The cells of a file as they stand: of a text file as texts, whatever they look like."""
    end = locate(source, None)
    if end.format in TEXT:
        return parse(load(end), end.label)[0]
    return _typed_source(end, None, None, None)[0]


@dataclass(frozen=True)
class _Words:
    """What the caller says about columns, by their names."""

    kinds: dict[str, str]
    categories: dict[str, Sequence[str]]
    posets: dict[str, Any]
    roles: dict[str, list[str]]
    """Columns by role."""

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
    for name, order in words.categories.items():
        if len(set(order)) != len(order):
            complaints.append(Complaint(name, "a category is listed twice", "list each one once"))
    if any(len(set(order)) != len(order) for order in words.categories.values()):
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


def _typed_source(
    end: Endpoint, table: str | None, query: str | None, encoding: str | None
) -> tuple[pl.DataFrame, list[str]]:
    if end.format == "fimi":
        return parse_fimi(load(end), end.label, encoding)
    if end.format == "parquet":
        return read_parquet(end), []
    if end.format == "arrow":
        return read_arrow(end), []
    if end.format == "duckdb":
        return read_duckdb(end, table, query)
    if end.format == "sqlite":
        return read_sqlite(end, table, query)
    from .postgres import read_postgres

    return read_postgres(end, table, query)


def _check_options(
    end: Endpoint, sql: Mapping[str, Any], text: Mapping[str, Any], encoding: str | None
) -> None:
    """An option that the format would ignore is an error, not a wish unheard."""
    idle = [
        name for name, value in sql.items() if value is not None and end.format not in DATABASES
    ]
    idle += [name for name, value in text.items() if value is not None and end.format not in TEXT]
    if encoding is not None and end.format not in (*TEXT, "fimi"):
        idle.append("encoding")
    if idle:
        raise InputError(
            f"{' and '.join(idle)} cannot be used with {end.format} ({end.label})",
            remedy="leave out",
        )


def _decimal(decimal: str | None) -> str | None:
    if decimal not in (None, ".", ","):
        raise InputError(f"{decimal!r} is not a decimal mark", remedy='decimal="." or decimal=","')
    return decimal
