"""Trees of labels against rows read by brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.poset.trees.grow import nodes_from_rows
from sfumato.poset.trees.tree import Tree
from tests.oracle import poset as oracle

Rows = list[list[str]]


@st.composite
def hierarchies(draw: st.DrawFn) -> Rows:
    """Rows of a random hierarchy in random order; some labels repeat upwards."""
    size = draw(st.integers(2, 9))
    columns = [[f"v{i}" for i in range(size)]]
    for level in range(draw(st.integers(0, 3))):
        below = list(dict.fromkeys(columns[-1]))
        groups = draw(st.lists(st.integers(0, 2), min_size=len(below), max_size=len(below)))
        name = {
            label: label
            if groups.count(group) == 1 and draw(st.booleans())
            else f"g{level}.{group}"
            for label, group in zip(below, groups, strict=True)
        }
        columns.append([name[label] for label in columns[-1]])
    columns.append(["*"] * size)
    return draw(st.permutations([list(row) for row in zip(*columns, strict=True)]))


def tree_of(rows: Rows) -> Tree:
    return Tree(nodes_from_rows(rows, "the tree"), "the tree")


@given(hierarchies())
def test_order_and_measure_are_those_of_the_rows(rows: Rows) -> None:
    tree, naive = tree_of(rows), oracle.Tree(rows)
    assert sorted(tree.label_of_node) == sorted(naive.labels)
    for a in naive.labels:
        assert tree.measure(a) == naive.measure(a)
        for b in naive.labels:
            assert tree.leq(a, b) == naive.leq(a, b)
            if tree.leq(a, b):
                assert tree.measure(a) <= tree.measure(b)
                assert tree.height(a) < tree.height(b) or a == b
            if tree.leq(a, b) and tree.leq(b, a):
                assert a == b
            for c in naive.labels:
                assert not (tree.leq(a, b) and tree.leq(b, c)) or tree.leq(a, c)


@given(hierarchies(), st.data())
def test_least_upper_bound_is_that_of_the_rows(rows: Rows, data: st.DataObject) -> None:
    tree, naive = tree_of(rows), oracle.Tree(rows)
    given_labels = data.draw(st.lists(st.sampled_from(naive.labels), min_size=1, max_size=4))
    assert tree.lub(given_labels) == naive.lub(given_labels)


@given(hierarchies())
def test_groups_of_codes_have_the_labels_of_their_bounds(rows: Rows) -> None:
    tree, naive = tree_of(rows), oracle.Tree(rows)
    leaf_of = dict(zip(tree.codes(naive.leaves).tolist(), naive.leaves, strict=True))
    assert sorted(leaf_of) == list(range(1, len(tree) + 1))
    pairs = [(a, b) for a in leaf_of for b in leaf_of if a <= b]
    low, high = np.array(pairs).T
    expected = [naive.lub(leaf_of[c] for c in range(a, b + 1)) for a, b in pairs]
    assert tree.labels(low, high) == expected
    assert [naive.lub([leaf_of[a], leaf_of[b]]) for a, b in pairs] == expected
    starts = np.cumsum([0] + [2] * len(pairs))
    assert tree.set_labels(starts, np.array(pairs).ravel()) == expected


@given(hierarchies())
def test_levels_are_the_columns(rows: Rows) -> None:
    tree, naive = tree_of(rows), oracle.Tree(rows)
    assert tree.levels == len(rows[0])
    for level in range(tree.levels):
        expected = [naive.at_level(leaf, level) for leaf in naive.leaves]
        assert tree.at_level(naive.leaves, level) == expected
    with pytest.raises(ValueError, match=f"not {tree.levels}"):
        tree.at_level(naive.leaves, tree.levels)
    with pytest.raises(ValueError, match="not -1"):
        tree.at_level(naive.leaves, -1)


@given(hierarchies())
def test_arrays_describe_one_tree(rows: Rows) -> None:
    tree = tree_of(rows)
    assert tree.parent[tree.root] == -1
    assert (tree.parent[1:] < np.arange(1, tree.parent.size)).all()
    assert (tree.depth[1:] == tree.depth[tree.parent[1:]] + 1).all()
    for node in range(tree.parent.size):
        children = tree.child_idx[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        assert children.tolist() == np.flatnonzero(tree.parent == node).tolist()
        edges = [(tree.first_leaf[c], tree.last_leaf[c]) for c in children]
        if edges:
            # Children share their parent's leaves out without gaps, from left to right.
            assert edges[0][0] == tree.first_leaf[node]
            assert edges[-1][1] == tree.last_leaf[node]
            assert all(right[0] == left[1] + 1 for left, right in pairwise(edges))
            assert tree.heights[node] == 1 + max(tree.heights[c] for c in children)
        else:
            assert tree.first_leaf[node] == tree.last_leaf[node]
            assert tree.leaf_nodes[tree.first_leaf[node]] == node
            assert tree.heights[node] == 0


@given(hierarchies(), st.data())
def test_contradictory_rows_are_refused(rows: Rows, data: st.DataObject) -> None:
    """Whatever cell of an upper level is changed to another label, the tree is right or refused."""
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(1, len(rows[0]) - 1))
    labels = sorted({label for r in rows for label in r})
    changed = [list(r) for r in rows]
    changed[row][column] = data.draw(st.sampled_from([*labels, "new"]))
    try:
        tree = tree_of(changed)
    except ValueError as error:
        assert "the tree" in str(error)
        assert " -> " in str(error)
        return
    naive = oracle.Tree(changed)
    for a in naive.labels:
        if len(naive.leaves) > 1:
            assert tree.measure(a) == naive.measure(a)
        assert all(tree.leq(a, b) == naive.leq(a, b) for b in naive.labels)


def test_branches_may_have_different_depths() -> None:
    tree = tree_of([["Bonn", "Germany", "Europe", "*"], ["Monaco", "Europe", "*"], ["Mars", "*"]])
    assert tree.lub(["Bonn", "Monaco"]) == "Europe"
    assert tree.lub(["Bonn", "Mars"]) == "*"
    assert tree.levels == 4
    assert tree.at_level(["Bonn", "Monaco", "Mars"], 1) == ["Germany", "Europe", "*"]
    assert tree.at_level(["Bonn", "Monaco", "Mars"], 2) == ["Europe", "*", "*"]
    assert tree.at_level(["Bonn", "Monaco", "Mars"], 3) == ["*", "*", "*"]
    assert [tree.measure(x) for x in ("Monaco", "Germany", "Europe", "*")] == [0, 0, 0.5, 1]


def test_a_short_row_goes_on_where_its_last_label_goes() -> None:
    tree = tree_of([["a", "X", "T", "*"], ["b", "X"], ["c", "T"]])
    assert [tree.at_level(["b", "c"], level) for level in range(4)] == [
        ["b", "c"],
        ["X", "T"],
        ["T", "*"],
        ["*", "*"],
    ]


def test_a_chain_of_one_keeps_its_order() -> None:
    tree = tree_of([["a", "A", "AA", "*"], ["b", "B", "BB", "*"]])
    assert tree.leq("a", "A")
    assert tree.leq("A", "AA")
    assert not tree.leq("AA", "A")
    assert tree.lub(["A", "a"]) == "A"
    assert tree.lub(["a", "AA", "A"]) == "AA"


def test_identical_rows_are_one() -> None:
    assert len(tree_of([["a", "X", "*"], ["b", "X", "*"], ["a", "X", "*"]])) == 2


def test_a_root_of_another_name_is_suppressed_too() -> None:
    tree = tree_of([["a", "anyone"], ["b", "anyone"]])
    assert tree.lub(["a", "b"]) == "anyone"
    assert tree.measure("*") == tree.measure("anyone") == 1
    assert tree.leq("a", "*")


def test_a_single_value_is_not_suppressed() -> None:
    tree = tree_of([["a", "A", "*"]])
    assert [tree.measure(label) for label in ("a", "A", "*")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [["a", "X", "*"], ["b", "X", "Y", "*"]],
            r'the tree, row 2: "X" goes to "Y", but in row 1 to "\*" -> .* rename',
        ),
        (
            [["a", "Other", "A", "*"], ["b", "Other", "B", "*"]],
            r'row 2: "Other" goes to "B", but in row 1 to "A" -> .* rename',
        ),
        (
            [["Paris", "France", "*"], ["Versailles", "Paris", "*"]],
            r'row 2: "Paris" goes to "\*", but in row 1 to "France"',
        ),
        ([["a", "X"], ["b", "Y"]], r'row 1 ends in "X" and row 2 in "Y" -> .*header = true'),
        ([["a", "X"], ["b", "X"], ["c"]], r'row 3: "c" has no ancestor -> a row is a value'),
        ([["a", "X"], []], "row 2: it is empty ->"),
        ([["a", "", "*"]], "row 1: column 2 is empty -> fill it in"),
        ([["", "X", "*"]], "row 1: the value is empty ->"),
        ([["x", "A", "B"], ["y", "B", "A"], ["z", "R"]], "never ends ->"),
        ([["x", "A", "B"], ["y", "B", "A"]], "never ends ->"),
        ([["*", "X", "*"]], r'row 1: "\*" is a value, but it means suppressed -> rename'),
        ([["a", "*", "All"], ["b", "*", "All"]], r'"\*" stands below "All".* -> rename'),
    ],
)
def test_malformed_hierarchies_name_row_and_remedy(rows: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree_of(rows)


def test_unknown_labels_are_refused_with_a_hint() -> None:
    tree = tree_of([["Private", "Work", "*"], ["Never-worked", "None", "*"]])
    with pytest.raises(ValueError, match='label "Wrok" is not in the tree'):
        tree.measure("Wrok")
    with pytest.raises(
        ValueError, match=r'value "private" \(and 1 more\) is not .* it has "Private"'
    ):
        tree.codes(["Private", "private", "x"])
    with pytest.raises(ValueError, match='did you mean "Never-worked"'):
        tree.codes(["Neverworked"])
    with pytest.raises(ValueError, match="nothing has no least upper bound"):
        tree.lub([])
    with pytest.raises(ValueError, match="codes run from 1 to 2"):
        tree.labels(np.array([1]), np.array([3]))


def test_arrays_cannot_be_changed() -> None:
    tree = tree_of([["a", "*"], ["b", "*"]])
    for array in (tree.parent, tree.first_leaf, tree.leaf_nodes, tree.child_ptr, tree.positions):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
