"""The sets that tell most records apart, against looking at all of them."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.uniques.separating import Aim, Told, best_sets

Columns = list[np.ndarray]
AIMS: tuple[Aim, Aim] = ("separation", "distinction")


@st.composite
def tables(draw: st.DrawFn) -> tuple[Columns, np.ndarray]:
    """Different records and how often each occurs."""
    columns = draw(st.integers(1, 6))
    row = st.tuples(*(st.integers(0, draw(st.integers(0, 4))) for _ in range(columns)))
    counts = draw(st.dictionaries(row, st.integers(1, 4), min_size=1, max_size=25))
    codes = np.array([*counts], np.int32).reshape(-1, columns)
    return [np.ascontiguousarray(one) for one in codes.T], np.array([*counts.values()], np.int64)


def told(columns: Columns, weight: np.ndarray, chosen: tuple[int, ...]) -> Told:
    """By the records themselves, each as often as it occurs."""
    rows = np.repeat(np.array(columns).T[:, list(chosen)], weight, axis=0)
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return Told(chosen, int((counts * (counts - 1)).sum()), counts.size)


def worth(one: Told, aim: Aim) -> int:
    return -one.alike if aim == "separation" else one.distinct


@given(tables(), st.integers(1, 6), st.integers(1, 5), st.sampled_from(AIMS))
def test_the_best_of_all_sets(
    table: tuple[Columns, np.ndarray], size: int, best: int, aim: Aim
) -> None:
    size = min(size, len(table[0]))
    found, looked = best_sets(*table, size, best, aim, 10_000)
    assert len(found) == size
    for k, one in enumerate(found, 1):
        everything = [told(*table, s) for s in combinations(range(len(table[0])), k)]
        ranked = sorted(everything, key=lambda t: (-worth(t, aim), t.chosen))
        # Which of those that are as good as the last one are told is left open.
        assert [worth(t, aim) for t in one.sets] == [worth(t, aim) for t in ranked[:best]]
        assert all(t in everything for t in one.sets)
        assert one.at_most is None
    assert looked <= sum(comb(len(table[0]), k) for k in range(1, size + 1))


@given(tables(), st.integers(2, 5), st.integers(1, 3), st.sampled_from(AIMS), st.integers(0, 20))
def test_what_was_not_looked_at_is_bounded(
    table: tuple[Columns, np.ndarray], size: int, best: int, aim: Aim, steps: int
) -> None:
    size = min(size, len(table[0]))
    found, looked = best_sets(*table, size, best, aim, steps)
    assert looked <= steps
    for k, one in enumerate(found, 1):
        assert all(told(*table, t.chosen) == t for t in one.sets)
        known = {t.chosen for t in one.sets}
        # The last one told, or the bound: nothing else is better than both.
        limits = [worth(one.sets[-1], aim)] if len(one.sets) == best else []
        if one.at_most is not None:
            limits.append(-one.at_most if aim == "separation" else one.at_most)
        others = (s for s in combinations(range(len(table[0])), k) if s not in known)
        assert all(worth(told(*table, s), aim) <= max(limits) for s in others)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("aim", AIMS)
def test_few_sets_are_looked_at(seed: int, aim: Aim) -> None:
    """Of 4,525 sets of at most three of thirty columns."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [rng.integers(0, many, 20_000) for many in np.geomspace(60, 2, 30).round().astype(int)]
    )
    rows, weight = np.unique(codes.astype(np.int32), axis=0, return_counts=True)
    columns = [np.ascontiguousarray(one) for one in rows.T]
    found, looked = best_sets(columns, weight, 3, 10, aim, 5000)
    assert looked < 1000
    assert [one.at_most for one in found] == [None] * 3
    for k, one in enumerate(found, 1):
        chosen = {t.chosen for t in one.sets}
        sets = (s for s in combinations(range(5), k) if s not in chosen)
        last = worth(one.sets[-1], aim)
        assert all(worth(told(columns, weight, s), aim) <= last for s in sets)
