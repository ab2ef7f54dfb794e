"""Columns that must not be published as they are, however they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.schema import Kind, Role
from sfumato.data.table import Table
from sfumato.protocols import Context
from sfumato.release.plan.guess import guess
from sfumato.risk.exposure.exposure import Exposure
from sfumato.risk.exposure.published import occurring

pytestmark = pytest.mark.exposure

N = 240
FIRST = ("Anna", "Peter", "Maria", "Jonas", "Julia", "Paul", "Laura", "Felix", "Sophie", "Max")
LAST = ("Schmidt", "Weber", "Fischer", "Wagner", "Becker", "Hoffmann", "Koch", "Bauer", "Richter")
RNG = np.random.default_rng(2)
WHO = [(str(a), str(b)) for a, b in zip(RNG.choice(FIRST, N), RNG.choice(LAST, N), strict=True)]


def named(original: Table, masked: Table | None = None) -> list[str]:
    """The columns that exposure says name people, or tell nearly all apart."""
    after = original if masked is None else masked
    context = Context(Pair(original, after, np.arange(after.height)), np.random.default_rng(0))
    return [one["column"] for one in Exposure().measure(context).detail.get("names people", ())]


@pytest.mark.parametrize("role", ["confidential", "insensitive", "quasi"])
@pytest.mark.parametrize(
    "cells",
    [
        [[f"{a} {b}", f"{a}@x.org".lower()] for a, b in WHO],
        [[a, b] for a, b in WHO],
        [[f"+49 151 {i * 7919 % 10**7:07d}"] for i in range(N)],
        [[4_915_100_000_000 + i * 7919 % 10**8, 4_915_700_000_000 + i] for i in range(N)],
    ],
    ids=["names and mail", "first and last", "telephone", "numbers"],
)
def test_sets_that_name_people_are_refused_whatever_their_role(cells: list[Any], role: str) -> None:
    table = sf.table({"v": cells}, **{role: ["v"]})
    assert named(table) == ["v"]


def test_sets_of_things_are_not_taken_for_people() -> None:
    goods = ["bread", "whole milk", "butter", "yogurt", "soda", "rolls", "beef", "citrus fruit"]
    sets = [RNG.choice(goods, 3, replace=False).tolist() for _ in range(N)]
    codes = [sorted(RNG.choice(900, 4, replace=False).tolist()) for _ in range(N)]
    table = sf.table({"goods": sets, "codes": codes}, confidential=["goods", "codes"])
    assert named(table) == []


def test_items_are_looked_for_one_by_one() -> None:
    table = sf.table({"v": [["Anna Weber", "a"], ["Paul Koch", "b"], [], ["Max Bauer"]]})
    left = table.frame.with_columns(v=pl.Series([["x", "anna weber"], ["y"], [], None]))
    masked = sf.table(left)
    assert occurring(Pair(table, masked, np.arange(4)), "v") == pytest.approx(1 / 3)
    hidden = sf.table({"v": [["x"], ["y"], ["z"], ["w"]]})
    assert occurring(Pair(table, hidden, np.arange(4)), "v") == 0.0


def test_whole_numbers_are_the_same_as_floats() -> None:
    numbers = 4_915_100_000_000 + RNG.permutation(10**6)[:N] * 97
    for values in (numbers, numbers * 1.0, [None, *(numbers[1:] * 1.0)]):
        table = sf.table({"v": list(values)}, confidential=["v"])
        assert named(table) == ["v"]
    measured = sf.table({"v": (numbers / 1e12).tolist()}, confidential=["v"])
    assert named(measured) == []


def test_few_records_with_codes_of_their_own_are_refused() -> None:
    def table(n: int) -> Table:
        codes = [f"K-{i:03d}-{i * 7919 % 1000}" for i in range(n)]
        frame = {"v": codes, "group": [f"g{i % 3}" for i in range(n)]}
        return sf.table(frame, confidential=["v", "group"])

    assert [named(table(n)) for n in (4, 5, 19)] == [[], ["v"], ["v"]]


def test_sets_that_name_people_are_drafted_as_identifiers() -> None:
    made = guess(sf.table({"v": [[f"{a} {b}", f"{a}@x.org"] for a, b in WHO]}))
    assert [(one.role, one.kind) for one in made] == [(Role.IDENTIFIER, Kind.SET)]
