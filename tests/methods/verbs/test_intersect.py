"""What a group of sets shows, on the thesis' examples and beside plain intersections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.partition import Cover, Partition
from sfumato.data.table import Table
from sfumato.errors import MethodError
from sfumato.methods.verbs.generalize import Intersect
from tests.oracle.itemsets import support

# Podgursky's table 1.
PEOPLE = [
    ["Female", "Biologist"],
    ["Biologist", "22", "Musician"],
    ["Female", "Biologist", "22"],
    ["Male", "Musician"],
]


def _table(sets: Any, **more: Any) -> Table:
    import polars as pl

    frame = pl.DataFrame({"s": pl.Series(sets, dtype=pl.List(pl.String))})
    return sf.table(frame, quasi=["s"], **more)


def _shown(table: Table, groups: Partition | Cover) -> tuple[list[Any], dict[str, Any]]:
    outcome = Intersect().apply(table, groups, ["s"], np.random.default_rng(0))
    return outcome.table["s"].to_list(), dict(outcome.facts)


@pytest.mark.golden
def test_figure_1_of_the_thesis(
    golden_record: Callable[[str, object, object], None],
) -> None:
    shown, facts = _shown(_table(PEOPLE), Partition(np.array([0, 1, 0, 1])))
    assert [sorted(one) for one in shown] == [
        ["Biologist", "Female"], ["Musician"], ["Biologist", "Female"], ["Musician"],
    ]  # fmt: skip
    golden_record("podgursky figure 1: items kept of ten", 0.6, facts["items kept"])
    assert facts == {"utility kept": 0.6, "items kept": 0.6, "groups": 2, "smallest group": 2}
    # (2,1): each shows what one other has as well; B and C share more than B and D.
    cover = Cover(np.array([0, 2, 4, 6, 8]), np.array([0, 2, 1, 2, 2, 1, 3, 1]))
    shown, _ = _shown(_table(PEOPLE), cover)
    assert [sorted(one) for one in shown] == [
        ["Biologist", "Female"], ["22", "Biologist"], ["22", "Biologist"], ["Musician"],
    ]  # fmt: skip
    assert all(sum(set(one) <= set(other) for other in PEOPLE) >= 2 for one in shown)


@pytest.mark.golden
def test_utilities_of_tables_11_and_12(
    golden_record: Callable[[str, object, object], None],
) -> None:
    worth = {"Biologist": 10, "Computer Scientist": 5, "Homeowner": 3, "Student": 3}
    sets = [
        ["Computer Scientist", "Student"], ["Computer Scientist"], ["Homeowner"],
        ["Biologist", "Homeowner"],
    ]  # fmt: skip
    table = _table(sets, posets={"s": {"kind": "items", "utilities": worth}})
    _, facts = _shown(table, Partition(np.array([0, 0, 1, 1])))
    single = [sum(worth[item] for item in one) for one in sets]
    golden_record("podgursky table 12: utilities of the records", [8, 5, 3, 13], single)
    golden_record("podgursky tables 11 and 12: kept in pairs", "0.55", str(facts["utility kept"]))
    # 8 + 5 + 3 + 13 before; 5 + 5 + 3 + 3 after.
    assert facts["utility kept"] == round(16 / 29, 2)
    assert facts["items kept"] == round(4 / 6, 2)


@given(
    st.lists(
        st.tuples(st.integers(-1, 2), st.none() | st.sets(st.sampled_from("abcd"), max_size=4)),
        min_size=1,
        max_size=10,
    )
)
def test_every_group_shows_what_all_have(rows: list[tuple[int, set[str] | None]]) -> None:
    labels = Partition.of([label for label, _ in rows]).labels
    sets = [None if one is None else sorted(one) for _, one in rows]
    shown, _ = _shown(_table(sets), Partition(labels))
    for i, one in enumerate(shown):
        mates = [sets[j] for j in range(len(rows)) if labels[j] == labels[i]]
        if labels[i] < 0:
            assert one == []
        elif all(mate is None for mate in mates):
            assert one is None
        else:
            assert one == sorted(set.intersection(*(set(mate or []) for mate in mates)))
            assert one == [] or support([m or [] for m in mates], one) == len(mates)  # type: ignore[arg-type]


def test_what_it_cannot_do() -> None:
    table = sf.table({"s": [["a"]], "age": [3]}, quasi=["s", "age"])
    with pytest.raises(MethodError, match="holds no sets"):
        Intersect().apply(table, Partition(np.array([0])), ["age"], np.random.default_rng(0))
    astray = Cover(np.array([0, 1, 2]), np.array([1, 1]))
    with pytest.raises(MethodError, match="row 1 is not in its own set"):
        _shown(_table([["a"], ["b"]]), astray)
