"""Sets of items with utilities against plain intersections."""

from __future__ import annotations

import gzip
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import code
from sfumato.data.sets.items import item_utilities
from sfumato.errors import ParameterError, PlanError, SchemaError
from sfumato.poset.sets.items import Items, ItemsPoset
from sfumato.release.plan.plan import Plan
from tests.oracle.poset_orders import common_traits
from tests.poset.searched import check_release
from tests.poset.test_text import NASTY

NAMES = ["hiv", "renal", "colon", "a, b", "*", "{x}", "+", ""]
WORTH = {"hiv": 10, "renal": 2.5, "*": 0}
EVERYTHING = frozenset(NAMES)
sets = st.lists(st.frozensets(st.sampled_from(NAMES)), min_size=1, max_size=6, unique=True)
Sets = list[frozenset[str]]


def bound(given_sets: Sets) -> ItemsPoset:
    return Items(utilities=WORTH).bind([sorted(one) for one in given_sets])


def open_share(shared: frozenset[str], occurring: frozenset[str]) -> float:
    """Utility that is not told, of all there is."""
    total = sum(WORTH.get(item, 1) for item in occurring)
    if not total:
        return 1 - len(shared) / max(len(occurring), 1)
    return sum(WORTH.get(item, 1) for item in occurring - shared) / total if shared else 1.0


@given(sets, st.data())
def test_groups_show_what_all_have(given_sets: Sets, data: st.DataObject) -> None:
    poset = bound(given_sets)
    occurring: frozenset[str] = frozenset().union(*given_sets)
    set_of = dict(
        zip(poset.codes([sorted(s) for s in given_sets]).tolist(), given_sets, strict=True)
    )
    assert sorted(set_of) == list(range(1, len(given_sets) + 1))
    codes = st.lists(st.sampled_from(sorted(set_of)), min_size=1, unique=True).map(sorted)
    groups = data.draw(st.lists(codes, min_size=1, max_size=4))
    starts = np.cumsum([0, *map(len, groups)])
    labels = poset.set_labels(starts, np.array(list(chain.from_iterable(groups))))
    for group, label in zip(groups, labels, strict=True):
        members = [set_of[c] for c in group]
        shared, whole = common_traits(members)
        whole = whole or (bool(shared) and shared == occurring)
        assert label == poset.lub([sorted(one) for one in members])
        assert frozenset(poset.members(label)) == shared
        assert poset.measure(label) == pytest.approx(0 if whole else open_share(shared, occurring))
        assert poset.height(label) == (0 if whole else max(len(occurring) - len(shared), 1))
        for one in given_sets:
            assert poset.leq(sorted(one), label) == (one == shared if whole else shared <= one)


@given(sets, st.data())
def test_laws_of_a_partial_order(given_sets: Sets, data: st.DataObject) -> None:
    poset = bound(given_sets)
    groups = st.lists(st.sampled_from([sorted(one) for one in given_sets]), min_size=1, max_size=3)
    a, b, c = (poset.lub(data.draw(groups)) for _ in range(3))
    assert poset.leq(a, a)
    assert poset.leq(a, "*")
    if poset.leq(a, b) and poset.leq(b, a):
        assert a == b
    if poset.leq(a, b):
        assert poset.measure(a) <= poset.measure(b) + 1e-12
        assert not poset.leq(b, c) or poset.leq(a, c)
    joined = poset.lub([a, b])
    assert poset.leq(a, joined)
    assert poset.leq(b, joined)
    if poset.leq(a, c) and poset.leq(b, c):
        assert poset.leq(joined, c)


@given(st.lists(st.lists(NASTY, max_size=3, unique=True), min_size=1, max_size=5))
def test_labels_read_back_whatever_the_items(values: list[list[str]]) -> None:
    poset = Items().bind(values)
    for one in values:
        for other in values:
            label = poset.lub([one, other])
            assert poset.leq(one, label)
            assert set(poset.members(label)) == set(one) & set(other)


def test_there_may_be_many_items() -> None:
    everyone = [[f"item {i}" for i in range(j, 2000)] for j in range(50)]
    poset = Items(default=2).bind(everyone)
    assert repr(poset) == "ItemsPoset(50 sets of 2,000 items)"
    label = poset.lub([everyone[3], everyone[40]])
    assert poset.height(label) == 40
    assert poset.measure(label) == pytest.approx(40 / 2000)
    assert poset.labels(np.array([1]), np.array([50])) == [poset.lub(everyone)]


def test_it_serves_searches_that_know_no_sets() -> None:
    check_release(Items(utilities={"a": 3}), [["a", "b"], ["a"], ["b"], ["c", "a"], None], "set")


def test_what_it_does_not_know() -> None:
    poset = Items().bind([["a"], ["b"]])
    with pytest.raises(ValueError, match="nothing has no least upper bound"):
        poset.lub([])
    with pytest.raises(ValueError, match='item "c" is not among the column'):
        poset.leq("{c}+", "*")
    with pytest.raises(ValueError, match='"a b" is not among'):
        poset.codes(["a b"])
    with pytest.raises(ValueError, match="a group without values"):
        poset.set_labels(np.array([0, 0]), np.array([], dtype=np.int64))
    assert poset.set_labels(np.array([0]), np.array([], dtype=np.int64)) == []
    with pytest.raises(ValueError, match='the value "\\*" means suppressed'):
        Items().bind(["a", "*"])


# --- utilities ---


def test_utilities_in_place(tmp_path: Path) -> None:
    worth = Items.build({"utilities": {"tea": 3, 7: 0.5}, "default": 0.25})
    assert worth.utilities_of(["milk", "tea", "7"]).tolist() == [0.25, 3.0, 0.5]
    made = sf.table({"buys": [[7, 8]]}, posets={"buys": {"kind": "items", "utilities": {"7": 2}}})
    assert item_utilities(made.schema["buys"], pl.Series([7, 8])).tolist() == [2, 1]
    assert item_utilities(sf.table({"b": [["x"]]}).schema["b"], pl.Series(["x"])).tolist() == [1]
    assert code(made, "buys").poset.measure("*") == 1


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "much", None, True])
def test_utilities_that_are_none(bad: Any) -> None:
    with pytest.raises(ParameterError, match=r'item "tea": .* is not a utility -> a number that'):
        Items.build({"utilities": {"tea": bad}})


@pytest.mark.parametrize("form", ["csv", "semicolons", "gzip", "parquet"])
def test_utilities_from_a_file(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"items.{form}"
    lines = "code,what,value\n07,tea,3\n\n08,milk, .5 \n08,milk,0.5\n"
    if form == "parquet":
        pl.DataFrame({"code": ["07", "08"], "value": [3.0, 0.5]}).write_parquet(path)
    elif form == "gzip":
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines.replace(",", ";") if form == "semicolons" else lines)
    worth = Items(path=str(path), item="code", utility="value", utilities={"08": 9})
    assert worth.utilities_of(["07", "08", "09"]).tolist() == [3, 9, 1]
    path.write_text("code,value\n07,44\n")
    assert worth.utilities_of(["07"]).tolist() == [44]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("item,utility\na,1\nb,-2\n", "row 3, item \"b\": '-2' is not a utility"),
        ("item,utility\na,1\nb,\n", "row 3, item \"b\": '' is not a utility"),
        ("item,utility\n,1\n", "row 2: the item is missing"),
        ("item,utility\na,1\nc,1\na,2\n", 'row 4: item "a" is worth 2 here and 1 in row 2'),
        ("item,utility\na\n", "row 2: it has 1 cells, fewer than the first row"),
        ("name,utility\na,1\n", 'has no column "item"; its columns are name, utility -> item ='),
        ("", 'has no column "item"; its columns are none'),
        ('item,utility\n"a,1\n', "mend its quotation marks"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, lines: str, complaint: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(lines)
    made = sf.table({"buys": [["a"]]}, posets={"buys": {"kind": "items", "path": str(path)}})
    with pytest.raises(SchemaError) as error:
        item_utilities(made.schema["buys"], pl.Series(["a"]))
    assert complaint in str(error.value)
    assert "the utilities items.csv" in str(error.value)


def test_parquet_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    pl.DataFrame({"item": [1, None], "utility": [1, 2]}).write_parquet(path)
    with pytest.raises(ValueError, match="row 2: the item is missing"):
        Items(path=str(path)).utilities_of(["1"])
    pl.DataFrame({"thing": [1], "utility": [1]}).write_parquet(path)
    with pytest.raises(ValueError, match='has no column "item"'):
        Items(path=str(path)).utilities_of(["1"])
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match="cannot be read"):
        Items(path=str(path)).utilities_of(["1"])
    with pytest.raises(ValueError, match="No such file"):
        Items(path=str(tmp_path / "none.csv")).utilities_of(["1"])


def test_a_plan_finds_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,utility\ntea,3\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[columns]\nbuys = { role = "quasi", poset = { kind = "items", path = "items.csv" } }\n'
    )
    poset = Plan.read(plan).columns["buys"].poset
    assert isinstance(poset, Items)
    assert poset.utilities_of(["tea"]).tolist() == [3]
    text = '[columns]\nbuys = { poset = { kind = "items", utilities = { "whole milk" = 2 } } }\n'
    made = Plan.parse(text)
    assert Plan.parse(made.to_toml()) == made
    with pytest.raises(PlanError, match="is not a utility"):
        Plan.parse(text.replace("= 2", "= -2"))
