"""How hard each person is to guess, whoever is in the data.

Whether somebody is guessed right depends above all on the person: of a child the marital status is
no riddle. So the same attack is given, in place of the release, the records of half of the people
outside, and what it gets of everybody else says how hard they are. That knows nothing of who is in
the data and is a control variate: bounds are narrower by what both attacks share, and no less true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import MeasureError
from .field import Field
from .trial import Trial

Sides = tuple[np.ndarray, np.ndarray]
FEWEST_RECORDS = 500
"""Fewer records tell too little to be worth the time."""


def difficulty(
    attack: Callable[[Field], Sequence[Trial]], field: Field, rng: np.random.Generator
) -> Mapping[str, tuple[Trial, Sides]]:
    """For each way of trying (which the trial shows): what is got of each attempt, inside and
    outside, by the records of others. Who is outside is guessed by the half that they are not of;
    who is inside by either, and gets the mean. Empty where the attack does not apply to it."""
    if field.outside.size < 2 * FEWEST_RECORDS:
        return {}
    fold = rng.permutation(field.outside.size) % 2
    halves: list[dict[str, Trial]] = []
    for half in (0, 1):
        records = field.others.take(field.outside[fold == half])
        kept = [n for n in records.names if n not in field.names]
        other = replace(field.beside(records.without(kept)), mechanism=field.mechanism)
        try:
            halves.append({one.what: one for one in attack(other)})
        except MeasureError:
            return {}
    found: dict[str, tuple[Trial, Sides]] = {}
    for what, one in halves[0].items():
        two = halves[1].get(what)
        if two is None or not same_people(one, two):
            continue
        of = fold if one.who_outside is None else fold[one.who_outside]
        inside = (one.inside + two.inside) / 2.0
        found[what] = one, (inside, np.where(of == 0, two.outside, one.outside))
    return found


def of_attempts(found: Mapping[str, tuple[Trial, Sides]], trial: Trial) -> Sides | None:
    """How hard the attempts of a trial are; None where that is not known of the same people."""
    if trial.what not in found:
        return None
    other, hard = found[trial.what]
    return hard if same_people(trial, other) else None


def same_people(one: Trial, other: Trial) -> bool:
    """Whether two trials are about the same people in the same order."""
    return (one.inside.size, one.outside.size) == (other.inside.size, other.outside.size) and all(
        a is b or (a is not None and b is not None and np.array_equal(a, b))
        for a, b in ((one.who, other.who), (one.who_outside, other.who_outside))
    )
