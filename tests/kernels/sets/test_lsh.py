"""Hash tables of sets beside the keys written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.lsh import bit_groups, lsh_bits, lsh_tables
from tests.oracle.itemsets import rows

_SETS = st.lists(st.sets(st.integers(0, 9), max_size=5).map(sorted), min_size=1, max_size=20)


@given(_SETS, st.integers(1, 3), st.integers(0, 12), st.integers(0, 99))
def test_records_with_equal_keys_share_buckets(
    sets: list[list[int]], tables: int, bits: int, seed: int
) -> None:
    starts, items = rows(sets)
    found = lsh_tables(starts, items, 10, tables, bits, rng=np.random.default_rng(seed), threads=2)
    rng = np.random.default_rng(seed)
    shares = np.array([sum(item in s for s in sets) for item in range(10)]) / len(sets)
    for t in range(tables):
        groups = [set(group.tolist()) for group in bit_groups(shares, bits, rng)]
        keys = [sum(1 << j for j in range(bits) if groups[j] & set(s)) for s in sets]
        distinct = sorted(set(keys))
        assert found.bucket[t].tolist() == [distinct.index(key) for key in keys]
        assert found.order[t].tolist() == sorted(range(len(sets)), key=keys.__getitem__)
        assert np.diff(found.bounds[t]).tolist() == [keys.count(key) for key in distinct]
        assert found.bounds[t][0] == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 99))
def test_half_of_the_records_should_hold_an_item_of_a_group(shares: list[float], seed: int) -> None:
    p = np.array(shares)
    for group in bit_groups(p, 4, np.random.default_rng(seed)):
        assert (p[group] > 0).all()
        if (p > 0).sum() == group.size:
            continue  # all items there are
        lacking = np.prod(1 - p[group])
        assert lacking <= 0.5 + 1e-12
        # Without one of them, the last to come, it was not enough.
        assert any(np.prod(1 - np.delete(p[group], a)) > 0.5 - 1e-12 for a in range(group.size))


def test_buckets_are_even_where_items_are_rare() -> None:
    rng = np.random.default_rng(0)
    sets = [sorted(set(rng.integers(0, 200, 6).tolist())) for _ in range(4000)]
    found = lsh_tables(*rows(sets), 200, 4, 5, rng=rng)
    for bounds in found.bounds:
        assert bounds.size == 33
        assert np.diff(bounds).max() < 4 * 4000 / 32


def test_similar_sets_meet_more_often() -> None:
    rng = np.random.default_rng(0)
    base = [sorted(set(rng.integers(0, 300, 20).tolist())) for _ in range(1000)]
    near = [s[:-2] for s in base]
    found = lsh_tables(*rows(base + near), 300, 5, 8, rng=rng).bucket
    alike = (found[:, :1000] == found[:, 1000:]).mean()
    others = (found[:, :1000] == np.roll(found[:, 1000:], 1, axis=1)).mean()
    assert alike > 10 * others


@pytest.mark.golden
def test_the_thesis_choice_of_bits(
    golden_record: Callable[[str, object, object], None],
) -> None:
    # Buckets of n / 2**bits records in each of 5 tables: about 50 log n records for a query.
    for n in (1000, 30_162, 100_000, 20_616_891):
        expected = 5 * n / 2 ** lsh_bits(n)
        assert 0.7 < expected / (50 * np.log(n)) < 1.42
    n = 20_616_891
    expected = round(np.log2(5 * n / (50 * np.log(n))))
    golden_record("podgursky chapter IV: bits for 20,616,891 records", expected, lsh_bits(n))
    assert lsh_bits(n) == expected
    assert lsh_bits(1) == lsh_bits(0) == 0


@pytest.mark.golden
def test_the_bucket_of_the_thesis(golden_record: Callable[[str, object, object], None]) -> None:
    """Of the positions 12, 34 and 45 the set {2, 10, 34, 56} holds the second: 010, bucket 2."""

    class Drawn:
        """A generator that draws the thesis' positions."""

        def integers(self, high: int, size: tuple[int, int]) -> np.ndarray:
            return np.array([[12], [34], [45]])

    # Beside it a set for every key, since buckets that nobody is in have no number.
    others = [[p for j, p in enumerate((12, 34, 45)) if key >> j & 1] for key in range(8)]
    starts, items = rows([[2, 10, 34, 56], *others])
    found = lsh_tables(starts, items, 60, 1, 3, rng=Drawn(), even=False).bucket[0].tolist()
    golden_record("podgursky chapter IV: bucket of {2, 10, 34, 56}", 2, found[0])
    assert found == [2, *range(8)]


def test_many_bits_and_no_items() -> None:
    starts = np.zeros(4, dtype=np.int64)
    items = np.empty(0, dtype=np.uint16)
    found = lsh_tables(starts, items, 0, 2, 62, rng=np.random.default_rng(0))
    assert found.bucket.tolist() == [[0, 0, 0]] * 2
    assert found.bounds[0].tolist() == [0, 3]
