"""Nearest records of cells that stand for several values, beside a plain scan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.neighbours.nearest_cells import People, Released, index, nearest_cells
from tests.oracle import guessing as oracle


def far(column: int, x: Any) -> float:
    """How far a suppressed cell is, in eighths, so that sums are exact and ties are ties."""
    return 1.0 if x is None else (column + round(8 * x)) % 7 / 8


def drawn(seed: int, n: int, m: int, p: int, q: int) -> tuple[Any, ...]:
    """People and records as arrays, and as lists for the oracle."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (n, p)) / 8
    x[rng.random((n, p)) < 0.15] = np.nan
    ends = np.sort(rng.integers(0, 9, (m, p, 2)), axis=2) / 8
    kind = rng.random((m, p))
    ends[kind < 0.6, 1] = ends[kind < 0.6, 0]
    ends[kind < 0.1] = np.nan
    ends[kind > 0.9] = (-np.inf, np.inf)
    counts = rng.integers(1, 5, q)
    labels = rng.integers(0, 3, q)
    covers = [rng.random((c + b, c)) < 0.5 for c, b in zip(counts, labels, strict=True)]
    codes = np.column_stack([np.empty((n, 0))] + [rng.integers(0, c, n) for c in counts])
    cells = np.column_stack(
        [np.empty((m, 0))]
        + [rng.integers(-1, c + b, m) for c, b in zip(counts, labels, strict=True)]
    )
    people = [
        [None if np.isnan(v) else float(v) for v in x[i]] + [int(v) for v in codes[i]]
        for i in range(n)
    ]
    records = [
        [_ends(*ends[r, j]) for j in range(p)]
        + [_stands_for(int(cells[r, c]), int(counts[c]), covers[c]) for c in range(q)]
        for r in range(m)
    ]
    apart = np.array([[far(j, v) for j, v in enumerate(one)] for one in people]).reshape(n, p + q)
    starts = np.cumsum([0] + [table.size for table in covers])[:-1]
    flat = np.concatenate([np.empty(0, bool), *(table.ravel() for table in covers)])
    released = Released(
        ends[:, :, 0], ends[:, :, 1], cells.astype(np.int32), counts, flat.astype(np.uint8), starts
    )
    return People(x, codes.astype(np.int32), apart), released, people, records


def _ends(low: float, high: float) -> Any:
    if np.isnan(low):
        return None
    return oracle.ANY if np.isinf(low) else (float(low), float(high))


def _stands_for(place: int, count: int, covers: np.ndarray) -> Any:
    if place < 0:
        return oracle.ANY
    return {place} if place < count else set(np.flatnonzero(covers[place]).tolist())


def check(seed: int, n: int, m: int, p: int, q: int, k: int) -> None:
    who, released, people, records = drawn(seed, n, m, p, q)
    order = np.random.default_rng([seed, 1]).permutation(m)
    k = min(k, m)
    rows, apart = nearest_cells(who, index(released, order), k)
    for i, person in enumerate(people):
        wanted = oracle.nearest(person, records, order.tolist(), k, far)
        assert rows[i].tolist() == wanted
        assert apart[i].tolist() == [oracle.gower(person, records[r], far) for r in wanted]


@settings(max_examples=150)
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 60),
    st.integers(0, 3), st.integers(0, 3), st.integers(1, 4),
)  # fmt: skip
def test_it_is_a_plain_scan(seed: int, n: int, m: int, p: int, q: int, k: int) -> None:
    check(seed, n, m, p, q, k)


@pytest.mark.parametrize(("p", "q"), [(1, 0), (0, 1), (3, 0), (0, 4), (2, 2)])
def test_of_many_records_too(p: int, q: int) -> None:
    check(7, 40, 700, p, q, 3)


def test_neither_threads_nor_the_order_of_people_and_records_alter_it() -> None:
    who, released, _, _ = drawn(3, 60, 500, 2, 2)
    order = np.random.default_rng(0).permutation(500)
    rows, apart = nearest_cells(who, index(released, order), 3, threads=1)
    again = nearest_cells(who, index(released, order), 3, threads=2)
    assert np.array_equal(rows, again[0])
    assert np.array_equal(apart, again[1])
    # The same records in other rows, taken in the same order where they are equally near.
    turned, put = np.random.default_rng(1).permutation(500), np.empty(500, np.int64)
    put[turned] = np.arange(500)
    moved = Released(*(part[turned] for part in released[:3]), *released[3:])
    backwards = People(*(part[::-1] for part in who))
    found, _ = nearest_cells(backwards, index(moved, put[order]), 3)
    assert np.array_equal(turned[found][::-1], rows)


def test_equal_records_are_one_group_and_the_rest_are_not() -> None:
    nan, inf = np.nan, np.inf
    low = np.array([[0.0], [-0.0], [nan], [-nan], [-inf], [0.5]])
    high = np.array([[0.0], [0.0], [nan], [nan], [inf], [0.75]])
    empty = np.empty(0, np.int64)
    group = index(
        Released(low, high, np.zeros((6, 0), np.int32), empty, empty.astype(np.uint8), empty),
        np.arange(6),
    ).group
    assert group[0] == group[1]
    assert group[2] == group[3]
    assert np.unique(group).size == 4


def test_it_finds_no_more_records_than_there_are() -> None:
    who, released, _, _ = drawn(1, 2, 3, 1, 1)
    for k in (0, 4):
        with pytest.raises(ValueError, match="from 1 to the 3"):
            nearest_cells(who, index(released, np.arange(3)), k)
