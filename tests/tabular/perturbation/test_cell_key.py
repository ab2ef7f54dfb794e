"""Cell-key perturbation: by the table for counts, by the largest contributions for amounts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.outcome import TableOutcome
from sfumato.tabular.perturbation.cell_key import MULTIPLIERS, CellKey
from sfumato.tabular.rules.dominance import Dominance
from sfumato.tabular.threats.problem import Problem, Threats
from sfumato.tabular.threats.protection_problem import protection_problem
from tests.oracle import perturbed_tables as oracle


def people(seed: int, n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
            "b": rng.choice(list("pqrstu"), n),
            "c": rng.choice(["m", "f"], n),
            "pay": np.round(rng.lognormal(3, 1, n), 2),
            "key": np.floor(rng.random(n) * 10**8) / 10**8,
        }
    )


def made(frame: pl.DataFrame, dimensions: list[str], value: str | None = None) -> CellTable:
    return from_microdata(sf.table(frame), dimensions, value, record_key="key")


def problem_of(table: CellTable, threats: Threats | None = None) -> Problem:
    chosen = threats or Threats.of([], [], [])
    return Problem(
        values=table.values,
        relations=table.relations,
        lower=table.lower,
        upper=table.upper,
        primary=np.isin(np.arange(table.n), chosen.cell),
        fixed=table.empty,
        costs=np.abs(table.values),
        threats=chosen,
        cubes=table.cubes,
    )


def perturbed(method: CellKey, table: CellTable, problem: Problem | None = None) -> TableOutcome:
    return method.protect(table, problem or problem_of(table), np.random.default_rng(0))


def by_codes(table: CellTable, values: np.ndarray) -> dict[tuple[str, str], float]:
    rows = table.labels.select("a", "b").rows() if "b" in table.labels.columns else []
    return dict(zip(rows, values, strict=True))


@given(st.integers(0, 10**6), st.sampled_from([(5, 3.0, 0), (4, 2.0, 3), (2, 0.7, 2)]))
def test_counts_change_as_the_oracle_says(seed: int, asked: tuple[int, float, int]) -> None:
    table = made(people(seed, 80), ["a", "b"])
    method = CellKey(largest=asked[0], variance=asked[1], smallest=asked[2])
    found = perturbed(method, table)
    drawn = method.table()
    rows = [list(zip(drawn.changes.tolist(), row, strict=True)) for row in drawn.probability]
    assert table.record_keys is not None
    for value, key, got in zip(table.values, table.record_keys, found.published, strict=True):
        assert got == value + oracle.change_by_key(rows, int(value), float(key))
    assert (found.published >= 0).all()
    assert ((found.published == 0) | (found.published >= asked[2])).all()
    assert (found.published[table.values == 0] == 0).all()
    assert (found.lower <= table.values).all()
    assert (table.values <= found.upper).all()
    assert not found.hidden.any()
    assert any("do not add up" in w for w in found.warnings)


@given(st.integers(0, 10**6), st.sampled_from([None, "pay"]))
def test_the_same_cell_changes_equally_in_two_tables(seed: int, value: str | None) -> None:
    """Cells of a x b appear in a x b x c too, and the order of the records does not matter."""
    frame = people(seed, 60)
    method = CellKey()
    small = made(frame, ["a", "b"], value)
    large = made(frame.sample(fraction=1.0, shuffle=True, seed=1), ["a", "b", "c"], value)
    total = large.labels["c"] == "Total"
    first = by_codes(small, perturbed(method, small).published)
    other = large.with_(labels=large.labels)
    second = dict(
        zip(
            large.labels.filter(total).select("a", "b").rows(),
            perturbed(method, other).published[total.to_numpy()],
            strict=True,
        )
    )
    assert first.keys() == second.keys()
    for codes, published in first.items():
        assert published == pytest.approx(second[codes], rel=1e-9)


def test_amounts_change_by_the_formula() -> None:
    table = made(people(5), ["a", "b"], "pay")
    method = CellKey(shares=(0.3, 0.1), noise=0.5)
    found = perturbed(method, table)
    assert table.record_keys is not None
    assert table.contributions is not None
    for c in range(table.n):
        change = 0.0
        for k, share in enumerate((0.3, 0.1)):
            u = float(table.record_keys[c]) * MULTIPLIERS[k] % 1
            noise = 1 + 0.5 * (2 * ((2 * u) % 1) - 1)
            change += (-1 if u < 0.5 else 1) * share * noise * table.contributions.top[c, k]
        assert found.published[c] == pytest.approx(max(table.values[c] + change, 0), rel=1e-9)
    assert (found.lower <= table.values + 1e-9).all()
    assert (table.values <= found.upper + 1e-9).all()


@given(st.integers(0, 10**6))
def test_sensitive_amounts_move_by_their_needs(seed: int) -> None:
    table = made(people(seed, 60), ["a", "b"], "pay")
    problem = protection_problem(table, [Dominance(n=1, k=50)])
    found = perturbed(CellKey(), table, problem)
    t = problem.threats
    move = found.published[t.cell] - problem.values[t.cell]
    down = np.minimum(t.down, problem.values[t.cell] - problem.lower[t.cell])
    assert ((move >= t.up - 1e-9) | (move <= -down + 1e-9)).all()
    assert (move != 0).all()
    assert (found.lower <= table.values * (1 + 1e-9)).all()
    assert (table.values <= found.upper * (1 + 1e-9)).all()


def test_weighted_counts_change_by_average_weights() -> None:
    frame = people(2).with_columns(w=pl.lit(10.0))
    table = from_microdata(sf.table(frame), ["a", "b"], None, record_key="key", weight="w")
    plain = made(frame, ["a", "b"])
    first, second = perturbed(CellKey(), table), perturbed(CellKey(), plain)
    np.testing.assert_allclose(first.published, 10 * second.published)
    assert any("weighted" in w for w in first.warnings)


def test_a_table_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ptable.csv"
    path.write_text("i,j,p\n0,0,1\n1,0,0.5\n1,2,0.5\n2,1,0.25\n2,2,0.5\n2,3,0.25\n")
    table = made(people(4, 50), ["a", "b"])
    found = perturbed(CellKey(ptable=str(path)), table)
    assert (np.abs(found.published - table.values) <= 1).all()
    assert found.facts["largest change"] == 1


def test_what_is_missing_is_told() -> None:
    table = made(people(0), ["a", "b"])
    with pytest.raises(MethodError, match="record_key"):
        perturbed(CellKey(), table.with_(record_keys=None))
    with pytest.raises(MethodError, match="not in \\[0, 1\\)"):
        perturbed(CellKey(), table.with_(record_keys=np.full(table.n, 1.0)))
    with pytest.raises(MethodError, match="largest contributions"):
        perturbed(CellKey(), table.with_(measure="pay", contributions=None))
    half = table.with_(values=table.values + 0.5, frequency=None)
    with pytest.raises(MethodError, match="is not a count"):
        perturbed(CellKey(), half, problem_of(table).with_(values=half.values))
    with pytest.raises(ValidationError, match="cannot become"):
        CellKey(largest=2, smallest=5)
    with pytest.raises(ValidationError, match="grow"):
        CellKey(shares=(0.1, 0.2))


@pytest.mark.golden
def test_the_moments_of_the_published_test_data(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """4,580 people with published record keys: mean and variance of all changes."""
    frame = pl.read_csv(shared_data("tables") / "tauargus" / "cellkey_magnitude_microdata.csv")
    rng = np.random.default_rng(0)
    # Many small groups, so that there are many cells with a key each.
    frame = frame.with_columns(
        a=pl.Series(rng.integers(0, 40, len(frame))).cast(pl.String),
        b=pl.Series(rng.integers(0, 40, len(frame))).cast(pl.String),
        key=pl.col("record_key"),
    )
    table = made(frame, ["a", "b"])
    method = CellKey(largest=5, variance=3.0)
    change = perturbed(method, table).published - table.values
    full = table.values >= 1
    n = int(full.sum())
    mean, variance = float(change[full].mean()), float(change[full].var())
    golden_record("cell-key changes: mean", 0.0, mean)
    golden_record("cell-key changes: variance", 3.0, variance)
    drawn = method.table()
    fourth = float((drawn.probability[-1] * drawn.changes.astype(float) ** 4).sum())
    assert abs(mean) < 4 * np.sqrt(3.0 / n)
    assert abs(variance - 3) < 5 * np.sqrt((fourth - 9) / n)


@pytest.mark.golden
def test_equal_keys_of_the_published_test_data(
    shared_data: Callable[[str], Path],
) -> None:
    frame = pl.read_csv(shared_data("tables") / "tauargus" / "cellkey_magnitude_microdata.csv")
    text = frame.with_columns(
        pl.col("sex", "age", "high_income").cast(pl.String), key=pl.col("record_key")
    )
    for value in (None, "savings"):
        two = made(text, ["sex", "age"], value)
        three = made(text, ["sex", "age", "high_income"], value)
        whole = (three.labels["high_income"] == "Total").to_numpy()
        first = perturbed(CellKey(), two).published
        second = perturbed(CellKey(), three).published[whole]
        rows = three.labels.filter(pl.Series(whole)).select("sex", "age").rows()
        found = dict(zip(rows, second, strict=True))
        for codes, published in zip(two.labels.select("sex", "age").rows(), first, strict=True):
            assert published == pytest.approx(found[codes], rel=1e-9)
