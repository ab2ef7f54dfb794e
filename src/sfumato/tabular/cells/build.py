"""Cubes from microdata: cells, totals, and the contributors that the rules look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...data.encoding import domain_of
from ...data.schema import Kind
from ...data.table import Table
from ...data.table import table as as_table
from ...engines.relation import Relation, Whole
from ...errors import MethodError, ParameterError
from ...kernels.arrays import Bools, Floats, Ints
from ...kernels.statistics.spanned_sum import Span
from ...rng import Key
from .dimension_tree import Variable, variable
from .linking import Layout, layout, relations_of
from .records import KEY_BITS, Fields, surveyed
from .stated import stated
from .table import ZERO, CellTable, Contributions, cell_name
from .tallying import Cubes, tallied

TOP = 5
"""Contributors kept to a cell."""
_KEY = 2.0**KEY_BITS


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
    "hidden-able". A cell's key is the sum of its records' keys, modulo 1: from `record_key`, or
    drawn for each record's number by a key from `rng`.

    `table` may be a relation: records that an engine holds are added up there.
    """
    data = table if isinstance(table, Relation) else _in_memory(table)
    lists = _lists(dimensions)
    if zeros not in ("published", "hidden-able"):
        raise ParameterError(
            f"zeros are not {zeros!r}", remedy='"published" (as zeros) or "hidden-able"'
        )
    if top < 1:
        raise ParameterError(f"top = {top} contributors", remedy="keep 2 at least for most rules")
    variables, notes = _variables(data, lists, hierarchies or {}, depth or {})
    form = layout(variables, lists)
    drawn = None if rng is None or record_key else Key.drawn(rng)
    fields = Fields(value, weight, holding, request, record_key, drawn)
    known = surveyed(data.fold(fields.columns, fields.survey))
    if known.missing:
        notes.append(f"{value}: a record without a value is counted but adds nothing")
    cubes = Cubes.of(fields, variables, form, top, Span.of(known.extent))
    sums, tops = tallied(data, cubes, form)
    values, amount, who, weights, asked = (
        np.ascontiguousarray(part)
        for part in (sums["value"], *(tops[name] for name in ("amount", "who", "weight", "asked")))
    )
    totals = {name: v.labels[0] for name, v in variables.items()}
    given = stated(form.labels, totals, values, statuses, costs)
    lower, upper = _bounds(known.negative, values, form, bounds, notes)
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
        record_keys=(sums["key"] % np.uint64(_KEY)) / _KEY if record_key or drawn else None,
        keys_drawn=not record_key,
        notes=tuple(notes),
        **_people(data),
    )


def _in_memory(given: Any) -> Whole:
    return Whole(given if isinstance(given, Table) else as_table(given))


def _people(data: Relation) -> dict[str, Any]:
    """Whom the records are about, where a column tells, and how many are nobody's."""
    person = data.schema.person
    if person is None:
        return {}
    if isinstance(data, Whole):
        people = data.table[person]
        return {"people": people, "nameless": people.null_count()}
    # Each once: the ledger knows people and not records.
    counted = data.count_by([person], data.height)
    missing = counted.table[person].is_null().to_numpy()
    return {
        "people": counted.table[person].drop_nulls(),
        "nameless": int(counted.count[missing].sum()),
    }


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
    data: Relation,
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
        counted = data.count_by([name])
        made[name], more = variable(
            name,
            domain_of(counted.table[name], counted.count),
            poset if own else hierarchies[name],
            schema=own,
            depth=depth.get(name),
        )
        notes += more
    return made, notes


def _bounds(
    negative: bool,
    values: Floats,
    form: Layout,
    bounds: tuple[float, float] | None,
    notes: list[str],
) -> tuple[float, float]:
    if bounds is None:
        if not negative:
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
