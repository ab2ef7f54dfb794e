"""What a release does to a model's predictions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Context, Measurement
from sfumato.release.pairing import as_pair
from sfumato.utility.analyses.degradation import ModelDegradation, _features, load_estimator
from tests.oracle import information as oracle

LINE = "sklearn.linear_model.LinearRegression"
STUMP = "sklearn.tree.DecisionTreeClassifier"


def _people(n: int = 60) -> Table:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 80, n)
    cost = 3.0 * age + rng.normal(0, 8, n)
    sick = np.where(age >= 50, "yes", "no")
    frame = {"age": age, "cost": cost, "sick": sick}
    return table(frame, quasi="age", target="cost", confidential="sick")


def _decades(people: Table) -> list[str]:
    return [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in people["age"]]


def take(
    original: Table, masked: Table, rows: np.ndarray | None = None, **more: object
) -> Measurement:
    pair = Pair.of(original, masked) if rows is None else Pair(original, masked, rows)
    return ModelDegradation(**more).measure(Context(pair, np.random.default_rng(0)))


def test_a_line_is_moved_by_the_midpoints() -> None:
    people = _people()
    masked = people.with_columns([pl.Series("age", _decades(people))])
    found = take(people, masked, model=LINE, folds=4)
    rng = np.random.default_rng(0)
    folds = rng.permutation(np.arange(people.height) % 4)
    x = people["age"].to_list()
    read = [a // 10 * 10 + 4.5 for a in x]
    wanted = oracle.shift(x, read, people["cost"].to_list(), folds.tolist())
    assert found.per_record == pytest.approx(wanted)
    assert found.value == pytest.approx(oracle.mean(wanted))
    errors = found.detail["errors"]
    assert errors["release"]["mean_absolute"] > errors["original"]["mean_absolute"]
    assert abs(errors["original"]["mean"]) < 0.05
    assert found.value < found.baseline


def test_a_class_changes_where_the_midpoint_crosses_the_cut() -> None:
    people = _people(200)
    ends = [(45, 56) if 45 <= a < 56 else (a, a) for a in people["age"]]
    labels = [f"[{low}, {high}]" if low < high else str(low) for low, high in ends]
    masked = people.with_columns([pl.Series("age", labels)])
    found = take(people, masked, target="sick", model=STUMP, options={"max_depth": 1})
    # The midpoint, 50.5, is above the cut: those from 45 to 49 change.
    changed = [45 <= a < 50 for a in people["age"]]
    assert found.per_record.astype(bool).tolist() == changed
    assert found.value == pytest.approx(oracle.mean([float(c) for c in changed]))
    assert found.detail["errors"]["original"] == 0.0
    assert found.detail["errors"]["release"] == pytest.approx(found.value)
    assert found.detail["mean_probability_shift"] == pytest.approx(found.value)


def test_generalized_categories_are_the_mean_of_their_leaves() -> None:
    levels = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c1", "*"]]
    original = table(
        {"q": ["a", "b", "c", "c", None]}, quasi="q", posets={"q": Hierarchy(levels=levels)}
    )
    masked = pl.DataFrame({"q": ["ab", "b", "*", "c", None]})
    before, after = _features(as_pair(original, masked, "position"), "q")
    assert before.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert after[[0, 1, 3, 4]].tolist() == [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert np.isnan(after[2]).all()  # suppressed: the training records' mean


def test_stars_drops_and_nothing() -> None:
    people = _people()
    assert take(people, people).value == 0.0
    stars = take(people, people.with_columns([pl.Series("age", ["*"] * 60)]), model=LINE)
    assert stars.value == pytest.approx(stars.baseline)
    gone = take(people, people.without(["age"]), model=LINE)
    assert gone.value == pytest.approx(stars.value)
    nobody = take(people, people.take(np.arange(0, 1)), np.array([0]), model=LINE)
    assert nobody.value == pytest.approx(stars.value, rel=0.1)
    sampled = take(people, people, sample=20)
    assert sampled.per_record is None
    assert sampled.detail["records"] == 20


def test_the_forest_is_the_default_and_reproducible() -> None:
    people = _people(120)
    masked = people.with_columns([pl.Series("age", _decades(people))])
    first, again = take(people, masked, target="sick"), take(people, masked, target="sick")
    assert first.value == again.value
    order = np.random.default_rng(1).permutation(120)
    assert take(people, masked.take(order), order, target="sick").value == first.value


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"model": "sklearn.nothing.Such"}, "no estimator"),
        ({"model": STUMP, "options": {"memory": "folder"}}, "memory is not taken"),
        ({"model": "subprocess.Popen", "options": {"args": "false"}}, "no scikit-learn estimator"),
        ({"model": "sklearn.preprocessing.StandardScaler"}, "cannot predict"),
        ({"model": STUMP}, "regressor"),
        ({"model": LINE, "target": "sick"}, "classifier"),
        ({"model": LINE, "options": {"knots": 3}}, "options"),
        ({"model": "sklearn.neighbors.KNeighborsRegressor", "options": {"n_neighbors": 500}}, "48"),
        ({"columns": ("shoe",)}, "'shoe'"),
        ({"sample": 3}, "folds"),
        ({"columns": ("cost",)}, "predict from"),
    ],
)
def test_errors_have_a_remedy(more: dict[str, object], match: str) -> None:
    people = _people()
    with pytest.raises(MeasureError, match=match) as caught:
        take(people, people, **more)
    assert "->" in str(caught.value)


def test_loading_an_estimator() -> None:
    made = load_estimator(LINE, {"fit_intercept": False}, classes=False, seed=1)
    assert made.fit_intercept is False
    forest = load_estimator("", {}, classes=True, seed=7)
    assert forest.random_state == 7
