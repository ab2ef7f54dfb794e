"""Mondrian whose groups are joined until they keep criteria."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError

PEOPLE = {"use": "k-anonymity", "k": 4}


def visits(people: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 6, people))
    columns = {
        "pid": [f"P{w:04d}" for w in who],
        "age": (20 + 3 * (who % 23)).tolist(),
        "ward": rng.choice(list("abc"), who.size).tolist(),
    }
    return sf.table(columns, identifier=["pid"], quasi=["age", "ward"])


@given(st.integers(4, 40), st.integers(0, 2**31))
def test_every_group_has_k_people(people: int, seed: int) -> None:
    table = visits(people, seed)
    step = sf.method("mondrian", k=4, criteria=[PEOPLE])
    release = sf.protect(table, step, seed=1, require={"exposure": False}, measures=())
    who = table["pid"].gather(pl.Series(release.pair.rows))
    shown = release.table.frame.with_columns(who=who)
    assert shown.group_by("age", "ward").agg(pl.col("who").n_unique())["who"].min() >= 4


def test_too_few_people_for_any_group() -> None:
    table = visits(3, 0)
    with pytest.raises(MethodError, match="do not keep k-anonymity"):
        sf.protect(table, sf.method("mondrian", k=2, criteria=[PEOPLE]), seed=1)
