"""Perturbation tables beside the extremes found by trying all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError, ParameterError
from sfumato.tabular.perturbation.perturbation_table import perturbation_table, read_table
from tests.oracle import perturbed_tables as oracle

sizes = st.tuples(st.integers(1, 8), st.floats(0.05, 12), st.integers(0, 6)).filter(
    lambda t: t[2] <= t[0] + 1
)


@given(sizes)
def test_rows_meet_every_condition(asked: tuple[int, float, int]) -> None:
    largest, variance, smallest = asked
    table = perturbation_table(largest, variance, smallest)
    mean, spread = table.moments()
    np.testing.assert_allclose(table.probability.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(mean, 0, atol=1e-9)
    assert table.largest <= largest
    for i, row in enumerate(table.probability):
        results = i + table.changes[row > 0]
        assert (results >= 0).all()
        assert ((results == 0) | (results >= smallest)).all()
        if i == 0:
            assert results.tolist() == [0]
            continue
        least, most = oracle.spread_of(i, largest, smallest)
        wanted = min(max(variance, float(least)), float(most))
        assert spread[i] == pytest.approx(wanted, rel=1e-7, abs=1e-9)
        told = any(f"counts of {i} change" in note for note in table.notes)
        assert told == (abs(wanted - variance) > 1e-9 * max(variance, 1))


@given(sizes, st.integers(0, 10_000))
def test_no_row_has_more_entropy(asked: tuple[int, float, int], seed: int) -> None:
    """A step in any direction that keeps sum, mean and variance loses entropy."""
    largest, variance, smallest = asked
    table = perturbation_table(largest, variance, smallest)
    rng = np.random.default_rng(seed)
    for row in table.probability[1:]:
        at = row > 0
        v = table.changes[at].astype(float)
        keep = np.vstack((np.ones(v.size), v, v**2))
        null = np.linalg.svd(keep)[2][np.linalg.matrix_rank(keep) :]
        if not len(null):
            continue
        way = null.T @ rng.normal(size=len(null))
        p = row[at]
        slope = float(way @ np.log(p))
        # d entropy = -sum d log p; at the maximum the slope is 0 along every such direction.
        assert abs(slope) < 1e-5 * np.abs(way * np.log(p)).sum() + 1e-7


def test_stay_is_exact() -> None:
    table = perturbation_table(5, 3.0, 2, stay=0.3)
    mean, spread = table.moments()
    np.testing.assert_allclose(table.probability[2:, 5], 0.3, atol=1e-12)
    assert table.probability[1, 5] == 0  # a count of 1 is never published
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.testing.assert_allclose(spread[1:], 3, atol=1e-9)


@given(sizes, st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1, exclude_max=True))))
def test_lookup_is_the_oracles(
    asked: tuple[int, float, int], cells: list[tuple[int, float]]
) -> None:
    table = perturbation_table(*asked)
    rows = [list(zip(table.changes.tolist(), row, strict=True)) for row in table.probability]
    counts = np.array([c for c, _ in cells], np.int64)
    keys = np.array([k for _, k in cells], np.float64)
    change = table.change(counts, keys)
    for (count, key), got in zip(cells, change, strict=True):
        assert got == pytest.approx(oracle.change_by_key(rows, count, key))
    # What is published comes from where `sources` says, and from nowhere else.
    low, high = table.sources(counts + change)
    assert (low <= counts).all()
    assert (counts <= high).all()
    for published in range(20):
        could = [
            i
            for i in range(60)
            if any(p > 0 and i + v == published for v, p in rows[min(i, len(rows) - 1)])
        ]
        if could:
            low, high = table.sources(np.array([published]))
            assert (int(low[0]), int(high[0])) == (min(could), max(could))


def test_evenly_spread_keys_enumerate_the_table() -> None:
    """Keys 0, 1/N, 2/N ... give each change its probability within 1/N."""
    table = perturbation_table(4, 2.0, 2)
    keys = np.arange(100_000) / 100_000
    for i in range(12):
        change = table.change(np.full(keys.size, i), keys)
        row = table.probability[min(i, len(table.probability) - 1)]
        share = np.array([(change == v).mean() for v in table.changes])
        np.testing.assert_allclose(share, row, atol=2e-5)


def test_file_and_back(tmp_path: Path) -> None:
    table = perturbation_table(5, 3.0, 3)
    path = tmp_path / "ptable.csv"
    table.write_csv(path)
    back = read_table(path)
    keys = np.random.default_rng(0).random(1000)
    counts = np.random.default_rng(1).integers(0, 30, 1000)
    np.testing.assert_array_equal(table.change(counts, keys), back.change(counts, keys))
    assert path.read_text().splitlines()[0] == "i,j,p,v,p_int_lb,p_int_ub"
    path.write_text("i;j;p\n0;0;1\n1;0;0.5\n1;2;0.5\n")
    assert read_table(path).largest == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "is not one"),
        ("i,j,p\n0,0,1\n1,1,0.7\n", "add up to 0.7"),
        ("i,j,p\n0,1,1\n", "line 2"),
        ("i,j,p\n0,0,1\n1,-1,1\n", "line 3"),
        ("i,j,p\n0,0,1\n2,2,1\n", "i = 1"),
        ("i,j,p\n0,0,\n", "empty"),
    ],
)
def test_bad_files_are_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "ptable.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_table(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "absent.csv")


def test_impossible_tables_are_told() -> None:
    with pytest.raises(ParameterError, match="cannot become 4"):
        perturbation_table(2, 1.0, 4)
    with pytest.raises(ParameterError, match="largest >= 1"):
        perturbation_table(0, 1.0)
    with pytest.raises(ParameterError, match="probability"):
        perturbation_table(3, 1.0, stay=1.0)
