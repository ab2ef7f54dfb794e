"""k^m-anonymity, and the suppression that brings it about, beside plain enumeration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.sets import KmAnonymity, first_equal_lists
from sfumato.errors import MeasureError, ReleaseRefused
from sfumato.methods.suppression.values import KmSuppression
from tests.oracle.itemsets import rare

_SETS = st.lists(
    st.none() | st.sets(st.integers(0, 6), max_size=6).map(sorted), min_size=1, max_size=12
)


@given(_SETS, st.integers(1, 4), st.integers(1, 3))
def test_the_figure(sets: list[list[int] | None], k: int, m: int) -> None:
    table = sf.table({"s": [*sets, [0]]}, quasi=["s"])
    plain = [one or [] for one in [*sets, [0]]]
    found = KmAnonymity(k=k, m=m).check(table)
    expected = rare(plain, k, m)
    assert found.met == (not expected)
    assert found.broken == sum(any(set(c) <= set(one) for c in expected) for one in plain)
    least = min(rare(plain, 10**6, m).values())
    # Where a combination is rare, those that hold it are not looked at.
    assert found.value == least if found.met else least <= found.value < k


@given(_SETS, st.integers(2, 4), st.integers(1, 3))
def test_suppression_keeps_its_promise(sets: list[list[int] | None], k: int, m: int) -> None:
    table = sf.table({"s": [*sets, [0]]}, quasi=["s"])
    outcome = KmSuppression(k=k, m=m).mask(table, np.random.default_rng(0))
    shown = outcome.table["s"].to_list()
    for one, before in zip(shown, [*sets, [0]], strict=True):
        assert (one is None) == (before is None)
        assert set(one or []) <= set(before or [])
    assert not rare([one or [] for one in shown], k, m)
    assert KmAnonymity(k=k, m=m).check(outcome.table).met
    assert table["s"].to_list() == [*sets, [0]]


def test_nothing_goes_where_nothing_is_rare() -> None:
    table = sf.table({"s": [["a", "b"]] * 3 + [["b"]] * 3}, quasi=["s"])
    outcome = KmSuppression(k=3, m=2).mask(table, np.random.default_rng(0))
    assert outcome.table["s"].to_list() == table["s"].to_list()
    assert outcome.facts == {"rounds": 1, "utility kept": 1.0}


def test_dear_items_stay() -> None:
    poset = {"kind": "items", "utilities": {"b": 100}}
    table = sf.table(
        {"s": [["a", "b"]] + [["a"]] * 4 + [["b"]] * 2}, quasi=["s"], posets={"s": poset}
    )
    outcome = KmSuppression(k=2, m=2).mask(table, np.random.default_rng(0))
    assert outcome.table["s"].to_list()[0] == ["b"]


@pytest.mark.parametrize("seed", range(40))
def test_utilities_never_cost_utility(seed: int) -> None:
    """What is kept with utilities is worth at least what is kept without."""
    rng = np.random.default_rng(seed)
    held = rng.random((int(rng.integers(10, 80)), 12)) < rng.uniform(0.05, 0.5, 12)
    worth = rng.choice([1, 2, 5, 10, 50, 100], 12)
    sets = [np.flatnonzero(row).tolist() for row in held]
    method = KmSuppression(k=int(rng.integers(2, 6)), m=int(rng.integers(1, 4)))
    kept = []
    for poset in ({"s": {"kind": "items", "utilities": dict(enumerate(worth.tolist()))}}, {}):
        table = sf.table(pl.DataFrame({"s": sets}), quasi=["s"], posets=poset)
        shown = method.mask(table, np.random.default_rng(0)).table["s"].to_list()
        kept.append(sum(int(worth[item]) for one in shown for item in one))
    assert kept[0] >= kept[1]


def test_a_release_is_refused_and_another_kept() -> None:
    table = sf.table({"s": [["a", "b"]] + [["a"]] * 4 + [["b"]] * 4}, quasi=["s"])
    with pytest.raises(ReleaseRefused, match="1 of 9 records"):
        sf.protect(table, [], seed=0, require={"km-anonymity": {"k": 2, "m": 2}})
    plan = sf.method("km-suppression", k=2, m=2)
    kept = sf.protect(table, plan, seed=0, require={"km-anonymity": {"k": 2, "m": 2}})
    assert kept.evidence.findings[0].met


def test_which_column() -> None:
    table = sf.table({"s": [["a"]], "t": [["b"]], "u": ["x"]}, quasi=["s", "t"])
    with pytest.raises(MeasureError, match=r"2 \(s, t\)"):
        KmAnonymity(k=1).check(table)
    assert KmAnonymity(k=1, column="t").check(table).met
    with pytest.raises(MeasureError, match="holds no sets"):
        KmAnonymity(k=1, column="u").check(table)


@pytest.mark.golden
def test_baskets(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Pairs of goods that fewer than five baskets share, by DuckDB and by the criterion."""
    import duckdb

    folder = shared_data("setvalued")
    raw = (folder / "groceries.dat").read_bytes()
    sets = [sorted({int(item) for item in line.split()}) for line in raw.decode().splitlines()]
    table = sf.table(pl.DataFrame({"s": sets}), quasi=["s"])
    long = pl.DataFrame({"r": range(len(sets)), "i": sets}).explode("i")
    assert long.height == 43_367
    pairs = duckdb.sql(
        "select count(distinct r) from (select a.r, count(*) over (partition by a.i, b.i) n "
        "from long a join long b on a.r = b.r and a.i <= b.i) where n < 5"
    ).fetchall()[0]
    found = KmAnonymity(k=5, m=2).check(table).broken
    golden_record("groceries: records with a pair that fewer than 5 share", pairs[0], found)
    assert found == pairs[0]


def test_numbers_that_do_not_fit_sixteen_bits_stay_apart() -> None:
    lists = pl.Series([[1 << 16], [0], [(1 << 16) - 1], [1 << 16, 0], [1 << 23], [-1]])
    assert first_equal_lists(pl.concat([lists, lists])).tolist() == [*range(6)] * 2
    assert first_equal_lists(pl.concat([lists[:4], lists[:4]])).tolist() == [*range(4)] * 2
