"""Stripping noise by principal components (`svd-filtering`)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.svd_filtering import SvdFiltering
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.kernels.spectral.noise_filter import spread_in_groups, strip_noise
from sfumato.methods.noise.additive import CorrelatedNoise, UncorrelatedNoise
from sfumato.methods.numeric.individual_ranking import IndividualRanking
from sfumato.methods.swapping.ranks import RankSwap
from sfumato.protocols import Context, Measurement, Method
from sfumato.risk.linkage.dbrl import Dbrl
from tests.oracle import noise_filter as oracle

COLUMNS = 15
FACTORS = 3


def people(n: int, seed: int = 0, factors: int = FACTORS) -> Table:
    """Fifteen columns that three factors make up, but for a little of their own."""
    loadings = np.random.default_rng(99).normal(size=(factors, COLUMNS))
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, factors)) @ loadings + 0.02 * rng.normal(size=(n, COLUMNS))
    names = [f"v{j}" for j in range(COLUMNS)]
    return table(pl.DataFrame(10 + 5 * x, schema=names), quasi=names)


def attack(
    original: Table,
    masked: Table,
    *steps: Method,
    reference: Table | None = None,
    **parameters: object,
) -> Measurement:
    context = Context(
        Pair.of(original, masked), np.random.default_rng(0), reference=reference, mechanism=steps
    )
    return SvdFiltering(**parameters).measure(context)


@pytest.mark.parametrize("rule", ["wiener", "components"])
def test_uncorrelated_noise_is_stripped(rule: str) -> None:
    original, step = people(800), UncorrelatedNoise(amount=0.1)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step, rule=rule, reference=people(800, seed=5))
    assert found.detail["gain"] > 0.08
    # Noise in 3 of 15 directions is left: sqrt(3 / 15) of the error.
    error = found.private["error"]
    assert error["released"] == pytest.approx(np.sqrt(0.1), rel=0.03)
    assert error["filtered"] < 1.15 * error["released"] * np.sqrt(FACTORS / COLUMNS)
    assert sum(share > 0.5 for share in found.detail["directions_kept"]) == FACTORS
    assert found.baseline == pytest.approx(1 / 800)
    assert 0 < found.detail["control"] < 0.5
    # Known to be so without the published steps: the same figures.
    again = attack(original, masked, amount=0.1, rule=rule)
    assert again.value == found.value


@pytest.mark.parametrize("restore", [True, False])
def test_correlated_noise_resists(restore: bool) -> None:
    """As Lasko says (2.3.1): noise that looks like the data has nothing to filter."""
    original, step = people(800), CorrelatedNoise(amount=0.1, restore=restore)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step)
    assert abs(found.detail["gain"]) < 0.02
    # What is left to win is a pull of all directions alike.
    error = found.private["error"]
    assert error["filtered"] == pytest.approx(np.sqrt(0.1 / 1.1), rel=0.05)
    assert len(set(found.detail["directions_kept"])) == 1


def test_columns_that_have_nothing_in_common_have_nothing_to_filter() -> None:
    rng = np.random.default_rng(0)
    names = [f"v{j}" for j in range(COLUMNS)]
    original = table(pl.DataFrame(rng.normal(size=(800, COLUMNS)), schema=names), quasi=names)
    step = UncorrelatedNoise(amount=0.1)
    found = attack(original, step.mask(original, rng).table, step)
    assert abs(found.detail["gain"]) < 0.02
    assert min(found.detail["directions_kept"]) > 0.8


def test_univariate_microaggregation_is_partly_undone() -> None:
    """Lasko only suspects it (2.3.4)."""
    original, step = people(800), IndividualRanking(k=80)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step)
    error = found.private["error"]
    assert error["filtered"] < 0.85 * error["released"]
    assert found.detail["gain"] > 0.02


def test_unknown_columns_help_to_filter() -> None:
    """Three columns are known, but the noise of the release is stripped by all fifteen."""
    original, step = people(800), UncorrelatedNoise(amount=0.05)
    masked = step.mask(original, np.random.default_rng(1)).table
    known = ("v0", "v1", "v2")
    found = attack(original, masked, step, columns=known)
    assert len(found.detail["filtered"]) == COLUMNS
    assert found.detail["columns"] == list(known)
    alone = step.mask(original.without([f"v{j}" for j in range(3, COLUMNS)]),
                      np.random.default_rng(1)).table  # fmt: skip
    few = attack(original.without([f"v{j}" for j in range(3, COLUMNS)]), alone, step)
    assert found.value > 2 * few.value


@given(st.integers(0, 2**32 - 1), st.sampled_from(["wiener", "components"]), st.integers(1, 6))
def test_the_filter_is_that_of_the_singular_value_decomposition(
    seed: int, rule: str, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(30, 2)) @ rng.normal(size=(2, columns)) + rng.normal(size=(30, columns))
    deviation = rng.uniform(0.2, 1.5, columns)
    expected = oracle.strip(y, deviation, rule)
    np.testing.assert_allclose(strip_noise(y, deviation, rule).values, expected, atol=1e-8)


def test_missing_values_stay_and_quiet_columns_are_left_alone() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=(50, 4))
    y[5, 1] = np.nan
    deviation = np.array([0.5, 0.5, 0.0, 0.5])
    found = strip_noise(y, deviation)
    assert np.isnan(found.values).tolist() == np.isnan(y).tolist()
    assert found.values[:, 2].tolist() == y[:, 2].tolist()
    assert found.kept.size == 3
    y[5, 1] = 0.0  # the input is not modified, and the missing value was read as no number
    assert np.isfinite(y).all()


def test_the_spread_within_groups_is_estimated_from_the_centroids() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 100, 2000)
    groups = np.argsort(np.argsort(x)) // 20
    means = np.bincount(groups, x) / np.bincount(groups)
    true = float(np.sqrt(np.mean((x - means[groups]) ** 2)))
    assert spread_in_groups(means[groups][:, None])[0] == pytest.approx(true, rel=0.1)
    assert spread_in_groups(np.ones((5, 1)))[0] == 0.0


def test_what_it_needs_is_said() -> None:
    original = people(40)
    with pytest.raises(MeasureError, match="one step of additive noise"):
        attack(original, original)
    step = UncorrelatedNoise(columns=("v3", "v4"))
    masked = step.mask(original, np.random.default_rng(0)).table
    with pytest.raises(MeasureError, match="no known column"):
        attack(original, masked, step, columns=("v0",))
    found = attack(original, masked, step)
    assert found.detail["columns"] == ["v3", "v4"]
    assert found.detail["equal"] == [f"v{j}" for j in range(COLUMNS) if j not in (3, 4)]


def test_exact_errors_are_not_published() -> None:
    original, step = people(60), UncorrelatedNoise(amount=0.1)
    found = attack(original, step.mask(original, np.random.default_rng(0)).table, step)
    assert "error" not in found.detail
    assert "error" not in found.public().detail
    assert not found.public().private


def mixed(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "income": np.exp(10 + 0.01 * age + 0.4 * rng.normal(size=n)),
            "zip": rng.choice(list("ABCD"), n),
        }
    )
    return table(frame, quasi=["age", "income", "zip"])


def test_columns_that_were_left_alone_are_used() -> None:
    original = mixed(300)
    step = UncorrelatedNoise(amount=0.5, columns=("income",))
    masked = step.mask(original, np.random.default_rng(2)).table
    found = attack(original, masked, step, reference=mixed(300, seed=1))
    assert found.detail["columns"] == ["income"]
    assert found.detail["equal"] == ["age", "zip"]
    assert "left_out" not in found.detail
    # By hand: of the records of the same age and zip the one whose income, pulled back, is nearest.
    share = 0.5 / 1.5 * 299 / 300  # of a variance that is estimated without bias
    x, y = original["income"].to_numpy(), masked["income"].to_numpy()
    guess = y.mean() + (y - y.mean()) * (1 - share)
    credit = []
    for i in range(300):
        alike = [
            j for j in range(300)
            if original["age"][i] == masked["age"][j] and original["zip"][i] == masked["zip"][j]
        ]  # fmt: skip
        apart = {j: (x[i] - guess[j]) ** 2 for j in alike}
        near = [j for j in alike if apart[j] <= min(apart.values()) * (1 + 1e-9)]
        credit.append((i in near) / len(near))
    assert found.value == pytest.approx(np.mean(credit))
    # Anybody would use them all, as distance-based linkage does.
    context = Context(Pair.of(original, masked), np.random.default_rng(0))
    assert found.detail["naive"] >= Dbrl().measure(context).value > 0.2
    assert found.detail["gain"] > 0.2
    # Most strangers have nobody of their age and place in the file.
    assert 0 < found.detail["control"] < 0.5


def test_columns_that_another_step_changed_count_as_they_are() -> None:
    original = mixed(300)
    step = UncorrelatedNoise(amount=0.1, columns=("income",))
    swap, rng = RankSwap(p=3, columns=("age",)), np.random.default_rng(2)
    masked = swap.mask(step.mask(original, rng).table, rng).table
    found = attack(original, masked, step, swap)
    assert found.detail["unfiltered"] == ["age"]
    assert found.detail["equal"] == ["zip"]
    alone = attack(original, masked, step, swap, columns=("income", "zip"))
    assert found.value > alone.value
    # Nothing is known to have been left alone where nobody says what was done.
    blind = attack(original, masked, amount=0.1)
    assert blind.detail["unfiltered"] == ["zip"]
    assert "equal" not in blind.detail
