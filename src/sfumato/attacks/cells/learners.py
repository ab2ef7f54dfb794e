"""Boosted trees that guess a hidden cell, shown the released records in which it is not hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..field import Field
from ..guessing.inference import CLASSES, FEATURE
from .hidden import Hidden, Weights

FEWEST = 100
"""Exact cells of a column that trees are shown at least."""


class Learners:
    """Trees for the columns of a release."""

    def __init__(
        self, hidden: Hidden, rows: np.ndarray, rounds: int, rng: np.random.Generator
    ) -> None:
        self.hidden, self.field, self.rows, self.rounds = hidden, hidden.field, rows, rounds
        self.seed = int(rng.integers(2**31))
        self.numeric = [self.field.is_number(j) for j in range(len(self.field.names))]
        self._rank = _ranks(self.field)

    def _features(self, cells: np.ndarray, numbers: np.ndarray, of: Sequence[int]) -> np.ndarray:
        """Some columns: numbers, and categories and their labels by how frequent they are."""
        return np.column_stack(
            [numbers[:, k] if self.numeric[k] else self._rank[k][cells[:, k]] * 1.0 for k in of]
        )

    def learnt(self, j: int) -> Weights | None:
        """What trees say of a column's cells; None where there is too little to learn from."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        coded = self.field.coded()
        shown = self.rows[coded.exact(j)[self.rows]]
        told = coded.cells[shown, j].astype(np.int64)
        # Of what no attacked person has, one value cannot be told from another.
        shown, told = shown[told != coded.counts[j] - 2], told[told != coded.counts[j] - 2]
        values, count = np.unique(told, return_counts=True)
        if shown.size < FEWEST or values.size < 2:
            return None
        numbers = self.field.numbers[2][shown, j]
        line = self.numeric[j] and values.size > CLASSES
        kept = np.isfinite(numbers)
        if not line:
            values = np.sort(values[np.argsort(-count, kind="stable")[:CLASSES]])
            kept = np.isin(told, values)
        shown, told = shown[kept], told[kept]
        released = self.field.numbers[2][shown]
        # Nothing is learnt from a column of numbers that are all hidden.
        of = [
            k
            for k, numeric in enumerate(self.numeric)
            if k != j and not (numeric and np.isnan(released[:, k]).all())
        ]
        if shown.size < FEWEST or not of:
            return None
        x = self._features(coded.cells[shown], released, of)
        common: dict[str, Any] = {
            "max_iter": self.rounds,
            "learning_rate": 0.2,
            "early_stopping": False,
            "categorical_features": [not self.numeric[k] for k in of],
            "random_state": self.seed,
        }

        def asked(rows: np.ndarray) -> np.ndarray:
            return self._features(self.hidden.cells[rows], self.hidden.numbers[rows], of)

        if line:
            regressor = HistGradientBoostingRegressor(loss="absolute_error", **common)
            trees = regressor.fit(x, released[:, j])
            return self._on_line(j, lambda rows: trees.predict(asked(rows)), shown)
        chances = HistGradientBoostingClassifier(**common).fit(x, told)
        values = chances.classes_.astype(np.int64)
        return self._among(j, values, lambda rows: chances.predict_proba(asked(rows)))

    def _among(self, j: int, values: np.ndarray, chances: Weights) -> Weights:
        """The most frequent values, each with its chance, as far as a cell covers them."""

        def weights(rows: np.ndarray) -> np.ndarray:
            found = np.zeros((rows.size, self.field.coded().counts[j]))
            found[:, values] = chances(rows)
            return np.asarray(found * (self.hidden.share(rows, j) > 0))

        return weights

    def _on_line(self, j: int, number: Weights, shown: np.ndarray) -> Weights:
        """The bin nearest to the number predicted, of those that a cell covers."""
        coded, released = self.field.coded(), self.field.numbers[2]
        middle = np.full(coded.counts[j], np.nan)
        total = np.bincount(coded.cells[shown, j], released[shown, j], minlength=middle.size)
        count = np.bincount(coded.cells[shown, j], minlength=middle.size)
        np.divide(total, count, out=middle, where=count > 0)

        def weights(rows: np.ndarray) -> np.ndarray:
            apart = np.abs(number(rows)[:, None] - middle)
            apart[(self.hidden.share(rows, j) == 0) | np.isnan(apart)] = np.inf
            found = np.zeros_like(apart)
            at = np.arange(rows.size)
            nearest = np.argmin(apart, axis=1)
            found[at, nearest] = np.isfinite(apart[at, nearest])
            return np.asarray(found)

        return weights


def _ranks(field: Field) -> list[np.ndarray]:
    """The place of each place of a column among the most frequent ones."""
    coded, found = field.coded(), []
    for j, bins in enumerate(coded.bins):
        many = np.bincount(coded.cells[:, j], minlength=bins.count + bins.labels)
        rank = np.argsort(np.argsort(-many, kind="stable"))
        found.append(np.minimum(rank, FEATURE))
    return found
