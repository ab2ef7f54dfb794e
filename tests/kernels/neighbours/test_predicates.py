"""How many records fit predicates, beside a plain count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.neighbours.predicates import Cells, Predicates, cells, fits, mixed, ranges
from tests.oracle import guessing as oracle


def drawn(seed: int, n: int, p: int, q: int) -> tuple[Cells, list[list[Any]], list[np.ndarray]]:
    """Records as arrays, and as lists for the oracle; and which exact places each column has."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, 6, (n, p, 2)), axis=2).astype(float)
    kind = rng.random((n, p))
    ends[kind < 0.5, 1] = ends[kind < 0.5, 0]
    ends[kind < 0.1] = np.nan
    ends[kind > 0.9] = (-np.inf, np.inf)
    counts = rng.integers(1, 4, q)
    places = counts + rng.integers(0, 3, q)
    codes = np.column_stack([np.empty((n, 0))] + [rng.integers(0, of, n) for of in places])
    keys = rng.integers(0, 2**63, n).astype(np.uint64)
    asked = cells(ends[:, :, 0], ends[:, :, 1], codes.astype(np.int32), counts.tolist(), keys)
    records = [
        [_ends(*ends[i, j]) for j in range(p)] + [int(code) for code in codes[i]] for i in range(n)
    ]
    return asked, records, [np.arange(of) < c for of, c in zip(places, counts, strict=True)]


def _ends(low: float, high: float) -> Any:
    if np.isnan(low):
        return None
    return oracle.ANY if np.isinf(low) else (float(low), float(high))


def questions(seed: int, size: int, p: int, exact: list[np.ndarray]) -> tuple[Predicates, list]:
    """Predicates on random columns, and the same for the oracle."""
    rng = np.random.default_rng([seed, 1])
    listed: list[list[tuple[int, Any]]] = []
    flat: list[tuple[int, float, float, float, int, int]] = []
    tables = [np.zeros(1)]
    for _ in range(size):
        some = rng.permutation(p + len(exact))[: rng.integers(1, p + len(exact) + 1)]
        listed.append([])
        for j in some.tolist():
            if j < p:
                low, high = sorted(rng.integers(-1, 7, 2).astype(float).tolist())
                kind = rng.random()
                low, high = (np.nan,) * 2 if kind < 0.1 else (low, high)
                low, high = (-np.inf if kind > 0.8 else low), (np.inf if 0.7 < kind < 0.9 else high)
                free = float(rng.integers(0, 5)) / 4
                listed[-1].append((j, (low, high, 0.0 if np.isnan(low) else free)))
                flat.append((j, low, high, 0.0 if np.isnan(low) else free, 0, -1))
                continue
            table, only = rng.integers(0, 5, exact[j - p].size) / 4, -1
            if rng.random() < 0.5:
                only = int(rng.choice(np.flatnonzero(exact[j - p])))
                table[exact[j - p]] = 0.0
                table[only] = 1.0
            flat.append((j, 0.0, 0.0, 0.0, sum(t.size for t in tables), only))
            tables.append(table)
            listed[-1].append((j, table.tolist()))
    column, low, high, free, place, only = zip(*flat, strict=True)
    starts = np.cumsum([0] + [len(one) for one in listed])
    made = Predicates(
        starts, np.array(column, np.int32), np.array(low), np.array(high), np.array(free),
        np.array(place), np.array(only, np.int32), np.concatenate(tables).astype(np.float32),
    )  # fmt: skip
    return made, listed


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 3), st.integers(0, 3))
def test_it_is_a_plain_count(seed: int, n: int, p: int, q: int) -> None:
    p = max(p, 1 - q)
    asked, records, exact = drawn(seed, n, p, q)
    made, listed = questions(seed, 12, p, exact)
    found, few = fits(asked, made, np.inf), fits(asked, made, 2.0)
    for i, predicate in enumerate(listed):
        chances = [oracle.chance(record, predicate) for record in records]
        total, likely = sum(chances), [r for r, c in enumerate(chances) if c > 0.5]
        assert found.expected[i] == pytest.approx(total, abs=1e-6)
        assert found.first[i] in (likely or [-1])
        # Counting ends above two.
        if total <= 2.0 - 1e-6:
            assert few.expected[i] == pytest.approx(total, abs=1e-6)
            assert few.first[i] == found.first[i]
        elif total > 2.0 + 1e-6:
            assert 2.0 < few.expected[i] <= total + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_a_hash_leaves_those_whose_number_is_small(seed: int) -> None:
    asked, records, exact = drawn(seed, 300, 2, 1)
    made, listed = questions(seed, 30, 2, exact)
    rng = np.random.default_rng(seed)
    seeds, weights = rng.integers(0, 2**63, 30).astype(np.uint64), rng.random(30)
    weights[0] = 1.0
    found = fits(asked, made, np.inf, seeds=seeds, weights=weights)
    left = 0
    for i, predicate in enumerate(listed):
        kept = [
            r for r in range(300) if oracle.hashed(int(asked.keys[r]), int(seeds[i])) < weights[i]
        ]
        left += len(kept) if i else 0
        wanted = sum(oracle.chance(records[r], predicate) for r in kept)
        assert found.expected[i] == pytest.approx(wanted, abs=1e-5)
    # As many are left as the weights say.
    assert left / (300 * weights[1:].sum()) == pytest.approx(1.0, abs=0.05)


def test_every_bit_of_a_key_matters() -> None:
    keys = [0, 1, 2**40, 2**63, 12345]
    found = [int(mixed(np.uint64(key))) for key in keys]
    assert len(set(found)) == len(keys)
    assert all(abs(bin(found[0] ^ one).count("1") - 32) < 16 for one in found[1:])


def test_threads_do_not_alter_it() -> None:
    asked, _, exact = drawn(4, 500, 2, 2)
    made, _ = questions(4, 200, 2, exact)
    one, two = (fits(asked, made, 30.0, threads=n) for n in (1, 2))
    assert np.array_equal(one.expected, two.expected)
    assert np.array_equal(one.first, two.first)


def test_nothing_is_asked_of_nobody() -> None:
    nobody = cells(np.empty((0, 1)), np.empty((0, 1)), np.empty((0, 0)), [], np.empty(0))
    found = fits(nobody, ranges(np.array([[0.0, 1.0]])), 5.0)
    assert found.expected.tolist() == [0.0]
    assert found.first.tolist() == [-1]
    somebody = cells(np.zeros((1, 1)), np.zeros((1, 1)), np.empty((1, 0)), [], np.empty(0))
    assert fits(somebody, ranges(np.empty((0, 2))), 5.0).expected.size == 0
