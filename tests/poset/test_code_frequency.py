"""Codes with frequencies, as one value and as ordinary columns."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.ambiguators.greedy import Greedy
from sfumato.anonymity.mondrian import Mondrian
from sfumato.data.codec import Matrix, code
from sfumato.data.generalized.cell_costs import CellCosts, CostRule, cell_costs
from sfumato.data.generalized.information import NodeMatrix, node_information, target_codes
from sfumato.data.generalized.joined_codes import joined_codes
from sfumato.data.table import Table, table
from sfumato.errors import MethodError, SchemaError
from sfumato.kernels.joins.ancestors import all_pairs
from sfumato.kernels.joins.lub import cell_cost, join
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.code_frequency import CodeFrequency, CodeFrequencyPoset, code_counts
from sfumato.poset.trees.sources import Hierarchy
from tests.oracle import poset as oracle
from tests.oracle.information import information_of
from tests.poset.searched import check_joins, check_release, one_column

SharedData = Callable[[str], Path]
ROWS = [
    ["427.89", "427", "*"],
    ["427.31", "427", "*"],
    ["401.9", "401", "*"],
    ["401.1", "401", "*"],
    ["250.0", "250", "*"],
]
OVER = Hierarchy(levels=ROWS)
naive = oracle.Tree(ROWS)
Pairs = dict[str, int]
contents = st.dictionaries(st.sampled_from(naive.leaves), st.integers(1, 4), max_size=3)


def ranked(found: Pairs) -> list[tuple[str, int]]:
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))


def spelt(found: Pairs) -> str:
    return " ".join(f"{code}:{count}" for code, count in found.items())


def naive_lub(group: list[Pairs]) -> list[tuple[str, int, int]]:
    """Place by place, by the definition."""
    out = []
    for at in range(max(map(len, group))):
        here = [ranked(found)[at] for found in group if at < len(found)]
        counts = [count for _, count in here] + [0] * (len(here) < len(group))
        out.append((naive.lub([code for code, _ in here]), min(counts), max(counts)))
    return out


def naive_measure(places: list[tuple[str, int, int]], length: int, most: int) -> float:
    total = sum(naive.measure(code) + (high - low) / most for code, low, high in places)
    return total / 2 / length


def label_of(places: list[tuple[str, int, int]]) -> str:
    parts = [f"{c}:{a}-{b}" if a < b else f"{c}:{a}" for c, a, b in places]
    return " ".join(parts) or "{}"


@given(st.lists(contents, min_size=1, max_size=5), st.data())
def test_groups_are_joined_place_by_place(given_pairs: list[Pairs], data: st.DataObject) -> None:
    poset = CodeFrequency(over=OVER).bind([spelt(found) for found in given_pairs])
    group = data.draw(st.lists(st.sampled_from(given_pairs), min_size=1, max_size=4))
    label = poset.lub([spelt(found) for found in group])
    expected = naive_lub(group)
    length = max(map(len, given_pairs))
    most = max(chain((1,), *(found.values() for found in given_pairs)))
    cost = naive_measure(expected, max(length, 1), most)
    assert label == (label_of(expected) if cost < 1 else "*")
    assert poset.measure(label) == pytest.approx(cost)
    assert all(poset.leq(spelt(found), label) for found in group)
    codes = np.unique(poset.codes([spelt(found) for found in group]))
    assert poset.set_labels(np.array([0, codes.size]), codes) == [label]


@given(st.lists(st.lists(contents, min_size=1, max_size=3), min_size=3, max_size=3))
def test_laws_of_a_partial_order(three: list[list[Pairs]]) -> None:
    values = [spelt(found) for group in three for found in group]
    poset = CodeFrequency(over=OVER).bind(values)
    a, b, c = (poset.lub([spelt(found) for found in group]) for group in three)
    assert poset.leq(a, a)
    assert poset.leq(a, "*")
    if poset.leq(a, b) and poset.leq(b, c):
        assert poset.leq(a, c)
    if poset.leq(a, b):
        assert poset.measure(a) <= poset.measure(b) <= poset.measure("*") == 1
        assert poset.height(a) <= poset.height(b) <= poset.height("*")
    joined = poset.lub([a, b])
    assert poset.leq(a, joined)
    assert poset.leq(b, joined)
    if poset.leq(a, c) and poset.leq(b, c):
        assert poset.leq(joined, c)


@given(st.lists(contents, min_size=1, max_size=4))
def test_searches_join_and_pay_as_the_poset_does(given_pairs: list[Pairs]) -> None:
    values = [spelt(found) for found in given_pairs]
    check_joins(CodeFrequency(over=OVER), [*values, None], kind="nominal")


def test_a_release_of_codes() -> None:
    values = ["427.89:10 401.9:3", "427.31:8", "401.1", "401.9 401.9", "250.0:2", ""]
    masked = check_release(CodeFrequency(over=OVER), values, kind="nominal")
    assert masked["x"].dtype == pl.String
    lists = [["427.89", "427.89"], ["427.89:2"], ["401.1"], ["401.9"]]
    assert set(check_release(CodeFrequency(over=OVER), lists)["x"]) == {"427.89:2", "401:1"}


@given(st.dictionaries(st.text(min_size=1).filter(lambda t: t != "*"), st.integers(1, 9)))
def test_any_code_reads_back(found: Pairs) -> None:
    poset = CodeFrequency(over="suppression").bind([found])
    assert isinstance(poset, CodeFrequencyPoset)
    label = poset.lub([found])
    assert poset.leq(found, label)
    assert poset.leq(label, found)


def test_values_in_other_spellings() -> None:
    same = [{"a": 2, "b": 1}, ["a", "a", "b"], "b a:2", "['a', 'b', 'a']", ["a:2", "b"]]
    assert all(code_counts(value) == {"a": 2, "b": 1} for value in same)
    for bad in ("a:1-3", ["a:1-3"]):
        with pytest.raises(ValueError, match="made of codes and frequencies"):
            code_counts(bad)
    with pytest.raises(ValueError, match='"a b c" has 3 codes, more than the 2 columns'):
        CodeFrequency(over="suppression", columns=2).bind(["a b c"])
    with pytest.raises(ValueError, match="should be a poset"):
        CodeFrequency(over=3)
    with pytest.raises(ValueError, match="among the column's values"):
        CodeFrequency(over="suppression").bind(["a"]).codes(["a:2"])


OTHERS = [
    {"kind": "suppression"},
    {"kind": "value-set"},
    {"kind": "prefix", "lengths": [6, 3], "pad": ""},
    {
        "kind": "partial-order",
        "parents": {"427.89": ["427", "x"], "427.31": "427", "401.9": ["401", "x"],
                    "401.1": "401", "250.0": "*", "427": "*", "401": "*", "x": "*"},
    },
]  # fmt: skip


@pytest.mark.parametrize("over", OTHERS, ids=lambda over: str(over["kind"]))
def test_contents_are_joined_alike_over_any_poset(over: dict[str, object]) -> None:
    rng = np.random.default_rng(2)
    values = [spelt(one) for one in drawn(rng, naive.leaves, 40)]
    rules: list[CostRule] = ["ncp"] if over["kind"] == "value-set" else ["ncp", "height"]
    check_joins(CodeFrequency(over=over), [*values, "", None], kind="nominal", rules=rules)


def drawn(rng: np.random.Generator, codes: Sequence[str], n: int, most: int = 3) -> list[Pairs]:
    sizes = rng.integers(1, most + 1, n).tolist()
    chosen = [rng.choice(list(codes), size, replace=False).tolist() for size in sizes]
    return [{code: int(rng.integers(1, 6)) for code in some} for some in chosen]


@pytest.mark.parametrize("kind", ["prefix", "value-set"])
def test_many_codes_of_a_place(kind: str) -> None:
    """More nodes than a table of all pairs has, and more values than bits: joined all the same."""
    rng = np.random.default_rng(3)
    codes = [f"{letter}{at:02d}" for letter in "ABCDEFG" for at in range(90)]
    over = {"kind": kind, "lengths": [3, 1]} if kind == "prefix" else {"kind": kind}
    values = [spelt(one) for one in drawn(rng, codes, 700, 2)]
    source = CodeFrequency(over=over, columns=4)
    made = one_column(source, [*values, None], "nominal")
    cells = cell_costs(Matrix(made, ["x"]))
    poset = code(made, "x").poset
    # A set of rare codes counts as one more than it has, in either of two places.
    found = {one for value in values for one in code_counts(value)}
    slack = 0.0 if kind == "prefix" else 2 / (len(found) - 1) / 2 / 4
    for a, b in rng.integers(0, 700, (150, 2)).tolist():
        wanted = poset.measure(poset.lub([values[a], values[b]]))
        assert wanted - 1e-12 <= joined_cost(cells, a, b) <= wanted + slack + 1e-12
    assert joined_cost(cells, 0, 700) == pytest.approx(1)
    assert joined_cost(cells, 700, 700) == 0


def joined_cost(cells: CellCosts, a: int, b: int) -> float:
    joins = cells.joins
    both = enumerate(zip(*cells.states[[a, b]].tolist(), strict=True))
    return sum(cell_cost(joins, c, join(joins, c, one, other)) for c, (one, other) in both)


def patients(n: int, seed: int = 1) -> Table:
    """As many contents as records, nearly: their joins are beyond counting."""
    rng = np.random.default_rng(seed)
    codes = [f"{letter}{digit}" for letter in "ABCD" for digit in range(4)]
    over = Hierarchy(levels=[[code, code[0], "*"] for code in codes])
    found = drawn(rng, codes, n)
    high = [any(code[0] == "A" for code in one) or rng.random() < 0.2 for one in found]
    return table(
        {"dx": [spelt(one) for one in found], "high": high},
        posets={"dx": CodeFrequency(over=over)},
        kinds={"dx": "nominal"},
        quasi=["dx"],
        target=["high"],
    )


def test_many_contents_are_joined_exactly() -> None:
    """Beyond 300 joins a search once saw nothing but categories."""
    made = patients(70)
    poset, values = code(made, "dx").poset, made["dx"].to_list()
    found = Greedy(k=2).partition(Matrix(made, ["dx"]), np.random.default_rng(0))
    for own, row in enumerate(found.members.reshape(-1, 2).tolist()):
        others = values[:own] + values[own + 1 :]
        least = min(poset.measure(poset.lub([values[own], other])) for other in others)
        assert own in row
        assert poset.measure(poset.lub([values[i] for i in row])) == pytest.approx(least)


@pytest.mark.parametrize("search", ["greedy", "beam", "k-member", "local-recoding"])
def test_a_search_among_many_contents_sees_what_they_have_in_common(search: str) -> None:
    """Against groups of records as they come, a search that sees the contents loses far less."""
    made = patients(125)
    options = {"local-recoding": {"steps": 2_000}, "k-member": {}}.get(search, {"repair": "k"})
    release = sf.protect(made, sf.method(search, k=3, **options), seed=1, measures=())
    poset = code(made, "dx").poset
    values = made["dx"].to_list()
    blind = np.mean([poset.measure(poset.lub(values[i : i + 3])) for i in range(0, 123, 3)])
    assert sf.measure("ncp", made, release.table).value < 0.6 * blind


@pytest.mark.parametrize("search", ["greedy", "beam", "farthest-pair"])
@pytest.mark.parametrize("n", [20, 125])
def test_what_values_tell_is_asked_place_by_place(search: str, n: int) -> None:
    """Katirai's experiment: diagnoses with frequencies, by what each place tells of the target."""
    made = patients(n)
    options = {} if search == "farthest-pair" else {"repair": "k"}
    chosen = sf.method(search, k=3, measure="value-mi", **options)
    release = sf.protect(made, chosen, seed=1, measures=())
    assert release.table.height == n
    x = Matrix(made, ["dx"])
    parts = NodeMatrix(x, 6)
    first = parts.coded(0)
    told = node_information(first.structure, first.codes, target_codes(made, "high"), 6)
    assert told is not None
    ranks = [ranked(dict(code_counts(value))) for value in made["dx"].to_list()]
    letters = [pairs[0][0][0] for pairs in ranks]
    lub = first.structure.ancestors
    assert lub is not None
    joined = all_pairs(lub.ancestor_ptr, lub.ancestor_idx.astype(np.int32))
    under = [i for i, letter in enumerate(letters) if letter == "A"]
    node = functools.reduce(
        lambda a, b: joined[a, b], [lub.leaf_nodes[first.codes[i]] for i in under]
    )
    classes = [str(value) for value in made["high"].to_list()]
    assert told[node] == pytest.approx(information_of({"A"}, letters, classes, 6), abs=1e-12)


# Ordinary columns


def people() -> tuple[pl.DataFrame, pl.DataFrame]:
    ids = pl.DataFrame({"id": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]})
    codes = ["401.9", "427.89", "427.89", "250.0", "401.9", "401.1", None, "427.31"]
    return ids, pl.DataFrame({"id": [1, 1, 1, 2, 4, 4, 4, 99], "icd": codes})


def test_joined_codes_are_pairs_of_columns() -> None:
    ids, details = people()
    made = table(ids, identifier="id", quasi=["sex"])
    joined = joined_codes(made, details, "id", "icd", poset=OVER)
    assert joined.names == ["id", "sex", "icd_1", "icd_1_count", "icd_2", "icd_2_count"]
    assert joined["icd_1"].to_list() == ["427.89", "250.0", None, "401.1"]
    assert joined["icd_1_count"].to_list() == [2, 1, 0, 1]
    assert joined["icd_2"].to_list() == ["401.9", None, None, "401.9"]
    assert joined.schema.quasi == ["sex", "icd_1", "icd_1_count", "icd_2", "icd_2_count"]
    assert joined.schema["icd_2"].poset == OVER
    counted = details.drop_nulls().group_by("id", "icd").len("n")
    again = joined_codes(made, counted, "id", "icd", count="n", poset=OVER)
    assert again.frame.equals(joined.frame)
    x = Matrix(joined, joined.schema.quasi)
    rng = np.random.default_rng(1)
    masked = Generalize().apply(joined, Mondrian(k=2).partition(x, rng), x.names, rng).table
    assert masked.height == 4


def test_joined_codes_refuse_what_cannot_be_joined() -> None:
    ids, details = people()
    made = table(ids, identifier="id")
    with pytest.raises(MethodError, match="2 different codes in 'icd', more than 1"):
        joined_codes(made, details, "id", "icd", columns=1)
    cut = joined_codes(made, details, "id", "icd", columns=1, beyond="leave out")
    assert cut.names[-1] == "icd_1_count"
    with pytest.raises(SchemaError, match="there is no such column"):
        joined_codes(made, details, "id", "icd10")
    twice = table(pl.concat([ids, ids]), identifier="id")
    with pytest.raises(MethodError, match="names two records"):
        joined_codes(twice, details, "id", "icd")
    with pytest.raises(SchemaError, match="is there already"):
        joined_codes(cut, details, "id", "icd")
    named = details.with_columns(pl.col("id").cast(pl.String) + "x")
    with pytest.raises(SchemaError, match="give both the same type"):
        joined_codes(made, named, "id", "icd")


@pytest.mark.golden
def test_diagnoses_of_icd9(
    shared_data: SharedData, golden_record: Callable[[str, object, object], None]
) -> None:
    path = shared_data("hierarchies") / "icd9cm_leaf_hierarchy.csv.gz"
    over = Hierarchy(path=str(path), header=True)
    poset = CodeFrequency(over=over, columns=39).bind(
        ["427.89:10 401.9:3", "427.31:8 250.00:2", "V10.3"]
    )
    # The thesis' patient with ten cardiac dysrhythmias, 427.89.
    assert poset.lub(["427.89:10"]) == "427.89:10"
    assert poset.lub(["427.89:10 401.9:3", "427.31:8 250.00:2"]) == "427:8-10 *:2-3"
    leaves = len(over.bind([]))
    golden_record("icd9: billable codes", 14_567, leaves)
    assert leaves == 14_567
    rows = [line.split(",") for line in gzip.decompress(path.read_bytes()).decode().split()[1:]]
    below = sum(row[2] == "427" for row in rows)
    expected = ((below - 1) / 14_566 + 2 / 10 + 1 + 1 / 10) / 2 / 39
    assert poset.measure("427:8-10 *:2-3") == pytest.approx(expected)


def test_many_patients_of_icd9_as_columns(shared_data: SharedData) -> None:
    path = shared_data("hierarchies") / "icd9cm_leaf_hierarchy.csv.gz"
    over = Hierarchy(path=str(path), header=True)
    leaves = [
        line.split(",")[0] for line in gzip.decompress(path.read_bytes()).decode().split()[1:]
    ]
    rng = np.random.default_rng(4)
    n = 2_000
    details = pl.DataFrame(
        {"id": rng.integers(0, n, 3 * n), "icd": rng.choice(leaves[2_000:2_300], 3 * n)}
    )
    made = table({"id": list(range(n)), "age": rng.integers(20, 90, n).tolist()}, quasi=["age"])
    joined = joined_codes(made, details, "id", "icd", poset=over)
    x = Matrix(joined, joined.schema.quasi)
    found = Mondrian(k=5).partition(x, rng)
    masked = Generalize().apply(joined, found, x.names, rng).table
    assert found.smallest >= 5
    assert masked["icd_1"].null_count() < joined["icd_1"].null_count() + 1


def test_a_star_is_no_code() -> None:
    for value in ("*", "401.9 *:2", ["*"]):
        with pytest.raises(ValueError, match="means suppressed -> rename it"):
            CodeFrequency(over={"kind": "value-set"}).bind([value, "401.9"])
