"""What a release does to the predictions of a model that its readers mean to use."""

from __future__ import annotations

import importlib
import inspect
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.codec import floats
from ...data.generalized.information import QUANTILES, target_codes, target_column
from ...data.generalized.label_places import Labels
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import NUMERIC
from ...errors import MeasureError, SfumatoError
from ...protocols import Context, Measurement
from ..cells import HIDDEN, cells_of
from ..loss import RecordLoss
from .readable import ReadableColumn, predictors, some_for_folds


class ModelDegradation(RecordLoss):
    """How far a model's predictions move when it is fed the release, not the original.

    The model learns the target from the original's quasi-identifiers and then predicts each record
    twice, from its original and from its published values; it never predicts a record that it
    learnt from (folds). For a target of numbers the figure is the mean absolute difference of the
    two predictions, divided by the target's standard deviation; for categories the share of records
    whose predicted class changes. `detail` also holds the errors of both against the truth, as
    Katirai reports them, and for classifiers the mean shift of probability. Unlike sums over
    columns it weighs a record as a whole, and only what the model uses.

    The model is any scikit-learn classifier or regressor, named by its import path; its inputs are
    standardized. An interval is read as its midpoint, a generalized category as the mean of the
    encodings (0 and 1) of the values below it, a suppressed one as the training records' mean, and
    so is every cell of a dropped record. The baseline is that of a release of stars.

    >>> import sfumato as sf
    >>> rows = {"age": list(range(20, 70)), "cost": [2.0 * a for a in range(20, 70)]}
    >>> original = sf.table(rows, quasi="age", target="cost")
    >>> linear = "sklearn.linear_model.LinearRegression"
    >>> masked = {**rows, "age": [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in rows["age"]]}
    >>> round(sf.measure("model-degradation", original, masked, model=linear).value, 3)
    0.173
    """

    name: ClassVar[str] = "model-degradation"
    paper: ClassVar[str] = (
        "Katirai (2006), A theory and toolkit for the mathematics of privacy, MIT, method 4 of the "
        "experiments"
    )
    decimals: ClassVar[int | None] = 3

    target: str = Field(
        "", description="what is predicted; the target, else the first confidential column"
    )
    model: str = Field(
        "",
        description="import path of a scikit-learn estimator, such as "
        '"sklearn.linear_model.LinearRegression"; a random forest unless given',
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="parameters of that estimator"
    )
    columns: tuple[str, ...] = Field(
        (), description="columns to predict from; the quasi-identifiers if none"
    )
    folds: int = Field(5, ge=2, le=20, description="folds of the cross-fitting")
    sample: int = Field(
        5_000, ge=0, description="records to use, drawn at random where there are more; 0: all"
    )

    def measure(self, context: Context) -> Measurement:
        pair, rng = context.pair, context.rng
        require_records(pair, self.name)
        pair.aligned_rows()
        target = target_column(pair.original, self.target, self.name)
        inputs = self._inputs(pair, target)
        y, classes = _answers(pair, target)
        known = np.flatnonzero(~np.isnan(y))
        rows = some_for_folds(known, self.sample, self.folds, rng)
        truth = y[rows]
        spread = float(truth.std()) if not classes else 1.0
        if not spread:
            raise MeasureError(
                f"column {target!r} is the same for every record: there is nothing to predict",
                remedy="name another target",
            )
        fold = rng.permutation(np.arange(rows.size) % self.folds)
        seed = int(rng.integers(2**31))
        before, after = inputs.before[rows], inputs.after_of(pair, rows)
        width = int(truth.max()) + 1 if classes else 1
        three = np.empty((3, rows.size, width))
        for f in range(self.folds):
            test, train = fold == f, fold != f
            filled = Filled(before[train])
            sides = [filled(before[test]), filled(after[test]), filled.stars(int(test.sum()))]
            try:
                model = self._learnt(filled(before[train]), truth[train], classes, seed)
                for side, x in enumerate(sides):
                    three[side, test] = _predicted(model, x, classes, width)
            except SfumatoError:
                raise
            except Exception as error:  # whatever an estimator makes of its options
                raise MeasureError(
                    f"{self.model or 'the random forest'} cannot learn from these "
                    f"{int(train.sum()):,} records and predict others: {error}",
                    remedy="change its `options`, or choose another `model`",
                ) from error
        detail = {
            "target": target,
            "columns": inputs.names,
            "model": self.model or "random forest",
            "records": int(rows.size),
            "baseline": "every cell suppressed",
            **({"left_out": inputs.left_out} if inputs.left_out else {}),
        }
        if classes:
            found = _compared_classes(three, truth)
        else:
            found = _compared_numbers(three[:, :, 0] / spread, truth / spread)
        per_record = None
        if rows.size == known.size:
            per_record = np.zeros(pair.original.height)
            per_record[rows] = found.per_record
        return self.result(
            found.value,
            baseline=found.baseline,
            per_record=per_record,
            per_record_of="original",
            detail={**detail, **found.detail},
        )

    def _learnt(self, x: np.ndarray, y: np.ndarray, classes: bool, seed: int) -> Any:
        """The model, or the only class that there is to predict."""
        if classes and np.unique(y).size == 1:
            return float(y[0])
        model = load_estimator(self.model, self.options, classes, seed)
        return fitted(model, x, y.astype(np.int64) if classes else y)

    def _inputs(self, pair: Pair, target: str) -> _Inputs:
        schema = pair.original.schema
        stray = [name for name in self.columns if name not in schema]
        if stray:
            raise MeasureError(
                f"model-degradation is to predict from {stray[0]!r}, and there is no such column",
                remedy=f"the columns are {', '.join(pair.original.names)}",
            )
        wanted = [name for name in self.columns or schema.quasi if name != target]
        chosen = predictors(pair, wanted, self.name)
        before, after = zip(*(_features(pair, name) for name in chosen.names), strict=True)
        return _Inputs(
            chosen.names, chosen.left_out, np.column_stack(before), np.column_stack(after)
        )


def fitted(estimator: Any, x: np.ndarray, y: np.ndarray) -> Any:
    """The estimator, after it has learnt from standardized inputs."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), estimator).fit(x, y)


def load_estimator(path: str, options: dict[str, Any], classes: bool, seed: int) -> Any:
    """The scikit-learn estimator of that import path; a random forest where it is empty."""
    from sklearn.base import BaseEstimator, is_classifier, is_regressor

    forest = "RandomForestClassifier" if classes else "RandomForestRegressor"
    module, _, name = (path or f"sklearn.ensemble.{forest}").rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise MeasureError(
            f"there is no estimator {path!r}: {error}",
            remedy='an import path, such as "sklearn.linear_model.LinearRegression"',
        ) from error
    # Looked at before it is called: a plan may name anything that can be imported.
    if not (inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
        raise MeasureError(
            f"{path!r} is no scikit-learn estimator", remedy="name a classifier or a regressor"
        )
    if "memory" in options:  # what is remembered in a folder is code to whoever reads it back
        raise MeasureError(
            "memory is not taken: a plan must not run what lies in a folder",
            remedy="leave memory out of the options",
        )
    accepted = inspect.signature(kind).parameters
    chosen = dict(options) if path else {"n_estimators": 50, "min_samples_leaf": 5, **options}
    if "random_state" in accepted:
        chosen.setdefault("random_state", seed)
    try:
        made = kind(**chosen)
    except TypeError as error:
        raise MeasureError(
            f"{path or forest} does not take these options: {error}",
            remedy=f"it takes {', '.join(accepted)}",
        ) from error
    if not (is_classifier(made) if classes else is_regressor(made)):
        what = "has categories" if classes else "holds numbers"
        raise MeasureError(
            f"{path!r} cannot predict a target that {what}",
            remedy=f"name a {'classifier' if classes else 'regressor'}",
        )
    return made


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Both tables as the model sees them; NaN is suppressed, or missing among numbers."""

    names: list[str]
    left_out: dict[str, str]
    before: np.ndarray
    after: np.ndarray

    def after_of(self, pair: Pair, rows: np.ndarray) -> np.ndarray:
        """What became of these original records; all suppressed where they were dropped."""
        originals, matched = pair.aligned_rows()
        masked_of = np.full(pair.original.height, -1, dtype=np.int64)
        masked_of[originals] = matched
        found = masked_of[rows]
        out = np.full((rows.size, self.after.shape[1]), np.nan)
        out[found >= 0] = self.after[found[found >= 0]]
        return out


def _features(pair: Pair, name: str) -> tuple[np.ndarray, np.ndarray]:
    cells = cells_of(pair, name)
    if cells.dropped:
        before = ReadableColumn(Pair(pair.original, pair.original, None), name).features()[0]
        return before, np.full((pair.masked.height, before.shape[1]), np.nan)
    read = ReadableColumn(pair, name)
    before, after = read.features()
    if read.labelled and read.ordered and cells.reader is not None and cells.labels:
        middle = np.array([_midpoint(cells.reader, label) for label in cells.labels])
        middle = cells.spread(middle, star=np.nan, exact=np.nan)
        after[:, 0] = np.where(np.isnan(middle), after[:, 0], middle)
    after = after.copy()
    after[cells.place == HIDDEN] = np.nan
    return before, after


def _midpoint(reader: Labels, label: str) -> float:
    """The middle of an interval, of which an open end is the domain's; NaN for other labels."""
    found = reader.range(label)
    if found is None:
        return math.nan
    domain = (float(reader.positions.min()), float(reader.positions.max()))
    ends = [
        reader.position(end) if math.isfinite(end) else domain[side]
        for side, end in enumerate((found.low, found.high))
    ]
    return sum(ends) / 2


def _answers(pair: Pair, target: str) -> tuple[np.ndarray, bool]:
    """The target as numbers, or as classes 0.., NaN where it is missing."""
    column = pair.original.schema[target]
    if column.kind in NUMERIC and not column.generalized:
        return floats(pair.original[target], column), False
    codes = target_codes(pair.original, target, QUANTILES).astype(np.float64)
    return np.where(codes < 0, np.nan, codes), True


class Filled:
    """Puts the training records' means in the place of what is not known."""

    def __init__(self, train: np.ndarray) -> None:
        known = ~np.isnan(train)
        counts = np.maximum(known.sum(axis=0), 1)
        self.mean = np.where(known, train, 0.0).sum(axis=0) / counts

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), self.mean, x)

    def stars(self, rows: int) -> np.ndarray:
        """Records of which nothing is known."""
        return np.tile(self.mean, (rows, 1))


def _predicted(model: Any, x: np.ndarray, classes: bool, width: int) -> np.ndarray:
    """Numbers (n, 1), or probabilities of the classes (n, c); certain ones where it has none."""
    if not classes:
        return np.asarray(model.predict(x), dtype=np.float64).reshape(-1, 1)
    out = np.zeros((len(x), width))
    if isinstance(model, float):
        out[:, int(model)] = 1.0
    elif hasattr(model, "predict_proba"):
        out[:, model.classes_.astype(np.int64)] = model.predict_proba(x)
    else:
        out[np.arange(len(x)), model.predict(x).astype(np.int64)] = 1.0
    return out


@dataclass(frozen=True, eq=False)
class _Compared:
    value: float
    baseline: float
    per_record: np.ndarray
    detail: dict[str, Any]


def _compared_numbers(three: np.ndarray, truth: np.ndarray) -> _Compared:
    """Predictions from originals, releases and stars, in standard deviations of the target."""
    shift = np.abs(three[0] - three[1])
    errors = {
        side: {
            "mean": float((guess - truth).mean()),
            "mean_absolute": float(np.abs(guess - truth).mean()),
            "standard_deviation": float((guess - truth).std()),
        }
        for side, guess in zip(("original", "release"), three, strict=False)
    }
    detail = {"unit": "standard deviations of the target", "errors": errors}
    return _Compared(float(shift.mean()), float(np.abs(three[0] - three[2]).mean()), shift, detail)


def _compared_classes(three: np.ndarray, truth: np.ndarray) -> _Compared:
    """Probabilities from originals, releases and stars."""
    chosen = three.argmax(axis=2)
    changed = chosen[0] != chosen[1]
    shift = np.abs(three[0] - three[1]).sum(axis=1) / 2
    detail = {
        "unit": "share of records whose predicted class changes",
        "mean_probability_shift": float(shift.mean()),
        "errors": {
            "original": float((chosen[0] != truth).mean()),
            "release": float((chosen[1] != truth).mean()),
        },
    }
    baseline = float((chosen[0] != chosen[2]).mean())
    return _Compared(float(changed.mean()), baseline, changed.astype(np.float64), detail)
