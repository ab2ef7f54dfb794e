"""R-microhybrid: exact means and covariances in every group, whatever the group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.partition import Cover, Partition
from sfumato.errors import MethodError
from sfumato.methods.verbs.drawn import RMicrohybrid, _orthonormal, synthesize
from sfumato.protocols import Outcome
from tests.contract.tables import ordinary
from tests.oracle import perturbation as oracle


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, Partition]:
    """Any groups: of one record, of fewer records than columns, with constant columns."""
    n, p = draw(st.integers(1, 20)), draw(st.integers(1, 5))
    column = st.integers(-3, 3).map(float)
    x = np.array(draw(st.lists(st.tuples(*[column] * p), min_size=n, max_size=n)))
    scales = draw(st.lists(st.sampled_from([1e-3, 1.0, 1e5]), min_size=p, max_size=p))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return x * scales, Partition.of(labels)


def run(table: sf.Table, labels: object, seed: int = 0, **parameters: object) -> Outcome:
    rng = np.random.default_rng(seed)
    groups = Partition.of(labels)
    return RMicrohybrid(**parameters).apply(table, groups, table.schema.quasi, rng)


def assert_same_moments(x: np.ndarray, y: np.ndarray) -> None:
    """Means and covariances, beside the columns' own sizes, to 1e-8."""
    size = np.abs(x).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    assert y.mean(axis=0) / size == pytest.approx(x.mean(axis=0) / size, abs=1e-8)
    if len(x) > 1:
        wanted, found = oracle.covariance(x / size), oracle.covariance(y / size)
        assert found == pytest.approx(wanted, abs=1e-8)


@given(grouped(), st.integers(0, 99))
def test_means_and_covariances_are_exact(case: tuple[np.ndarray, Partition], seed: int) -> None:
    x, groups = case
    found = synthesize(x, groups, np.random.default_rng(seed))
    assert not found.gone.any()
    for rows in groups:
        assert_same_moments(x[rows], found.y[rows])
    assert_same_moments(x, found.y)


@given(grouped(), st.data())
def test_what_is_present_is_exact_where_values_are_missing(
    case: tuple[np.ndarray, Partition], data: st.DataObject
) -> None:
    x, groups = case
    gaps = data.draw(
        st.lists(st.sampled_from([0, 0, 1]), min_size=x.size, max_size=x.size).map(
            lambda flat: np.array(flat, dtype=bool).reshape(x.shape)
        )
    )
    x = np.where(gaps, np.nan, x)
    found = synthesize(x, groups, np.random.default_rng(1))
    kept = ~np.isnan(x) & ~found.gone
    assert (np.isnan(found.y) == ~kept).all()
    for rows in groups:
        for pattern in np.unique(gaps[rows], axis=0):
            alike = rows[(gaps[rows] == pattern).all(axis=1)]
            columns = np.flatnonzero(~pattern)
            if not columns.size:
                continue
            part = np.ix_(alike, columns)
            if alike.size < 3 and alike.size < rows.size:
                assert found.gone[part].all()
            else:
                assert not found.gone[part].any()
                assert_same_moments(x[part], found.y[part])


def test_the_records_are_new_where_there_is_room() -> None:
    x = np.random.default_rng(3).normal(size=(40, 3))
    groups = Partition.of(np.arange(40) // 10)
    found = synthesize(x, groups, np.random.default_rng(0))
    nearest = np.abs(found.y[:, None] - x[None]).max(axis=2).min(axis=1)
    assert nearest.min() > 1e-3
    assert found.facts["groups with a singular covariance"] == 0
    assert not found.warnings


def test_limits_are_counted() -> None:
    x = np.random.default_rng(3).normal(size=(13, 3))
    x[4:9, 1] = 5.0  # constant in the second group
    groups = Partition.of([0] * 4 + [1] * 5 + [2] * 2 + [3] * 2)
    found = synthesize(x, groups, np.random.default_rng(0))
    # The first group has more records than columns; the second has a constant column.
    assert found.facts["groups with a singular covariance"] == 3
    assert found.facts["groups with no more records than columns"] == 2
    assert "3 of 4 groups have a singular covariance" in found.warnings[0]
    assert "2 of 4 groups have one or two records" in found.warnings[1]


def test_a_constant_stays_what_it_was() -> None:
    x = np.column_stack([np.full(9, 0.1), np.arange(9.0) ** 2])
    y = synthesize(x, Partition.of(np.arange(9) // 3), np.random.default_rng(0)).y
    assert (y[:, 0] == 0.1).all()
    assert not (y[:, 1] == x[:, 1]).any()


def test_two_records_stay_or_change_places() -> None:
    x = np.array([[0.0, 10.0], [1.0, 30.0]])
    seen = set()
    for seed in range(40):
        y = synthesize(x, Partition.of([0, 0]), np.random.default_rng(seed)).y
        assert np.allclose(y, x) or np.allclose(y, x[::-1])
        seen.add(bool(np.allclose(y, x)))
    assert seen == {True, False}


def test_an_ill_conditioned_draw_still_sums_to_zero() -> None:
    z = np.random.default_rng(0).normal(size=(1, 6, 3))
    z[:, :, 1] = z[:, :, 0] * (1 + 1e-9 * np.arange(6))
    q = _orthonormal(z)[0]
    assert q.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-14)
    assert q.T @ q == pytest.approx(np.eye(3), abs=1e-14)


def test_every_kind_is_published_as_its_reader_expects() -> None:
    table = ordinary()
    labels = np.arange(60) // 12
    outcome = run(table, labels)
    for rows in Partition.of(labels):
        before, after = table["age"].to_numpy()[rows], outcome.table["age"].to_numpy()[rows]
        assert after.mean() == pytest.approx(before.mean())
        assert after.std() == pytest.approx(before.std())
        for name in ("sex", "level"):
            shown = outcome.table[name].gather(rows).sort()
            assert shown.equals(table[name].gather(rows).sort())
    assert outcome.facts["replaced by the group's mode"] == ["zip"]
    back = run(table, labels, domain="original").table
    assert sorted(back["age"]) == sorted(table["age"])


def test_missing_stays_missing_and_small_patterns_are_suppressed() -> None:
    table = sf.table({"x": [1.0, 2.0, 4.0, None, 5.0], "y": [3, 5, 4, 7, 1]}, quasi=["x", "y"])
    outcome = run(table, [0] * 5)
    out = outcome.table
    assert out.suppressed("y").tolist() == [False, False, False, True, False]
    assert out["x"].is_null().to_list() == [False, False, False, True, False]
    assert not out.suppressed("x").any()
    assert outcome.facts["suppressed cells"] == {"y": 1}


def test_suppressed_records_are_left_out() -> None:
    table = sf.table({"x": [1.0, 2.0, 3.0, 50.0]}, quasi=["x"])
    out = run(table, [0, 0, 0, -1]).table
    assert out["x"].is_null().to_list() == [False, False, False, True]
    assert out.suppressed("x")[3]
    assert out["x"].mean() == pytest.approx(2.0)


def test_overlapping_groups_are_refused() -> None:
    cover = Cover(np.array([0, 1]), np.array([0]))
    with pytest.raises(MethodError, match="overlap"):
        RMicrohybrid().apply(
            sf.table({"x": [1.0]}, quasi=["x"]), cover, ["x"], np.random.default_rng(0)
        )
