"""The people whom a release may be about: a file, or a table given from Python.

Also what a sample says of its population by itself: sampling weights, or the share that was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

from ...data.io import read
from ...data.schema import Role, Schema
from ...data.table import Table
from ...errors import MeasureError
from ..classes import Grouping
from ..coding import kept_with
from ..coverage.containment import Containment, containment


def _path_or_table(given: Any) -> Any:
    if isinstance(given, Table | str):
        return given
    if isinstance(given, Path):
        return str(given)
    raise ValueError("should be the path of a file, or a table")


People = Annotated[
    Any,
    AfterValidator(_path_or_table),
    PlainSerializer(lambda given: given if isinstance(given, str) else "(a table)"),
    WithJsonSchema({"type": "string"}),
]
"""A file of people, by its path, or a `Table`."""
Share = Annotated[
    float | None, Field(gt=0, le=1, description="share of the population that the table holds")
]


def people_of(given: Any, release: Table, columns: Sequence[str], *, who: str) -> Table:
    """The people with the release's quasi-identifiers, each read as the release declares it."""
    schema = release.schema
    found = _read(given, schema.only(columns)) if isinstance(given, str) else given
    lacking = [name for name in columns if name not in found.schema]
    if lacking:
        raise MeasureError(
            f"{who} has no column {lacking[0]!r}",
            remedy="give it every quasi-identifier of the release",
        )
    if not found.height:
        raise MeasureError(f"{who} has no records", remedy="give another table")
    # A search asks thousands of times for the same people, declared the same way.
    told_by = tuple((found.schema[name], schema[name].poset) for name in columns)
    key = ("people", tuple(columns), tuple((id(own), id(poset)) for own, poset in told_by))

    def declared() -> tuple[Any, Table]:
        kept = found.without([name for name in found.names if name not in set(columns)])
        made = [
            column.with_(role=Role.QUASI, poset=schema[column.name].poset or column.poset)
            for column in kept.schema
        ]
        # Kept with the people, what told of them keeps its id.
        return told_by, kept.with_schema(Schema(made))

    return kept_with(found, key, None, declared)[1]


def _read(path: str, schema: Schema) -> Table:
    changed = Path(path).stat().st_mtime_ns if Path(path).exists() else 0
    kinds = tuple((column.name, str(column.kind)) for column in schema)
    ordered = tuple((column.name, column.categories) for column in schema if column.categories)
    return _read_once(path, changed, kinds, ordered)


@lru_cache(maxsize=4)
def _read_once(path: str, changed: int, kinds: Any, ordered: Any) -> Table:
    """A release is counted several times, and its population is read once."""
    found = read(path)
    known = {name: kind for name, kind in kinds if name in found.schema}
    categories = {
        name: list(dict.fromkeys([*listed, *_texts(found, name)]))
        for name, listed in ordered
        if name in found.schema
    }
    return read(path, kinds=known, categories=categories)


def _texts(found: Table, name: str) -> list[str]:
    """A column's values as text: a release knows the categories that it published, no others."""
    return found[name].cast(pl.String).drop_nulls().unique().sort().to_list()


def covered_people(grouping: Grouping, given: Any, *, who: str) -> tuple[Table, Containment]:
    """The people, and whom of them each class covers by what is, or would be, published for it."""
    shown = grouping.shown
    people = people_of(given, shown, shown.names, who=who)
    return people, containment(people, shown, np.arange(len(grouping)), shown.names)


def weights_of(table: Table) -> tuple[str, np.ndarray] | None:
    """The column of sampling weights and its values; None where no column has that role."""
    named = table.schema.of_role(Role.WEIGHT)
    if not named:
        return None
    if len(named) > 1:
        raise MeasureError(
            f"{len(named)} columns have the role weight: {', '.join(named)}",
            remedy="leave the role to one of them",
        )
    name = named[0]
    series = table[name]
    if table.schema[name].generalized or not series.dtype.is_numeric():
        raise MeasureError(
            f"the weights in column {name!r} are no numbers", remedy="give it no role"
        )
    weight = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    bad = ~(np.isfinite(weight) & (weight > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise MeasureError(
            f"the weight in column {name!r}, row {row + 1}, is {series[row]}: "
            "weights are positive numbers",
            remedy="mend it, or give the column another role",
        )
    return name, weight


def sampling_share(table: Table, given: float | None, asking: str) -> tuple[float, str]:
    """The share of the population that the table holds, and where that is known from."""
    if given is not None:
        return given, "the given sampling share"
    found = weights_of(table)
    if found is None:
        raise MeasureError(
            f"{asking} must know what share of the population the table holds",
            remedy=f"{asking} = {{ share = 0.1, ... }}, or give a column the role weight",
        )
    name, weight = found
    return min(1.0, weight.size / float(weight.sum())), f"the sampling weights in {name}"
