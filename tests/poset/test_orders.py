"""Trees by an order of values, and by priority."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import code
from sfumato.data.table import table
from sfumato.errors import ParameterError
from sfumato.poset.trees.orders import OrderTree, Priority
from tests.oracle.poset import nested
from tests.poset.test_sources import levels_of

WORDS = [f"v{i}" for i in range(12)]


class TestOrder:
    def test_sizes_by_hand(self) -> None:
        order = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        tree = OrderTree(order=order, groups=[[3, 2, 4], [2, 1]]).bind(order)
        assert levels_of(tree, order) == [
            order,
            ["a-c"] * 3 + ["d-e"] * 2 + ["f-i"] * 4,
            ["a-e"] * 5 + ["f-i"] * 4,
            ["*"] * 9,
        ]

    def test_codes_follow_the_order_that_is_given(self) -> None:
        tree = OrderTree(order=["low", "mid", "high"], groups=[2]).bind(["high", "low", "mid"])
        assert tree.codes(["low", "mid", "high"]).tolist() == [1, 2, 3]
        assert tree.at_level(["high", "mid"], 1) == ["high", "low-mid"]

    def test_numbers_and_ordinals(self) -> None:
        tree = OrderTree(order=[3, 1, 2], groups=[[2, 1]], pattern="{first} or {last}").bind([1, 2])
        assert tree.at_level([1, 2], 1) == ["3 or 1", "2"]
        people = table(
            {"g": ["c", "a"]},
            kinds={"g": "ordinal"},
            categories={"g": ["a", "b", "c"]},
            posets={"g": {"kind": "order", "order": ["a", "b", "c"], "groups": [2]}},
        )
        assert code(people, "g").poset.lub(["a", "b"]) == "a-b"

    @pytest.mark.parametrize("hidden", [107, 140, 9])
    def test_no_value_of_the_records_is_in_the_label_of_others(self, hidden: int) -> None:
        seen = [*range(18, 80)]
        with pytest.raises(ValueError, match=r'-> order = \["18", .*"79"') as caught:
            OrderTree(groups=[10, 2]).bind([*seen, hidden])
        assert f'"{hidden}"]' in str(caught.value)  # the owner may see it
        tree = OrderTree(order=[*range(150)], groups=[10, 2]).bind(sorted([*seen, hidden]))
        assert tree.at_level([78, 79], 1) == ["70-79"] * 2
        known = OrderTree(order=[*range(150)], groups=[10, 2]).bind(seen)
        assert levels_of(tree, seen) == levels_of(known, seen)

    def test_an_order_that_is_missing_is_listed_in_part(self) -> None:
        with pytest.raises(ValueError, match=r'"99", \.\.\.\], and all others'):
            OrderTree(groups=[10]).bind(range(5000))

    @given(st.integers(0, 12), st.lists(st.integers(2, 4), min_size=1, max_size=3), st.data())
    def test_neighbours_join(self, size: int, fanouts: list[int], data: st.DataObject) -> None:
        values = WORDS[:size]
        groups: list[Any] = list(fanouts)
        left = size
        for level, fanout in enumerate(fanouts):
            if data.draw(st.booleans()) and left:
                cuts = sorted(data.draw(st.sets(st.integers(1, max(left - 1, 1)), max_size=4)))
                ends = [*(c for c in cuts if c < left), left]
                groups[level] = [b - a for a, b in zip([0, *ends], ends, strict=False)]
                left = len(ends)
            else:
                left = -(-left // fanout)
        tree = OrderTree(order=values, groups=groups).bind(values)
        columns = levels_of(tree, values)
        assert nested(columns)
        assert tree.levels == len(groups) + 2
        assert tree.codes(values).tolist() == list(range(1, size + 1))
        if left and values:
            assert len(set(columns[-2])) == left

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ({}, "groups: is needed"),
            ({"groups": []}, "groups"),
            ({"groups": [1]}, "groups"),
            ({"groups": [[0, 2]]}, "groups"),
            ({"order": ["a", "b"], "groups": [[3]]}, "level 1 joins 3 values, but there are 2"),
            ({"order": ["a", "b"], "groups": [2, [2]]}, "joins 2 groups of level 1, but there"),
            ({"order": ["a", "b", "a"], "groups": [2]}, '"a" is there twice'),
            ({"order": ["a", "b"], "groups": [2], "names": [["x", "y"]]}, "1 groups and 2 names"),
            ({"groups": [2, 2], "names": [["x"]]}, "an empty list for a level without names"),
            ({"groups": [2], "pattern": "{first.x}"}, "no placeholder"),
            ({"groups": [2], "pattern": "group"}, "one label to all"),
        ],
    )
    def test_orders_that_do_not_fit(self, words: dict[str, Any], told: str) -> None:
        with pytest.raises(ParameterError) as caught:
            OrderTree.build(words)
        assert told in str(caught.value)

    def test_values_and_names_that_do_not_fit(self) -> None:
        with pytest.raises(ValueError, match=r'"c" \(and 1 more\) is not in `order` -> add'):
            OrderTree(order=["a", "b"], groups=[2]).bind(["a", "c", "d"])
        with pytest.raises(ValueError, match="level 1 joins 3 values, but there are 2"):
            OrderTree(order=["a", "b"], groups=[[2, 1]])
        with pytest.raises(ValueError, match='"a" stands for two groups'):
            OrderTree(order=[*"abc"], groups=[[2, 1]], pattern="{first}").bind([*"abc"])
        with pytest.raises(ValueError, match='"x" stands for two groups'):
            OrderTree(order=[*"abcd"], groups=[[2, 2], 2], names=[["x", "y"], ["x"]]).bind(
                [*"abcd"]
            )
        assert OrderTree(groups=[[2, 1], 2]).bind([]).levels == 4


class TestPriority:
    COUNTS = np.array([9, 50, 1, 20, 2, 40])
    JOBS = ("baker", "clerk", "diver", "farmer", "judge", "nurse")

    def test_the_rare_join_first(self) -> None:
        tree = Priority(levels=4).bind(self.JOBS, self.COUNTS)
        values = list(self.JOBS)
        few, most = "other (2 values)", "other (4 values)"
        assert levels_of(tree, values) == [
            values,
            ["baker", "clerk", few, "farmer", few, "nurse"],
            [most, "clerk", most, most, most, "nurse"],
            ["*"] * 6,
        ]
        assert tree.leq(few, most)
        assert tree.lub(["diver", "judge"]) == few

    def test_the_frequent_first_or_a_given_order(self) -> None:
        tree = Priority(levels=4, first="frequent").bind(self.JOBS, self.COUNTS)
        assert tree.lub(["clerk", "nurse"]) == "other (2 values)"
        given_order = Priority(order=["judge", "diver"], levels=4).bind(self.JOBS)
        labels = given_order.at_level(list(self.JOBS), 2)
        assert labels == ["other (4 values)"] * 2 + ["diver", "other (4 values)", "judge"] + [
            "other (4 values)"
        ]

    def test_those_that_join_may_be_suppressed_at_once(self) -> None:
        tree = Priority(levels=4, other="*").bind(self.JOBS, self.COUNTS)
        assert tree.at_level(["diver", "clerk"], 1) == ["*", "clerk"]
        assert tree.at_level(["baker", "clerk"], 2) == ["*", "clerk"]
        assert tree.lub(["diver", "judge"]) == "*"

    @given(
        st.lists(st.integers(0, 5), max_size=12),
        st.integers(3, 8),
        st.sampled_from(["rare", "frequent"]),
        st.sampled_from(["other {count}", "*"]),
    )
    def test_each_level_joins_more(
        self, counts: list[int], levels: int, first: str, other: str
    ) -> None:
        values = WORDS[: len(counts)]
        source = Priority.build({"levels": levels, "first": first, "other": other})
        tree = source.bind(values, np.array(counts, dtype=np.int64))
        columns = levels_of(tree, values)
        assert len(columns) == levels
        assert nested(columns)
        for step, column in enumerate(columns[1:-1], 1):
            joined = [i for i, label in enumerate(column) if label != values[i]]
            expected = len(values) * step // (levels - 1)
            assert len(joined) == (expected if expected > 1 else 0)
            kept = [i for i in range(len(values)) if i not in joined]
            for one in joined:
                for longer in kept:
                    more = counts[one] - counts[longer]
                    assert (more if first == "rare" else -more) <= 0

    def test_what_makes_no_priority(self) -> None:
        with pytest.raises(ValueError, match="how often each value occurs"):
            Priority().bind(["a"])
        with pytest.raises(ValueError, match="2 counts do not fit 1 values"):
            Priority().bind(["a"], np.array([1, 2]))
        with pytest.raises(ValueError, match="stands for two groups -> give `other`"):
            Priority(levels=3).bind(["other (2 values)", *"abc"], np.array([9, 1, 1, 9]))
        # Levels take memory, each as much as the values do.
        for words in (
            {"levels": 2},
            {"levels": 10**8},
            {"other": "rest"},
            {"other": ""},
            {"order": ["a", "a"]},
        ):
            with pytest.raises(ParameterError):
                Priority.build(words)
