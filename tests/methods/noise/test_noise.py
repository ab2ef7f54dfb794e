"""Noise: what each method promises to keep, and how records fare against linkage.

What is kept in expectation is tested by many draws from one table: the mean over the draws must lie
within 5.5 standard errors, which chance alone breaks for fewer than one figure in a million.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import MethodError, ParameterError
from sfumato.methods.noise.additive import (
    ColouredMixtureNoise,
    CorrelatedNoise,
    DensityNoise,
    MixtureNoise,
    UncorrelatedNoise,
    random_frame,
)
from sfumato.methods.noise.multiplicative import MultiplicativeNoise
from sfumato.methods.noise.resampled import ResampledNoise
from sfumato.methods.noise.shape import shape_of
from sfumato.protocols import Context, Method
from sfumato.risk.linkage.nearest import RecordLinkage
from tests.oracle import noise as oracle
from tests.oracle.expectation import MOST_ERRORS, agree
from tests.oracle.methods import covariance

DRAWS = 150


def stream(seed: int) -> np.random.Generator:
    """Not the one that the data come from."""
    return np.random.default_rng([1, seed])


def people(n: int = 80, seed: int = 0) -> sf.Table:
    """Skewed, correlated, of very different sizes."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((n, 3)) @ np.array([[1, 0.8, 0.3], [0, 0.6, -0.5], [0, 0, 0.8]])
    return sf.table(
        {"a": np.exp(base[:, 0]), "b": 1e6 * base[:, 1] + 2e6, "c": 1e-4 * base[:, 2]},
        confidential=["a", "b", "c"],
    )


def matrix(table: sf.Table) -> np.ndarray:
    return table.frame.to_numpy()


def draws(method: Method, table: sf.Table, of: int = DRAWS) -> list[sf.Table]:
    return [method.mask(table, stream(seed)).table for seed in range(of)]


def each(tables: list[sf.Table], statistic: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return np.array([statistic(matrix(table)) for table in tables])


B = 0.5
WITH_ITS_COVARIANCE = [
    CorrelatedNoise(amount=B),
    ResampledNoise(amount=B),
    MixtureNoise(amount=B, frames=2),
    ColouredMixtureNoise(amount=B, pairs=2),
]
names = lambda method: method.name  # noqa: E731


@pytest.mark.parametrize("method", WITH_ITS_COVARIANCE, ids=names)
@pytest.mark.parametrize("restore", [True, False])
@pytest.mark.statistical
def test_means_and_covariances_in_expectation(method: Method, restore: bool) -> None:
    method = method.model_copy(update={"restore": restore})
    table = people()
    x = matrix(table)
    made = draws(method, table)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    factor = 1.0 if restore else 1 + B
    agree(each(made, covariance), factor * covariance(x))


def test_uncorrelated_noise_widens_the_variances_alone() -> None:
    table, method = people(), UncorrelatedNoise(amount=B)
    x = matrix(table)
    wanted = covariance(x) + B * np.diag(np.diag(covariance(x)))
    made = draws(method, table)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    agree(each(made, covariance), wanted)


def test_density_noise_widens_the_variances_by_what_it_says() -> None:
    table, method = people(), DensityNoise(neighbours=3)
    x = matrix(table)
    told = method.mask(table, stream(0)).facts["relative_variance"]
    z = (x - x.mean(0)) / x.std(0, ddof=1)
    wide = np.maximum(np.array(oracle.kth_distance(z, 3)) / np.sqrt(3), method.floor)
    assert told == pytest.approx([np.mean(wide**2)] * 3)
    wanted = covariance(x) + np.diag(told) * np.diag(np.diag(covariance(x)))
    made = draws(method, table)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    agree(each(made, covariance), wanted)
    # And each record by its own distance.
    moved = each(made, lambda y: (((y - x) / x.std(0, ddof=1)) ** 2).mean(axis=1))
    agree(moved, wide**2)


def test_density_noise_moves_duplicates_too() -> None:
    table = sf.table({"x": [1.0] * 10 + [5.0] * 10 + [90.0]}, quasi=["x"])
    out = DensityNoise().mask(table, stream(0)).table["x"]
    assert out.n_unique() == 21


@pytest.mark.parametrize("seed", range(3))
def test_mixture_components_have_the_mean_and_covariance_they_must(seed: int) -> None:
    """Exactly, not only in the long run: the sum over the components, added up one by one."""
    b, within, rank = 0.3, 0.2, 4
    frame = random_frame(rank, np.random.default_rng(seed))
    means = [s * np.sqrt(rank * (b - within * b)) * q for q in frame for s in (1, -1)]
    mean = sum(means) / len(means)
    spread = sum(np.outer(mu - mean, mu - mean) for mu in means) / len(means)
    assert mean == pytest.approx(np.zeros(rank))
    assert spread + within * b * np.eye(rank) == pytest.approx(b * np.eye(rank))
    assert [np.linalg.norm(mu) for mu in means] == pytest.approx([np.sqrt(rank * b * 0.8)] * 8)


def test_mixture_noise_lies_around_its_means_and_away_from_zero() -> None:
    table = people(3000)
    x = matrix(table)
    plain, mixed = (
        oracle.whitened(matrix(m.mask(table, stream(1)).table) - x, x)
        for m in (CorrelatedNoise(amount=B, restore=False), MixtureNoise(amount=B, restore=False))
    )
    short = [(np.linalg.norm(e, axis=1) < 0.5 * np.sqrt(3 * B)).mean() for e in (plain, mixed)]
    assert short[1] < 0.15 * short[0]


def test_coloured_noise_has_the_mixture_it_says() -> None:
    """Undone by the symmetric root, each element lies near one of its means."""
    table, method = people(4000), ColouredMixtureNoise(amount=B, restore=False, within=0.01)
    x = matrix(table)
    e = (matrix(method.mask(table, stream(0)).table) - x) / x.std(0, ddof=1)
    values, vectors = np.linalg.eigh(np.corrcoef(x.T))
    s = e @ (vectors / np.sqrt(values)) @ vectors.T / np.sqrt(B)
    off = np.abs(np.abs(s) - np.sqrt(0.99))
    assert off.max() < 0.1 * 6
    assert off.std() < 0.1
    three = ColouredMixtureNoise(pairs=3, within=0.3).means
    assert np.mean(three**2) + 0.3 == pytest.approx(1)
    assert three[1:] / three[0] == pytest.approx([4 / 3, 5 / 3])


@pytest.mark.parametrize("closeness", [0.3, 0.75, 0.95])
def test_resampled_noise_is_never_short_and_has_its_variance(closeness: float) -> None:
    table = people(20_000)
    x = matrix(table)
    method = ResampledNoise(amount=B, restore=False, closeness=closeness)
    outcome = method.mask(table, stream(0))
    length = np.linalg.norm(oracle.whitened(matrix(outcome.table) - x, x), axis=1)
    assert length.min() >= closeness * np.sqrt(3 * B) * (1 - 1e-9)
    assert length.min() < closeness * np.sqrt(3 * B) * 1.01
    error = (length**2).std() / np.sqrt(length.size)
    assert abs((length**2).mean() - 3 * B) < MOST_ERRORS * error
    assert outcome.facts["relative_variance"] == pytest.approx((length**2).mean() / 3)
    assert 0 < outcome.facts["redrawn_share"] < 1


def test_resampled_noise_leaves_equivalents_or_says_where_it_does_not() -> None:
    table = people(150)
    x = oracle.whitened(matrix(table), matrix(table))
    for rounds in (1, 30):
        method = ResampledNoise(amount=B, restore=False, equivalents=3, rounds=rounds)
        outcome = method.mask(table, stream(0))
        masked = oracle.whitened(matrix(outcome.table), matrix(table))
        lacking = [count < 3 for count in oracle.equivalents(x, masked)]
        assert outcome.facts["without_equivalents_share"] == pytest.approx(np.mean(lacking))
        said = [w for w in outcome.warnings if f"{sum(lacking)} of 150" in w]
        assert len(said) == any(lacking)
    before = CorrelatedNoise(amount=B, restore=False).mask(table, stream(0)).table
    plain = oracle.equivalents(x, oracle.whitened(matrix(before), matrix(table)))
    # Outliers remain: no draw that is likely brings others as near to them.
    assert np.mean(lacking) < 0.8 * np.mean([count < 3 for count in plain])


@pytest.mark.statistical
def test_resampling_for_equivalents_keeps_means_and_covariances() -> None:
    """By the relative variance that it reports; only the length of the noise is chosen."""
    table = people()
    x = matrix(table)
    method = ResampledNoise(amount=B, equivalents=2, rounds=5)
    made = draws(method, table)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    agree(each(made, covariance), covariance(x))


@pytest.fixture(scope="module")
def census(shared_data: Callable[[str], Path]) -> sf.Table:
    frame = pl.read_csv(shared_data("casc") / "census.csv")
    return sf.table(frame, quasi=frame.columns)


@pytest.mark.parametrize("columns", [4, 7])
def test_on_census_noise_that_is_never_small_links_less(census: sf.Table, columns: int) -> None:
    """Lasko 2.3.1: row resampling and mixtures link less than plain correlated noise does."""
    chosen = tuple(census.names[:columns])

    def linked(method: Method) -> float:
        shares = []
        for seed in range(3):
            pair = Pair.of(census, method.mask(census, stream(seed)).table)
            context = Context(pair, np.random.default_rng(0))
            shares.append(RecordLinkage(columns=chosen).measure(context).value)
        return float(np.mean(shares))

    plain = linked(CorrelatedNoise(amount=0.5, columns=chosen))
    assert linked(ResampledNoise(amount=0.5, columns=chosen)) < 0.85 * plain
    assert linked(ResampledNoise(amount=0.5, columns=chosen, equivalents=3)) < 0.75 * plain
    assert linked(MixtureNoise(amount=0.5, columns=chosen)) < 0.85 * plain


@pytest.mark.parametrize("factor", ["lognormal", "gamma", "uniform", "truncated"])
def test_factors_have_mean_one_and_their_variance(factor: str) -> None:
    table = sf.table({"x": np.ones(200_000)}, quasi=["x"])
    method = MultiplicativeNoise(factor=factor, amount=0.05)
    e = method.mask(table, stream(0)).table["x"].to_numpy()
    assert e.min() > 0
    assert abs(e.mean() - 1) < MOST_ERRORS * e.std() / np.sqrt(e.size)
    squares = (e - 1) ** 2
    assert abs(squares.mean() - 0.05) < MOST_ERRORS * squares.std() / np.sqrt(e.size)


def test_multiplied_moments() -> None:
    """Means and covariances between columns are kept, second moments grow by 1 + s2."""
    table, method = people(), MultiplicativeNoise(amount=0.1)
    x = matrix(table)
    made = draws(method, table)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    wanted = covariance(x) + 0.1 * np.diag((x**2).mean(axis=0))
    agree(each(made, covariance), wanted)


def test_correlated_factors_follow_the_logarithms_and_keep_means() -> None:
    table = people(60)
    table = table.with_columns([(table["b"].abs() + 1).alias("b"), (table["c"].abs()).alias("c")])
    x = matrix(table)
    method = MultiplicativeNoise(amount=0.3, correlated=True)
    made = draws(method, table)
    agree(each(made, lambda y: y.mean(axis=0)), x.mean(axis=0))
    noise = covariance(np.log(x)) * 0.3
    agree(each(made, lambda y: covariance(np.log(y / x))), noise)


def test_multiplicative_noise_says_what_it_cannot_do() -> None:
    table = sf.table({"a": [1.0, 2.0, 3.0], "x": [5.0, 0.0, 2.0]}, quasi=["a", "x"])
    with pytest.raises(MethodError, match="column 'x' is 0 in row 2"):
        MultiplicativeNoise(correlated=True).mask(table, stream(0))
    assert any(
        "zeros stay zero" in w for w in MultiplicativeNoise().mask(table, stream(0)).warnings
    )
    for wrong in (
        {"factor": "uniform", "amount": 0.34},
        {"factor": "truncated", "amount": 0.2},
        {"factor": "gamma", "correlated": True},
    ):
        with pytest.raises(ParameterError):
            MultiplicativeNoise.build(wrong)


def test_exact_relations_survive_correlated_noise() -> None:
    """Census has PTOTVAL = POTHVAL + PEARNVAL."""
    rng = np.random.default_rng(0)
    a, c = rng.normal(0, 1e6, 500), rng.normal(0, 10.0, 500)
    table = sf.table({"a": a, "c": c, "sum": a + c}, confidential=["a", "c", "sum"])
    for method in (CorrelatedNoise(amount=0.5), MixtureNoise(), ColouredMixtureNoise()):
        out = method.mask(table, rng).table.frame
        assert (out["sum"] - out["a"] - out["c"]).abs().max() < 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("method", [*WITH_ITS_COVARIANCE[1:], DensityNoise()], ids=names)
def test_tiny_and_huge_numbers_get_their_noise(method: Method, scale: float) -> None:
    x = np.random.default_rng(0).normal(0, 1, 50)
    table = sf.table({"x": x * scale, "y": x**2}, quasi=["x", "y"])
    out = method.mask(table, stream(0)).table["x"].to_numpy() / scale
    plain = sf.table({"x": x, "y": x**2}, quasi=["x", "y"])
    wanted = method.mask(plain, stream(0)).table["x"].to_numpy()
    assert np.corrcoef(out - x, wanted - x)[0, 1] == pytest.approx(1)
    assert np.std(out - x) == pytest.approx(np.std(wanted - x), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("method", [UncorrelatedNoise(amount=B), CorrelatedNoise(amount=B)])
def test_tiny_and_huge_numbers_get_noise_of_their_width(method: Method, scale: float) -> None:
    """Other numbers than those of other widths: with the same, two releases would tell x."""
    x = np.random.default_rng(0).normal(0, 1, 20_000)
    table = sf.table({"x": x * scale, "y": x**2}, quasi=["x", "y"])
    out = method.mask(table, stream(0)).table["x"].to_numpy() / scale
    away = out * (np.sqrt(1 + B) if isinstance(method, CorrelatedNoise) else 1.0) - x
    error = np.sqrt(B) * x.std() / np.sqrt(2 * x.size)
    assert abs(away.std() - np.sqrt(B) * x.std()) < MOST_ERRORS * error
    plain = sf.table({"x": x, "y": x**2}, quasi=["x", "y"])
    other = method.mask(plain, stream(0)).table["x"].to_numpy() - x
    assert abs(np.corrcoef(away, other)[0, 1]) < 0.5


def test_what_is_left_alone_is_said() -> None:
    table = sf.table(
        {"flag": [0, 1] * 30, "same": [4.0] * 60, "x": np.arange(60.0)},
        quasi=["flag", "same", "x"],
    )
    warnings = CorrelatedNoise(amount=0.05).mask(table, stream(0)).warnings
    assert any("same was left as it is" in w for w in warnings)
    assert any("flag was left as it is" in w for w in warnings)
    flags = CorrelatedNoise(amount=0.5).mask(table, stream(0)).warnings
    assert any("flag: more than half of its values are unchanged" in w for w in flags)
    holes = sf.table(
        {
            "a": [1.0, 2, 3, None, None, None, 1, 2, 3],
            "b": [1.0, 2, 3, 1, 2, 3, None, None, None],
            "c": [None, None, None, 1.0, 2, 3, 3, 2, 1],
        },
        quasi=["a", "b", "c"],
    )
    said = CorrelatedNoise().mask(holes, stream(0)).warnings
    assert any("fit no data" in w for w in said)
    shape = shape_of(holes.frame.to_numpy())
    assert (shape.root**2).sum(axis=1) == pytest.approx(np.ones(3))
