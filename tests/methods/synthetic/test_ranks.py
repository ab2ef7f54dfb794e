"""Gaussian copula and Latin hypercube: distributions and rank correlations, of any kind."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.methods.synthetic.ranks import GaussianCopula, LatinHypercube, RankSynthesizer
from tests.contract.tables import TABLES, ordinary
from tests.oracle import synthetic as oracle

BOTH = [GaussianCopula, LatinHypercube]
LATENT = np.array(
    [[1, 0.8, 0.5, -0.6], [0.8, 1, 0.3, -0.2], [0.5, 0.3, 1, 0], [-0.6, -0.2, 0, 1.0]]
)


def mixed(n: int, seed: int = 0) -> sf.Table:
    """A skewed number, a boolean, an ordinal and a category cut from one normal distribution, and a
    number that is likelier to be missing where the first is large."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4)) @ np.linalg.cholesky(LATENT).T
    score = z[:, 3] + rng.normal(size=n)
    letters = np.array(["q", "w", "e", "r"])[np.digitize(z[:, 3], [-1, 0, 1])]
    frame = pl.DataFrame(
        {
            "pay": np.exp(z[:, 0]),
            "owner": z[:, 1] > 0.7,
            "level": np.array(["low", "mid", "top"])[np.digitize(z[:, 2], [-0.5, 0.8])],
            "letter": letters,
            "score": np.where(rng.random(n) < stats.norm.cdf(z[:, 0] - 1), np.nan, score),
        }
    ).with_columns(pl.col("score").fill_nan(None))
    return sf.table(
        frame,
        kinds={"level": "ordinal"},
        categories={"level": ["low", "mid", "top"]},
        quasi=["pay", "owner", "level"],
        confidential=["letter", "score"],
    )


def numbers(table: sf.Table) -> np.ndarray:
    order = {"q": 0, "w": 1, "e": 2, "r": 3}
    return np.column_stack(
        [
            table["pay"].to_numpy(),
            table["owner"].to_numpy(),
            table["level"].to_physical().to_numpy(),
            [order[v] for v in table["letter"]],
        ]
    ).astype(float)


@pytest.mark.parametrize("method", BOTH)
def test_rank_correlations_and_distributions_are_kept(method: type[RankSynthesizer]) -> None:
    n = 20_000
    table = mixed(n)
    outcome = method().mask(table, np.random.default_rng(1))
    assert not outcome.linked
    before, after = numbers(table), numbers(outcome.table)
    gap = np.abs(stats.spearmanr(after).statistic - stats.spearmanr(before).statistic).max()
    # One draw: its own error is about 1/sqrt(n) = 0.007. The hypercube is refined.
    assert gap < (0.035 if method is GaussianCopula else 0.005)
    for j in range(4):
        assert stats.ks_2samp(before[:, j], after[:, j]).statistic < 0.02
    # Missing as often, and where it was.
    was, now = (t["score"].is_null().to_numpy() for t in (table, outcome.table))
    assert now.mean() == pytest.approx(was.mean(), abs=0.015)
    assert stats.spearmanr(after[:, 0], now).statistic == pytest.approx(
        stats.spearmanr(before[:, 0], was).statistic, abs=0.03
    )
    rest = [~t["score"].is_null().to_numpy() for t in (table, outcome.table)]
    assert stats.spearmanr(after[rest[1], 3], outcome.table["score"].drop_nulls()).statistic == (
        pytest.approx(
            stats.spearmanr(before[rest[0], 3], table["score"].drop_nulls()).statistic, abs=0.03
        )
    )


def test_spearman_of_the_copula_on_average() -> None:
    """Against the slow definition, by a z-test at 6 deviations over 300 draws of 60 records: the
    draws' rank correlations vary about that of the copula, whose R is the original's."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(2000, 2)) @ np.linalg.cholesky(LATENT[:2, :2]).T
    table = sf.table({"a": np.exp(z[:, 0]), "b": z[:, 1] ** 3}, quasi=["a", "b"])
    wanted = oracle.spearman(np.exp(z[:300, 0]).tolist(), (z[:300, 1] ** 3).tolist())
    assert wanted == pytest.approx(stats.spearmanr(z[:300]).statistic, abs=1e-12)
    made = GaussianCopula(records=60_000).mask(table, rng).table
    found = np.array(
        [
            stats.spearmanr(made["a"][i : i + 200], made["b"][i : i + 200]).statistic
            for i in range(0, 60_000, 200)
        ]
    )
    whole = stats.spearmanr(z).statistic
    # Spearman's r of n records is biased by about (r - tau)/n: allow 1/200 for it.
    assert abs(found.mean() - whole) < 6 * found.std() / np.sqrt(found.size) + 0.005


def test_ties_would_weaken_correlations_were_they_not_reckoned_with() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(30_000, 2)) @ np.linalg.cholesky(LATENT[:2, :2]).T
    x = (z > 0.5).astype(int)
    table = sf.table({"a": x[:, 0], "b": x[:, 1]}, quasi=["a", "b"])
    made = GaussianCopula().mask(table, rng).table
    found = np.corrcoef(made["a"], made["b"])[0, 1]
    wanted = np.corrcoef(x.T)[0, 1]
    assert found == pytest.approx(wanted, abs=0.03)
    assert 6 / np.pi * np.arcsin(2 * np.sin(np.pi * wanted / 6) / 2) == pytest.approx(wanted)
    assert wanted < 0.65 < 6 / np.pi * np.arcsin(0.4)  # far from what the normal pair has


def test_latin_hypercube_takes_every_stratum_once() -> None:
    table = mixed(500)
    printed = LatinHypercube(within="middle", tails=0).mask(table, np.random.default_rng(0)).table
    assert printed["pay"].sort().to_numpy() == pytest.approx(table["pay"].sort().to_numpy())
    assert sorted(printed["letter"]) == sorted(table["letter"])
    drawn = LatinHypercube().mask(table, np.random.default_rng(0)).table
    assert not np.isin(drawn["pay"].to_numpy(), table["pay"].to_numpy()).any()
    edges = np.quantile(table["pay"].to_numpy(), [0.25, 0.5, 0.75])
    assert np.bincount(np.digitize(drawn["pay"].to_numpy(), edges)) == pytest.approx(125, abs=1)


def test_refinement_is_reported_and_does_not_hurt() -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(400, 4)) @ np.linalg.cholesky(LATENT).T
    table = sf.table(
        {f"x{j}": np.exp(z[:, j]) for j in range(4)}, quasi=[f"x{j}" for j in range(4)]
    )
    rough = LatinHypercube(rounds=0).mask(table, np.random.default_rng(0))
    fine = LatinHypercube().mask(table, np.random.default_rng(0))
    assert fine.facts["largest gap of a rank correlation"] <= 1e-3
    assert rough.facts["largest gap of a rank correlation"] > 1e-3
    assert "refinement ended" in rough.warnings[0]
    assert not fine.warnings
    made = np.column_stack([fine.table[f"x{j}"] for j in range(4)])
    gap = np.abs(stats.spearmanr(made).statistic - stats.spearmanr(z).statistic).max()
    assert gap == pytest.approx(fine.facts["largest gap of a rank correlation"], abs=1e-9)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("name", [name for name in TABLES if name != "very wide"])
def test_any_table(method: type[RankSynthesizer], name: str) -> None:
    table = TABLES[name]()
    before = table.frame.clone()
    try:
        outcome = method(records=25).mask(table, np.random.default_rng(0))
    except SfumatoError as error:
        assert table.height < 3
        assert "needs 3 records" in str(error)
        return
    assert table.frame.equals(before)
    assert outcome.table.height == 25
    again = method(records=25).mask(table, np.random.default_rng(0)).table
    assert outcome.table.frame.equals(again.frame)
    for column in outcome.table.names:
        assert outcome.table[column].dtype == table[column].dtype
        assert outcome.table.schema[column] == table.schema[column]
    gone = [column for column in table.names if column not in outcome.table.names]
    assert all(any(column in warning for warning in outcome.warnings) for column in gone)


def test_extremes_are_nobodys_unless_asked_for() -> None:
    table = mixed(2000)
    top = table["pay"].max()
    assert not (GaussianCopula().mask(table, np.random.default_rng(0)).table["pay"] == top).any()
    plain = GaussianCopula(smooth=False).mask(table, np.random.default_rng(0)).table["pay"]
    assert np.isin(plain.to_numpy(), table["pay"].to_numpy()).all()


def test_categories_of_one_record_are_named() -> None:
    table = sf.table({"job": ["a"] * 9 + ["bishop"], "x": list(range(10))}, quasi=["job", "x"])
    outcome = GaussianCopula().mask(table, np.random.default_rng(0))
    assert any(w.startswith("job: some categories") for w in outcome.warnings)


def test_suppressed_cells_are_drawn_as_missing() -> None:
    table = ordinary()
    hidden = np.arange(60) < 20
    age = table["age"].zip_with(pl.Series(~hidden), pl.Series([None], dtype=pl.Int64))
    outcome = GaussianCopula(records=600).mask(
        table.with_columns([age], suppressed={"age": hidden}), np.random.default_rng(0)
    )
    assert not outcome.table.suppressed("age").any()
    assert outcome.table["age"].is_null().mean() == pytest.approx(1 / 3, abs=0.1)
