"""(k,k)-anonymity for sets: what is found satisfies it, by a naive count and by the criterion."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.sets.base import Sets, SetSearch
from sfumato.anonymity.sets.kk_cluster import KKCluster
from sfumato.criteria.people.originals import K1Anonymity, KKAnonymity
from sfumato.data.codec import Matrix
from sfumato.data.pair import Pair
from sfumato.data.partition import Cover, Partition
from sfumato.data.schema import Column, Kind, Role
from sfumato.data.table import table
from sfumato.errors import ParameterError
from sfumato.kernels.sets.kk import widened
from sfumato.kernels.sets.rows import common_items
from sfumato.methods.verbs.generalize import Intersect
from tests.oracle import set_fitting as oracle


class Neighbours(SetSearch):
    """Each record with the k - 1 after it, by their place in the table."""

    name: ClassVar[str] = "neighbours"
    paper: ClassVar[str] = ""

    def search(self, sets: Sets, rng: np.random.Generator) -> Cover:
        n = len(sets)
        members = (np.arange(n)[:, None] + np.arange(self.k)) % n
        return Cover(np.arange(n + 1) * self.k, members.ravel())


class Star(SetSearch):
    """Each record with the first k - 1 others: k records stand in every set, the others in one."""

    name: ClassVar[str] = "star"
    paper: ClassVar[str] = ""

    def search(self, sets: Sets, rng: np.random.Generator) -> Cover:
        n = len(sets)
        members = [[i, *[j for j in range(n) if j != i][: self.k - 1]] for i in range(n)]
        return Cover(np.arange(n + 1) * self.k, np.array(members).ravel())


class Halves(SetSearch):
    """Two groups."""

    name: ClassVar[str] = "halves"
    paper: ClassVar[str] = ""

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        return Partition.of((np.arange(len(sets)) < self.k).astype(int))


lists = st.lists(
    st.one_of(st.none(), st.lists(st.integers(0, 6), max_size=6)), min_size=4, max_size=30
)


@given(lists, st.integers(2, 4), st.sampled_from([Star, Neighbours]), st.sampled_from([1, 50_000]))
def test_both_halves_hold(
    cells: list[list[int] | None], k: int, start: type[SetSearch], looked: int
) -> None:
    given = table({"buys": pl.Series(cells, dtype=pl.List(pl.Int64))}, quasi=["buys"])
    search = KKCluster(k=k, start=start(), looked=looked)
    rng = np.random.default_rng(3)
    found = search.partition(Matrix(given, ["buys"]), rng)
    assert isinstance(found, Cover)
    release = Intersect().apply(given, found, ["buys"], rng).table
    rows, shown = [(one,) for one in cells], [(one,) for one in release["buys"].to_list()]
    assert min(oracle.k1(rows, shown)) >= k
    assert min(oracle.one_k(rows, shown)) >= k
    assert KKAnonymity(k=k).check_pair(Pair.of(given, release)).met
    assert K1Anonymity(k=k).check_pair(Pair.of(given, release)).met
    for (before,), (after,) in zip(rows, shown, strict=True):
        assert set(after or ()) <= set(before or ())


@given(lists, lists, st.integers(2, 4))
def test_two_columns(first: list[list[int] | None], second: list[list[int] | None], k: int) -> None:
    rows = list(zip(first, second, strict=False))
    cells = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
    columns = {name: pl.Series(one, dtype=pl.List(pl.Int64)) for name, one in cells.items()}
    given = table(columns, quasi=["a", "b"])
    rng = np.random.default_rng(3)
    found = KKCluster(k=k, start=Star()).partition(Matrix(given, ["a", "b"]), rng)
    release = Intersect().apply(given, found, ["a", "b"], rng).table
    shown = release.frame.rows()
    assert min(*oracle.k1(rows, shown), *oracle.one_k(rows, shown)) >= k
    assert KKAnonymity(k=k).check_pair(Pair.of(given, release)).met


@given(lists, st.integers(2, 4))
def test_the_first_original_takes_the_sets_that_lose_least(
    cells: list[list[int] | None], k: int
) -> None:
    """The first original that too few fit, against all losses."""
    rows = [sorted(set(one or ())) for one in cells]
    utilities = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    starts = np.concatenate(([0], np.cumsum([len(one) for one in rows])))
    items = np.array([item for one in rows for item in one], dtype=np.uint16)
    sets = Sets(starts, items, utilities)
    cover = Star(k=k).search(sets, np.random.default_rng(0))
    shown = common_items(starts, items, cover.members, cover.starts)
    published = [
        set(shown[1][a:b].tolist()) for a, b in zip(shown[0][:-1], shown[0][1:], strict=True)
    ]
    order = np.random.default_rng(0).permutation(len(rows))
    args = (starts, items, utilities, *shown, cover.starts, cover.members, k, 10**6, order)
    whose, whom = widened(*args)
    again = widened(*args, threads=3)
    assert (whose.tolist(), whom.tolist()) == (again[0].tolist(), again[1].tolist())
    if whom.size:
        i = int(whom[0])
        losses = sorted(float(sum(utilities[list(p - set(rows[i]))])) for p in published)
        taken = [sum(utilities[list(published[j] - set(rows[i]))]) for j in whose[whom == i]]
        # Those that lose nothing need not be taken; the others are the cheapest.
        assert sorted(taken) == [loss for loss in losses[:k] if loss > 0]


def test_a_partition_is_left_alone_and_bad_starts_are_refused() -> None:
    sets = Sets(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1], np.uint16), np.ones(2))
    found = KKCluster(k=2, start=Halves()).search(sets, np.random.default_rng(0))
    assert isinstance(found, Partition)
    with pytest.raises(ValueError, match="k of kk-cluster"):
        KKCluster(k=2, start=Star(k=3))
    with pytest.raises(ValueError, match="does not search sets"):
        KKCluster.model_validate({"k": 2, "start": "mondrian"})


def test_a_release_from_the_usual_start(tmp_path: Path) -> None:
    """Counted again on the bytes that are published."""
    rng = np.random.default_rng(0)
    has = rng.random((200, 12)) < np.linspace(0.8, 0.05, 12)
    cells = [[f"i{item}" for item in np.flatnonzero(row)] for row in has]
    given = table({"buys": pl.Series(cells, dtype=pl.List(pl.String))}, quasi=["buys"])
    ill = pl.Series("ill", rng.choice(["a", "b"], 200))
    for k in (2, 5):
        wanted = {"kk-anonymity": k, "k1-anonymity": k}
        release = sf.protect(given, sf.method("kk", k=k), require=wanted, seed=1, measures=())
        assert all(finding.met for finding in release.evidence.findings)
        release.save(tmp_path / str(k), allow_guessable_seed=True)
        with pytest.raises(ParameterError, match="kk-cluster overlap"):
            sf.protect(
                given.with_columns([ill], [Column("ill", Kind.NOMINAL, Role.CONFIDENTIAL)]),
                sf.method("kk", k=k),
                require={"l-diversity": {"at_least": 1, "column": "ill"}},
                seed=1,
            )
