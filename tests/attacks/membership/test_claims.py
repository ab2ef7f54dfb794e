"""From scores to claims: parts, thresholds, and what is told of them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.membership.claims import Parts, Threshold, claimed, order_statistic
from sfumato.errors import MeasureError
from tests.oracle import membership as oracle


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_have_the_greatest_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inside, outside = rng.integers(0, 6, 15) + rng.integers(-1, 2), rng.integers(0, 6, 11)
    found = Threshold.of(inside.astype(float), outside.astype(float))
    best, at = oracle.best_claims(inside.tolist(), outside.tolist())
    gain = found.claims(inside).mean() - found.claims(outside).mean()
    assert gain == pytest.approx(best)
    assert (int(found.sign), found.at) in at


def test_where_nothing_helps_nobody_is_claimed() -> None:
    same = np.ones(5)
    assert not Threshold.of(same, same).claims(same).any()


def test_everybody_is_attacked_once_and_never_by_a_threshold_of_their_own() -> None:
    parts = Parts.of(100, 80, np.random.default_rng(1))
    inside, outside = np.zeros(100, int), np.zeros(80, int)
    for fold in parts:
        inside += fold.inside
        outside += fold.outside
        assert not (fold.inside & fold.other_inside).any()
        used = fold.outside.astype(int) + fold.known + fold.other_outside
        assert (used == 1).all()
    assert (inside == 1).all()
    assert (outside == 1).all()
    with pytest.raises(MeasureError, match="cannot be split"):
        Parts.of(2, 80, np.random.default_rng(1))


def of_scores(inside: np.ndarray, outside: np.ndarray, seed: int = 0) -> object:
    parts = Parts.of(inside.size, outside.size, np.random.default_rng(seed))
    return claimed("x", parts, np.tile(inside, (3, 1)), np.tile(outside, (3, 1)))


def test_scores_that_tell_are_claimed_and_others_are_not() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=3000), rng.normal(size=3000)
    nothing = of_scores(*noise)
    low, high = nothing.advantage.interval
    assert low < 0 < high
    assert nothing.detail["auc"] == pytest.approx(0.5, abs=0.03)
    for sign in (1.0, -1.0):
        shifted = of_scores(sign * (noise[0] + 2.0), sign * noise[1])
        # Two normals two deviations apart: TPR - FPR is 2 Phi(1) - 1, the area Phi(sqrt(2)).
        assert shifted.advantage.value == pytest.approx(0.683, abs=0.03)
        assert shifted.detail["auc"] == pytest.approx(0.921, abs=0.01)
        told = shifted.detail["true positives at 1 %"]
        assert told["share"] == pytest.approx(0.372, abs=0.08)  # Phi(2 - 2.326)
        assert told["false"] == pytest.approx(0.01, abs=0.006)
        assert told["interval"][0] < told["share"] < told["interval"][1]


def test_rates_are_told_where_ten_false_positives_are_expected() -> None:
    def rates(controls: int) -> list[str]:
        rng = np.random.default_rng(0)
        found = of_scores(rng.normal(size=900), rng.normal(size=controls))
        return [key for key in found.detail if key.startswith("true")]

    assert rates(999) == []
    assert rates(1000) == ["true positives at 1 %"]
    assert rates(10_000) == ["true positives at 1 %", "true positives at 0.1 %"]


def test_the_order_statistic_is_exceeded_by_at_most_its_rate() -> None:
    rng = np.random.default_rng(0)
    for n in (100, 333, 1000):
        scores = rng.normal(size=n)
        at = order_statistic(scores, 0.01)
        assert (scores > at).sum() <= 0.01 * n
        assert at in scores


def test_some_may_be_left_out() -> None:
    rng = np.random.default_rng(0)
    whole = Parts.of(60, 60, rng)
    some = Parts(np.where(np.arange(60) < 30, whole.inside, -1), whole.outside)
    scores = np.tile(rng.normal(size=60), (3, 1))
    trial = claimed("x", some, scores, scores)
    assert trial.inside.size == 30
    assert trial.who is not None
    assert trial.who.tolist() == list(range(30))
    assert trial.outside.size == 60
