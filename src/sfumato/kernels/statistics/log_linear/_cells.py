"""The cells of a cross-classification of which only the occupied ones are kept.

A table of ten columns has more cells than memory, and far more than there are records. A
decomposable model does not need them: its means are products of margins, which the occupied cells
tell. Where a sum over all cells is asked for, those with a mean above zero are listed by joining
the cliques' classes one after another; where there are too many, cells are drawn from the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._graphs import Columns, Neighbours, Part, parts_of

_LEAST = 1e-100
"""Means of many columns with many values would vanish."""
_KEPT = 1 << 25
"""Labels that are kept, of all margins together."""


class Margin(NamedTuple):
    """The classes of some columns."""

    label: np.ndarray
    """For each occupied cell its class."""
    records: np.ndarray
    """int64: how many each class has."""
    people: np.ndarray
    """The people whom they stand for."""
    first: np.ndarray
    """An occupied cell of each class."""


class Everywhere(NamedTuple):
    """Cells that stand for all with a mean above zero: the sum of weight times a function of the
    means is its sum over all of them."""

    mu: np.ndarray
    lam: np.ndarray
    weight: np.ndarray
    drawn: bool
    """Whether they were drawn, so that sums have errors."""

    def total(self, values: np.ndarray) -> float:
        """The sum over all cells."""
        return float((self.weight * values).sum())

    def error(self, values: np.ndarray) -> float:
        """The standard error of that sum."""
        return float(np.std(self.weight * values) * np.sqrt(values.size)) if self.drawn else 0.0


class Fit(NamedTuple):
    """A fitted model."""

    mu: np.ndarray
    """The mean in the sample of each occupied cell."""
    lam: np.ndarray
    """Its mean in the population."""
    everywhere: Everywhere


class Cells:
    """The occupied cells: a code for each column, the records, and the people they stand for.

    >>> cells = Cells([np.array([0, 0, 1]), np.array([0, 1, 1])], np.array([2, 1, 1]), 0.5)
    >>> cells.margin(frozenset({0})).records.tolist(), cells.people.tolist()
    ([3, 1], [4.0, 2.0, 2.0])
    """

    def __init__(
        self, codes: Sequence[np.ndarray], counts: np.ndarray, share: float | np.ndarray
    ) -> None:
        """`share`: the chance with which the people of each cell were drawn."""
        self.codes = [np.asarray(column, dtype=np.int64) for column in codes]
        self.counts = np.asarray(counts, dtype=np.int64)
        self.people = self.counts / share
        self._kept: dict[Columns, Margin] = {}

    def margin(self, columns: Columns) -> Margin:
        """The classes of some columns."""
        if columns not in self._kept:
            if self._kept and (len(self._kept) + 1) * self.counts.size > _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[columns] = self._margin(columns)
        return self._kept[columns]

    def _margin(self, columns: Columns) -> Margin:
        label = np.zeros(self.counts.size, dtype=np.int64)
        if columns:
            last = max(columns)
            before, code = self.margin(columns - {last}).label, self.codes[last]
            # Both are below the number of cells, and their product below its square.
            key = before * (int(code.max(initial=0)) + 1) + code
            label = np.unique(key, return_inverse=True)[1].reshape(-1)
        count = np.bincount(label, weights=self.counts).astype(np.int64)
        first = np.zeros(count.size, dtype=np.int64)
        first[label[::-1]] = np.arange(label.size - 1, -1, -1)
        return Margin(label, count, np.bincount(label, weights=self.people), first)

    def fit(self, model: Neighbours, most: int, rng: np.random.Generator) -> Fit:
        """The maximum likelihood fit of a decomposable model, by its records and by its people.

        `most`: how many cells are listed, or drawn where there are more.
        """
        parts = parts_of(model)
        mu = np.full(self.counts.size, float(self.counts.sum()))
        lam = np.full(self.counts.size, float(self.people.sum()))
        for part in parts:
            whole, given = self.margin(part.clique), self.margin(part.separator)
            mu *= whole.records[whole.label] / given.records[given.label]
            lam *= whole.people[whole.label] / given.people[given.label]
        return Fit(*_positive(mu, lam), self._everywhere(parts, most, rng))

    def _everywhere(self, parts: Sequence[Part], most: int, rng: np.random.Generator) -> Everywhere:
        listed = self._listed(parts, most)
        if listed is not None:
            return Everywhere(*_positive(*listed), np.ones(listed[0].size), drawn=False)
        mu, lam = _positive(*self._drawn(parts, most, rng))
        # Drawn in proportion to its mean, a cell stands for as many as that is small.
        return Everywhere(mu, lam, float(self.counts.sum()) / (mu * most), drawn=True)

    def _listed(self, parts: Sequence[Part], most: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The means of all cells that have one above zero; None where they are too many."""
        mu, lam = np.array([float(self.counts.sum())]), np.array([self.people.sum()])
        at: dict[int, np.ndarray] = {}  # by clique, an occupied cell with the same values in it
        for i, part in enumerate(parts):
            whole, given = self.margin(part.clique), self.margin(part.separator)
            inside = given.label[whole.first]
            order = np.argsort(inside, kind="stable")
            many = np.bincount(inside, minlength=given.records.size)
            here = given.label[at[part.parent]] if part.separator else np.zeros(mu.size, np.int64)
            each = many[here]
            if each.sum() > most:
                return None
            back = np.repeat(np.arange(here.size), each)
            within = np.arange(back.size) - np.repeat(np.cumsum(each) - each, each)
            here = here[back]
            chosen = order[(np.cumsum(many) - many)[here] + within]
            mu = mu[back] * (whole.records[chosen] / given.records[here])
            lam = lam[back] * (whole.people[chosen] / given.people[here])
            at = {j: cells[back] for j, cells in at.items()}
            if any(later.parent == i for later in parts):
                at[i] = whole.first[chosen]
        return mu, lam

    def _drawn(
        self, parts: Sequence[Part], many: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The means of cells drawn from the model: each clique is that of a record drawn among
        those that agree in the separator."""
        mu, lam = np.full(many, float(self.counts.sum())), np.full(many, self.people.sum())
        at: dict[int, np.ndarray] = {}
        for i, part in enumerate(parts):
            whole, given = self.margin(part.clique), self.margin(part.separator)
            order = np.argsort(given.label[whole.first], kind="stable")
            upto = np.cumsum(whole.records[order])
            here = given.label[at[part.parent]] if part.separator else np.zeros(many, np.int64)
            before = np.cumsum(given.records) - given.records
            record = before[here] + rng.integers(given.records[here])
            chosen = order[np.searchsorted(upto, record, side="right")]
            mu *= whole.records[chosen] / given.records[here]
            lam *= whole.people[chosen] / given.people[here]
            if any(later.parent == i for later in parts):
                at[i] = whole.first[chosen]
        return mu, lam


def _positive(mu: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(mu, _LEAST), np.maximum(lam, _LEAST)
