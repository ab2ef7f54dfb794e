"""How much each published record leaves open: labels, sets of values and suppressed cells.

Among the records that fit a person the intruder takes the one that fits the fewest others. And
where none fits, because values were changed, a cell that could be anything is no sign of a match:
it counts as far away as a value drawn at random would be, and a label its part of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...data.codec import encode
from ...data.generalized.coverage import Coverage
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.linkage.linked import in_one_numbering
from ...data.linkage.linking import has_numbers
from ...data.pair import Pair
from ...data.schema import Kind

_MOST = 0.5
"""The largest share that is left open: below the 1 of a column that does not fit."""


class Columns(NamedTuple):
    """The columns that an intruder knows, by how they are compared."""

    labels: list[str]
    sets: list[str]
    numbers: list[str]
    categories: list[str]

    @classmethod
    def of(cls, pair: Pair, names: Sequence[str]) -> Columns:
        """Columns that hold labels, sets in both tables, numbers, and values to be equal or not."""
        before, after = pair.original.schema, pair.masked.schema
        labels = [n for n in names if has_labels(before[n], after[n], pair.masked[n])]
        both = [n for n in names if before[n].kind == Kind.SET and after[n].kind == Kind.SET]
        sets = [name for name in both if name not in labels]
        rest = [name for name in names if name not in labels and name not in sets]
        numbers = [name for name in rest if has_numbers(pair, name)]
        return cls(labels, sets, numbers, [name for name in rest if name not in numbers])

    def facts(self) -> dict[str, list[str]]:
        """The kinds that there are, for the evidence."""
        order = ("numbers", "categories", "labels", "sets")
        return {how: getattr(self, how) for how in order if getattr(self, how)}

    def open(self, pair: Pair) -> bool:
        """Whether some cell could be more than one value."""
        rest = (*self.sets, *self.numbers, *self.categories)
        return bool(self.labels) or any(pair.masked.suppressed(name).any() for name in rest)


class Openness(NamedTuple):
    """What each masked record leaves open."""

    left: np.ndarray
    """float64 (m,): from 0, where every cell has one value, to a half, where all are open most:
    in proportion to the logarithm of how many combinations of values the record covers."""
    price: np.ndarray
    """float64 (m,): what the open cells add to a distance"""

    @classmethod
    def of(cls, pair: Pair, columns: Columns, x: np.ndarray, y: np.ndarray) -> Openness:
        """Of all columns; x and y are the numbers of both files as they are compared."""
        parts = [_of_labels(pair, name) for name in columns.labels]
        parts += [_of_values(pair, name) for name in (*columns.categories, *columns.sets)]
        for j, name in enumerate(columns.numbers):
            hidden = pair.masked.suppressed(name)
            values = len(encode(pair.original[name]).domain)
            parts.append(_cells(hidden, values, _random_step(x[:, j], y[~hidden, j])))
        left, price = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
        return cls(left * (_MOST / max(float(left.max(initial=0.0)), 1.0)), price)


Part = tuple[np.ndarray, np.ndarray]


def _cells(hidden: np.ndarray, values: int, random: float) -> Part:
    """Suppressed cells of a column: any of its values, or missing."""
    return np.where(hidden, np.log2(values + 1), 0.0), np.where(hidden, random, 0.0)


def _of_values(pair: Pair, name: str) -> Part:
    """A column of categories or sets; a published set is compared by its distance."""
    hidden = pair.masked.suppressed(name)
    if not hidden.any():
        return np.zeros(hidden.size), np.zeros(hidden.size)
    mine, theirs = in_one_numbering([pair.original[name], pair.masked[name]])
    theirs = theirs[~hidden]
    top = max(int(mine.max(initial=0)), int(theirs.max(initial=0))) + 1
    p, q = (np.bincount(codes, minlength=top) / max(codes.size, 1) for codes in (mine, theirs))
    return _cells(hidden, np.unique(mine[mine > 0]).size, 1.0 - float(p @ q))


def _of_labels(pair: Pair, name: str) -> Part:
    """A column of labels: how many of the original's values each covers, and its part of what a
    random label is worth."""
    reader = Labels.of(pair.original, name)
    values = len(reader.domain)
    labels, place = distinct_labels(pair.masked[name])
    covered = reader.coverage(reader.domain, labels)
    rank = np.concatenate(([0], covered.ranks))
    often = np.bincount(rank[reader.codes], minlength=values + 1) / reader.codes.size
    many = np.maximum(_sums(covered, np.ones(values + 1), len(labels)), 1.0)
    fits = _sums(covered, often, len(labels))
    # Null is missing, which covers itself, unless it was suppressed.
    many, fits = np.append(many, 1.0), np.append(fits, often[0])
    many_of, fits_of = many[place], fits[place]
    hidden = pair.masked.suppressed(name) & (place < 0)
    many_of[hidden], fits_of[hidden] = values + 1.0, 1.0
    told = many_of <= values
    random = 1.0 - float(fits_of[told].mean()) if told.any() else 1.0
    return np.log2(many_of), random * (many_of - 1.0) / max(values, 1)


def _sums(covered: Coverage, worth: np.ndarray, labels: int) -> np.ndarray:
    """What the ranks that each label covers are worth together."""
    if covered.starts is None or covered.members is None:
        along = np.concatenate(([0.0], np.cumsum(worth)))
        sums = along[covered.high + 1] - along[covered.low]
        return np.where(covered.low <= covered.high, sums, 0.0)
    along = np.concatenate(([0.0], np.cumsum(worth[covered.members])))
    found: np.ndarray = along[covered.starts[1:]] - along[covered.starts[:-1]]
    return found


def _random_step(x: np.ndarray, y: np.ndarray) -> float:
    """The mean squared difference of a known and a published number, 1 beside a missing one."""
    a, b = x[~np.isnan(x)], y[~np.isnan(y)]
    if not y.size or not x.size:
        return 1.0
    here, there = a.size / x.size, b.size / y.size
    apart = here * (1 - there) + there * (1 - here)
    if not a.size or not b.size:
        return float(apart)
    square = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    return float(here * there * square + apart)
