"""Which records have the same set."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.sets.equal_sets import as_sets, first_equal_sets

sets = st.lists(st.one_of(st.none(), st.lists(st.integers(0, 5), max_size=5)), max_size=30)


def _rows(
    lists: list[list[int] | None], dtype: type = np.int64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *(len(one or ()) for one in lists)])
    items: np.ndarray = np.array([item for one in lists for item in one or ()], dtype=dtype)
    return starts, items, np.array([one is None for one in lists], dtype=bool)


@given(sets, st.sampled_from([np.int64, np.uint16]))
def test_the_first_record_with_the_same_set(lists: list[list[int] | None], dtype: type) -> None:
    keys = [None if one is None else frozenset(one) for one in lists]
    expected = [keys.index(key) for key in keys]
    rows = _rows(lists, dtype)
    before = rows[1].copy()
    assert first_equal_sets(*rows).tolist() == expected
    assert (rows[1] == before).all()
    # Exact even where hashes say nothing, or little.
    for hashes in (np.zeros(len(lists), np.uint64), np.array([len(k or ()) for k in keys], "u8")):
        assert first_equal_sets(*rows, hashes=hashes).tolist() == expected


@given(sets)
def test_sorted_and_once(lists: list[list[int] | None]) -> None:
    starts, items, _ = _rows(lists)
    ends, kept = as_sets(starts, items)
    found = [kept[a:b].tolist() for a, b in pairwise(ends)]
    assert found == [sorted(set(one or ())) for one in lists]
    again = as_sets(ends, kept)
    assert again[0] is ends
    assert again[1] is kept


def test_many_records_in_many_parts() -> None:
    rng = np.random.default_rng(0)
    kinds = [np.unique(rng.integers(0, 300, size)) for size in rng.integers(0, 9, 20_000)]
    drawn = rng.integers(0, len(kinds), 70_000)
    starts = np.concatenate(([0], np.cumsum([kinds[one].size for one in drawn])))
    items = np.concatenate([kinds[one] for one in drawn]).astype(np.uint16)
    found = first_equal_sets(starts, items, np.zeros(drawn.size, dtype=bool))
    seen: dict[bytes, int] = {}
    expected = [seen.setdefault(kinds[one].tobytes(), i) for i, one in enumerate(drawn)]
    assert found.tolist() == expected


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any(n: int) -> None:
    none = np.zeros(0, dtype=np.uint16)
    found = first_equal_sets(np.zeros(n + 1, dtype=np.int64), none, np.zeros(n, dtype=bool))
    assert found.tolist() == list(range(n))
