"""Hierarchies for columns of which nothing is said."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.table import table
from sfumato.errors import MethodError
from sfumato.release.plan.proposal import proposed

N = 60
RNG = np.random.default_rng(7)
DAYS = [dt.date(1950, 1, 1) + dt.timedelta(int(n)) for n in RNG.integers(0, 20_000, N)]
COLUMNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "age": (RNG.integers(18, 80, N), {"kind": "bins", "width": 5, "fanouts": [2, 2]}),
    "patient_age": (
        [95, 20, *RNG.integers(18, 80, N - 2)],
        {"kind": "bins", "width": 5, "fanouts": [2, 2], "high": 90},
    ),
    "pay": (RNG.uniform(0, 1000, N), {"kind": "bins", "width": 100, "fanouts": [2, 2]}),
    "rooms": (RNG.integers(1, 7, N), {"kind": "bins", "width": 2, "fanouts": [2]}),
    "birth_date": (DAYS, {"kind": "date", "levels": ["month", "quarter", "year", "decade"]}),
    "visit": (
        [dt.datetime(2024, 1 + i % 3, 1 + i % 5, i % 24) for i in range(N)],
        {"kind": "date", "levels": ["day", "month"]},
    ),
    "zip": (
        [f"021{n:02}" for n in RNG.integers(30, 45, N)],
        {"kind": "prefix", "lengths": [5, 3, 2]},
    ),
    "job": (
        RNG.choice(["baker", "clerk", "diver", "farmer", "judge"], N),
        {"kind": "priority"},
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_a_column_seems_to_be(name: str) -> None:
    values, words = COLUMNS[name]
    people = table({name: list(values)})
    assert proposed(people, name).poset == words
    found = sf.hierarchy(people, name)
    assert found.check() == []
    assert found.why
    sizes = found.preview()["groups"].to_list()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1
    # The line is a plan's.
    plan = sf.Plan.parse(f"[columns]\n{found.line}\n")
    assert plan.columns[name].poset == found.source


@pytest.mark.parametrize(("count", "groups"), [(3, [2]), (4, [2]), (5, [2, 2]), (8, [2, 2])])
def test_an_ordinals_neighbours_join(count: int, groups: list[int]) -> None:
    levels = [f"level {i}" for i in range(count)]
    people = table({"grade": levels * 3}, kinds={"grade": "ordinal"}, categories={"grade": levels})
    assert proposed(people, "grade").poset == {
        "kind": "order",
        "order": levels,
        "groups": groups,
    }
    assert sf.hierarchy(people, "grade").preview()["groups"].to_list()[-2:] == [2, 1]


def test_diagnoses_are_cut_to_their_categories() -> None:
    codes = ["E11.9", "E11.65", "E10.1", "I10", "J45.909"] * 12
    words = {"kind": "prefix", "lengths": [3, 1], "pad": ""}
    assert proposed(table({"diagnosis": codes}), "diagnosis").poset == words


@pytest.mark.parametrize(
    "values",
    [
        [f"Ann Reed {i}" for i in range(30)],
        ["f", "m"] * 10,
        [True, False] * 10,
        [None] * 5,
        [7] * 5,
        [["a"], ["b", "c"], ["d"], []],
    ],
)
def test_columns_that_suggest_nothing(values: list[Any]) -> None:
    with pytest.raises(MethodError, match="suggests none"):
        proposed(table({"name": values}), "name")
