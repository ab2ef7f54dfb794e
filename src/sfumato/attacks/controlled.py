"""Attacks with a control: what an intruder gets of people in the data beyond what the same attack
gets of people who are not.

An attack is tried on a release beside people who were held out before its plan ran. Where nobody
was, the plan is run again on a random half of the people and the other half are the control: then
the plan was attacked, not the release itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter

from ..data.linkage.linking import require_records, require_reference
from ..data.people.participants import held_out
from ..errors import MeasureError
from ..kernels.statistics.advantage import CONFIDENCE, Advantage, holm
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement
from .difficulty import difficulty, of_attempts
from .field import Field
from .guesses import constant
from .trial import FEWEST, Trial, Tried, told

LIMIT = 0.05
"""What an attack may get beyond the control, unless a plan says otherwise."""
SAMPLE = 20_000
"""People attacked, and controls, unless an attack says otherwise."""
_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class ControlledAttack(Attack):
    """An attack whose figure is what it gets beyond the control: the one-sided upper 95 % bound of
    its advantage, the worst of the ways in which it is tried, corrected for how many these are.
    """

    compares: ClassVar[str | None] = "tables"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    needs_reference: ClassVar[bool] = True
    limit: ClassVar[float | None] = LIMIT
    costly: ClassVar[bool] = True
    knows: ClassVar[str]
    """What its intruder has, in one sentence."""
    slow: ClassVar[bool] = False
    """Whether the others are worth trying first."""
    guesses: ClassVar[bool] = False
    """Whether it guesses a value of each person: then it learns, too, how hard each is to guess."""

    sample: int = Parameter(
        SAMPLE,
        ge=0,
        description="people to attack, and controls, drawn where there are more; 0: all",
    )

    @abstractmethod
    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        """Try. Raises `MeasureError` where the attack does not apply to the release."""

    def measure(self, context: Context) -> Measurement:
        require_records(context.pair, self.name)
        beside = controlled(context, self.name)
        field = Field.of(beside, self.sample)
        trials = self._calibrated(field, beside)
        judged = {trial.what: trial.judged for trial in trials}
        # Where the naive guess is right of everybody, there is nothing to be learnt.
        tried = [one for one in judged.values() if min(one.inside.size, one.outside.size)]
        if not tried:
            raise MeasureError(
                f"{self.name} has nothing to learn: the naive guess is right of everybody",
                remedy="attack what differs between people",
            )
        told: dict[str, Any] = {}
        if easy := [what for what, one in judged.items() if one not in tried]:
            told["nothing_to_learn"] = easy
        if same := [field.names[j] for j in field.secret if constant(field, j)]:
            told["one_value"] = same
        schema = field.pair.original.schema
        lost = [n for n in field.left_out if n in schema and n not in field.names]
        if lost:
            told["left_out"] = {name: field.left_out[name] for name in lost}
        if len(lost) < len(field.left_out):
            told["notes"] = {n: why for n, why in field.left_out.items() if n not in lost}
        rare = [part for trial in trials for part in trial.rare]
        return self._result(field, tried, rare, told, context)

    def _calibrated(self, field: Field, context: Context) -> list[Trial]:
        """Its trials; of guesses with how hard each person is."""
        before = deepcopy(context.rng)
        trials = list(self.trials(field, context))
        if not self.guesses:
            return trials

        def again(other: Field) -> Sequence[Trial]:
            return self.trials(other, replace(context, rng=deepcopy(before)))

        hard = difficulty(again, field, deepcopy(before))
        return [replace(trial, hard=of_attempts(hard, trial)) for trial in trials]

    def published(self, found: Measurement) -> Measurement:
        """Whom it was tried on, and in few steps what it got at most; what it did not look at."""
        keys = ("knows", "attacked", "people", "controls", "left_out")
        detail = {key: found.detail[key] for key in keys if key in found.detail}
        bare = replace(found, per_record=None, private={}, interval=None, baseline=None)
        return replace(bare, value=rounded_up(found.value), detail=detail)

    def _result(
        self,
        field: Field,
        trials: Sequence[Trial],
        rare: Sequence[Trial],
        more: Mapping[str, Any],
        context: Context,
    ) -> Measurement:
        tried = [Tried.of(trial, field) for trial in trials]
        alone = [Tried.of(trial, field) for trial in rare]
        plan = field.pair is not context.pair
        rows = field.inside
        if plan and context.again is not None:
            rows = context.again.kept["half"][2][rows]
        bounds = bounded({one.what: one.found for one in tried if not one.apart})
        apart = {one.what: one.found for one in (*tried, *alone) if one.apart}
        bounds |= leaking(apart)
        everything = [*tried, *alone]
        worst = int(np.argmax([bounds[one.what] for one in everything]))
        best = everything[worst]
        shows = leaking({one.what: one.found for one in everything})
        value = bounds[best.what]
        detail: dict[str, Any] = {
            "knows": self.knows,
            "attacked": "the plan, run again on a random half" if plan else "the release",
            "people": int(field.inside.size),
            "controls": int(field.outside.size),
            "worst": best.what,
            **told(best.found),
            "naive": best.naive,
            "trials": {
                t.what: {**told(t.found), "upper": bounds[t.what], "naive": t.naive, **t.detail}
                for t in tried
            },
            "atypical": {t.what: dict(t.atypical) for t in tried if t.atypical is not None},
            "leaks": max(shows.values()) > LIMIT,
            **more,
        }
        if alone:
            detail["rare_values"] = len(alone)
        if few := [one.what for one in tried if one.apart]:
            detail["apart"] = few
        short = [one for one in tried if not one.shown and not one.apart]
        if all(one.apart for one in tried):
            short = list(tried)
        if short:
            why = lacking(int(field.inside.size), int(field.outside.size))
            detail |= {"refuses": True, "because": f"not shown: {why}", "lacking": why}
        per_record = np.full(context.pair.original.height, np.nan)
        return self.result(
            value,
            interval=(min(best.found.interval[0], value), max(best.found.interval[1], value)),
            detail=detail,
            private={
                "advantages": {t.what: t.found for t in tried if not t.apart},
                "apart": apart,
                "certain": max(shows.values()),
                "not_shown": [one.what for one in short],
                "example": _example([*trials, *rare][worst], field, rows),
                "controls": _by_control(trials, np.full(field.outside.size, np.nan)),
            },
            per_record=_by_person(trials, rows, per_record),
            per_record_of="original",
        )


def lacking(people: int, controls: int) -> str:
    """What is lacking where too few were attacked to show anything. How many of all these decided
    would be how many have a value."""
    said = f"tried on {people:,} people and {controls:,} controls"
    if min(people, controls) >= FEWEST:
        said += f", of which fewer than {FEWEST:,} could decide"
    return f"{said}, and {FEWEST:,} of each are needed"


def bounded(found: Mapping[Any, Advantage]) -> dict[Any, float]:
    """The upper bounds of several advantages, corrected for their number, from 0 to 1. Holm's order
    is that of a limit of 5 %, whatever a plan allows: a release is accepted only where all bounds
    keep the limit, and none is ever below its own 95 % bound."""
    bounds = holm(list(found.values()), LIMIT)
    return {key: min(max(b, 0.0), 1.0) for key, b in zip(found, bounds, strict=True)}


def leaking(found: Mapping[Any, Advantage]) -> dict[Any, float]:
    """What is learnt at least, by the lower bounds, corrected for their number: all that too few
    people can show. 0 where an exact test does not say that anything is."""
    wrong = (1.0 - CONFIDENCE) / max(len(found), 1)
    lower = {key: min(one.lower(1.0 - wrong), 1.0) for key, one in found.items()}
    return {
        key: bound if bound > 0.0 and found[key].chance <= wrong else 0.0
        for key, bound in lower.items()
    }


def _by_person(trials: Sequence[Trial], rows: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The greatest success with each person of the original; NaN where nobody tried."""
    found[rows] = 0.0
    for trial in trials:
        who = np.arange(trial.inside.size) if trial.who is None else trial.who
        about = who >= 0
        np.fmax.at(found, rows[who[about]], trial.inside[about])
    return found


def _by_control(trials: Sequence[Trial], found: np.ndarray) -> np.ndarray:
    """The greatest success with each of the people outside who were attacked, in the order in which
    they were drawn; NaN where nobody tried."""
    for trial in trials:
        who = trial.who_outside
        if who is None:
            if trial.who is not None or trial.outside.size != found.size:
                continue  # attempts that are about nobody in particular
            who = np.arange(found.size)
        about = who >= 0
        np.fmax.at(found, who[about], trial.outside[about])
    return found


def _example(trial: Trial, field: Field, rows: np.ndarray) -> Mapping[str, Any]:
    """An attempt that succeeded, in full: for the owner alone."""
    hit = np.flatnonzero(trial.inside >= 1.0)
    if not hit.size:
        return {}
    i = int(hit[0])
    about = i if trial.who is None else int(trial.who[i])
    person = {} if about < 0 else {"row": int(rows[about]), "values": field.person(about)}
    return {"how": trial.what, **person, **(trial.example(i) if trial.example else {})}


def controlled(context: Context, asking: str) -> Context:
    """The context with people who are not in the data: as given, or the plan run again on a half of
    the people, the other half being the control."""
    if context.reference is not None:
        require_reference(context.reference)
        return context
    again = context.again
    if again is None:
        raise MeasureError(
            f"{asking} needs people who are not in the data",
            remedy='[input] reference = 0.2 holds some out before masking, reference = "FILE" '
            "names others; a release made here can run its plan again on a half",
        )
    if "half" not in again.kept:
        original = context.pair.original
        rng = context.rng if context.stream is None else context.stream("half")
        out = held_out(original, 0.5, rng=rng)
        rows = np.flatnonzero(~out)
        again.kept["half"] = (
            again.run(original.take(rows), 0),
            original.take(np.flatnonzero(out)),
            rows,
        )
    pair, others, _ = again.kept["half"]
    return replace(context, pair=pair, reference=others, partition=None)


def rounded_up(value: float) -> float:
    """A bound as it is published: the next of a few steps above it.

    >>> rounded_up(0.0312), rounded_up(0.0), rounded_up(1.0)
    (0.05, 0.01, 1.0)
    """
    return next((step for step in _GRID if value <= step), 1.0)
