"""k-, (k,1)- and (k,k)-anonymity of set-valued columns, counted against all pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.classes import equivalence_classes
from sfumato.criteria.coverage.containment import containment
from sfumato.criteria.coverage.covering import covering
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.people.originals import K1Anonymity, KKAnonymity
from sfumato.criteria.people.population import KMap
from sfumato.data.io import read_back, write_file
from sfumato.data.pair import Pair
from sfumato.data.sets.flat_lists import canonical, is_canonical
from sfumato.data.table import Table, as_published, table
from sfumato.errors import MeasureError
from tests.oracle import set_fitting as oracle

items = st.integers(0, 5)
sets = st.one_of(st.none(), st.lists(items, max_size=5))
towns = st.sampled_from(["x", "y"])
rows = st.lists(st.tuples(sets, towns), min_size=1, max_size=20)
Row = tuple[Any, ...]
NAMES = ["ada", "bo", "cy", "di", "ed", "flo"]
TYPES = [pl.UInt16, pl.Int64, pl.String, pl.Float64, pl.Enum(NAMES), pl.Categorical]


def _lists(given: list[Any], dtype: Any) -> pl.Series:
    """Lists of items as another type, which sorts them in another way."""
    if dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum):
        given = [None if one is None else [NAMES[item] for item in one] for one in given]
        return pl.Series(given, dtype=pl.List(pl.String)).cast(pl.List(dtype))
    return pl.Series(given, dtype=pl.List(pl.Int64)).cast(pl.List(dtype))


def _table(given: list[Row], dtype: Any = pl.Int64) -> Table:
    frame = {"buys": _lists([row[0] for row in given], dtype)}
    if len(given[0]) > 1:
        frame["town"] = pl.Series([row[1] for row in given], dtype=pl.String)
    return table(frame, quasi=list(frame))


@given(rows, st.sampled_from(TYPES), st.booleans(), st.integers(1, 4))
def test_classes_of_sets(given: list[Row], dtype: Any, alone: bool, k: int) -> None:
    chosen = [row[:1] for row in given] if alone else given
    groups = oracle.classes(chosen)
    t = _table(chosen, dtype)
    found = equivalence_classes(t)
    assert [np.flatnonzero(found.labels == g).tolist() for g in range(len(found))] == groups
    finding = KAnonymity(k=k).check(t)
    sizes = [len(group) for group in groups]
    assert (finding.value, finding.broken) == (min(sizes), sum(size < k for size in sizes))
    # What is published reads the same, and is left alone when it is published again.
    once = as_published(t)
    assert oracle.classes([(v,) for v in once["buys"].to_list()]) == oracle.classes(
        [(v,) for v in t["buys"].to_list()]
    )
    assert as_published(once)["buys"].equals(once["buys"])
    for one in once["buys"].to_list():
        assert one is None or len(set(one)) == len(one)


@given(rows, rows, st.sampled_from(TYPES), st.booleans(), st.integers(1, 4), st.data())
def test_k1_and_kk_are_the_oracles(
    originals: list[Row],
    published: list[Row],
    dtype: Any,
    alone: bool,
    k: int,
    data: st.DataObject,
) -> None:
    if alone:
        originals, published = [row[:1] for row in originals], [row[:1] for row in published]
    fits, held = oracle.k1(originals, published), oracle.one_k(originals, published)
    before, after = _table(originals, dtype), _table(published, dtype)
    # Who became whom is a hint, and changes nothing, right or wrong.
    known = np.random.default_rng(k).integers(-1, len(originals), len(published))
    rows_of = data.draw(st.sampled_from([None, known]))
    finding = K1Anonymity(k=k).check_pair(Pair(before, after, rows_of))
    assert (finding.value, finding.broken) == (min(*fits, k), sum(fit < k for fit in fits))
    assert finding.met == (min(fits) >= k)
    both = KKAnonymity(k=k).check_pair(Pair(before, after, rows_of))
    assert both.met == (min(fits) >= k and min(held) >= k)
    assert (both.detail["k1"], both.detail["1k"]) == (min(*fits, k), min(*held, k))
    if min(fits) < k:
        assert (both.value, both.broken, both.of) == (
            min(fits),
            sum(f < k for f in fits),
            len(fits),
        )
    elif min(held) < k:
        assert (both.value, both.broken, both.of) == (
            min(held),
            sum(h < k for h in held),
            len(held),
        )
    else:
        assert (both.value, both.broken) == (k, 0)
    # Without a limit, everybody is counted: k-map of the same people.
    if min(fits) > 0:
        assert KMap(k=1, population=before).check(after).value == min(fits)


@given(rows, st.lists(st.integers(0, 19), min_size=1, max_size=6), st.integers(1, 4))
def test_suppressed_sets_fit_everybody(given: list[Row], where: list[int], k: int) -> None:
    before = _table(given)
    hidden = np.isin(np.arange(len(given)), where)
    shown = before["buys"].zip_with(pl.Series(~hidden), pl.Series([None], dtype=pl.List(pl.Int64)))
    after = before.with_columns([shown.alias("buys")], suppressed={"buys": hidden})
    published = [("*" if hidden[i] else row[0], row[1]) for i, row in enumerate(given)]
    fits, held = oracle.k1(given, published), oracle.one_k(given, published)
    both = KKAnonymity(k=k).check_pair(Pair.of(before, after))
    assert (both.detail["k1"], both.detail["1k"]) == (min(*fits, k), min(*held, k))
    chosen = np.arange(0, len(given), 2)
    found = containment(before, after, np.arange(len(given)), ["buys", "town"])
    people = [given[i] for i in chosen]
    expected = [sum(oracle.fits(p, row) for p in people) for row in published]
    assert found.counts_among(chosen).tolist() == expected
    assert found.counts().tolist() == [sum(oracle.fits(p, row) for p in given) for row in published]


@given(rows, rows)
def test_two_columns_of_sets(first: list[Row], second: list[Row]) -> None:
    size = min(len(first), len(second))
    both = [(a[0], b[0]) for a, b in zip(first[:size], second[:size], strict=True)]
    before = table(
        {
            "a": _lists([r[0] for r in both], pl.UInt16),
            "b": _lists([r[1] for r in both], pl.String),
        },
        quasi=["a", "b"],
    )
    half = [
        (None if a is None else a[: len(a) // 2], None if b is None else b[:1]) for a, b in both
    ]
    after = table(
        {
            "a": _lists([r[0] for r in half], pl.UInt16),
            "b": _lists([r[1] for r in half], pl.String),
        },
        quasi=["a", "b"],
    )
    found = KKAnonymity(k=50).check_pair(Pair.of(before, after))
    assert found.detail["k1"] == min(oracle.k1(both, half))
    assert found.detail["1k"] == min(oracle.one_k(both, half))


@given(rows, rows)
def test_which_classes_an_original_fits(originals: list[Row], published: list[Row]) -> None:
    originals = [*originals, ([], "x"), ([], "y")]  # every town that is published is known
    before, after = _table(originals, pl.String), _table(published, pl.String)
    found = covering(before, after, ["buys", "town"])
    groups = oracle.classes(published)
    for row, person in zip(found.person, originals, strict=True):
        expected = [g for g, group in enumerate(groups) if oracle.fits(person, published[group[0]])]
        assert found.fitting(row).tolist() == expected


def test_relational_kk() -> None:
    """The example of the paper's section 4: (k,1) and (1,k) are different things."""
    before = table({"age": [20, 25, 40, 45]}, quasi=["age"])
    after = table({"age": ["[20, 25]", "[20, 25]", "[20, 40]", "[20, 45]"]}, quasi=["age"])
    found = KKAnonymity(k=2).check_pair(Pair.of(before, after))
    assert (found.met, found.detail["k1"], found.detail["1k"], found.broken) == (False, 2, 1, 1)
    assert str(found) == "(1,k)-anonymity is 1 (limit 2) in 1 of 4 originals"
    whole = table({"age": ["[20, 25]", "[20, 25]", "[40, 45]", "[40, 45]"]}, quasi=["age"])
    assert KKAnonymity(k=2).check_pair(Pair.of(before, whole)).met
    with pytest.raises(MeasureError, match="original"):
        KKAnonymity(k=2).check(whole)
    assert KKAnonymity(k=2, original=before).check(whole).met


def test_items_as_text_after_a_text_file(tmp_path: Path) -> None:
    """A CSV file gives numbers back as text; they are the same items."""
    before = table({"buys": [[1, 2], [1, 2, 10], [10]]}, quasi=["buys"])
    after = table({"buys": [[1, 2], [1, 2], [10]]}, quasi=["buys"])
    write_file(after, tmp_path / "out.csv")
    back = read_back(tmp_path / "out.csv", after.schema)
    found = K1Anonymity(k=2).check_pair(Pair.of(before, back))
    assert (found.value, found.broken) == (2, 0)


def test_an_item_that_nobody_has_fits_nobody() -> None:
    for there, here in (([1], [7]), (["a"], ["z"]), ([1], [2**40]), ([1], ["x"])):
        pair = Pair.of(table({"b": [there]}, quasi=["b"]), table({"b": [here]}, quasi=["b"]))
        assert K1Anonymity(k=1).check_pair(pair).value == 0


def test_lists_and_values_do_not_compare() -> None:
    pair = Pair.of(table({"b": ["a"]}, quasi=["b"]), table({"b": [["a"]]}, quasi=["b"]))
    with pytest.raises(MeasureError, match="holds no sets"):
        K1Anonymity(k=1).check_pair(pair)


@pytest.mark.parametrize(
    "cells",
    [[[-0.0], [0.0]], [[float("nan")], [float("nan"), float("nan")]], [[None, 1.0], [1.0, None]]],
)
def test_odd_items_that_are_equal(cells: list[list[float]]) -> None:
    t = table({"b": pl.Series(cells, dtype=pl.List(pl.Float64))}, quasi=["b"])
    assert KAnonymity(k=2).check(t).met
    # Missing is no item that is there.
    assert K1Anonymity(k=2).check_pair(Pair.of(t, t)).met


@pytest.mark.parametrize("dtype", TYPES)
def test_sorted_lists_are_given_back(dtype: Any) -> None:
    sound: list[list[Any]] = [[[1, 2], [], None, [0, 4], [4]], [[]], [None], [[3]], []]
    for cells in sound:
        made = _lists(cells, dtype)
        assert is_canonical(made)
        assert canonical(made) is made
    for cells in ([[2, 1]], [[1], [1, 1]], [[], [0, 4, 3], []], [[3], [2], [5, 5]]):
        made = _lists(cells, dtype)
        assert not is_canonical(made)
        assert canonical(made).to_list() == _lists([sorted(set(c)) for c in cells], dtype).to_list()
