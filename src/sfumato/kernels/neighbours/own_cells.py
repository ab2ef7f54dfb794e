"""What the own record of each person, whichever it is, shows in columns that are not known.

A masking that is known gives every released record a likelihood of being a person's own: the
product, over the known columns, of the chance that the person's value becomes the record's. Leaving
out one column at a time, the records' likelihoods are added up by what they show in that column.
Two things make that cheap. A record's likelihood without a column is the whole one divided by that
column's part, which depends on nothing but what the record shows there: so the whole ones are added
up, and divided once. And columns are parted in two groups, in which records have few distinct
combinations: a record's likelihood is the product of two that are known already.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import in_parts
from .blocks import distinct_rows

FAR = 600.0
"""Logarithms that a person's likelihoods may lie apart for their product to be a double: else every
column is left out by itself."""

Codes = NDArray[np.int32]


class Cells(NamedTuple):
    """People beside released records, column by column."""

    equal_a: Codes
    """(n, e): people's codes in columns that were left alone"""
    equal_b: Codes
    """(e, m): the records'"""
    unequal: Floats
    """(e,): the logarithm of the chance that a value is another one all the same"""
    codes: Codes
    """(n, t): people's rows in the tables of chances"""
    cells: Codes
    """(t, m): the records' places in them"""
    logs: Floats
    """the tables' logarithms, one after another, row by row"""
    starts: Ints
    """(t,): where each table starts"""
    widths: Ints
    """(t,): places of each table"""
    times: Floats
    """(m,): how often each record occurs"""
    numbers: Floats
    """(v, m): a number of each record in each column that is left out, for weighted sums"""
    targets: Ints
    """(v,): the tables that are left out, in turn"""
    offsets: Ints
    """(v + 1,): where the places of each begin in the result"""


class Parts(NamedTuple):
    """The columns in two groups: those left alone first, then the tables."""

    group: Ints
    """(e + t,): 0 or 1"""
    label: Codes
    """(2, m): the combination of each record"""
    first: tuple[Ints, Ints]
    """a record of each combination"""


def parted(cells: Cells) -> Parts:
    """Columns of many values first, each to the group that has fewer combinations so far."""
    columns = np.concatenate((cells.equal_b, cells.cells))
    m = columns.shape[1]
    many = [np.unique(column).size for column in columns]
    group = np.zeros(len(columns), dtype=np.int64)
    label = np.zeros((2, m), dtype=np.int32)
    first = [np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)]
    for j in sorted(range(len(columns)), key=lambda j: -many[j]):
        g = int(first[1].size < first[0].size)
        pair = np.ascontiguousarray(np.column_stack((label[g], columns[j])), dtype=np.int32)
        first[g], found = distinct_rows(np.empty((m, 0), np.int64), pair)
        group[j], label[g] = g, found
    return Parts(group, label, (first[0], first[1]))


@njit(cache=True, nogil=True)
def _likelihoods(c: Cells, group: Ints, g: int, first: Ints, i: int, found: Floats) -> None:
    """Logarithms of a group's combinations for one person."""
    e = c.equal_a.shape[1]
    found[:] = 0.0
    for j in range(group.size):
        if group[j] != g:
            continue
        if j < e:
            own, miss, column = c.equal_a[i, j], c.unequal[j], c.equal_b[j]
            for d in range(first.size):
                if column[first[d]] != own:
                    found[d] += miss
        else:
            t = j - e
            start, column = c.starts[t] + c.codes[i, t] * c.widths[t], c.cells[t]
            for d in range(first.size):
                found[d] += c.logs[start + column[first[d]]]


@njit(cache=True, nogil=True)
def _apart(c: Cells, i: int) -> float:
    """How far the likelihoods of one person may lie apart."""
    found = 0.0
    for j in range(c.unequal.size):
        found += abs(c.unequal[j])
    for t in range(c.widths.size):
        start = c.starts[t] + c.codes[i, t] * c.widths[t]
        row = c.logs[start : start + c.widths[t]]
        found += row.max() - row.min()
    return found


@njit(cache=True, nogil=True)
def _one_by_one(c: Cells, whole: Floats, i: int, mass: Floats, sums: Floats) -> None:
    """Every target by itself, on a scale of its own; `whole` are the records' logarithms."""
    for q in range(c.targets.size):
        t, at = c.targets[q], c.offsets[q]
        start, column = c.starts[t] + c.codes[i, t] * c.widths[t], c.cells[t]
        most = -np.inf
        for r in range(whole.size):
            most = max(most, whole[r] - c.logs[start + column[r]])
        for r in range(whole.size):
            weight = np.exp(whole[r] - c.logs[start + column[r]] - most)
            mass[i, at + column[r]] += weight
            sums[i, at + column[r]] += weight * c.numbers[q, r]


@njit(cache=True, nogil=True)
def _weigh(
    c: Cells, group: Ints, label: Codes, first0: Ints, first1: Ints, counted: NDArray[np.bool_],
    start: int, stop: int, mass: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Fill the results of people start..stop."""
    e, m = c.equal_a.shape[1], c.times.size
    one, two = np.empty(first0.size), np.empty(first1.size)
    by_one, by_two = np.empty(first0.size), np.empty(first1.size)
    numbered, weight = counted.any(), np.empty(m)
    for i in range(start, stop):
        _likelihoods(c, group, 0, first0, i, one)
        _likelihoods(c, group, 1, first1, i, two)
        if _apart(c, i) > FAR:
            for r in range(m):
                weight[r] = one[label[0, r]] + two[label[1, r]] + np.log(c.times[r])
            _one_by_one(c, weight, i, mass, sums)
            continue
        one[:] = np.exp(one - one.max())
        two[:] = np.exp(two - two.max())
        by_one[:] = 0.0
        by_two[:] = 0.0
        for r in range(m):
            a, b = label[0, r], label[1, r]
            by_one[a] += c.times[r] * two[b]
            by_two[b] += c.times[r] * one[a]
        if numbered:
            for r in range(m):
                weight[r] = c.times[r] * one[label[0, r]] * two[label[1, r]]
        by_one *= one
        by_two *= two
        for q in range(c.targets.size):
            t, at = c.targets[q], c.offsets[q]
            column = c.cells[t]
            if group[e + t] == 0:
                for d in range(first0.size):
                    mass[i, at + column[first0[d]]] += by_one[d]
            else:
                for d in range(first1.size):
                    mass[i, at + column[first1[d]]] += by_two[d]
            if counted[q]:
                for r in range(m):
                    sums[i, at + column[r]] += weight[r] * c.numbers[q, r]
            row = c.starts[t] + c.codes[i, t] * c.widths[t]
            for place in range(c.widths[t]):
                without = np.exp(-c.logs[row + place])
                mass[i, at + place] *= without
                sums[i, at + place] *= without


def _from_the_top(c: Cells) -> Floats:
    """The logarithms less the largest of each row, which changes no share."""
    found = c.logs.copy()
    ends = np.append(c.starts[1:], c.logs.size)
    for start, end, width in zip(c.starts, ends, c.widths, strict=True):
        rows = found[start:end].reshape(-1, width)
        rows -= rows.max(axis=1, keepdims=True)
    return found


def own_cells(
    cells: Cells, parts: Parts | None = None, *, threads: int | None = None
) -> tuple[Floats, Floats]:
    """(n, places of all targets): likelihoods of the records by what they show, without the column
    itself, and the sums of their numbers with these weights; a person's likelihoods sum to 1 in
    every target. `parts` are `parted(cells)`, where they are known. `threads` never alters the
    result."""
    n = len(cells.codes)
    parts = parts or parted(cells)
    cells = cells._replace(logs=_from_the_top(cells))
    counted = (cells.numbers != 0.0).any(axis=1)
    mass = np.zeros((n, int(cells.offsets[-1])))
    sums = np.zeros_like(mass)

    def work(start: int, stop: int) -> None:
        _weigh(cells, parts.group, parts.label, *parts.first, counted, start, stop, mass, sums)

    in_parts(work, n, threads)
    for low, high in pairwise(cells.offsets.tolist()):
        total = mass[:, low:high].sum(axis=1, keepdims=True)
        mass[:, low:high] /= np.where(total > 0, total, 1.0)
        sums[:, low:high] /= np.where(total > 0, total, 1.0)
    return mass, sums
