"""Describing people so that exactly one fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.guessing.columns import Columns
from sfumato.attacks.guessing.predicate_singling_out import PredicateSinglingOut
from sfumato.attacks.guessing.questions import Conditions, Questions
from sfumato.attacks.guessing.singling_out import Judge, SinglingOut, isolated
from sfumato.errors import MeasureError
from sfumato.kernels.neighbours.predicates import Fits
from sfumato.kernels.statistics.advantage import Advantage
from sfumato.protocols import Context
from tests.attacks.membership.people import attacked, context, people
from tests.oracle import guessing as oracle

NAMES = ("singling-out", "predicate-singling-out")


def advantages(name: str, *tables: sf.Table, **parameters: object) -> dict[str, Advantage]:
    found: dict[str, Advantage] = attacked(name, *tables, **parameters).private["advantages"]
    return found


def shuffled(table: sf.Table, seed: int = 0) -> sf.Table:
    """Every column drawn by itself."""
    rng = np.random.default_rng(seed)
    n = table.height
    return table.with_columns([table[c].gather(rng.integers(0, n, n)) for c in table.names])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("missing", [False, True])
def test_whoever_is_in_a_raw_release_is_pointed_at(name: str, missing: bool) -> None:
    own, others = (people(4_000, seed, missing=missing) for seed in (1, 2))
    found = attacked(name, own, own.take(np.random.default_rng(0).permutation(4_000)), others)
    assert "refuses" not in found.detail
    for one in found.private["advantages"].values():
        assert one.inside > 0.9
        assert one.outside < 0.3
        assert one.value > 0.9
    assert found.value > 0.9
    example = found.private["example"]
    assert own.frame.row(example["row"], named=True)["pay"] == example["values"]["pay"]


@pytest.mark.parametrize("name", NAMES)
def test_independent_draws_and_other_people_point_at_nobody(name: str) -> None:
    own, others, strangers = (people(4_500, seed) for seed in (1, 2, 3))
    for released in (shuffled(strangers), strangers):
        found = attacked(name, own, released, others)
        assert found.value <= 0.05
        assert "refuses" not in found.detail
        for one in found.private["advantages"].values():
            assert one.inside > 0.0
            assert one.value - 3 * one.error < 0 < one.value + 3 * one.error


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [0.3, 3.0])
def test_fewer_or_more_others_are_corrected_for(name: str, share: float) -> None:
    """In each of a few samples, and on average."""
    scores: list[float] = []
    for seed in range(6):
        own, strangers = (people(1_500, 10 * seed + i) for i in (1, 3))
        others = people(round(1_500 * share), 10 * seed + 2)
        for one in advantages(name, own, strangers, others).values():
            scores.append(one.value / one.error)
    assert max(map(abs, scores)) < 4.5
    assert abs(np.mean(scores)) < 1.0
    own, others = people(1_500, 1), people(round(1_500 * share), 2)
    for what, one in advantages(name, own, own, others).items():
        assert one.value > 0.6 or "few records" in what


@pytest.mark.parametrize("controls", [4_000, 1_500])
def test_a_tenth_of_copies_is_a_tenth_beyond_the_control(controls: int) -> None:
    """Descriptions by numbers that nobody shares."""
    own, others, strangers = (numbers(4_000, seed) for seed in (1, 2, 3))
    mixed = sf.Table(pl.concat([own.frame[:400], strangers.frame[400:]]), own.schema)
    found = advantages("singling-out", own, mixed, others.take(np.arange(controls)))
    assert found["one column"].interval[0] > 0.0
    assert found["one column"].value == pytest.approx(0.1, abs=0.02)
    # With "at least" and "at most" somebody else always fits as well.
    assert found["several columns"].value < 0.02


def numbers(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    return sf.table({c: rng.normal(size=n) for c in "abc"}, quasi=["a", "b", "c"])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_finds_the_same_and_nothing_is_altered(name: str) -> None:
    own, others = people(700, 1, missing=True), people(600, 2, missing=True)
    masked = sf.protect(own, sf.method("mondrian", k=3), seed=0).pair.masked
    before = [table.frame.clone() for table in (own, masked, others)]
    first, again = (attacked(name, own, masked, others) for _ in range(2))
    assert first.detail == again.detail
    assert np.array_equal(first.per_record, again.per_record, equal_nan=True)
    for table, frame in zip((own, masked, others), before, strict=True):
        assert table.frame.equals(frame)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_records_and_columns_tells_nothing(name: str) -> None:
    own, others, strangers = (people(2_000, seed) for seed in (1, 2, 3))
    mixed = sf.Table(pl.concat([own.frame[:1_000], strangers.frame[1_000:]]), own.schema)
    rng = np.random.default_rng(5)
    turned = [
        sf.Table(
            table.frame[rng.permutation(2_000)].select(own.names[::-1]),
            table.schema.only(own.names[::-1]),
        )
        for table in (own, mixed, others)
    ]
    assert turned[0].names == own.names[::-1]
    first, again = advantages(name, own, mixed, others), advantages(name, *turned)
    for what, one in first.items():
        assert abs(one.value - again[what].value) < 3 * np.hypot(one.error, again[what].error)
        assert one.value > 0.2


class Noted(Questions):
    """Notes what it is asked of the release."""

    def ask(self, whom: Any, asked: Conditions, most: float, **hashed: Any) -> Fits:
        if whom is self.released:
            NOTED.append(asked.keys())
        return super().ask(whom, asked, most, **hashed)


NOTED: list[np.ndarray] = []


@pytest.mark.parametrize("columns", [["age", "place", "level"], ["age", "born", "pay"]])
def test_no_description_is_tried_twice_and_as_many_are_kept_as_are_wanted(
    columns: list[str],
) -> None:
    """Of 500 records; few of age, place and level are alone, nearly all of the others."""
    gone = [name for name in people(1, 1).names if name not in columns]
    own, others = (people(500, seed).without(gone) for seed in (1, 2))
    field = Field.of(context(own, own, others), 0)
    questions = Noted(Columns.of(field, range(3)))
    NOTED.clear()
    trials = SinglingOut(attempts=400)._several(
        questions, Judge(field, questions), np.random.default_rng(0)
    )
    keys = np.concatenate(NOTED)
    assert np.unique(keys).size == keys.size
    made = trials[0].detail["made"]
    if "pay" in columns:
        assert sum(map(len, NOTED)) > 400
        assert made * 2_000 <= 400
        assert made * 2_000 == 400 or len(NOTED) == 8
    else:
        assert len(NOTED) == 8
        fits = questions.ask(questions.released, asked_again(field, questions), 9.0).expected
        assert 0 < made * 2_000 <= (fits == 1).sum()


def asked_again(field: Field, questions: Questions) -> Conditions:
    """Every description that could be made of the exact records."""
    chosen = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], bool)
    rows = np.repeat(np.arange(field.released), 4)
    every = np.tile(chosen, (field.released, 1))
    made = questions.of_records(rows, every, np.random.default_rng(1))
    return made.of(made.distinct())


def test_groups_are_described_where_no_record_is_alone() -> None:
    own, others = (people(3_000, seed).without(["born", "pay"]) for seed in (1, 2))
    masked = sf.protect(own, sf.method("mondrian", k=5), seed=0).pair.masked
    found = attacked("singling-out", own, masked, others)
    assert any("few records" in what for what in found.detail["trials"])
    assert found.detail["trials"]["one column"]["made"] < 0.05


def test_what_could_not_be_made_failed_and_of_few_people_little_is_told() -> None:
    def trial(people: tuple[int, int], attempts: int) -> Any:
        own = Fits(np.array([1.0, 1.0, 0.0]), np.array([4, 5, -1]))
        theirs = Fits(np.array([0.0, 2.0, 1.0]), np.array([-1, 0, 7]))
        return isolated("x", own, theirs, people, attempts=attempts, example=lambda i: {"i": i})

    found = trial((5_000, 5_000), 2_500)
    assert found.inside.sum() == 2.0
    assert found.outside.sum() == 1.0
    assert found.inside.size == found.outside.size == 2_500
    assert found.who[:4].tolist() == [4, 5, -1, -1]
    assert found.shown
    found = trial((5_000, 900), 2_500)
    assert (found.inside.size, found.outside.size) == (2_500, 900)
    assert not found.shown
    found = trial((2, 5_000), 3)
    assert [found.example(i)["i"] for i in range(2)] == [0, 2]


@pytest.mark.parametrize("name", NAMES)
def test_labels_missing_and_suppressed_cells_and_single_columns_are_read(name: str) -> None:
    own, others = people(200, 1, missing=True), people(150, 2, missing=True)
    for step in (sf.method("mondrian", k=5), sf.method("local-suppression", k=3)):
        masked = sf.protect(own, step, seed=0).pair.masked
        for one in advantages(name, own, masked, others).values():
            assert np.isfinite(one.value)
            assert 0.0 <= one.inside <= 1.0
    for column in own.names:
        gone = [other for other in own.names if other != column]
        for one in advantages(
            name, own.without(gone), own.without(gone), others.without(gone)
        ).values():
            assert np.isfinite(one.value)


def hidden(table: sf.Table) -> sf.Table:
    """Of every cell nothing is told."""
    stars = [pl.Series(name, ["*"] * table.height) for name in table.names]
    return table.with_columns(
        stars, [table.schema[name].with_(generalized=True) for name in table.names]
    )


def test_a_release_that_tells_nothing_is_said_to() -> None:
    own, others = people(90, 1), people(90, 2)
    empty = own.take(np.empty(0, np.int64))
    for attack in (SinglingOut(), PredicateSinglingOut()):
        with pytest.raises(MeasureError, match="no record"):
            attack.measure(context(own, empty, others))
        constant = attack.measure(context(own, own.take(np.zeros(50, np.int64)), others))
        assert all(one.value < 0.2 for one in constant.private["advantages"].values())
    with pytest.raises(MeasureError, match="suppressed"):
        PredicateSinglingOut().measure(context(own, hidden(own), others))
    found = SinglingOut().measure(context(own, hidden(own), others))
    assert all(one.inside < 0.05 for one in found.private["advantages"].values())


@pytest.mark.parametrize("seed", range(3))
def test_values_that_occur_once_point_at_those_who_alone_have_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{i:03}" for i in range(150)]
    own, released, others = (sf.table({"x": rng.choice(names, 120)}, quasi=["x"]) for _ in "abc")
    (trial,) = SinglingOut().trials(*_field(own, released, others))
    wanted = [oracle.pointed_at(released["x"].to_list(), t["x"].to_list()) for t in (own, others)]
    made = len(wanted[0])
    assert made > 20
    assert sorted(trial.inside[:made]) == sorted(map(float, wanted[0]))
    assert trial.outside[:made].sum() == sum(wanted[1])


def _field(own: sf.Table, released: sf.Table, others: sf.Table) -> tuple[Field, Context]:
    given = context(own, released, others)
    return Field.of(given, 0), given


def test_predicates_are_so_light_that_they_should_fit_nobody() -> None:
    """In a release of groups of five the hash alone leaves one; it is as light as is asked."""
    weights: list[np.ndarray] = []

    class Weighed(Questions):
        def ask(self, whom: Any, asked: Conditions, most: float, **hashed: Any) -> Fits:
            if "weights" in hashed:
                weights.append(hashed["weights"])
                plain = super().ask(whom, asked, np.inf)
                weights.append(plain.expected / len(whom.low))
            return super().ask(whom, asked, most, **hashed)

    own, others = people(4_000, 1), people(12_000, 2)
    masked = sf.protect(own, sf.method("mdav", k=5), seed=0).pair.masked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.attacks.guessing.predicate_singling_out.Questions", Weighed)
        found = attacked("predicate-singling-out", own, masked, others)
    hashed, controls = weights[0], weights[3]
    assert hashed.min() > 0.0
    assert hashed.max() <= 1.0
    # Each was weighed by 6,000 people; the other 6,000 weigh them the same.
    assert (hashed * controls).mean() < 1 / (10 * 4_000)
    assert found.detail["control"] < 0.1
    assert found.detail["naive"] == pytest.approx(0.0905, abs=1e-3)


def test_predicates_need_people_to_weigh_and_to_try() -> None:
    own = people(20, 1)
    with pytest.raises(MeasureError, match="two people"):
        PredicateSinglingOut().measure(context(own, own, people(1, 2)))
