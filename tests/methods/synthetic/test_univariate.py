"""Columns drawn one by one: families where they fit, pieces where none does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.synthesis.pieces import draw_pieces, fit_pieces
from sfumato.methods.synthetic.univariate import UnivariateSynthesis
from tests.contract.tables import ordinary
from tests.oracle import drawing as oracle


@given(
    st.lists(st.integers(0, 12).map(float) | st.floats(0, 12), min_size=3, max_size=60),
    st.integers(1, 12),
    st.integers(1, 5),
    st.booleans(),
)
def test_pieces_hold_their_share(x: list[float], count: int, least: int, whole: bool) -> None:
    values = np.floor(x) if whole else np.array(x)
    found = fit_pieces(values, count, least, whole=whole)
    assert found.share.sum() == pytest.approx(1.0)
    assert (found.low <= found.high).all()
    assert (found.high[:-1] <= found.low[1:]).all()
    assert found.low[0] == values.min()
    assert found.high[-1] == values.max()
    for high, total in zip(found.high, np.cumsum(found.share), strict=True):
        # The pieces meet the data's distribution function where they end.
        at_most = np.mean(values <= high)
        below = np.mean(values < high)
        assert below - 1e-9 <= total <= at_most + 1e-9
    held = found.share * values.size
    assert held == pytest.approx(np.round(held))
    assert values.size < least or held.min() > least - 1e-9
    values_of = dict(zip(*np.unique(values, return_counts=True), strict=True))
    for value, times in values_of.items():
        # A heavy value gives up to `least` - 1 records to each side, and keeps `least` itself.
        if times >= max(values.size / count, 3 * least - 2):
            assert value in found.low[found.low == found.high]


@pytest.mark.parametrize("whole", [False, True])
def test_draws_follow_the_pieces(whole: bool) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([np.zeros(300), rng.normal(50, 5, 400), rng.normal(90, 2, 300)])
    x = np.round(x) if whole else x
    found = fit_pieces(x, 12, 5, whole=whole)
    drawn = draw_pieces(found, 40_000, rng, whole=whole)
    if whole:
        assert (drawn == np.floor(drawn)).all()
        places, low, high = found.high, found.low, found.high
    else:
        places, low, high = np.linspace(-1, 100, 60), found.low, found.high
    for place in places:
        p = oracle.mass_of_pieces(low, high, found.share, place)
        error = np.sqrt(max(p * (1 - p), 1e-9) / drawn.size)
        assert abs(np.mean(drawn <= place) - p) < 5.5 * error + 1e-9  # 60 places, 1e-6 in all
    assert drawn.min() >= x.min()
    assert drawn.max() <= x.max()


def test_whole_numbers_of_a_piece_are_equally_likely() -> None:
    found = fit_pieces(np.arange(10.0), 1, whole=True)
    drawn = draw_pieces(found, 50_000, np.random.default_rng(0), whole=True)
    shares = np.bincount(drawn.astype(int), minlength=10) / drawn.size
    assert shares.size == 10
    assert np.abs(shares - 0.1).max() < 5.4 * np.sqrt(0.09 / drawn.size)


def test_a_family_where_it_fits_else_pieces() -> None:
    rng = np.random.default_rng(2)
    n = 4000
    table = sf.table(
        {
            "pay": rng.lognormal(10, 0.4, n),
            "split": np.append(rng.normal(-8, 1, n // 2), rng.normal(8, 1, n // 2)),
            "zero": np.where(rng.random(n) < 0.5, 0.0, rng.gamma(2.0, 3.0, n)),
        },
        confidential=["pay", "split", "zero"],
    )
    outcome = UnivariateSynthesis().mask(table, np.random.default_rng(0))
    fitted = outcome.facts["fitted"]
    assert fitted["pay"]["family"] == "log-normal"
    assert fitted["pay"]["ks_distance"] <= 0.03
    assert fitted["split"]["family"] == fitted["zero"]["family"] == "pieces"
    assert not outcome.linked
    for name in table.names:
        # Near the original in distribution: a family by its bound, pieces by their width.
        apart = stats.ks_2samp(table[name].to_numpy(), outcome.table[name].to_numpy()).statistic
        assert apart < 0.03 + 1.0 / 20 + stats.kstwo.ppf(1 - 1e-6, n // 2)
    # Half of the records are exactly zero, as in the original (z-test).
    share, truth = (outcome.table["zero"] == 0).mean(), (table["zero"] == 0).mean()
    assert abs(share - truth) < 4.9 * np.sqrt(0.25 / n)
    assert not np.isin(outcome.table["split"].to_numpy(), table["split"].to_numpy()).any()


def test_relations_are_lost_and_rows_are_as_many_as_asked() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, 500)
    table = sf.table({"x": x, "y": x * 2, "who": range(500)}, identifier="who", quasi=["x", "y"])
    outcome = UnivariateSynthesis(records=3000).mask(table, np.random.default_rng(0))
    assert outcome.table.height == 3000
    assert outcome.table.names == ["x", "y"]
    assert "who" in outcome.warnings[0]
    r = np.corrcoef(outcome.table["x"], outcome.table["y"])[0, 1]
    assert abs(r) < 4.9 / np.sqrt(3000)


def test_every_kind_and_missing_values_keep_their_shares() -> None:
    table = ordinary(300, missing=True)
    outcome = UnivariateSynthesis(records=20_000).mask(table, np.random.default_rng(0))
    for name in ("age", "zip", "born", "sex", "level", "pay", "illness", "happy"):
        assert outcome.table[name].dtype == table[name].dtype
        p = table[name].null_count() / 300
        share = outcome.table[name].null_count() / 20_000
        assert abs(share - p) < 5.2 * np.sqrt(p * (1 - p) / 20_000)  # eight columns, 1e-6 in all
    for value, count in table["zip"].drop_nulls().value_counts().rows():
        p = count / 300
        share = (outcome.table["zip"] == value).sum() / 20_000
        assert abs(share - p) < 5.2 * np.sqrt(p * (1 - p) / 20_000)
    days = outcome.table["born"].drop_nulls()
    assert days.dtype == pl.Date


def test_what_is_wrong_is_said() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(MethodError, match="3 records"):
        UnivariateSynthesis().mask(ordinary(2), rng)
    infinite = sf.table({"x": [1.0, 2.0, float("inf"), 4.0]}, quasi=["x"])
    with pytest.raises(MethodError, match="infinite in row 3"):
        UnivariateSynthesis().mask(infinite, rng)
    constant = sf.table({"x": [7.0] * 9}, quasi=["x"])
    assert UnivariateSynthesis().mask(constant, rng).table["x"].to_list() == [7.0] * 9


@pytest.mark.parametrize("whole", [False, True])
def test_a_lone_value_among_heavy_ones_is_not_drawn_again(whole: bool) -> None:
    lone = [7.0, 999.0] if whole else [7.25, 999.5]
    x = np.array([0.0] * 100 + [lone[0]] + [10.0] * 100 + [lone[1]])
    found = fit_pieces(x, 20, 5, whole=whole)
    assert found.low.tolist() == [0.0, 0.0, 10.0, 10.0]
    assert found.high.tolist() == [0.0, 10.0, 10.0, lone[1]]
    assert (found.share * x.size).round(6).tolist() == [96.0, 5.0, 96.0, 5.0]
    kind = int if whole else float
    table = sf.table({"v": [kind(v) for v in x]}, quasi=["v"])
    method = UnivariateSynthesis(families=(), records=20_000)
    drawn = method.mask(table, np.random.default_rng(0)).table["v"].to_numpy()
    # A share of 5 / 202 goes to 11 numbers, and to 990: 45 draws of 7, and 0.5 of 999.
    assert (drawn == lone[0]).sum() < 45 + 5 * np.sqrt(45)
    assert (drawn == lone[1]).sum() < 8
    heavy = 96 / 202
    for value in (0.0, 10.0):
        share = np.mean(drawn == value)
        assert share > heavy - 5.4 * np.sqrt(heavy * (1 - heavy) / drawn.size)


def test_heavy_values_with_nothing_to_spare_go_into_the_piece() -> None:
    x = np.array([1.0, *[2.0] * 5, 3.0])
    found = fit_pieces(x, 3, 5)
    assert (found.low.tolist(), found.high.tolist(), found.share.tolist()) == ([1.0], [3.0], [1.0])


def test_columns_of_few_numbers_are_refused() -> None:
    rng = np.random.default_rng(0)
    for values in ([777], [31234.5, 48111.25], [1.0, 2.0, 3.0, 4.0]):
        few = sf.table({"s": [*values, *[None] * 8], "x": range(len(values) + 8)}, quasi=["s", "x"])
        for parameters in ({}, {"worst": 1.0, "families": ("normal",)}):
            with pytest.raises(MethodError, match=rf"'s' has {len(values)} values, fewer than 5"):
                UnivariateSynthesis(**parameters).mask(few, rng)
    two = sf.table({"s": [31234.5, 48111.25, None, None]}, quasi=["s"])
    asked = UnivariateSynthesis(worst=1.0, families=("normal",), fewest=1).mask(two, rng)
    assert asked.facts["fitted"]["s"].keys() == {"family", "pieces"}
    nine = sf.table({"s": np.arange(9.0) ** 1.5}, quasi=["s"])
    assert UnivariateSynthesis(worst=1.0).mask(nine, rng).facts["fitted"]["s"]["family"] == "pieces"
    none = sf.table({"s": pl.Series([None] * 9, dtype=pl.Float64), "x": range(9)}, quasi=["s", "x"])
    assert UnivariateSynthesis().mask(none, rng).table["s"].null_count() == 9


def test_parameters_are_told_in_three_digits() -> None:
    x = np.random.default_rng(1).normal(31234.5, 777.7, 30)
    table = sf.table({"s": x}, quasi=["s"])
    said = UnivariateSynthesis(worst=1.0, families=("normal",)).mask(
        table, np.random.default_rng(0)
    )
    fitted = said.facts["fitted"]["s"]
    assert fitted["parameters"]["mean"] == float(f"{x.mean():.3g}") != x.mean()
    assert fitted["parameters"]["deviation"] == float(f"{x.std():.3g}") != x.std()
    assert fitted["ks_distance"] == float(f"{fitted['ks_distance']:.3g}")
    far = UnivariateSynthesis(worst=0.0).mask(table, np.random.default_rng(0)).facts["fitted"]["s"]
    (distance,) = far["nearest family"].values()
    assert distance == float(f"{distance:.3g}")
