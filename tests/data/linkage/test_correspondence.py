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


def _people(n: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "income": np.round(rng.lognormal(7, 0.5, n)),
        }
    )


def _noisy(frame: pl.DataFrame) -> pl.DataFrame:
    noise = np.random.default_rng(3).normal(0, 40, frame.height)
    return frame.with_columns(income=pl.col("income") + pl.Series(noise))


def _resorted(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sample(fraction=1, shuffle=True, seed=4).sort("age", "sex", maintain_order=True)


def _shuffled_from(frame: pl.DataFrame, start: int) -> pl.DataFrame:
    return pl.concat([frame[:start], frame[start:].sample(fraction=1, shuffle=True, seed=5)])


def _held(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    pair = Pair.of(*(sf.table(frame, quasi=frame.columns) for frame in (one, other)))
    found = agreement(pair)
    assert found is not None
    return found.clear


@pytest.mark.parametrize("change", [lambda frame: frame, _noisy], ids=["same", "noisy"])
def test_positions_are_not_believed_where_a_part_was_moved(change: Any) -> None:
    people = _people()
    for start in (0, 300, 420, 540):
        assert not _held(people, change(_shuffled_from(people, start))), start
    ordered = people.sort("age", "sex")
    assert not _held(ordered, change(_resorted(ordered)))
    assert _held(people, change(people))
    assert _held(ordered, change(ordered))


def test_values_given_to_others_in_order_are_still_in_order() -> None:
    people = _people()
    swapped = people.with_columns(pl.col("income").shuffle(seed=6))
    assert _held(people, swapped)
    assert not _held(people, swapped.sample(fraction=1, shuffle=True, seed=7))
    # Nothing tells a swapped income in a sorted file from a file that was sorted again.
    assert not _held(people.sort("age", "sex"), swapped.sort("age", "sex"))


def test_rows_that_are_all_the_same_are_at_their_place() -> None:
    few = _people(200).select("age", "sex").sort("age", "sex")
    assert _held(few, few)


def test_large_tables_in_order_are_believed_in_every_part() -> None:
    frame = hospital(6000, seed=3).frame.select("sex", "birth_date", "zip", *NUMBERS)
    assert _held(frame, frame)
    assert not _held(frame, _shuffled_from(frame, 5500))
