"""The compiled joins and costs beside the posets that they stand for."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.codec import Matrix, code
from sfumato.data.generalized.cell_costs import CellCosts, cell_costs
from sfumato.data.schema import SUPPRESSED
from sfumato.data.table import Table, table
from sfumato.kernels.joins.lub import (
    NO_SET,
    WHOLE,
    bits_set,
    bounds_of,
    cell_cost,
    join,
)
from sfumato.poset.birth_date import BirthDate
from sfumato.poset.trees.sources import Hierarchy
from tests.oracle.mixed_tables import COLUMNS, mixed_table


def expected(data: Table, name: str, rows: list[int]) -> float:
    """What publishing a group's cell costs, by the poset itself."""
    values = [data[name][row] for row in rows]
    if any(data.suppressed(name)[row] for row in rows):
        return 1.0
    if all(value is None for value in values):
        return 0.0
    if any(value is None for value in values):
        return 1.0
    poset = code(data, name).poset
    return poset.measure(poset.lub(values))


def folded(costs: CellCosts, j: int, rows: list[int]) -> int:
    states = costs.states[rows, j].tolist()
    return int(reduce(lambda a, b: join(costs.joins, j, a, b), states))


def check(data: Table, rows: list[int], names: list[str]) -> None:
    costs = cell_costs(Matrix(data, names))
    for j, name in enumerate(names):
        found = cell_cost(costs.joins, j, folded(costs, j, rows))
        assert found == pytest.approx(expected(data, name, rows), abs=1e-12), name


# Joined two by two, a partial order may come out above the bound of the whole set.
EXACT = [name for name in COLUMNS if name != "order"]


@given(st.integers(0, 10**6), st.integers(1, 12), st.data())
def test_joins_cost_what_the_posets_say(seed: int, n: int, draw: st.DataObject) -> None:
    data = mixed_table(seed, n)
    rows = draw.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5))
    check(data, rows, EXACT)
    check(data, rows[:2], list(COLUMNS))


@given(st.integers(0, 10**6), st.integers(1, 12), st.data())
def test_suppressed_cells_cost_everything(seed: int, n: int, draw: st.DataObject) -> None:
    data = mixed_table(seed, n)
    hidden = draw.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    mask = np.array(hidden)
    series = [
        data[name].zip_with(pl.Series(~mask), pl.Series([None] * n, dtype=data[name].dtype))
        for name in EXACT
    ]
    data = data.with_columns(series, suppressed=dict.fromkeys(EXACT, mask))
    rows = draw.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4))
    check(data, rows, EXACT)


@st.composite
def hierarchies(draw: st.DrawFn) -> list[list[str]]:
    """Rows of a random tree, all of one length."""
    leaves, depth = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    group = list(range(leaves))
    rows = [[f"v{i}"] for i in range(leaves)]
    for level in range(depth):
        merged = draw(st.lists(st.integers(0, 3), min_size=leaves, max_size=leaves))
        number = {g: (g if level == 0 else 0) + 10 * merged[g] for g in sorted(set(group))}
        group = [number[g] for g in group]
        _, group = (found.tolist() for found in np.unique(group, return_inverse=True))
        for i in range(leaves):
            rows[i].append(f"l{level}g{group[i]}")
    return [[*row, "*"] for row in rows]


@given(hierarchies(), st.integers(0, 10**6))
def test_random_trees(rows: list[list[str]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [row[0] for row in rows]
    cells = [None if rng.random() < 0.2 else str(rng.choice(values)) for _ in range(8)]
    data = table(
        pl.DataFrame({"v": cells}, schema={"v": pl.String}),
        posets={"v": Hierarchy(levels=rows)},
        quasi=["v"],
    )
    for size in (1, 2, 3, 5):
        check(data, rng.integers(0, 8, size).tolist(), ["v"])


def test_large_trees_are_climbed() -> None:
    rows = [[f"{i:03d}", f"{i // 10:02d}*", f"{i // 100}**", "*"] for i in range(600)]
    rng = np.random.default_rng(1)
    data = table(
        {"v": [f"{i:03d}" for i in rng.integers(0, 600, 200)] + [None]},
        kinds={"v": "nominal"},
        posets={"v": Hierarchy(levels=rows)},
        quasi=["v"],
    )
    for _ in range(200):
        check(data, rng.integers(0, 201, 3).tolist(), ["v"])


@given(st.integers(0, 10**6))
def test_birth_dates_have_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    days = rng.choice([0, 1, 20, 40, 400, 5000, 9000, 20000], 10)
    born = pl.Series("born", days).cast(pl.Int32).cast(pl.Date)
    born = born.zip_with(pl.Series(rng.random(10) > 0.1), pl.Series([None], dtype=pl.Date))
    data = table(pl.DataFrame({"born": born}), posets={"born": BirthDate()}, quasi=["born"])
    for size in (1, 2, 4):
        check(data, rng.integers(0, 10, size).tolist(), ["born"])


@given(st.integers(0, 10**6), st.integers(2, 10))
def test_bounds_of_groups_are_joined_cell_by_cell(seed: int, n: int) -> None:
    data = mixed_table(seed, n)
    costs = cell_costs(Matrix(data, list(COLUMNS)))
    joins, states = costs.joins, costs.states
    labels = np.random.default_rng(seed).integers(-1, 2, n)
    before = states.copy()
    bound, size, cells = bounds_of(joins, states, labels, 2)
    assert (states == before).all()
    assert size.tolist() == [(labels == g).sum() for g in range(2)]
    for g, j in product(np.flatnonzero(size).tolist(), range(len(COLUMNS))):
        top = reduce(lambda a, b, j=j: join(joins, j, a, b), states[labels == g, j])
        assert bound[g, j] == top
        assert cells[g, j] == cell_cost(joins, j, top)


@given(st.integers(0, 10**6), st.integers(3, 10))
def test_joining_commutes_and_repeats_nothing(seed: int, n: int) -> None:
    data = mixed_table(seed, n)
    costs = cell_costs(Matrix(data, list(COLUMNS)))
    for j in range(len(COLUMNS)):
        a, b, c = costs.states[:3, j].tolist()
        both = join(costs.joins, j, a, b)
        assert both == join(costs.joins, j, b, a)
        assert join(costs.joins, j, both, a) == both
        assert cell_cost(costs.joins, j, both) >= cell_cost(costs.joins, j, a) - 1e-12
        if COLUMNS[j] != "order":
            right = join(costs.joins, j, a, join(costs.joins, j, b, c))
            assert join(costs.joins, j, both, c) == right


def test_bits() -> None:
    assert [bits_set(s) for s in (0, 1, 0b1011, (1 << 62) - 1)] == [0, 1, 3, 62]
    assert WHOLE == 2**62
    assert np.iinfo(np.int64).min == NO_SET


def test_the_star_of_a_label_is_suppressed() -> None:
    """What was generalized before is joined as labels; "*" stays "*"."""
    first = table({"age": [1, 2, 3, 4]}, quasi=["age"])
    labels = pl.Series("age", ["[1, 2]", "[1, 2]", "3", SUPPRESSED])
    column = first.schema["age"].with_(generalized=True, bound=code(first, "age").poset)
    costs = cell_costs(Matrix(first.with_columns([labels], [column]), ["age"]))
    assert cell_cost(costs.joins, 0, int(costs.states[3, 0])) == 1.0
    assert cell_cost(costs.joins, 0, folded(costs, 0, [0, 3])) == 1.0
    assert cell_cost(costs.joins, 0, folded(costs, 0, [0, 1])) == 0.0
