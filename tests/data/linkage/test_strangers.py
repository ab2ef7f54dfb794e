"""People outside the data: really others, each once, and with the data's types."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.linkage.strangers import refuse_the_same, typed_as, unlike, worth
from sfumato.data.people.participants import reference_split
from sfumato.errors import MeasureError, SchemaError

FEW = ("q1", "q2", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")


def few(n: int, seed: int) -> sf.Table:
    """Ten columns of two to five categories: many people are alike."""
    rng = np.random.default_rng(seed)
    shares = [0.9, 0.7, 0.8, 0.6, 0.85, 0.95, 0.7, 0.9, 0.8, 0.75]
    made = {
        name: np.where(rng.random(n) < share, 0, rng.integers(1, 5, n)).astype(str)
        for name, share in zip(FEW, shares, strict=True)
    }
    return sf.table(made, quasi=["q1", "q2"])


def wide(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    made = {
        "id": rng.integers(0, 10**12, n),
        "age": rng.integers(20, 60, n),
        "pay": rng.normal(size=n),
    }
    return sf.table(made, identifier=["id"], quasi=["age"])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sizes", [(3_000, 3_000), (4_000, 500), (500, 4_000)])
def test_others_are_not_refused_however_alike(seed: int, sizes: tuple[int, int]) -> None:
    for make in (few, wide):
        refuse_the_same(make(sizes[0], seed), make(sizes[1], seed + 100))
        refuse_the_same(*reference_split(make(sum(sizes), seed), records=sizes[1]))


@pytest.mark.parametrize(
    ("make", "share"), [(few, 1.0), (few, 0.5), (wide, 1.0), (wide, 0.5), (wide, 0.05)]
)
def test_people_of_the_data_are_refused(make: Any, share: float) -> None:
    own, others = make(4_000, 1), make(4_000, 2)
    rows = np.arange(int(4_000 * share))
    mixed = sf.Table(
        pl.concat([own.take(rows[::-1]).frame, others.take(np.arange(rows.size, 4_000)).frame]),
        own.schema,
    )
    with pytest.raises(MeasureError, match="holds people of the data"):
        refuse_the_same(own, mixed)


def test_identifiers_tell_where_records_differ() -> None:
    own, others = wide(2_000, 1), wide(2_000, 2)
    known = others.with_columns([own["id"], own["age"]])
    with pytest.raises(MeasureError, match="identifiers that the reference has once, 100%"):
        refuse_the_same(own, known)
    # What numbers the rows of both files is nobody's name.
    numbers = pl.Series("id", np.arange(2_000))
    refuse_the_same(own.with_columns([numbers]), others.with_columns([numbers]))


def test_who_is_there_many_times_counts_once() -> None:
    own, others = wide(3_000, 1), wide(3_000, 2)
    ten = others.take(np.tile(np.arange(10), 300))
    kept = worth(own, ten)
    assert sorted(kept % 10) == list(range(10))
    assert worth(own, others).size == 3_000
    # As many people of the data as have so many different records.
    alike, strangers = few(3_000, 1), few(3_000, 2)
    assert worth(alike, strangers).size == 3_000
    repeated = worth(alike, strangers.take(np.tile(np.arange(10), 300)))
    assert 8 <= repeated.size <= 20
    # Twice the people of the data are still they.
    twice = own.take(np.tile(np.arange(3_000), 2))
    once = twice.take(worth(own, twice))
    assert once.height == 3_000
    with pytest.raises(MeasureError, match="holds people of the data"):
        refuse_the_same(own, once)


@pytest.mark.parametrize(
    ("own", "others", "wrong"),
    [
        ([True, False], ["jein", "nein"], "neither true nor false"),
        ([date(2000, 1, 1), date(2001, 1, 1)], ["14/05/2000", "09/06/2000"], "not a date"),
        ([date(2000, 1, 1), date(2001, 1, 1)], [1, 2], "not dates"),
        ([1, 2], ["a", "b"], "not a whole number"),
        ([1, 2], [1.5, 2.0], "not whole"),
        ([1.0, 2.0], [np.inf, 1.0], "infinite or too large"),
        ([1, 2], [np.inf, 1.0], "infinite or too large"),
        ([1.0, 2.0], [1e308, 1.0], "infinite or too large"),
    ],
)
def test_what_the_type_cannot_hold_is_named(own: list, others: list, wrong: str) -> None:
    with pytest.raises(SchemaError, match=wrong) as caught:
        typed_as(sf.table({"x": others}), sf.table({"x": own}), ["x"])
    assert "x" in str(caught.value)
    assert "row" not in str(caught.value)


def test_others_get_the_types_of_the_data() -> None:
    own = sf.table({"b": [True, False], "d": [date(2000, 1, 1)] * 2, "t": ["1", "x"]})
    given = sf.table({"b": ["true", "False"], "d": ["2000-02-03", None], "t": [1, 2]})
    found = typed_as(given, own, own.names)
    assert found.frame.to_dict(as_series=False) == {
        "b": [True, False], "d": [date(2000, 2, 3), None], "t": ["1", "2"],
    }  # fmt: skip
    assert typed_as(own, own, own.names) is own


@pytest.mark.parametrize(
    ("own", "others", "why"),
    [
        (["a", "b"], ["c", "d"], "none of the values"),
        (["a", "b"], ["c", "b"], ""),
        (["a", "b"], [None, None], "no value"),
        ([1, 2], [7, 9], "none of the values"),
        ([1, 5], [2, 9], ""),
        ([datetime(2000, 1, 1, 5)] * 2, [date(2000, 1, 1)] * 2, "dates there"),
    ],
)
def test_a_column_without_common_values_is_told(own: list, others: list, why: str) -> None:
    table = sf.table({"x": own})
    found = unlike(
        pl.Series("x", others, dtype=None if others[0] else pl.String),
        table["x"],
        table.schema["x"],
    )
    assert (why in found) if why else not found
