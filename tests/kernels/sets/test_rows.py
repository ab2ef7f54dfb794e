"""Sets in compressed rows, beside Python's own sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.joining import best_partners
from sfumato.kernels.sets.rows import common_items, take_rows, weights_of
from tests.oracle.itemsets import rows

_SETS = st.lists(st.sets(st.integers(0, 70), max_size=8).map(sorted), min_size=1, max_size=12)


def _lists(starts: np.ndarray, items: np.ndarray) -> list[list[int]]:
    return [items[starts[i] : starts[i + 1]].tolist() for i in range(starts.size - 1)]


@given(_SETS, st.data())
def test_groups_show_what_all_have(sets: list[list[int]], data: st.DataObject) -> None:
    groups = data.draw(
        st.lists(st.lists(st.integers(0, len(sets) - 1), max_size=5), min_size=1, max_size=5)
    )
    bounds = np.concatenate(([0], np.cumsum([len(g) for g in groups]))).astype(np.int64)
    order = np.array([i for g in groups for i in g], dtype=np.int64)
    expected = [sorted(set.intersection(*(set(sets[i]) for i in g))) if g else [] for g in groups]
    assert _lists(*common_items(*rows(sets), order, bounds)) == expected


def test_many_groups_are_cut_into_parts() -> None:
    rng = np.random.default_rng(0)
    sets = [sorted(set(rng.integers(0, 30, 12).tolist())) for _ in range(9000)]
    order = rng.permutation(9000)
    bounds = np.arange(0, 9001, 2)
    found = _lists(*common_items(*rows(sets), order, bounds))
    assert found == [
        sorted(set(sets[order[g]]) & set(sets[order[g + 1]])) for g in range(0, 9000, 2)
    ]


@given(_SETS, st.data())
def test_rows_taken(sets: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(-1, len(sets) - 1), max_size=9))
    found = _lists(*take_rows(*rows(sets), np.array(chosen, dtype=np.int64)))
    assert found == [[] if i < 0 else sets[i] for i in chosen]


@given(_SETS)
def test_weights(sets: list[list[int]]) -> None:
    starts, items = rows(sets)
    worth = np.arange(71.0)
    assert weights_of(starts, items, worth).tolist() == [float(sum(one)) for one in sets]


@given(st.lists(st.sets(st.integers(0, 6), max_size=5).map(sorted), min_size=2, max_size=9))
def test_the_partner_that_costs_least(sets: list[list[int]]) -> None:
    worth, sizes = np.arange(1.0, 8.0), np.arange(2, 2 + len(sets))

    def utility(items: set[int]) -> float:
        return sum(worth[i] for i in items)

    def change(a: int, b: int) -> float:
        both = utility(set(sets[a]) & set(sets[b])) * (sizes[a] + sizes[b])
        return float(both - utility(set(sets[a])) * sizes[a] - utility(set(sets[b])) * sizes[b])

    chosen = np.arange(len(sets))
    for g, found in enumerate(best_partners(*rows(sets), worth, sizes, chosen).tolist()):
        best = max(change(g, h) for h in range(len(sets)) if h != g)
        assert found != g
        assert change(g, found) == pytest.approx(best)
