"""How hard people are to guess: learnt of others, and a control variate for what an attack gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.controlled import ControlledAttack
from sfumato.attacks.difficulty import difficulty, of_attempts
from sfumato.attacks.field import Field
from sfumato.attacks.guessing.inference import Inference
from sfumato.attacks.trial import Trial
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.protocols import Context


def people(n: int, seed: int, *, alone: bool = False) -> sf.Table:
    """Pay follows age but for noise: the young are easy to guess, the old are not. Who is alone has
    a height that nobody shares."""
    rng = np.random.default_rng([7, seed])
    age = rng.integers(20, 60, n)
    pay = np.where(rng.random(n) < (age - 20) / 50, rng.integers(0, 4, n), age // 15).astype(str)
    height = rng.normal(size=n) if alone else np.round(rng.normal(size=n))
    return sf.table(
        {"age": age, "height": height, "pay": pay}, quasi=["age", "height"], confidential=["pay"]
    )


def field_of(release: sf.Table, n: int = 3_000) -> tuple[Field, Context]:
    pair = Pair(people(n, 0), release, None)
    context = Context(pair, np.random.default_rng(0), reference=people(n, 1))
    return Field.of(context, 0), context


def tried(field: Field, context: Context) -> list[Trial]:
    return Inference.build({})._calibrated(field, context)


def test_bounds_are_narrower_where_others_tell_who_is_easy() -> None:
    field, context = field_of(people(3_000, 2))
    trees = next(one for one in tried(field, context) if "trees" in one.what)
    bare = replace(trees, hard=None)
    assert trees.hard is not None
    assert trees.advantage.error < 0.85 * bare.advantage.error
    assert abs(trees.advantage.value) < 3 * trees.advantage.error


@pytest.mark.parametrize("seed", range(5))
def test_what_leaks_still_does(seed: int) -> None:
    """Of the people's own records what is got beyond the control is what it was."""
    own, others = people(3_000, seed, alone=True), people(3_000, seed + 9, alone=True)
    context = Context(Pair(own, own, None), np.random.default_rng(seed), reference=others)
    nearest = next(one for one in tried(Field.of(context, 0), context) if "nearest" in one.what)
    assert nearest.hard is not None
    bare = replace(nearest, hard=None).advantage
    assert nearest.advantage.value == pytest.approx(bare.value, abs=3 * bare.error)
    assert nearest.advantage.lower() > 0.9


def test_nobody_is_guessed_by_records_that_hold_their_own() -> None:
    """The half by which somebody outside is guessed is the other one, and of people in the data
    neither half knows anything."""
    field, context = field_of(people(3_000, 2))
    asked: list[Field] = []

    def attack(other: Field) -> Sequence[Trial]:
        asked.append(other)
        coded = other.coded(1_000_000)
        known = {row.tobytes() for row in np.ascontiguousarray(coded.cells)}
        sides = [
            np.array([row.tobytes() in known for row in np.ascontiguousarray(side)], dtype=float)
            for side in (coded.inside, coded.outside)
        ]
        return [Trial("equal", *sides)]

    # Records of a number that nobody shares: whoever meets their own succeeds.
    alone = [
        sf.table({"number": np.arange(3_000) + 3_000 * i, "pay": ["a"] * 3_000},
                 quasi=["number"], confidential=["pay"])
        for i in range(2)
    ]  # fmt: skip
    pair = Pair(alone[0], alone[0], None)
    field = Field.of(Context(pair, context.rng, reference=alone[1]), 0)
    hard = difficulty(attack, field, np.random.default_rng(0))
    inside, outside = hard["equal"]
    assert inside.sum() == 0
    assert outside.sum() == 0
    assert sorted(one.released for one in asked) == [1_500, 1_500]
    assert all(one.names == field.names for one in asked)


def test_it_is_known_of_whom_it_was_tried_on() -> None:
    field, _ = field_of(people(3_000, 2))
    hits, some = np.arange(3_000) % 2.0, np.arange(1, 3_000, 2)

    def attack(_: Field) -> Sequence[Trial]:
        few = Trial("few", hits[some], hits[some], who=some, who_outside=some)
        return [Trial("all", hits, hits), few]

    hard = difficulty(attack, field, np.random.default_rng(0))
    for what, who in (("all", None), ("all", some), ("few", some), ("few", some[::-1])):
        asked = hits if who is None else hits[who]
        found = of_attempts(hard, Trial(what, asked, asked, who=who, who_outside=who))
        assert found is not None
        assert (found[0] == asked).all()
        assert (found[1] == asked).all()
    assert of_attempts(hard, Trial("other", hits, hits)) is None
    assert of_attempts(hard, Trial("all", hits[1:], hits)) is None
    assert of_attempts(hard, Trial("few", hits, hits)) is None
    assert of_attempts(hard, Trial("all", hits, hits, who=some - 2, who_outside=some)) is None


def test_others_who_have_records_of_people_in_the_data_hide_nothing() -> None:
    """Six in ten of the others are people in the data once more, a little changed."""
    own, others = people(3_000, 0, alone=True), people(3_000, 1, alone=True)
    height = others["height"].to_numpy().copy()
    rows = np.arange(1_800)
    frame = others.frame.clone()
    for name in ("age", "pay"):
        mixed = frame[name].to_list()
        mixed[:1_800] = own[name][:1_800].to_list()
        frame = frame.with_columns(pl.Series(name, mixed, dtype=frame[name].dtype))
    height[rows] = own["height"].to_numpy()[rows] + 1e-9
    frame = frame.with_columns(pl.Series("height", height))
    twins = sf.table(frame, quasi=["age", "height"], confidential=["pay"])
    leak = sf.Table(pl.concat([own.frame[2_000:], others.frame[:2_000]]), own.schema)
    context = Context(Pair(own, leak, None), np.random.default_rng(0), reference=twins)
    nearest = next(one for one in tried(Field.of(context, 0), context) if "nearest" in one.what)
    assert nearest.hard is not None
    bare = replace(nearest, hard=None).advantage
    assert nearest.hard[0].mean() > nearest.hard[1].mean() + 0.05
    assert nearest.advantage == bare


def test_an_attack_that_does_not_apply_to_records_of_others_is_judged_as_it_was() -> None:
    class Picky(ControlledAttack):
        name: ClassVar[str] = "picky"
        knows: ClassVar[str] = "The release."
        guesses: ClassVar[bool] = True

        def trials(self, field: Field, context: Context) -> Sequence[Trial]:
            if field.released < 3_000:
                raise MeasureError("too few", remedy="none")
            hits: Any = context.rng.random((2, 3_000)) < 0.5
            return [Trial("coin", *hits.astype(float))]

    field, context = field_of(people(3_000, 2))
    (trial,) = Picky.build({})._calibrated(field, context)
    assert trial.hard is None


def test_few_people_outside_are_not_parted() -> None:
    field, context = field_of(people(900, 2), n=900)
    assert all(one.hard is None for one in tried(field, context))
