"""Nine families beside scipy, and what distortion by a fitted distribution keeps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.statistics.densities import FAMILIES, Fit, distribution, draw, fit, ks_distance
from sfumato.methods.numeric.distortion import (
    DistributionDistortion,
    Family,
    keep_most,
)
from sfumato.methods.recoding.global_recoding import GlobalRecoding
from tests.contract.tables import ordinary
from tests.oracle import densities as oracle
from tests.oracle.expectation import agree

TRUE: dict[str, dict[str, float]] = {
    "poisson": {"mean": 4.2},
    "exponential": {"mean": 3.0},
    "normal": {"mean": -5.0, "deviation": 2.0},
    "gamma": {"shape": 2.5, "scale": 1.5},
    "weibull": {"shape": 3.0, "scale": 4.0},
    "log-normal": {"mean": 1.0, "deviation": 0.8},
    "uniform": {"low": -1.0, "high": 5.0},
    "triangular": {"low": 0.0, "mode": 1.0, "high": 5.0},
    "chi-square": {"freedom": 7.0},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_beside_scipy(family: str) -> None:
    law = oracle.frozen(family, TRUE[family])
    x = np.linspace(-6.0, 12.0, 200)
    x = np.round(x) if family == "poisson" else x
    np.testing.assert_allclose(distribution(family, TRUE[family], x), law.cdf(x), atol=1e-12)
    drawn = draw(Fit(family, TRUE[family], 0.0), 20_000, np.random.default_rng(1))
    # Mean and spread within 4.9 standard errors: one false alarm in a million.
    assert abs(drawn.mean() - law.mean()) < 4.9 * law.std() / np.sqrt(drawn.size)
    fourth = float(law.stats("k")) + 3
    error = law.var() * np.sqrt((fourth - 1) / drawn.size)
    assert abs(drawn.var() - law.var()) < 4.9 * error


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_finds_itself(family: str) -> None:
    x = draw(Fit(family, TRUE[family], 0.0), 20_000, np.random.default_rng(2))
    (found,) = fit(x, (family,))
    for name, value in TRUE[family].items():
        assert found.parameters[name] == pytest.approx(value, abs=0.05 * max(1.0, abs(value)))
    if family not in (
        "weibull",
        "log-normal",
    ):  # by moments, or by likelihood that agrees with them
        law = oracle.frozen(family, found.parameters)
        assert law.mean() == pytest.approx(x.mean(), rel=1e-9)
    # Special cases of another family cannot be told from it; all others are further away.
    nested = {"exponential", "gamma", "weibull", "chi-square"}
    best = fit(x)[0].family
    assert best == family or {best, family} <= nested


def test_likelihood_is_at_its_maximum() -> None:
    rng = np.random.default_rng(3)
    for x in (rng.gamma(0.3, 2.0, 400), rng.gamma(40.0, 0.1, 400), rng.lognormal(0, 2, 400)):
        shape, _, scale = stats.gamma.fit(x, floc=0)
        (found,) = fit(x, ("gamma",))
        assert found.parameters["shape"] == pytest.approx(shape, rel=1e-5)
        assert found.parameters["scale"] == pytest.approx(scale, rel=1e-5)
        (found,) = fit(x, ("weibull",))
        c, s = found.parameters["shape"], found.parameters["scale"]
        law = stats.weibull_min
        best = law.logpdf(x, c, scale=s).sum()
        for other, wide in ((c * 1.01, s), (c / 1.01, s), (c, s * 1.01), (c, s / 1.01)):
            assert law.logpdf(x, other, scale=wide).sum() < best


numbers = st.lists(
    st.integers(0, 6).map(float) | st.floats(0.001, 50), min_size=3, max_size=25
).filter(lambda x: min(x) < max(x))


@given(numbers)
def test_the_distance_beside_the_oracle(values: list[float]) -> None:
    x = np.sort(np.array(values))
    found = fit(x)
    assert [one.distance for one in found] == sorted(one.distance for one in found)
    for one in found:
        expected = oracle.ks_distance(one.family, one.parameters, x)
        assert one.distance == pytest.approx(expected, abs=1e-9)
        assert ks_distance(one.family, one.parameters, x) == one.distance


@given(st.sampled_from([1e-300, 1e-150, 1e150, 1e300]))
def test_very_large_and_small_numbers(unit: float) -> None:
    x = np.random.default_rng(4).gamma(2.0, 1.0, 300)
    plain, scaled = (
        fit(x, ("gamma", "normal", "weibull")),
        fit(x * unit, ("gamma", "normal", "weibull")),
    )
    assert [one.family for one in plain] == [one.family for one in scaled]
    for one, other in zip(plain, scaled, strict=True):
        assert one.distance == pytest.approx(other.distance, rel=1e-6)


def test_ranks_are_kept_and_the_best_family_is_named() -> None:
    rng = np.random.default_rng(5)
    x = rng.lognormal(3, 0.5, 3000)
    y = np.log(x) + rng.normal(0, 0.3, 3000)
    table = sf.table({"x": x, "y": y}, confidential=["x", "y"])
    outcome = DistributionDistortion().mask(table, np.random.default_rng(0))
    masked = outcome.table["x"].to_numpy()
    assert (np.argsort(masked) == np.argsort(x)).all()
    assert not np.isin(masked, x).any()
    said = outcome.facts["fitted"]["x"]
    assert said["family"] == "log-normal"
    assert said["ks_distance"] == pytest.approx(fit(x)[0].distance, rel=0.005)
    before = stats.spearmanr(x, y).statistic
    assert stats.spearmanr(masked, outcome.table["y"]).statistic == pytest.approx(before)
    loose = DistributionDistortion(map=False).mask(table, np.random.default_rng(0)).table
    assert abs(stats.spearmanr(loose["x"], loose["y"]).statistic) < 4.9 / np.sqrt(3000)
    # The series itself is the same: mapping only rearranges it.
    assert np.allclose(np.sort(loose["x"].to_numpy()), np.sort(masked))


def test_ties_are_broken_at_random() -> None:
    table = sf.table({"x": [1.0] * 50 + [2.0] * 50, "z": range(100)}, confidential=["x"])
    total = np.zeros(100)
    for seed in range(200):
        out = DistributionDistortion(families=("normal",)).mask(table, np.random.default_rng(seed))
        values = out.table["x"].to_numpy()
        assert values[:50].max() <= values[50:].min()
        total += values
    first = total[:50] / 200
    # Each tied record gets any of the drawn values: their means differ by chance alone.
    assert first.std() < 0.1


@pytest.mark.statistical
def test_categories_are_drawn_by_frequency() -> None:
    rng = np.random.default_rng(6)
    n = 500
    table = sf.table(
        {
            "job": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "level": rng.choice(["low", "high"], n),
            "ok": rng.random(n) < 0.2,
        },
        kinds={"level": "ordinal"},
        categories={"level": ["low", "high"]},
        confidential=["job", "level", "ok"],
    )
    shares, draws = [], 400
    for seed in range(draws):
        out = DistributionDistortion().mask(table, np.random.default_rng(seed)).table
        shares.append(
            [(out["job"] == "c").mean(), (out["level"] == "low").mean(), out["ok"].mean()]
        )
        counts = [(out["job"] == v).sum() for v in "abc"]
        before = ["abc".index(v) for v in table["job"]]
        kept = (out["job"] == table["job"]).sum()
        assert kept == oracle.most_kept(before, counts)
        # Ordered categories are put in the order of the original ones.
        moved = {(a, b) for a, b in zip(table["level"], out["level"], strict=True) if a != b}
        assert len(moved) <= 1
    truth = [(table["job"] == "c").mean(), (table["level"] == "low").mean(), table["ok"].mean()]
    for mean, p in zip(np.mean(shares, axis=0), truth, strict=True):
        assert abs(mean - p) < 4.9 * np.sqrt(p * (1 - p) / (n * draws))
    assert np.std(shares, axis=0).min() > 0.005  # they are drawn, not copied


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_as_few_as_can_be_change(codes: list[int], data: st.DataObject) -> None:
    drawn = data.draw(st.permutations([*codes]).map(lambda c: [min(v + 1, 3) for v in c]))
    counts = np.bincount(drawn, minlength=4)
    before = np.array(codes)
    made = keep_most(before, np.bincount(codes, minlength=4), counts, np.random.default_rng(0))
    assert (np.bincount(made, minlength=4) == counts).all()
    assert (made == before).sum() == oracle.most_kept(codes, counts.tolist())


def test_missing_stays_missing_and_whole_stays_whole() -> None:
    table = ordinary(missing=True)
    for given_map in (True, False):
        outcome = DistributionDistortion(map=given_map).mask(table, np.random.default_rng(0))
        for name in ("age", "zip", "sex", "level", "pay", "illness"):
            missing = outcome.table[name].is_null()
            assert missing.equals(table[name].is_null().alias(name))
        assert outcome.table["age"].dtype.is_integer()
        assert any(warning.startswith("born") for warning in outcome.warnings)


def test_what_is_wrong_is_said() -> None:
    rng = np.random.default_rng(0)
    two_humps = sf.table(
        {"x": np.append(rng.normal(-9, 1, 200), rng.normal(9, 1, 200))}, confidential=["x"]
    )
    with pytest.raises(MethodError, match=r"more than 0\.05"):
        DistributionDistortion(worst=0.05).mask(two_humps, rng)
    with pytest.raises(MethodError, match="none of poisson"):
        DistributionDistortion(families=("poisson",)).mask(two_humps, rng)
    with pytest.raises(MethodError, match="10 records"):
        DistributionDistortion().mask(two_humps.take(np.arange(9)), rng)
    few = sf.table({"x": pl.Series([*np.arange(9.0), None, None])}, confidential=["x"])
    with pytest.raises(MethodError, match=r"'x' has 9 values.* would tell them"):
        DistributionDistortion().mask(few, rng)
    infinite = sf.table({"x": [1.0, 2.0, float("inf"), *range(9)]}, confidential=["x"])
    with pytest.raises(MethodError, match="infinite in row 3"):
        DistributionDistortion().mask(infinite, rng)
    same = sf.table({"x": [4.0] * 12}, confidential=["x"])
    outcome = DistributionDistortion().mask(same, rng)
    assert outcome.table["x"].to_list() == [4.0] * 12
    assert "fewer than two different values" in outcome.warnings[0]


def test_what_is_told_of_a_fit_does_not_tell_the_last_value() -> None:
    """Whoever knows nine of ten incomes has the tenth from an exact mean."""
    pay = np.round(np.random.default_rng(1).lognormal(10, 0.5, 10), 2)
    table = sf.table({"pay": pay}, confidential=["pay"])
    for family in ("normal", "gamma", "log-normal", "uniform", "triangular"):
        method = DistributionDistortion(families=(family,))
        said = method.mask(table, np.random.default_rng(0)).facts["fitted"]["pay"]
        (exact,) = fit(pay, (family,))
        for name, value in said["parameters"].items():
            assert value == float(f"{exact.parameters[name]:.3g}")
            assert value != exact.parameters[name]
        assert said["ks_distance"] == float(f"{exact.distance:.3g}")
    mean = DistributionDistortion(families=("normal",)).mask(table, np.random.default_rng(0))
    told = mean.facts["fitted"]["pay"]["parameters"]["mean"]
    assert abs(10 * told - pay[:9].sum() - pay[9]) > 10


@pytest.mark.parametrize("family", ["exponential", "normal", "gamma", "uniform", "triangular"])
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.statistical
def test_the_mean_of_whole_numbers_is_kept_in_expectation(family: Family, mapped: bool) -> None:
    """Rounding to the nearest would move the mean of small counts."""
    k = np.random.default_rng(1).geometric(0.6, 1000) - (family != "gamma")
    table = sf.table({"k": k}, confidential=["k"])
    method = DistributionDistortion(families=(family,), map=mapped)
    made = [method.mask(table, np.random.default_rng([2, seed])).table["k"] for seed in range(150)]
    assert all(one.dtype.is_integer() for one in made)
    agree(np.array([[one.mean()] for one in made]), np.array([k.mean()]))


def recoded_and_suppressed() -> sf.Table:
    rng = np.random.default_rng(0)
    table = sf.table(
        {"age": rng.integers(18, 90, 300), "zip": rng.choice(list("abcdefgh"), 300)},
        quasi=["age", "zip"],
    )
    table = GlobalRecoding(breaks={"age": (30, 50, 70)}).mask(table, rng).table
    gone = rng.random(300) < 0.2
    star, null = pl.Series(["*"]), pl.Series([None], dtype=pl.String)
    series = [
        table["age"].zip_with(pl.Series(~gone), star),
        table["zip"].zip_with(pl.Series(~gone), null),
    ]
    return table.with_columns(series, suppressed={"age": gone, "zip": gone})


@pytest.mark.parametrize("mapped", [True, False])
def test_suppressed_cells_stay_suppressed(mapped: bool) -> None:
    table = recoded_and_suppressed()
    for seed in range(3):
        made = DistributionDistortion(map=mapped).mask(table, np.random.default_rng(seed)).table
        for name in ("age", "zip"):
            before = table.suppressed(name)
            assert 0 < before.sum() < before.size
            assert (made.suppressed(name) == before).all()
            assert made[name].filter(before).equals(table[name].filter(before), null_equal=True)
            assert not made[name].filter(~before).equals(table[name].filter(~before))
