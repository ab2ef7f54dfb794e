"""Synthetic businesses, and the people of Torra's slides."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from sfumato.data import generators
from sfumato.data.generators.tables import PARTS, TOWN_PEOPLE, TOWN_SALARIES, industries
from sfumato.errors import ParameterError


@pytest.mark.golden
def test_the_towns_are_those_of_the_slides(
    golden_record: Callable[[str, object, object], None],
) -> None:
    people = generators.torra_towns()
    found = (
        people.frame.group_by("town", "profession")
        .agg(pl.len(), pl.col("salary").sum(), top=pl.col("salary").sort(descending=True))
        .sort("town", "profession")
    )
    totals = (people.frame.height, int(people.frame["salary"].sum()))
    golden_record("torra: people and salaries of the two tables", (346, 8620), totals)
    assert totals == (346, 8620)
    assert found["len"].to_list() == [n for row in TOWN_PEOPLE for n in row]
    assert found["salary"].to_list() == [n for row in TOWN_SALARIES for n in row]
    tops = {(t, p): top for t, p, _, _, top in found.rows()}
    assert tops.pop(("M1", "P1")) == [200, 160]
    assert tops.pop(("M2", "P3")) == [22]
    assert tops.pop(("M3", "P5")) == [350, 4, 3, 3, 3]
    assert tops[("M1", "P2")][:3] == [75, 60, 40]
    assert people.frame.filter(town="M1", profession="P2")["salary"].to_list()[:3] == [40, 60, 75]
    # Nobody else is near half of a cell, nor can the second estimate the first within 50 %.
    for top in tops.values():
        assert 2 * top[0] < sum(top)
        assert sum(top[2:]) > 0.5 * top[0]


def test_businesses_are_the_same_for_the_same_seed() -> None:
    one, same, other = (generators.businesses(400, seed) for seed in (1, 1, 2))
    assert one.frame.equals(same.frame)
    assert not one.frame.equals(other.frame)
    assert one.names == [
        "industry", "region", "size", "turnover", "employees", "holding", "weight", "asked",
    ]  # fmt: skip


def test_businesses_have_what_makes_tables_hard() -> None:
    found = generators.businesses(20_000).frame
    assert set(found["industry"]) == set(industries())
    assert set(found["region"]) == {region for part in PARTS.values() for region in part}
    turnover = np.sort(found["turnover"].to_numpy())
    assert turnover[-200:].sum() > 0.25 * turnover.sum()  # one in a hundred has a quarter
    assert turnover.min() > 0
    holdings = found.group_by("holding").len()["len"]
    assert (holdings > 1).sum() > 500
    assert found["weight"].min() >= 1  # type: ignore[operator]
    assert set(found["asked"]) == {0, 1}
    assert generators.businesses(0).height == 0
    with pytest.raises(ParameterError):
        generators.businesses(-1)
