"""Means and variances of columns: of numbers in memory, or summed wherever the records are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ...data.pair import Pair
from ...data.schema import ORDERED
from ...data.table import Table
from ...engines.batches import together
from ...engines.counts import Counts, Side
from ...engines.exact import exact_sums
from ...engines.relation import Relation
from ..columns import constant, numbers


class Moments(NamedTuple):
    """A column of numbers."""

    known: int
    missing: int
    mean: float
    variance: float
    constant: bool
    """Whether no two values differ."""

    @classmethod
    def of(cls, x: np.ndarray) -> Moments:
        """Of numbers; NaN is missing."""
        here = x[~np.isnan(x)]
        mean = float(here.mean()) if here.size else float("nan")
        variance = float(here.var(ddof=1)) if here.size > 1 else float("nan")
        return cls(here.size, x.size - here.size, mean, variance, constant(x))


def extremes(counts: Counts) -> Pair:
    """The records of either table that have the least or the largest number of some column: what
    tells whether columns can be compared."""
    found: Pair = counts.once(
        "extremes", lambda: Pair(_extremes(counts.original), _extremes(counts.masked), None)
    )
    return found


def _extremes(data: Relation) -> Table:
    return together(data.fold(data.schema.names, _ends))


def _ends(part: Table, numbers: np.ndarray) -> Table:
    rows = [0] if part.height else []
    for column in part.schema:
        series = part[column.name]
        if column.kind in ORDERED and not column.generalized and series.null_count() < len(series):
            found = series.to_physical()
            rows += [int(row) for row in (found.arg_min(), found.arg_max()) if row is not None]
    return part.take(np.unique(np.array(rows, dtype=np.int64)))


def summed(counts: Counts, ends: Pair, names: Sequence[str], side: Side) -> list[Moments]:
    """The moments of some columns by exact sums over all records: first their means, then the
    squares around them, so that nothing cancels."""
    found: list[Moments] = counts.once(
        ("moments", side, tuple(names)), lambda: _summed(counts, ends, names, side)
    )
    return found


def _summed(counts: Counts, ends: Pair, names: Sequence[str], side: Side) -> list[Moments]:
    data, like = counts.side(side), ends.original
    empty = like.take(np.empty(0, dtype=np.int64))
    known, total = _pairs(exact_sums(data, names, partial(_values, empty, side, names)))
    means = total / np.maximum(known, 1)
    terms = partial(_squares, empty, side, names, tuple(means.tolist()))
    rest, squares = _pairs(exact_sums(data, names, terms))
    table = ends.original if side == "original" else ends.masked
    found = []
    for j, name in enumerate(names):
        many = int(known[j])
        spread = squares[j] - rest[j] ** 2 / many if many else 0.0
        found.append(
            Moments(
                many,
                data.height - many,
                float(means[j]) if many else float("nan"),
                spread / (many - 1) if many > 1 else float("nan"),
                constant(_numbers(empty, side, table, name)),
            )
        )
    return found


def _pairs(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return sums[0::2], sums[1::2]


def _numbers(original: Table, side: Side, part: Table, name: str) -> np.ndarray:
    """A column's numbers on the original's scale; NaN is missing."""
    if side == "original":
        return numbers(Pair(part, part, None), name)[0]
    return numbers(Pair(original, part, None), name)[1]


def _values(original: Table, side: Side, names: Sequence[str], part: Table) -> Iterator[np.ndarray]:
    for name in names:
        x = _numbers(original, side, part, name)
        yield np.where(np.isnan(x), 0.0, 1.0)
        yield x


def _squares(
    original: Table, side: Side, names: Sequence[str], means: Sequence[float], part: Table
) -> Iterator[np.ndarray]:
    for name, mean in zip(names, means, strict=True):
        apart = _numbers(original, side, part, name) - mean
        yield apart
        yield apart**2
