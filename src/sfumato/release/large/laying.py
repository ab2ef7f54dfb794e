"""What a plan says of columns, laid over records that are not in memory.

Kinds and roles come from the plan and the types; whether every cell fits its kind is asked of all
records at once, and told with the row as if they were in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ...data.kinds import Misfit, complaint, fit, order_of
from ...data.schema import Column, Kind
from ...data.table import Table
from ...engines.relation import Part, Relation
from ...errors import Complaint, SchemaError
from ..plan.plan import Plan
from ..records.run import with_columns_of

_MOST_CATEGORIES = 10_000


def laid(data: Relation, plan: Plan) -> Relation:
    """The records with the kinds, roles and posets of the plan."""
    before = data.empty
    empty = with_columns_of(_ordered(data, plan), before)
    fitting = Fitting(
        tuple(column for column in empty.schema if _may_change(before, empty, column.name))
    )
    kept = data.only(empty.names)
    if fitting.columns:
        found = kept.fold([c.name for c in fitting.columns], fitting.misfits)
        _complain(fitting.columns, found)
        if any(one.changes for one in found):
            kept = kept.map_parts(fitting)[0]
    return kept.with_schema(empty.schema)


def _ordered(data: Relation, plan: Plan) -> Plan:
    """The plan with the order of categories that numbers have by themselves."""
    columns = dict(plan.columns)
    complaints = []
    for name, planned in plan.columns.items():
        if planned.kind != Kind.ORDINAL or planned.categories or name not in data.schema:
            continue
        if data.schema[name].categories:
            continue
        values = data.count_by([name], _MOST_CATEGORIES).table[name]
        try:
            columns[name] = replace(planned, categories=order_of(values, Kind.ORDINAL, ()))
        except Misfit as misfit:
            complaints.append(complaint(name, misfit))
    if complaints:
        raise SchemaError("the table", complaints)
    return plan.with_(columns=columns)


def _may_change(before: Table, after: Table, name: str) -> bool:
    """Whether a column is stored otherwise than it came, or may hold what is no number."""
    dtype = after[name].dtype
    return bool(dtype.is_float()) or before[name].dtype != dtype


@dataclass(frozen=True)
class Found:
    """What a part says of its columns."""

    changes: bool
    misfits: tuple[tuple[str, int, str, str], ...] = ()
    """Column, number of the record (-1: of none), what is wrong, and its remedy."""


@dataclass(frozen=True)
class Fitting:
    """Stores columns as their kinds ask."""

    columns: tuple[Column, ...]

    def __call__(self, part: Table, numbers: np.ndarray) -> Part:
        series = [fit(part[c.name], c.kind, c.categories) for c in self.columns]
        return Part(part.with_columns(series, self.columns))

    def misfits(self, part: Table, numbers: np.ndarray) -> Found:
        """The first cell of each column that does not fit."""
        order = np.argsort(numbers, kind="stable")
        part, wrong, changes = part.take(order), [], False
        for column in self.columns:
            series = part[column.name]
            try:
                made = fit(series, column.kind, column.categories)
            except Misfit as misfit:
                number = -1 if misfit.row is None else int(numbers[order[misfit.row]])
                wrong.append((column.name, number, misfit.cell, misfit.remedy))
                continue
            changes |= made.dtype != series.dtype or made.null_count() != series.null_count()
        return Found(changes, tuple(wrong))


def _complain(columns: Iterable[Column], found: Iterable[Found]) -> None:
    """Raise what is wrong, of each column the first cell."""
    wrong = sorted(one for part in found for one in part.misfits)
    first = {name: (number, what, remedy) for name, number, what, remedy in reversed(wrong)}
    complaints = []
    for column in columns:
        if column.name in first:
            number, what, remedy = first[column.name]
            said = what if number < 0 else f"row {number + 1:,} {what}"
            complaints.append(Complaint(column.name, said, remedy))
    if complaints:
        raise SchemaError("the table", complaints)
