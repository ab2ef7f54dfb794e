"""Population uniqueness: every estimator on populations drawn from its own model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.criteria.classes import Grouping
from sfumato.criteria.people.population import PopulationUniqueness
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.kernels.statistics.population_uniqueness import (
    MODELS,
    dankar,
    estimate,
    frequencies,
    pitman_log_likelihood,
    pitman_uniques,
    snb_log_shares,
)
from tests.oracle import criteria as oracle


def _pitman_population(n: int, theta: float, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Seat people one by one: a new class with chance (theta + alpha u) / (theta + i)."""
    sizes, seat = [1], [0]
    for i in range(1, n):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + i):
            seat.append(len(sizes))
            sizes.append(1)
            continue
        while True:
            at = seat[int(rng.integers(i))]
            if rng.random() < (sizes[at] - alpha) / sizes[at]:
                break
        sizes[at] += 1
        seat.append(at)
    return np.array(seat)


def _sampled(seat: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Class sizes of a simple random sample, and the share of the population that is unique."""
    drawn = rng.choice(seat.size, int(seat.size * share), replace=False)
    sizes = np.bincount(seat[drawn])
    truth = float((np.bincount(seat) == 1).sum() / seat.size)
    return sizes[sizes > 0], truth


@pytest.mark.parametrize(("theta", "alpha", "share"), [(50, 0.5, 0.05), (20, 0.8, 0.3)])
def test_pitman_on_pitmans_populations(theta: float, alpha: float, share: float) -> None:
    found, truth = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        sizes, true = _sampled(_pitman_population(15_000, theta, alpha, rng), share, rng)
        found.append(estimate(sizes, share, "pitman").share)
        truth.append(true)
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.12)


@pytest.mark.parametrize(("r", "p", "share"), [(0.5, 0.1, 0.2), (2.0, 0.3, 0.3), (5.0, 0.5, 0.5)])
def test_snb_on_its_own_populations(r: float, p: float, share: float) -> None:
    found, truth = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        classes = 1 + rng.negative_binomial(r, p, 5000)
        sizes, true = _sampled(np.repeat(np.arange(5000), classes), share, rng)
        told = estimate(sizes, share, "snb")
        assert dict(told.parameters)["classes"] == pytest.approx(5000, rel=0.1)
        found.append(told.share)
        truth.append(true)
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.12)


def test_zayatz_where_the_sample_is_nearly_everybody() -> None:
    # Then the sample's class sizes are the population's, which is what the model supposes.
    rng = np.random.default_rng(3)
    classes = 1 + rng.negative_binomial(0.5, 0.1, 5000)
    sizes, truth = _sampled(np.repeat(np.arange(5000), classes), 0.95, rng)
    assert estimate(sizes, 0.95, "zayatz").share == pytest.approx(truth, rel=0.05)


def test_zayatz_is_bayes_rule() -> None:
    sizes = np.array([1, 1, 1, 2, 2, 5])
    n, total = 12, 48
    drawn = {j: stats.hypergeom(total, j, n).pmf(1) for j in (1, 2, 5)}
    certain = 3 * drawn[1] / (3 * drawn[1] + 2 * drawn[2] + drawn[5])
    assert estimate(sizes, 0.25, "zayatz").share == pytest.approx(3 * certain / n)


def test_pitmans_formula() -> None:
    # Ewens' formula is the limit alpha = 0: theta N / (theta + N - 1) classes of one.
    assert pitman_uniques(100, 7.0, 1e-9) == pytest.approx(7 * 100 / (7 + 99), rel=1e-6)
    # All partitions of three records, with how many ways there are: the chances add up to one.
    whole = 0.0
    for sizes, ways in (((1, 1, 1), 1), ((1, 2), 3), ((3,), 1)):
        whole += ways * np.exp(pitman_log_likelihood(*frequencies(np.array(sizes)), 2.0, 0.4))
    assert whole == pytest.approx(1.0)


def test_a_population_of_ewens() -> None:
    rng = np.random.default_rng(8)
    sizes, truth = _sampled(_pitman_population(15_000, 300.0, 0.0, rng), 0.1, rng)
    assert estimate(sizes, 0.1, "pitman").share == pytest.approx(truth, rel=0.2)


def test_the_slide_negative_binomial_is_a_distribution() -> None:
    chance, hidden = snb_log_shares(np.arange(1, 2000), 0.3, 0.7, 0.2)
    assert np.exp(chance).sum() + hidden == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    seen = rng.binomial(1 + rng.negative_binomial(0.7, 0.2, 200_000), 0.3)
    assert (seen == 0).mean() == pytest.approx(hidden, abs=0.005)
    assert (seen == 2).mean() == pytest.approx(np.exp(chance[1]), abs=0.005)


def test_who_is_not_alone_is_never_unique() -> None:
    for model in (*MODELS, "dankar"):
        assert estimate(np.array([2, 3, 9]), 0.1, model).share == 0.0
        # The whole population: no estimate is needed.
        assert estimate(np.array([1, 3]), 1.0, model).share == 0.25


def test_the_rule_of_dankar_picks() -> None:
    rng = np.random.default_rng(5)
    classes = 1 + rng.negative_binomial(0.5, 0.1, 3000)
    sizes, _ = _sampled(np.repeat(np.arange(3000), classes), 0.2, rng)
    each = {model: estimate(sizes, 0.2, model).share for model in MODELS}
    assert dankar(sizes, 0.2)[1].share == min(each["zayatz"], each["snb"])
    assert dankar(sizes, 0.05)[0] == "pitman"
    lone = np.ones(50, dtype=np.int64)
    assert dankar(lone, 0.05)[0] == "zayatz", "nothing to fit Pitman's parameters by"
    assert "alone" in estimate(lone, 0.05, "pitman").why_not
    with pytest.raises(ValueError, match="share"):
        estimate(sizes, 0.0, "pitman")


def test_the_criterion_counts_classes_itself() -> None:
    rng = np.random.default_rng(6)
    q = rng.geometric(0.05, 500).tolist()
    t = table({"q": q, "w": [10.0] * 500}, quasi=["q"], weight="w")
    sizes = np.array([len(rows) for rows in oracle.classes([(v,) for v in q]).values()])
    for model in ("dankar", *MODELS):
        found = PopulationUniqueness(at_most=0.01, model=model).check(t)
        assert found.value == pytest.approx(estimate(sizes, 0.1, model).share)
        assert found.detail["share"] == pytest.approx(0.1)
        kept = PopulationUniqueness(at_most=0.01, model=model).keeps(Grouping.published(t))
        assert kept.all() == found.met
        assert len(set(kept.tolist())) == 1
    given = PopulationUniqueness(at_most=0.01, share=0.5, model="zayatz").check(t)
    assert given.detail["share_from"] == "the given sampling share"


def test_a_model_without_an_answer_is_named() -> None:
    t = table({"q": list(range(30))}, quasi=["q"])
    with pytest.raises(MeasureError, match=r"snb model .* has no answer"):
        PopulationUniqueness(at_most=0.1, share=0.1, model="snb").check(t)
    assert PopulationUniqueness(at_most=1, share=0.1).check(t).detail["model"] == "zayatz"
    with pytest.raises(MeasureError, match="what share"):
        PopulationUniqueness(at_most=0.1).check(t)
