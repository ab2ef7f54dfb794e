"""Posets written to files and read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from sfumato.errors import OutputError
from sfumato.poset.files.export import poset_csv, poset_rows, write_poset
from sfumato.poset.interval import Interval
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.trees.bins import Bins
from sfumato.poset.trees.sources import Balanced, Hierarchy, Prefix
from sfumato.poset.trees.tree import Tree
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
