"""Partially synthetic records, and condensation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf_shrinkage

import sfumato as sf
from sfumato.data.partition import Cover, Partition
from sfumato.errors import MethodError, SfumatoError
from sfumato.kernels.statistics.shrinkage import error_of
from sfumato.methods.synthetic.condensation import Condensation, condensed
from sfumato.methods.synthetic.partially_synthetic import PartiallySynthetic, _alike
from tests.contract.tables import TABLES, ordinary
from tests.oracle import synthetic as oracle


def clustered(n: int, seed: int = 0) -> sf.Table:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n, 1))
    x = f + 0.5 * rng.normal(size=(n, 3))
    area = np.where(rng.random(n) < 0.05, "island", np.where(f[:, 0] > 0, "north", "south"))
    return sf.table(
        {"area": area, "age": x[:, 0], "pay": x[:, 1], "debt": x[:, 2]},
        quasi=["area", "age"],
        confidential=["pay", "debt"],
    )


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=20))
def test_records_that_are_alike(rows: list[tuple[str, int]]) -> None:
    table = sf.table({"c": [r[0] for r in rows], "x": [r[1] for r in rows]}, quasi=["c", "x"])
    assert _alike(table, ["c", "x"], 0).tolist() == oracle.alike(rows)


def test_numbers_are_alike_in_classes() -> None:
    table = sf.table({"x": list(range(20))}, quasi="x")
    assert _alike(table, ["x"], 4).tolist() == [5] * 20
    assert _alike(table, ["x"], 0).tolist() == [1] * 20


@pytest.mark.parametrize("model", ["hot-deck", "regression"])
@pytest.mark.parametrize("donors", ["any", "at-risk", "safe"])
def test_only_keys_of_records_at_risk_change(model: str, donors: str) -> None:
    table = clustered(3000)
    method = PartiallySynthetic(model=model, donors=donors, k=20)
    outcome = method.mask(table, np.random.default_rng(1))
    risky = _alike(table, ["area", "age"], 10) < 20
    assert outcome.linked
    assert outcome.secrets == {"records at risk": risky.sum()}
    assert outcome.facts["share at risk"] == round(risky.mean(), 2)
    assert "records at risk" not in outcome.facts
    assert 0 < risky.mean() < 0.25
    changed = outcome.table["age"].to_numpy() != table["age"].to_numpy()
    assert not changed[~risky].any()
    assert changed[risky].mean() > 0.95
    for name in ("pay", "debt"):
        assert outcome.table[name].equals(table[name])
    if model == "hot-deck":
        known = set(zip(table["area"], table["age"], strict=True))
        assert set(zip(outcome.table["area"], outcome.table["age"], strict=True)) <= known
    if donors == "safe":
        given_by = {a for a, r in zip(table["age"], risky, strict=True) if not r}
        if model == "hot-deck":
            assert set(outcome.table["age"].to_numpy()[risky]) <= given_by


@pytest.mark.parametrize("model", ["hot-deck", "regression"])
def test_relations_of_keys_and_other_values_stay(model: str) -> None:
    """All are at risk, and neighbours resemble in what the keys depend on."""
    table = clustered(4000, seed=2)
    method = PartiallySynthetic(model=model, bins=0, neighbours=20)
    made = method.mask(table, np.random.default_rng(3)).table
    before, after = (
        np.corrcoef(np.column_stack([t["age"], t["pay"], t["debt"]]).T) for t in (table, made)
    )
    assert after == pytest.approx(before, abs=0.04)
    assert made["age"].std() == pytest.approx(table["age"].std(), rel=0.06)
    assert not made["age"].equals(table["age"])


def test_ties_do_not_make_a_few_records_everybodys_donor() -> None:
    """With one two-valued column given, all records with its value are equally near."""
    rng = np.random.default_rng(4)
    given = rng.random(2000) < 0.5
    table = sf.table({"x": rng.normal(size=2000), "g": given}, quasi="x", confidential="g")
    made = PartiallySynthetic(bins=0).mask(table, rng).table["x"]
    used, counts = np.unique(made.to_numpy(), return_counts=True)
    assert used.size > 800
    assert counts.max() < 20


@pytest.mark.parametrize(("rare", "told"), [(0, False), (9, False), (10, True), (31, False)])
def test_few_records_at_risk_are_not_counted_in_public(rare: int, told: bool) -> None:
    """Nor are few that are not; 40 records, of which `rare` have a value of their own."""
    values = [0] * (40 - rare) + list(range(1, rare + 1))
    table = sf.table({"age": values, "x": list(range(40))}, quasi="age")
    outcome = PartiallySynthetic(bins=0, k=3).mask(table, np.random.default_rng(0))
    assert outcome.secrets == {"records at risk": rare}
    assert ("share at risk" in outcome.facts) == told
    assert not any(f" {rare} " in warning for warning in outcome.warnings)


def test_missing_keys_stay_missing() -> None:
    table = ordinary(120, missing=True)
    outcome = PartiallySynthetic().mask(table, np.random.default_rng(0))
    for name in table.schema.quasi:
        assert outcome.table[name].is_null().to_list() == table[name].is_null().to_list()


def test_choices_are_advised_upon() -> None:
    table = clustered(500)
    many = PartiallySynthetic(bins=0).mask(table, np.random.default_rng(0))
    assert "at risk" in many.warnings[0]
    lonely = sf.table({"age": [1.0] * 30 + [5.0, 6.0], "x": list(range(32))}, quasi="age")
    outcome = PartiallySynthetic(bins=0, donors="at-risk").mask(lonely, np.random.default_rng(0))
    assert "no more than 30 donors" in outcome.warnings[0]
    assert outcome.table["age"].to_list()[-2:] == [6.0, 5.0]  # each other's: never its own
    with pytest.raises(MethodError, match="no two records"):
        PartiallySynthetic(bins=0, donors="safe").mask(table, np.random.default_rng(0))
    with pytest.raises(MethodError, match="both drawn and given"):
        PartiallySynthetic(given=["age"]).mask(table, np.random.default_rng(0))


@pytest.mark.parametrize("name", list(TABLES))
def test_any_table(name: str) -> None:
    table = TABLES[name]()
    before = table.frame.clone()
    try:
        outcome = PartiallySynthetic().mask(table, np.random.default_rng(0))
    except SfumatoError:
        assert name == "one row"
        return
    assert table.frame.equals(before)
    for column in table.names:
        if column not in table.schema.quasi:
            assert outcome.table[column].equals(table[column], null_equal=True)


@pytest.mark.statistical
def test_condensation_keeps_means_and_the_covariance_of_the_whole() -> None:
    """Group means exact; covariances of the whole by z-tests at 6 deviations over 3,000 draws."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(23, 3)) @ np.array([[1, 2, 0], [0, 1, 1], [0, 0, 3.0]])
    groups = Partition.of(np.minimum(np.arange(23) // 5, 3))
    for centre in (True, False):
        found = []
        for _ in range(3000):
            y = condensed(x, groups, rng, centre=centre).y
            if centre:
                for rows in groups:
                    assert y[rows].mean(axis=0) == pytest.approx(x[rows].mean(axis=0), abs=1e-9)
            found.append(np.cov(y.T))
        draws = np.array(found)
        wanted = oracle.covariance(x)
        if not centre:  # the mean of all takes the n-th part of what lies within
            within = sum((len(r) - 1) * oracle.covariance(x[r]) for r in groups)
            wanted = wanted - within / 23 / 22
        error = 6 * draws.std(axis=0) / np.sqrt(len(draws))
        assert (np.abs(draws.mean(axis=0) - wanted) < error).all()


def test_condensation_limits_are_counted() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(12, 3))
    x[4:8, 1] = 5.0
    groups = Partition.of([0] * 4 + [1] * 4 + [2] * 3 + [3])
    found = condensed(x, groups, rng, centre=True, covariance="group")
    assert (found.y[4:8, 1] == 5.0).all()
    assert (found.y[11] == x[11]).all()
    assert not np.isclose(found.y[:4], x[:4]).any()
    assert found.facts["groups with a singular covariance"] == 3
    assert "1 records are alone" in found.warnings[1]


def test_the_share_is_that_of_ledoit_and_wolf() -> None:
    """One group beside a multiple of the identity: scikit-learn's own estimate."""
    rng = np.random.default_rng(7)
    for n, p in ((8, 5), (30, 4), (5, 9)):
        x = rng.normal(size=(n, p)) * np.arange(1, p + 1)
        dev = x - x.mean(axis=0)
        own = dev.T @ dev / n
        apart = ((own - np.trace(own) / p * np.eye(p)) ** 2).sum()
        share = float(error_of(dev[None])[0]) / apart
        assert min(share, 1.0) == pytest.approx(ledoit_wolf_shrinkage(x), rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("centre", [True, False])
def test_shrunk_groups_keep_the_covariance_of_the_whole(centre: bool) -> None:
    """Groups no larger than the number of columns; z-tests at 6 deviations over 3,000 draws."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(24, 4)) @ rng.normal(size=(4, 4))
    groups = Partition.of(np.arange(24) // 4)
    draws = np.array([np.cov(condensed(x, groups, rng, centre=centre).y.T) for _ in range(3000)])
    wanted = oracle.covariance(x)
    if not centre:
        within = sum((len(r) - 1) * oracle.covariance(x[r]) for r in groups)
        wanted = wanted - within / 24 / 23
    error = 6 * draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - wanted) < error).all()


def test_small_groups_leave_the_plane_of_their_records() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=(30, 4))
    x[:, 3] = np.repeat(np.arange(10), 3)  # the same in each group
    groups = Partition.of(np.arange(30) // 3)
    flat = condensed(x, groups, rng, centre=True, covariance="group")
    full = condensed(x, groups, rng, centre=True)

    def off_the_plane(y: np.ndarray) -> float:
        """How far new records lie from the plane through their group's three records."""
        worst = 0.0
        for rows in groups:
            base = x[rows] - x[rows].mean(axis=0)
            new = y[rows] - x[rows].mean(axis=0)
            worst = max(worst, float(np.abs(new - new @ np.linalg.pinv(base) @ base).max()))
        return worst

    assert off_the_plane(flat.y) < 1e-9
    assert off_the_plane(full.y) > 0.1
    assert flat.facts["groups with a singular covariance"] == 10
    assert full.y[:, 3].tolist() == x[:, 3].tolist()  # it varies in no group
    assert "share of the common covariance" not in flat.facts
    large = condensed(x, Partition.of(np.arange(30) // 15), rng, centre=True)
    assert "share of the common covariance" not in large.facts
    for rows in groups:
        assert full.y[rows].mean(axis=0) == pytest.approx(x[rows].mean(axis=0), abs=1e-9)


def test_condensation_of_every_kind_and_of_missing_values() -> None:
    table = ordinary(missing=True)
    groups = Partition.of(np.arange(60) // 12)
    outcome = Condensation().apply(table, groups, table.schema.quasi, np.random.default_rng(0))
    for name in table.schema.quasi:
        null = outcome.table[name].is_null().to_numpy() & ~outcome.table.suppressed(name)
        assert (null <= table[name].is_null().to_numpy()).all()
        assert not outcome.table[name].equals(table[name])
    again = Condensation().apply(table, groups, table.schema.quasi, np.random.default_rng(0))
    assert outcome.table.frame.equals(again.table.frame)
    own = Condensation(domain="original").apply(
        ordinary(), groups, ["age"], np.random.default_rng(0)
    )
    assert sorted(own.table["age"]) == sorted(ordinary()["age"])


def test_condensation_refuses_what_it_cannot_do() -> None:
    table = sf.table({"x": [1e300, -1e300, 5.0]}, quasi="x")
    with pytest.raises(MethodError, match="rescale"):
        Condensation().apply(table, Partition.of([0, 0, 0]), ["x"], np.random.default_rng(0))
    cover = Cover(np.array([0, 2, 3, 4]), np.array([0, 1, 1, 2]))
    with pytest.raises(MethodError, match="overlap"):
        Condensation().apply(table, cover, ["x"], np.random.default_rng(0))
