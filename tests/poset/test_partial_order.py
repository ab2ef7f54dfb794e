"""Partial orders against their parents read by brute force."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.errors import SchemaError
from sfumato.kernels.joins import lub
from sfumato.kernels.joins.ancestors import all_pairs
from sfumato.kernels.joins.lub import cell_cost, join
from sfumato.poset.partial_order import PartialOrder, PartialOrderPoset
from tests.oracle import poset_orders as oracle
from tests.poset.searched import check_joins, check_release, one_column

Parents = dict[str, tuple[str, ...]]
SharedData = Callable[[str], Path]

CITY: Parents = {
    "02139": ("0213", "Cambridge"),
    "02138": ("0213", "Cambridge"),
    "02141": ("0214", "Cambridge"),
    "02134": ("0213", "Boston"),
    "0213": ("021",),
    "0214": ("021",),
    "Cambridge": ("MA",),
    "Boston": ("MA",),
}


@st.composite
def orders(draw: st.DrawFn) -> Parents:
    """Any acyclic parents: a node's are among those that come later."""
    size = draw(st.integers(2, 9))
    names = draw(st.permutations([f"n{i}" for i in range(size)]))
    out: Parents = {}
    for i, name in enumerate(names[:-1]):
        later = st.lists(st.sampled_from(names[i + 1 :]), max_size=3, unique=True)
        out[name] = tuple(draw(later))
    return dict(draw(st.permutations(list(out.items()))))


def bound(parents: Parents) -> tuple[PartialOrderPoset, oracle.Order]:
    naive = oracle.Order(parents)
    return PartialOrder(parents=parents).bind(naive.leaves), naive


@given(orders())
def test_order_measure_and_height_are_those_of_the_parents(parents: Parents) -> None:
    poset, naive = bound(parents)
    assert sorted(poset.order.labels) == sorted(naive.labels)
    for a in naive.labels:
        assert poset.measure(a) == naive.measure(a)
        assert poset.height(a) == naive.height(a)
        for b in naive.labels:
            assert poset.leq(a, b) == naive.leq(a, b)


@given(orders())
def test_measures_are_monotone_and_transitive(parents: Parents) -> None:
    """Along every way up, ncp never falls and the height always rises."""
    poset, naive = bound(parents)
    for a in naive.labels:
        for b in naive.labels:
            if a != b and poset.leq(a, b):
                assert not poset.leq(b, a)
                assert poset.measure(a) <= poset.measure(b) <= poset.measure("*") == 1
                assert poset.height(a) < poset.height(b)
            for c in naive.labels:
                assert not (poset.leq(a, b) and poset.leq(b, c)) or poset.leq(a, c)
    for by in ("ncp", "height"):
        costs = poset.node_costs(by)
        assert costs.min() >= 0
        assert costs.max() == costs[-1] == 1 or len(costs) == 1


@given(orders(), st.data())
def test_least_upper_bounds_are_those_of_definition_3(
    parents: Parents, data: st.DataObject
) -> None:
    poset, naive = bound(parents)
    chosen = data.draw(st.lists(st.sampled_from(naive.labels), min_size=1, max_size=4))
    expected = naive.lub_set(chosen)
    found = poset.lub_set(chosen)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert poset.lub(chosen) == found[0] == min(found, key=naive.height)


@given(orders(), st.data())
def test_groups_have_the_bound_of_the_whole_group(parents: Parents, data: st.DataObject) -> None:
    poset, naive = bound(parents)
    leaf_of = dict(zip(poset.codes(naive.leaves).tolist(), naive.leaves, strict=True))
    assert sorted(leaf_of) == list(range(1, len(naive.leaves) + 1))
    sets = st.lists(st.sampled_from(sorted(leaf_of)), min_size=1, unique=True).map(sorted)
    groups = data.draw(st.lists(sets, min_size=1, max_size=4))
    starts = np.cumsum([0, *map(len, groups)])
    labels = poset.set_labels(starts, np.concatenate(groups))
    assert labels == [poset.lub(leaf_of[c] for c in group) for group in groups]
    assert poset.labels(np.array([1]), np.array([len(leaf_of)])) == [poset.lub(naive.leaves)]


@given(orders())
def test_searches_join_and_pay_as_the_poset_does(parents: Parents) -> None:
    naive = oracle.Order(parents)
    inner = [label for label in naive.labels if naive.parents[label]][:2]
    check_joins(PartialOrder(parents=parents), [*naive.leaves, *inner, None])


@given(orders())
def test_the_table_of_pairs_holds_the_bounds(parents: Parents) -> None:
    poset, _ = bound(parents)
    labels = poset.label_of_node
    table = all_pairs(poset.ancestor_ptr, poset.ancestor_idx)
    for i, a in enumerate(labels):
        for j, b in enumerate(labels):
            assert labels[table[i, j]] == poset.lub([a, b])
    ptr, idx = poset.ancestor_ptr, poset.ancestor_idx
    for i, a in enumerate(labels):
        above = [labels[node] for node in idx[ptr[i] : ptr[i + 1]].tolist()]
        assert sorted(above) == sorted(b for b in labels if poset.leq(a, b))


def test_pair_by_pair_may_end_above_the_bound_of_the_whole() -> None:
    """a and b meet in x, which has no other way to c than the top; all three meet in y."""
    parents = {"a": ("x", "y"), "b": ("x", "y"), "c": ("y",), "d": ("*",)}
    poset = PartialOrder(parents=parents).bind(["a", "b", "c", "d"])
    assert poset.lub(["a", "b", "c"]) == "y"
    assert poset.lub([poset.lub(["a", "b"]), "c"]) == "*"
    check_release(PartialOrder(parents=parents), ["a", "b", "c", "d"] * 2, k=3)


def test_several_tops_are_joined_and_one_top_keeps_its_name() -> None:
    assert PartialOrder(parents=CITY).bind(["02139"]).lub(["021", "MA"]) == "*"
    world = PartialOrder(parents={"Bonn": "Germany", "Nice": "France", "Germany": "World",
                                  "France": "World"}).bind(["Bonn", "Nice"])  # fmt: skip
    assert world.lub(["Bonn", "Nice"]) == "World"
    assert world.leq("World", "*")
    assert world.measure("*") == 1
    assert world.lub(["*", "Bonn"]) == "World"


def test_declared_values_decide_which_bound_is_least() -> None:
    costs = {"0213": 3, "0214": 3, "021": 4, "Cambridge": 1, "Boston": 1, "MA": 5, "*": 6}
    city = PartialOrder(parents=CITY, values=costs).bind(["02139", "02134", "02138"])
    assert city.lub(["02139", "02138"]) == "Cambridge"
    assert city.lub(["02139", "02134"]) == "0213"
    assert city.measure("0213") == 0.5
    assert city.node_costs("height").tolist() == city.node_costs("ncp").tolist()
    check_release(PartialOrder(parents=CITY, values=costs), ["02139", "02134", "02141"] * 3)


FALLING = {
    "02139": -0.4, "02138": 0, "02134": -0.9, "02141": -0.2, "0213": -0.5, "0214": -0.8,
    "021": -0.1, "Cambridge": -0.7, "Boston": -0.3, "MA": -0.6, "*": 0,
}  # fmt: skip


def test_values_that_fall_upwards_are_kept_as_they_are() -> None:
    """Value-MI: a group may tell more than its values, and everything is below 0."""
    names = ["02139", "02138", "02134", "02141"]
    city = PartialOrder(parents=CITY, values=FALLING).bind(names)
    assert not city.order.rising
    assert PartialOrder(parents=CITY).bind(names).order.rising
    for label, value in FALLING.items():
        assert city.measure(label) == pytest.approx((value + 0.9) / 0.9)
    # A value is its own least upper bound, though groups above it cost less.
    assert all(city.lub([name, name]) == name for name in names)
    # Of two that are equally low, the one that costs less.
    assert city.lub(["02139", "02138"]) == "Cambridge"
    assert city.lub_set(["02139", "02138"]) == ("Cambridge",)
    assert city.lub(["02139", "02134"]) == "0213"
    assert city.lub(["02139", "02141"]) == "Cambridge"
    above = [city.order.above(node) for node in range(len(city.order))]
    assert all(found[0] == node for node, found in enumerate(above))
    check_release(PartialOrder(parents=CITY, values=FALLING), names * 3)
    huge = {**FALLING, "021": -1e308, "MA": 1e308}
    assert PartialOrder(parents=CITY, values=huge).bind(names).measure("MA") == 1


@pytest.mark.parametrize(
    ("parents", "values", "says"),
    [
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, {}, '"a" -> "b" -> "c" -> "a"'),
        ({"a": ["a"]}, {}, '"a" -> "a"'),
        ({"a": ["*"], "*": ["b"]}, {}, "stands below"),
        ({"a": ["b"], "b": ["c"]}, {"b": -2, "c": -1}, '"a" has no value'),
        ({"a": ["b"], "b": ["c"]}, {"b": 2}, '"c" has no value'),
        ({"a": ["b"]}, {"b": 2, "x": 1}, 'names "x"'),
        ({"a": [""]}, {}, "empty label"),
    ],
)
def test_what_is_no_order_is_refused(
    parents: dict[str, list[str]], values: dict[str, float], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        PartialOrder(parents=parents, values=values).bind(["a"])


def test_unknown_values_are_named() -> None:
    with pytest.raises(ValueError, match=r'"02193" is not in .* did you mean "0213'):
        PartialOrder(parents=CITY).bind(["02193"])
    with pytest.raises(SchemaError, match="x: label"):
        check_release(PartialOrder(parents=CITY), ["02139", "no"])
    with pytest.raises(ValueError, match="below the top"):
        PartialOrder(parents=CITY).bind(["*"])
    with pytest.raises(ValueError, match="among the column's values"):
        PartialOrder(parents=CITY).bind(["02139"]).codes(["02138"])


@pytest.mark.parametrize("packed", [False, True])
def test_files_of_children_and_parents(tmp_path: Path, packed: bool) -> None:
    rows = "\n".join(f"{child};{parent}" for child, found in CITY.items() for parent in found)
    content = f"child;parent\n{rows}\n".encode()
    path = tmp_path / "city.csv"
    path.write_bytes(gzip.compress(content) if packed else content)
    read = PartialOrder(path=str(path), header=True).bind(["02139", "02141"])
    assert read.order.labels == PartialOrder(parents=CITY).bind(["02139"]).order.labels
    assert read.lub(["02139", "02141"]) == "Cambridge"


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mend `path`"):
        PartialOrder(path=str(tmp_path / "no.csv")).bind([])
    path = tmp_path / "rows.csv"
    path.write_text("a;b;c\n")
    with pytest.raises(ValueError, match=r'row 1: it has 3 cells .* kind = "hierarchy"'):
        PartialOrder(path=str(path)).bind(["a"])
    with pytest.raises(ValueError, match="either `path`"):
        PartialOrder()


def test_an_empty_column_binds() -> None:
    poset = PartialOrder(parents=CITY).bind([])
    assert poset.codes([]).size == 0
    assert poset.set_labels(np.array([0]), np.array([], dtype=np.int64)) == []
    assert poset.ancestor_idx.tolist() == [0]


# Real cases


@pytest.fixture(scope="module")
def zips(shared_data: SharedData) -> tuple[PartialOrder, list[list[str]]]:
    """US ZIP codes: each has its first three digits and its county, and counties have states."""
    path = shared_data("hierarchies") / "us_zip.csv.gz"
    rows = list(csv.reader(gzip.decompress(path.read_bytes()).decode().splitlines()))[1:]
    parents: dict[str, list[str]] = {}
    for code, zip3, county, state, division, region in rows:
        place = f"{county}, {state}" if county else state
        parents[code] = [f"{zip3}**", place]
        parents[f"{zip3}**"] = ["*"]
        if county:
            parents[place] = [state]
        parents |= {state: [division], division: [region], region: ["*"]}
    return PartialOrder(parents=parents), rows


@pytest.mark.golden
def test_zip_codes_with_two_ways_up(
    zips: tuple[PartialOrder, list[list[str]]], golden_record: Callable[[str, object, object], None]
) -> None:
    source, rows = zips
    poset = source.bind([row[0] for row in rows])
    golden_record("us_zip: ZIP codes", 41_749, int(poset.order.is_leaf.sum()))
    assert int(poset.order.is_leaf.sum()) == 41_749
    # Cambridge and Somerville share their digits with Boston, and their county with Lowell.
    assert poset.lub(["02139", "02143"]) == "021**"
    assert poset.lub(["02139", "01850"]) == "Middlesex County, MA"
    inside = sum(row[1] == "021" for row in rows)
    county = sum((row[2], row[3]) == ("Middlesex County", "MA") for row in rows)
    assert poset.measure("021**") == (inside - 1) / 41_748
    assert poset.measure("Middlesex County, MA") == (county - 1) / 41_748
    assert inside < county
    # Five areas of three digits lie in two states; in a tree they could have no place.
    states: dict[str, set[str]] = {}
    for row in rows:
        states.setdefault(row[1], set()).add(row[3])
    assert sum(len(found) > 1 for found in states.values()) == 5


def test_all_zip_codes_of_a_state_in_a_search(
    zips: tuple[PartialOrder, list[list[str]]],
) -> None:
    source, rows = zips
    codes = [row[0] for row in rows if row[3] == "VT"]
    made = one_column(source, codes)
    x = Matrix(made, ["x"])
    poset = x.coded(0).poset
    assert isinstance(poset, PartialOrderPoset)
    cells = cell_costs(x)
    rng = np.random.default_rng(3)
    for i, j in rng.integers(0, len(codes), (500, 2)).tolist():
        state = join(cells.joins, 0, int(cells.states[i, 0]), int(cells.states[j, 0]))
        label = poset.lub([codes[i], codes[j]])
        assert poset.label_of_node[state] == label
        assert cell_cost(cells.joins, 0, state) == pytest.approx(poset.measure(label))


@pytest.mark.skipif(not hasattr(lub, "ANCESTORS"), reason="large orders are joined by tables only")
def test_all_zip_codes_in_a_search(zips: tuple[PartialOrder, list[list[str]]]) -> None:
    """45,927 nodes are too many for a table of all pairs; lists of ancestors hold them."""
    source, rows = zips
    codes = [row[0] for row in rows]
    x = Matrix(one_column(source, [*codes, None]), ["x"])
    poset = x.coded(0).poset
    assert isinstance(poset, PartialOrderPoset)
    cells = cell_costs(x)
    states = cells.states[:, 0].tolist()
    rng = np.random.default_rng(3)
    for i, j in rng.integers(0, len(codes), (500, 2)).tolist():
        state = join(cells.joins, 0, states[i], states[j])
        label = poset.lub([codes[i], codes[j]])
        assert poset.label_of_node[state] == label
        assert cell_cost(cells.joins, 0, state) == pytest.approx(poset.measure(label))
    assert cell_cost(cells.joins, 0, states[-1]) == 0
    assert cell_cost(cells.joins, 0, join(cells.joins, 0, states[0], states[-1])) == 1


def test_groups_of_all_zip_codes(zips: tuple[PartialOrder, list[list[str]]]) -> None:
    source, rows = zips
    values = [row[0] for row in rows]
    poset = source.bind(values)
    of_code = dict(zip(poset.codes(values).tolist(), values, strict=True))
    rng = np.random.default_rng(5)
    near = rng.integers(1, len(values) - 30, 2_000)[:, None] + rng.integers(0, 30, (2_000, 4))
    groups = [np.unique(row) for row in near]
    starts = np.cumsum([0, *(g.size for g in groups)])
    labels = poset.set_labels(starts, np.concatenate(groups))
    for group, label in zip(groups[:200], labels, strict=False):
        assert label == poset.lub(of_code[c] for c in group.tolist())
    # Neighbours in code are neighbours on the map, so that most groups stay in one state.
    assert np.mean([poset.measure(label) < 0.05 for label in labels]) > 0.8
