"""Two-phase as a search: what it publishes, and how much of Adult it keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.sets.base import Sets
from sfumato.anonymity.sets.two_phase import TwoPhase
from sfumato.data.codec import Matrix
from sfumato.data.sets.table import SetTable
from sfumato.kernels.sets.rows import common_items, weights_of
from sfumato.methods.verbs.generalize import Intersect
from sfumato.progress import listening
from tests.oracle import two_phase as oracle


def _sets(lists: list[list[str]]) -> Sets:
    view = SetTable.from_column(pl.Series("s", lists, dtype=pl.List(pl.String)))
    return Sets(view.starts, view.items, np.ones(len(view.names)))


def _kept(sets: Sets, labels: np.ndarray) -> float:
    order = np.argsort(labels, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(labels)))
    starts, items = common_items(sets.starts, sets.items, order, bounds)
    left = weights_of(starts, items, sets.utilities) @ np.diff(bounds)
    return float(left / weights_of(sets.starts, sets.items, sets.utilities).sum())


@given(
    lists=st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=4, max_size=40),
    k=st.integers(2, 4),
)
@settings(max_examples=25)
def test_published_sets_are_parts_that_k_share(lists: list[list[str]], k: int) -> None:
    table = sf.table(
        pl.DataFrame({"s": pl.Series("s", lists, dtype=pl.List(pl.String))}), quasi=["s"]
    )
    partition = TwoPhase(k=k).partition(Matrix(table, ["s"]), np.random.default_rng(0))
    shown = (
        Intersect().apply(table, partition, ["s"], np.random.default_rng(0)).table["s"].to_list()
    )
    assert all(set(new) <= set(old) for new, old in zip(shown, lists, strict=True))
    published = [tuple(sorted(one)) for one in shown]
    assert all(published.count(one) >= k for one in published)


def test_the_seed_does_not_matter_and_progress_is_told() -> None:
    rng = np.random.default_rng(2)
    sets = _sets([[str(a) for a in np.flatnonzero(rng.random(20) < 0.3)] for _ in range(200)])
    heard: list[tuple[str, int, int]] = []
    with listening(lambda what, done, of: heard.append((what, done, of))):
        first = TwoPhase(k=4).search(sets, np.random.default_rng(0))
    second = TwoPhase(k=4).search(sets, np.random.default_rng(1))
    assert first.labels.tolist() == second.labels.tolist()
    assert heard[-1][1] == heard[-1][2]


def test_the_thesis_algorithm_is_the_oracles() -> None:
    rng = np.random.default_rng(4)
    lists = [np.flatnonzero(rng.random(15) < 0.4).tolist() for _ in range(150)]
    sets = _sets([[f"{a:02}" for a in one] for one in lists])
    rows = oracle.rows_by_weight(lists, np.ones(15))
    worth = oracle.worth_by_weight(lists, np.ones(15))
    merged = oracle.merge(rows, worth, 3, least_loss=False)
    want = oracle.utility(rows, worth, oracle.split(rows, worth, 3, merged))
    got = TwoPhase(k=3, start="merged").search(sets, np.random.default_rng(0))
    assert _kept(sets, got.labels) == pytest.approx(want / sum(map(len, lists)))


@pytest.mark.golden
def test_adult_keeps_its_utility(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    frame = pl.read_csv(shared_data("adult") / "adult.csv", separator=";").drop("salary-class")
    columns = [
        pl.concat_str(
            pl.lit(f"{name}="),
            (pl.col("age") // 5).cast(pl.String) if name == "age" else pl.col(name),
        )
        for name in frame.columns
    ]
    view = SetTable.from_column(frame.select(s=pl.concat_list(columns))["s"])
    sets = Sets(view.starts, view.items, np.ones(len(view.names)))
    assert sets.d == 108
    for k, limit, thesis in ((2, 0.940, 0.937), (10, 0.853, 0.842), (50, 0.753, 0.742)):
        for start, least in (("better", limit), ("merged", thesis)):
            found = TwoPhase(k=k, start=start).search(sets, np.random.default_rng(0))
            got = _kept(sets, found.labels)
            name = f"two-phase Adult, k={k}, start {start}: utility kept"
            golden_record(name, f">= {least}", round(got, 4))
            assert got >= least
