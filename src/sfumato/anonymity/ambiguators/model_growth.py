"""Greedy growth by a model's predictions: what generalizing a record changes of what it predicts.

Every step of the growth asks the model about all records and all candidates at once, in blocks, as
Greedy-DXCG did: calling a model is dear, a batch of predictions is not.

The records are dealt into folds, row by row, and each has a model that was trained on the other
folds: a model that has seen a record's own target knows some of it by heart, and generalizing the
record so that this prediction stays would publish it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.codec import Matrix, encode, floats
from ...data.generalized.information import target_column
from ...data.schema import NUMERIC
from ...errors import MethodError
from ...kernels.classes.ambiguate import covered, join_all
from ...progress import report
from .base import Priced

MOST_RECORDS = 3_000
MOST_CATEGORIES = 30
"""Categories of a column that the model sees apart; the rarer ones are one."""
FOLDS = 10
_CELLS = 4_000_000
_DIGITS = 9
"""Costs are compared to so many digits of the predictions' spread: batches differ in the last."""


class _Numbers:
    """A column of intervals: the middle, or the mean where it is not known."""

    def __init__(self, positions: np.ndarray, states: np.ndarray) -> None:
        self._positions = np.nan_to_num(positions)
        low, high = states >> 32, states & 0xFFFFFFFF
        known = low > 0
        middles = self._middles(low, high)
        self._mean = float(middles[known].mean()) if known.any() else 0.0

    def _middles(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        top = self._positions.size - 1
        ends = self._positions[np.minimum(low, top)], self._positions[np.minimum(high, top)]
        return np.asarray((ends[0] + ends[1]) / 2)

    def features(self, states: np.ndarray) -> np.ndarray:
        low, high = states >> 32, states & 0xFFFFFFFF
        return np.where(low > 0, self._middles(low, high), self._mean)[:, None]


class _Categories:
    """Any other column: for each category, the share it has among the values that a state covers,
    counted as often as they occur."""

    def __init__(self, joins: Any, j: int, states: np.ndarray) -> None:
        self._joins, self._j = joins, j
        self._values, self._counts = np.unique(states, return_counts=True)
        rank = np.argsort(np.argsort(-self._counts, kind="stable"), kind="stable")
        self._place = np.minimum(rank, MOST_CATEGORIES)
        self._size = int(self._place.max()) + 1
        self._known: dict[int, int] = {}
        self._table = np.zeros((0, self._size))

    def features(self, states: np.ndarray) -> np.ndarray:
        distinct, inverse = np.unique(states, return_inverse=True)
        fresh = np.array([s for s in distinct.tolist() if s not in self._known], dtype=np.int64)
        if fresh.size:
            weight = covered(self._joins, self._j, fresh, self._values) * self._counts
            made = np.zeros((fresh.size, self._size))
            np.add.at(made.T, self._place, weight.T)
            self._known |= {s: len(self._table) + i for i, s in enumerate(fresh.tolist())}
            self._table = np.concatenate([self._table, made / made.sum(axis=1, keepdims=True)])
        at = np.array([self._known[s] for s in distinct.tolist()], dtype=np.int64)
        return np.asarray(self._table[at[inverse.reshape(-1)]])


@dataclass(frozen=True, eq=False)
class ModelGrowth:
    """A trained model for each fold of the records, and the records as they see them."""

    target: str
    records: Priced
    columns: tuple[_Numbers | _Categories, ...]
    models: tuple[Any, ...]
    fold: np.ndarray
    """The model of each row: the one that has not seen its target."""
    classes: int
    """How many classes the target has; 0 for numbers."""
    truth: np.ndarray
    """What the models predict for the records as they are."""
    distinct: np.ndarray
    """The first row of each distinct record."""
    member: np.ndarray
    """The distinct record of each row."""

    @classmethod
    def train(cls, x: Matrix, records: Priced, target: str, model: str) -> ModelGrowth:
        """Fit models that predict the target from the columns, as they are."""
        if len(x) > MOST_RECORDS:
            raise MethodError(
                f"a model would have to predict all pairs of {len(x):,} records",
                remedy=f"at most {MOST_RECORDS:,} records, or another measure",
            )
        target = target_column(x.table, target, 'greedy with measure = "model"')
        if target in x.names:
            raise MethodError(
                f"{target!r} is to be predicted, and is among the columns to generalize",
                remedy="name another target, or leave it out of `columns`",
            )
        columns: list[_Numbers | _Categories] = []
        for j in range(len(records.x.names)):
            poset, own = records.x.coded(j).poset, records.states[:, j]
            told = records.x.coded(j).structure
            if poset.spans and not (told.tree or told.levels or told.ancestors or told.bits):
                columns.append(_Numbers(poset.positions, own))
            else:
                columns.append(_Categories(records.joins, j, own))
        answers, classes = _answers(x, target)
        known = answers >= 0 if classes else ~np.isnan(answers)
        if np.unique(answers[known]).size < 2:
            raise MethodError(
                f"column {target!r} has fewer than two values: there is nothing to predict",
                remedy="name another target",
            )
        seen = np.column_stack(
            [one.features(records.states[:, j]) for j, one in enumerate(columns)]
        )
        fold = np.arange(len(x)) % min(FOLDS, len(x))
        models = tuple(
            _fitted(model, seen[others], answers[others], classes)
            for others in ((fold != f) & known for f in range(int(fold.max()) + 1))
        )
        distinct, member = np.unique(
            records.states, axis=0, return_index=True, return_inverse=True
        )[1:]
        made = cls(
            target,
            records,
            tuple(columns),
            models,
            fold,
            int(answers.max()) + 1 if classes else 0,
            np.empty(0),
            distinct,
            member.reshape(-1),
        )
        object.__setattr__(made, "truth", made.predict(records.states, fold))
        return made

    def predict(self, states: np.ndarray, fold: np.ndarray) -> np.ndarray:
        """What the models of the given folds predict, a row for each state; a number for each class
        where they are classes."""
        seen = np.column_stack([one.features(states[:, j]) for j, one in enumerate(self.columns)])
        found = np.zeros((len(states), self.classes or 1))
        for f in np.unique(fold).tolist():
            rows, model = fold == f, self.models[f]
            if self.classes:
                # A fold may hold all the records of a class, which its model then does not know.
                found[np.ix_(rows, model.classes_)] = model.predict_proba(seen[rows])
            else:
                found[rows] = np.reshape(model.predict(seen[rows]), (-1, 1))
        return found

    def _changes(self, bounds: np.ndarray, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What joining each bound with each distinct record changes for the record of its row."""
        spread = float(np.ptp(self.truth, axis=0).max()) or 1.0
        found = np.empty((rows.size, others.size))
        block = max(_CELLS // max(others.size * len(self.columns) * 8, 1), 1)
        for start in range(0, rows.size, block):
            part = slice(start, start + block)
            joined = np.concatenate(
                [join_all(self.records.joins, bound, self.records.states[others])
                 for bound in bounds[part]]
            )  # fmt: skip
            asked = np.repeat(self.fold[rows[part]], others.size)
            guess = self.predict(joined, asked).reshape(-1, others.size, self.truth.shape[1])
            change = np.abs(guess - self.truth[rows[part], None, :]).sum(axis=2)
            found[part] = np.round(change / spread, _DIGITS)
        return found / 2 if self.classes else found

    def _step(
        self, bounds: np.ndarray, rows: np.ndarray, taken: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each row's set the cheapest record that is not taken: which, its cost, and whether
        a different one costs as much."""
        cost = self._changes(bounds, rows, self.distinct)[:, self.member]
        cost[taken] = np.inf
        best = cost.argmin(axis=1)
        least = cost[np.arange(rows.size), best]
        alike = self.member[None, :] == self.member[best][:, None]
        tied = ((cost == least[:, None]) & ~alike).any(axis=1)
        for i, row in enumerate(best.tolist()):
            bounds[i] = join_all(self.records.joins, bounds[i], self.records.states[[row]])[0]
        return best, least, tied

    def cover(self, k: int) -> tuple[np.ndarray, np.ndarray, int]:
        """The set of each record, its cost, and the ties."""
        n = len(self.member)
        members = np.zeros((n, k), dtype=np.int64)
        cost, ties = np.zeros(n), 0
        at_once = max(_CELLS // max(n, 1), 1)
        for start in range(0, n, at_once):
            rows = np.arange(start, min(start + at_once, n))
            bounds = self.records.states[rows].copy()
            taken = np.zeros((rows.size, n), dtype=bool)
            taken[np.arange(rows.size), rows] = True
            members[rows, 0] = rows
            for size in range(1, k):
                best, cost[rows], tied = self._step(bounds, rows, taken)
                taken[np.arange(rows.size), best] = True
                members[rows, size] = best
                ties += int(tied.sum())
                report("asking the model", start * k + size * rows.size, n * k)
        return members, cost, ties

    def close(self, k: int, order: np.ndarray) -> tuple[np.ndarray, int]:
        """Classes of k among the records that are left, in the order of their seeds; and ties."""
        n = len(self.member)
        labels = np.full(n, -1, dtype=np.int64)
        bounds: list[np.ndarray] = []
        ties = 0
        for seed in order.tolist():
            if labels[seed] >= 0 or n - len(bounds) * k < k:
                continue
            bound = self.records.states[[seed]].copy()
            labels[seed] = len(bounds)
            for _ in range(k - 1):
                best, _, tied = self._step(bound, np.array([seed]), (labels >= 0)[None, :])
                labels[best[0]] = len(bounds)
                ties += int(tied[0])
            bounds.append(bound[0])
            report("asking the model", len(bounds) * k, n)
        for row in np.flatnonzero(labels < 0).tolist():
            change = [
                self._changes(bound[None], np.array([row]), np.array([row]))[0, 0]
                for bound in bounds
            ]
            labels[row] = int(np.argmin(change))
        return labels, ties


def _answers(x: Matrix, target: str) -> tuple[np.ndarray, bool]:
    """The target as numbers, or as classes with -1 where it is missing."""
    column = x.table.schema[target]
    if column.kind in NUMERIC and not column.generalized:
        return floats(x.table[target], column), False
    return encode(x.table[target]).codes.astype(np.int64) - 1, True


def _fitted(path: str, seen: np.ndarray, answers: np.ndarray, classes: bool) -> Any:
    """A model trained on some of the records; a constant if all of their answers are alike."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    made = _estimator(path, classes)
    if np.unique(answers).size < 2:
        made = DummyClassifier() if classes else DummyRegressor()
    if not answers.size:
        # Nobody but the fold itself has an answer: a constant, whatever it is, changes nothing.
        seen, answers = np.zeros((1, seen.shape[1])), np.zeros(1, dtype=answers.dtype)
    return made.fit(seen, answers)


def _estimator(path: str, classes: bool) -> Any:
    """A model behind a scaler; from scikit-learn alone, since a plan must not run just anything."""
    from sklearn.base import is_classifier, is_regressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not path:
        model: Any = LogisticRegression(max_iter=1000) if classes else Ridge()
        return make_pipeline(StandardScaler(), model)
    module, _, name = path.rpartition(".")
    remedy = 'such as "sklearn.linear_model.Ridge"'
    if module != "sklearn" and not module.startswith("sklearn."):
        raise MethodError(f"{path!r} is not a model of scikit-learn", remedy=remedy)
    try:
        model = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise MethodError(f"scikit-learn has no model {path!r} ({error})", remedy=remedy) from error
    wanted = "classes" if classes else "numbers"
    suits = is_classifier(model) and hasattr(model, "predict_proba")
    if not (suits if classes else is_regressor(model)):
        raise MethodError(f"{name} does not predict {wanted} as the target has", remedy=remedy)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return make_pipeline(StandardScaler(), model)
