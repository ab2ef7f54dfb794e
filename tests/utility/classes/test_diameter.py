"""The diameters of equivalence classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.kernels.joins.diameter import diameters
from sfumato.protocols import Context
from sfumato.utility.classes.diameter import ClassDiameter
from tests.oracle import information as oracle

PERSON = st.tuples(
    st.sampled_from(list(oracle.PATHS)), st.sampled_from([20, 23, 25, 31, 40]),
    st.sampled_from(oracle.KINDS), st.just("flu"),
)  # fmt: skip
ENDS = [("Ulm", 20, "a", "flu"), ("Lyon", 40, "c", "flu"), ("Nice", 30, "b", "flu")]


def _grouped(original: Table, groups: list[int]) -> Table:
    """A release in which the groups are the classes."""
    labels = [str(group) for group in groups]
    return table(dict.fromkeys(original.schema.quasi, labels), quasi=original.schema.quasi)


@given(st.lists(st.tuples(PERSON, st.integers(0, 3)), max_size=14))
def test_it_is_the_largest_distance(more: object) -> None:
    rows = ENDS + [person for person, _ in more]
    groups = [0, 1, 1] + [group for _, group in more]
    original = oracle.people(rows)
    pair = Pair.of(original, _grouped(original, groups))
    found = ClassDiameter().measure(Context(pair, np.random.default_rng(0)))
    wanted = oracle.diameters(rows, groups)
    assert found.per_record == pytest.approx(wanted)
    assert found.value == pytest.approx(oracle.mean(wanted))
    assert found.detail["cost"] == pytest.approx(3 * sum(wanted))


def test_many_groups_and_large_ones() -> None:
    rng = np.random.default_rng(3)
    n = 3000
    x = rng.normal(size=(n, 2))
    groups = rng.integers(0, 40, n)
    original = table({"a": x[:, 0], "b": x[:, 1]}, quasi=["a", "b"])
    costs = cell_costs(Matrix(original, ["a", "b"]), by="height")
    found = diameters(costs.joins, np.zeros(2, dtype=bool), costs.states, groups)
    width = x.max(axis=0) - x.min(axis=0)
    for g in range(40):
        one = x[groups == g] / width
        apart = np.abs(one[:, None] - one[None]).sum(axis=2)
        assert found[g] == pytest.approx(apart.max())
    assert diameters(costs.joins, np.zeros(2, dtype=bool), costs.states[:0], groups[:0]).size == 0


def test_large_groups_of_all_kinds() -> None:
    rng = np.random.default_rng(4)
    cities = list(oracle.PATHS)
    rows = ENDS + [
        (cities[rng.integers(5)], int(rng.integers(20, 41)), "abc"[rng.integers(3)], "flu")
        for _ in range(300)
    ]
    # Three groups of neighbours, whose members are far from the limits, and one of all kinds.
    groups = [cities.index(row[0]) % 3 if i % 2 else 3 for i, row in enumerate(rows)]
    original = oracle.people(rows)
    pair = Pair.of(original, _grouped(original, groups))
    found = ClassDiameter().measure(Context(pair, np.random.default_rng(0)))
    assert found.per_record == pytest.approx(oracle.diameters(rows, groups))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)), min_size=2))
def test_a_gap_among_the_numbers_makes_them_compared_in_pairs(rows: object) -> None:
    """0 is missing here: at distance 1 from all others."""
    x = [[value or None for value in row[:2]] for row in rows]
    original = table(
        {"a": [r[0] for r in x] + [1, 5], "b": [r[1] for r in x] + [1, 5]}, quasi=["a", "b"]
    )
    groups = [row[2] for row in rows] + [3, 4]
    pair = Pair.of(original, _grouped(original, groups))
    found = ClassDiameter().measure(Context(pair, np.random.default_rng(0)))

    def apart(a: int | None, b: int | None) -> float:
        return float(a != b) if a is None or b is None else abs(a - b) / 4

    for i, group in enumerate(groups[: len(rows)]):
        inside = [r for r, g in zip(x, groups, strict=False) if g == group]
        wanted = max((apart(p[0], q[0]) + apart(p[1], q[1])) / 2 for p in inside for q in inside)
        assert found.per_record[i] == pytest.approx(wanted)


def test_missing_values_and_dropped_records() -> None:
    original = table({"q": [1, None, 3, 5], "c": ["a", "a", None, "b"]}, quasi=["q", "c"])
    assert sf.measure("class-diameter", original, original).value == 0.0
    pair = Pair(original, _grouped(original, [0, 0, 1]), np.array([0, 1, 3]))
    found = ClassDiameter().measure(Context(pair, np.random.default_rng(0)))
    assert found.per_record.tolist() == [0.5, 0.5, 0.0]
    assert found.detail["dropped_records"] == 1
    everything = sf.measure("class-diameter", original, dict.fromkeys("qc", ["*"] * 4))
    assert everything.value == 1.0
