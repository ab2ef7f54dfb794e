"""Set-valued columns made of others: of categories, with their ancestors, or of some items of
another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from ...errors import Complaint, SchemaError, suggest
from ...poset.sets.items import Items
from ...poset.trees.bins import Bins
from ...poset.values.text import text
from ..codec import code, floats
from ..exact import each
from ..schema import NUMERIC, Column, Kind, Role, Schema, missing_column
from ..table import Table
from .items import items_above

_MOST_BINS = 100_000
_BLOCK = 1 << 20
"""Records that are split in one go."""
Width = float | Mapping[str, float] | None


def enumerate_sets(
    table: Table,
    columns: Sequence[str],
    *,
    into: str = "attributes",
    hierarchies: bool = True,
    width: Width = None,
    role: str | None = None,
) -> Table:
    """A copy in which one set-valued column holds what the listed columns said.

    A record's items are its values, as "job=Surgeon"; with `hierarchies` also everything above
    them in the column's tree or partial order, as "job=Doctor", but for the top, unless some record
    holds it. Numbers and dates become the bins of their poset, or of a `width` (one for all, or one
    for each: `{"age": 5}`). A missing value is no item. The column stands where the first of them
    stood, with their role. A column that holds sets already stands alone: its items are joined by
    what stands above them in its poset.

    >>> from sfumato.data.table import table
    >>> made = table({"job": ["Nurse", None], "age": [37, 41]}, quasi=["job", "age"])
    >>> found = enumerate_sets(made, ["job", "age"], width=5)
    >>> found["attributes"].to_list(), found.schema.quasi
    ([['age=[35, 39]', 'job=Nurse'], ['age=[40, 44]']], ['attributes'])
    """
    listed = list(dict.fromkeys([columns] if isinstance(columns, str) else columns))
    complaints = [missing_column(name, table.names) for name in listed if name not in table.schema]
    if not listed:
        complaints.append(Complaint(into, "is made of no columns", "list at least one"))
    if into in table.schema and into not in listed:
        complaints.append(Complaint(into, "is there already", "into = another name"))
    if not complaints and len(listed) == 1 and table.schema[listed[0]].kind == Kind.SET:
        return _with_ancestors(table, table.schema[listed[0]], into, role)
    stray = [name for name in width if name not in listed] if isinstance(width, Mapping) else []
    complaints += [Complaint(name, "has a width and is not listed", "list it") for name in stray]
    parts: list[_Part] = []
    for name in listed if not complaints else ():
        try:
            parts.append(_part(table, table.schema[name], hierarchies, width))
        except SchemaError as error:
            complaints += error.complaints
    if complaints:
        raise SchemaError("the table", complaints)
    _check_apart(listed, parts)
    lists = _joined(parts, into)
    chosen = Role(role) if role is not None else _role(table.schema, listed)
    above = {item: up for part in parts for item, up in part.above.items()}
    poset = Items(parents=above) if above else None
    return _replaced(table, listed, lists, Column(into, Kind.SET, chosen, poset=poset))


def _with_ancestors(table: Table, column: Column, into: str, role: str | None) -> Table:
    """Sets with everything that stands above their items."""
    above = items_above(column)
    if not above or column.generalized:
        raise _complaint(
            column.name,
            "holds sets already, and nothing stands above their items",
            'poset = { kind = "items", hierarchy = "..." }, or leave it out of `columns`',
        )
    lists = table[column.name]
    items = lists.explode().drop_nulls().unique()
    lines = [_line(text(item), above) for item in items.to_list()]
    line = pl.DataFrame({"item": items, "line": pl.Series(lines, dtype=pl.List(pl.String))})
    flat = pl.DataFrame({"at": np.arange(len(lists)), "item": lists}).explode("item")
    held = flat.drop_nulls().join(line, on="item").explode("line")
    found = held.group_by("at").agg(pl.col("line").unique().sort())
    whole = pl.DataFrame({"at": np.arange(len(lists)), "gone": lists.is_null()})
    whole = whole.join(found, on="at", how="left", maintain_order="left")
    none = pl.lit([], dtype=pl.List(pl.String))
    shown = whole.select(
        pl.when("gone").then(None).otherwise(pl.col("line").fill_null(none)).alias(into)
    ).to_series()
    made = Column(into, Kind.SET, column.role if role is None else Role(role), poset=column.poset)
    return _replaced(table, [column.name], shown, made)


def _line(item: str, above: Mapping[str, str]) -> list[str]:
    """An item and what stands above it."""
    found = [item]
    while found[-1] in above:
        found.append(above[found[-1]])
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """One column: each record's code, and the items that each code stands for."""

    codes: np.ndarray
    items: list[list[str]]
    """By code; the first is that of a missing value, and empty."""
    tree: bool = False
    """Whether each item stands below the next; in a partial order several may stand above one."""

    @property
    def above(self) -> dict[str, str]:
        """Each item's next above it."""
        lines = self.items if self.tree else ()
        return {item: up for listed in lines for item, up in pairwise(listed)}


def _part(table: Table, column: Column, hierarchies: bool, width: Width) -> _Part:
    name = column.name
    if column.kind == Kind.SET and not column.generalized:
        raise _complaint(name, "holds sets already", "leave it out of `columns`")
    wide = width.get(name) if isinstance(width, Mapping) else width
    numeric = column.kind in NUMERIC and not column.generalized
    step = None if column.poset is None else column.poset.interval_step
    if numeric and (wide is not None or step is not None):
        column = column.with_(poset=_bins(table, column, wide))
        table = table.with_schema(table.schema.with_column(column))
    coded = code(table, name)
    above = coded.structure.above
    if above is not None:
        binned = (numeric or column.kind == Kind.DATE) and not column.generalized
        labels = [above(number) for number in range(1, coded.poset.positions.size)]
        items = _items(name, labels, hierarchies=hierarchies, binned=binned)
        return _Part(coded.codes, items, tree=coded.structure.tree is not None)
    if numeric or (column.kind == Kind.DATE and not column.generalized):
        raise _complaint(
            name,
            f"is {column.kind}, and each value of its own would be an item",
            f'width = {{ {name} = 5 }}, or poset = {{ kind = "bins", edges = [...] }}',
        )
    if hierarchies and not (column.poset is None or column.poset.categories):
        raise _complaint(
            name,
            f"has the poset {column.poset.name}, which has no groups of categories",
            'hierarchies = false, or poset = { kind = "hierarchy", path = "..." }',
        )
    domain = coded.poset.labels(*[np.arange(1, coded.poset.positions.size)] * 2)
    return _Part(coded.codes, [[], *([f"{name}={value}"] for value in domain)])


def _bins(table: Table, column: Column, wide: Any) -> Bins:
    """The bins of one width that hold every value."""
    given = "width"
    if wide is None:
        wide, given = column.poset and column.poset.interval_step, "round_to"
    if isinstance(wide, bool) or not isinstance(wide, int | float) or not 0 < wide < math.inf:
        remedy = f"width = {{ {column.name} = 5 }}, or a poset of bins"
        raise _complaint(column.name, f"needs bins, and {given} = {wide!r} is no width", remedy)
    values = floats(table[column.name], column)
    values = values[np.isfinite(values)]
    first = math.floor(values.min() / wide) if values.size else 0
    last = math.floor(values.max() / wide) + 1 if values.size else 1
    if last - first > _MOST_BINS:
        what = f"has {last - first:,} bins of width {wide:g}"
        raise _complaint(column.name, what, "take a larger width")
    whole = float(wide).is_integer()
    # A multiple of the width each, not a running sum, which would drift.
    edges = [int(i * wide) if whole else i * wide for i in range(first, last + 1)]
    return Bins(edges=(tuple(edges),))


def _items(
    name: str, labels: Sequence[Sequence[str]], *, hierarchies: bool, binned: bool
) -> list[list[str]]:
    """The items of each code: a value and what is above it."""
    found: list[list[str]] = [[]]
    for own in labels:
        # A bin that holds one value only is that value.
        kept = own[1:] if binned and len(own) > 1 else own
        found.append([f"{name}={label}" for label in (kept if hierarchies else kept[:1])])
    return found


def _check_apart(listed: Sequence[str], parts: Sequence[_Part]) -> None:
    """Items begin with their column, so that they differ, unless its name goes on like a value."""
    owner: dict[str, str] = {}
    for name, part in zip(listed, parts, strict=True):
        for item in {item for own in part.items for item in own}:
            if owner.setdefault(item, name) != name:
                what = f"gives the item {item!r}, and so does {owner[item]!r}"
                raise _complaint(name, what, "rename one of the two columns")


def _joined(parts: Sequence[_Part], name: str) -> pl.Series:
    """The records' sets."""
    lists = []
    for j, part in enumerate(parts):
        of_code = pl.Series(f"{j}", part.items, dtype=pl.List(pl.String))
        lists.append(of_code.gather(pl.Series(part.codes).cast(pl.UInt32)))
    return pl.DataFrame(lists).select(pl.concat_list(pl.all()).list.sort().alias(name)).to_series()


def _role(schema: Schema, listed: Sequence[str]) -> Role:
    roles = {schema[name].role for name in listed}
    if len(roles) == 1:
        return roles.pop()
    # Whoever knows one of several columns knows something of the set.
    return Role.QUASI if Role.QUASI in roles else Role.UNDECIDED


def _replaced(table: Table, gone: Sequence[str], lists: pl.Series, column: Column) -> Table:
    """The table with one new column where the first of those that go stood."""
    first = min(table.names.index(name) for name in gone)
    rest = [name for name in table.names if name not in gone]
    before = sum(name not in gone for name in table.names[:first])
    order = [*rest[:before], column.name, *rest[before:]]
    kept = table.with_columns([lists], [column])
    marks = {name: mask for name, mask in kept.marks.items() if name != column.name}
    return Table(kept.frame.select(each(order)), kept.schema.only(order), marks, kept._origin)


def split_items(
    table: Table,
    column: str,
    items: Sequence[str],
    *,
    into: str,
    role: str = Role.CONFIDENTIAL,
) -> Table:
    """A copy in which some items leave a set-valued column and form another.

    Where the set is missing, both are. An item that no record has is refused: it would most likely
    be misspelt, and stay.

    >>> from sfumato.data.table import table
    >>> made = table({"buys": [["tea", "hiv test"], ["tea"], None]}, quasi=["buys"])
    >>> found = split_items(made, "buys", ["hiv test"], into="conditions")
    >>> found["buys"].to_list(), found["conditions"].to_list(), found.schema.confidential
    ([['tea'], ['tea'], None], [['hiv test'], [], None], ['conditions'])
    """
    before, series = table.schema[column], table[column]
    if into in table.schema:
        raise _complaint(into, "is there already", "into = another name")
    if not isinstance(series.dtype, pl.List):
        raise _complaint(column, f"holds {series.dtype}, not sets", "name a set-valued column")
    parts = [part.slice(at, _BLOCK) for part in series.get_chunks()
             for at in range(0, len(part), _BLOCK)]  # fmt: skip
    found = [_items_of(part).unique() for part in parts]
    domain = pl.concat(found).unique().drop_nulls() if found else _items_of(series)
    value_of = {text(value): value for value in domain.to_list()}
    wanted = [text(item) for item in ([items] if isinstance(items, str) else items)]
    stray = [item for item in wanted if item not in value_of]
    if stray or not wanted:
        close = suggest(stray[0], value_of) if stray and len(value_of) <= 20_000 else []
        what = f"no set holds the item {stray[0]!r}" if stray else "no sensitive items are named"
        remedy = f"did you mean {close[0]!r}?" if close else "leave it out, or mend it"
        raise _complaint(column, what, remedy)
    chosen = pl.Series([value_of[item] for item in wanted], dtype=series.dtype.inner)
    halves = [_halves(part, chosen) for part in parts]
    worth = before.poset is not None and before.poset.utilities_of(()) is not None
    new = Column(into, Kind.SET, Role(role), poset=before.poset if worth else None)
    rest, apart = (pl.concat([half[side] for half in halves]) for side in (0, 1))
    return table.with_columns([rest.alias(column), apart.alias(into)], [before, new])


def _items_of(lists: pl.Series) -> pl.Series:
    return lists.filter(lists.list.len() > 0).explode()


def _halves(lists: pl.Series, chosen: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The lists without the chosen items, and with only those."""
    ends = np.cumsum(lists.list.len().fill_null(0).to_numpy(), dtype=np.int64)
    flat = _items_of(lists)
    inside = flat.is_in(chosen.implode()).fill_null(False)
    counts = np.concatenate(([0], np.cumsum(inside.to_numpy(), dtype=np.int64)))
    apart = np.concatenate(([0], counts[ends]))
    rest = np.concatenate(([0], ends)) - apart
    gone = lists.is_null()
    return _lists(rest, flat.filter(~inside), gone), _lists(apart, flat.filter(inside), gone)


def _lists(starts: np.ndarray, flat: pl.Series, missing: pl.Series) -> pl.Series:
    import pyarrow as pa

    items = flat.to_arrow(compat_level=pl.CompatLevel.newest())
    gone = missing.to_arrow() if missing.any() else None
    found = pl.Series(pa.LargeListArray.from_arrays(pa.array(starts), items, mask=gone))
    return found.cast(pl.List(flat.dtype))


def _complaint(name: str, what: str, remedy: str) -> SchemaError:
    return SchemaError("the table", [Complaint(name, what, remedy)])
