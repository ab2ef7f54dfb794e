"""The distances of distance-based record linkage, each as points that lie that far apart.

Torra, Abowd & Domingo-Ferrer (2006), "Using Mahalanobis distance-based record linkage for
disclosure risk assessment", Privacy in Statistical Databases, compare five. All of them are
Euclidean once the records are moved to the right place, so one search serves them all but sums of
absolute differences, which the example of ten records in Torra's slides is linked by. Slides that
show their table head two of its columns the wrong way round: the figures under "COV0" are those
with the covariance between the files known, and those under "COV" without it. (The distances here
give all fifteen figures of its first block.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Literal

import numpy as np

from ...data.linkage.linked import Categories, moments_of, own_rows
from ...data.linkage.linking import columns_to_link_by, numbers_of, require_reference
from ...data.pair import Pair
from ...data.schema import Kind
from ...data.table import Table
from ...errors import MeasureError
from .covering import most_queries
from .open_file import OpenFile, class_of
from .openness import Columns

Distance = Literal[
    "euclidean",
    "standardized",
    "standardized-difference",
    "city-block",
    "mahalanobis",
    "mahalanobis-linked",
    "kernel",
]
MEANINGS = (
    "euclidean: the values as they are; standardized (DBRL1): each file by its own means and "
    "deviations; standardized-difference (DBRL2): by the deviation of the difference between the "
    "files; city-block: sums of absolute differences of the values standardized as by DBRL1; "
    "mahalanobis: by the covariance of that difference, the files taken as independent; "
    "mahalanobis-linked: the same with the true links known; kernel (KDBRL): a polynomial kernel "
    "of the standardized values"
)

NUMBERS_ONLY = ("city-block", "mahalanobis", "mahalanobis-linked", "kernel")
"""Distances that compare numbers alone, and need all of them."""
_SQUARABLE = 1e140
_RANK = 1e-10
"""Directions whose variance is smaller than this, in units of the largest, have none."""
_LEFT_ALONE = 1e-12
"""The least variance of linked records' differences, in units of the files'."""
_FEATURES = 2e8
"""Numbers that a kernel's features may take in memory."""


class Files:
    """The columns of both files that a distance compares: numbers, and categories if it can."""

    def __init__(self, pair: Pair, named: Sequence[str], distance: str, asking: str) -> None:
        self.pair = pair
        self.own = own_rows(pair, asking)
        names, self.left_out = columns_to_link_by(pair, named)
        self.distance = distance
        self.numbers = Columns.of(pair, names).numbers
        if distance in NUMBERS_ONLY:
            self._numbers_only(names, bool(named), asking)
            names = self.numbers
        self.names = names
        self.x = numbers_of(pair.original, self.numbers, pair)
        self.y = numbers_of(pair.masked, self.numbers, pair)
        self._check()

    def _numbers_only(self, names: Sequence[str], wanted: bool, asking: str) -> None:
        others = [name for name in names if name not in self.numbers]
        remedy = 'distance = "standardized" compares categories too'
        if others and wanted:
            raise MeasureError(
                f"{asking}: the {self.distance} distance has no place for column {others[0]!r}, "
                "which has no numbers",
                remedy=remedy,
            )
        if not self.numbers:
            raise MeasureError(
                f"{asking}: no quasi-identifier has numbers in both tables, which the "
                f"{self.distance} distance needs",
                remedy=remedy,
            )
        self.left_out |= dict.fromkeys(others, f"has no numbers for a {self.distance} distance")

    def _check(self) -> None:
        for side, table in (("original", self.x), ("masked", self.y)):
            large = np.abs(table).max(axis=0, initial=0.0, where=~np.isnan(table)) > _SQUARABLE
            if self.distance not in ("standardized", "city-block", "kernel") and large.any():
                raise MeasureError(
                    f"column {self.numbers[int(np.argmax(large))]!r} of the {side} table has "
                    "values whose squares overflow",
                    remedy='rescale the column, or use distance = "standardized"',
                )
            gaps = np.isnan(table)
            if self.distance in NUMBERS_ONLY and gaps.any():
                row, j = map(int, np.argwhere(gaps)[0])
                raise MeasureError(
                    f"column {self.numbers[j]!r} is missing in row {row + 1} of the {side} table, "
                    f"and the {self.distance} distance needs every value",
                    remedy='distance = "standardized" allows for missing and suppressed values, or '
                    "leave the column out of `columns`",
                )

    def points(self, known: Sequence[str], degree: int = 2) -> Points:
        """Both files as points, for an intruder who knows these columns."""
        which = [j for j, name in enumerate(self.numbers) if name in known]
        others = tuple(name for name in known if name not in self.numbers)
        place = self._place(which, degree)
        a, b = place.original(self.x[:, which]), place.masked(self.y[:, which])
        columns = Columns.of(self.pair, known)
        compares = columns.sets or columns.open(self.pair)
        return Points(
            a=a,
            b=b,
            numbers=[self.numbers[j] for j in which],
            categories=Categories(self.pair, others),
            place=place,
            sums=self.distance == "city-block",
            open=OpenFile(self.pair, columns, a, b) if compares else None,
        )

    def most(self, sample: int) -> int:
        """How many records to link; 0 is all. Sets take longer than anything else."""
        columns = Columns.of(self.pair, self.names)
        if not columns.sets:
            return sample
        most = most_queries(len(class_of(self.pair, columns)))
        return min(sample, most) if sample else most

    def _place(self, which: Sequence[int], degree: int) -> Place:
        x, y, p = self.x[:, which], self.y[:, which], len(which)
        (mean_x, sd_x), (mean_y, sd_y) = moments_of(x), moments_of(y)
        one, still = np.ones(p), np.eye(p)
        if self.distance in ("standardized", "city-block"):
            return Place(mean_x, sd_x, mean_y, sd_y, still)
        if self.distance == "kernel":
            _refuse_too_many(max(len(x), len(y)), p, degree)
            return Place(mean_x, sd_x, mean_y, sd_y, still, degree)
        if self.distance == "euclidean":
            return Place(mean_x, one, mean_x, one, still)
        # Over all pairs of an original and a masked record the variances of the files add up.
        spread = np.hypot(_spread(x - mean_x, absent=0.0), _spread(y - mean_y, absent=0.0))
        spread = np.where(spread > 0, spread, 1.0)
        if self.distance == "standardized-difference":
            return Place(mean_x, spread, mean_x, spread, still)
        turn = _whitening([(x - mean_x) / spread, (y - mean_y) / spread])
        idle = {"directions_without_variance": p - turn.shape[1]}
        if self.distance == "mahalanobis-linked":
            linked = np.flatnonzero(self.own >= 0)
            apart = (x[linked] - y[self.own[linked]]) / spread @ turn
            more, still_ones = _whitening_of_links(apart)
            turn, idle = turn @ more, idle | {"directions_that_masking_left_alone": still_ones}
        return Place(mean_x, spread, mean_x, spread, turn, idle=_said(idle))


@dataclass(frozen=True, eq=False)
class Place:
    """Where each file's numbers go: centred, divided, turned, and put through the kernel."""

    centre_a: np.ndarray
    scale_a: np.ndarray
    centre_b: np.ndarray
    scale_b: np.ndarray
    turn: np.ndarray
    degree: int = 1
    idle: Mapping[str, int] = field(default_factory=dict)
    """How many directions a singular covariance has, for the evidence."""

    @property
    def turned(self) -> bool:
        """Whether columns are mixed with one another."""
        return not np.array_equal(self.turn, np.eye(len(self.turn)))

    def original(self, x: np.ndarray) -> np.ndarray:
        """An intruder's numbers as points."""
        return self._moved((x - self.centre_a) / self.scale_a)

    def masked(self, y: np.ndarray) -> np.ndarray:
        """The masked file's numbers as points."""
        return self._moved((y - self.centre_b) / self.scale_b)

    def _moved(self, z: np.ndarray) -> np.ndarray:
        if self.degree > 1:
            return features(z, self.degree)
        if not self.turned:
            return z  # a product would spread one missing value over the record
        return turned(z, self.turn)


@dataclass(frozen=True, eq=False)
class Points:
    """Both files as points and codes: squared distances of points, and 1 for codes that differ."""

    a: np.ndarray
    b: np.ndarray
    numbers: list[str]
    categories: Categories
    place: Place
    sums: bool = False
    """Whether distances are sums of absolute differences instead."""
    open: OpenFile | None = None
    """Where cells hold labels or sets or were suppressed: what intruders make of them."""

    @property
    def codes_a(self) -> np.ndarray:
        """int32 (n, q): the categories of the original."""
        return self.categories.original

    @property
    def codes_b(self) -> np.ndarray:
        """int32 (m, q): those of the masked file."""
        return self.categories.masked

    def of(self, table: Table, pair: Pair, asking: str) -> tuple[np.ndarray, np.ndarray]:
        """Another table with the original's columns, as an intruder's points and codes."""
        require_reference(table, (*self.numbers, *self.categories.names))
        x = numbers_of(table, self.numbers, pair)
        unfit = np.abs(x) > _SQUARABLE
        if self.place.degree > 1 or self.place.turned or self.sums:
            unfit |= np.isnan(x)
        if unfit.any():
            row, j = map(int, np.argwhere(unfit)[0])
            raise MeasureError(
                f"{asking}: column {self.numbers[j]!r} of the reference table is missing or too "
                f"large in row {row + 1}",
                remedy="leave that record out of the reference table",
            )
        return self.place.original(x), self.categories.of(table)


def require_values(pair: Pair, names: Sequence[str], asking: str, *, all_of_them: bool) -> None:
    """Refuse columns that hold labels or sets; suppressed cells, too, where all are needed."""
    columns = Columns.of(pair, names)
    for name in names:
        sets = pair.original.schema[name].kind == Kind.SET
        what = "holds sets" if sets else "was generalized to labels"
        gone = all_of_them and bool(pair.masked.suppressed(name).any())
        if sets or name in columns.labels or gone:
            what = what if sets or name in columns.labels else "has suppressed cells"
            raise MeasureError(
                f"{asking} compares values, and column {name!r} {what}",
                remedy="measure record-linkage, which reads labels, sets and suppressed cells",
            )


def distances(x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances row by row, and 1 for each code that differs or value beside a missing one.

    >>> none = np.empty((1, 0), np.int32)
    >>> distances(np.array([[1.0, np.nan]]), np.array([[3.0, 4.0]]), none, none).tolist()
    [5.0]
    """
    gone_x, gone_y = np.isnan(x), np.isnan(y)
    square = np.where(gone_x | gone_y, (gone_x != gone_y).astype(np.float64), (x - y) ** 2)
    found: np.ndarray = square.sum(axis=1) + (a != b).sum(axis=1)
    return found


def turned(z: np.ndarray, by: np.ndarray) -> np.ndarray:
    """z @ by, such that equal rows give equal bits wherever they stand, as a fast product does not
    promise: records that are alike must tie.

    >>> turned(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [3.0, 1.0]])).tolist()
    [[7.0, 2.0]]
    """
    out = np.zeros((len(z), by.shape[1]))
    for j, row in enumerate(by):
        out += z[:, j, None] * row
    return out


def features(z: np.ndarray, degree: int) -> np.ndarray:
    """Points whose inner products are (1 + x.y)^degree, less 1: the polynomial kernel's features.

    K(a,a) - 2 K(a,b) + K(b,b) is their squared distance (Torra, Abowd & Domingo-Ferrer 2006).

    >>> features(np.array([[3.0]]), 2).round(6).tolist()
    [[4.242641, 9.0]]
    """
    n, p = z.shape
    columns = []
    for order in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(p), order):
            powers = [chosen.count(j) for j in range(p)]
            ways = factorial(degree) // (
                prod(factorial(power) for power in powers) * factorial(degree - order)
            )
            columns.append(np.sqrt(ways) * z[:, list(chosen)].prod(axis=1))
    return np.column_stack(columns) if columns else np.empty((n, 0))


def _refuse_too_many(records: int, p: int, degree: int) -> None:
    count = factorial(p + degree) // (factorial(p) * factorial(degree)) - 1
    if records * count > _FEATURES:
        raise MeasureError(
            f"a polynomial kernel of degree {degree} over {p} columns has {count:,} features, too "
            f"many for {records:,} records",
            remedy="use degree = 2, fewer columns, or another distance",
        )


def _spread(centred: np.ndarray, absent: float = 1.0) -> np.ndarray:
    """Root mean square of each column, missing aside; `absent` where there is none."""
    count = np.maximum((~np.isnan(centred)).sum(axis=0), 1)
    spread: np.ndarray = np.sqrt(np.nansum(centred**2, axis=0) / count)
    return np.where(spread > 0, spread, absent)


def _whitening(parts: Sequence[np.ndarray]) -> np.ndarray:
    """W with W W^T the pseudo-inverse of the sum of the parts' covariances (the parts are centred):
    directions without variance are left out."""
    p = parts[0].shape[1]
    covariance = sum((part.T @ part / max(len(part), 1) for part in parts), np.zeros((p, p)))
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _RANK * values.max(initial=0.0)
    found: np.ndarray = vectors[:, kept] / np.sqrt(values[kept])
    return found


def _whitening_of_links(apart: np.ndarray) -> tuple[np.ndarray, int]:
    """The same for differences of linked records, in units of the files' own variance.

    Where masking left a direction alone its differences have no variance, and a value that differs
    there rules a record out. A pseudo-inverse would leave out just that evidence; instead the
    variance is taken to be a millionth of a millionth of the files', which outweighs all the rest.
    """
    centred = apart - apart.mean(axis=0) if len(apart) else apart
    values, vectors = np.linalg.eigh(centred.T @ centred / max(len(apart), 1))
    whitened: np.ndarray = vectors / np.sqrt(np.maximum(values, _LEFT_ALONE))
    return whitened, int((values <= _LEFT_ALONE).sum())


def _said(counts: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in counts.items() if count}
