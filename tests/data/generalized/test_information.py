"""Mutual information and what nodes tell, against counting by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import Matrix, code
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.data.generalized.information import (
    class_counts,
    column_weights,
    estimable,
    mutual_information,
    node_information,
    target_codes,
    target_column,
    value_costs,
)
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.kernels.joins.ancestors import all_pairs
from sfumato.kernels.statistics import information as kernel
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.valueset import ValueSet
from sfumato.structure import Structure
from tests.oracle import information as oracle

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=40)
CITIES = st.lists(
    st.tuples(st.sampled_from(list(oracle.PATHS)), st.sampled_from("xyz")), min_size=1, max_size=30
)


@given(PAIRS)
def test_mutual_information(pairs: list[tuple[int, int]]) -> None:
    x, c = (np.array(side) for side in zip(*pairs, strict=True))
    assert mutual_information(x, c) == pytest.approx(
        oracle.mutual_information(x.tolist(), c.tolist()), abs=1e-12
    )
    assert mutual_information(x, x) == pytest.approx(kernel.entropy(np.bincount(x)))
    assert kernel.entropy(np.bincount(x)) == pytest.approx(abs(oracle.entropy(x.tolist())))


def test_many_values_are_counted_by_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, c = rng.integers(0, 300, 1000), rng.integers(0, 300, 1000)
    dense = mutual_information(x, c)
    monkeypatch.setattr(kernel, "_DENSE", 0)
    assert mutual_information(x, c) == pytest.approx(dense)
    assert mutual_information(x[:0], c[:0]) == 0.0
    assert kernel.entropy(np.zeros(3)) == 0.0


@given(CITIES, st.integers(1, 4))
def test_nodes_of_a_tree(rows: list[tuple[str, str]], rare: int) -> None:
    cities, classes = (list(side) for side in zip(*rows, strict=True))
    t = table({"city": cities, "c": classes}, posets={"city": oracle.TREE})
    coded = code(t, "city")
    found = node_information(coded.structure, coded.codes, target_codes(t, "c"), rare)
    assert found is not None
    for label, told in zip(coded.poset.label_of_node, found, strict=True):
        wanted = oracle.information_of(oracle.under(0, label), cities, classes, rare)
        assert told == pytest.approx(wanted, abs=1e-12), label


PARENTS = {"a": ["ab", "ac"], "b": ["ab"], "c": ["ac"], "d": ["*"], "ab": ["*"], "ac": ["*"]}
BELOW = {
    "a": {"a"}, "b": {"b"}, "c": {"c"}, "d": {"d"}, "ab": {"a", "b"}, "ac": {"a", "c"},
    "*": set("abcd"),
}  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xy")), min_size=1, max_size=25))
def test_nodes_of_a_partial_order(rows: list[tuple[str, str]]) -> None:
    values, classes = (list(side) for side in zip(*rows, strict=True))
    t = table({"v": values, "c": classes}, posets={"v": PartialOrder(parents=PARENTS)})
    coded, answers = code(t, "v"), target_codes(t, "c")
    found = node_information(coded.structure, coded.codes, answers, 1)
    # The same by the table of all pairs, which other posets have instead of lists of ancestors.
    table_ = all_pairs(coded.poset.ancestor_ptr, coded.poset.ancestor_idx)
    bare = Structure(pairs=SimpleNamespace(leaf_nodes=coded.poset.leaf_nodes, join_table=table_))
    again = node_information(bare, coded.codes, answers, 1)
    assert found is not None
    assert again == pytest.approx(found)
    for label, told in zip(coded.poset.label_of_node, found, strict=True):
        assert told == pytest.approx(
            oracle.information_of(BELOW[label], values, classes, 1), abs=1e-12
        )


def test_posets_without_nodes_and_missing_values() -> None:
    assert node_information(ValueSet().bind(["a"]).structure, np.array([1]), np.array([0])) is None
    t = table({"city": ["Ulm", None, "Nice"], "c": ["x", "y", None]}, posets={"city": oracle.TREE})
    coded = code(t, "city")
    answers = target_codes(t, "c")
    assert answers.tolist() == [0, 1, -1]
    # One record has both: everybody who counts is x, and nothing tells anything.
    assert node_information(coded.structure, coded.codes, answers, 1).tolist() == [0.0] * 12
    assert class_counts(np.array([1, 1]), np.array([0, -1]), 2).tolist() == [[0.0], [1.0]]


def test_rare_values_are_set_aside_and_fine_numbers_cut() -> None:
    n = 400
    x = np.arange(n) / 3
    t = table({"x": x, "id": [f"p{i}" for i in range(n)], "hot": x > 60, "half": np.arange(n) // 4})
    weights = column_weights(Matrix(t, ["x", "id", "half", "hot"]), "hot")
    assert weights["id"] == 0.0
    entropy = kernel.entropy(np.bincount((x > 60).astype(int)))
    assert weights["hot"] == pytest.approx(entropy)
    assert 0.9 * entropy < weights["x"] <= entropy
    # Four records each: below the limit, so cut; not below 4, so taken as they are.
    assert estimable(t, "half").cut
    assert not estimable(t, "half", rare=4).cut
    assert estimable(t, "half", rare=4).values == 100
    found = estimable(t, "id")
    assert (found.values, found.set_aside, found.known.sum()) == (0, n, 0)


def test_value_costs_rank_by_what_values_tell() -> None:
    cities = ["Ulm"] * 8 + ["Bonn"] * 8 + ["Nice"] * 8
    ill = ["flu"] * 8 + ["cut"] * 4 + ["flu"] * 4 + ["cut"] * 8
    t = table({"city": cities, "age": [20, 30] * 12, "ill": ill}, posets={"city": oracle.TREE})
    x = Matrix(t, ["city", "age"])
    costs, most = value_costs(x, "ill")
    tree = x.coded(0).poset
    told = node_information(tree.structure, x.coded(0).codes, target_codes(t, "ill"))
    assert most == pytest.approx(told.max())
    by_node = costs(tree, 0)
    assert by_node[tree.node("*")] == 1.0
    assert by_node[tree.node("Ulm")] < by_node[tree.node("Bonn")]
    assert costs(x.coded(1).poset, 1) is None
    assert len(cell_costs(x, node_costs=costs)) == 24
    # A target that nothing tells of.
    flat, none = value_costs(Matrix(t, ["city"]), "age")
    assert none == pytest.approx(0.0)
    assert flat(tree, 0).tolist() == [1.0] * 12


def test_targets() -> None:
    t = table(
        {"a": ["x"] * 3, "b": [1.5, 2.5, 9.0], "s": [["u"], ["v"], []], "id": ["p", "q", "r"]},
        confidential="a", target="b",
    )  # fmt: skip
    assert target_column(t, "", "it") == "b"
    assert target_column(t, "a", "it") == "a"
    with pytest.raises(MeasureError, match="sets"):
        target_column(t, "s", "it")
    with pytest.raises(MeasureError, match="'z'"):
        target_column(t, "z", "it")
    many = table({"id": [f"p{i}" for i in range(1200)]})
    with pytest.raises(MeasureError, match="too many"):
        target_codes(many, "id")
