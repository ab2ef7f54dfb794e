"""Columns as states and costs: rules, weights, and columns with little or too much in them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.data.codec import Matrix, code
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.data.table import Table, table
from sfumato.errors import MethodError
from sfumato.kernels.joins.lub import INTERVAL, LEVELS, ORDER, POWER, TREE, VALUES, cell_cost, join
from sfumato.poset.interval import Interval
from sfumato.poset.plain import PassThrough, Suppression
from tests.oracle.mixed_tables import COLUMNS, mixed_table


def joined(data: Table, name: str, a: int, b: int, **options: object) -> float:
    found = cell_costs(Matrix(data, [name]), **options)  # type: ignore[arg-type]
    s, t = found.states[[a, b], 0].tolist()
    return float(cell_cost(found.joins, 0, join(found.joins, 0, s, t)))


def test_kinds_and_sizes() -> None:
    data = mixed_table(1, 30)
    found = cell_costs(Matrix(data, list(COLUMNS)))
    assert len(found) == 30
    assert tuple(found.x.names) == COLUMNS
    assert found.states.dtype == np.int64
    kinds = [ORDER, ORDER, INTERVAL, INTERVAL, VALUES, VALUES, POWER]
    assert found.joins.kind.tolist() == kinds
    long = table({"v": [f"{i}" for i in range(700)]}, kinds={"v": "nominal"}, quasi=["v"])
    assert cell_costs(Matrix(long, ["v"])).joins.kind.tolist() == [INTERVAL]
    assert TREE not in kinds
    plain = table({"v": ["a", "b"]}, posets={"v": Suppression()}, quasi=["v"])
    assert cell_costs(Matrix(plain, ["v"])).joins.kind.tolist() == [LEVELS]


@pytest.mark.parametrize("kind", ["nominal", "integer", "date"])
@pytest.mark.parametrize("hidden", [False, True])
def test_columns_without_values(kind: str, hidden: bool) -> None:
    """All missing costs nothing; all suppressed costs everything."""
    types = {"nominal": pl.String, "integer": pl.Int64, "date": pl.Date}
    frame = pl.DataFrame({"v": pl.Series([None, None], dtype=types[kind])})
    data = table(frame, kinds={"v": kind}, quasi=["v"])
    if hidden:
        data = data.with_columns([], suppressed={"v": np.array([True, False])})
    assert joined(data, "v", 0, 1) == float(hidden)
    assert joined(data, "v", 0, 0) == float(hidden)
    assert joined(data, "v", 1, 1) == 0.0


def test_heights_are_shares_of_the_steps_to_the_top() -> None:
    data = mixed_table(1, 60, missing=False)
    poset = code(data, "tree").poset
    values = data["tree"].to_list()
    for a, b in ((0, 1), (2, 9), (3, 30), (5, 5)):
        height = poset.height(poset.lub([values[a], values[b]]))
        assert joined(data, "tree", a, b, by="height") == pytest.approx(height / 3)


def test_importance_multiplies_a_column() -> None:
    data = mixed_table(1, 20)
    for name in COLUMNS:
        plain, dear = (joined(data, name, 0, 1, importance={name: w}) for w in (1.0, 3.0))
        assert dear == pytest.approx(3 * plain)
    with pytest.raises(MethodError, match="importance names 'nose'"):
        cell_costs(Matrix(data, ["age"]), importance={"nose": 1.0})


def test_node_costs_replace_those_of_trees_and_orders() -> None:
    data = mixed_table(1, 20, missing=False)
    asked = []

    def costs(poset: object, j: int) -> np.ndarray | None:
        asked.append(j)
        labels = getattr(poset, "label_of_node", None)
        return None if labels is None else np.full(len(labels), 0.25)

    found = cell_costs(Matrix(data, ["tree", "age"]), node_costs=costs)
    assert asked == [0, 1]
    assert cell_cost(found.joins, 0, int(found.states[0, 0])) == 0.25
    assert cell_cost(found.joins, 1, int(found.states[0, 1])) == 0.0


def test_declared_domains_and_largest_widths() -> None:
    ages = [10, 30, 90]
    for source in (Interval(low=0, high=100), Interval(low=0, high=100, max_width=40)):
        data = table({"age": ages}, posets={"age": source}, quasi=["age"])
        poset = code(data, "age").poset
        for a in range(3):
            for b in range(3):
                wanted = poset.measure(poset.lub([ages[a], ages[b]]))
                assert joined(data, "age", a, b) == pytest.approx(wanted)


def test_far_from_zero_widths_stay_exact() -> None:
    data = table({"x": [10**9 + 1.0, 10**9 + 2.0, 10**9 + 5.0]}, quasi=["x"])
    assert joined(data, "x", 0, 1) == pytest.approx(0.25)
    assert np.abs(cell_costs(Matrix(data, ["x"])).joins.cost).max() == 1.0


def test_what_is_passed_through_costs_nothing() -> None:
    data = table({"v": ["a", "b", None]}, posets={"v": PassThrough()}, quasi=["v"])
    assert [joined(data, "v", a, b) for a, b in ((0, 1), (0, 2), (2, 2))] == [0.0] * 3


def test_sixty_two_values_and_more() -> None:
    for size in (61, 62, 63, 200):
        words = [f"w{i:03d}" for i in range(size)]
        data = table({"v": [*words, None]}, quasi=["v"])
        data = data.with_columns([], suppressed={"v": np.arange(size + 1) == size})
        assert joined(data, "v", 0, 0) == 0.0
        assert joined(data, "v", 0, size - 1) > 0.0
        assert joined(data, "v", 0, size) == 1.0
        if size <= 62:
            assert joined(data, "v", 0, size - 1) == pytest.approx(1 / (size - 1))
