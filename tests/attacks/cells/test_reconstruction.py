"""Reconstruction of cells of which it is known what can be learnt."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.cells.hidden import Hidden, credit, medians, nearness
from sfumato.attacks.cells.reconstruction import Reconstruction
from sfumato.attacks.field import Field
from sfumato.attacks.withstand import DEADLINE
from sfumato.errors import MeasureError, ParameterError
from sfumato.protocols import Measurement
from tests.attacks.cells.planted import context, labelled, people, without
from tests.oracle import cells as oracle

TREE, BOOSTED = "cells by a tree of columns", "cells by boosted trees"
COUNTED, RECORDS = "cells by published counts", "records by a tree of columns"


def attacked(own: sf.Table, released: sf.Table, others: sf.Table, **more: Any) -> Measurement:
    return Reconstruction(**more).measure(context(own, released, others))


def test_what_follows_for_anybody_is_found_and_no_advantage() -> None:
    own, others = people(2500, 1), people(2500, 2)
    released = without(own, 0.5, ["job"])
    trials = attacked(own, released, others).detail["trials"]
    for what in (TREE, BOOSTED, RECORDS):
        assert trials[what]["success"] > 0.98
        assert trials[what]["control"] > 0.98
        assert 0.2 < trials[what]["naive"] < 0.35
    assert "place - job" in trials[TREE]["links"] or "job - place" in trials[TREE]["links"]
    assert trials[BOOSTED]["columns"] == ["job"]


def test_what_follows_from_nothing_is_guessed_as_anybody_would() -> None:
    own, others = people(2500, 3), people(2500, 4)
    found = attacked(own, without(own, 0.5, ["luck"]), others)
    for what in (TREE, BOOSTED):
        assert found.detail["trials"][what]["success"] == pytest.approx(0.25, abs=0.05)
        assert found.detail["trials"][what]["advantage"] == pytest.approx(0.0, abs=0.05)


def test_guesses_stay_under_the_label() -> None:
    # A label leaves two jobs; the place, known as one of two, tells which.
    own, others = people(2500, 5), people(2500, 6)
    pairs = {"j0": "{j0, j1}", "j1": "{j0, j1}", "j2": "{j2, j3}", "j3": "{j2, j3}"}
    places = {f"p{i}": f"{{p{i % 4}, p{i % 4 + 4}}}" for i in range(8)}
    half = np.arange(own.height) % 2 == 0
    released = labelled(
        own,
        {
            "job": [pairs[v] if h else v for v, h in zip(own["job"], half, strict=True)],
            "place": [places[v] for v in own["place"]],
        },
    )
    trials = attacked(own, released, others).detail["trials"]
    # The job is certain, the place one of two.
    assert trials[TREE]["success"] == pytest.approx(0.625, abs=0.03)
    assert trials[TREE]["control"] == pytest.approx(0.625, abs=0.03)
    assert trials[RECORDS]["success"] == pytest.approx(0.5, abs=0.04)


def test_counts_give_away_who_is_counted_and_nobody_else() -> None:
    own, others = people(3000, 7), people(3000, 8)
    released = without(own, 0.15, ["luck"])
    trials = attacked(own, released, others, marginals=[["born", "age", "luck"]]).detail["trials"]
    # Nearly every combination of birth date and age is one person's.
    assert trials[COUNTED]["success"] > 0.9
    assert trials[COUNTED]["control"] < 0.35
    assert trials[COUNTED]["left_out"] == 0.0
    assert trials[TREE]["advantage"] < 0.1


def test_counts_of_people_who_are_not_attacked_count_too() -> None:
    own, others = people(3000, 7), people(3000, 8)
    released = without(own, 0.15, ["luck"])
    more = {"marginals": [["born", "age", "luck"]], "sample": 1000}
    found = attacked(own, released, others, **more)
    assert found.detail["trials"][COUNTED]["success"] > 0.9
    # Right with those who were attacked, and whose record hides something.
    assert found.per_record is not None
    assert np.isfinite(found.per_record).sum() == 1000
    right = found.per_record > 0.9
    assert right.sum() > 80
    assert released.suppressed("luck")[right].all()


def test_groups_beyond_what_can_be_solved_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = people(2500, 7), people(2500, 8)
    released = without(own, 0.15, ["luck"])
    monkeypatch.setattr("sfumato.attacks.cells.counts.CANDIDATES", 400)
    trials = attacked(own, released, others, marginals=[["born", "age", "luck"]]).detail["trials"]
    assert 0.5 < trials[COUNTED]["left_out"] < 0.95
    monkeypatch.setattr("sfumato.attacks.cells.counts.OF_A_GROUP", 1)
    trials = attacked(own, released, others, marginals=[["born", "age", "luck"]]).detail["trials"]
    assert COUNTED not in trials


def test_numbers_are_right_near_the_guess() -> None:
    own, others = people(2500, 9), people(2500, 10)
    released = labelled(own, {"age": [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in own["age"]]})
    trials = attacked(own, released, others).detail["trials"]
    # Of ten years, the best and those next to it; the naive guess does not know more.
    wanted = 0.3
    assert trials[TREE]["success"] == pytest.approx(wanted, abs=0.06)
    assert trials[TREE]["naive"] == pytest.approx(trials[TREE]["success"], abs=0.03)
    assert trials[TREE]["control"] == pytest.approx(trials[TREE]["success"], abs=0.03)


@pytest.mark.parametrize("missing", [False, True])
def test_every_kind_of_column_is_attacked_and_nothing_changed(missing: bool) -> None:
    own, others = people(600, 11, missing=missing), people(600, 12, missing=missing)
    released = without(own, 0.3, own.names)
    before = own.frame.clone(), released.frame.clone()
    given = context(own, released, others)
    first = Reconstruction(marginals=[["place", "job"], ["age"]]).measure(given)
    assert own.frame.equals(before[0])
    assert released.frame.equals(before[1])
    again = Reconstruction(marginals=[["place", "job"], ["age"]]).measure(
        context(own, released, others)
    )
    assert again.detail == first.detail
    assert first.per_record is not None
    assert (again.per_record == first.per_record).all()
    assert set(first.detail["trials"]) == {TREE, RECORDS, BOOSTED, COUNTED}
    other = Reconstruction().measure(context(own, released, others, seed=6))
    assert other.detail["trials"][TREE] != first.detail["trials"][TREE]


def test_records_are_those_of_people_however_they_are_ordered() -> None:
    own, others = people(1500, 13), people(1500, 14)
    released = without(own, 0.5, ["job"])
    rows = np.random.default_rng(0).permutation(own.height)
    found = Reconstruction().measure(context(own, released.take(rows), others, rows=rows))
    assert found.detail["trials"][TREE]["success"] > 0.98


@pytest.mark.parametrize("enough", [1, 10_000])
def test_others_are_covered_and_take_one_place(
    enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.attacks.cells.strangers.ENOUGH", enough)
    own, others = people(800, 15, missing=True), people(500, 16, missing=True)
    release = sf.protect(own, sf.method("mondrian", k=4, columns=["age", "luck"]), seed=1)
    masked, mechanism = release.pair, release.plan.mechanism
    given = context(own, masked.masked, others, rows=masked.rows, mechanism=mechanism)
    field = Field.of(given, 0)
    hidden = Hidden.of(field, given.rng, "a test", [field.names.index("age")])
    assert np.unique(hidden.outside).size == hidden.outside.size > 200
    assert (field.own[hidden.inside] == hidden.own).all()  # type: ignore[index]
    for record, o in zip(hidden.own.tolist(), hidden.outside.tolist(), strict=True):
        for name in ("age", "luck"):
            label, value = masked.masked[name][record], others[name][int(field.outside[o])]
            # Where too few are found, exact cells may be anybody's.
            if enough == 1 or str(label)[0] in "[{*":
                assert _covers(label, value), (label, value)
    # Hidden cells stay as they are, all others are the stranger's.
    n, j = len(hidden.own), field.names.index("code")
    assert (hidden.cells[n:, j] == field.coded().outside[hidden.outside, j]).all()
    at = hidden.open
    assert (hidden.cells[:n][at] == hidden.cells[n:][at]).all()


def _covers(label: str | None, value: Any) -> bool:
    if label is None or label == "*":
        return label == "*" or value is None
    base = label.removesuffix(" or missing")
    if value is None:
        return base != label
    if base.startswith("["):
        low, high = base[1:-1].split(", ")
        return bool(float(low) <= value <= float(high))
    return str(value) in base.strip("{}").split(", ")


def test_releases_that_do_not_apply() -> None:
    own, others = people(300, 17), people(300, 18)
    with pytest.raises(MeasureError, match="no cell"):
        attacked(own, own, others)
    with pytest.raises(MeasureError):
        Reconstruction().measure(context(own, without(own, 0.5, ["job"]), others, aligned=False))
    with pytest.raises(ParameterError, match="marginals"):
        Reconstruction.build({"marginals": [["job"], []]})
    with pytest.raises(MeasureError, match="marginals"):
        attacked(own, without(own, 0.5, ["job"]), others, marginals=[["nobody"]])
    # Nobody outside could be anybody of these.
    older = labelled(own, {"age": [f"[{a}, {a + 9}]" for a in own["age"]]})
    children = others.with_columns([pl.Series("age", np.full(300, 7))])
    with pytest.raises(MeasureError, match="larger reference"):
        attacked(own, older, children)
    with pytest.raises(MeasureError):
        attacked(own, own.take(np.arange(0)), others)


def test_it_stops_in_time() -> None:
    given = context(people(300, 19), without(people(300, 19), 0.5, ["job"]), people(300, 20))
    given.kept[DEADLINE] = monotonic() - 1.0
    with pytest.raises(MeasureError, match="its time was over"):
        Reconstruction().measure(given)


def test_equally_good_guesses_share() -> None:
    weights = np.array([[0.4, 0.4, 0.2], [0.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    assert credit(weights, np.array([1, 0, 2])).tolist() == [0.5, 0.0, 1.0]
    near = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    # The middle catches all.
    assert credit(weights, np.array([2, 0, 0]), near).tolist() == [1.0, 0.0, 1.0]
    assert credit(weights[2:], np.array([0]), np.eye(3)).tolist() == [0.0]


def test_bins_are_near_by_the_numbers_of_their_people() -> None:
    own, others = people(500, 21), people(500, 22)
    field = Field.of(context(own, own, others), 0)
    j = field.names.index("age")
    lies, near = medians(field, j), nearness(field, j)
    assert near is not None
    ages = np.unique(np.concatenate((own["age"].to_numpy(), others["age"].to_numpy())))
    assert lies[:-2].tolist() == ages.tolist()
    spread = np.subtract(*np.percentile(own["age"].to_numpy(), [75, 25]))
    for a in range(ages.size):
        assert near[a, :-2].tolist() == [oracle.near(ages[a], age, spread) for age in ages]
    assert nearness(field, field.names.index("luck")) is None
    # A date is near by the spread of all dates alone.
    j = field.names.index("born")
    lies, near = medians(field, j), nearness(field, j)
    assert near is not None
    days = field.numbers[2][:, j]
    spread = np.subtract(*np.percentile(days, [75, 25]))
    assert (near[0, :-2] == (lies[:-2] - lies[0] <= 0.05 * spread)).all()
    assert 1 < near[0].sum() < 20


def test_who_is_not_under_the_own_label_is_left_out() -> None:
    own, others = people(400, 23), people(400, 24)
    wrong = np.arange(400) < 100
    texts = [
        f"[{80 if w else a}, {a + 9 + 80 * w}]" for a, w in zip(own["age"], wrong, strict=True)
    ]
    given = context(own, labelled(own, {"age": texts}), others)
    field = Field.of(given, 0)
    hidden = Hidden.of(field, given.rng, "a test", [field.names.index("age")])
    assert hidden.inside.size > 150
    assert not wrong[field.inside[hidden.inside]].any()
