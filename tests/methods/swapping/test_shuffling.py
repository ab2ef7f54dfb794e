"""Data shuffling: values kept, rank correlations kept, nothing told beyond what is given."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.methods.swapping.data_shuffling import DataShuffling
from tests.oracle import swapping as oracle

RARE = 1e-6
"""The false-alarm rate of a statistical test."""


def normal_columns(n: int, rng: np.random.Generator) -> np.ndarray:
    """Two confidential columns and one that is known, with odd marginals."""
    z = rng.multivariate_normal(np.zeros(3), [[1, 0.6, 0.7], [0.6, 1, 0.4], [0.7, 0.4, 1]], n)
    return np.column_stack([np.exp(z[:, 0]), z[:, 1] ** 3, stats.norm.cdf(z[:, 2])])


def as_table(x: np.ndarray) -> sf.Table:
    return sf.table(
        {"a": x[:, 0], "b": x[:, 1], "s": x[:, 2]}, confidential=["a", "b"], quasi=["s"]
    )


def shuffled(method: DataShuffling, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return method.mask(as_table(x), rng).table.frame.select("a", "b", "s").to_numpy()


@pytest.mark.parametrize("given", [None, ()])
def test_shuffling_keeps_rank_correlations(given: tuple[str, ...] | None) -> None:
    """In expectation up to 1/n: with the given column, and among the shuffled ones."""
    rng = np.random.default_rng(11)
    n, draws = 1500, 60
    changes = []
    for _ in range(draws):
        x = normal_columns(n, rng)
        y = shuffled(DataShuffling(given=given), x, rng)
        before, after = (stats.spearmanr(v).statistic for v in (x, y))
        changes.append((after - before)[np.triu_indices(3, 1)])
    mean, error = np.mean(changes, axis=0), np.std(changes, axis=0) / np.sqrt(draws)
    allowed = stats.norm.isf(RARE / 2) * error + 2 / n
    assert abs(mean[0]) < allowed[0]
    if given is None:
        assert (np.abs(mean) < allowed).all()
    else:
        # Nothing given: no relation with the column that stays is left.
        assert mean[1] < -0.6


def test_shuffled_values_tell_nothing_beyond_what_is_given() -> None:
    """Given s, the shuffled a is independent of the original a: their partial correlation is 0."""
    rng = np.random.default_rng(12)
    found = []
    for _ in range(60):
        x = normal_columns(800, rng)
        y = shuffled(DataShuffling(), x, rng)
        scores = [stats.norm.ppf(stats.rankdata(v) / 801) for v in (x[:, 0], y[:, 0], x[:, 2])]
        r = np.corrcoef(scores)
        top = r[0, 1] - r[0, 2] * r[1, 2]
        found.append(top / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found)) < stats.norm.isf(RARE / 2) * error + 2 / 800


def test_shuffling_beside_the_oracle() -> None:
    """One column, one given: draws by hand, values by rank."""
    rng = np.random.default_rng(13)
    x = normal_columns(60, rng)[:, [0, 2]]
    table = sf.table({"a": x[:, 0], "s": x[:, 1]}, confidential=["a"], quasi=["s"])
    found = DataShuffling().mask(table, np.random.default_rng(2)).table["a"].to_list()
    again = np.random.default_rng(2)
    again.permutation(60), again.permutation(60)  # for the ties of the two columns
    noise = again.standard_normal((60, 1))
    r = 2 * np.sin(np.pi / 6 * oracle.spearman(x[:, 0].tolist(), x[:, 1].tolist()))
    scores = stats.norm.ppf(np.array(oracle.mean_ranks(x[:, 1].tolist())) / 61)
    drawn = oracle.draw_given(np.array([[1, r], [r, 1]]), scores[:, None], noise)
    values = sorted(x[:, 0])
    expected = [values[round(rank) - 1] for rank in oracle.mean_ranks([d[0] for d in drawn])]
    assert found == expected


def test_shuffling_columns_that_depend_on_one_another() -> None:
    """A sum of others is no obstacle; missing values stay and are not imputed."""
    rng = np.random.default_rng(14)
    a = rng.lognormal(size=300)
    frame = pl.DataFrame({"a": a, "b": 2 * a, "s": a, "t": a}).with_columns(
        pl.when(pl.Series(rng.random(300) < 0.2)).then(None).otherwise(pl.col(c)).alias(c)
        for c in "abst"
    )
    table = sf.table(frame, confidential=["a", "b"], quasi=["s", "t"])
    out = DataShuffling().mask(table, rng).table
    for name in "ab":
        assert (out[name].is_null() == table[name].is_null()).all()
    both = out.frame.drop_nulls()
    assert stats.spearmanr(both["a"], both["s"]).statistic > 0.8


def test_what_can_be_given() -> None:
    table = as_table(normal_columns(30, np.random.default_rng(0)))
    rng = np.random.default_rng(1)
    with pytest.raises(MethodError, match="shuffled and cannot be given"):
        DataShuffling(given=("a",)).mask(table, rng)
    words = sf.table({"a": [1.0, 2.0], "w": ["x", "y"]}, confidential=["a"], quasi=["w"])
    with pytest.raises(MethodError, match="has no order"):
        DataShuffling(given=("w",)).mask(words, rng)
    assert DataShuffling().mask(words, rng).linked
    everything = sf.table({"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]}, confidential=["a", "b"])
    assert not DataShuffling().mask(everything, rng).linked


@pytest.mark.parametrize(("parts", "kept"), [(10, 0.97), (5, 0.90), (3, 0.75), (2, 0.50)])
def test_ties_weaken_correlations_as_the_page_says(parts: int, kept: float) -> None:
    rng = np.random.default_rng(0)
    normal = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 20_000)
    cut = np.ceil(parts * stats.norm.cdf(normal))
    table = sf.table(pl.DataFrame(cut, schema=["a", "b"]), quasi=["a"], confidential=["b"])
    made = DataShuffling().mask(table, np.random.default_rng(1)).table.frame
    before, after = (float(np.corrcoef(x["a"], x["b"])[0, 1]) for x in (table.frame, made))
    assert after / before == pytest.approx(kept, abs=0.02)
