"""The likeliest value of a masked column, by whoever knows how the release was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field as Parameter

from ...errors import MeasureError
from ...kernels.neighbours.blocks import distinct_rows
from ...kernels.neighbours.own_cells import Cells, own_cells, parted
from ...progress import report
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..guesses import Margin, close, margin
from ..trial import FEWEST, Trial
from .channels import Channel, Column, Equal, columns_of

WORK = 40_000_000_000
"""Cells of released records that are compared with people at most."""
_ENTRIES = 4_000_000
"""Sums that are kept at a time."""
_TIE = 1.0 - 1e-9


class MaximumAPosteriori(ControlledAttack):
    """Guess a masked value by what the published method makes of each possible one.

    The intruder knows how the release was made, with all parameters, and everything about a person
    but one masked column. Each released record has a likelihood of being the person's and not just
    anybody's: the product, over the known columns, of the chance that the person's value becomes
    the record's (PRAM by its matrix, rank swapping by how far ranks go, swapping at a rate by the
    frequencies, noise by its variance, groups by how far they lie apart; whatever no step touched
    must be equal), divided by how frequent the record's value is. What the records show in the
    masked column, weighted so, is turned back into what it was by the same chances, with the
    release's own frequencies as the prior, and the likeliest value is the guess; of numbers the one
    with most near it. Columns count as masked independently of one another. A step of
    unknown chances, such as svd-swap and pica, is taken to leave a value or to move it about as far
    as a density estimate would smooth it (chances with longer tails find fewer people); without any
    published step that is so of every column.

    A guess succeeds if it is the person's value; a number, within 5 % of the guess, but no more
    than a twentieth of the interquartile range of the released column; a date, within the latter.
    Where a release holds labels in place of numbers, guesses and truth are compared in 255
    quantile bins. Each masked
    column is a trial. The naive guess is the most frequent released value, the median of numbers;
    the control the same guesses of people who are not in the data. All released records are
    compared with each person: where they are many, fewer people are attacked, 2,000 at least, and
    if that is still too much, a random part of the records, which `detail` says. It cannot show
    what a better model of the method would get, such as noise that is known to be correlated, or
    swaps that are known to stay within a class.
    """

    name: ClassVar[str] = "maximum-a-posteriori"
    aliases: ClassVar[tuple[str, ...]] = ("map",)
    guesses: ClassVar[bool] = True
    knows: ClassVar[str] = (
        "how the release was made, with all parameters, and everything about a person but one "
        "masked column"
    )
    paper: ClassVar[str] = (
        "Lasko (2007), section 2.1.1 (the method is known); Spruill (1983), The confidentiality "
        "and analytic usefulness of masked business microdata; Nin, Herranz & Torra (2008), "
        "Rethinking rank swapping to decrease disclosure risk, Data & Knowledge Engineering 64(1)"
    )

    most: int = Parameter(
        8, ge=1, description="masked columns to guess, drawn at random where there are more"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        columns, masked = columns_of(field, field.mechanism)
        if not masked:
            raise MeasureError(
                f"{self.name} guesses values that were exchanged for others, and no step of the "
                "release does that",
                remedy="inference and reconstruction are the attacks on labels and suppressed "
                "cells",
            )
        if len(masked) > self.most:
            drawn = context.rng.choice(len(masked), self.most, replace=False)
            masked = [masked[k] for k in np.sort(drawn)]
        side = _Side.of(field, columns, masked, context.rng)
        told: dict[str, Any] = {}
        if side.share < 1.0:
            told["share of the records compared"] = round(side.share, 4)
        hits = side.hits()
        return [
            Trial(
                columns[j].name,
                right[: side.inside.size],
                right[side.inside.size :],
                (easy[: side.inside.size], easy[side.inside.size :]),
                who=side.inside,
                who_outside=side.outside,
                detail=told,
                example=_shown(columns[j].name, guesses),
            )
            for j, (right, easy, guesses) in zip(masked, hits, strict=True)
        ]


def _shown(name: str, guesses: list[Any]) -> Any:
    def example(i: int) -> Mapping[str, Any]:
        return {"column": name, "guess": guesses[i]}

    return example


class _Side(NamedTuple):
    """The people attacked and the records that they are compared with."""

    field: Field
    columns: list[Column]
    masked: list[int]
    inside: np.ndarray
    """places among the people inside, and outside"""
    outside: np.ndarray
    rows: np.ndarray
    """released records, distinct in all bins"""
    times: np.ndarray
    numbers: np.ndarray
    """(records, masked): means of the records that are alike"""
    share: float
    """of the released records that are compared"""

    @classmethod
    def of(
        cls, field: Field, columns: list[Column], masked: list[int], rng: np.random.Generator
    ) -> _Side:
        """As many people as can be compared with all records."""
        # Drawn first, so that fewer people are some of those that more would be.
        orders = [rng.permutation(one.size) for one in (field.inside, field.outside)]
        cells = np.ascontiguousarray(np.column_stack([c.cells for c in columns]), dtype=np.int32)
        most = max(WORK // (2 * FEWEST * max(len(columns), 1)), 1)
        kept = np.arange(len(cells))
        if len(cells) > most:
            kept = np.sort(rng.choice(len(cells), most, replace=False))
            cells = cells[kept]
        first, label = distinct_rows(np.empty((len(cells), 0), np.int64), cells)
        times = np.bincount(label, minlength=first.size).astype(np.float64)
        numbers = np.zeros((first.size, len(masked)))
        for q, j in enumerate(masked):
            column = columns[j]
            if isinstance(column, Channel):
                own = column.numbers[kept]
                numbers[:, q] = np.bincount(label, own, minlength=first.size) / times
        people = max(WORK // (2 * max(first.size * len(columns), 1)), FEWEST)
        inside, outside = (np.sort(order[:people]) for order in orders)
        share = kept.size / max(field.released, 1)
        return cls(field, columns, masked, inside, outside, kept[first], times, numbers, share)

    def hits(self) -> list[tuple[np.ndarray, np.ndarray, list[Any]]]:
        """Of each masked column: successes of the guess and of the naive one, and the guesses, of
        people inside and then outside."""
        who = np.concatenate((self.inside, self.field.inside.size + self.outside))
        scorers = [_scorer(self.field, self.columns[j], j, who) for j in self.masked]
        base, offsets = self._cells(who[:0])
        parts = parted(base)
        step = max(_ENTRIES // max(int(offsets[-1]), 1), 1)
        found: list[list[tuple[np.ndarray, list[Any]]]] = [[] for _ in self.masked]
        for start in range(0, who.size, step):
            report("maximum a posteriori", start, who.size)
            some = who[start : start + step]
            mass, sums = own_cells(self._people(base, some), parts)
            for q, score in enumerate(scorers):
                part = slice(offsets[q], offsets[q + 1])
                found[q].append(score.guess(mass[:, part], sums[:, part], start))
        return [
            (
                np.concatenate([right for right, _ in parts]),
                score.easy,
                [guess for _, guesses in parts for guess in guesses],
            )
            for parts, score in zip(found, scorers, strict=True)
        ]

    def _cells(self, who: np.ndarray) -> tuple[Cells, np.ndarray]:
        """The records, for the kernel."""
        equal = [c for c in self.columns if isinstance(c, Equal)]
        tables = [c for c in self.columns if isinstance(c, Channel)]
        place = {id(c): t for t, c in enumerate(tables)}
        targets = np.array([place[id(self.columns[j])] for j in self.masked], dtype=np.int64)
        logs = np.concatenate([c.weights.ravel() for c in tables])
        widths = np.array([c.chance.shape[1] for c in tables], dtype=np.int64)
        sizes = [c.chance.size for c in tables]
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        offsets = np.concatenate(([0], np.cumsum(widths[targets]))).astype(np.int64)
        made = Cells(
            equal_a=_beside([c.people for c in equal], who),
            equal_b=_below([c.cells for c in equal], self.rows),
            unequal=np.array([c.unequal for c in equal], dtype=np.float64),
            codes=_beside([c.people for c in tables], who),
            cells=_below([c.cells for c in tables], self.rows),
            logs=logs,
            starts=starts,
            widths=widths,
            times=self.times,
            numbers=np.ascontiguousarray(self.numbers.T),
            targets=targets,
            offsets=offsets,
        )
        return made, offsets

    def _people(self, base: Cells, who: np.ndarray) -> Cells:
        """The same for some of the people."""
        return base._replace(
            equal_a=_beside([c.people for c in self.columns if isinstance(c, Equal)], who),
            codes=_beside([c.people for c in self.columns if isinstance(c, Channel)], who),
        )


def _beside(parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    if not parts:
        return np.zeros((rows.size, 0), dtype=np.int32)
    return np.ascontiguousarray(np.column_stack([p[rows] for p in parts]), dtype=np.int32)


def _below(parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    if not parts:
        return np.zeros((0, rows.size), dtype=np.int32)
    return np.ascontiguousarray(np.stack([p[rows] for p in parts]), dtype=np.int32)


def _scorer(field: Field, column: Column, j: int, who: np.ndarray) -> _Numbers | _Bins:
    assert isinstance(column, Channel)
    if column.worth is None:
        return _Bins(column, column.people[who])
    inside, outside, released = field.numbers
    truth = np.concatenate((inside[:, j], outside[:, j]))[who]
    return _Numbers(column, truth, released[:, j], margin(field, j))


class _Bins:
    """Guesses of categories."""

    def __init__(self, column: Channel, truth: np.ndarray) -> None:
        self.back, self.truth = column.back, truth
        # Values that nobody has whose value is guessed are not a guess.
        self.back[:, column.missing - 1] = 0.0
        prior = column.prior.copy()
        prior[column.missing - 1] = 0.0
        self.easy = _shared(prior[None, :], truth)

    def guess(self, mass: np.ndarray, sums: np.ndarray, start: int) -> tuple[np.ndarray, list[Any]]:
        """Successes of some people, and what was guessed: a bin."""
        chances = mass @ self.back
        right = _shared(chances, self.truth[start : start + len(mass)])
        return right, chances.argmax(axis=1).tolist()


def _shared(chances: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Whether the likeliest is the truth; equally likely ones share the success."""
    top = chances >= chances.max(axis=1, keepdims=True) * _TIE
    top = np.broadcast_to(top, (truth.size, top.shape[1]))
    return np.where(top[np.arange(truth.size), truth], 1.0 / top.sum(axis=1), 0.0)


class _Numbers:
    """Guesses of numbers."""

    def __init__(
        self, column: Channel, truth: np.ndarray, released: np.ndarray, within: Margin
    ) -> None:
        self.back, self.truth, self.within = column.back, truth, within
        worth = column.worth
        assert worth is not None
        self.worth, self.missing = worth, column.missing
        # (bins, bins): whether a guess of the second is right where the first is true.
        near = np.abs(worth[:, None] - worth[None, :]) <= within.around(worth)[None, :]
        self.near = np.eye(column.missing + 1)
        self.near[: worth.size, : worth.size] = np.maximum(near, np.eye(worth.size))
        here = released[np.isfinite(released)]
        middle = float(np.median(here)) if here.size else np.nan
        self.easy = close(np.full(truth.size, middle), truth, within)

    def guess(self, mass: np.ndarray, sums: np.ndarray, start: int) -> tuple[np.ndarray, list[Any]]:
        """Successes of some people, and the numbers guessed; NaN: missing."""
        chances = (mass @ self.back) @ self.near
        # The least of those that are equally likely, whatever the order of the records.
        best = np.argmax(chances >= chances.max(axis=1, keepdims=True) * _TIE, axis=1)
        at = np.arange(best.size)
        number = np.where(
            best < self.worth.size, self.worth[np.minimum(best, self.worth.size - 1)], np.nan
        )
        # Within the bin, what the likeliest records show.
        there = mass[at, best]
        own = np.divide(sums[at, best], there, out=number.copy(), where=there > 0)
        number = np.where(best < self.worth.size, own, np.nan)
        right = close(number, self.truth[start : start + len(mass)], self.within)
        return right, number.tolist()
