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


KINDS = [["cancer", "hiv"], ["healthy", "flu"]]


@pytest.mark.parametrize("search", ["mondrian", "local-recoding", "k-member", "annealing"])
@pytest.mark.parametrize("use", ["l-diversity", "p-sensitive", "p-alpha-sensitive"])
def test_every_group_holds_every_category(search: str, use: str) -> None:
    rng = np.random.default_rng(4)
    columns = {"age": rng.integers(20, 70, 60), "ill": rng.choice([*KINDS[0], *KINDS[1]], 60)}
    table = sf.table(columns, quasi=["age"], confidential=["ill"])
    words = {"l-diversity": {"at-least": 2}, "p-sensitive": {"k": 2, "p": 2}}
    rule = {**words.get(use, {"k": 2, "p": 2, "alpha": 1}), "categories": KINDS}
    step = sf.method(search, k=2, criteria=[{"use": use, **rule}])
    release = sf.protect(table, step, seed=1, require={use: rule, "exposure": False}, measures=())
    shown = release.table.frame.with_columns(
        grave=release.table["ill"].cast(pl.String).is_in(KINDS[0])
    )
    held = shown.group_by("age").agg(pl.col("grave").n_unique())
    assert held["grave"].min() == 2
    assert held.height >= 8
