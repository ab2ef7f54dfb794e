"""Two-phase against its oracle: the same groups, one cluster at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.sets.table import item_type
from sfumato.kernels.sets.two_phase import _split as set_split
from sfumato.kernels.sets.two_phase._merge import merge
from sfumato.kernels.sets.two_phase._reach import item_words, reach_of
from sfumato.kernels.sets.two_phase._rows import Rows, by_weight
from sfumato.kernels.sets.two_phase._search import kept, two_phase
from sfumato.kernels.sets.two_phase._split import split
from sfumato.kernels.sets.two_phase._split_state import (
    append,
    find,
    leave,
    new_group,
    no_groups,
    relabel,
)
from tests.oracle import two_phase as oracle


def _compressed(records: Sequence[Sequence[int]], d: int) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *(len(record) for record in records)])
    flat = [item for record in records for item in sorted(record)]
    return starts.astype(np.int64), np.array(flat, dtype=item_type(d))


def _records(seed: int, n: int, d: int) -> tuple[list[list[int]], np.ndarray]:
    """Sets of very different sizes, with repeats and items that are worth nothing."""
    rng = np.random.default_rng(seed)
    found = [np.flatnonzero(rng.random(d) < rng.random()).tolist() for _ in range(n)]
    found += [found[i] for i in rng.integers(0, n, n // 4)]
    return found, rng.integers(0, 6, d).astype(float)


def _canon(groups: Iterable[Iterable[int]]) -> list[list[int]]:
    return sorted(sorted(int(i) for i in group) for group in groups)


def _groups(labels: np.ndarray) -> list[list[int]]:
    return _canon(np.flatnonzero(labels == g) for g in np.unique(labels))


def _by_record(rows: Rows, label: np.ndarray) -> np.ndarray:
    found = np.empty(label.size, dtype=np.int64)
    found[rows.record] = label
    return found


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), d=st.integers(1, 12))
def test_rows_are_in_the_order_of_weights(seed: int, n: int, d: int) -> None:
    records, worth = _records(seed, n, d)
    rows = by_weight(*_compressed(records, d), worth)
    want = oracle.rows_by_weight(records, worth)
    order = sorted(range(len(want)), key=lambda i: (want[i], i))
    got = [
        tuple(rows.ranks[a:b].tolist()) for a, b in zip(rows.starts, rows.starts[1:], strict=False)
    ]
    assert rows.record.tolist() == order
    assert got == [want[i] for i in order]
    assert rows.worth.tolist() == oracle.worth_by_weight(records, worth).tolist()
    distinct = sorted(set(want))
    assert [got[p] for p in rows.head[:-1]] == distinct
    for c in range(1, len(distinct)):
        here, before = distinct[c], distinct[c - 1]
        alike = [x == y for x, y in zip(here, before, strict=False)]
        longest = [*alike, False].index(False)
        assert rows.shared[c] == longest


def test_many_items_take_four_bytes() -> None:
    rng = np.random.default_rng(1)
    records = [sorted({int(a) for a in rng.integers(0, 70_000, 9)}) for _ in range(50)]
    records += [sorted({1, 69_999, i}) for i in range(2, 20)]
    worth = rng.random(70_000)
    labels = two_phase(*_compressed(records, 70_000), worth, 3)
    assert np.bincount(labels).min() >= 3
    rows = by_weight(*_compressed(records, 70_000), worth)
    want = oracle.rows_by_weight(records, worth)
    assert rows.record.tolist() == sorted(range(len(want)), key=lambda i: (want[i], i))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), d=st.integers(1, 8))
def test_nothing_is_met_beyond_the_reach(seed: int, n: int, d: int) -> None:
    records, worth = _records(seed, n, d)
    rows = by_weight(*_compressed(records, d), worth)
    distinct = sorted(set(oracle.rows_by_weight(records, worth)))
    reach = reach_of(rows, item_words(d), 2)
    for c, row in enumerate(distinct):
        begins = {q[:t] for q in distinct if q != row for t in range(len(q) + 1)}
        less = {s[:j] + s[j + 1 :] for s in begins for j in range(len(s))}
        for t in range(int(reach[c]) + 1, len(row) + 1):
            s = row[:t]
            assert s not in begins
            assert s not in less
            assert not any(s[:j] + s[j + 1 :] in begins for j in range(t))


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 50), d=st.integers(1, 12), k=st.integers(2, 7),
    least_loss=st.booleans(),
)  # fmt: skip
def test_merging_is_the_oracles(seed: int, n: int, d: int, k: int, least_loss: bool) -> None:
    records, worth = _records(seed, max(n, k), d)
    rows = by_weight(*_compressed(records, d), worth)
    into = merge(rows, k, least_loss=least_loss, threads=2)
    got = _by_record(rows, np.repeat(into, np.diff(rows.head)))
    want = oracle.merge(oracle.rows_by_weight(records, worth), rows.worth, k, least_loss=least_loss)
    assert _groups(got) == _canon(want)


@pytest.mark.parametrize("listed", [1 << 27, 8])
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 50), d=st.integers(1, 12), k=st.integers(2, 7),
    whole=st.booleans(),
)  # fmt: skip
@settings(max_examples=40)
def test_splitting_is_the_oracles(
    listed: int, seed: int, n: int, d: int, k: int, whole: bool
) -> None:
    records, worth = _records(seed, max(n, k), d)
    rows = by_weight(*_compressed(records, d), worth)
    ranked = oracle.rows_by_weight(records, worth)
    begin = [list(range(len(records)))]
    if not whole:
        begin = oracle.merge(ranked, rows.worth, k, least_loss=True)
    label = np.empty(len(records), dtype=np.int64)
    for number, group in enumerate(begin):
        label[group] = number
    with pytest.MonkeyPatch.context() as patch:
        # Large groups are searched through; small limits do so for all.
        patch.setattr(set_split, "_LISTED", listed)
        got = split(rows, label[rows.record], k)
    want = oracle.split(ranked, rows.worth, k, begin)
    assert _groups(_by_record(rows, got)) == _canon(want)
    assert kept(rows, got) == pytest.approx(oracle.utility(ranked, rows.worth, want))
    assert oracle.utility(ranked, rows.worth, want) >= oracle.utility(ranked, rows.worth, begin)


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), d=st.integers(1, 70), k=st.integers(2, 9),
    start=st.sampled_from(["better", "merged", "whole"]),
)  # fmt: skip
def test_all_groups_have_k_whatever_the_threads(
    seed: int, n: int, d: int, k: int, start: str
) -> None:
    records, worth = _records(seed, max(n, k), d)
    starts, items = _compressed(records, d)
    before = items.copy()
    found = [two_phase(starts, items, worth, k, start=start, threads=t) for t in (1, 2, 3)]  # type: ignore[arg-type]
    sizes = np.bincount(found[0])
    assert sizes.min() >= k
    assert sizes.sum() == len(records)
    assert found[0].tolist() == found[1].tolist() == found[2].tolist()
    assert (items == before).all()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 60), d=st.integers(2, 12))
def test_the_better_start_is_taken(seed: int, n: int, d: int) -> None:
    records, worth = _records(seed, n, d)
    given_ = _compressed(records, d)
    rows = by_weight(*given_, worth)
    left = {
        start: kept(rows, two_phase(*given_, worth, 2, start=start)[rows.record])
        for start in ("better", "merged", "whole")
    }
    assert left["better"] == pytest.approx(max(left["merged"], left["whole"]))


def test_a_larger_file_is_the_oracles_too() -> None:
    rng = np.random.default_rng(5)
    chance = 0.5 * 0.02 ** (np.arange(120) / 119)
    records = [
        np.flatnonzero(rng.random(120) < chance * rng.gamma(2, 0.5)).tolist() for _ in range(250)
    ]
    worth = rng.integers(1, 101, 120).astype(float)
    ranked = oracle.rows_by_weight(records, worth)
    by_rank = oracle.worth_by_weight(records, worth)
    for k in (2, 5, 20):
        begin = oracle.merge(ranked, by_rank, k, least_loss=False)
        want = oracle.split(ranked, by_rank, k, begin)
        got = two_phase(*_compressed(records, 120), worth, k, start="merged", least_loss=False)
        assert _groups(got) == _canon(want)


@pytest.mark.parametrize(
    "records",
    [
        [[], [], []],
        [[0]] * 5,
        [[0], [1], [2], [3], [4]],
        [[], [0, 1, 2], [0, 1, 2, 3]],
        [list(range(300)), list(range(300)), list(range(299))],
    ],
)
def test_odd_tables(records: list[list[int]]) -> None:
    for start in ("merged", "whole", "better"):
        labels = two_phase(*_compressed(records, 300), np.ones(300), 2, start=start)
        assert np.bincount(labels).min() >= 2


def test_too_few_records() -> None:
    with pytest.raises(ValueError, match="cannot form a group of 3"):
        two_phase(*_compressed([[0], [1]], 2), np.ones(2), 3)


def test_progress_rises_to_the_end_and_giving_up_ends_both() -> None:
    records, worth = _records(3, 400, 30)
    given_ = _compressed(records, 30)
    for start in ("merged", "whole", "better"):
        heard: list[float] = []
        two_phase(*given_, worth, 3, start=start, tell=heard.append)
        assert 0 <= min(heard) <= max(heard) <= 1
        if start != "better":
            assert heard == sorted(heard)

    def give_up(share: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            two_phase(*given_, worth, 3, threads=threads, tell=give_up)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=60))
def test_groups_are_found_by_their_labels(steps: list[tuple[bool, int]]) -> None:
    """A table with few slots, in which runs wrap around and gaps are closed."""
    groups, labels = no_groups(64, 31), np.empty(4, dtype=np.uint16)
    words = [np.uint64(item % 5 + (item << 40)) for item in range(31)]
    inside: dict[int, int] = {}
    for come, item in steps:
        if come and item not in inside:
            g = new_group(groups)
            append(groups, g, item)
            labels = relabel(groups, labels, g, words[item], np.array([item], dtype=np.uint16))
            inside[item] = g
        elif not come and item in inside:
            leave(groups, inside.pop(item))
        for one in range(31):
            got = find(groups, labels, words[one], np.array([one], dtype=np.uint16))
            assert got == inside.get(one, -1)
