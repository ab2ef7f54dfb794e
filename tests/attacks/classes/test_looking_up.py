"""RepU, DiSCO, homogeneity and background knowledge beside their definitions, on small tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import given as hypothetically
from hypothesis import strategies as st

from sfumato.attacks.classes.background_knowledge import BackgroundKnowledge
from sfumato.attacks.classes.disco import DiSCO
from sfumato.attacks.classes.homogeneity import Homogeneity
from sfumato.attacks.classes.repu import RepU
from sfumato.attacks.controlled import ControlledAttack
from sfumato.attacks.trial import Trial
from sfumato.errors import MeasureError
from tests.attacks.classes.small import (
    Row,
    given,
    people_rows,
    people_table,
    released_table,
    shown,
)
from tests.oracle import looking_up as oracle


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Row]]:
    """People inside, as many outside, and a release."""
    inside = draw(people_rows)
    outside = draw(people_rows)
    most = min(len(inside), len(outside))
    inside, outside = inside[:most], outside[:most]
    return inside, outside, draw(shown(inside + outside))


def tried(
    attack: ControlledAttack, inside: Sequence[Row], outside: Sequence[Row], records: Sequence[Row]
) -> Trial:
    field, context = given(people_table(inside), released_table(records), people_table(outside))
    (trial,) = attack.trials(field, context)
    return trial


def keys(rows: Sequence[Row]) -> list[tuple[Any, Any]]:
    return [row[:2] for row in rows]


@settings(max_examples=150, deadline=None)
@hypothetically(situations())
def test_repu_is_as_defined(drawn: tuple[list[Row], list[Row], list[Row]]) -> None:
    inside, outside, records = drawn
    trial = tried(RepU(), inside, outside, records)
    for found, people in ((trial.inside, inside), (trial.outside, outside)):
        wanted = [
            oracle.replicated_unique(i, keys(people), keys(records)) for i in range(len(people))
        ]
        assert found.tolist() == wanted
    alone = [keys(inside).count(key) == 1 for key in keys(inside)]
    assert trial.detail["unique"] == pytest.approx(np.mean(alone))


@settings(max_examples=150, deadline=None)
@hypothetically(situations(), st.integers(0, 2))
def test_what_is_learnt_is_as_defined(
    drawn: tuple[list[Row], list[Row], list[Row]], facts: int
) -> None:
    inside, outside, records = drawn
    assume(len({row[2] for row in (*inside, *outside)}) > 1)
    targets = [row[2] for row in records]

    def wanted(people: Sequence[Row], facts: int) -> list[bool]:
        return [oracle.learnt(p[:2], p[2], keys(records), targets, facts) for p in people]

    disco = tried(DiSCO(), inside, outside, records)
    assert disco.inside.tolist() == wanted(inside, 0)
    assert disco.outside.tolist() == wanted(outside, 0)
    own = [row[2] for row in inside]
    within = [oracle.disclosive(i, keys(inside), own) for i in range(len(inside))]
    assert disco.detail["dio"] == pytest.approx(np.mean(within))
    everything = oracle.shown(targets)
    for attack, known in ((Homogeneity(), 0), (BackgroundKnowledge(facts=facts), facts)):
        if attack.name == "background-knowledge" and len(everything) <= facts + 1:
            with pytest.raises(MeasureError, match="whatever the release"):
                tried(attack, inside, outside, records)
            continue
        trial = tried(attack, inside, outside, records)
        assert trial.easy is not None
        for found, easy, people in (
            (trial.inside, trial.easy[0], inside),
            (trial.outside, trial.easy[1], outside),
        ):
            for i, person in enumerate(people):
                values = oracle.said(person[:2], keys(records), targets)
                if attack.name == "background-knowledge":
                    fits = oracle.fitting(person[:2], keys(records))
                    values = values if fits else everything
                alone = oracle.believed(person[2], values, known)
                assert found[i] == (easy[i] if alone is None else alone)


def test_values_are_ruled_out_at_random_and_the_rest_is_guessed() -> None:
    """x holds in three of six, y in two, z in one: who has y is guessed where x is ruled out."""
    records = [(20, "a", ill) for ill in "xxxyyz"]
    # The last two are there so that their values are told apart.
    people = [(20, "a", "y")] * 4000 + [(25, "b", "x"), (25, "b", "z")]
    trial = tried(BackgroundKnowledge(), people, people, records)
    assert trial.inside[:4000].max() == 0.0
    assert trial.detail["certain"] == 0.0
    assert trial.detail["guessed"] == pytest.approx(0.5, abs=0.04)
    assert trial.easy is not None
    assert trial.easy[0][:4000].max() == 0.0
    # A fourth that none of theirs shows: else two facts would tell it of any release.
    more = [*records, (25, "b", "w")]
    both = tried(BackgroundKnowledge(facts=2), people, people, more)
    assert both.inside[:4000].min() == 1.0
    with pytest.raises(MeasureError, match="more than 3 values"):
        tried(BackgroundKnowledge(facts=2), people, people, records)


def test_a_suppressed_cell_fits_everybody_and_a_missing_one_only_what_is_missing() -> None:
    people = people_table([(20, "a", "x"), (21, None, "y")])
    records = people_table([(20, None, "x"), (21, None, "y")])
    for hidden, wanted in ((False, [0, 1]), (True, [1, 1])):
        masks = {"place": np.array([hidden, False])}
        field, context = given(people, records.with_columns([], suppressed=masks), people)
        (trial,) = RepU().trials(field, context)
        assert trial.inside.tolist() == wanted
