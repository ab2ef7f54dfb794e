"""What an attack gains, and how sure that is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from sfumato.attacks.controlled import leaking
from sfumato.kernels.statistics.advantage import Advantage, advantage, holm, wilson
from tests.oracle.advantage import all_rejected, plain

errors = st.floats(1e-4, 0.2)
values = st.floats(-0.5, 0.5)


@pytest.mark.parametrize("claims", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_of_many_it_is_the_plain_quotient(seed: int, claims: bool) -> None:
    rng = np.random.default_rng(seed)
    inside = (rng.random(200_000) < rng.uniform(0.2, 0.9)).astype(float)
    outside = (rng.random(150_000) < rng.uniform(0.2, 0.8)).astype(float)
    found = advantage(inside, outside, claims=claims)
    value, error = plain(inside, outside, claims=claims)
    assert found.value == pytest.approx(value, abs=2e-4)
    assert found.error == pytest.approx(error, rel=2e-3)


def test_what_never_succeeded_is_not_known_to_be_impossible() -> None:
    found = advantage(np.zeros(100), np.zeros(100))
    assert found.value == 0.0
    assert 0.01 < found.upper() < 0.05


@given(st.integers(0, 40), st.integers(40, 80))
def test_wilson_is_the_solution_of_its_equation(hits: int, n: int) -> None:
    z = 1.959963984540054
    centre, half = wilson(hits, n)
    for end in (centre - half, centre + half):
        assert (hits / n - end) ** 2 == pytest.approx(z * z * end * (1 - end) / n, abs=1e-9)


@given(st.lists(st.tuples(values, errors), min_size=1, max_size=8), st.floats(0.01, 0.3))
def test_all_bounds_keep_the_limit_just_where_holm_rejects_all(
    found: list[tuple[float, float]], limit: float
) -> None:
    bounds = holm([Advantage(0.0, 0.0, v, e) for v, e in found], limit)
    if min(abs(bound - limit) for bound in bounds) > 1e-9:
        assert (max(bounds) <= limit) == all_rejected(found, limit)


def _tries(seed: int, n: int, easy: float, gain: float) -> tuple[np.ndarray, ...]:
    """Successes that are mostly those of an easy guess, inside with a little more."""
    rng = np.random.default_rng(seed)
    guess = [(rng.random(n) < easy).astype(float) for _ in range(2)]
    flip = [rng.random(n) < 0.1 for _ in range(2)]
    own = [np.where(f, (rng.random(n) < 0.5), g) for f, g in zip(flip, guess, strict=True)]
    own[0] = np.where(rng.random(n) < gain, 1.0, own[0])
    return own[0], own[1], guess[0], guess[1]


def test_what_is_easy_anyway_is_taken_out_of_the_error() -> None:
    inside, outside, *easy = _tries(0, 5_000, 0.8, 0.0)
    bare, less = advantage(inside, outside), advantage(inside, outside, *easy)
    assert less.error < 0.6 * bare.error


@pytest.mark.parametrize("gain", [0.0, 0.05])
def test_the_bound_fails_as_rarely_as_it_says(gain: float) -> None:
    """Of 400 repetitions the one-sided 95 % bound lies below the truth in about 20."""
    easy, below = 0.8, 0
    truth_out = 0.9 * easy + 0.05
    truth = gain * (1 - truth_out) / (1 - truth_out)
    for seed in range(400):
        found = advantage(*_tries(seed, 2_000, easy, gain))
        below += found.upper() < truth
    assert below <= 33  # the 99.8 % point of a binomial with 400 and 0.05


@pytest.mark.parametrize("gain", [0.0, 0.05])
def test_the_bound_fails_as_rarely_with_two_variates(gain: float) -> None:
    """A naive guess, and how hard each is, in shades: both are taken out of the error."""
    below, errors = 0, []
    for seed in range(400):
        rng = np.random.default_rng([1, seed])
        # Known of each: how easy they are; the naive guess and the attack follow it alike.
        ease = [rng.beta(2.0, 1.0, 2_000) for _ in range(2)]
        naive = [(rng.random(2_000) < 0.5 * e).astype(float) for e in ease]
        own = [(rng.random(2_000) < e).astype(float) for e in ease]
        own[0] = np.where(rng.random(2_000) < gain, 1.0, own[0])
        bare = advantage(*own, *naive)
        found = advantage(*own, *naive, hard=(ease[0], ease[1]))
        errors.append(found.error / bare.error)
        below += found.upper() < gain
    assert below <= 33  # the 99.8 % point of a binomial with 400 and 0.05
    assert np.mean(errors) < 0.95


@pytest.mark.parametrize("m", [2_000, 20_000])
@pytest.mark.parametrize("share", [0.9, 0.98])
def test_the_bound_holds_where_variates_say_nearly_everything(share: float, m: int) -> None:
    """Of those whom nobody guesses by other people's records 6 % are guessed inside."""
    below, above = 0, 0
    for seed in range(300):
        rng = np.random.default_rng([2, seed])
        hard = [(rng.random(size) < share).astype(float) for size in (2_000, m)]
        own = [np.where(rng.random(one.size) < 0.001, 1.0 - one, one) for one in hard]
        own[0] = np.where(rng.random(2_000) < 0.06, 1.0, own[0])
        found = advantage(own[0], own[1], hard=(hard[0], hard[1]))
        below += found.upper() < 0.06
        above += found.lower() > 0.06
    # Beyond the 99.9 % point of a binomial with 300 and 0.05 by what normal errors are off.
    assert below <= 34
    assert above <= 34


def test_the_error_is_that_of_the_quotient_where_slopes_differ() -> None:
    """A leak of all that are easy: the slopes of both sides have little in common."""
    found = []
    for seed in range(400):
        rng = np.random.default_rng([3, seed])
        hard = [(rng.random(size) < 0.5).astype(float) for size in (2_000, 8_000)]
        own = [hard[0], hard[1] * (rng.random(8_000) < 0.5)]
        one = advantage(own[0], own[1], hard=(hard[0], hard[1]))
        found.append((one.value, one.error))
    values, errors = np.array(found).T
    assert errors.mean() == pytest.approx(values.std(), rel=0.12)


def test_how_hard_it_is_counts_for_nothing_where_the_two_groups_are_not_alike() -> None:
    own, others, *easy = _tries(6, 3_000, 0.7, 0.02)
    hard = easy[0].copy()
    hard[np.flatnonzero(hard == 0)[:200]] = 1.0
    bare = advantage(own, others)
    assert advantage(own, others, hard=(hard, easy[1])) == bare
    assert advantage(own, others, hard=(easy[0], easy[1])).error < 0.7 * bare.error


def test_variates_that_say_the_same_are_one() -> None:
    own, others, *easy = _tries(5, 3_000, 0.7, 0.02)
    one = advantage(own, others, *easy)
    both = advantage(own, others, *easy, hard=(easy[0], easy[1]))
    assert (both.value, both.error) == pytest.approx((one.value, one.error), rel=1e-3)
    assert advantage(own, others, hard=(easy[0], easy[1])).counts is not None


def test_what_the_naive_guess_gets_may_count_for_nothing() -> None:
    """A guess that knows who is in the data: only what is got beyond it is an advantage."""
    rng = np.random.default_rng(3)
    easy = (rng.random(4000) < 0.4) * 1.0, (rng.random(3000) < 0.1) * 1.0
    same = advantage(*easy, *easy, beyond=True)
    assert same.value == pytest.approx(0.0, abs=0.002)
    assert same.error > 0.0
    better = np.maximum(easy[0], rng.random(4000) < 0.3)
    found = advantage(better, easy[1], *easy, beyond=True)
    # Three tenths of the others are learnt: of what was left, as they are shared between both.
    assert found.inside - found.outside == pytest.approx(0.3 * 0.6, abs=0.02)


def test_the_error_of_what_is_got_beyond_it_is_that_of_the_difference() -> None:
    """Of guesses that are better inside by as much as the naive ones are."""
    rng = np.random.default_rng(4)
    values = []
    for _ in range(400):
        easy = (rng.random(300) < 0.5) * 1.0, (rng.random(300) < 0.2) * 1.0
        guesses = (rng.random(300) < 0.6) * 1.0, (rng.random(300) < 0.3) * 1.0
        one = advantage(*guesses, *easy, beyond=True)
        values.append((one.value, one.error))
    spread, errors = np.std([v for v, _ in values]), np.mean([e for _, e in values])
    assert np.mean([v for v, _ in values]) == pytest.approx(0.0, abs=0.02)
    assert errors == pytest.approx(spread, rel=0.2)


def test_what_is_extrapolated_is_known_no_better_than_it_is_told() -> None:
    inside, outside = np.repeat([0.0, 1.0], [90, 10]), np.repeat([0.0, 4.0, -0.1], [80, 4, 16])
    plain, told = advantage(inside, outside), advantage(inside, outside, least=0.2)
    assert told.value == plain.value
    assert told.error > 0.2 * (1 - told.inside) > plain.error
    assert advantage(inside, -outside, least=0.2).outside == 0.0


@pytest.mark.parametrize(
    ("hits", "n", "others", "m"), [(9, 10, 4, 12), (0, 5, 3, 5), (98, 99, 90, 99)]
)
def test_the_chance_is_that_of_the_exact_test(hits: int, n: int, others: int, m: int) -> None:
    found = advantage(np.arange(n) < hits, np.arange(m) < others)
    exact = fisher_exact([[hits, n - hits], [others, m - others]], alternative="greater")
    assert found.chance == pytest.approx(exact.pvalue)
    shared = advantage(np.full(n, 0.5), np.full(m, 0.25))
    assert shared.counts == (n // 2, n, -(-m // 4), m)
    assert advantage(np.ones(n), np.ones(m), np.ones(n), np.ones(m)).counts is None


@pytest.mark.parametrize("share", [0.02, 0.95, 0.99])
def test_what_is_no_leak_is_rarely_called_one(share: float) -> None:
    """By normal errors alone it is up to 9 % of the time."""
    rng, n, wrong = np.random.default_rng(0), 100, 0
    for _ in range(1_000):
        found = advantage((rng.random(n) < share) * 1.0, (rng.random(n) < share) * 1.0)
        wrong += leaking({0: found})[0] > 0.0
    assert wrong <= 60
