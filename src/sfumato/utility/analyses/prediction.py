"""How well a model learns from the masked table what holds in the original."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import encode, floats
from ...data.linkage.linking import drawn, require_records
from ...data.pair import Pair
from ...data.schema import NUMERIC, SET_ASIDE, Kind, Role
from ...errors import MeasureError
from ...protocols import Context, Measurement
from ..columns import Chosen
from ..loss import TableLoss
from .degradation import Filled, fitted, load_estimator
from .readable import ReadableColumn, predictors, some_for_folds

_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "forest": ("sklearn.ensemble.RandomForest{}", {"n_estimators": 50, "min_samples_leaf": 5}),
    "tree": ("sklearn.tree.DecisionTree{}", {"min_samples_leaf": 10}),
    "linear": ("sklearn.linear_model.LinearRegression", {}),
    "nearest": ("sklearn.neighbors.KNeighbors{}", {}),
}


class PredictionLoss(TableLoss):
    """Accuracy that a model loses when it learns from the masked table, tested on the original.

    Cross-validated: for each fold a model is trained on the masked versions of the other folds'
    records and tested on the fold's originals; the same with originals in place of the masked ones.
    The figure is the second score minus the first: accuracy where the target has categories, R2
    where it is a number. `baseline` is the loss of knowing nothing: guessing the most frequent
    class, or the mean. Where nobody knows which record became which, the model of the masked table
    is trained on all of it and tested on originals that may be among the people behind it; to be
    fair to both, the model of the originals is then tested on records it was trained on, too.
    """

    name: ClassVar[str] = "prediction-loss"
    paper: ClassVar[str] = (
        "Torra 2013, Masking Methods (specific information loss); Herranz, Matwin, Nin & Torra "
        "(2010), Classifying data from protected statistical datasets"
    )
    bounds: ClassVar[tuple[float, float]] = (float("-inf"), float("inf"))
    decimals: ClassVar[int | None] = 3

    target: str = Field(
        "", description="what is predicted; the target, else the first confidential column"
    )
    model: Literal["forest", "tree", "linear", "nearest"] = Field(
        "forest", description="random forest, one tree, linear or logistic, or nearest neighbours"
    )
    folds: int = Field(5, ge=2, le=20, description="folds of the cross-validation")
    sample: int = Field(
        5_000, ge=0, description="records to use, drawn at random where there are more; 0: all"
    )
    columns: tuple[str, ...] = Field(
        (), description="columns to predict from; all others unless given"
    )

    def measure(self, context: Context) -> Measurement:
        pair, rng = context.pair, context.rng
        require_records(pair, self.name)
        target = self._target(pair)
        chosen = self._features(pair, target)
        before, after = _matrices(pair, chosen.names)
        y, y_masked, classes = _answers(pair, target)
        rows, partner = self._rows(pair, y, rng)
        fold = rng.permutation(np.arange(rows.size) % self.folds)
        seed = int(rng.integers(2**31))
        scores: dict[str, list[float]] = {"original": [], "masked": [], "constant": []}
        for f in range(self.folds):
            test, train = rows[fold == f], rows[fold != f]
            learn = partner if partner is not None and not pair.aligned else None
            if learn is None and partner is not None:
                learn = partner[np.flatnonzero(fold != f)]
                learn = learn[learn >= 0]
            assert learn is not None
            learn = learn[_known(y_masked[learn])]
            truth = y[test]
            known = train if pair.aligned else rows
            scores["original"].append(
                self._score(before[known], y[known], before[test], truth, classes, seed)
            )
            scores["masked"].append(
                self._score(after[learn], y_masked[learn], before[test], truth, classes, seed)
            )
            scores["constant"].append(_constant(y[train], truth, classes))
        mean = {side: float(np.mean(values)) for side, values in scores.items()}
        detail: dict[str, Any] = {
            "target": target,
            **chosen.facts(),
            "score": "accuracy" if classes else "R2",
            "scores": mean,
            "records": int(rows.size),
            "baseline": "guessing the most frequent class, or the mean",
        }
        if not pair.aligned:
            detail["note"] = "both models may have been trained on the people they are tested on"
        return self.result(
            mean["original"] - mean["masked"],
            baseline=mean["original"] - mean["constant"],
            detail=detail,
        )

    def _target(self, pair: Pair) -> str:
        schema = pair.original.schema
        named = [self.target] if self.target else schema.of_role(Role.TARGET, Role.CONFIDENTIAL)
        for name in named:
            if name not in schema or name not in pair.masked.schema:
                continue
            if not pair.masked.schema[name].generalized and schema[name].kind != Kind.SET:
                return name
        raise MeasureError(
            f"prediction-loss has nothing to predict: {named[0]!r} is not published as values"
            if named
            else "prediction-loss has nothing to predict",
            remedy='target = "COLUMN", one that both tables hold as values',
        )

    def _features(self, pair: Pair, target: str) -> Chosen:
        wanted = [
            c.name
            for c in pair.original.schema
            if c.name != target
            and c.role not in SET_ASIDE
            and (not self.columns or c.name in self.columns)
        ]
        absent = [name for name in wanted if name not in pair.masked.schema]
        return predictors(pair, wanted, self.name, absent)

    def _rows(
        self, pair: Pair, y: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Original records to use, and their masked records (-1: none); or all masked ones."""
        known = np.flatnonzero(_known(y))
        rows = some_for_folds(known, self.sample, self.folds, rng)
        if pair.rows is None:
            return rows, drawn(pair.masked.height, self.sample, rng)
        masked_of = np.full(pair.original.height, -1, dtype=np.int64)
        has = pair.rows >= 0
        masked_of[pair.rows[has]] = np.flatnonzero(has)
        return rows, masked_of[rows]

    def _score(
        self,
        x: np.ndarray,
        y: np.ndarray,
        test: np.ndarray,
        truth: np.ndarray,
        classes: bool,
        seed: int,
    ) -> float:
        if not y.size:
            return _constant(truth, truth, classes) if not classes else 0.0
        filled = Filled(x)
        x, test = filled(x), filled(test)
        if classes and np.unique(y).size == 1:
            return float((truth == y[0]).mean())
        path, options = _MODELS[self.model]
        path = path.format("Classifier" if classes else "Regressor")
        if self.model == "linear" and classes:
            path, options = "sklearn.linear_model.LogisticRegression", {"max_iter": 1000}
        if self.model == "nearest":
            options = {"n_neighbors": min(10, len(x))}
        guess = fitted(load_estimator(path, options, classes, seed), x, y).predict(test)
        return float((guess == truth).mean()) if classes else _r2(truth, guess)


def _matrices(pair: Pair, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    parts = [ReadableColumn(pair, name).features() for name in names]
    return np.column_stack([p[0] for p in parts]), np.column_stack([p[1] for p in parts])


def _answers(pair: Pair, target: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """The target in both tables: numbers, or codes of the original's classes (-1 elsewhere)."""
    column = pair.original.schema[target]
    if column.kind in NUMERIC:
        sides = [floats(t[target], t.schema[target]) for t in (pair.original, pair.masked)]
        return sides[0], sides[1], False
    read = ReadableColumn(pair, target)
    codes = encode(pair.original[target]).codes.astype(np.int64) - 1
    masked = read.values
    if read.ordered:  # places among the categories of an ordinal or the days of a date
        at = np.searchsorted(read.positions, masked)
        at = np.clip(at, 0, max(read.size - 1, 0))
        masked = np.where(read.positions[at] == masked, at, -1)
    return codes, masked.astype(np.int64), True


def _known(y: np.ndarray) -> np.ndarray:
    return y >= 0 if y.dtype.kind == "i" else ~np.isnan(y)


def _constant(y: np.ndarray, truth: np.ndarray, classes: bool) -> float:
    if not classes:
        return _r2(truth, np.full(truth.size, y.mean()))
    values, counts = np.unique(y, return_counts=True)
    return float((truth == values[counts.argmax()]).mean())


def _r2(truth: np.ndarray, guess: np.ndarray) -> float:
    total = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - guess) ** 2).sum()) / total if total else 0.0
