"""Tables that come as cells: with their relations, or with codes from which relations follow.

The first is the form of the cell suppression library (cell, value, sensitive, upl, lb, ub and
relation, cell, coef); the second what tau-Argus, sdcTable and others write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...data.exact import each
from ...errors import InputError, ParameterError
from ...kernels.arrays import Bools, Floats, Ints
from ..threats.insiders import same_record
from .cube import CubeShape
from .files import column, frame_of, needed, numbered, numbers, relations_from, texts
from .given_cube import Absent, given_cube
from .relations import Relations
from .stated import status_numbers
from .table import PUBLISH, SAFE, SENSITIVE, ZERO, CellTable, Contributions

TOLERANCE = 1e-9
MARKS = ("x", "*", "**", "***", ":", "c", "s", "(s)", ".", "..", "...", "na", "n/a", "nan")
"""What stands for a hidden number in published tables. Not "-", which often means none."""


def from_cells(
    cells: Any,
    relations: Any = None,
    *,
    dimensions: Sequence[str] = (),
    value: str = "value",
    hierarchies: Mapping[str, Any] | None = None,
    totals: Mapping[str, str] | None = None,
    bounds: tuple[float, float] | None = None,
    measure: str = "",
    tolerance: float = TOLERANCE,
) -> CellTable:
    """A table from its cells and relations, given as frames, files or rows.

    `relations` has the columns relation, cell and coef: coef * value adds up to 0 over each. Its
    cells are those of the column "cell", or row numbers from 0. Without it the relations follow
    from the codes in `dimensions` (all columns before the value, unless given) and `hierarchies`,
    as for `from_microdata`; a code "Total", "*" or none at all is the total, unless `totals` says
    otherwise; a total without a row is added up, another combination without a row holds nothing.

    Other columns that are understood: status (words, or the letters of tau-Argus and sdcTable) or
    sensitive (0 or 1); upl and lpl, or up and down, protection levels, where one alone holds on
    both sides; lb and ub, what everybody knows of the cell beforehand; freq; cost; top1, top2 ...,
    the largest contributions. Levels end at the known bounds.

    Every relation must hold, within `tolerance` of what it adds up.
    """
    read = _read(cells, relations, dimensions, value, hierarchies, totals, "zero")
    missing = np.flatnonzero(np.isnan(read.values[: read.frame.height]))
    if missing.size:
        raise InputError(
            f"cells, row {missing[0] + 1}: it has no value",
            remedy="give every cell's true value, or read a protected table by read_protected",
        )
    values = _summed(read.values, read.relations)
    return _cell_table(read, values, bounds, measure or value, tolerance)


def read_protected(
    cells: Any,
    relations: Any = None,
    *,
    true: str = "",
    absent: Absent = "zero",
    dimensions: Sequence[str] = (),
    value: str = "value",
    hierarchies: Mapping[str, Any] | None = None,
    totals: Mapping[str, str] | None = None,
    bounds: tuple[float, float] | None = None,
    measure: str = "",
    tolerance: float = TOLERANCE,
) -> tuple[CellTable, Bools]:
    """A table that was protected by hiding cells, and which cells are hidden.

    A cell is hidden if it has no value (or a mark such as "x", ":" or "*"), or if its status says
    so (unsafe, primary, secondary); low and high are the ends of an interval that is shown. Its
    true value is taken from the column `true`, or from the value column where that has it all the
    same, and is NaN otherwise. A total without a row was not published, and so is hidden; another
    combination without a row holds nothing, or is hidden too (`absent` = "hidden"). All else is as
    for `from_cells`. Relations between published cells must hold.
    """
    if absent not in ("zero", "hidden"):
        raise ParameterError(f"absent is not {absent!r}", remedy='"zero" or "hidden"')
    read = _read(cells, relations, dimensions, value, hierarchies, totals, absent, MARKS)
    values = read.values.copy()
    hidden = read.hidden | np.isnan(values)
    if true:
        known = numbers(read.frame, needed(read.frame, true, "cells"))
        at = np.flatnonzero(hidden[: known.size])
        values[at] = np.where(np.isnan(known[at]), values[at], known[at])
        values = np.where(hidden, _summed(values, read.relations), values)
    return _cell_table(read, values, bounds, measure or value, tolerance), hidden


@dataclass(frozen=True, eq=False)
class _Read:
    """What was read. Cells that were added come after the rows, without a value."""

    frame: pl.DataFrame
    """The columns that are no codes."""
    values: Floats
    status: Ints
    hidden: Bools
    relations: Relations
    names: list[str] | None
    labels: pl.DataFrame
    cubes: tuple[CubeShape, ...]


def _read(
    cells: Any,
    relations: Any,
    dimensions: Sequence[str],
    value: str,
    hierarchies: Mapping[str, Any] | None,
    totals: Mapping[str, str] | None,
    absent: Absent,
    marks: Sequence[str] = (),
) -> _Read:
    frame = frame_of(cells, "cells")
    needed(frame, value, "cells")
    if not frame.height:
        raise InputError("there are no cells", remedy="give one row to each")
    found = numbers(frame, value, marks)
    names: list[str] | None = None
    cubes: tuple[CubeShape, ...] = ()
    chosen = list(dimensions)
    if relations is not None:
        at, named = numbered(frame)
        made, names = relations_from(relations, at)
        labels = pl.DataFrame({"cell": named}).with_columns(
            pl.Series(needed(frame, n, "cells"), texts(frame[n]), dtype=pl.String) for n in chosen
        )
    else:
        before = frame.columns[: frame.columns.index(value)]
        chosen = chosen or [name for name in before if name != "cell"]
        if not chosen:
            raise InputError(
                "the cells have neither relations nor codes",
                remedy="give `relations`, or name the code columns in `dimensions`",
            )
        for word, given in (("hierarchies", hierarchies), ("totals", totals)):
            for name in given or {}:
                if name not in chosen:
                    raise ParameterError(
                        f"{word}: {name!r} is no dimension", remedy=f"they are {', '.join(chosen)}"
                    )
        cube = given_cube(frame, chosen, hierarchies or {}, totals or {}, absent)
        cubes, labels = (cube.shape,), cube.labels
        made = cube.shape.relations(labels.height)
    more = labels.height - frame.height
    # A code column is that and nothing else, though it be called "low" or "status".
    frame = frame.drop(each(name for name in chosen if name != value))
    status, hidden = _statuses(frame)
    return _Read(
        frame,
        np.concatenate((found, np.full(more, np.nan))),
        np.concatenate((status, np.zeros(more, np.int64))),
        np.concatenate((hidden, np.ones(more, bool))),
        made,
        names,
        labels,
        cubes,
    )


def _statuses(frame: pl.DataFrame) -> tuple[Ints, Bools]:
    if "status" in frame.columns:
        return status_numbers(frame["status"])
    sensitive = np.zeros(frame.height, bool)
    if "sensitive" in frame.columns:
        sensitive = numbers(frame, "sensitive") > 0
    # The mark says what must be hidden, not what a tool did hide.
    return np.where(sensitive, SENSITIVE, SAFE), np.zeros(frame.height, bool)


def _cell_table(
    read: _Read, values: Floats, bounds: tuple[float, float] | None, measure: str, tolerance: float
) -> CellTable:
    frame, n = read.frame, values.size
    notes: list[str] = []

    def extended(*names: str, fill: float = np.nan) -> Floats | None:
        name = column(frame, *names)
        if name is None:
            return None
        return np.concatenate((numbers(frame, name), np.full(n - frame.height, fill)))

    negative = bool((values < 0).any())
    low, high = bounds if bounds is not None else (-np.inf if negative else 0.0, np.inf)
    if bounds is None and negative and "lb" not in frame.columns:
        notes.append("some values are negative, so nothing is taken as known of a cell beforehand")
    given_low, given_high = extended("lb", "lower", "low"), extended("ub", "upper", "high")
    lower = np.full(n, low) if given_low is None else np.where(np.isnan(given_low), low, given_low)
    upper = (
        np.full(n, high) if given_high is None else np.where(np.isnan(given_high), high, given_high)
    )
    status = read.status.copy()
    status[(status == SAFE) & (lower == upper)] = PUBLISH
    status[(status == PUBLISH) & (lower == upper) & (values == 0)] = ZERO
    frequency = _frequency(extended("freq", "frequency"), read)
    table = CellTable(
        values=values,
        relations=read.relations,
        labels=read.labels,
        lower=lower,
        upper=upper,
        status=status,
        costs=_costs(extended("cost"), values),
        frequency=frequency,
        contributions=_contributions(read, values, frequency, notes),
        needs=_needs(extended("upl", "up"), extended("lpl", "down"), status, notes),
        cubes=read.cubes,
        measure=measure,
        notes=tuple(notes),
    )
    _check(table, read.names, tolerance)
    return table.with_(needs=_capped(table))


def _needs(
    up: Floats | None, down: Floats | None, status: Ints, notes: list[str]
) -> tuple[Floats, Floats] | None:
    if up is None and down is None:
        return None
    if up is None or down is None:
        notes.append("one protection level is given for each cell; it is taken on both sides")
    first = down if up is None else up
    second = up if down is None else down
    assert first is not None
    assert second is not None
    off = status != SENSITIVE
    return np.where(off, np.nan, first), np.where(off, np.nan, second)


def _capped(table: CellTable) -> tuple[Floats, Floats] | None:
    """Levels end at what everybody knows of the cell."""
    if table.needs is None:
        return None
    # fmin: where the value is hidden and unknown, the level stays as it is.
    up, down = table.needs
    above, below = table.upper - table.values, table.values - table.lower
    return (
        np.where(np.isnan(up), up, np.fmin(up, above)),
        np.where(np.isnan(down), down, np.fmin(down, below)),
    )


def _costs(given: Floats | None, values: Floats) -> Floats | None:
    if given is None:
        return None
    if (given < 0).any():
        row = int(np.flatnonzero(given < 0)[0])
        raise InputError(f"cells, row {row + 1}: its cost is negative", remedy="give 0 or more")
    return np.where(np.isnan(given), np.abs(values), given)


def _frequency(given: Floats | None, read: _Read) -> Ints | None:
    if given is None or np.isnan(given[: read.frame.height]).any():
        return None
    return np.rint(_summed(given, read.relations)).astype(np.int64)


def _contributions(
    read: _Read, values: Floats, frequency: Ints | None, notes: list[str]
) -> Contributions | None:
    """The largest contributions, if they are given. Who made them is not known: all are others,
    except that a total of one record has that of its addend."""
    names: list[str] = []
    while f"top{len(names) + 1}" in read.frame.columns:
        names.append(f"top{len(names) + 1}")
    if not names or frequency is None:
        return None
    if values.size > read.frame.height:
        notes.append("totals were added, whose largest contributions are not known: none are kept")
        return None
    top = np.abs(np.column_stack([np.nan_to_num(numbers(read.frame, name)) for name in names]))
    there = np.arange(len(names)) < frequency[:, None]
    top = -np.sort(-np.where(there, top, 0.0), axis=1)
    who = np.where(there, np.arange(top.size).reshape(top.shape), -1)
    alone = frequency == 1
    record = same_record(read.relations, alone)
    who[alone, 0] = len(names) * np.unique(record, return_index=True)[1][record][alone]
    total = np.where(np.isnan(values), top.sum(axis=1), np.abs(values))
    return Contributions(top, who, total, frequency)


def _summed(values: Floats, relations: Relations) -> Floats:
    """Unknown values worked out where a relation has only one."""
    found = values.copy()
    while True:
        unknown = np.isnan(found)
        entries = np.flatnonzero(unknown[relations.cells])
        count = np.bincount(relations.rows[entries], minlength=len(relations))
        entries = entries[count[relations.rows[entries]] == 1]
        if not entries.size:
            return found
        sums = relations.sums(np.where(unknown, 0.0, found))
        cells = relations.cells[entries]
        found[cells] = -sums[relations.rows[entries]] / relations.coefs[entries] + 0.0


def _check(table: CellTable, names: list[str] | None, tolerance: float) -> None:
    """Every relation between known values holds, and known values lie within their bounds."""
    relations, values = table.relations, table.values
    off = relations.sums(values)
    scale = np.asarray(abs(relations.matrix) @ np.abs(values))
    wrong = np.flatnonzero(np.abs(off) > tolerance * np.maximum(scale, 1e-300))
    if wrong.size:
        row = int(wrong[0])
        start, stop = int(relations.starts[row]), int(relations.starts[row + 1])
        entries = sorted(range(start, stop), key=lambda e: relations.coefs[e])
        parts = [
            f"{relations.coefs[e]:+g} * {values[relations.cells[e]]:.12g} "
            f"({table.name(int(relations.cells[e]))})"
            for e in entries[:5]
        ]
        tail = " ..." if len(entries) > 5 else ""
        called = f"relation {names[row]}" if names is not None else "a total"
        others = f"; {wrong.size - 1} others are wrong too" if wrong.size > 1 else ""
        raise InputError(
            f"{called} does not add up: {' '.join(parts)}{tail} leaves {off[row]:.12g}{others}",
            remedy="correct the cells, or allow more `tolerance` where values are rounded"
            + ('; absent = "hidden" where some were left out' if table.cubes else ""),
        )
    slack = tolerance * np.maximum(np.abs(values), 1.0)
    outside = np.flatnonzero((values < table.lower - slack) | (values > table.upper + slack))
    if outside.size:
        cell = int(outside[0])
        raise InputError(
            f"cell {table.name(cell)} is {values[cell]:g}, outside of its known bounds "
            f"{table.lower[cell]:g} to {table.upper[cell]:g}",
            remedy="correct the value, or lb and ub",
        )
