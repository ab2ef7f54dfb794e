"""Posets written to files and read back."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import OutputError
from sfumato.poset.files.export import poset_csv, poset_rows, write_poset
from sfumato.poset.interval import Interval
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.trees.bins import Bins
from sfumato.poset.trees.dates import DateTree
from sfumato.poset.trees.orders import OrderTree, Priority
from sfumato.poset.trees.redaction import Redaction
from sfumato.poset.trees.sources import Balanced, Hierarchy, Prefix
from sfumato.poset.trees.tree import Tree
from sfumato.protocols import PosetSource
from tests.oracle import poset as oracle
from tests.oracle import poset_orders
from tests.poset.test_partial_order import Parents, orders
from tests.poset.test_tree import Rows, hierarchies, tree_of


def same(one: Tree, other: Tree) -> None:
    """Whether two trees have the same labels in the same places."""
    assert one.levels == other.levels
    assert one.label_of_node == other.label_of_node
    assert one.parent.tolist() == other.parent.tolist()


@given(hierarchies())
def test_trees_come_back(rows: Rows) -> None:
    tree = tree_of(rows)
    written = poset_rows(tree)
    naive = oracle.Tree(rows)
    assert [row[0] for row in written] == sorted(naive.leaves, key=lambda v: tree.codes([v])[0])
    for row in written:
        assert row == [naive.at_level(row[0], level) for level in range(tree.levels)]
    same(Hierarchy(levels=written).bind([]), tree)


@pytest.mark.parametrize(
    "tree",
    [
        Prefix(lengths=[5, 3, 2]).bind(["02138", "02139", "10001"]),
        Bins(edges=[[0, 20, 40, 60], [0, 40]]).bind([3, 25, 38, 59, 93]),
        Balanced().bind(["a; b", 'c "d"', "e, f", "g"], np.array([1, 2, 3, 4])),
    ],
    ids=["prefix", "bins", "balanced"],
)
def test_files_come_back(tmp_path: Path, tree: Tree) -> None:
    path = tmp_path / "hierarchy.csv"
    write_poset(tree, path)
    same(Hierarchy(path=str(path)).bind([]), tree)


HOSTILE = st.text(st.sampled_from('ab*;,\t"\n\r\x85\u2028\ufeff {}|é'), min_size=1, max_size=6)


@given(
    st.lists(HOSTILE.filter(lambda v: v != "*"), min_size=1, max_size=7, unique=True),
    st.sampled_from(["order", "priority", "redaction", "balanced"]),
)
def test_hostile_values_come_back(values: list[str], kind: str) -> None:
    sources: dict[str, PosetSource] = {
        "order": OrderTree(order=values, groups=[2, 2], pattern="{first};\n{last}"),
        "priority": Priority(levels=3, other='"other" {count}'),
        "redaction": Redaction(character="#", pad="?", length=6),
        "balanced": Balanced(),
    }
    counts = np.arange(len(values), dtype=np.int64)
    try:
        tree = sources[kind].bind(values, counts)
    except ValueError as error:
        # A value that is written as a group is; no other has a reason to be refused.
        assert "stands for two groups" in str(error)
        return
    assert isinstance(tree, Tree)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hierarchy.csv"
        write_poset(tree, path)
        back = Hierarchy(path=str(path)).bind([])
    same_rows(back, tree)
    assert sorted(row[0] for row in poset_rows(back)) == sorted(values)


def same_rows(one: Tree, other: Tree) -> None:
    assert poset_rows(one) == poset_rows(other)


@given(
    st.lists(st.dates(), min_size=1, max_size=9, unique=True),
    st.lists(st.integers(-99, 99), min_size=1, max_size=9, unique=True),
)
def test_dates_and_numbers_come_back(days: list[dt.date], numbers: list[int]) -> None:
    made: list[tuple[Tree, list[Any]]] = [
        (DateTree(levels=["day", "week", "iso-year"]).bind(sorted(days)), days),
        (DateTree().bind(sorted(days)), days),
        (Bins(width=7, fanouts=[3], low=-20, pattern="{low}~{high}").bind(numbers), numbers),
        (Redaction(align="right", length=3).bind(sorted(numbers)), numbers),
    ]
    for tree, values in made:
        back = Hierarchy(levels=poset_rows(tree)).bind(sorted(values))
        for level in range(tree.levels):
            assert back.at_level(values, level) == tree.at_level(values, level)


def test_arx_layout_by_hand(tmp_path: Path) -> None:
    """A row for each value, semicolons, the value first and "*" last."""
    path = tmp_path / "age.csv"
    write_poset(Bins(width=5, fanouts=[2], high=90, pattern="{low}-{high}").bind([3, 38, 93]), path)
    assert path.read_bytes() == b"3;0-4;0-9;*\n38;35-39;30-39;*\n93;>=90;>=90;*\n"
    values = ['a;"b"', "c\nd", "e"]
    quoted = OrderTree(order=values, groups=[2], pattern="{first} {last}").bind(values)
    write_poset(quoted, path)
    assert path.read_text("utf-8") == (
        '"a;""b""";"a;""b"" c\nd";*\n"c\nd";"a;""b"" c\nd";*\ne;e;*\n'
    )


@given(orders())
def test_partial_orders_come_back(parents: Parents) -> None:
    naive = poset_orders.Order(parents)
    rows = poset_rows(PartialOrder(parents=parents).bind(naive.leaves))
    read: dict[str, list[str]] = {}
    for child, parent in rows:
        read.setdefault(child, []).append(parent)
    if not read:
        return
    back = PartialOrder(parents=read).bind(naive.leaves)
    for a in naive.labels:
        assert back.measure(a) == naive.measure(a)
        assert all(back.leq(a, b) == naive.leq(a, b) for b in naive.labels)


def test_a_partial_order_in_a_file() -> None:
    parents = {"02139": ["0213", "Cambridge"], "0213": ["021"], "Cambridge": ["021"]}
    text = poset_csv(PartialOrder(parents=parents).bind(["02139"]))
    assert sorted(text.split()) == ["02139;0213", "02139;Cambridge", "0213;021", "Cambridge;021"]


def test_what_has_no_file(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="neither a tree nor a partial order"):
        poset_csv(Interval().bind([1, 2]))
    with pytest.raises(OutputError, match="there is no folder"):
        write_poset(Prefix(lengths=[1]).bind(["a"]), tmp_path / "no" / "file.csv")


def test_icd9_comes_back(shared_data: Callable[[str], Path], tmp_path: Path) -> None:
    path = shared_data("hierarchies") / "icd9cm_leaf_hierarchy.csv.gz"
    tree = Hierarchy(path=str(path), header=True).bind(["001.0"])
    write_poset(tree, tmp_path / "icd9.csv")
    same(Hierarchy(path=str(tmp_path / "icd9.csv")).bind(["001.0"]), tree)
