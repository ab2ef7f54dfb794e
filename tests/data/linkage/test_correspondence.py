"""Which record became which, told from the tables, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.generators import hospital
from sfumato.data.linkage.correspondence import agreement, key_column
from sfumato.data.pair import Pair

NUMBERS = ["sodium", "potassium", "creatinine", "length_of_stay"]


def _released(method: str, **words: Any) -> tuple[sf.Table, sf.Table, np.ndarray]:
    """An original, its shuffled release, and where each original record went."""
    register = hospital(600, seed=4)
    frame = register.frame.select("sex", "birth_date", "zip", *NUMBERS)
    table = sf.table(frame, quasi=frame.columns, kinds={"zip": "nominal"})
    release = sf.protect(table, sf.method(method, **words), seed=1, measures=[])
    return table, release.table, np.argsort(release.pair.rows)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("mondrian", {"k": 5}),
        ("mdav", {"k": 5}),
        ("local-suppression", {"k": 2}),
        ("rank-swap", {"p": 10, "columns": tuple(NUMBERS)}),
        ("correlated-noise", {"amount": 0.2, "columns": tuple(NUMBERS)}),
    ],
)
def test_order_is_believed_where_rows_fit_and_not_where_they_were_shuffled(
    method: str, words: dict[str, Any]
) -> None:
    original, masked, back = _released(method, **words)
    found = agreement(Pair.of(original, masked.take(back)))
    assert found is not None
    assert found.clear
    shuffled = agreement(Pair.of(original, masked))
    assert shuffled is not None
    assert shuffled.absent
    assert not shuffled.clear


def test_files_that_are_sorted_alike_tell_nothing() -> None:
    names = ["sex", "birth_date", "zip", *NUMBERS]
    one, other = (hospital(2000, seed=s).frame.select(names).sort("birth_date") for s in (1, 2))
    found = agreement(Pair.of(*(sf.table(t, quasi=names) for t in (one, other))))
    assert found is not None
    assert not found.clear


def test_sets_fit_those_that_hold_them() -> None:
    rng = np.random.default_rng(3)
    whole = [sorted({*rng.choice(40, 6).tolist()}) for _ in range(80)]
    table = sf.table({"s": whole}, quasi=["s"])
    part = sf.table({"s": [one[:3] for one in whole]}, quasi=["s"])
    found = agreement(Pair.of(table, part))
    assert found is not None
    assert found.clear
    mixed = agreement(Pair.of(table, part.take(rng.permutation(80))))
    assert mixed is not None
    assert not mixed.clear


@given(st.integers(30, 80), st.integers(0, 10**6))
def test_records_drawn_anew_never_fit(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (
        sf.table({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n).tolist()}, quasi=["a"])
        for _ in range(2)
    )
    found = agreement(Pair.of(one, other))
    assert found is not None
    assert not found.clear


def test_nothing_to_compare() -> None:
    one = sf.table({"a": [1]}, quasi=["a"])
    assert agreement(Pair.of(one, one)) is None
    hidden = sf.table({"a": ["1", "2", "3"]}, quasi=["a"])
    other = sf.table({"b": ["*", "*", "*"]}, quasi=["b"])
    assert agreement(Pair.of(hidden, other)) is None


def test_keys_are_identifiers_or_what_the_other_columns_confirm() -> None:
    register = hospital(300, seed=5)
    names = ["record_no", "sex", "birth_date", "zip", *NUMBERS]
    table = sf.table(register.frame.select(names), identifier=["record_no"], quasi=["sex"])
    order = np.random.default_rng(1).permutation(300)[:200]
    assert key_column(table, table.take(order)) == "record_no"
    plain = sf.table(register.frame.select(names), quasi=names)
    assert key_column(plain, plain.take(order)) == "record_no"
    # Values that were given to others are no key, though they are the same.
    swapped = plain.frame.with_columns(pl.col("record_no").shuffle(seed=1))
    assert key_column(plain, sf.table(swapped, quasi=names)) is None
    repeated = plain.frame.with_columns(record_no=pl.lit("1"))
    assert key_column(plain, sf.table(repeated, quasi=names)) is None
