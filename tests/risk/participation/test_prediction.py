"""Prediction distance, ambiguity and uncertainty of releases of every kind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.points.encoding import Encoding
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement
from sfumato.risk.participation import comparison, predicted
from sfumato.risk.participation.prediction import (
    PredictionAmbiguity,
    PredictionDistance,
    PredictionUncertainty,
)
from tests.oracle.prediction import predicted as oracle

MEASURES = (PredictionDistance, PredictionAmbiguity, PredictionUncertainty)
NAMES = tuple(one.name for one in MEASURES)


def people(n: int, seed: int = 0) -> sf.Table:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    x[:, 1] += x[:, 0]
    pay = np.exp(x[:, 1])
    frame = {
        "name": [f"p{i}" for i in range(n)],
        "age": np.round(40 + 10 * x[:, 0]).astype(int),
        "pay": [None if i % 9 == 0 else float(v) for i, v in enumerate(pay)],
        "sex": np.where(x[:, 2] > 0, "f", "m"),
        "town": rng.choice(["a", "b", "c"], n),
    }
    return sf.table(frame, identifier="name", quasi=["age", "sex", "town"], confidential="pay")


def taken(
    name: str, original: Any, masked: Any, reference: Any = None, **words: Any
) -> Measurement:
    return sf.measure(name, original, masked, "none", reference=reference, **words)


@pytest.mark.parametrize("moments", ["own", "original"])
def test_they_are_the_oracle_s_on_encoded_records(moments: Any) -> None:
    original, release, reference = people(60), people(50, 1), people(50, 2)
    code = Encoding.of(original, ["age", "pay", "sex", "town"])
    x = code.encode(original).tolist()
    found = np.array(oracle(x, code.encode(release, moments=moments).tolist(), 4))
    theirs = np.array(oracle(x, code.encode(reference, moments=moments).tolist(), 4))
    for j, name in enumerate(NAMES):
        got = taken(name, original, release, reference, k=4, moments=moments)
        assert got.per_record == pytest.approx(found[:, j], rel=1e-9, abs=1e-12)
        assert got.value == pytest.approx(np.median(found[:, j]), rel=1e-9)
        assert got.baseline == pytest.approx(np.median(theirs[:, j]), rel=1e-9)
        assert got.direction == "higher"
        assert got.per_record_of == "original"


def test_a_copy_is_predicted_exactly() -> None:
    original = people(80)
    assert taken("prediction-distance", original, original).value == 0
    assert taken("prediction-ambiguity", original, original).value == 0
    once_more = sf.table(pl.concat([original.frame] * 5), quasi=["age", "sex", "town"])
    assert taken("prediction-ambiguity", original, once_more).value == 1
    assert taken("prediction-uncertainty", original, once_more).value == 0


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1000.0), (0.01, 0.0), (7.0, -3.0)])
def test_an_offset_or_another_unit_does_not_look_like_protection(
    factor: float, offset: float
) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"a": rng.normal(size=300), "b": rng.lognormal(size=300), "c": rng.integers(0, 2, 300)}
    )
    original = sf.table(frame, quasi=["a", "b", "c"])
    moved = sf.table(frame.select(pl.all() * factor + offset), quasi=["a", "b", "c"])
    assert taken("prediction-distance", original, moved).value == pytest.approx(0, abs=1e-6)
    naive = taken("prediction-distance", original, moved, moments="original")
    assert naive.value > 0.1


def test_an_offset_within_the_range_leaves_a_copy_near() -> None:
    rng = np.random.default_rng(1)
    pay = rng.lognormal(3, 0.4, size=(500, 4))
    names = ["a", "b", "c", "d"]
    original, others = (
        sf.table(pl.DataFrame(x, schema=names), quasi=names)
        for x in (pay, rng.lognormal(3, 0.4, size=(500, 4)))
    )
    shrunk = sf.table(pl.DataFrame(pay * 0.5 + pay.mean() / 2, schema=names), quasi=names)
    near = taken("prediction-distance", original, shrunk, others)
    assert near.baseline is not None
    assert near.value < 0.75 * near.baseline


RELEASES: dict[str, Callable[[sf.Table], sf.Table]] = {
    "fewer": lambda t: t.take(np.arange(20)),
    "more": lambda t: t.take(np.arange(3 * t.height) % t.height),
    "without a column": lambda t: t.without(["sex"]),
    "generalized": lambda t: (
        sf.protect(t.without(["name"]), sf.method("mondrian", k=5), seed=0, measures=()).table
    ),
    "suppressed": lambda t: t.with_columns(
        [t["age"].set(pl.Series(np.arange(t.height) % 3 == 0), None)],
        suppressed={"age": np.arange(t.height) % 3 == 0},
    ),
    "gone": lambda t: t.with_columns(
        [pl.Series("age", [None] * t.height, dtype=pl.Int64)],
        suppressed={"age": np.ones(t.height, dtype=bool)},
    ),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_releases_of_every_kind(kind: str) -> None:
    original = people(90)
    release = RELEASES[kind](original)
    for name in NAMES:
        got = taken(name, original, release, people(40, 3))
        assert np.isfinite(got.per_record).all()
        assert got.baseline is not None
        assert 0 <= got.value < 5
        assert (got.value == taken(name, original, release, people(40, 3)).value) is True
    assert ("left_out" in got.detail) == (kind == "without a column")


def test_a_small_reference_is_beside_as_many_released_records() -> None:
    original, release = people(200), people(200, 1)
    got = taken("prediction-distance", original, release, people(50, 2))
    assert got.baseline is not None
    assert got.value < got.baseline
    assert got.detail["same_size"] == pytest.approx(got.baseline, rel=0.15)
    assert "fewer" in got.detail["baseline"]
    assert taken("prediction-distance", original, release, people(3, 2)).baseline is None


def test_a_sample_is_the_same_people_for_all_three() -> None:
    original, release = people(300), people(300, 1)
    all_of_them = taken("prediction-distance", original, release, sample=0)
    some = [taken(name, original, release, sample=50) for name in NAMES]
    seen = [np.isfinite(one.per_record) for one in some]
    assert seen[0].sum() == 50
    assert (seen[0] == seen[1]).all()
    assert (seen[0] == seen[2]).all()
    assert (some[0].per_record[seen[0]] == all_of_them.per_record[seen[0]]).all()
    assert some[0].detail["sample"] == 50


def test_one_search_for_all_three_and_none_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    real = comparison.predictions
    monkeypatch.setattr(
        comparison, "predictions", lambda *a, **b: searches.append(len(a[1])) or real(*a, **b)
    )
    pair, other = Pair.of(people(50), people(40, 1), "none"), people(60, 2)
    rng = np.random.default_rng(0)
    for one in MEASURES:
        one().measure(Context(pair, rng, reference=other))
    assert searches == [40] * 4  # of the release and of the reference, each placed in two ways
    PredictionDistance(k=3, moments="own").measure(Context(pair, rng, reference=other))
    assert searches == [40] * 6
    PredictionDistance().measure(Context(pair, rng, reference=people(60, 3)))
    assert len(searches) == 10
    assert pair in predicted._memo
    gone = weakref.ref(pair)
    del pair
    gc.collect()
    assert gone() is None  # what was kept does not keep the tables


def test_placements_that_are_the_same_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []
    real = comparison.predictions
    monkeypatch.setattr(
        comparison, "predictions", lambda *a, **b: searches.append(len(a[1])) or real(*a, **b)
    )
    original = people(50)
    taken("prediction-distance", original, original.take(np.arange(50)[::-1]))
    assert searches == [50]
    taken("prediction-distance", original, people(50, 1), columns=("sex", "town"))
    assert searches == [50, 50]


def test_for_each_record_the_worse_placement_counts() -> None:
    original, release, reference = people(90), people(80, 1), people(80, 2)
    for name in NAMES:
        own, by_original, worst = (
            taken(name, original, release, reference, moments=moments)
            for moments in ("own", "original", "worst")
        )
        least = np.minimum(own.per_record, by_original.per_record)
        assert (worst.per_record == least).all()
        assert worst.value == np.median(least)
        assert worst.baseline <= min(own.baseline, by_original.baseline)
        assert taken(name, original, release, reference).value == worst.value


def test_leaving_out_the_extreme_people_does_not_look_like_protection() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 3))
    names = ["a", "b", "c"]
    middle = x[np.argsort((x**2).sum(axis=1))[:600]]
    original, copies = (sf.table(pl.DataFrame(v, schema=names), quasi=names) for v in (x, middle))
    assert taken("prediction-distance", original, copies).value == pytest.approx(0, abs=1e-9)
    assert taken("prediction-distance", original, copies, moments="own").value > 0.05


def test_what_is_published_says_nothing_of_one_person() -> None:
    got = taken("prediction-distance", people(90), people(90, 1), people(90, 2))
    public = got.public()
    assert public.per_record is None
    assert not public.private
    assert public.value == round(got.value, 3)
    assert set(got.private) == {"quantiles", "reference_quantiles"}
    text = str(public.to_dict())
    assert not any(f"{extreme:.5f}" in text for extreme in got.private["quantiles"].values())


def test_it_refuses_what_has_no_answer() -> None:
    original = people(30)
    with pytest.raises(MeasureError, match="needs k = 5 released records and there are 3"):
        taken("prediction-distance", original, original.take(np.arange(3)))
    with pytest.raises(MeasureError, match="'pay' is not in the masked table"):
        taken("prediction-distance", original, original.without(["pay"]), columns=("pay",))
    with pytest.raises(MeasureError, match="no records"):
        taken("prediction-distance", original, original.take(np.arange(0)))
    with pytest.raises(MeasureError, match="reference table has no records"):
        taken("prediction-distance", original, original, original.take(np.arange(0)))
    with pytest.raises(MeasureError, match="'sex' of `log` is not among"):
        taken("prediction-distance", original, original, columns=("age",), log=("sex",))
    with pytest.raises(MeasureError, match="'sex' of `log` is"):
        taken("prediction-distance", original, original, log=("sex",))
    notes = sf.table({"note": ["x", "y"] * 60, "many": [f"v{i}" for i in range(120)]})
    with pytest.raises(MeasureError, match="no column of both tables has distances"):
        taken("prediction-distance", notes.without(["note"]), notes.without(["note"]))


@pytest.mark.golden
@pytest.mark.parametrize("seed", range(5))
def test_nhanes(seed: int, shared_data: Any, golden_record: Any) -> None:
    """2,000 adults predicted from 2,000 others, beside the thesis' recipe in plain numpy."""
    frame = adults(shared_data("nhanes"))
    order = np.random.default_rng(seed).permutation(frame.height)
    parts = [frame[order[i * 2000 : (i + 1) * 2000]] for i in range(2)]
    original, release = (sf.table(part, quasi=frame.columns) for part in parts)
    points = []
    for part in parts:
        x = part.to_numpy().astype(np.float64)
        x[:, :15] = 2 * x[:, :15] - 1
        x[:, 15:] = np.log(x[:, 15:])
        points.append(x)
    centre, spread = points[0][:, 15:].mean(axis=0), points[0][:, 15:].std(axis=0)
    for x in points:
        x[:, 15:] = (x[:, 15:] - centre) / spread
    expected = []
    for one in points[0]:
        distance = np.sqrt(((points[1] - one) ** 2).mean(axis=1))
        near = np.argsort(distance, kind="stable")[:5]
        differ = points[1][near].var(axis=0).mean()
        expected.append((distance[near[0]], distance[near[0]] / distance[near[-1]], differ))
    for j, name in enumerate(NAMES):
        got = taken(name, original, release, log="positive", moments="original")
        median = float(np.median(np.array(expected)[:, j]))
        golden_record(f"{name}, NHANES adults, seed {seed}", median, got.value)
        assert got.value == pytest.approx(median, rel=1e-9)
        assert got.per_record == pytest.approx(np.array(expected)[:, j], rel=1e-9)


def adults(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "nhanes_adults_28.csv").drop("seqn")


def _three(seed: int, n: int = 60) -> sf.Table:
    x = np.random.default_rng(seed).normal(size=(n, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
    return sf.table({"x": x[:, 0], "y": x[:, 1], "z": x[:, 0] ** 2}, quasi=["x", "y", "z"])


@pytest.mark.parametrize("weights", [{}, {"x": 3.0, "z": 0.0}])
@pytest.mark.parametrize("distance", ["euclidean", "absolute", "largest", "mahalanobis"])
def test_distances_and_weights_of_columns(distance: str, weights: dict[str, float]) -> None:
    people, release = _three(0), _three(1, 50)
    more = {"k": 3, "log": "never", "moments": "original", "distance": distance}
    a, b = people.frame.to_numpy(), release.frame.to_numpy()
    centre, spread = a.mean(axis=0), a.std(axis=0)
    a, b = (a - centre) / spread, (b - centre) / spread
    w = np.array([weights.get(name, 1.0) for name in "xyz"])
    w = w * 3 / w.sum()
    steps = a[:, None] - b[None]
    if distance == "euclidean":
        apart = np.sqrt((w * steps**2).mean(axis=2))
    elif distance == "absolute":
        apart = (w * np.abs(steps)).mean(axis=2)
    elif distance == "largest":
        apart = (w * np.abs(steps)).max(axis=2)
    else:
        own, turn = np.linalg.eigh(np.cov((a * np.sqrt(w)).T, bias=True))
        turned = (steps * np.sqrt(w)) @ turn
        apart = np.sqrt((turned**2 / np.maximum(own, 1e-3 * own.mean())).mean(axis=2))
    order = np.argsort(apart, axis=1)[:, :3]
    wanted = {
        "prediction-distance": apart.min(axis=1),
        "prediction-ambiguity": apart.min(axis=1) / np.sort(apart, axis=1)[:, 2],
        "prediction-uncertainty": (w * b[order].var(axis=1)).mean(axis=1),
    }
    for name, values in wanted.items():
        found = sf.measure(name, people, release, "none", weights=weights, **more)
        assert found.per_record == pytest.approx(values)


def test_weights_of_columns_that_are_not_compared_are_refused() -> None:
    people = _three(0)
    with pytest.raises(MeasureError, match="column 'q' of `weights`"):
        sf.measure("prediction-uncertainty", people, people, weights={"q": 1.0})
    with pytest.raises(MeasureError, match="every weight is 0"):
        sf.measure("prediction-distance", people, people, weights={"x": 0, "y": 0, "z": 0})
