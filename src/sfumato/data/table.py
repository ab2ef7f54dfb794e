"""`Table`: an immutable table of records with its schema.

Inside is a Polars frame. Anything that speaks the Arrow C stream protocol comes in, and
`to_frame` gives back the kind that came.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ..errors import Complaint, InputError, SchemaError, SfumatoError, suggest
from ..protocols import PosetSource
from ..registry import find
from ..texts import one_line, printable
from .exact import each
from .kinds import Misfit, complaint, fit, kind_of, lists_of, order_of
from .ordered import from_arrow, from_pandas
from .schema import SUPPRESSED, Column, Kind, Role, Schema, missing_column, refuse_names
from .sets.flat_lists import canonical

_ROLE_WORDS = tuple(role.value for role in Role)
DROP = "drop"
"""What leaves out the columns that nobody named, where others are given a role."""


class Table:
    """Records with a schema. Every change makes a new table.

    `suppressed` holds, for columns that keep their values, which nulls were put there by a method;
    a missing value is not a suppressed one.

    >>> t = table({"age": [31, 40], "sex": ["f", "m"], "pay": [1.5, 2.0]}, quasi=["age", "sex"])
    >>> t.height, t.schema.quasi, str(t.schema["pay"].kind)
    (2, ['age', 'sex'], 'continuous')
    """

    __slots__ = ("_frame", "_origin", "_schema", "_suppressed")

    def __init__(
        self,
        frame: pl.DataFrame,
        schema: Schema,
        suppressed: Mapping[str, np.ndarray] | None = None,
        origin: str = "polars",
    ) -> None:
        if frame.columns != schema.names:
            raise SchemaError(
                "the table", [Complaint("", "the schema does not list the frame's columns")]
            )
        self._frame = frame
        self._schema = schema
        self._suppressed = {n: m for n, m in (suppressed or {}).items() if n in schema and m.any()}
        self._origin = origin

    @property
    def frame(self) -> pl.DataFrame:
        """The records as a Polars frame (which is itself immutable in use)."""
        return self._frame

    @property
    def schema(self) -> Schema:
        """Kinds, roles and posets of the columns."""
        return self._schema

    @property
    def height(self) -> int:
        """Number of records."""
        return self._frame.height

    def __len__(self) -> int:
        return self._frame.height

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return self._schema.names

    def __getitem__(self, name: str) -> pl.Series:
        return self._frame.get_column(self._schema[name].name)

    @property
    def marks(self) -> Mapping[str, np.ndarray]:
        """Which cells were suppressed, of the columns that keep their values and have some."""
        return self._suppressed

    def suppressed(self, name: str) -> np.ndarray:
        """Which cells of a column were suppressed by a method."""
        mask = self._suppressed.get(name)
        if self._schema[name].generalized:
            labels = (self._frame.get_column(name).cast(pl.String) == SUPPRESSED).fill_null(False)
            return labels.to_numpy() if mask is None else labels.to_numpy() | mask
        return np.zeros(self.height, dtype=bool) if mask is None else mask

    def missing(self, name: str) -> np.ndarray:
        """Which cells of a column were missing to begin with."""
        nulls = self._frame.get_column(name).is_null().to_numpy()
        return nulls & ~self._suppressed.get(name, np.False_)

    def with_columns(
        self,
        series: Iterable[pl.Series],
        columns: Iterable[Column] = (),
        suppressed: Mapping[str, np.ndarray] | None = None,
    ) -> Table:
        """A copy with some columns replaced, with their new schema entries if those change."""
        series = list(series)
        frame = self._frame.with_columns(*series) if series else self._frame
        schema = self._schema.with_columns(columns)
        new = [name for name in frame.columns if name not in schema]
        schema = schema.with_columns(Column(name, kind_of(frame.get_column(name))) for name in new)
        marks = dict(self._suppressed)
        for one in series:
            if one.name in marks:
                # What was suppressed stays so only where it was not given a value again.
                marks[one.name] = marks[one.name] & one.is_null().to_numpy()
        marks |= suppressed or {}
        return Table(frame, schema.only(frame.columns), marks, self._origin)

    def without(self, names: Sequence[str]) -> Table:
        """A copy without some columns."""
        kept = [name for name in self.names if name not in set(names)]
        return Table(
            self._frame.select(each(kept)), self._schema.only(kept), self._suppressed, self._origin
        )

    def take(self, rows: np.ndarray) -> Table:
        """A copy with these rows, in this order."""
        marks = {name: mask[rows] for name, mask in self._suppressed.items()}
        index = pl.Series(
            np.ascontiguousarray(rows, dtype=np.uint32 if self.height < 2**32 else np.uint64)
        )
        return Table(self._frame[index], self._schema, marks, self._origin)

    def with_schema(self, schema: Schema) -> Table:
        """A copy with other roles, kinds or posets."""
        return Table(self._frame, schema, self._suppressed, self._origin)

    def to_frame(self) -> Any:
        """The data as the kind of object that came in: pandas, pyarrow, duckdb or polars."""
        if self._origin == "pandas":
            return self._frame.to_pandas()
        if self._origin == "pyarrow":
            return self._frame.to_arrow()
        if self._origin == "duckdb":
            import duckdb

            return duckdb.from_arrow(self._frame.to_arrow())
        return self._frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        roles = "; ".join(
            f"{role}: {one_line(', '.join(names))}"
            for role in Role
            if (names := self._schema.of_role(role))
        )
        return f"Table({self.height:,} records x {len(self._schema)} columns; {roles})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the roles and kinds above the first records."""
        head = "".join(
            f"<th>{_escape(c.name)}<br><small>{c.kind}<br>{c.role}</small></th>"
            for c in self._schema
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{_escape('' if v is None else v)}</td>" for v in row) + "</tr>"
            for row in self._frame.head(8).iter_rows()
        )
        return (
            f"<p><b>Table</b>: {self.height:,} records, {len(self._schema)} columns</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def _escape(value: object) -> str:
    import html

    return html.escape(printable(str(value)))


def as_frame(source: Any) -> tuple[pl.DataFrame, str]:
    """A Polars frame from anything tabular, and the kind of object it was."""
    frame, origin = _as_frame(source)
    refuse_names(frame.columns)
    return frame, origin


def _as_frame(source: Any) -> tuple[pl.DataFrame, str]:
    if isinstance(source, Table):
        return source.frame, source._origin
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        objects = [name for name, dtype in source.schema.items() if dtype == pl.Object]
        sets = _python_sets(source, objects)
        series = [pl.Series(name, lists, strict=False) for name, lists in sets.items()]
        return source.with_columns(series), "polars"
    package = type(source).__module__.partition(".")[0].lstrip("_")
    try:
        if package == "pandas":
            if hasattr(source, "columns"):
                objects = [name for name in source.columns if str(source.dtypes[name]) == "object"]
                sets = _python_sets(source, objects)
                source = source.copy(deep=False) if sets else source
                for name, lists in sets.items():
                    source[name] = lists
            return from_pandas(source), "pandas"
        if package == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
            return from_arrow(_stream(source)), package
        if isinstance(source, Mapping):
            objects = [n for n, cells in source.items() if isinstance(cells, list | tuple)]
            return pl.DataFrame({**source, **_python_sets(source, objects)}, strict=False), "polars"
    except Exception as error:
        raise InputError(
            f"the {type(source).__name__} cannot be read as a table: {error}"
        ) from error
    raise InputError(
        f"a {type(source).__name__} is not a table",
        remedy="give a pandas, polars, pyarrow or duckdb table, or use sf.read(path)",
    )


def _python_sets(source: Any, names: Iterable[str]) -> dict[str, Any]:
    """The columns among these that hold Python's sets, as sorted lists."""
    found = {name: lists_of(source[name]) for name in names}
    return {name: lists for name, lists in found.items() if lists is not None}


def _stream(source: Any) -> Any:
    import pyarrow as pa

    return source if isinstance(source, pa.Table) else pa.table(source)


def table(
    source: Any,
    *,
    kinds: Mapping[str, str] | None = None,
    posets: Mapping[str, Any] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    others: str = Role.UNDECIDED,
    person: str = "",
    **roles: str | Sequence[str],
) -> Table:
    """A `Table` from any frame, with roles given as lists: `quasi=["age", "zip"]`, `weight="w"`.

    `person` is the column that tells who a record is about, from one table to the next: the only
    identifier unless it is named. `others` is the role of every column that has none, or "drop" to
    leave these out. Without it they are undecided: they can be measured, but a table with such a
    column is not released. Kinds come from the types unless `kinds` says otherwise; every complaint
    is raised at once.

    >>> table({"name": ["A. Moss"], "age": [31]}, quasi="age", others="drop").names
    ['age']
    """
    frame, origin = as_frame(source)
    unknown = [word for word in roles if word not in _ROLE_WORDS]
    complaints = [
        Complaint(word, "there is no such role", f"the roles are {', '.join(_ROLE_WORDS)}")
        for word in unknown
    ]
    role_of: dict[str, Role] = {}
    for word, given in roles.items():
        for name in [given] if isinstance(given, str) else given:
            if name in role_of and word not in unknown and role_of[name] != word:
                complaints.append(
                    Complaint(name, f"is both {role_of[name]} and {word}", "give it one role")
                )
            elif word not in unknown:
                role_of[name] = Role(word)
    if others != DROP and others not in _ROLE_WORDS:
        complaints.append(wrong_others(others))
    made, more = fitted(frame, role_of, kinds or {}, posets or {}, categories or {}, origin)
    if made is None or complaints:
        raise SchemaError("the table", [*complaints, *more])
    return with_others(with_person(made, person), others)


def wrong_others(given: str) -> Complaint:
    """The complaint about an unknown word for the columns that nobody named."""
    close = suggest(given, (DROP, *_ROLE_WORDS))
    remedy = f'did you mean "{close[0]}"?' if close else f"{DROP}, {', '.join(_ROLE_WORDS)}"
    return Complaint("others", f"there is no role {given!r}", remedy)


def with_person(given: Table, name: str) -> Table:
    """The table with this column as the one that tells people apart; an identifier, unless it was
    given another role."""
    if not name:
        return given
    if name not in given.schema:
        raise SchemaError("the table", [missing_column(name, given.names)])
    said = [column.with_(person=False) for column in given.schema if column.person]
    own = given.schema[name].with_(person=True)
    if own.role == Role.UNDECIDED:
        own = own.with_(role=Role.IDENTIFIER)
    if own.role not in (Role.IDENTIFIER, Role.HOUSEHOLD):
        wrong = f"it tells people apart and has the role {own.role.value}"
        remedy = 'role = "identifier": what is published cannot tell who is who'
        raise SchemaError("the table", [Complaint(name, wrong, remedy)])
    return given.with_columns([], [*said, own])


def with_others(given: Table, others: str) -> Table:
    """The table with every undecided column in this role, or without them."""
    open_ = given.schema.of_role(Role.UNDECIDED)
    if others == DROP:
        return given.without(open_) if open_ else given
    return given.with_columns([], [given.schema[name].with_(role=Role(others)) for name in open_])


def _poset(given: Any) -> PosetSource | None:
    """A poset as a source, or in the words of a plan: `{"kind": "prefix", "lengths": [5, 3]}`."""
    if given is None or isinstance(given, PosetSource):
        return given
    if not isinstance(given, Mapping) or "kind" not in given:
        raise SfumatoError(
            f"{given!r} is not a poset", remedy='{"kind": "prefix", "lengths": [5, 3]}, for example'
        )
    words = {key: value for key, value in given.items() if key != "kind"}
    found: PosetSource | None = find(str(given["kind"]), "poset").load().build(words)
    return found


def fitted(
    frame: pl.DataFrame,
    roles: Mapping[str, str],
    kinds: Mapping[str, str],
    posets: Mapping[str, Any],
    categories: Mapping[str, Sequence[str]],
    origin: str = "polars",
) -> tuple[Table | None, list[Complaint]]:
    """The table that these words describe, or everything that is wrong with them."""
    complaints = [
        missing_column(name, frame.columns)
        for name in dict.fromkeys([*roles, *kinds, *posets, *categories])
        if name not in frame.columns
    ]
    columns, stored = [], []
    for name in frame.columns:
        series = frame.get_column(name)
        try:
            kind = Kind(kinds[name]) if name in kinds else kind_of(series)
        except ValueError:
            listed = ", ".join(k.value for k in Kind)
            complaints.append(
                Complaint(name, f"there is no kind {kinds[name]!r}", f"the kinds are {listed}")
            )
            continue
        try:
            order = order_of(series, kind, tuple(map(str, categories.get(name, ()))))
            stored.append(fit(series, kind, order))
        except Misfit as misfit:
            complaints.append(complaint(name, misfit))
            continue
        try:
            poset = _poset(posets.get(name))
        except SfumatoError as error:
            complaints.append(Complaint(name, error.message, error.remedy))
            continue
        role = Role(roles.get(name, Role.UNDECIDED))
        columns.append(Column(name, kind, role, order, poset))
    if complaints:
        return None, complaints
    return Table(frame.with_columns(*stored), Schema(columns), origin=origin), []


def as_published(given: Table, used: Mapping[str, Sequence[str]] | None = None) -> Table:
    """The table in the one form that is written: nothing but its values tells records apart.

    Sets are sorted and zeros lose their sign where classes are counted, and categories that no
    record holds any more are forgotten: a typed file would carry them. Of a part of the records,
    `used` are the categories that the whole holds.
    """
    changed, columns = [], []
    for column in given.schema:
        series = given.frame.get_column(column.name)
        if isinstance(series.dtype, pl.Enum | pl.Categorical):
            kept = _used_categories(series, None if used is None else used[column.name])
            changed.append(kept)
            if column.categories:
                names = tuple(kept.dtype.categories.to_list())  # type: ignore[attr-defined]
                columns.append(column.with_(categories=names))
        elif isinstance(series.dtype, pl.List):
            named = isinstance(series.dtype.inner, pl.Enum | pl.Categorical)
            plain = series.cast(pl.List(pl.String)) if named else series
            changed.append(canonical(plain) if column.role == Role.QUASI else plain)
        elif column.role == Role.QUASI and series.dtype.is_float():
            unsigned = pl.Series([0.0], dtype=series.dtype)
            changed.append(series.zip_with((series != 0).fill_null(True), unsigned))
    return given.with_columns(changed, columns)


def _used_categories(series: pl.Series, kept: Sequence[str] | None = None) -> pl.Series:
    """The column as an Enum of the categories that occur, or that are told, in their order."""
    if isinstance(series.dtype, pl.Categorical):
        found = series.drop_nulls().cast(pl.String).unique().sort() if kept is None else kept
        series = series.cast(pl.String).cast(pl.Enum(found))
    assert isinstance(series.dtype, pl.Enum)
    codes = series.to_physical()
    used = codes.drop_nulls().unique().sort()
    if kept is not None:
        used = pl.Series(kept, dtype=series.dtype).to_physical().sort()
    if len(used) == len(series.dtype.categories):
        return series
    names = series.dtype.categories.gather(used)
    # By the codes, never by the texts: ten million labels are ten million strings.
    place = pl.Series([None] * len(series.dtype.categories), dtype=pl.UInt32).scatter(
        used, pl.Series(range(len(used)), dtype=pl.UInt32)
    )
    return pl.Series(names, dtype=pl.Enum(names)).gather(place.gather(codes)).alias(series.name)


def conform(given: Table) -> Table:
    """The table with each column of values stored as its kind asks."""
    stored, complaints = [], []
    for column in given.schema:
        if column.generalized:
            continue
        series = given.frame.get_column(column.name)
        try:
            stored.append(fit(series, column.kind, column.categories))
        except Misfit as misfit:
            complaints.append(complaint(column.name, misfit))
    if complaints:
        raise SchemaError("the table", complaints)
    return given.with_columns(stored)


def kept_with(table: Table, key: Any, of: Any, make: Callable[[], Any]) -> Any:
    """What was made from the table's frame and `of` before, else what `make` makes now.

    It goes when the frame goes.
    """
    frame = table.frame
    number = id(frame)
    known = _kept.get(number)
    if known is None or known[0]() is not frame:
        # A frame may outlive the names of this module, when the interpreter ends.
        def forget(_: Any, kept: dict[int, Any] = _kept) -> None:
            kept.pop(number, None)

        known = (weakref.ref(frame, forget), {})
        _kept[number] = known
    made = known[1].get(key)
    if made is None or made[0] is not of:
        made = known[1][key] = (of, make())
    return made[1]


# By the frame's id, which is its own as long as it lives: frames compare cell by cell.
_kept: dict[int, tuple[weakref.ref[pl.DataFrame], dict[Any, tuple[Any, Any]]]] = {}
