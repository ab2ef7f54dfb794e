"""Items that stand below others: closed sets, their searches, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.sets.enumeration import enumerate_sets
from sfumato.data.sets.items import item_parents
from sfumato.errors import MethodError, SchemaError
from sfumato.poset.sets.items import Items
from sfumato.release.plan.plan import Plan
from sfumato.release.records.run import read_input

_PARENTS = {"milk": "dairy", "cheese": "dairy", "dairy": "food", "ham": "food"}
_BUYS = [["milk", "tea"], ["cheese", "tea"], ["ham"], [], None, ["dairy"]]


def _baskets(buys: list[Any], poset: dict[str, Any]) -> sf.Table:
    return sf.table({"buys": buys}, quasi=["buys"], posets={"buys": {"kind": "items", **poset}})


def test_sets_hold_what_stands_above_their_items() -> None:
    baskets = _baskets(_BUYS, {"parents": _PARENTS, "utilities": {"milk": 3}})
    whole = enumerate_sets(baskets, ["buys"], into="buys")
    assert whole["buys"].to_list() == [
        ["dairy", "food", "milk", "tea"], ["cheese", "dairy", "food", "tea"], ["food", "ham"], [],
        None, ["dairy", "food"],
    ]  # fmt: skip
    assert whole.schema["buys"].poset == baskets.schema["buys"].poset
    assert baskets["buys"].to_list() == _BUYS


def test_a_hierarchy_file_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "goods.csv"
    path.write_text("milk;dairy;food;*\ncheese;dairy;food;*\nham;food;*\ntea;*\n")
    assert Items(hierarchy=str(path)).above() == _PARENTS


def test_a_top_with_a_name_of_its_own_stands_above_items(tmp_path: Path) -> None:
    path = tmp_path / "goods.csv"
    path.write_text("milk;dairy;food\nham;meat;food\n")
    baskets = _baskets([["milk"], ["food"]], {"hierarchy": str(path)})
    whole = enumerate_sets(baskets, ["buys"], into="buys")
    assert whole["buys"].to_list() == [["dairy", "food", "milk"], ["food"]]


@pytest.mark.parametrize(
    ("rows", "parents", "what"),
    [
        ("milk;dairy;*\n", {"dairy": "milk"}, "stands above itself"),
        ("milk;dairy;*\nmilk;drink;*\n", {}, "each label has one parent"),
        (None, {}, "No such file"),
    ],
    ids=["circle", "contradiction", "no file"],
)
def test_a_hierarchy_that_cannot_be_followed_is_refused(
    rows: str | None, parents: dict[str, str], what: str, tmp_path: Path
) -> None:
    """A file and `parents` together once went in circles for ever."""
    path = tmp_path / "goods.csv"
    if rows is not None:
        path.write_text(rows)
    baskets = _baskets([["milk"]] * 3, {"hierarchy": str(path), "parents": parents})
    with pytest.raises(SchemaError, match=what):
        enumerate_sets(baskets, ["buys"], into="buys")
    with pytest.raises(SchemaError, match=what):
        sf.method("km-generalization", k=2).mask(baskets, np.random.default_rng(0))


def test_two_columns_never_give_one_item() -> None:
    made = sf.table({"a": ["b=c", "x"], "a=b": ["c", "y"]}, quasi=["a", "a=b"])
    with pytest.raises(SchemaError, match="gives the item 'a=b=c'"):
        enumerate_sets(made, ["a", "a=b"])


def test_a_parent_that_nobody_holds_is_passed_over() -> None:
    column = _baskets([["milk"]], {"parents": _PARENTS}).schema["buys"]
    found = item_parents(column, pl.Series(["cheese", "food", "milk", "tea"]))
    assert found.tolist() == [1, -1, 1, -1]


def test_a_table_of_categories_keeps_its_trees() -> None:
    jobs = [["Surgeon", "Doctor", "*"], ["Nurse", "Nurse", "*"]]
    table = sf.table(
        {"job": ["Surgeon", "Nurse"]}, quasi=["job"],
        posets={"job": {"kind": "hierarchy", "levels": jobs}},
    )  # fmt: skip
    poset = enumerate_sets(table, ["job"]).schema["attributes"].poset
    assert poset is not None
    assert poset.above() == {"job=Surgeon": "job=Doctor"}


def test_nothing_stands_above_itself_or_above_nothing() -> None:
    with pytest.raises(ValueError, match="stands above itself"):
        Items(parents={"a": "b", "b": "a"})
    with pytest.raises(SchemaError, match="nothing stands above"):
        enumerate_sets(_baskets(_BUYS, {}), ["buys"], into="buys")


@pytest.mark.parametrize("use", ["set-top-down", "km-generalization"])
def test_sets_that_lack_a_parent_are_refused(use: str) -> None:
    baskets = _baskets([["milk", "food"], ["ham", "dairy"]] * 3, {"parents": _PARENTS})
    with pytest.raises(MethodError, match="what stands above their items"):
        sf.protect(baskets, sf.method(use, k=2), seed=0)


def test_a_release_of_groups_shows_ever_finer_items() -> None:
    buys = [["milk", "tea"]] * 3 + [["cheese"], ["ham"], ["ham"]]
    whole = enumerate_sets(_baskets(buys, {"parents": _PARENTS}), ["buys"], into="buys")
    release = sf.protect(whole, sf.method("set-top-down", k=3), seed=0, require={"k-anonymity": 3})
    assert sorted(release.table["buys"].to_list()) == [
        *[["dairy", "food", "milk", "tea"]] * 3, *[["food"]] * 3,
    ]  # fmt: skip


def test_a_release_for_k_to_the_m_has_one_cut() -> None:
    rng = np.random.default_rng(3)
    names = ["milk", "cheese", "ham", "tea"]
    buys = [[names[i] for i in np.flatnonzero(rng.random(4) < 0.3)] for _ in range(60)]
    whole = enumerate_sets(_baskets(buys, {"parents": _PARENTS}), ["buys"], into="buys")
    release = sf.protect(
        whole, sf.method("km-generalization", k=6, m=2), seed=0,
        require={"km-anonymity": {"k": 6, "m": 2}},
    )  # fmt: skip
    before = {item for one in whole["buys"].to_list() for item in one}
    shown = {item for one in release.table["buys"].to_list() for item in one}
    assert "food" in shown
    # What is shown of one set is shown of every set that holds it.
    counts = [
        sum(item in one for one in table["buys"].to_list())
        for table in (whole, release.table)
        for item in sorted(shown)
    ]
    assert counts[: len(shown)] == counts[len(shown) :]
    assert shown < before


def test_a_plan_reads_sets_with_what_stands_above(tmp_path: Path) -> None:
    (tmp_path / "goods.csv").write_text("milk;dairy;food;*\nham;food;*\ntea;*\n")
    path = tmp_path / "baskets.csv"
    path.write_text("buys,zone\n" + "milk;tea,a\nham,b\n" * 4)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
[input]
path = "baskets.csv"
sets = [
    { column = "buys", separator = ";" },
    { columns = ["buys"], into = "buys", hierarchies = true },
]

[columns]
zone = { role = "insensitive" }
buys = { role = "quasi", kind = "set", poset = { kind = "items", hierarchy = "goods.csv" } }

[[steps]]
use = "km-generalization"
k = 4

[require]
km-anonymity = { k = 4, m = 2 }

[output]
path = "release"
"""
    )
    words = Plan.read(plan)
    found = sf.protect(read_input(words, tmp_path)[0], words, seed=0).table["buys"].to_list()
    assert sorted(found) == [["dairy", "food", "milk", "tea"]] * 4 + [["food", "ham"]] * 4
