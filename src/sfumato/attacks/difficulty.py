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
) -> Mapping[str, Sides]:
    """For each way of trying what is got of each person by the records of others, inside and
    outside; NaN of whom it was not tried. Who is outside is guessed by the half that they are not
    of; who is inside by either, and gets the mean. Empty where the attack does not apply to it."""
    if field.outside.size < 2 * FEWEST_RECORDS:
        return {}
    fold = rng.permutation(field.outside.size) % 2
    halves: list[dict[str, Sides]] = []
    for half in (0, 1):
        records = field.others.take(field.outside[fold == half])
        others = records.without([n for n in records.names if n not in field.names])
        beside = replace(field.beside(others), mechanism=field.mechanism)
        try:
            halves.append({one.what: _by_person(one, field) for one in attack(beside)})
        except MeasureError:
            return {}
    one, two = halves
    return {
        what: ((one[what][0] + two[what][0]) / 2.0, np.where(fold == 0, two[what][1], one[what][1]))
        for what in one
        if what in two
    }


def of_attempts(found: Mapping[str, Sides], trial: Trial) -> Sides | None:
    """How hard the attempts of a trial are; None where that is not known of each."""
    if trial.what not in found:
        return None
    found_in, found_out = found[trial.what]
    inside = _picked(found_in, trial.who, trial.inside.size)
    outside = _picked(found_out, trial.who_outside, trial.outside.size)
    return None if inside is None or outside is None else (inside, outside)


def _picked(known: np.ndarray, who: np.ndarray | None, size: int) -> np.ndarray | None:
    """What is known of the people whom attempts are about, if it is of all."""
    if who is not None and (who < 0).any():
        return None
    found = known if who is None else known[who]
    return None if found.size != size or np.isnan(found).any() else found


def _by_person(trial: Trial, field: Field) -> Sides:
    found = []
    for size, hits, who in (
        (field.inside.size, trial.inside, trial.who),
        (field.outside.size, trial.outside, trial.who_outside),
    ):
        by = np.full(size, np.nan)
        if who is not None:
            by[who[who >= 0]] = hits[who >= 0]
        elif hits.size == size:
            by = hits
        found.append(by)
    return found[0], found[1]
