"""Attacks with a control: what an intruder gets of people in the data beyond what the same attack
gets of people who are not.

An attack is tried on a release beside people who were held out before its plan ran. Where nobody
was, the plan is run again on a random half of the people and the other half are the control: then
the plan was attacked, not the release itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter

from ..data.linkage.linking import require_records, require_reference
from ..data.people.participants import held_out
from ..errors import MeasureError
from ..kernels.statistics.advantage import CONFIDENCE, Advantage, advantage, holm
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement
from .field import Field

LIMIT = 0.05
"""What an attack may get beyond the control, unless a plan says otherwise."""
FEWEST = 2_000
"""People attacked, and controls, from which on anything is shown."""
MOST_ALIKE = 0.8
"""Share of attempts of which the naive guess is right from which on it leaves nearly nothing to be
learnt: then those are judged of whom it is wrong."""
_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Trial:
    """One way in which an attack was tried, and with whom it succeeded.

    Successes are 1, failures 0; a guess between t equally good ones counts 1/t.
    """

    what: str
    inside: np.ndarray
    """float64: of each attempt on people in the data"""
    outside: np.ndarray
    """float64: of each attempt on others"""
    easy: tuple[np.ndarray, np.ndarray] | None = None
    """The same for the naive guess, which knows nothing of who is in the data."""
    who: np.ndarray | None = None
    """int64: which person (a place among those attacked) each attempt is about, -1 nobody; None
    where attempts are the people, in order."""
    who_outside: np.ndarray | None = None
    claims: bool = False
    """Whether attempts are claims that somebody is in the data."""
    beyond: bool = False
    """Whether the naive guess knows who is in the data, too, and only what is got beyond it counts.
    """
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What else may be told: shares, never counts of a handful."""
    example: Callable[[int], Mapping[str, Any]] | None = None
    """What the owner is shown of an attempt that succeeded."""
    error: float = 0.0
    """The least standard error of the share of successes outside, where it was extrapolated."""
    rest: bool = False
    """Whether these are only those of whom the naive guess is wrong."""

    @property
    def judged(self) -> Trial:
        """The attempts that decide. A disease that one in fifty has is guessed right of the others
        by anybody, and among thousands nothing would be seen of whether it is learnt of the few."""
        if self.easy is None or self.beyond or np.concatenate(self.easy).mean() <= MOST_ALIKE:
            return self
        sides = [np.flatnonzero(easy < 0.5) for easy in self.easy]
        listed = (self.who, self.who_outside)
        who = [rows if own is None else own[rows] for own, rows in zip(listed, sides, strict=True)]
        example = self.example
        return replace(
            self,
            what=f"{self.what}, where it is rare",
            inside=self.inside[sides[0]],
            outside=self.outside[sides[1]],
            easy=None,
            who=who[0],
            who_outside=who[1],
            example=None if example is None else lambda i: example(int(sides[0][i])),
            rest=True,
        )

    @property
    def apart(self) -> bool:
        """Whether it decides nothing but what shows: there are too few of whom the naive guess is
        wrong."""
        return self.rest and not self.shown

    @property
    def advantage(self) -> Advantage:
        """What it got beyond the control."""
        own, theirs = self.easy or (None, None)
        kinds = {"claims": self.claims, "beyond": self.beyond}
        return advantage(self.inside, self.outside, own, theirs, **kinds, least=self.error)

    @property
    def shown(self) -> bool:
        """Whether there were enough attempts of both kinds to show anything."""
        return min(self.inside.size, self.outside.size) >= FEWEST

    def among(self, inside: np.ndarray, outside: np.ndarray) -> Trial | None:
        """The attempts on some of the people; None where there are none of one kind."""
        kept = [
            mask if who is None else (who >= 0) & mask[np.maximum(who, 0)]
            for mask, who in ((inside, self.who), (outside, self.who_outside))
        ]
        if any(
            not mask.any() or mask.size != own.size
            for mask, own in zip(kept, (self.inside, self.outside), strict=True)
        ):
            return None
        easy = self.easy and (self.easy[0][kept[0]], self.easy[1][kept[1]])
        return replace(self, inside=self.inside[kept[0]], outside=self.outside[kept[1]], easy=easy)


@dataclass(frozen=True)
class Tried:
    """The figures of a trial."""

    what: str
    attempts: int
    controls: int
    found: Advantage
    naive: float | None
    shown: bool
    apart: bool
    detail: Mapping[str, Any]
    atypical: Mapping[str, Any] | None

    @classmethod
    def of(cls, trial: Trial, field: Field) -> Tried:
        """Of a trial, for all and for the most atypical people."""
        few = trial.among(*field.atypical)
        return cls(
            trial.what,
            trial.inside.size,
            trial.outside.size,
            trial.advantage,
            None if trial.easy is None else float(trial.easy[0].mean()),
            trial.shown,
            trial.apart,
            trial.detail,
            None if few is None else {"attempts": few.inside.size, **told(few.advantage)},
        )


def told(found: Advantage) -> dict[str, Any]:
    """An advantage as words and numbers."""
    return {
        "success": found.inside,
        "control": found.outside,
        "advantage": found.value,
        "interval": list(found.interval),
    }


class ControlledAttack(Attack):
    """An attack whose figure is what it gets beyond the control: the one-sided upper 95 % bound of
    its advantage, the worst of the ways in which it is tried, corrected for how many these are.
    """

    compares: ClassVar[str | None] = "tables"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    needs_reference: ClassVar[bool] = True
    limit: ClassVar[float | None] = LIMIT
    knows: ClassVar[str]
    """What its intruder has, in one sentence."""

    sample: int = Parameter(
        20_000,
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
        trials = list(self.trials(field, beside))
        tried = [trial.judged for trial in trials]
        # Of somebody there is of whom the naive guess is wrong; else all that is learnt is nothing.
        tried = [trial for trial in tried if min(trial.inside.size, trial.outside.size)] or trials
        figures = [Tried.of(trial, field) for trial in tried]
        return self._result(field, tried, figures, context)

    def published(self, found: Measurement) -> Measurement:
        """Whom it was tried on, and in few steps what it got at most."""
        keys = ("knows", "attacked", "people", "controls")
        detail = {key: found.detail[key] for key in keys if key in found.detail}
        bare = replace(found, per_record=None, private={}, interval=None, baseline=None)
        return replace(bare, value=rounded_up(found.value), detail=detail)

    def _result(
        self, field: Field, trials: Sequence[Trial], tried: Sequence[Tried], context: Context
    ) -> Measurement:
        plan = field.pair is not context.pair
        rows = field.inside
        if plan and context.again is not None:
            rows = context.again.kept["half"][2][rows]
        bounds = bounded({one.what: one.found for one in tried if not one.apart})
        bounds |= leaking({one.what: one.found for one in tried if one.apart})
        worst = int(np.argmax([bounds[one.what] for one in tried]))
        best = tried[worst]
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
        }
        if field.left_out:
            detail["left_out"] = dict(field.left_out)
        if few := [one.what for one in tried if one.apart]:
            detail["apart"] = few
        short = [one for one in tried if not one.shown and not one.apart]
        if all(one.apart for one in tried):
            short = list(tried)
        if short:
            why = lacking(short[0].attempts, short[0].controls)
            detail |= {"refuses": True, "because": f"not shown: {why}", "lacking": why}
        per_record = np.full(context.pair.original.height, np.nan)
        return self.result(
            value,
            interval=(min(best.found.interval[0], value), max(best.found.interval[1], value)),
            detail=detail,
            private={
                "advantages": {t.what: t.found for t in tried if not t.apart},
                "apart": {t.what: t.found for t in tried if t.apart},
                "not_shown": [one.what for one in short],
                "example": _example(trials[worst], field, rows),
            },
            per_record=_by_person(trials, rows, per_record),
            per_record_of="original",
        )


def lacking(attempts: int, controls: int) -> str:
    """What is lacking where too few were attacked to show anything."""
    return (
        f"tried on {attempts:,} people and {controls:,} controls, and {FEWEST:,} of each are needed"
    )


def bounded(found: Mapping[Any, Advantage]) -> dict[Any, float]:
    """The upper bounds of several advantages, corrected for their number, from 0 to 1."""
    bounds = holm(list(found.values()), LIMIT)
    return {key: min(max(b, 0.0), 1.0) for key, b in zip(found, bounds, strict=True)}


def leaking(found: Mapping[Any, Advantage]) -> dict[Any, float]:
    """What is learnt at least, by the lower bounds, corrected for their number: all that too few
    people can show."""
    level = 1.0 - (1.0 - CONFIDENCE) / max(len(found), 1)
    return {key: min(max(one.lower(level), 0.0), 1.0) for key, one in found.items()}


def _by_person(trials: Sequence[Trial], rows: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The greatest success with each person of the original; NaN where nobody tried."""
    found[rows] = 0.0
    for trial in trials:
        who = np.arange(trial.inside.size) if trial.who is None else trial.who
        about = who >= 0
        np.fmax.at(found, rows[who[about]], trial.inside[about])
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
