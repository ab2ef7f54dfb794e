"""Exchanges that spread classes: sizes, exact gains, a true local optimum, t-closeness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.crest import _spread as module
from sfumato.kernels.crest._divergence import weighted_jsd
from sfumato.kernels.crest._spread import exchange
from tests.oracle import spread as oracle


@st.composite
def cases(draw: st.DrawFn, most: int = 24) -> dict[str, Any]:
    """Records, groups of at least k of them, and classes; often with equal records."""
    k = draw(st.integers(1, 4))
    groups = draw(st.integers(1, 5))
    n = draw(st.integers(k * groups, max(most, k * groups)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(0, 3))
    grid = draw(st.sampled_from([0, 1, 3]))
    points = rng.integers(0, grid, (n, d)).astype(float) if grid else rng.normal(size=(n, d)) * 3
    n_classes = draw(st.integers(1, 4))
    rest = rng.integers(0, groups, n - k * groups)
    return {
        "points": points + draw(st.sampled_from([0.0, 1e6])),
        "labels": rng.permutation(np.concatenate([np.repeat(np.arange(groups), k), rest])),
        "classes": rng.integers(0, n_classes, n),
        "n_classes": n_classes,
        "k": k,
    }


def objective(case: dict[str, Any], labels: np.ndarray, weight: float) -> float:
    return oracle.objective(case["points"], labels.tolist(), case["classes"].tolist(), weight)


@given(case=cases(), weight=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), passes=st.integers(0, 3))
def test_groups_keep_k_and_the_gain_is_exact(
    case: dict[str, Any], weight: float, passes: int
) -> None:
    before = case["labels"].copy()
    found = exchange(**case, weight=weight, passes=passes)
    assert case["labels"].tolist() == before.tolist()
    assert np.bincount(found.labels, minlength=before.max() + 1).min() >= case["k"]
    fall = objective(case, before, weight) - objective(case, found.labels, weight)
    # Coordinates near 1e6 leave the oracle's own sums some ten digits.
    assert fall == pytest.approx(found.gain, abs=1e-8)
    assert found.gain >= 0.0
    assert (found.gain > 0) == (found.exchanges > 0)
    assert found.passes <= passes
    again = exchange(**case, weight=weight, passes=passes)
    assert again.labels.tolist() == found.labels.tolist()


@settings(max_examples=30)
@given(case=cases(most=14), weight=st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_no_single_exchange_is_better_at_the_end(case: dict[str, Any], weight: float) -> None:
    found = exchange(**case, weight=weight, passes=1000)
    assert found.finished
    least = objective(case, found.labels, weight)
    for labels in oracle.exchanges(found.labels.tolist(), case["k"]):
        assert objective(case, np.array(labels), weight) > least - 1e-8


@given(case=cases(), weight=st.sampled_from([0.0, 0.5]), t=st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_groups_within_t_stay_there(case: dict[str, Any], weight: float, t: float) -> None:
    classes = case["classes"].tolist()
    before = oracle.farthest(case["labels"].tolist(), classes)
    after = oracle.farthest(exchange(**case, weight=weight, t=t).labels.tolist(), classes)
    assert after <= max(before, t) + 1e-9
    if before <= t:
        assert after <= t + 1e-9


@settings(max_examples=20)
@given(case=cases(), weight=st.sampled_from([0.3, 0.9]))
def test_few_partners_and_slices_change_no_promise(case: dict[str, Any], weight: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SLICE", 5)
        patch.setattr(module, "NEIGHBOURS", 1)
        found = exchange(**case, weight=weight)
    assert np.bincount(found.labels, minlength=case["labels"].max() + 1).min() >= case["k"]
    fall = objective(case, case["labels"], weight) - objective(case, found.labels, weight)
    assert fall == pytest.approx(found.gain, abs=1e-8)


def test_names_of_classes_and_origin_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    x, labels = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    classes = (x[:, 0] > 0).astype(np.int64)
    found = exchange(x, labels, classes, 2, 5, 0.8)
    renamed = exchange(x + 64.0, labels, 7 - 3 * classes, 9, 5, 0.8)
    assert renamed.labels.tolist() == found.labels.tolist()


def test_more_weight_spreads_classes_better_and_none_gathers_records() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(600, 3))
    classes = (x[:, 0] + rng.normal(size=600) > 0).astype(np.int64)
    labels = np.argsort(np.argsort(x[:, 0])) // 10
    sse, wjsd = [], []
    for weight in (0.0, 0.5, 0.95):
        found = exchange(x, labels, classes, 2, 10, weight).labels
        counts = np.zeros((60, 2), np.int64)
        np.add.at(counts, (found, classes), 1)
        wjsd.append(weighted_jsd(counts))
        sse.append(oracle.objective(x, found.tolist(), classes.tolist(), 0.0))
    assert sse[0] < sse[1] < sse[2]
    assert wjsd[0] > wjsd[1] > wjsd[2]
    assert wjsd[2] < 0.01


def test_groups_larger_than_the_partners_looked_at() -> None:
    rng = np.random.default_rng(5)
    n = 5 * module.PARTNERS
    x = rng.normal(size=(n, 2))
    classes = (x[:, 0] > 0).astype(np.int64)
    labels = classes.copy()  # two homogeneous groups
    found = exchange(x, labels, classes, 2, 20, 0.9)
    counts = np.zeros((2, 2), np.int64)
    np.add.at(counts, (found.labels, classes), 1)
    assert weighted_jsd(counts) < 0.05
    fall = oracle.objective(x, labels.tolist(), classes.tolist(), 0.9) - oracle.objective(
        x, found.labels.tolist(), classes.tolist(), 0.9
    )
    assert fall == pytest.approx(found.gain, abs=1e-10)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"labels": [0, 0, 0, 1]}, "group 1 has 1 records, fewer than 2"),
        ({"labels": [0, 0, 2, 2]}, "group 1 has 0 records"),
        ({"labels": [0, 0, -1, -1]}, "needs a group"),
        ({"labels": [0, 0, 1]}, "as many labels"),
        ({"classes": [0, 1, 2, 0]}, "numbers from 0 to 1"),
        ({"weight": 1.5}, "weight from 0 to 1"),
        ({"t": float("nan")}, "t of at least 0"),
        ({"points": [[0.0], [1.0], [2.0], [float("nan")]]}, "missing, infinite"),
    ],
)
def test_refusals(words: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {
        "points": [[0.0], [1.0], [2.0], [3.0]],
        "labels": [0, 0, 1, 1],
        "classes": [0, 1, 0, 1],
        "n_classes": 2,
        "k": 2,
    }
    with pytest.raises(ValueError, match=message):
        exchange(**{**usual, **words})
