"""Nearest records and densities by tables of distances, beside a plain scan."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.neighbours.tabled import nearest_by_table, sorted_records
from tests.oracle import membership as oracle


def drawn(seed: int, columns: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    bins = rng.integers(1, 6, columns)
    places = bins + rng.integers(0, 4, columns)
    tables = [
        (rng.integers(0, 4, (b, p)) / 4).astype(np.float64)
        for b, p in zip(bins, places, strict=True)
    ]
    targets = np.column_stack([rng.integers(0, b, 30) for b in bins])
    records = np.column_stack([rng.integers(0, p, 40) for p in places])
    return targets, records, tables


@pytest.mark.parametrize("columns", [1, 2, 5, 20])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_a_plain_scan(seed: int, columns: int) -> None:
    targets, records, tables = drawn(seed, columns)
    ready = sorted_records(records, tables)
    assert ready.weights.sum() == len(records)
    near, dense = nearest_by_table(targets, ready, tables, 0.5, reach=0.75, beyond=0.5)
    for i, x in enumerate(targets):
        assert near[i] == pytest.approx(oracle.nearest(x, records, tables), abs=1e-6)
        wanted = oracle.log_density(x, records, tables, 0.5, 0.75, 0.5)
        assert dense[i] == pytest.approx(wanted, abs=1e-5)


def test_threads_do_not_alter_it_and_without_a_width_there_are_no_densities() -> None:
    targets, records, tables = drawn(9, 4)
    ready = sorted_records(records, tables)
    one, two = (nearest_by_table(targets, ready, tables, threads=n) for n in (1, 2))
    assert np.array_equal(one[0], two[0])
    assert np.isneginf(one[1]).all()


def test_nobody_is_near_to_no_record() -> None:
    tables = [np.zeros((2, 2))]
    ready = sorted_records(np.empty((0, 1), np.int32), tables)
    near, dense = nearest_by_table(np.array([[0], [1]]), ready, tables, 1.0)
    assert np.isposinf(near).all()
    assert np.isneginf(dense).all()
    assert nearest_by_table(np.empty((0, 1), np.int32), ready, tables)[0].size == 0


def test_negative_distances_are_refused() -> None:
    tables = [np.array([[-1.0]])]
    ready = sorted_records(np.array([[0]]), [np.array([[1.0]])])
    with pytest.raises(ValueError, match="negative"):
        nearest_by_table(np.array([[0]]), ready, tables)
