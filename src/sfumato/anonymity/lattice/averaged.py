"""Columns that are grouped by their hierarchy and published as an average of each class.

A level only says which values may share a class; the highest puts all of them together. Missing
values never share a class with others, since those would then stand apart in it; a column that has
some, or cells that were suppressed before, gets one more level, "*".

What a cell loses is the squared error of its class, on average, relative to the variance of the
column, and 1 at most; of categories the share of the class that has another value. A suppressed
cell loses 1. Sums of squares are those of whole numbers, to which the values are rounded finely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from ...data.codec import decode, encode, floats, from_floats
from ...data.schema import MEASURED, NUMERIC, ORDERED, SUPPRESSED, Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.groups import group_means, group_medians, group_modes
from ...kernels.lattice.rollup import added, majorities
from .columns import Ladder
from .objectives import pairs_of
from .terms import Node

if TYPE_CHECKING:
    from .lattice import Lattice

Average = Literal["mean", "median", "mode", "geometric-mean"]
_FINEST = 24
"""Bits that a value is rounded to, at most."""
_KINDS = {"mean": MEASURED, "median": ORDERED, "geometric-mean": NUMERIC}


def unclustered(one: Ladder) -> Ladder:
    """The ladder of a column whose values are averaged: its highest level puts them together."""
    before = one.stars[0]
    alone = [value for value in (one.missing, before) if value >= 0]
    together = np.zeros(one.groups[0].size, dtype=np.int32)
    # Level 0 tells every value from every other already.
    groups, labels, stars = [one.groups[0]], [one.labels[0]], [before]
    for level, given in enumerate((*one.groups[1:-1], together), 1):
        top = level == len(one.groups) - 1
        group = given.copy()
        # A value is averaged even where its label is "*"; what has none stays apart.
        for number, value in enumerate(alone, int(group.max(initial=0)) + 1):
            group[value] = number
        _, first, group = np.unique(group, return_index=True, return_inverse=True)
        groups.append(group.reshape(-1).astype(np.int32))
        texts = [SUPPRESSED if top else one.labels[level][g] for g in given[first].tolist()]
        if one.missing >= 0:
            texts[groups[-1][one.missing]] = None
        labels.append(tuple(texts))
        stars.append(int(groups[-1][before]) if before >= 0 else -1)
    if alone:
        groups.append(one.groups[-1])
        labels.append(one.labels[-1])
        stars.append(one.stars[-1])
    # Groups have no figures of their own: what a class has in common is counted.
    figures = tuple(np.ones(len(texts)) for texts in labels)
    return replace(
        one,
        groups=tuple(groups),
        open=figures,
        heights=figures,
        shares=figures,
        leaves=figures,
        cells=figures,
        labels=tuple(labels),
        stars=tuple(stars),
        last=len(groups) - 1,
    )


def check_average(table: Table, name: str, how: str) -> None:
    """Stop where a column has no such average."""
    column = table.schema[name]
    if column.generalized:
        raise MethodError(
            f"column {name!r} holds labels of an earlier step, and cannot be averaged",
            remedy="leave it out of `microaggregate`",
        )
    if how != "mode" and column.kind not in _KINDS[how]:
        raise MethodError(
            f"column {name!r} is {column.kind}, and has no {how}",
            remedy="numbers and dates have a mean, ordinals a median, all have a mode",
        )
    if how == "geometric-mean" and not bool((table[name].drop_nulls() > 0).all()):
        raise MethodError(
            f"column {name!r} holds numbers that are not above zero, which have no geometric mean",
            remedy=f'microaggregate = {{ {name} = "mean" }}',
        )


class Averages:
    """The averaged columns of a lattice, and what their cells lose."""

    def __init__(self, lattice: Lattice) -> None:
        found = enumerate(lattice.terms.averages)
        self.columns = {j: _Averaged.of(lattice, j, how) for j, how in found if how}
        self.exact = all(one.exact for one in self.columns.values())
        """Whether `lost` is not only a bound from below."""

    def lost(self, node: Node, *, exact: bool = False) -> dict[int, np.ndarray]:
        """For each averaged column what each class loses (float64), 1 for a record at most.

        Unless `exact` the average is taken to be the mean: no other one has smaller squares, and
        they only grow when classes are joined.
        """
        return {j: one.lost(node, exact=exact) for j, one in self.columns.items()}


@dataclass(frozen=True, eq=False)
class _Averaged:
    lattice: Lattice
    j: int
    how: str
    present: np.ndarray
    """int64: the records of each distinct tuple that have a value."""
    suppressed: np.ndarray
    """int64: those whose value was suppressed before."""
    middle: float
    step: float
    """A value x is counted as (x - middle) * step, rounded."""
    numbers: np.ndarray
    """int64: each row's value so counted."""
    sums: np.ndarray
    squares: np.ndarray
    """int64: of each tuple's values, rounded."""
    variance: float
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    """Of categories, tuples with their values."""

    @classmethod
    def of(cls, lattice: Lattice, j: int, how: str) -> _Averaged:
        name, table = lattice.ladders[j].name, lattice.table
        column, size = table.schema[name], len(lattice.tuples)
        marks, missing = table.suppressed(name), table[name].is_null().to_numpy()
        there = ~missing & ~marks
        present = added(lattice.member, there * lattice.count, size)
        suppressed = added(lattice.member, marks * lattice.count, size)
        if column.kind not in ORDERED:
            codes = encode(table[name]).codes.astype(np.int64)
            none = np.zeros(0, dtype=np.int64)
            pairs = pairs_of(lattice, codes)
            nothing = (0.0, 0.0, none, none, none, 0.0)
            return cls(lattice, j, how, present, suppressed, *nothing, pairs)
        x = floats(table[name], column)[there]
        low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
        middle = low + (high - low) / 2
        bits = min(_FINEST, (62 - lattice.n.bit_length()) // 2)
        step = 2.0**bits / (high - low) if high > low else 0.0
        whole = np.zeros(table.height, dtype=np.int64)
        whole[there] = np.rint((x - middle) * step).astype(np.int64)
        sums = added(lattice.member, whole * lattice.count, size)
        squares = added(lattice.member, whole * whole * lattice.count, size)
        known = max(int(present.sum()), 1)
        variance = float(_spread(squares.sum(), sums.sum(), known)) / known
        numbers = (middle, step, whole, sums, squares, variance)
        return cls(lattice, j, how, present, suppressed, *numbers, None)

    @property
    def exact(self) -> bool:
        return self.how == "mean" or self.pairs is not None

    def lost(self, node: Node, *, exact: bool) -> np.ndarray:
        place, size = node.place, node.sizes.size
        assert place is not None
        ladder, level = self.lattice.ladders[self.j], node.levels[self.j]
        if ladder.all_hidden(level):
            return node.sizes.astype(np.float64)
        present = added(place, self.present, size)
        if self.pairs is not None:
            found = (present - majorities(place, *self.pairs, size)).astype(np.float64)
        else:
            sums, squares = added(place, self.sums, size), added(place, self.squares, size)
            found = _spread(squares, sums, present)
            if exact and not self.exact:
                found = np.maximum(found, self._errors(place, size))
            found = found / self.variance if self.variance > 0 else np.zeros(size)
        found = np.minimum(found, present)
        return np.where(present > 0, found, added(place, self.suppressed, size))

    def _errors(self, place: np.ndarray, size: int) -> np.ndarray:
        """float64: the squared errors of the average that is published, class by class."""
        table, name = self.lattice.table, self.lattice.ladders[self.j].name
        labels = place[self.lattice.member].astype(np.int64)
        there = ~table.missing(name) & ~table.suppressed(name)
        centre = _centres(table, name, self.how, np.where(there, labels, -1), size)
        away = self.numbers - ((centre - self.middle) * self.step)[labels]
        return np.bincount(labels[there], (away * away * self.lattice.count)[there], size)


def _spread(squares: Any, sums: Any, count: Any) -> np.ndarray:
    """The sum of squared distances from the mean."""
    mean = np.asarray(sums, dtype=np.float64) / np.maximum(count, 1)
    found: np.ndarray = np.maximum(np.asarray(squares, dtype=np.float64) - sums * mean, 0.0)
    return found


def _centres(table: Table, name: str, how: str, labels: np.ndarray, groups: int) -> np.ndarray:
    """float64: the average of each group of an ordered column; NaN where it has no value."""
    column = table.schema[name]
    x = floats(table[name], column)
    labels = np.where(np.isnan(x), -1, labels)
    if how == "median":
        lower = column.kind in (Kind.ORDINAL, Kind.DATE)
        return group_medians(labels, x, groups, lower=lower)
    if how == "mode":
        found = encode(table[name])
        modes = group_modes(labels, found.codes, groups)
        return np.append(np.nan, floats(found.domain, column))[modes]
    means = group_means(labels, x, groups)
    if how == "geometric-mean":
        # As parts of the plain mean, so that equal values keep theirs to the last bit.
        inside = labels >= 0
        logs = np.zeros_like(x)
        logs[inside] = np.log(x[inside] / means[labels[inside]])
        means = means * np.exp(group_means(labels, logs, groups))
    return means


class Published(NamedTuple):
    """What is published of an averaged column: a value for each class, missing among them."""

    values: pl.Series
    column: Column

    @classmethod
    def of(cls, table: Table, name: str, how: str, labels: np.ndarray) -> Published:
        """By the class of each record, -1 for a suppressed one."""
        column, given = table.schema[name], table[name]
        groups = int(labels.max(initial=-1)) + 1
        if column.kind not in ORDERED:
            found = encode(given)
            return cls(decode(group_modes(labels, found.codes, groups), found.domain, name), column)
        values = from_floats(_centres(table, name, how, labels, groups), column, given)
        if column.kind == Kind.INTEGER and values.dtype.is_float():
            column = column.with_(kind=Kind.CONTINUOUS)
        return cls(values.alias(name), column)

    def given_to(self, table: Table, labels: np.ndarray) -> Table:
        """A table with the averages of its records' classes."""
        name, gone = self.column.name, labels < 0
        index = pl.Series(np.where(gone, -1, labels))
        made = self.values.gather(index.set(index < 0, None).cast(pl.UInt32))
        marks = gone | table.suppressed(name)
        return table.with_columns([made.alias(name)], [self.column], {name: marks})
