"""Publishing sets that overlap: each record as what its own set has in common."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import code
from sfumato.data.partition import Cover, Partition
from sfumato.data.table import table
from sfumato.errors import MethodError
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.plain import PassThrough
from sfumato.poset.values.text import or_missing
from tests.oracle.mixed_tables import COLUMNS, mixed_table

RNG = np.random.default_rng(0)


def cover_of(sets: list[list[int]]) -> Cover:
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sets])))
    return Cover(starts, np.array([row for one in sets for row in one], dtype=np.int64))


@given(st.integers(0, 10**6), st.integers(1, 15))
def test_each_record_is_its_own_sets_bound(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    data = mixed_table(seed, n)
    hidden = rng.random(n) < 0.1
    gone = data["age"].zip_with(pl.Series(~hidden), pl.Series([None], dtype=pl.Int64))
    data = data.with_columns([gone], suppressed={"age": hidden})
    sets = [[i, *rng.integers(0, n, rng.integers(0, 5)).tolist()] for i in range(n)]
    found = Generalize().apply(data, cover_of(sets), COLUMNS, RNG)
    for name in COLUMNS:
        poset = code(data, name).poset
        values, cells = data[name].to_list(), found.table[name].cast(pl.String).to_list()
        for i, rows in enumerate(sets):
            own = [values[row] for row in rows]
            if any(data.suppressed(name)[row] for row in rows):
                assert cells[i] == "*"
            elif all(value is None for value in own):
                assert cells[i] is None
            else:
                label = str(poset.lub([value for value in own if value is not None]))
                assert cells[i] == (or_missing(label) if None in own else label)
        stars = sum(cell == "*" for cell in cells)
        assert found.facts["suppressed cells"][name] == stars


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 5))
def test_a_partition_written_as_a_cover_is_published_alike(seed: int, n: int, groups: int) -> None:
    data = mixed_table(seed, n)
    whole = Partition.of(np.random.default_rng(seed).integers(0, groups, n))
    sets = [np.flatnonzero(whole.labels == label).tolist() for label in whole.labels]
    one, other = (
        Generalize()
        .apply(data, found, COLUMNS, RNG)
        .table.frame.with_columns(pl.col(*COLUMNS).cast(pl.String))
        for found in (whole, cover_of(sets))
    )
    assert one.equals(other)


def test_sets_are_told_and_nothing_is_modified() -> None:
    data = table({"age": [1, 2, 9]}, quasi=["age"])
    cover = cover_of([[0, 1], [1, 2, 0], [2, 1]])
    before = cover.members.copy()
    found = Generalize().apply(data, cover, ["age"], RNG)
    assert found.table["age"].cast(pl.String).to_list() == ["[1, 2]", "[1, 9]", "[2, 9]"]
    assert found.facts == {"smallest set": 2, "suppressed cells": {"age": 0}}
    assert found.partition is cover
    assert (cover.members == before).all()
    assert data["age"].to_list() == [1, 2, 9]


def test_a_set_must_hold_its_own_record() -> None:
    data = table({"age": [1, 2, 9]}, quasi=["age"])
    with pytest.raises(MethodError, match="row 2 is not in its own set"):
        Generalize().apply(data, cover_of([[0, 1], [0, 2], [2, 1]]), ["age"], RNG)


def test_no_records() -> None:
    data = table({"age": [1]}, quasi=["age"]).take(np.array([], dtype=np.int64))
    empty = Cover(np.array([0]), np.array([], dtype=np.int64))
    found = Generalize().apply(data, empty, ["age"], RNG)
    assert found.table.height == 0
    assert found.facts["smallest set"] == 0


def test_columns_that_are_passed_through_stay() -> None:
    data = table(
        {"age": [20, 21, 50, 51], "bill": [120, 4000, 7, 8]},
        posets={"bill": PassThrough()},
        quasi=["age", "bill"],
    )
    release = sf.protect(data, sf.method("greedy", k=2, repair="k"), seed=0, measures=())
    assert sorted(release.table["bill"].to_list()) == [7, 8, 120, 4000]
    assert sorted(set(release.table["age"].cast(pl.String))) == ["[20, 21]", "[50, 51]"]
    assert release.evidence.steps[0]["did"]["passed through"] == ["bill"]
