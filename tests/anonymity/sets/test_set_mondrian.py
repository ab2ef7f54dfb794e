"""Mondrian for sets as a search: what it publishes, and Adult as the thesis prepares it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.sets.base import Sets
from sfumato.anonymity.sets.mondrian import SetMondrian
from sfumato.data.sets.table import SetTable
from sfumato.kernels.sets.mondrian._choice import logarithms
from sfumato.methods.verbs.generalize import Intersect
from tests.oracle.set_mondrian import set_mondrian as oracle

WAYS: list[dict[str, Any]] = [
    {"choose": "even", "relaxed": False},
    {"choose": "entropy"},
    {"choose": "utility", "relaxed": False},
    {"choose": "utility", "lookahead": False},
    {},
]


@given(
    rows=st.lists(st.frozensets(st.integers(0, 6)), min_size=2, max_size=30),
    k=st.integers(2, 4),
    way=st.sampled_from(WAYS),
)
def test_published_sets_are_shared_by_k_and_are_subsets(rows: Any, k: int, way: Any) -> None:
    k = min(k, len(rows))
    table = sf.table(pl.DataFrame({"buys": [sorted(r) for r in rows]}), quasi=["buys"])
    table = table.with_columns([pl.Series("buys", [sorted(r) for r in rows], pl.List(pl.Int64))],
                               [table.schema["buys"]])  # fmt: skip
    view = SetTable.of(table, "buys")
    sets = Sets(view.starts, view.items, np.ones(len(view.names)))
    rng = np.random.default_rng(0)
    partition = SetMondrian(k=k, **way).search(sets, rng)
    published = Intersect().apply(table, partition, ["buys"], rng).table["buys"].to_list()
    assert all(set(shown) <= own for shown, own in zip(published, rows, strict=True))
    assert min(Counter(map(tuple, published)).values()) >= k


def test_the_search_is_the_oracles() -> None:
    rng = np.random.default_rng(1)
    has = rng.random((80, 12)) < 0.4
    starts = np.concatenate(([0], np.cumsum(has.sum(1))))
    worth = rng.uniform(1, 9, 12)
    found = SetMondrian(k=4).search(Sets(starts, np.nonzero(has)[1].astype(np.uint16), worth), rng)
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in has]
    expected = oracle(sets, worth.tolist(), 4, "utility", True, True, logarithms(80).tolist())
    np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.golden
def test_adult_as_the_thesis_prepares_it(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Choosing by utility keeps at least what the most frequent item does, at k = 10 and 100."""
    frame = pl.read_csv(shared_data("adult") / "adult.csv", separator=";").drop("salary-class")
    frame = frame.with_columns(pl.col("age") // 5)
    lists = frame.select(
        pl.concat_list(pl.format(name + "={}", pl.col(name)) for name in frame.columns).alias("a")
    )
    view = SetTable.from_column(lists["a"])
    golden_record("Adult, enumerated: attributes", 108, len(view.names))
    assert len(view.names) == 108
    sets = Sets(view.starts, view.items, np.ones(108))
    for k, least in ((10, 0.853), (100, 0.705)):
        kept = {}
        for name, way in {"even": WAYS[0], "utility": {}}.items():
            partition = SetMondrian(k=k, **way).search(sets, np.random.default_rng(0))
            assert partition.smallest >= k
            total = sum(
                rows.size * len(frozenset.intersection(*(frozenset(view[i]) for i in rows)))
                for rows in partition
            )
            kept[name] = total / view.items.size
        golden_record(f"MOND_UTILITY above MOND_EVEN, k = {k}", kept["even"], kept["utility"])
        assert kept["utility"] >= max(kept["even"], least)
