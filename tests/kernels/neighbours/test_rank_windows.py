"""Windows of ranks and what survives in all of them, against looking at every record."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.neighbours.rank_windows import (
    Sorted,
    gather,
    neighbour_windows,
    rank_windows,
    sort_column,
    span_windows,
    survivors,
    value_windows,
    widened,
)
from sfumato.kernels.swapping.rank import rank_swap
from tests.oracle import rank_windows as oracle

cells = st.one_of(st.just(math.nan), st.integers(0, 6).map(float))


@st.composite
def two_files(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = draw(st.integers(1, 3))
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    a = draw(st.lists(cells, min_size=n * columns, max_size=n * columns))
    b = draw(st.lists(cells, min_size=m * columns, max_size=m * columns))
    hide = draw(st.lists(st.booleans(), min_size=m * columns, max_size=m * columns))
    y = np.array(b).reshape(m, columns)
    hidden = np.array(hide).reshape(m, columns) & np.isnan(y)
    return np.array(a).reshape(n, columns), y, hidden


def sorted_columns(y: np.ndarray, hidden: np.ndarray) -> list[Sorted]:
    return [sort_column(y[:, c], hidden[:, c]) for c in range(y.shape[1])]


@given(two_files(), st.integers(0, 3), st.sampled_from(["value", "rank", "neighbour"]))
def test_survivors_are_those_that_fit_every_column(
    files: tuple[np.ndarray, np.ndarray, np.ndarray], reach: int, kind: str
) -> None:
    x, y, hidden = files
    if kind == "rank":  # a value that is in neither file has no rank of its own
        pool = y[~np.isnan(y)]
        x = np.where(np.isnan(x) | np.isin(x, pool), x, np.nan)
        absent = [
            (i, c) for i, c in np.argwhere(~np.isnan(x)) if x[i, c] not in y[:, c]
        ]  # fmt: skip
        for i, c in absent:
            x[i, c] = np.nan
    columns, runs = sorted_columns(y, hidden), []
    for c, column in enumerate(columns):
        if kind == "value":
            wide = np.full(len(x), float(reach))
            runs.append(value_windows(x[:, c], column, wide, wide))
        elif kind == "rank":
            runs.append(rank_windows(x[:, c], column, reach))
        else:
            runs.append(neighbour_windows(x[:, c], column, 0.0))
    own = np.arange(len(x)) % len(y)
    found = survivors(
        gather(columns, runs), x, np.where(hidden, np.inf, y), own, threads=1 + reach % 2
    )
    for i in range(len(x)):
        allowed = []
        for j in range(len(y)):
            row = []
            for c in range(y.shape[1]):
                values = [v for v, gone in zip(y[:, c], hidden[:, c], strict=True) if not gone]
                if kind == "value":
                    fit = {v for v in values if abs(v - x[i, c]) <= reach}
                elif kind == "rank":
                    fit = oracle.swappable(values, x[i, c], reach)
                else:
                    fit = oracle.neighbours(values, x[i, c])
                row.append(oracle.fits(x[i, c], y[j, c], hidden[j, c], fit))
            allowed.append(row)
        distance = [oracle.apart(x[i], y[j], hidden[j]) for j in range(len(y))]
        expected = oracle.survivors(allowed, distance, int(own[i]))
        got = (found.remaining[i], found.distance[i], found.ties[i], found.own_left[i])
        assert (*got, found.own_tied[i]) == expected


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=40),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
def test_a_swapped_value_is_always_in_its_window(values: list[int], reach: int, seed: int) -> None:
    """However ties were ordered when ranks were swapped."""
    rng = np.random.default_rng(seed)
    x = np.array(values, dtype=np.float64)
    order = np.lexsort((rng.random(x.size), x))
    y = np.empty_like(x)
    y[order] = x[order][rank_swap(x.size, reach, rng.random(x.size))]
    column = sort_column(y)
    low, high = rank_windows(x, column, reach)
    place = gather([column], [(low, high)]).place[:, 0]
    assert ((low <= place) & (place < high)).all()


@given(
    st.lists(st.integers(-8, 8), min_size=1, max_size=30),
    st.lists(st.integers(1, 5), min_size=1, max_size=30),
)
def test_a_groups_centroid_is_always_beside_its_values(values: list[int], sizes: list[int]) -> None:
    """Groups of consecutive values, of any sizes, with ties cut anywhere."""
    x = np.sort(np.array(values, dtype=np.float64))
    cuts = np.unique(np.minimum(np.cumsum([0, *sizes, x.size]), x.size))
    y = np.concatenate([np.full(b - a, x[a:b].mean()) for a, b in itertools.pairwise(cuts)])
    column = sort_column(y)
    low, high = neighbour_windows(x, column, 1e-9)
    place = gather([column], [(low, high)]).place[:, 0]
    assert ((low <= place) & (place < high)).all()
    rounded = sort_column(np.rint(y))
    low, high = neighbour_windows(x, rounded, 0.5)
    place = gather([rounded], [(low, high)]).place[:, 0]
    assert ((low <= place) & (place < high)).all()


@given(
    st.lists(st.integers(0, 9).map(float), min_size=2, max_size=20),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2**32 - 1),
)
def test_ranks_of_the_whole_file_and_of_the_released_part(
    values: list[float], before: int, after: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    released = rng.choice(values, size=rng.integers(1, len(values) + 1), replace=False)
    column, x = sort_column(released), np.array(values)
    ends = widened(*widened(x, x, np.sort(x), before), column.values, after)
    low, high = span_windows(x, *ends, column)
    for i, value in enumerate(values):
        fit = oracle.reachable(values, released.tolist(), value, before, after)
        inside = set(column.values[low[i] : high[i]].tolist())
        # Where no released record could have been met at all, nothing need be ruled out.
        assert inside == fit or (not fit and after > 0)


@given(two_files(), st.integers(0, 2**32 - 1))
def test_codes_that_differ_count_in_the_distance(
    files: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int
) -> None:
    x, y, hidden = files
    rng = np.random.default_rng(seed)
    ca, cb = (rng.integers(0, 2, (len(side), 2)).astype(np.int32) for side in (x, y))
    columns = sorted_columns(y, hidden)
    wide = np.full(len(x), 3.0)
    runs = [value_windows(x[:, c], column, wide, wide) for c, column in enumerate(columns)]
    windows, own = gather(columns, runs), np.arange(len(x)) % len(y)
    found = survivors(windows, x, np.where(hidden, np.inf, y), own, codes_a=ca, codes_b=cb)
    for i in range(len(x)):
        allowed = [
            [
                oracle.fits(a, b, gone, {v for v in column if abs(v - a) <= 3})
                for a, b, gone, column in zip(x[i], y[j], hidden[j], y.T, strict=True)
            ]
            for j in range(len(y))
        ]  # fmt: skip
        distance = [
            oracle.apart(x[i], y[j], hidden[j]) + int((ca[i] != cb[j]).sum()) for j in range(len(y))
        ]
        expected = oracle.survivors(allowed, distance, int(own[i]))
        got = (found.remaining[i], found.distance[i], found.ties[i], found.own_left[i])
        assert (*got, found.own_tied[i]) == expected


def test_threads_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(300, 3))
    x = y + 0.1 * rng.normal(size=y.shape)
    columns = [sort_column(y[:, c]) for c in range(3)]
    windows = gather(columns, [rank_windows(x[:, c], columns[c], 20) for c in range(3)])
    one = survivors(windows, x, y, np.arange(300), threads=1)
    for many in (survivors(windows, x, y, np.arange(300), threads=t) for t in (2, 3)):
        assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))
    assert one.own_left.any()


def test_arguments_that_do_not_fit() -> None:
    column = sort_column(np.array([1.0, 2.0]))
    windows = gather([column], [rank_windows(np.array([1.0]), column, 1)])
    with pytest.raises(ValueError, match="do not fit"):
        survivors(windows, np.ones((2, 1)), np.ones((2, 1)), np.array([0, 1]))
