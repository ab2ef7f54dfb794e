"""Synthetic sets: what they promise, and that blocks, threads and files do not change them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.generators import sets as set_generators
from sfumato.data.generators.sets import _independent, _interested, frequencies
from sfumato.data.sets.items import item_utilities
from sfumato.data.sets.table import SetTable
from sfumato.errors import OutputError, ParameterError
from sfumato.kernels.sets.drawing import alias_table, draw_sets
from sfumato.progress import listening


@pytest.mark.golden
def test_the_thesis_data(
    golden_record: Callable[[str, object, object], None],
) -> None:
    made = sf.generators.synthetic_sets(60_000, seed=3)
    sets = SetTable.of(made, "items")
    assert (len(sets), len(sets.names)) == (60_000, 1000)
    shown = f"{sets.sizes.mean():.1f} {sets.sizes.std():.1f}"
    golden_record("podgursky synthetic data: items to a record, mean and deviation", "40 24", shown)
    assert sets.sizes.mean() == pytest.approx(40, abs=0.5)
    assert sets.sizes.std() == pytest.approx(24, abs=0.5)
    assert sets.sizes.min() >= 1
    wanted = frequencies(1000, 40)
    assert np.all(np.diff(wanted) < 0)
    found = np.sort(sets.support / len(sets))[::-1]
    assert np.allclose(found, wanted, atol=0.012)
    assert np.allclose(found[-500:], wanted[-500:], atol=0.001)
    worth = item_utilities(made.schema["items"], sets.names)
    assert 1 <= worth.min() < 2
    assert 99 < worth.max() <= 100
    assert worth.mean() == pytest.approx(50.5, abs=3)


def test_independent_items_are_independent_of_all_but_size() -> None:
    """Among people who draw alike, items have nothing to do with each other."""
    source = _independent(30, 6.0, 3.0, 1)
    alike = set_generators.replace(source, shape=1e9)
    starts, items = alike.block(0)
    held = np.zeros((starts.size - 1, 30))
    held[np.repeat(np.arange(starts.size - 1), np.diff(starts)), items] = 1
    apart = np.corrcoef(held.T) - np.eye(30)
    assert np.abs(apart).max() < 5 / np.sqrt(held.shape[0])


def test_interests_bring_items_together() -> None:
    made = sf.generators.targeting(15_000, d=500, mean=20, seed=2)
    sets = SetTable.of(made, "items")
    assert sets.sizes.mean() == pytest.approx(20, rel=0.03)
    shares = np.sort(sets.support / len(sets))[::-1]
    assert shares[0] > 0.15
    assert np.median(shares) < 0.04
    source = _interested(500, 20.0, 2)
    at, members = source.tables.at, source.tables.members
    held = np.zeros((len(sets), 500), dtype=np.float32)
    held[np.repeat(np.arange(len(sets)), sets.sizes), sets.names.to_numpy()[sets.items]] = 1
    together = np.corrcoef(held.T)
    inside = [
        together[np.ix_(block, block)][np.triu_indices(block.size, 1)].mean()
        for t in range(1, at.size - 1)
        if (block := members[at[t] : at[t + 1]]).size > 3
    ]
    everywhere = together[np.triu_indices(500, 1)].mean()
    assert np.mean(inside) > 2 * everywhere


@pytest.mark.parametrize("name", ["synthetic_sets", "targeting"])
def test_blocks_threads_and_numbers_do_not_matter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = getattr(sf.generators, name)
    few: dict[str, Any] = {"d": 200, "mean": 8} | ({"sd": 5} if name == "synthetic_sets" else {})
    monkeypatch.setattr(set_generators, "BLOCK", 300)
    monkeypatch.setattr(set_generators, "_PILOT", 300)
    whole = make(2000, **few, seed=5)["items"].to_list()
    assert make(700, **few, seed=5)["items"].to_list() == whole[:700]
    assert make(2000, **few, seed=6)["items"].to_list() != whole
    monkeypatch.setattr(set_generators, "GROUP", 2)
    monkeypatch.setattr(set_generators, "cores", lambda: 5)
    assert make(2000, **few, seed=5)["items"].to_list() == whole
    path = tmp_path / "sets.parquet"
    told: list[Any] = []
    with listening(lambda what, done, of: told.append((done, of))):
        beside = getattr(sf.generators, f"write_{name}")(path, 2000, **few, seed=5)
    assert told[-1] == (2000, 2000)
    found = sf.read(path, posets={"items": {"kind": "items", "path": str(beside)}}, quasi=["items"])
    assert found["items"].dtype == pl.List(pl.UInt16)
    assert found["items"].to_list() == whole
    names = pl.Series(range(200))
    worth = item_utilities(found.schema["items"], names)
    again = make(10, **few, seed=5)
    assert np.array_equal(worth, item_utilities(again.schema["items"], names))
    with pytest.raises(OutputError, match="exists already"):
        getattr(sf.generators, f"write_{name}")(path, 10, **few)
    getattr(sf.generators, f"write_{name}")(path, 0, **few, replace=True)
    assert len(SetTable.read_parquet(path)) == 0


@given(st.lists(st.floats(0, 10), min_size=1, max_size=40).filter(lambda w: sum(w) > 0.01))
@settings(max_examples=80)
def test_alias_tables_are_the_weights(weights: list[float]) -> None:
    given_weights = np.array(weights)
    keep, other = alias_table(given_weights)
    share = keep.astype(np.float64) / 2**32
    found = share.copy()
    np.add.at(found, other, 1 - share)
    assert np.allclose(found / found.size, given_weights / given_weights.sum(), atol=1e-6)


def naive_draws(seed: int, counts: Any, tastes: Any, share: float, t: Any) -> list[list[int]]:
    """The same random numbers, one after another, and Python's sets."""
    mask, state, out = 2**64 - 1, seed, []

    def bits() -> int:
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        return z ^ z >> 31

    def choose(table: int) -> int:
        low, high = t.at[table], t.at[table + 1]
        keep, other, drawn = t.keep[low:high], t.other[low:high], bits()
        place = (drawn >> 32) * len(keep) >> 32
        return int(t.members[low + (place if drawn % 2**32 < int(keep[place]) else other[place])])

    for count, several in zip(counts, tastes, strict=True):
        mine = [choose(len(t.at) - 2) for _ in range(several)]
        found = set()
        for _ in range(count):
            table = 0
            if mine:
                drawn = bits()
                if drawn % 2**32 > int(share * (2**32 - 1)):
                    table = mine[(drawn >> 32) * len(mine) >> 32]
            found.add(choose(table))
        out.append(sorted(found))
    return out


people = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), max_size=6)


@pytest.fixture(scope="module")
def tables() -> Any:
    return _interested(100, 8.0, 1).tables


@given(seed=st.integers(0, 2**62), many=people)
@settings(max_examples=40)
def test_drawing_is_as_plain_loops_do_it(
    tables: Any, seed: int, many: list[tuple[int, int]]
) -> None:
    t = tables
    counts = np.array([count for count, _ in many], dtype=np.int64)
    tastes = np.array([several for _, several in many], dtype=np.int64)
    starts, items = draw_sets(seed, counts, tastes, 0.4, *t, 100)
    rows = [items[a:b].tolist() for a, b in pairwise(starts.tolist())]
    assert rows == naive_draws(seed, counts.tolist(), tastes.tolist(), 0.4, t)


def test_what_cannot_be_made() -> None:
    with pytest.raises(ParameterError, match="d = 1 items"):
        sf.generators.synthetic_sets(10, d=1)
    with pytest.raises(ParameterError, match=r"d = 70000 items"):
        sf.generators.targeting(10, d=70_000)
    with pytest.raises(ParameterError, match="on average, not 40"):
        sf.generators.synthetic_sets(10, d=20)
    with pytest.raises(ParameterError, match=r"standard deviations from .* not 1"):
        sf.generators.synthetic_sets(10, sd=1)
    with pytest.raises(ParameterError, match="n = -1 records"):
        sf.generators.targeting(-1)
    assert sf.generators.targeting(0, d=50, mean=5).height == 0
