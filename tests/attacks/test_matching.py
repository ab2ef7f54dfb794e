"""The matching attack, and how well an intruder knows which matches to believe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import sfumato as sf
from sfumato.attacks.matching import Matching
from sfumato.data.pair import Pair
from sfumato.data.points.encoding import Encoding
from sfumato.errors import MeasureError
from sfumato.kernels.statistics.auc import auc_of_small
from sfumato.methods.verbs.centroid import Centroid
from sfumato.protocols import Context, Measurement
from sfumato.release.plan.step import Step
from sfumato.rng import stream
from tests.oracle import rhs as oracle


def attack(
    original: sf.Table, masked: sf.Table, reference: sf.Table | None = None, **parameters: Any
) -> Measurement:
    context = Context(Pair.of(original, masked), np.random.default_rng(0), reference=reference)
    return Matching(**parameters).measure(context)


def numbers(x: np.ndarray) -> sf.Table:
    names = [f"v{j}" for j in range(x.shape[1])]
    return sf.table(pl.DataFrame(x, schema=names), quasi=names)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=2, max_size=60),
    st.booleans(),
)
def test_auc_is_that_of_scikit_learn(cases: list[tuple[int, int]], sure: bool) -> None:
    score = np.array([float(a) for a, _ in cases])
    share = np.array([float(b > 2) if sure else b / 4 for _, b in cases])
    found = auc_of_small(score, share)
    if not share.any() or (share == 1).all():
        assert np.isnan(found)
        return
    kind = np.repeat([1, 0], share.size)
    weight = np.concatenate([share, 1 - share])
    expected = roc_auc_score(kind, -np.tile(score, 2), sample_weight=weight)
    assert found == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_a_match_is_the_nearest_and_ties_share_it(n: int, d: int, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = x + 0.5 * rng.normal(size=(n, d))
    if coarse:
        x, y = np.round(x), np.round(y)
    original, masked = numbers(x), numbers(y)
    found = attack(original, masked, log="never", moments="original")
    code = Encoding.of(original, original.names, log="never")
    expected = oracle.match_credit(code.encode(original), code.encode(masked))
    assert found.per_record == pytest.approx(expected)
    assert found.value == pytest.approx(expected.mean())
    assert found.baseline == pytest.approx(1 / n)


def test_an_offset_and_another_unit_do_not_help() -> None:
    x = np.random.default_rng(0).normal(size=(300, 6))
    plain = attack(numbers(x), numbers(x + 0.1))
    moved = attack(numbers(x), numbers(100 + 7 * x))
    assert plain.value == moved.value == 1.0
    assert moved.detail["correct"] == "nearly all"
    assert "auc" not in moved.detail


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 10.0), (1.0, -100.0), (0.01, 0.0)])
def test_nor_of_answers_and_skewed_numbers(factor: float, offset: float) -> None:
    x = np.random.default_rng(0).normal(size=(300, 10))
    x[:, :6] = np.exp(x[:, :6])
    x[:, 6:] = x[:, 6:] > 0
    moved = numbers(x * factor + offset)
    found = attack(numbers(x), moved)
    assert (found.value, found.detail["placement"]) == (1.0, "own")
    assert attack(numbers(x), moved, moments="original").value < 0.9


def test_nor_does_leaving_out_the_extreme_people() -> None:
    x = np.random.default_rng(0).normal(size=(2000, 3))
    kept = np.sort(np.argsort((x**2).sum(axis=1))[:1200])
    pair = Pair(numbers(x), numbers(x[kept]), kept)
    found, own = (
        one.measure(Context(pair, np.random.default_rng(0)))
        for one in (Matching(), Matching(moments="own"))
    )
    assert (found.value, found.detail["placement"]) == (0.6, "original")
    assert own.value < 0.4


def test_it_knows_which_matches_to_believe_where_small_distances_are_correct() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 8))
    # A third is hardly masked, the others beyond recognition.
    scale = np.where(np.arange(600) < 200, 0.02, 3.0)[:, None]
    others = numbers(rng.normal(size=(600, 8)))
    found = attack(numbers(x), numbers(x + scale * rng.normal(size=x.shape)), others,
                   moments="original")  # fmt: skip
    auc = found.detail["auc"]
    assert set(auc) == {"distance", "ambiguity", "uncertainty", "all three"}
    assert min(auc["distance"], auc["ambiguity"], auc["all three"]) > 0.97
    assert found.detail["control"] == pytest.approx(2 / 3, abs=0.01)
    assert found.detail["correct"] + found.detail["incorrect"] == 600
    assert found.private["correct"].sum() == pytest.approx(found.value * 600, abs=1)


def test_nothing_is_learnt_where_there_is_nothing() -> None:
    """An optimistic figure would be well above a half."""
    rng = np.random.default_rng(2)
    centre = np.repeat(10 * rng.normal(size=(300, 6)), 5, axis=0)
    x, y = (centre + rng.normal(size=centre.shape) for _ in range(2))
    found = attack(numbers(x), numbers(y), moments="original")
    assert found.value == pytest.approx(1 / 5, abs=0.05)
    assert all(abs(value - 0.5) < 0.06 for value in found.private["auc"].values())


def test_labels_missing_values_and_categories_are_read() -> None:
    rng = np.random.default_rng(0)
    n = 120
    frame = pl.DataFrame(
        {
            "age": [None if i % 17 == 0 else int(a) for i, a in enumerate(rng.integers(20, 90, n))],
            "town": rng.choice(["a", "b", "c"], n),
            "sick": rng.random(n) < 0.5,
        }
    )
    original = sf.table(frame, quasi=frame.columns)
    masked = Step(sf.method("mondrian", k=5)).run(original, stream(0, 1, "x")).table
    found = attack(original, masked)
    assert 0 < found.value < 0.35
    labels = attack(original, masked, columns=("age",))
    assert labels.detail["naive_is"] == "a masked record guessed at random"


def test_bad_questions_are_refused() -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    original = numbers(x)
    with pytest.raises(MeasureError, match="no column 'v1'"):
        attack(original, original, numbers(x[:, :1]))
    with pytest.raises(MeasureError, match="no records"):
        attack(original, original, original.take(np.array([], dtype=np.int64)))
    with pytest.raises(MeasureError, match="not in both"):
        attack(original, original, columns=("age",))
    with pytest.raises(MeasureError, match="not positive"):
        attack(original, original, log=("v0",))


NOISE = {"distance": 0.90, "ambiguity": 0.97, "uncertainty": 0.76}
SPECTRAL = {"distance": 0.52, "ambiguity": 0.50, "uncertainty": 0.50}
"""The thesis' AUC."""


@pytest.fixture(scope="module")
def samples(shared_data: Callable[[str], Path]) -> list[pl.DataFrame]:
    adults = pl.read_csv(shared_data("nhanes") / "nhanes_adults_28.csv").drop("seqn")
    return [adults.sample(2000, seed=seed) for seed in range(5)]


def shown(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


@pytest.mark.golden
def test_noise_is_matched_and_the_intruder_knows_it(
    samples: list[pl.DataFrame], golden_record: Callable[[str, Any, Any], None]
) -> None:
    """Figure 4-4b, on another survey: 99 % correct, and distance and ambiguity tell."""
    method = sf.method("correlated-noise", amount=0.1)
    rates, plain, naive, found = [], [], [], []
    for seed, frame in enumerate(samples):
        # The thesis adds the noise to the logarithms.
        logs = frame.with_columns(pl.col(frame.columns[15:]).log())
        original = sf.table(logs, quasi=frame.columns)
        masked = method.mask(original, stream(seed, 1, "x")).table
        found.append(attack(original, masked, log="never"))
        rates.append(found[-1].value)
        if seed > 1:
            continue
        # Added to the numbers, it drowns the small values of skewed columns, whose logarithms then
        # mislead; by the numbers themselves nearly all are found.
        original = sf.table(frame, quasi=frame.columns)
        masked = method.mask(original, stream(seed, 1, "x")).table
        other = attack(original, masked, log="positive")
        plain.append(other.value)
        naive.append(other.detail["naive"])
    golden_record("match rate, noise b=0.1", 0.991, shown(rates))
    golden_record("match rate, noise b=0.1 on plain numbers", "-", shown(plain))
    golden_record("the same, naive match", "-", shown(naive))
    share = np.concatenate([one.private["share"] for one in found])
    pooled = {
        name: auc_of_small(np.concatenate([one.private[name] for one in found]), share)
        for name in NOISE
    }
    for name, printed in NOISE.items():
        golden_record(f"AUC by {name}, noise, five files", printed, round(pooled[name], 3))
    assert min(rates) > 0.95
    assert np.mean(plain) > 0.9
    assert min(naive) > 0.95
    assert (1 - share).sum() > 10
    assert pooled["distance"] == pytest.approx(0.90, abs=0.08)
    assert pooled["ambiguity"] == pytest.approx(0.97, abs=0.04)
    # Wrong matches lie where records are dense, and so are the five nearest: here a small
    # uncertainty betrays a wrong match, as it does in the thesis if 0.76 is of that direction.
    assert pooled["uncertainty"] < 0.4


@pytest.mark.golden
def test_spectral_groups_are_matched_by_chance_and_the_intruder_does_not_know(
    samples: list[pl.DataFrame], golden_record: Callable[[str, Any, Any], None]
) -> None:
    """Figure 4-4a: 8.5 % correct, indistinguishable from the others."""
    rates, strict, aucs = [], [], []
    step = Step(sf.method("spectral-rhs", k=5, log="positive"), Centroid(numeric="geometric"))
    for seed, frame in enumerate(samples):
        original = sf.table(frame, quasi=frame.columns)
        masked = step.run(original, stream(seed, 1, "x")).table
        found = attack(original, masked, log="positive", moments="original")
        rates.append(found.value)
        aucs.append(found.private["auc"])
        other = attack(original, masked, log="positive", moments="original", thresholded=True)
        strict.append(other.value)
    golden_record("match rate, SPECTRAL-RHS k=5", 0.085, shown(rates))
    golden_record("match rate, SPECTRAL-RHS k=5, thresholded", 0.085, shown(strict))
    for name in (*SPECTRAL, "all three"):
        values = [auc[name] for auc in aucs]
        golden_record(f"AUC by {name}, SPECTRAL-RHS", SPECTRAL.get(name, "-"), shown(values))
        assert np.mean(values) == pytest.approx(SPECTRAL.get(name, 0.5), abs=0.05)
    assert 0.05 < min(rates) < max(rates) < 0.12
    assert 0.04 < min(strict) < max(strict) < 0.12
