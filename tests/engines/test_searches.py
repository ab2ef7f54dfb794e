"""Searches where the data are find what they find in one place."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.encoding import domain_of, encode_within
from sfumato.data.table import Table
from sfumato.engines.blockwise import run_search
from sfumato.engines.relation import Relation, Whole
from sfumato.errors import MethodError
from tests.engines.divided import Divided
from tests.engines.records import plain

PLACES = {"north": ["a", "b", "c"], "south": ["d", "e"], "west": ["f", "g", "h", "i"]}
TREE = {
    "kind": "hierarchy",
    "levels": [
        [leaf, *([f"{leaf}s"] if leaf in "abd" else []), over, "*"]
        for over, leaves in PLACES.items()
        for leaf in leaves
    ],
}


def people(seed: int, n: int, *, missing: float, ties: int) -> Table:
    """Records of every kind that can be cut."""
    rng = np.random.default_rng(seed)
    leaves = [leaf for some in PLACES.values() for leaf in some]
    given: dict[str, list[Any]] = {
        "age": rng.integers(0, ties, n).tolist(),
        "pay": (rng.exponential(9.0, n).round(1 if ties > 9 else 0)).tolist(),
        "town": [leaves[i] for i in np.minimum(rng.geometric(0.3, n) - 1, 8)],
        "job": [f"j{i}" for i in np.minimum(rng.geometric(0.25, n), ties)],
        "level": [("low", "middle", "high")[i] for i in rng.integers(0, 3, n)],
        "born": [dt.date(2000, 1, 1) + dt.timedelta(int(i)) for i in rng.integers(0, ties, n)],
        "yes": (rng.random(n) < 0.2).tolist(),
    }
    for name, cells in given.items():
        gone = rng.random(n) < missing * (name != "level")
        given[name] = [None if g else c for g, c in zip(gone, cells, strict=True)]
    frame = pl.DataFrame(given).with_columns(note=pl.Series([f"r{i}" for i in range(n)]))
    return sf.table(
        frame,
        quasi=list(given),
        posets={"town": TREE},
        categories={"level": ["low", "middle", "high"]},
    )


def same(found: Relation, expected: Table) -> None:
    assert isinstance(found, Whole)
    assert found.numbers.tolist() == list(range(expected.height))
    assert found.schema == expected.schema
    assert plain(found.table) == plain(expected)


DIVERSE = {"use": "l-diversity", "l": 2}
CUTS = st.fixed_dictionaries(
    {
        "k": st.integers(2, 4),
        "choose": st.sampled_from(["widest", "gain", "expected"]),
        "importance": st.sampled_from([{}, {"pay": 3.0, "town": 0.5}]),
    }
)


@given(
    words=CUTS,
    seed=st.integers(0, 2**32),
    n=st.integers(5, 200),
    missing=st.sampled_from([0.0, 0.05, 0.6]),
    ties=st.sampled_from([2, 8, 40]),
    parts=st.sampled_from([1, 2, 8]),
    verb=st.sampled_from(["generalize", "centroid"]),
)
def test_mondrian_finds_the_same_groups(
    words: dict[str, Any], seed: int, n: int, missing: float, ties: int, parts: int, verb: str
) -> None:
    given = people(seed, n, missing=missing, ties=ties)
    step = sf.step(sf.method("mondrian", **words), then=verb)
    local = step.run(given, np.random.default_rng(0))
    data = Divided(given, parts=parts, seed=seed)
    found, told = run_search(step.use, step.then, data, np.random.default_rng(0), most=1)
    same(found, local.table)
    assert told.facts == local.facts
    assert told.warnings == local.warnings


def test_mondrian_cuts_sets_the_same_however_the_records_are_divided() -> None:
    rng = np.random.default_rng(5)
    sets = [rng.choice(6, rng.integers(1, 3), replace=False).tolist() for _ in range(400)]
    given = sf.table(pl.DataFrame({"set": sets}), quasi=["set"])
    step = sf.step(sf.method("mondrian", k=5), then="generalize")
    local = step.run(given, np.random.default_rng(0))
    assert local.table["set"].n_unique() > 3
    for seed in range(3):
        data = Divided(given, parts=4, seed=seed)
        found, _ = run_search(step.use, step.then, data, np.random.default_rng(0), most=1)
        same(found, local.table)


@pytest.mark.parametrize(
    "words",
    [
        {"name": "mdav", "k": 3, "blocks": 60},
        {"name": "mdav", "k": 2, "blocks": 16, "scale": "range"},
        {"name": "local-recoding", "k": 3, "blocks": 64, "steps": 400},
    ],
    ids=lambda words: f"{words['name']}-{words['blocks']}",
)
@pytest.mark.parametrize("parts", [1, 8])
def test_searches_within_blocks_find_the_same_groups(words: dict[str, Any], parts: int) -> None:
    given = people(3, 400, missing=0.02, ties=30)
    step = sf.step(sf.method(**words))
    local = step.run(given, np.random.default_rng(5))
    for most in (1, 100, 1_000):
        data = Divided(given, parts=parts, seed=most)
        found, told = run_search(step.use, step.then, data, np.random.default_rng(5), most=most)
        same(found, local.table)
        assert told.facts == local.facts
        assert told.warnings == local.warnings


def test_blocks_do_not_depend_on_the_order_of_rows() -> None:
    given = people(1, 300, missing=0.0, ties=40)
    order = np.random.default_rng(2).permutation(300)
    search = sf.method("mdav", k=3, blocks=50)
    plain_order = sf.partition(given, search).labels
    # Within a block MDAV breaks ties by row; records of other blocks never come together.
    cut = search._cutting
    names = [n for n in given.names if n != "note"]
    here = cut.groups(Matrix(given, names))
    there = cut.groups(Matrix(given.take(order), names))
    pairs = set(zip(here[order].tolist(), there.tolist(), strict=True))
    assert len(pairs) == here.max() + 1 == there.max() + 1 > 4
    assert all(np.unique(here[plain_order == g]).size == 1 for g in range(plain_order.max() + 1))


@pytest.mark.parametrize(
    ("use", "then", "reason"),
    [
        ({"name": "mondrian", "strict": False}, "generalize", "equal values by rows"),
        ({"name": "mondrian", "criteria": [DIVERSE]}, "generalize", "criteria"),
        ({"name": "set-mondrian", "criteria": [DIVERSE]}, "intersect", "criteria"),
        ({"name": "set-mondrian", "choose": "entropy"}, "intersect", "pair of items"),
        ({"name": "two-phase"}, "intersect", "blocks = 100000"),
        ({"name": "mondrian"}, "swap", "needs all records"),
        ({"name": "mdav"}, "centroid", "blocks = 10000"),
        ({"name": "local-recoding", "blocks": 100}, "generalize", "give `steps`"),
        ({"name": "k-member"}, "generalize", "needs all records"),
    ],
    ids=lambda value: str(value.get("name")) if isinstance(value, dict) else "",
)
def test_what_cannot_run_in_parts_says_why(use: dict[str, Any], then: str, reason: str) -> None:
    step = sf.step(sf.method(**use), then=then)
    assert reason in (step.use.local_only() or step.then.local_only())
    with pytest.raises(MethodError, match="local"):
        run_search(step.use, step.then, Whole(people(0, 9, missing=0, ties=3)), None)


def test_a_value_that_was_not_counted_is_refused() -> None:
    for values, other in (([1, 2], [3]), ([1.0, 2.5], [2.0]), (["a"], ["b"]), ([[1]], [[2]])):
        with pytest.raises(MethodError, match="did not hold"):
            encode_within(pl.Series("x", other), domain_of(pl.Series(values)).values)


@pytest.mark.parametrize(
    ("dtype", "low"), [(pl.Int128, 9), (pl.Int128, 2**70), (pl.UInt64, 2**63), (pl.Int8, -128)]
)
def test_numbers_of_any_width_are_found_among_all(dtype: Any, low: int) -> None:
    all_of_them = pl.Series("x", [low, low + 1, low + 3], dtype=dtype)
    part = pl.Series("x", [low + 3, None, low], dtype=dtype)
    assert encode_within(part, all_of_them).tolist() == [3, 0, 1]


def baskets(seed: int, n: int, *, missing: float, items: int, columns: int) -> Table:
    """Sets of words, some of them empty and some missing; items have utilities."""
    rng = np.random.default_rng(seed)
    worth = {f"i{j}": float(j % 4) + 0.5 for j in range(items)}
    given: dict[str, list[Any]] = {}
    for name in ("buys", "likes")[:columns]:
        held = rng.random((n, items)) < rng.beta(0.5, 2.0, items)
        given[name] = [[f"i{j}" for j in np.flatnonzero(row)] for row in held]
    gone = rng.random(n) < missing
    given = {
        name: [None if g else c for g, c in zip(gone, cells, strict=True)]
        for name, cells in given.items()
    }
    frame = pl.DataFrame(given, schema=dict.fromkeys(given, pl.List(pl.String)))
    posets = {"buys": {"kind": "items", "utilities": worth}}
    return sf.table(frame, quasi=list(given), posets=posets)


@given(
    words=st.sampled_from(
        [
            {"name": "set-mondrian", "choose": "even"},
            {"name": "set-mondrian", "choose": "utility"},
            {"name": "set-mondrian", "choose": "utility", "relaxed": False, "lookahead": False},
            {"name": "two-phase", "blocks": 40},
        ]
    ),
    k=st.integers(2, 3),
    seed=st.integers(0, 2**32),
    n=st.integers(5, 400),
    missing=st.sampled_from([0.0, 0.01, 0.3]),
    items=st.sampled_from([3, 20]),
    columns=st.integers(1, 2),
    parts=st.sampled_from([1, 2, 8]),
)
def test_searches_for_sets_find_the_same_groups(
    words: dict[str, Any],
    k: int,
    seed: int,
    n: int,
    missing: float,
    items: int,
    columns: int,
    parts: int,
) -> None:
    given = baskets(seed, n, missing=missing, items=items, columns=columns)
    step = sf.step(sf.method(**words, k=k))
    local = step.run(given, np.random.default_rng(0))
    data = Divided(given, parts=parts, seed=seed)
    found, told = run_search(step.use, step.then, data, np.random.default_rng(0), most=1)
    same(found, local.table)
    assert told.facts == local.facts
    assert told.warnings == local.warnings
