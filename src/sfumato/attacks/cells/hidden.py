"""The hidden cells of people's own records, and the same records with somebody else in their place.

A cell is hidden if it may stand for several values: a label, or a suppressed one. When a person
outside the data takes the place of one inside, hidden cells stay as they are, and all others become
the stranger's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import MeasureError
from ...protocols import Context
from ..field import Field
from ..guesses import margin
from ..trial import Trial
from ..withstand import DEADLINE
from .strangers import several, strangers

_TIE = 1.0 - 1e-9
_BLOCK = 4096


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
        """Of all people whose own records hide something in some columns, and who are among what
        all their labels stand for; "[20, 29] or missing" is read as the numbers alone."""
        field.pair.aligned_rows()
        assert field.own is not None
        coded = field.coded()
        who = np.flatnonzero(field.own >= 0)
        cells = coded.cells[field.own[who]]
        some, under = np.zeros(who.size, dtype=bool), np.ones(who.size, dtype=bool)
        for j in range(cells.shape[1]):
            hides = several(coded, j)[cells[:, j]]
            some |= hides & (j in columns)
            share = sparse.csr_matrix(coded.spread(j))[cells[:, j], coded.inside[who, j]]
            under &= ~hides | (np.asarray(share).ravel() > 0)
        who = who[some & under]
        if not who.size:
            raise MeasureError(
                f"{asking} finds no cell of these people that was suppressed or generalized",
                remedy="attack a release that hides cells",
            )
        taken = strangers(field, coded.cells[field.own[who]], rng)
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
        spread = self.field.coded().spread(j)
        return np.asarray(guessable(spread[self.cells[rows, j]]).toarray())


def guessable(spread: Any) -> Any:
    """CSR: shares of bins without the one of values that no attacked person has."""
    found = sparse.csr_matrix(spread, copy=True)
    found.data[found.indices == found.shape[1] - 2] = 0.0
    found.eliminate_zeros()
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
    only the bin itself is."""
    if not field.is_number(j):
        return None
    lies = medians(field, j)
    with np.errstate(invalid="ignore"):
        found = np.abs(lies[:, None] - lies[None, :]) <= margin(field, j).around(lies)[:, None]
    return np.asarray((found | np.eye(lies.size, dtype=bool)).astype(np.float64))


def medians(field: Field, j: int) -> np.ndarray:
    """float64: where the bins of a column of numbers lie, by the people; NaN where nobody is."""
    coded = field.coded()
    people = np.concatenate((field.numbers[0][:, j], field.numbers[1][:, j]))
    bins = np.concatenate((coded.inside[:, j], coded.outside[:, j]))
    found = np.full(coded.counts[j], np.nan)
    order = np.lexsort((people, bins))
    order = order[~np.isnan(people[order])]
    first, counts = np.unique(bins[order], return_index=True, return_counts=True)[1:]
    found[bins[order[first]]] = people[order[first + counts // 2]]
    return found


Weights = Callable[[np.ndarray], np.ndarray]
"""How probable each bin is in some rows of `Hidden.cells`, (rows, bins); 0 throughout where nothing
is known, so that the guess is the naive one."""


class Scores:
    """Successes and naive successes, cell by cell, gathered for each record."""

    def __init__(self, hidden: Hidden) -> None:
        self.hidden = hidden
        # Rows: the attack's successes, the naive guess's; all cells counted, all cells right.
        self._sums = np.zeros((2, 2 * len(hidden.own)))
        self._whole = np.ones_like(self._sums)
        self._cells = np.zeros(2 * len(hidden.own))

    def add(
        self, j: int, weights: Weights, *, exactly: bool = False, of: np.ndarray | None = None
    ) -> None:
        """Guess a column's hidden cells, all or those `of` some records; `exactly`: numbers near
        the guess are wrong, too."""
        hidden = self.hidden
        near = None if exactly else nearness(hidden.field, j)
        at = hidden.at(j)
        if of is not None:
            at = at[np.tile(of, 2)[at]]
        for start in range(0, at.size, _BLOCK):
            rows = at[start : start + _BLOCK]
            truth, found = hidden.truth[rows, j], weights(rows)
            easy = credit(hidden.share(rows, j), truth, near)
            right = np.where(found.any(axis=1), credit(found, truth, near), easy)
            self._cells[rows] += 1
            self._sums[:, rows] += (right, easy)
            self._whole[:, rows] *= (right, easy)

    def trial(self, what: str, detail: dict[str, Any], *, records: bool = False) -> Trial:
        """An attempt is a person, since the cells of one are not independent: the share of their
        hidden cells that were guessed right, or whether all were."""
        n, hidden = len(self.hidden.own), self.hidden
        some = np.flatnonzero(self._cells[:n])
        right, easy = self._whole if records else self._sums / np.maximum(self._cells, 1)
        return Trial(
            what,
            right[some],
            right[some + n],
            easy=(easy[some], easy[some + n]),
            who=hidden.inside[some],
            who_outside=hidden.outside[some],
            detail=detail,
            example=lambda i: {"record": hidden.field.record(int(hidden.own[some[i]]))},
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
