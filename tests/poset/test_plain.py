"""Values that are kept or suppressed, and values that are passed through."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.mondrian import Mondrian
from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.data.table import table
from sfumato.errors import MethodError
from sfumato.kernels.joins.lub import cell_cost, join
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.plain import PassThrough, Suppression
from tests.oracle.poset import Sets
from tests.poset.searched import check_joins, check_release, one_column
from tests.poset.test_text import NASTY

domains = st.lists(NASTY, min_size=1, max_size=6, unique=True).map(sorted)


@given(domains, st.data())
def test_a_group_is_its_value_or_suppressed(values: list[str], data: st.DataObject) -> None:
    poset = Suppression().bind(values)
    codes = st.lists(st.integers(1, len(values)), min_size=1, unique=True).map(sorted)
    group = data.draw(codes)
    everything: frozenset[object] = frozenset([None, *values])
    naive = Sets([*(frozenset([value]) for value in values), everything])
    bound = naive.lub(frozenset([values[code - 1]]) for code in group)
    (label,) = poset.set_labels(np.array([0, len(group)]), np.array(group))
    assert [label] == poset.labels(np.array(group[:1]), np.array(group[-1:]))
    assert (label == "*") == (bound == everything) == (len(group) > 1)
    assert poset.measure(label) == poset.height(label) == (len(group) > 1)
    for code in group:
        assert poset.leq(poset.labels(np.array([code]), np.array([code]))[0], label)


@given(domains)
def test_searches_join_and_pay_as_the_poset_does(values: list[str]) -> None:
    check_joins(Suppression(), [*values, *values[:1], None])


def test_a_release_suppresses_what_differs() -> None:
    masked = check_release(Suppression(), list("aaabbbbbc"), k=3)
    assert set(masked["x"].cast(pl.String)) <= {"a", "b", "*"}


def test_sets_of_other_tools_are_read() -> None:
    poset = Suppression().bind(["a", "b", "c"])
    assert poset.measure("{a, b}") == 0.5
    assert poset.lub(["{a, b}"]) == "*"
    assert poset.height("{a, b}") == 1


def test_what_is_passed_through_stays() -> None:
    bill = PassThrough().bind([5, 7])
    assert bill.lub([7, 5]) == "7"
    assert bill.leq(5, 7)
    assert bill.leq(7, 5)
    assert bill.measure(5) == bill.measure("7") == 0
    assert bill.measure("*") == bill.height("*") == 1
    assert bill.labels(np.array([1, 2]), np.array([1, 2])) == ["5", "7"]
    with pytest.raises(MethodError, match="no value for a whole group"):
        bill.labels(np.array([1]), np.array([2]))
    with pytest.raises(ValueError, match="nothing has no"):
        bill.lub([])


def test_a_release_leaves_what_is_passed_through() -> None:
    ages, bills = [20, 21, 40, 41], [5.5, None, 7.25, 9.0]
    made = table(
        {"age": ages, "bill": bills}, quasi=["age", "bill"], posets={"bill": PassThrough()}
    )
    rng = np.random.default_rng(1)
    x = Matrix(made, ["age", "bill"])
    found = Mondrian(k=2).partition(x, rng)
    masked = Generalize().apply(made, found, ["age", "bill"], rng).table
    assert masked["bill"].to_list() == bills
    assert masked["age"].cast(pl.String).to_list() == ["[20, 21]"] * 2 + ["[40, 41]"] * 2
    assert sf.measure("ncp", made, masked).detail["by_column"]["bill"] == 0


def test_searches_pay_nothing_for_what_is_passed_through() -> None:
    x = Matrix(one_column(PassThrough(), [5, 7, None, 9]), ["x"])
    cells = cell_costs(x)
    states = cells.states[:, 0].tolist()
    for a in states:
        for b in states:
            assert cell_cost(cells.joins, 0, join(cells.joins, 0, a, b)) == 0
