"""Cubes from microdata: cells, totals, and the contributors that the rules look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.schema import Kind
from ...data.table import Table
from ...data.table import table as as_table
from ...errors import MethodError, ParameterError
from ...kernels.arrays import Bools, Floats, Ints
from ...kernels.tables.tally import Records, Tally, empty_tally, tally
from .dimension_tree import Variable, variable
from .linking import Layout, layout, relations_of
from .stated import stated
from .table import ZERO, CellTable, Contributions, cell_name

TOP = 5
"""Contributors kept to a cell."""
_KEY = 2.0**53


class HideableZeros(CellTable):
    """A table whose empty cells may be hidden like others: only known zeros stay published."""

    @property
    def empty(self) -> Bools:
        """Cells that are zero by the user's word."""
        found: Bools = self.status == ZERO
        return found


def from_microdata(
    table: Any,
    dimensions: Sequence[str] | Sequence[Sequence[str]],
    value: str | None = None,
    *,
    weight: str = "",
    holding: str = "",
    request: str = "",
    hierarchies: Mapping[str, Any] | None = None,
    depth: Mapping[str, int] | None = None,
    bounds: tuple[float, float] | None = None,
    statuses: Any = None,
    costs: Any = None,
    record_key: str = "",
    zeros: Literal["published", "hidden-able"] = "published",
    top: int = TOP,
    rng: np.random.Generator | None = None,
) -> CellTable:
    """The table of sums of `value` (of counts, without it) over these dimensions, with all totals.

    `dimensions` are the columns of one table, or several such lists for linked tables: cells with
    the same codes are one cell, and a dimension that a table lacks is at its total there.

    A dimension's hierarchy is its poset in the schema where that is a tree, or `hierarchies[name]`:
    a poset, a tree, a file, or each value with its ancestors, nearest first ({"Bonn": ["NRW",
    "West"]}). A list of hierarchies makes linked tables that share leaves and total. Codes of a
    hierarchy that no record has are empty cells. `depth[name]` keeps only that many levels below
    the total. The total's code is "Total"; a missing code is "(missing)".

    `weight` multiplies amounts and counts. A contributor is a `holding`, or else a record; its
    amount in a cell is the absolute value of the sum of its records. The `top` largest are kept,
    unweighted, with their weights and `request` codes. A record without a value is counted in
    `frequency` but contributes nothing.

    `bounds` are what everybody knows of a cell beforehand: unless given, it is not negative; or
    nothing at all where some value is negative. `statuses` and `costs` are rows of codes with
    "status", "cost", "up" and "down". Empty cells are published as zeros unless `zeros` is
    "hidden-able". A cell's key is the sum of its records' keys, from `record_key` or drawn from
    `rng`, modulo 1.
    """
    data = table if isinstance(table, Table) else as_table(table)
    lists = _lists(dimensions)
    if zeros not in ("published", "hidden-able"):
        raise ParameterError(
            f"zeros are not {zeros!r}", remedy='"published" (as zeros) or "hidden-able"'
        )
    if top < 1:
        raise ParameterError(f"top = {top} contributors", remedy="keep 2 at least for most rules")
    variables, notes = _variables(data, lists, hierarchies or {}, depth or {})
    form = layout(variables, lists)
    records = _records(data, value, weight, holding, request, _keys(data, record_key, rng))
    if value is not None and np.isnan(records.amount).any():
        notes.append(f"{value}: a record without a value is counted but adds nothing")
    sums, tops = _tallied(records, variables, form, top)
    values, amount, who, weights, asked = (
        np.ascontiguousarray(part)
        for part in (sums["value"], *(tops[name] for name in ("amount", "who", "weight", "asked")))
    )
    totals = {name: v.labels[0] for name, v in variables.items()}
    given = stated(form.labels, totals, values, statuses, costs)
    lower, upper = _bounds(records, values, form, bounds, notes)
    kind = CellTable if zeros == "published" else HideableZeros
    return kind(
        values=values,
        relations=relations_of(form.cubes, form.n),
        labels=form.labels,
        lower=np.where(given.status == ZERO, 0.0, lower),
        upper=np.where(given.status == ZERO, 0.0, upper),
        status=given.status,
        costs=given.costs,
        frequency=sums["frequency"].copy(),
        contributions=Contributions(
            amount,
            who,
            sums["total"].copy(),
            sums["people"].copy(),
            weights if weight else None,
            asked if request else None,
        ),
        needs=given.needs,
        cubes=form.cubes,
        measure="count" if value is None else value,
        summed=value is not None,
        record_keys=(sums["key"] % np.uint64(_KEY)) / _KEY if records.key.size else None,
        keys_drawn=not record_key,
        notes=tuple(notes),
        people=None if data.schema.person is None else data[data.schema.person],
    )


def _lists(dimensions: Sequence[str] | Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """One list of names to each table."""
    if isinstance(dimensions, str):
        dimensions = [dimensions]
    flat = all(isinstance(name, str) for name in dimensions)
    lists = [tuple(dimensions)] if flat else [tuple(one) for one in dimensions]
    if not lists or not all(lists):
        raise ParameterError("a table needs a dimension", remedy='dimensions = ["region"]')
    for names in lists:
        for name in names:
            if not isinstance(name, str):
                raise ParameterError(
                    f"{name!r} is no column's name",
                    remedy="dimensions are names, or lists of names for linked tables",
                )
            if names.count(name) > 1:
                raise ParameterError(f"dimension {name!r} is there twice", remedy="name it once")
    return list(dict.fromkeys(lists))  # type: ignore[arg-type]


def _variables(
    data: Table,
    lists: Sequence[tuple[str, ...]],
    hierarchies: Mapping[str, Any],
    depth: Mapping[str, int],
) -> tuple[dict[str, Variable], list[str]]:
    names = list(dict.fromkeys(name for one in lists for name in one))
    for word, given in (("hierarchies", hierarchies), ("depth", depth)):
        for name in given:
            if name not in names:
                raise ParameterError(
                    f"{word}: {name!r} is no dimension", remedy=f"they are {', '.join(names)}"
                )
    made: dict[str, Variable] = {}
    notes: list[str] = []
    for name in names:
        column = data.schema[name]
        if column.kind == Kind.SET:
            raise MethodError(
                f"dimension {name!r} holds sets, and a record has one code in each dimension",
                remedy="make it a column of single values",
            )
        own = name not in hierarchies
        poset = None if column.generalized else column.poset
        made[name], more = variable(
            data[name], poset if own else hierarchies[name], schema=own, depth=depth.get(name)
        )
        notes += more
    return made, notes


def _numbers(data: Table, name: str, what: str) -> Floats:
    """A column as numbers, NaN where missing."""
    series = data[name]
    unknown = series.null_count() == len(series)
    if not (unknown or series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise MethodError(
            f"{what} {name!r} holds {data.schema[name].kind} values, not numbers",
            remedy="name a column of numbers",
        )
    found = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if np.isinf(found).any():
        row = int(np.flatnonzero(np.isinf(found))[0])
        raise MethodError(
            f"{what} {name!r}, row {row + 1}: it is infinite", remedy="correct it, or leave it out"
        )
    return found


def _records(
    data: Table,
    value: str | None,
    weight: str,
    holding: str,
    request: str,
    key: np.ndarray,
) -> Records:
    n, none = data.height, np.empty(0)
    weights = _numbers(data, weight, "weight") if weight else none
    if weights.size and not (weights >= 0).all():
        row = int(np.flatnonzero(~(weights >= 0))[0])
        what = "is missing" if np.isnan(weights[row]) else f"is {weights[row]:g}"
        raise MethodError(
            f"weight {weight!r}, row {row + 1}: it {what}", remedy="give every record 0 or more"
        )
    who = alone = np.arange(n)
    shared = np.empty(0, np.int64)
    if holding:
        codes = encode(data[holding]).codes.astype(np.int64)
        # A record of no holding is a contributor by itself, numbered behind the holdings.
        who = np.where(codes > 0, codes - 1, int(codes.max(initial=0)) + who)
        single = np.bincount(who)[who] == 1
        alone, shared = np.flatnonzero(single), np.flatnonzero(~single)
        shared = shared[np.argsort(who[shared], kind="stable")]
    return Records(
        leaf=np.empty((0, n), np.int32),
        amount=np.ones(n) if value is None else _numbers(data, value, "value"),
        who=who,
        alone=alone,
        shared=shared,
        weight=weights,
        asked=np.nan_to_num(_numbers(data, request, "request")) if request else none,
        key=key,
    )


def _keys(data: Table, name: str, rng: np.random.Generator | None) -> np.ndarray:
    """The records' keys as whole numbers, whose sums are exact in any order."""
    if name:
        keys = _numbers(data, name, "record key")
        wrong = np.flatnonzero(~((keys >= 0) & (keys < 1)))
        if wrong.size:
            raise MethodError(
                f"record key {name!r}, row {wrong[0] + 1}: it is not from 0 up to 1",
                remedy="give every record a key, or leave record_key out and give an rng",
            )
    elif rng is not None:
        keys = rng.random(data.height)
    else:
        return np.empty(0, np.uint64)
    return np.floor(keys * _KEY).astype(np.uint64)


def _tallied(records: Records, variables: Mapping[str, Variable], form: Layout, top: int) -> Tally:
    whole = None if len(form.cubes) == 1 else empty_tally(form.n, top)
    for names, chosen, cube in zip(form.names, form.chosen, form.cubes, strict=True):
        leaf = np.empty((len(names), records.amount.size), np.int32)
        for j, (name, i) in enumerate(zip(names, chosen, strict=True)):
            np.take(variables[name].leaf[i].astype(np.int32), variables[name].codes, out=leaf[j])
        mine = replace(records, leaf=leaf)
        part = tally(mine, [d.parent for d in cube.dimensions], top)
        if whole is None:
            return part
        for target, source in zip(whole, part, strict=True):
            target[cube.cells.ravel()] = source
    assert whole is not None
    return whole


def _bounds(
    records: Records,
    values: Floats,
    form: Layout,
    bounds: tuple[float, float] | None,
    notes: list[str],
) -> tuple[float, float]:
    if bounds is None:
        if not (records.amount < 0).any():
            return 0.0, np.inf
        notes.append("some values are negative, so nothing is taken as known of a cell beforehand")
        return -np.inf, np.inf
    low, high = map(float, bounds)
    outside: Ints = np.flatnonzero(~((values >= low) & (values <= high)))
    if outside.size:
        where = cell_name(form.labels, int(outside[0]))
        raise MethodError(
            f"{where} is {values[outside[0]]:g}, outside of the bounds {low:g} to {high:g}",
            remedy="widen `bounds`, or leave them out",
        )
    return low, high
