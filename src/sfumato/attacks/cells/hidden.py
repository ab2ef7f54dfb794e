"""The hidden cells of people's own records, and the same records with somebody else in their place.

A cell is hidden if it may stand for several values: a label, or a suppressed one. A person outside
takes the place of one inside if all labels of the record cover them, and, in columns of which the
release hides something and that the intruder knows of a person, its exact cells are theirs: they
might have been published so. Then the hidden cells stay as they are, and all others are the
stranger's own. Nobody takes two places, so that controls are people, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import MeasureError
from ...kernels.coverage.said import one_covered
from ...protocols import Context
from ..classes.covering import FINE, Column, Fitting, column_in_bins
from ..controlled import Trial
from ..field import Coded, Field
from ..withstand import DEADLINE

WITHIN = 0.05
"""A number is guessed right within this share of the guess."""
_ROUNDS = 4
_TIE = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class Hidden:
    """Records with hidden cells: of people in the data, and with others in their places."""

    field: Field
    inside: np.ndarray
    """int64: places among the people in the data"""
    outside: np.ndarray
    """int64: who takes their places"""
    own: np.ndarray
    """int64: the released record of each"""

    @classmethod
    def of(cls, field: Field, rng: np.random.Generator, asking: str, columns: list[int]) -> Hidden:
        """Of all people whose own records hide something in some columns."""
        field.pair.aligned_rows()
        assert field.own is not None
        coded = field.coded()
        who = np.flatnonzero(field.own >= 0)
        cells = coded.cells[field.own[who]]
        some = np.zeros(who.size, dtype=bool)
        for j in columns:
            some |= several(coded, j)[cells[:, j]]
        who = who[some]
        if not who.size:
            raise MeasureError(
                f"{asking} finds no cell of these people that was suppressed or generalized",
                remedy="attack a release that hides cells",
            )
        taken = _taken(field, coded, coded.cells[field.own[who]], rng)
        if not (taken >= 0).any():
            raise MeasureError(
                "no record that hides cells could be that of anybody outside the data",
                remedy="give a larger reference",
            )
        met = taken >= 0
        return cls(field, who[met], taken[met], field.own[who[met]])

    @cached_property
    def cells(self) -> np.ndarray:
        """int32: the places of the cells, record by record, then with others in their places."""
        coded = self.field.coded()
        own = coded.cells[self.own]
        return np.concatenate((own, np.where(self.open, own, coded.outside[self.outside])))

    @cached_property
    def numbers(self) -> np.ndarray:
        """float64: the numbers of the same cells, a label's middle, NaN where there is none."""
        _, outside, released = self.field.numbers
        own = released[self.own]
        return np.concatenate((own, np.where(self.open, own, outside[self.outside])))

    @cached_property
    def open(self) -> np.ndarray:
        """bool (records, columns): the hidden cells."""
        coded = self.field.coded()
        own = coded.cells[self.own]
        return np.column_stack([several(coded, j)[own[:, j]] for j in range(own.shape[1])])

    @cached_property
    def truth(self) -> np.ndarray:
        """int32: what people inside, then those in their places, have."""
        coded = self.field.coded()
        return np.concatenate((coded.inside[self.inside], coded.outside[self.outside]))

    def at(self, j: int) -> np.ndarray:
        """Rows of `cells` in which a column is hidden: of people inside, then of the others."""
        rows = np.flatnonzero(self.open[:, j])
        return np.concatenate((rows, rows + len(self.own)))

    def share(self, rows: np.ndarray, j: int) -> np.ndarray:
        """(rows, bins): what these cells stand for, by the release's own exact cells."""
        return guessable(self.field.coded().spread(j)[self.cells[rows, j]])

    def some(self, kept: np.ndarray) -> Hidden:
        """Some of the records."""
        return replace(
            self, inside=self.inside[kept], outside=self.outside[kept], own=self.own[kept]
        )


def several(coded: Coded, j: int) -> np.ndarray:
    """bool: which places of a column may stand for several bins."""
    found: np.ndarray = np.diff(sparse.csr_matrix(coded.spread(j)).indptr) > 1
    return found


def guessable(spread: Any) -> np.ndarray:
    """Shares of bins as an array, without the bin of values that no attacked person has."""
    found = np.asarray(spread.toarray())
    found[:, -2] = 0.0
    return found


def credit(weights: np.ndarray, truth: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """float64: how often the guess that weighs most is right, equally good ones sharing; `near`
    (guesses, truths) says which guess counts as right, itself alone unless given."""
    if near is not None:
        weights = weights @ near.T
    top = weights.max(axis=1, keepdims=True)
    best = (weights >= top * _TIE) & (top > 0)
    right = best[np.arange(truth.size), truth] if near is None else (best * near.T[truth]).sum(1)
    return np.asarray(right / np.maximum(best.sum(axis=1), 1))


def nearness(field: Field, j: int) -> np.ndarray | None:
    """(bins, bins): whether the guess of one bin is right where another is the truth; None where
    only the bin itself is. Bins lie at the median of the people's numbers."""
    kind = field.pair.original.schema[field.names[j]].kind
    if not field.is_number(j) or not kind.name in ("INTEGER", "NUMBER"):
        return None
    coded = field.coded()
    people = np.concatenate((field.numbers[0][:, j], field.numbers[1][:, j]))
    bins = np.concatenate((coded.inside[:, j], coded.outside[:, j]))
    lies = np.full(coded.counts[j], np.nan)
    order = np.lexsort((people, bins))
    order = order[~np.isnan(people[order])]
    first, counts = np.unique(bins[order], return_index=True, return_counts=True)[1:]
    lies[bins[order[first]]] = people[order[first + counts // 2]]
    with np.errstate(invalid="ignore"):
        found = np.abs(lies[:, None] - lies[None, :]) <= WITHIN * np.abs(lies[:, None])
    return np.asarray((found | np.eye(lies.size, dtype=bool)).astype(np.float64))


class Scores:
    """Successes and naive successes, cell by cell, summed up over the cells of each record."""

    def __init__(self, hidden: Hidden) -> None:
        self.hidden = hidden
        self.cells = np.zeros(2 * len(hidden.own))
        self.right, self.easy = np.zeros_like(self.cells), np.zeros_like(self.cells)
        self.whole, self.whole_easy = np.ones_like(self.cells), np.ones_like(self.cells)

    def add(self, rows: np.ndarray, right: np.ndarray, easy: np.ndarray) -> None:
        """The successes of one column's cells, by rows of `Hidden.cells`."""
        self.cells[rows] += 1
        self.right[rows] += right
        self.easy[rows] += easy
        self.whole[rows] *= right
        self.whole_easy[rows] *= easy

    def trial(self, what: str, detail: dict[str, Any], *, records: bool = False) -> Trial:
        """An attempt is a person, for cells of one person are not independent: the share of their
        hidden cells that was guessed right, or whether all were."""
        n, some = len(self.hidden.own), self.cells > 0
        count = np.maximum(self.cells, 1)
        pairs = (self.right / count, self.easy / count)
        if records:
            pairs = (self.whole, self.whole_easy)
        own, theirs = some[:n], some[n:]
        right, easy = pairs
        return Trial(
            what,
            right[:n][own],
            right[n:][theirs],
            easy=(easy[:n][own], easy[n:][theirs]),
            who=self.hidden.inside[own],
            who_outside=self.hidden.outside[theirs],
            detail={**detail, "attacked_share": float(own.sum() / max(len(self.hidden.field.inside), 1))},
        )


def in_time(context: Context, asking: str) -> float | None:
    """Seconds left; None without a limit. Raises where none are."""
    deadline = context.kept.get(DEADLINE)
    if deadline is None:
        return None
    left = float(deadline - monotonic())
    if left <= 0:
        raise MeasureError(
            f"{asking} was not done when its time was over",
            remedy="allow more seconds, or attack fewer people: sample",
        )
    return left


def _taken(
    field: Field, coded: Coded, cells: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """int64: who outside takes the place of each record, -1 where nobody can."""
    columns = []
    for j in range(cells.shape[1]):
        hides = several(coded, j)
        if hides[coded.cells[:, j]].any():
            column = column_in_bins(field, j, FINE)._replace(cells=cells[:, j].astype(np.int64))
            columns.append(column if j in field.known else _loosened(column, ~hides))
    fitting = Fitting(field, tuple(columns))
    cover, classes = fitting.cover, fitting.member
    ranks = fitting.split(cover.ranks)[1]
    found, free = np.full(len(cells), -1), np.arange(len(ranks))
    for _ in range(_ROUNDS):
        todo = rng.permutation(np.flatnonzero(found < 0))
        got = one_covered(cover._replace(ranks=ranks[free]), classes[todo], rng.random(todo.size))
        hit = np.flatnonzero(got >= 0)
        taken, first = np.unique(got[hit], return_index=True)
        found[todo[hit[first]]] = free[taken]
        free = np.delete(free, taken)
    return found


def _loosened(column: Column, exact: np.ndarray) -> Column:
    """A column of which exact cells may be anybody's."""
    anything = column.runs.size - 1
    return Column(
        column.people,
        np.where(exact[column.cells], anything, column.cells),
        np.append(column.runs, column.low.size + 1),
        np.append(column.low, 0),
        np.append(column.high, int(column.people.max(initial=0))),
    )
