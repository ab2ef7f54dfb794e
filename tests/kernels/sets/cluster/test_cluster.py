"""Clustering of sets beside plain loops over Python sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sfumato.kernels.sets.cluster import _cluster as set_cluster
from sfumato.kernels.sets.cluster._cluster import Neighbours, Seeds, cluster_sets
from sfumato.kernels.sets.cluster._rows import buckets_of, enter_all, move
from sfumato.kernels.sets.lsh import lsh_tables
from sfumato.kernels.sets.rows import distinct_sets
from tests.oracle import set_clusters as oracle
from tests.oracle.itemsets import rows

_D = 8
_SETS = st.lists(st.sets(st.integers(0, _D - 1), max_size=6).map(sorted), min_size=2, max_size=24)
_UTILITIES = st.lists(st.integers(0, 5).map(float), min_size=_D, max_size=_D)
_ALL: tuple[Neighbours, ...] = ("lsh", "random", "all")


def _naive(
    sets: list[list[int]],
    utilities: list[float],
    k: int,
    seed: int,
    seeds: Seeds,
    bits: int | None = None,
) -> list[int]:
    """The naive clustering with the same draws: the first record, and the order of leftovers."""
    first, hashing, _, rest = np.random.default_rng(seed).integers(2**62, size=4).tolist()
    plain = [frozenset(s) for s in sets]
    known = oracle.distinct(plain)
    buckets = None
    if bits is not None:
        chance = np.random.default_rng(hashing)
        hashed = lsh_tables(*rows([sorted(s) for s in known]), _D, 2, bits, rng=chance).bucket
        buckets = [{(t, int(hashed[t, s])) for t in range(2)} for s in range(len(known))]
    queue = np.random.default_rng(first).permutation(len(known)).tolist()
    if seeds == "dear":
        queue.sort(key=lambda s: -oracle.worth(known[s], utilities))
    elif seeds == "far":
        queue = []
    labels = oracle.cluster(plain, utilities, k, first % len(known), buckets, queue)
    left = np.array([i for i, label in enumerate(labels) if label < 0], dtype=np.int64)
    oracle.assign(plain, utilities, labels, np.random.default_rng(rest).permutation(left).tolist())
    return labels


@pytest.mark.parametrize("seeds", ["dear", "random", "far"])
@given(_SETS, _UTILITIES, st.integers(2, 5), st.integers(0, 99))
def test_the_full_search_is_the_naive_one(
    seeds: Seeds, sets: list[list[int]], utilities: list[float], k: int, seed: int
) -> None:
    assume(len(sets) >= k)
    expected = _naive(sets, utilities, k, seed, seeds)
    u = np.array(utilities)
    for threads in (1, 3):
        rng = np.random.default_rng(seed)
        found = cluster_sets(
            *rows(sets), u, k, neighbours="all", seeds=seeds, rng=rng, threads=threads
        )
        assert found.tolist() == expected
    # Samples that hold every record find the same.
    for neighbours in ("random", "lsh"):
        rng = np.random.default_rng(seed)
        found = cluster_sets(
            *rows(sets), u, k, neighbours=neighbours, seeds=seeds, sample=1000.0, bits=0, rng=rng
        )
        assert found.tolist() == expected


@pytest.mark.parametrize("seeds", ["dear", "random", "far"])
@given(_SETS, _UTILITIES, st.integers(2, 5), st.integers(0, 3), st.integers(0, 99))
@example([[], [], [0], [3], [0, 1], [0, 1, 3, 4]], [0.0] * 8, 3, 1, 54)
def test_a_hashed_search_looks_into_the_buckets_of_the_class(
    seeds: Seeds, sets: list[list[int]], utilities: list[float], k: int, bits: int, seed: int
) -> None:
    assume(len(sets) >= k)
    found = cluster_sets(
        *rows(sets), np.array(utilities), k, seeds=seeds, tables=2, sample=1000.0, bits=bits,
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    assert found.tolist() == _naive(sets, utilities, k, seed, seeds, bits)


@pytest.mark.parametrize("neighbours", _ALL)
@given(
    _SETS, _UTILITIES, st.integers(2, 6), st.floats(0.1, 3), st.integers(0, 4), st.integers(0, 99)
)
def test_classes_hold_k_whatever_the_sample(
    neighbours: Neighbours,
    sets: list[list[int]],
    utilities: list[float],
    k: int,
    sample: float,
    bits: int,
    seed: int,
) -> None:
    assume(len(sets) >= k)
    first, second = (
        cluster_sets(
            *rows(sets), np.array(utilities), k, neighbours=neighbours, sample=sample, bits=bits,
            rng=np.random.default_rng(seed), threads=threads,
        )
        for threads in (1, 2)
    )  # fmt: skip
    assert first.tolist() == second.tolist()
    assert first.min() == 0
    assert np.bincount(first).min() >= k


def _latent(n: int, seed: int) -> list[list[int]]:
    """Records of twenty kinds, each with a few items of its own left out or added."""
    rng = np.random.default_rng(seed)
    kinds = [rng.choice(60, 12, replace=False) for _ in range(20)]
    made = []
    for _ in range(n):
        kind = kinds[rng.integers(20)]
        made.append(sorted({*kind[rng.random(12) < 0.8].tolist(), int(rng.integers(60))}))
    return made


def test_buckets_find_better_neighbours_than_chance() -> None:
    sets = _latent(3000, 0)
    plain = [frozenset(s) for s in sets]
    u = [1.0] * 60
    kept = {}
    for neighbours in _ALL:
        rng = np.random.default_rng(0)
        labels = cluster_sets(
            *rows(sets), np.ones(60), 5, neighbours=neighbours, sample=5.0, rng=rng
        )
        kept[neighbours] = oracle.kept(plain, u, labels.tolist())
    assert kept["random"] < 0.95 * kept["lsh"]
    assert kept["lsh"] > 0.9 * kept["all"]


def test_threads_never_alter_a_full_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_cluster, "_WORTH_A_THREAD", 50)
    u = np.random.default_rng(0).uniform(1, 9, 60)
    first, second = (
        cluster_sets(
            *rows(_latent(800, 1)), u, 3, neighbours="all", seeds="far",
            rng=np.random.default_rng(0), threads=threads,
        )
        for threads in (1, 3)
    )  # fmt: skip
    assert (first == second).all()


def test_large_classes_give_up_poor_candidates() -> None:
    sets = _latent(2000, 2)
    for neighbours in ("lsh", "random"):
        rng = np.random.default_rng(0)
        labels = cluster_sets(
            *rows(sets), np.ones(60), 150, neighbours=neighbours, sample=0.7, bits=6, rng=rng
        )
        assert np.bincount(labels).min() >= 150


@given(_SETS)
def test_distinct_sets_are_numbered_by_first_appearance(sets: list[list[int]]) -> None:
    first, member = distinct_sets(*rows(sets))
    known = oracle.distinct([frozenset(s) for s in sets])
    assert member.tolist() == [known.index(frozenset(s)) for s in sets]
    assert [frozenset(sets[i]) for i in first] == known


@given(_SETS, st.lists(st.integers(0, 23), max_size=30), st.integers(0, 9))
def test_records_leave_and_enter_their_buckets(
    sets: list[list[int]], moves: list[int], seed: int
) -> None:
    hashed = lsh_tables(*rows(sets), _D, 2, 2, rng=np.random.default_rng(seed))
    where = hashed.bucket.copy()
    buckets = buckets_of(hashed, full=True)
    inside = set(range(len(sets)))

    def check() -> None:
        for t in range(2):
            for i in range(len(sets)):
                b = buckets.bucket[t, i]
                begin = buckets.begin[b]
                found = buckets.order[begin : begin + buckets.filled[b]]
                assert set(found.tolist()) == {j for j in inside if where[t, j] == where[t, i]}

    for chosen in moves:
        record = chosen % len(sets)
        move(buckets, record, record not in inside)
        inside ^= {record}
        check()
    enter_all(buckets, np.arange(0, len(sets), 2))
    inside = set(range(0, len(sets), 2))
    check()
