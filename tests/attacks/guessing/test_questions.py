"""Predicates of released records: who fits them, read from the tables value by value."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.guessing.columns import Columns
from sfumato.attacks.guessing.questions import Questions
from sfumato.attacks.guessing.singling_out import Judge, chosen_columns, described, single_columns
from tests.attacks.membership.people import context, people
from tests.oracle import guessing as oracle

Row = dict[str, Any]


def asked(own: sf.Table, released: sf.Table, others: sf.Table) -> tuple[Field, Questions]:
    field = Field.of(context(own, released, others), 0)
    return field, Questions(Columns.of(field, range(len(field.names))))


def some_people(n: int, seed: int) -> sf.Table:
    """Few values, so that many people are alike in some columns."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"x": rng.integers(0, 9, n), "c": rng.choice(list("abcd"), n)})
    gone = [pl.Series(rng.random(n) < 0.15) for _ in frame.columns]
    frame = frame.with_columns(
        pl.when(g).then(None).otherwise(pl.col(c)).alias(c)
        for g, c in zip(gone, frame.columns, strict=True)
    )
    return sf.table(frame, quasi=["x", "c"])


def test_exact_records_are_asked_for_on_the_side_away_from_the_median() -> None:
    own, others = people(60, 1, missing=True), people(50, 2, missing=True)
    field, questions = asked(own, own, others)
    names = questions.columns.names
    rng = np.random.default_rng(0)
    rows, chosen = np.arange(60), chosen_columns(60, len(names), rng)
    made = questions.of_records(rows, chosen, rng)
    assert len(made) == 60
    medians = {name: own[name].drop_nulls().to_physical().median() for name in names[:3]}

    def fits(record: Row, columns: list[str], person: Row) -> bool:
        for name in columns:
            a, b = record[name], person[name]
            if name not in medians or a is None or b is None:
                if a != b:
                    return False
                continue
            a, b = ((x - dt.date(1970, 1, 1)).days if name == "born" else x for x in (a, b))
            if b < a if a >= medians[name] else b > a:
                return False
        return True

    records = own.frame.to_dicts()
    listed = [[n for n, c in zip(names, chosen[i], strict=True) if c] for i in range(60)]
    predicates = [
        lambda person, i=i: fits(records[i], listed[i], person)
        for i in range(60)  # type: ignore[misc]
    ]
    trial = Judge(field, questions).trial("these", made, 0)
    inside, outside = own.frame.to_dicts(), others.frame.to_dicts()
    counts = questions.ask(questions.released, made, 1e9).expected
    assert counts.tolist() == [sum(map(p, records)) for p in predicates]
    assert (trial.inside == 1).tolist() == oracle.singled_out(predicates, inside)
    for i in np.flatnonzero(trial.inside):
        assert predicates[i](inside[int(trial.who[i])])  # type: ignore[index]
    theirs = questions.ask(questions.people(slice(60, None)), made, 1e9).expected
    assert theirs.tolist() == [sum(map(p, outside)) for p in predicates]


def ends_of(cell: str) -> tuple[float, float]:
    """The ends of a label; that it may be missing, too, is not read."""
    ends = [float(part) for part in cell.removesuffix(" or missing").strip("[]").split(", ")]
    return ends[0], ends[-1]


def in_box(person: Row, record: Row, exact: set[float]) -> bool:
    """Whether somebody is what a record's cells say, or nearest to the number in one."""
    x, cell = person["x"], record["x"]
    if cell != "*" and (x is None or cell is None):
        if x is not cell:
            return False
    elif cell != "*":
        low, high = ends_of(cell)
        if low < high:
            if not low <= x <= high:
                return False
        elif min(exact, key=lambda one: (abs(x - one), one)) != low:
            return False  # half-way between two numbers is the lower one's
    c, cell = person["c"], record["c"]
    if cell == "*" or cell is None or c is None:
        return cell == "*" or c is cell
    return c in cell.removesuffix(" or missing").strip("{}").split(", ")


@pytest.mark.parametrize("k", [2, 5])
def test_a_box_holds_what_its_cells_stand_for(k: int) -> None:
    own, others = some_people(60, 1), some_people(40, 2)
    masked = sf.protect(own, sf.method("mondrian", k=k), seed=0).pair.masked
    frame = masked.frame.with_columns(
        pl.when(pl.int_range(60) % 7 == j).then(pl.lit("*")).otherwise(pl.col(c)).alias(c)
        for j, c in enumerate(masked.names)
    )
    frame = frame.with_columns(
        x=pl.when(pl.int_range(60) % 8 < 3).then(2 * (pl.int_range(60) % 8)).otherwise("x")
    )
    frame[6, "x"] = frame[6, "c"] = "*"
    released = sf.Table(frame, masked.schema)
    _, questions = asked(own, released, others)
    everybody = [*own.frame.to_dicts(), *others.frame.to_dicts()]
    listed = frame.to_dicts()
    made = questions.boxes(np.arange(60), np.ones((60, 2), bool))
    told = [record for record in listed if any(cell != "*" for cell in record.values())]
    assert len(made) == len(told) == 59
    found = questions.ask(questions.people(slice(None)), made, 1e9).expected
    numbers = [ends_of(r["x"]) for r in listed if r["x"] not in (None, "*")]
    exact = {low for low, high in numbers if low == high}
    assert {0.0, 2.0, 4.0} <= exact
    for i, record in enumerate(told):
        assert found[i] == sum(in_box(person, record, exact) for person in everybody)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_a_part_of_a_generalized_record_lies_within_it(seed: int, k: int) -> None:
    own, others = some_people(40, seed), some_people(40, seed + 1)
    masked = sf.protect(own, sf.method("mondrian", k=k), seed=0).pair.masked
    _, questions = asked(own, masked, others)
    rng = np.random.default_rng(seed)
    rows, chosen = np.arange(40), np.ones((40, 2), bool)
    parts, boxes = questions.of_records(rows, chosen, rng), questions.boxes(rows, chosen)
    of = questions.columns
    for i in range(40):
        wide = of.low[i, 0] < of.high[i, 0]
        if wide:
            assert of.low[i, 0] <= parts.low[2 * i] <= parts.high[2 * i] <= of.high[i, 0]
        assert of.covers(0)[boxes.place[2 * i + 1]][of.covers(0)[parts.place[2 * i + 1]]].all()
    # Every part is expected to be found in its own record.
    assert (questions.ask(questions.released, parts, 1e9).expected > 0).all()


def test_expected_records_are_what_labels_hold_on_average() -> None:
    own = sf.table({"c": ["a", "a", "a", "b", "c"], "x": [1, 2, 3, 4, 5]}, quasi=["c", "x"])
    cells = {"c": ["a", "a", "{a, b}", "c", "*"], "x": ["1", "[1, 3]", "[1, 5]", "4", "*"]}
    masked = own.with_columns(
        [pl.Series(name, values) for name, values in cells.items()],
        [own.schema[name].with_(generalized=True) for name in cells],
    )
    _, questions = asked(own, masked, own)
    made = questions.boxes(np.array([0, 1]), np.array([[False, True], [True, False]]))
    found = questions.ask(questions.released, made, 1e9).expected
    # "a": two cells; {a, b} by 2 + 1/2 to 1/2; "*" by what is exact, as if one more were even.
    assert found[0] == pytest.approx(2 + 2.5 / 3 + (2 + 1 / 3) / 4)
    # 1 to 3: one number, the same range, half of 1 to 5; "*" as the exact ones, of which it is one.
    assert found[1] == pytest.approx(1 + 1 + 0.5 + 0.5)


def test_single_columns_are_asked_for_what_occurs_once_and_for_extremes() -> None:
    released = sf.table({"x": [1.0, 2.0, 2.0, None], "c": ["a", "b", "b", "d"]}, quasi=["x", "c"])
    own = sf.table({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "c", "a"]}, quasi=["x", "c"])
    _, questions = asked(own, released, own)
    made = single_columns(questions.columns)
    told = [described(questions.columns, made, i) for i in range(len(made))]
    values = [one["x"] for one in told if "x" in one]
    assert sorted(values) == sorted(
        ["1", "missing", "at least 1", "at least 2", "at most 1", "at most 2"]
    )
    # "a", and "d", which nobody has.
    assert sum("c" in one for one in told) == 2


def test_columns_are_chosen_two_at_least_and_all_numbers_of_them_as_often() -> None:
    chosen = chosen_columns(8_000, 5, np.random.default_rng(0))
    sizes = np.bincount(chosen.sum(axis=1), minlength=6)
    assert sizes[:2].tolist() == [0, 0]
    assert sizes[2:].min() > 1_800
    assert np.ptp(chosen.mean(axis=0)) < 0.03


def test_equal_predicates_are_found_whatever_the_order_of_conditions() -> None:
    own = people(40, 1)
    _, questions = asked(own, own, own.take(np.arange(20)))
    rows = np.array([3, 5, 3, 3])
    chosen = np.zeros((4, 6), bool)
    chosen[:, [0, 4]] = True
    chosen[3, 5] = True
    made = questions.of_records(rows, chosen, np.random.default_rng(0))
    assert made.distinct().tolist() == [0, 1, 3]
    assert len(made.of(np.array([3, 0]))) == 2
    twice = type(made).joined([made, made])
    assert len(twice) == 8
    assert twice.distinct().tolist() == [0, 1, 3]
