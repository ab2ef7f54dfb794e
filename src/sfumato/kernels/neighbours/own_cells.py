"""What the own record of each person, whichever it is, shows in columns that are not known.

A masking that is known gives every released record a likelihood of being a person's own: the
product, over the known columns, of the chance that the person's value becomes the record's. Leaving
out one column at a time, the records' likelihoods are added up by what they show in that column. A
record is compared with a person once for all columns that are left out: its likelihood without a
column is the whole one less that column's part. Records far behind the best one add nothing that a
double could hold, and are passed over.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..threads import in_parts

BLOCK = 256
BEHIND = np.float32(30.0)
"""Logarithms by which a likelihood that adds nothing is behind: e^-30 of a million records is less
than a ten millionth."""
FAR = np.float32(300.0)
"""Logarithms by which likelihoods may exceed their unit: a double holds twice as many."""

Codes = NDArray[np.int32]
Singles = NDArray[np.float32]


class Cells(NamedTuple):
    """People beside released records, column by column."""

    equal_a: Codes
    """(n, e): people's codes in columns that were left alone"""
    equal_b: Codes
    """(e, m): the records'"""
    unequal: Singles
    """(e,): the logarithm of the chance that a value is another one all the same"""
    codes: Codes
    """(n, t): people's rows in the tables of chances"""
    cells: Codes
    """(t, m): the records' places in them"""
    logs: Singles
    """the tables' logarithms, one after another, row by row"""
    without: Floats
    """the exponentials of the same, the other way up: what leaves a column out again"""
    starts: Ints
    """(t,): where each table starts"""
    widths: Ints
    """(t,): places of each table"""
    times: Singles
    """(m,): the logarithm of how often each record occurs"""
    numbers: Floats
    """(v, m): a number of each record in each column that is left out, for weighted sums"""
    targets: Ints
    """(v,): the tables that are left out, in turn"""
    offsets: Ints
    """(v + 1,): where the places of each begin in the result"""


@njit(cache=True, nogil=True)
def _compare(
    c: Cells, i: int, first: int, size: int, hidden: Codes, acc: Singles, low: Singles
) -> None:
    """Logarithms of the likelihoods of a block of records, and their least hidden part."""
    for b in range(size):
        acc[b] = c.times[first + b]
        low[b] = np.float32(0.0)
    for j in range(c.equal_a.shape[1]):
        own, miss, column = c.equal_a[i, j], c.unequal[j], c.equal_b[j]
        for b in range(size):
            acc[b] += np.float32(0.0) if column[first + b] == own else miss
    for j in range(c.codes.shape[1]):
        start = c.starts[j] + c.codes[i, j] * c.widths[j]
        row, column = c.logs[start : start + c.widths[j]], c.cells[j]
        if hidden[j] >= 0:
            for b in range(size):
                part = row[column[first + b]]
                acc[b] += part
                low[b] = min(low[b], part)
        else:
            for b in range(size):
                acc[b] += row[column[first + b]]


@njit(cache=True, nogil=True)
def _weigh(c: Cells, start: int, stop: int, mass: Floats, sums: Floats) -> None:
    """Fill the results of people start..stop."""
    m, v = c.times.size, c.targets.size
    hidden = np.full(c.codes.shape[1], -1, np.int32)
    for q in range(v):
        hidden[c.targets[q]] = q
    acc, low = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    best, own = np.empty(v, np.float32), np.empty(v, np.int64)
    for i in range(start, stop):
        best[:] = -np.float32(np.inf)
        cut, unit = -np.float32(np.inf), np.float32(0.0)
        for q in range(v):
            j = c.targets[q]
            own[q] = c.starts[j] + c.codes[i, j] * c.widths[j]
        for first in range(0, m, BLOCK):
            size = min(BLOCK, m - first)
            _compare(c, i, first, size, hidden, acc, low)
            if first == 0:
                unit = (acc[:size] - low[:size]).max()
            for b in range(size):
                most = acc[b] - low[b]
                if most < cut:
                    continue
                if most > unit + FAR:
                    shrink = np.exp(np.float64(unit) - np.float64(most))
                    for at in range(mass.shape[1]):
                        mass[i, at] *= shrink
                        sums[i, at] *= shrink
                    unit = most
                better = False
                whole = np.exp(np.float64(acc[b]) - np.float64(unit))
                for q in range(v):
                    place = c.cells[c.targets[q], first + b]
                    rest = acc[b] - c.logs[own[q] + place]
                    if rest > best[q]:
                        best[q], better = rest, True
                    weight = whole * c.without[own[q] + place]
                    mass[i, c.offsets[q] + place] += weight
                    sums[i, c.offsets[q] + place] += weight * c.numbers[q, first + b]
                if better:
                    cut = best.min() - BEHIND


def own_cells(cells: Cells, *, threads: int | None = None) -> tuple[Floats, Floats]:
    """(n, places of all targets): likelihoods of the records by what they show, without the column
    itself, and the sums of their numbers with these weights; a person's likelihoods sum to 1 in
    every target. `threads` never alters the result."""
    n = len(cells.codes)
    mass = np.zeros((n, int(cells.offsets[-1])))
    sums = np.zeros_like(mass)
    in_parts(lambda start, stop: _weigh(cells, start, stop, mass, sums), n, threads)
    for low, high in pairwise(cells.offsets.tolist()):
        total = mass[:, low:high].sum(axis=1, keepdims=True)
        mass[:, low:high] /= np.where(total > 0, total, 1.0)
        sums[:, low:high] /= np.where(total > 0, total, 1.0)
    return mass, sums
