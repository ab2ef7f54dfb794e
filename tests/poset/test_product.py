"""Least upper bounds of records, by definitions 3 and 4 read literally."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import MethodError
from sfumato.poset.interval import Interval
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.product import LubSet, Product, lub_set
from sfumato.poset.valueset import ValueSet
from tests.oracle import poset_orders as oracle
from tests.poset.test_partial_order import Parents, orders


@st.composite
def records(draw: st.DrawFn) -> tuple[Product, list[oracle.Order], list[tuple[str, ...]]]:
    """Records over two random partial orders, with weights."""
    given_orders: list[Parents] = [draw(orders()), draw(orders())]
    naive = [oracle.Order(parents) for parents in given_orders]
    posets = {
        name: PartialOrder(parents=parents).bind(order.leaves)
        for name, parents, order in zip("ab", given_orders, naive, strict=True)
    }
    weights = {"a": draw(st.sampled_from([0.5, 1.0, 3.0])), "b": 1.0}
    cell = [st.sampled_from(order.leaves) for order in naive]
    rows = draw(st.lists(st.tuples(*cell), min_size=2, max_size=4))
    return Product(posets, weights), naive, rows


def literal(naive: list[oracle.Order], bounds: LubSet, row: tuple[str, ...]) -> set[float]:
    """The measures of all bounds of any choice from a set with a record: the least is wanted."""
    out = set()
    for choice in product(*bounds):
        columns = zip(naive, choice, row, strict=True)
        found = [order.lub_set((c, r)) for order, c, r in columns]
        costs = zip(naive, found, (1, 1), strict=True)
        out.add(sum(order.measure(min(labels)) for order, labels, _ in costs))
    return out


@given(records())
def test_definition_3(drawn: tuple[Product, list[oracle.Order], list[tuple[str, ...]]]) -> None:
    both, naive, rows = drawn
    found = both.lub_set(rows[0], rows[1])
    pairs = zip(rows[0], rows[1], strict=True)
    expected = [order.lub_set(pair) for order, pair in zip(naive, pairs, strict=True)]
    assert [set(part) for part in found] == expected
    for choice in both.choices(found):
        assert both.leq(rows[0], choice)
        assert both.leq(rows[1], choice)
        assert both.measure(choice) == pytest.approx(both.set_measure(found))
    assert both.lub(rows[0], rows[1]) in both.choices(found)


@given(records())
def test_definition_4(drawn: tuple[Product, list[oracle.Order], list[tuple[str, ...]]]) -> None:
    both, naive, rows = drawn
    bounds = both.lub_set(rows[0], rows[1])
    joined = both.lub_with(bounds, rows[-1])
    plain = Product(dict(zip(both.names, both.posets, strict=True)), measure=both.measure)
    one_by_one = plain.lub_with(bounds, rows[-1])
    # Comparing all choices one by one finds the same least measure as comparing cell by cell.
    assert both.set_measure(joined) == pytest.approx(both.set_measure(one_by_one))
    columns = [
        [order.measure(label) for label in part] for order, part in zip(naive, joined, strict=True)
    ]
    assert sum(map(min, columns)) == pytest.approx(min(literal(naive, bounds, rows[-1])))
    for choice in both.choices(joined):
        assert all(both.leq(row, choice) for row in (rows[0], rows[1], rows[-1]))


@given(records())
def test_folding_never_ends_below_the_bound_of_all(
    drawn: tuple[Product, list[oracle.Order], list[tuple[str, ...]]],
) -> None:
    both, _, rows = drawn
    folded = both.fold(rows)
    assert both.measure(both.lub(*rows)) <= both.set_measure(folded) + 1e-12
    for choice in both.choices(folded):
        assert all(both.leq(row, choice) for row in rows)
    assert both.fold(rows[:1]) == tuple((cell,) for cell in rows[0])


@given(records())
def test_the_measure_of_records_is_monotone(
    drawn: tuple[Product, list[oracle.Order], list[tuple[str, ...]]],
) -> None:
    both, naive, rows = drawn
    for upper in product(*(order.labels for order in naive)):
        if both.leq(rows[0], upper):
            assert both.measure(rows[0]) <= both.measure(upper)


def test_a_measure_of_ones_own_chooses_among_several_bounds() -> None:
    parents = {"a": ["x", "y"], "b": ["x", "y"], "c": ["x"], "d": ["y"]}
    poset = PartialOrder(parents=parents).bind(["a", "b", "c", "d"])
    assert lub_set(poset, ["a", "b"]) == ("x", "y")
    wants_y = Product({"v": poset}, measure=lambda record: float(record[0] != "y"))
    both = wants_y.lub_set(["a"], ["b"])
    assert wants_y.lub_with(both, ["d"]) == (("y",),)
    assert Product({"v": poset}).lub_with(both, ["c"]) == (("x",),)
    assert Product({"v": poset}).fold([["a"], ["b"], ["d"]]) == (("y",),)


def test_what_does_not_fit_is_refused() -> None:
    both = Product({"age": Interval().bind([1, 9]), "sex": ValueSet().bind(["f", "m"])})
    with pytest.raises(MethodError, match="1 values for 2 columns"):
        both.measure([3])
    with pytest.raises(MethodError, match="is no column"):
        Product({}, {"age": 2.0})
    with pytest.raises(ValueError, match="nothing has no"):
        both.lub()
    with pytest.raises(ValueError, match="nothing has no"):
        both.fold([])
    poset = PartialOrder(parents={"a": "*", "b": "*"}).bind(["a"])
    many = Product({str(i): poset for i in range(20)}, measure=lambda record: 0.0)
    with pytest.raises(MethodError, match="too many to compare"):
        many.lub_with((("a", "b"),) * 20, ["a"] * 20)
