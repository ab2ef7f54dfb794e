"""Trees as plans declare them."""

from __future__ import annotations

import datetime as dt
import gzip
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import code
from sfumato.data.table import table
from sfumato.errors import ParameterError, SchemaError
from sfumato.poset.bound import MOST_FAULTS, Faults
from sfumato.poset.interval import Interval
from sfumato.poset.trees.bins import Bins
from sfumato.poset.trees.dates import DateTree
from sfumato.poset.trees.grow import balance_ordered, balance_unordered
from sfumato.poset.trees.orders import OrderTree, Priority
from sfumato.poset.trees.redaction import Redaction
from sfumato.poset.trees.sources import Balanced, Hierarchy, Prefix
from sfumato.poset.trees.tree import Tree
from sfumato.poset.valueset import ValueSet
from sfumato.protocols import PosetSource
from tests.oracle.poset import lightest_cut, lightest_split, nested

SOURCES: list[type[PosetSource]] = [
    *(Interval, ValueSet, Hierarchy, Prefix, Bins, Balanced, DateTree, Redaction, OrderTree),
    Priority,
]
ROWS = [["39", "30-39", "*"], ["40", "40-49", "*"], ["41", "40-49", "*"]]


def levels_of(tree: Tree, values: list[Any]) -> list[list[str]]:
    return [tree.at_level(values, level) for level in range(tree.levels)]


@pytest.mark.parametrize("source", SOURCES)
def test_every_parameter_is_described(source: type[PosetSource]) -> None:
    assert source.name
    assert (source.__doc__ or "").split("\n")[0].endswith(".")
    for name, field in source.model_fields.items():
        assert field.description, f"{source.name}.{name}"


@pytest.mark.parametrize(
    "declared",
    [
        Hierarchy(path="a.csv", header=True),
        Hierarchy(levels=ROWS),
        Prefix(lengths=[5, 3], pad=""),
        Bins(edges=[0, 2.5]),
        Bins(edges=[[dt.date(2020, 1, 1), dt.date(2021, 1, 1)], [dt.date(2020, 1, 1)]]),
        Bins(width=5, fanouts=[2, 2], low=0, high=90, pattern="{low}-{high}"),
        Bins(width=2.5, origin=dt.date(2020, 1, 1)),
        Balanced(fanout=3, levels=4, ordered=False),
        DateTree(levels=["week", "iso-year"]),
        Redaction(hidden=[1, 3], length=6, side="left", align="right", character="#", pad="."),
        OrderTree(order=[1, 2, 3], groups=[[2, 1], 2], names=[["low", "high"], []]),
        Priority(levels=5, first="frequent", other="*"),
        ValueSet(),
    ],
)
def test_declarations_survive_a_plan_file(declared: PosetSource) -> None:
    assert type(declared).build(declared.parameters()) == declared


class TestHierarchy:
    @pytest.mark.parametrize(
        "values", [["39", "41"], [39, 41], [39.0, 41.0], list(np.array([39, 41])), ["41"]]
    )
    def test_values_of_any_kind_find_their_text(self, values: list[Any]) -> None:
        tree = Hierarchy(levels=ROWS).bind(values)
        assert tree.at_level(values, 1) == ["30-39", "40-49"][-len(values) :]
        assert len(tree) == 3

    def test_numbers_may_be_spelt_otherwise(self) -> None:
        tree = Hierarchy(levels=[["007", "low", "*"], ["8.0", "low", "*"], ["9.50", "high", "*"]])
        assert tree.bind([7, 8, 9.5]).at_level([7, 8, 9.5], 1) == ["low", "low", "high"]
        twice = Hierarchy(levels=[["7.0", "a", "*"], ["7.00", "b", "*"]])
        with pytest.raises(ValueError, match='value "7" is not in'):
            twice.bind([7])

    def test_booleans_and_dates(self) -> None:
        tree = Hierarchy(levels=[["True", "*"], ["False", "*"]])
        assert tree.bind(["true", "false"]).codes(["true", "false"]).tolist() == [1, 2]
        days = Hierarchy(levels=[["2020-01-31", "2020", "*"], ["2021-01-31", "2021", "*"]])
        assert days.bind([dt.date(2020, 1, 31)]).at_level([dt.date(2021, 1, 31)], 1) == ["2021"]
        assert days.bind([dt.datetime(2020, 1, 31)]).codes([dt.datetime(2020, 1, 31)]) == [1]

    def test_rows_in_a_plan_may_hold_numbers(self) -> None:
        assert Hierarchy.build({"levels": [[1, "odd", "*"], [2, "even", "*"]]}).bind([1, 2])

    def test_a_missing_value_is_named(self) -> None:
        with pytest.raises(ValueError, match=r'value "50" is not in the hierarchy .* -> add'):
            Hierarchy(levels=ROWS).bind([39, 50])

    def test_everything_that_is_wrong_is_named_at_once(self) -> None:
        rows = [["39", "30-39", "*"], ["40"], ["41", "40-49", "*"], ["41", "old", "*"], ["42", ""]]
        with pytest.raises(Faults) as caught:
            Hierarchy(levels=rows).bind([39, 40, 41, 50, 51])
        name = "the hierarchy in `levels`"
        assert [fault.partition(" -> ")[0] for fault in caught.value.faults] == [
            f'{name}, row 2: "40" has no ancestor',
            f'{name}, row 4: "41" goes to "old", but in row 3 to "40-49"',
            f"{name}, row 5: column 2 is empty",
            f'value "50" is not in {name}',
            f'value "51" is not in {name}',
        ]
        assert pickle.loads(pickle.dumps(caught.value)).faults == caught.value.faults

    def test_faults_are_named_up_to_a_number(self) -> None:
        with pytest.raises(Faults) as caught:
            Hierarchy(levels=ROWS).bind(list(range(100, 150)))
        assert len(caught.value.faults) == MOST_FAULTS + 1
        assert caught.value.faults[-1].startswith(f"{50 - MOST_FAULTS} more values are not in")
        with pytest.raises(Faults) as caught:
            Hierarchy(levels=[["a"]] * 40).bind([])
        assert len(caught.value.faults) == MOST_FAULTS + 1
        assert "28 more faults" in caught.value.faults[-1]

    def test_a_table_lists_the_faults_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "tree.csv"
        path.write_text("a;X;*\nb;;*\nc;Y;*\nc;X;*\n", encoding="utf-8")
        people = table({"x": ["a", "c", "d"]}, posets={"x": Hierarchy(path=str(path))})
        with pytest.raises(SchemaError) as caught:
            code(people, "x")
        told = [str(one) for one in caught.value.complaints]
        assert [one[:40] for one in told] == [
            "x: the hierarchy tree.csv, row 2: column",
            'x: the hierarchy tree.csv, row 4: "c" go',
            'x: value "d" is not in the hierarchy tre',
        ]

    def test_exactly_one_origin(self) -> None:
        for given_parameters in ({}, {"path": "x.csv", "levels": ROWS}):
            with pytest.raises(ParameterError, match="either `path`"):
                Hierarchy.build(given_parameters)

    @pytest.mark.parametrize("delimiter", [";", ",", "\t"])
    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    @pytest.mark.parametrize("compressed", [False, True])
    def test_files(self, tmp_path: Path, delimiter: str, ending: str, compressed: bool) -> None:
        path = tmp_path / "tree.csv"
        rows = [*ROWS[:-1], ['"a; b, c\td"', "40-49", "*"]]
        content = "\ufeff" + "".join(delimiter.join(row) + ending for row in rows)
        raw = content.encode()
        path.write_bytes(gzip.compress(raw) if compressed else raw)
        tree = Hierarchy(path=str(path)).bind([39, 40, "a; b, c\td"])
        assert tree.lub([40, "a; b, c\td"]) == "40-49"

    def test_short_rows_and_a_header(self, tmp_path: Path) -> None:
        path = tmp_path / "tree.csv"
        path.write_text("value;group;all\nBonn;Germany;*\nMars;*;\n", encoding="utf-8")
        tree = Hierarchy(path=str(path), header=True).bind([])
        assert tree.at_level(["Bonn", "Mars"], 1) == ["Germany", "*"]
        with pytest.raises(ValueError, match=r'tree.csv: row 1 ends in "all".*header = true'):
            Hierarchy(path=str(path)).bind([])

    def test_a_changed_file_is_read_again(self, tmp_path: Path) -> None:
        path = tmp_path / "tree.csv"
        path.write_text("a;X;*\nb;X;*\n", encoding="utf-8")
        source = Hierarchy(path=str(path))
        first = source.bind(["a"])
        assert source.bind(["b"]) is first
        path.write_text("a;Y;*\nb;Y;*\nc;Y;*\n", encoding="utf-8")
        assert source.bind(["c"]).lub(["a", "b"]) == "Y"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "tree.csv has no rows -> give one row for each value"),
            (b"\n\n", "tree.csv has no rows -> "),
            (b"a\nb\n", "tree.csv has one column only -> "),
            (b"a;X;*\nb;Y;*\nb;X;*\n", 'tree.csv, row 3: "b" goes to "X", but in row 2 to "Y" -> '),
            (b"a;X;*\n\nb;X;*\n", "tree.csv, row 2: it is empty -> "),
            (b"a;X;*\nb;;*\n", "tree.csv, row 2: column 2 is empty -> "),
            (b"a;X;*\nb\xff;X;*\n", "tree.csv, row 2: it is not UTF-8 -> save it as UTF-8"),
            (b'a;X;*\n"b;X;*\n', "tree.csv, row 2: .* -> mend its quotation marks"),
            (b"a;X\nb;Y\n", 'tree.csv: row 1 ends in "X" and row 2 in "Y" -> '),
            (
                gzip.compress(b"a;X;*\n" * 9, mtime=0)[:-9],
                "tree.csv cannot be read .* -> mend `path`",
            ),
            (b"\x1f\x8b\x08broken", "tree.csv cannot be read .* -> mend `path`"),
        ],
    )
    def test_malformed_files(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "tree.csv"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Hierarchy(path=str(path)).bind([])

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"none.csv: No such file or directory -> mend `path`"):
            Hierarchy(path=str(tmp_path / "none.csv")).bind([])
        with pytest.raises(ValueError, match="cannot be read"):
            Hierarchy(path=str(tmp_path)).bind([])

    @given(st.text(st.sampled_from('ab*;,\t"\n\r\\é'), max_size=40))
    def test_any_text_is_a_tree_or_a_named_error(self, content: str) -> None:
        from sfumato.poset.files.hierarchies import read_rows
        from sfumato.poset.trees.grow import nodes_from_rows

        try:
            rows = read_rows(content, "the file")
            tree = Tree(nodes_from_rows(rows, "the file"), "the file")
        except ValueError as error:
            assert str(error).startswith("the file")
            assert " -> " in str(error)
        else:
            assert len(tree) == len({row[0] for row in rows})


class TestPrefix:
    def test_codes_of_one_length_keep_it(self) -> None:
        values = ["02138", "02139", "02446", "10001"]
        tree = Prefix(lengths=[5, 3, 2]).bind(values)
        assert levels_of(tree, values) == [
            values,
            ["021**", "021**", "024**", "100**"],
            ["02***", "02***", "02***", "10***"],
            ["*"] * 4,
        ]
        assert tree.measure("02***") == pytest.approx(2 / 3)

    def test_codes_of_many_lengths(self) -> None:
        values = ["E10.1", "E11", "E11.65", "E11.9", "I10"]
        tree = Prefix(lengths=[3, 1]).bind(values)
        assert levels_of(tree, values) == [
            values,
            ["E10*", "E11*", "E11*", "E11*", "I10"],
            ["E*", "E*", "E*", "E*", "I*"],
            ["*"] * 5,
        ]
        bare = Prefix(lengths=[3, 1], pad="").bind(values)
        assert levels_of(bare, values)[1] == ["E10", "E11", "E11", "E11", "I10"]
        plain = Prefix(lengths=[3, 1], pad="").bind(["E10.1", "E11.65", "E11.9", "I10"])
        assert plain.at_level(["E11.9", "I10"], 1) == ["E11", "I10"]

    @given(
        st.lists(st.text("ab*1", min_size=1, max_size=5), min_size=1, max_size=8, unique=True),
        st.sets(st.integers(1, 5), min_size=1),
    )
    def test_a_level_joins_what_shares_a_prefix(self, values: list[str], lengths: set[int]) -> None:
        values.sort()
        longest = max(map(len, values))
        declared = sorted((n for n in lengths if n <= longest), reverse=True) or [longest]
        try:
            tree = Prefix(lengths=declared).bind(values)
        except ValueError as error:
            assert "*" in "".join(values)
            assert " -> " in str(error)
            return
        columns = levels_of(tree, values)
        assert nested(columns)
        for column, length in zip(columns[1:], [n for n in declared if n < longest], strict=False):
            for a, one in zip(values, column, strict=True):
                for b, other in zip(values, column, strict=True):
                    if a[:length] == b[:length]:
                        assert one == other
                    elif "*" not in a + b:
                        assert one != other

    def test_numbers_are_read_as_text(self) -> None:
        assert Prefix(lengths=[4, 2]).bind([1010, 1230, 2000]).lub([1010, 1230]) == "*"
        assert Prefix(lengths=[4, 1]).bind([1010, 1230, 2000]).lub([1010, 1230]) == "1***"

    def test_lengths_that_do_not_fit(self) -> None:
        with pytest.raises(
            ValueError, match=r"no value has 5 .* the longest has 4 -> lengths = \[4, 3, 2\]"
        ):
            Prefix(lengths=[5, 3, 2]).bind(["1010", "1230"])
        with pytest.raises(ValueError, match="empty text"):
            Prefix(lengths=[1]).bind(["", "ab"])
        for wrong in ([], [3, 3], [2, 3], [3, 0]):
            with pytest.raises(ParameterError, match="lengths"):
                Prefix.build({"lengths": wrong})
        with pytest.raises(ParameterError, match="pad"):
            Prefix.build({"lengths": [3], "pad": "**"})

    def test_an_empty_column_has_all_levels(self) -> None:
        tree = Prefix(lengths=[5, 3, 2]).bind([])
        assert (len(tree), tree.levels, tree.measure("*")) == (0, 4, 1)
        assert tree.at_level([], 2) == []
        assert tree.labels(np.array([]), np.array([])) == []


class TestBins:
    def test_whole_numbers(self) -> None:
        ages = [3, 19, 20, 38, 59, 80, 93]
        tree = Bins(edges=[[10, 20, 40, 60, 80], [40, 80]]).bind(ages)
        assert levels_of(tree, ages) == [
            list(map(str, ages)),
            ["<10", "[10, 19]", "[20, 39]", "[20, 39]", "[40, 59]", ">=80", ">=80"],
            ["<40", "<40", "<40", "<40", "[40, 79]", ">=80", ">=80"],
            ["*"] * 7,
        ]

    def test_real_numbers(self) -> None:
        values = [0.5, 1.0, 1.999, 2.0]
        tree = Bins(edges=[1, 2]).bind(values)
        assert tree.at_level(values, 1) == ["<1", "[1, 2)", "[1, 2)", ">=2"]

    def test_dates_and_times(self) -> None:
        edges = [dt.date(2020, 1, 1), dt.date(2020, 4, 1)]
        days = [dt.date(2020, 3, 31), dt.date(2020, 4, 1)]
        assert Bins(edges=edges).bind(days).at_level(days, 1) == [
            "[2020-01-01, 2020-03-31]",
            ">=2020-04-01",
        ]
        moments = [dt.datetime(2020, 3, 31), dt.datetime(2020, 3, 31, 12)]
        found = Bins(edges=edges).bind(moments).at_level(moments, 1)
        assert found == ["[2020-01-01T00:00:00, 2020-03-31T23:59:59.999999]"] * 2

    def test_a_bin_of_one_whole_number_is_that_number(self) -> None:
        tree = Bins(edges=[0, 1, 2, 10]).bind([0, 1, 5])
        assert tree.at_level([0, 1, 5], 1) == ["0", "1", "[2, 9]"]

    @given(
        st.lists(st.integers(-9, 9), min_size=1, unique=True).map(sorted),
        st.lists(st.integers(-9, 9), min_size=1, max_size=5, unique=True).map(sorted),
    )
    def test_values_are_in_the_bin_that_is_written(
        self, values: list[int], edges: list[int]
    ) -> None:
        tree = Bins(edges=edges).bind(values)
        interval = Interval().bind(values)
        labels = tree.at_level(values, 1)
        assert nested([*levels_of(tree, values)])
        for value, label in zip(values, labels, strict=True):
            for other in values:
                same = sum(e <= value for e in edges) == sum(e <= other for e in edges)
                assert interval.leq(other, label) == same

    @pytest.mark.parametrize(
        "edges", [[], [[]], [3, 2], [1, 1], [[1, 2], [3]], [1, dt.date(2020, 1, 1)], ["a"]]
    )
    def test_edges_that_make_no_bins(self, edges: Any) -> None:
        with pytest.raises(ParameterError, match="edges"):
            Bins.build({"edges": edges})

    def test_edges_of_another_kind(self) -> None:
        with pytest.raises(ValueError, match="edges: '1' is not a date -> give them as"):
            Bins(edges=[1]).bind([dt.date(2020, 1, 1)])
        with pytest.raises(ValueError, match="no place on a scale"):
            Bins(edges=[1]).bind(["a"])
        assert Bins(edges=[1]).bind([]).levels == 3


counted = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)


class TestBalanced:
    @given(counted, st.data())
    def test_neighbours_are_shared_out_evenly(self, counts: list[int], data: st.DataObject) -> None:
        groups = data.draw(st.integers(1, len(counts)))
        found = balance_ordered(np.array(counts), groups)
        assert np.unique(found).tolist() == list(range(groups))
        assert (np.diff(found) >= 0).all()
        heaviest = int(np.bincount(found, weights=counts).max())
        assert lightest_cut(counts, groups) <= heaviest <= sum(counts) / groups + max(counts)

    @given(counted, st.data())
    def test_categories_are_shared_out_evenly(self, counts: list[int], data: st.DataObject) -> None:
        groups = data.draw(st.integers(1, min(len(counts), 3)))
        found = balance_unordered(np.array(counts), groups)
        assert list(dict.fromkeys(found.tolist())) == list(range(groups))
        heaviest = int(np.bincount(found, weights=counts).max())
        # Zero counts may not all share one group, so the best split is of the others alone.
        present = [count for count in counts if count]
        best = lightest_split(present, min(groups, len(present)))
        assert best <= heaviest <= best * 4 / 3

    @given(
        st.lists(st.integers(0, 99), min_size=1, max_size=20, unique=True).map(sorted),
        st.integers(2, 4),
        st.one_of(st.none(), st.integers(2, 5)),
        st.booleans(),
        st.data(),
    )
    def test_levels_are_nested_and_few(
        self, values: list[int], fanout: int, most: int | None, ordered: bool, data: st.DataObject
    ) -> None:
        counts = np.array(
            data.draw(st.lists(st.integers(0, 9), min_size=len(values), max_size=len(values)))
        )
        tree = Balanced(fanout=fanout, levels=most, ordered=ordered).bind(values, counts)
        columns = levels_of(tree, values)
        assert columns[0] == list(map(str, values))
        assert set(columns[-1]) == {"*"}
        assert nested(columns)
        sizes = [len(set(column)) for column in columns]
        assert sizes == sorted(sizes, reverse=True)
        if most is None:
            assert all(-(-a // fanout) == b for a, b in pairwise(sizes))
        else:
            assert 2 <= tree.levels <= most
        covering: Any = Interval() if ordered else ValueSet()
        covering = covering.bind(values)
        for column in columns:
            for value, label in zip(values, column, strict=True):
                assert covering.leq(value, label)
                if ordered and label != "*":
                    inside = [v for v in values if covering.leq(v, label)]
                    assert [column[values.index(v)] for v in inside] == [label] * len(inside)

    def test_frequent_values_stay_apart(self) -> None:
        tree = Balanced().bind(["a", "b", "c", "d", "e"], np.array([100, 1, 90, 1, 1]))
        assert tree.at_level(list("abcde"), 1) == ["a", "{b, d, e}", "c", "{b, d, e}", "{b, d, e}"]

    def test_values_that_look_like_labels_stay_apart(self) -> None:
        values = ["*", "a", "b", "{a, b}"]
        tree = Balanced(ordered=True).bind(values, np.array([1, 1, 1, 1]))
        assert tree.codes(values).tolist() == [1, 2, 3, 4]
        assert tree.at_level(values, 0) == ['{"*"}', "a", "b", '{"{a, b}"}']
        assert tree.measure("*") == 1

    def test_dates_and_times_are_ordered(self) -> None:
        days = [dt.date(2020, 1, d) for d in (1, 5, 9, 13)]
        tree = Balanced().bind(days, np.ones(4, dtype=int))
        assert tree.at_level(days[:1], 1) == ["[2020-01-01, 2020-01-05]"]
        moments = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 6), dt.datetime(2020, 1, 2)]
        tree = Balanced().bind(moments, np.ones(3, dtype=int))
        assert tree.codes(moments).tolist() == [1, 2, 3]
        assert tree.label_of_node[tree.leaf_nodes[1]] == "2020-01-01T00:00:00"

    def test_the_data_are_needed(self) -> None:
        with pytest.raises(ValueError, match="how often"):
            Balanced().bind([1, 2])
        with pytest.raises(ValueError, match="3 counts do not fit 2 values"):
            Balanced().bind([1, 2], np.array([1, 2, 3]))
        with pytest.raises(ValueError, match="less than never"):
            Balanced().bind([1, 2], np.array([1, -2]))
        with pytest.raises(ValueError, match="in their order"):
            Balanced().bind([2, 1], np.array([1, 2]))

    def test_empty_and_constant_columns(self) -> None:
        assert len(Balanced().bind([], np.array([], dtype=int))) == 0
        one = Balanced().bind(["a"], np.array([5]))
        assert levels_of(one, ["a"]) == [["a"], ["*"]]
        assert [one.measure("a"), one.measure("*")] == [0, 1]
        assert Balanced().bind([1, 2], np.array([0, 0])).levels == 2
