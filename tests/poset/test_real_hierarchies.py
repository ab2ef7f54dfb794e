"""Published hierarchies: Adult, ICD-9, ICD-10 and US ZIP codes."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato.poset.trees.sources import Hierarchy, Prefix
from sfumato.poset.trees.tree import Tree
from tests.oracle import poset as oracle

SharedData = Callable[[str], Path]
ADULT = (
    "age",
    "education",
    "marital-status",
    "native-country",
    "occupation",
    "race",
    "salary-class",
    "sex",
    "workclass",
)


def rows_of(path: Path, delimiter: str) -> list[list[str]]:
    raw = path.read_bytes()
    content = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return list(csv.reader(content.splitlines(), delimiter=delimiter))


@pytest.mark.parametrize("column", ADULT)
def test_adult_hierarchies_read_as_their_rows(shared_data: SharedData, column: str) -> None:
    path = shared_data("adult") / f"adult_hierarchy_{column}.csv"
    with (shared_data("adult") / "adult.csv").open() as file:
        present = {row[column] for row in csv.DictReader(file, delimiter=";")}
    tree = Hierarchy(path=str(path)).bind(sorted(present))
    naive = oracle.Tree(rows_of(path, ";"))
    assert len(tree) == len(naive.leaves) >= len(present)
    assert {x: tree.measure(x) for x in naive.labels} == {x: naive.measure(x) for x in naive.labels}
    for level in range(tree.levels):
        expected = [naive.at_level(leaf, level) for leaf in naive.leaves]
        assert tree.at_level(naive.leaves, level) == expected


def test_whole_ages_find_their_text_in_the_hierarchy(shared_data: SharedData) -> None:
    path = shared_data("adult") / "adult_hierarchy_age.csv"
    ages = list(range(17, 91))
    tree = Hierarchy(path=str(path)).bind(ages)
    assert len(tree) == 100
    assert tree.codes(ages).tolist() == ages
    assert tree.at_level([39, 17], 1) == ["35-39", "15-19"]
    assert tree.lub([36, 39]) == "35-39"
    assert tree.measure("35-39") == 4 / 99
    assert tree.measure("*") == 1


@pytest.fixture(scope="module")
def icd10(shared_data: SharedData) -> Tree:
    path = shared_data("hierarchies") / "icd10cm_leaf_hierarchy.csv.gz"
    codes = ["A00.0", "E11.9", "Z99.89"]
    return Hierarchy(path=str(path), header=True).bind(codes)


def test_icd10_binds_with_all_its_codes(icd10: Tree) -> None:
    assert len(icd10) == 71_932
    assert icd10.levels == 6
    assert icd10.lub(["E11.9", "E11.65"]) == "E11"
    assert icd10.lub(["E11.9", "E10.9"]) == "E08-E13"
    assert icd10.lub(["E11.9", "I10"]) == "*"
    assert icd10.at_level(["E11.9"], 4) == ["E00-E89"]
    assert icd10.label_of_node[icd10.root] == "*"


def test_icd10_counts_the_leaves_of_its_file(icd10: Tree, shared_data: SharedData) -> None:
    rows = rows_of(shared_data("hierarchies") / "icd10cm_leaf_hierarchy.csv.gz", ",")[1:]
    for column in range(1, 5):
        counts: dict[str, int] = {}
        for row in rows:
            counts[row[column]] = counts.get(row[column], 0) + 1
        found = {label: icd10.measure(label) for label in counts}
        assert found == {label: (count - 1) / 71_931 for label, count in counts.items()}


def test_icd10_labels_of_many_groups(icd10: Tree) -> None:
    rng = np.random.default_rng(3)
    low = rng.integers(1, len(icd10) + 1, 20_000)
    high = np.minimum(low + rng.integers(0, 50, low.size), len(icd10))
    nodes = icd10.lub_nodes(low, high)
    assert (icd10.first_leaf[nodes] <= low).all()
    assert (icd10.last_leaf[nodes] >= high).all()
    # Least: no child of the node covers the whole group.
    for node, first, last in zip(nodes[:500].tolist(), low.tolist(), high.tolist(), strict=False):
        children = icd10.child_idx[icd10.child_ptr[node] : icd10.child_ptr[node + 1]]
        covering = (icd10.first_leaf[children] <= first) & (icd10.last_leaf[children] >= last)
        assert not covering.any()


def test_icd9_binds(shared_data: SharedData) -> None:
    path = shared_data("hierarchies") / "icd9cm_leaf_hierarchy.csv.gz"
    tree = Hierarchy(path=str(path), header=True).bind(["001.0"])
    assert len(tree) == 14_567
    assert tree.lub(["001.0", "001.9"]) == "001"


def test_zip_codes_by_prefix_and_by_state(shared_data: SharedData) -> None:
    rows = rows_of(shared_data("hierarchies") / "us_zip.csv.gz", ",")[1:]
    codes = sorted(row[0] for row in rows)
    tree = Prefix(lengths=[5, 3, 2]).bind(codes)
    assert (len(tree), tree.levels) == (41_749, 4)
    assert tree.at_level(["02139"], 1) == ["021**"]
    inside = sum(code.startswith("021") for code in codes)
    assert tree.measure("021**") == (inside - 1) / 41_748
    by_state = Hierarchy(levels=[(*(row[i] for i in (0, 3, 4, 5)), "*") for row in rows])
    assert by_state.bind(codes).lub(["02139", "10001"]) == "Northeast"
    # Some three-digit areas lie in two states, so this is no tree.
    with pytest.raises(ValueError, match=r"row [0-9]+: .* goes to .* but in row [0-9]+ to"):
        Hierarchy(levels=[(row[0], row[1], row[3], "*") for row in rows]).bind(codes)
