"""IPSO: what B and C keep is exact, what A keeps is so on average."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import KDTree

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.methods.synthetic.ipso import Ipso
from tests.contract.tables import ordinary
from tests.oracle import synthetic as oracle

VARIANTS = ["A", "B", "C"]


@st.composite
def tables(draw: st.DrawFn) -> sf.Table:
    """Small integers on any scale: ties, constant and collinear columns are common."""
    n, p, q = draw(st.integers(8, 20)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    cell = st.integers(-3, 3).map(float)
    frame = {}
    for name in [f"y{j}" for j in range(p)] + [f"x{j}" for j in range(q)]:
        scale = draw(st.sampled_from([1e-3, 1.0, 1e5]))
        frame[name] = np.array(draw(st.lists(cell, min_size=n, max_size=n))) * scale
    if draw(st.booleans()):
        frame["y9"] = frame["y0"] + frame["x0"]
    return sf.table(frame, quasi=[k for k in frame if k[0] == "y"], confidential=["x0"])


def numbers(table: sf.Table, names: list[str]) -> np.ndarray:
    return np.column_stack([table[name].to_numpy() for name in names])


@pytest.mark.parametrize("variant", ["B", "C"])
@given(table=tables(), seed=st.integers(0, 99))
def test_b_and_c_are_exact(variant: str, table: sf.Table, seed: int) -> None:
    out = Ipso(variant=variant).mask(table, np.random.default_rng(seed)).table
    y, made = numbers(table, table.schema.quasi), numbers(out, table.schema.quasi)
    x = oracle.design(table["x0"])
    size = np.where(np.abs(y).max(axis=0) > 0, np.abs(y).max(axis=0), 1.0)
    fitted, residual = oracle.regression(x, y / size)
    fitted_made, residual_made = oracle.regression(x, made / size)
    assert fitted_made == pytest.approx(fitted, abs=1e-8)
    if variant == "C":
        assert residual_made == pytest.approx(residual, abs=1e-8)
        assert oracle.covariance(made / size) == pytest.approx(
            oracle.covariance(y / size), abs=1e-8
        )
    assert out["x0"].equals(table["x0"])
    if "y9" in table.names:  # a sum that held still does
        parts = np.column_stack([made[:, 0], table["x0"].to_numpy()])
        largest = max(np.abs(parts).max(), 1e-9)
        assert made[:, -1] / largest == pytest.approx(parts.sum(axis=1) / largest, abs=1e-7)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.statistical
def test_coefficients_and_covariance_on_average(variant: str) -> None:
    """z-tests at 6 deviations over 800 draws."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=12)
    y = np.column_stack([x + rng.normal(size=12), rng.normal(size=12) - 2 * x])
    table = sf.table({"a": y[:, 0], "b": y[:, 1], "x": x}, quasi=["a", "b"], confidential="x")
    design = oracle.design(x)
    inverse = np.linalg.pinv(design)
    wanted_b, wanted_s = inverse @ y, oracle.regression(design, y)[1]
    b, s = [], []
    for _ in range(800):
        made = numbers(Ipso(variant=variant).mask(table, rng).table, ["a", "b"])
        b.append(inverse @ made)
        e = made - design @ b[-1]
        s.append(e.T @ e / 12)
    for found, wanted in ((np.array(b), wanted_b), (np.array(s), wanted_s)):
        error = 6 * found.std(axis=0) / np.sqrt(len(found)) + 1e-9
        assert (np.abs(found.mean(axis=0) - wanted) < error).all()
    exact_b, exact_s = np.ptp(np.array(b), axis=0).max(), np.ptp(np.array(s), axis=0).max()
    assert (exact_b < 1e-9) == (variant != "A")
    assert (exact_s < 1e-9) == (variant == "C")


def test_missing_values_are_strata() -> None:
    rng = np.random.default_rng(2)
    n = 60
    y, x = rng.normal(size=n), rng.normal(size=n)
    y[:10] = np.nan
    x[40:] = np.nan
    frame = pl.DataFrame({"y": y, "x": x}, nan_to_null=True)
    table = sf.table(frame, quasi="y", confidential="x")
    outcome = Ipso().mask(table, rng)
    made = outcome.table["y"]
    assert made.is_null().to_numpy().tolist() == np.isnan(y).tolist()
    assert outcome.facts["strata by what is missing"] == 2
    both = slice(10, 40)
    got = made.to_numpy()
    wanted = np.cov(x[both], y[both])
    assert np.cov(x[both], got[both]) == pytest.approx(wanted, abs=1e-10)
    assert got[40:].mean() == pytest.approx(y[40:].mean())
    assert got[40:].var() == pytest.approx(y[40:].var())
    assert not np.isclose(got[10:], y[10:]).any()


def test_values_that_a_regression_on_few_would_give_back_are_suppressed() -> None:
    table = sf.table(
        {"y": [1.0, 2.0, 5.0, 4.0, 7.0, 3.0], "x": [1.0, 2.0, 3.0, 5.0, 4.0, None]},
        quasi="y",
        confidential="x",
    )
    outcome = Ipso().mask(table, np.random.default_rng(0))
    assert outcome.table["y"].is_null().to_list() == [False] * 5 + [True]
    assert outcome.table.suppressed("y").tolist() == [False] * 5 + [True]
    assert outcome.facts["suppressed cells"] == {"y": 1}
    assert "were suppressed" in outcome.warnings[0]


def test_categories_are_regressed_on_and_rare_ones_together() -> None:
    rng = np.random.default_rng(3)
    kind = np.array(["a"] * 20 + ["b"] * 20 + ["c", "d", "e"])
    y = rng.normal(size=43) + 5 * (kind == "a")
    table = sf.table({"y": y, "kind": kind}, quasi="y", confidential="kind")
    outcome = Ipso().mask(table, rng)
    made = outcome.table["y"].to_numpy()
    for rows in (kind == "a", kind == "b", (kind != "a") & (kind != "b")):
        assert made[rows].mean() == pytest.approx(y[rows].mean())
    assert not np.isclose(made, y).any()


def test_what_discloses_is_said() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=50)
    x[0] = 1e6
    y = 2 * x + rng.normal(size=50) * 1e-3
    outcome = Ipso().mask(sf.table({"y": y, "x": x}, quasi="y", confidential="x"), rng)
    assert outcome.facts["records of high leverage"] == 1
    assert "leverage" in outcome.warnings[0]
    assert outcome.table["y"][0] == pytest.approx(y[0], rel=1e-6)
    assert "explain nearly all" in outcome.warnings[1]


def test_whole_numbers_and_what_is_left_alone() -> None:
    table = ordinary()
    real = Ipso().mask(table, np.random.default_rng(0))
    assert str(real.table.schema["age"].kind) == "continuous"
    assert real.facts["given"] == ["pay", "illness"]
    whole = Ipso(whole=True).mask(table, np.random.default_rng(0))
    assert whole.table["age"].dtype.is_integer()
    assert [w.split()[0] for w in whole.warnings] == ["zip", "born", "sex", "level"]
    assert Ipso(given=["happy"]).mask(table, np.random.default_rng(0)).facts["given"] == ["happy"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"given": ["age"]}, "both keep and replace"),
        ({"given": ["who"]}, "too many to regress on|cannot regress"),
    ],
)
def test_what_cannot_be_given(parameters: dict[str, list[str]], message: str) -> None:
    with pytest.raises(MethodError, match=message):
        Ipso(**parameters).mask(ordinary(300), np.random.default_rng(0))


def test_too_few_records_are_refused() -> None:
    table = sf.table({"y": [1.0, 2.0, 3.0], "x": [1.0, 5.0, 2.0]}, quasi="y", confidential="x")
    with pytest.raises(MethodError, match="two records more"):
        Ipso().mask(table, np.random.default_rng(0))
    large = sf.table({"y": [1e300, -1e300, 3.0, 1e300] * 5}, quasi="y")
    made = Ipso().mask(large, np.random.default_rng(0)).table["y"].to_numpy()
    assert made.mean() == pytest.approx(0.25e300)
    huge = sf.table({"y": [1.7e308, -1.7e308, 3.0, 1.7e308] * 5}, quasi="y")
    with pytest.raises(MethodError, match="rescale"):
        Ipso().mask(huge, np.random.default_rng(0))


def test_fitted_values_are_the_regression() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    table = sf.table({"y": y, "a": x[:, 0], "b": x[:, 1]}, quasi="y", confidential=["a", "b"])
    design = np.column_stack([np.ones(50), x])
    fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    for seed in (0, 1):
        out = Ipso(variant="fitted").mask(table, np.random.default_rng(seed)).table
        assert out["y"].to_numpy() == pytest.approx(fitted)


SLIDE = {"fitted": (14, 16, 65), "C": (11, 6, 53)}
"""Torra's slide: records of EIA linked by distance when 1, 3 and 5 masked columns are known. Its
IPSO-A is what the fitted values give, and its IPSO-B (14, 17, 65) nearly so; a draw links fewer."""
COLUMNS = ([0], [0, 6, 7], [0, 1, 6, 7, 8])
"""v1; v1, v7, v8; v1, v2, v7, v8, v9 of the ten revenues and sales, all five masked together."""


@pytest.mark.golden
@pytest.mark.parametrize("variant", list(SLIDE))
def test_linkage_of_eia(
    variant: str,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """Single draws vary, so that five are averaged; linked records are few and nearly Poisson."""
    frame = pl.read_csv(shared_data("casc") / "eia.csv")
    ten = frame.columns[5:]
    masked = [ten[j] for j in COLUMNS[2]]
    others = [name for name in ten if name not in masked]
    table = sf.table(frame.select(ten), quasi=masked, confidential=others)
    linked = np.zeros((5, 3))
    for seed in range(5):
        out = Ipso(variant=variant).mask(table, np.random.default_rng(seed)).table
        for i, known in enumerate(COLUMNS):
            names = [ten[j] for j in known]
            x, y = numbers(table, names).astype(float), numbers(out, names)
            z, w = ((t - t.mean(axis=0)) / t.std(axis=0) for t in (x, y))
            linked[seed, i] = (KDTree(w).query(z)[1] == np.arange(len(x))).sum()
    found = linked.mean(axis=0)
    for i, size in enumerate((1, 3, 5)):
        golden_record(f"IPSO {variant}, EIA links, {size} columns", SLIDE[variant][i], found[i])
    # Nothing is drawn in fitted values; of the others the slide shows one draw: three deviations of
    # a count like its own.
    error = 0.5 if variant == "fitted" else 3 * np.sqrt(np.array(SLIDE[variant]))
    assert (np.abs(found - SLIDE[variant]) < error).all()
