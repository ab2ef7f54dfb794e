"""One plan tried on some of the people: what it loses, what attacks get, what it breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from ...attacks.withstand import Withstand
from ...data.linkage.strangers import shared_columns, typed_as
from ...data.people.participants import held_out, kept_together
from ...data.table import Table
from ...errors import MeasureError, SfumatoError
from ...protocols import Finding
from ...release.plan.plan import Plan
from ...release.plan.purpose import LIMIT, Purpose
from ...release.plan.requirement import Requirement
from ...release.records.again import again
from ...release.records.evidence import Measuring
from ...release.records.run import attempt
from ...rng import stream
from ...texts import one_line
from ..runner import digest
from .loss import Loss

WITHSTAND = Withstand.name


@dataclass(frozen=True)
class Figures:
    """What came of one trial."""

    label: str
    seed: int
    """That of the release that was tried; its plan and the people give it again."""
    records: int
    """Of the people that were released."""
    released: int = 0
    """Records that the release has."""
    loss: float = 1.0
    parts: Mapping[str, float] = field(default_factory=dict)
    """The loss of each use."""
    columns: Mapping[str, float] = field(default_factory=dict)
    """The loss of each column by itself."""
    risk: float = 1.0
    """What the best attack got beyond the control: the largest estimate."""
    low: float = 1.0
    """The lower end of its interval, which may lie below 0."""
    high: float = 1.0
    """The upper bound of all attacks, corrected for their number."""
    worst: str = ""
    """Which attack that is, and on what."""
    ended: bool = False
    """Whether attacks ended with that one, so that others may get more."""
    attacked: int = 0
    """People attacked; controls are as many."""
    rough: bool = False
    """Whether so few were attacked that an estimate decides nothing."""
    leaks: bool = False
    """Whether an attack gets more than the limit for certain."""
    certain: float = 0.0
    """What some attack gets at least, be it another one than the best: corrected lower bounds."""
    required: Mapping[str, tuple[float, float, bool, bool]] = field(default_factory=dict)
    """Each requirement: its figure, its limit, whether that is a floor, and whether it is met."""
    cpu: float = 0.0
    """Seconds of making, judging and attacking."""
    making: float = 0.0
    """Seconds of making alone."""
    failure: str = ""
    """Why there is no release, or no figure of it."""

    @property
    def made(self) -> bool:
        """Whether there was a release."""
        return self.released > 0

    @property
    def broken(self) -> tuple[str, ...]:
        """Requirements that are not met, attacks aside."""
        return tuple(name for name, (*_, met) in self.required.items() if not met)

    def judged(self, strict: bool) -> float:
        """What is compared with the limit of attacks: the estimate, or the bound."""
        return self.high if strict and not self.rough else self.risk

    def likely(self, limit: float) -> bool:
        """Whether everything required may well hold where more are attacked: the largest of many
        estimates is too large, so it is taken half-way to the lower end of its interval."""
        return not self.failure and not self.broken and (self.low + self.risk) / 2 <= limit

    def kept(self, limit: float, strict: bool) -> bool:
        """Whether everything required holds."""
        return not self.failure and not self.broken and self.judged(strict) <= limit


@dataclass(frozen=True)
class Trial:
    """A plan to be tried on so many people."""

    label: str
    plan: Plan
    records: int
    confirming: bool = False
    """Whether on the people who had no part in the choice."""
    attacked: int | None = None
    """How many of them are attacked, and controls; as `withstand` has it where it is not said."""
    rough: bool = False
    """Whether so few are attacked that an estimate decides nothing, only what is certain."""
    hurried: bool = False
    """Whether it ends with the first attack that decides."""

    @property
    def key(self) -> str:
        """Another trial has another one."""
        return digest(
            self.label, self.plan.to_toml(), self.records, self.confirming, self.attacked,
            self.rough, self.hurried,
        )  # fmt: skip


@dataclass(frozen=True)
class People:
    """The ground of an adviser's trials: two halves, each the control of the other."""

    chosen: Table
    """Those by whom plans are chosen, in random order: a sample is their beginning."""
    confirming: Table
    """Those by whom the choice is confirmed; before that they are the control."""
    reference: Table | None
    """Others who are the control of both, where a file of them is given."""
    loss: Loss
    withstand: Withstand
    limit: float
    strict: bool
    """Whether the bound decides, as where `withstand` is required; else the estimate."""
    linked: bool
    """Whether rows must stay people's."""
    seed: int

    @classmethod
    def of(
        cls, table: Table, reference: Table | None, plan: Plan, purpose: Purpose, loss: Loss,
        seed: int,
    ) -> People:  # fmt: skip
        """Half and half; people of one household or with several records stay together."""
        asked = next((r for r in plan.requirements if r.name == WITHSTAND), None)
        allowed = purpose.at_most
        if allowed is None:
            allowed = LIMIT if asked is None or asked.at_most is None else asked.at_most
        out = held_out(table, 0.5, rng=stream(seed, 0, "advise/halves"))
        chosen, confirming = (
            _shuffled(table.take(np.flatnonzero(side)), stream(seed, i, "advise/order"))
            for i, side in enumerate((~out, out))
        )
        if reference is not None:
            reference = typed_as(reference, table, shared_columns(reference, table))
        thing = Withstand.build({}) if asked is None else asked.thing
        assert isinstance(thing, Withstand)
        strict = asked is not None
        return cls(
            chosen, confirming, reference, loss, thing, allowed, strict, purpose.one_to_one, seed
        )

    @cached_property
    def key(self) -> str:
        """Of everything that a figure depends on but the trial."""
        tables = [t for t in (self.chosen, self.confirming, self.reference) if t is not None]
        words = (self.loss, self.withstand.plan_words(), self.limit, self.strict, self.linked)
        return digest(*words, self.seed, _FORM, *tables)

    def seed_of(self, trial: Trial) -> int:
        """The seed of a trial's release."""
        own = stream(self.seed, int(trial.confirming), f"advise/{trial.label}")
        return int(own.integers(2**62))

    def sides(self, trial: Trial) -> tuple[Table, Table]:
        """The people who are released, and the control."""
        sides = [self.chosen, self.confirming]
        if trial.confirming:
            sides.reverse()
        # The same tables for every trial: what is found out about them is kept with them.
        found = []
        for side in sides:
            key = side is self.confirming, trial.records
            if key not in self._samples:
                self._samples[key] = _first(side, trial.records)
            found.append(self._samples[key])
        people, others = found
        return people, others if self.reference is None else self.reference

    @cached_property
    def _samples(self) -> dict[tuple[bool, int], Table]:
        return {}

    def _attacks(self, trial: Trial) -> Withstand:
        more: dict[str, float] = {} if trial.attacked is None else {"sample": trial.attacked}
        if trial.hurried:
            more |= {"until": self.limit, "sure": trial.rough}
        return self.withstand.model_copy(update=more)

    def tried(self, trial: Trial) -> Figures:
        """Release these people by the plan, judge and attack it."""
        seed = self.seed_of(trial)
        people, others = self.sides(trial)
        found = Figures(trial.label, seed, people.height)
        began = time.process_time()
        try:
            findings, draft = attempt(trial.plan, people, seed, others)
            pair, making = draft.pair, time.process_time() - began
            found = replace(found, released=pair.masked.height, making=making, cpu=making)
            if self.linked and pair.rows is None:
                return replace(found, failure="one-to-one: its rows are nobody's")
            found = replace(found, required=_required(findings))
            rerun = again(trial.plan, seed, others) if trial.confirming and self.strict else None
            measuring = Measuring(seed, draft.groups, others, trial.plan.mechanism, rerun)
            loss, parts, columns = self.loss.figures(pair, measuring.take, others)
            found = replace(found, loss=loss, parts=parts, columns=columns)
            attacks = measuring.take(self._attacks(trial), pair)
        except MeasureError as error:
            failure = f"not measured: {one_line(error.message)}"
            return replace(found, failure=failure, cpu=time.process_time() - began)
        except SfumatoError as error:
            return replace(found, failure=one_line(str(error)), cpu=time.process_time() - began)
        except Exception as error:  # the other trials are worth hours
            told = f"it failed by a fault of its own ({type(error).__name__}: {error})"
            return replace(found, failure=one_line(told), cpu=time.process_time() - began)
        told = attacks.detail["attacks"]
        best = max(told, key=lambda name: float(told[name]["advantage"]), default="")
        one = told.get(best, {"advantage": 1.0, "interval": (1.0, 1.0), "worst": "", "people": 0})
        ended = bool(attacks.detail.get("ended", False))
        if self.strict and not trial.rough and not ended and attacks.detail.get("refuses", False):
            found = replace(found, failure=one_line(str(attacks.detail["because"])))
        measured = attacks.private["measurements"].values()
        certain = max((float(one.private["certain"]) for one in measured), default=0.0)
        return replace(
            found,
            risk=max(float(one["advantage"]), 0.0),
            low=float(one["interval"][0]),
            high=attacks.value,
            worst=f"{best}: {one['worst']}" if best else "",
            ended=ended,
            attacked=int(one["people"]),
            rough=trial.rough,
            leaks=certain > self.limit,
            certain=certain,
            cpu=time.process_time() - began,
        )


def figures_of(**words: Any) -> Figures:
    """Those that a journal holds; an error where they are none."""
    return _FIGURES.validate_python(words)


_FIGURES = TypeAdapter(Figures)
_FORM = 4
"""Of figures: a journal of another form does not speak of these."""


def without_attacks(plan: Plan) -> tuple[Requirement, ...]:
    """What a plan requires, attacks aside."""
    return tuple(r for r in plan.requirements if r.name != WITHSTAND)


def _required(findings: list[Finding]) -> dict[str, tuple[float, float, bool, bool]]:
    """Each requirement by name; the worst of those that share one."""
    found: dict[str, tuple[float, float, bool, bool]] = {}
    for one in findings:
        value = one.value if math.isfinite(one.value) else float(one.limit)
        name = one.subject or one.requirement
        if name not in found or not one.met:
            found[name] = (value, float(one.limit), one.at_least, one.met)
    return found


def _first(table: Table, records: int) -> Table:
    return table if records >= table.height else table.take(np.arange(records))


def _shuffled(table: Table, rng: np.random.Generator) -> Table:
    """In random order, those who stay together beside one another."""
    unit = kept_together(table)
    if unit is None:
        return table.take(rng.permutation(table.height))
    place = rng.permutation(int(unit.max()) + 1)[unit]
    return table.take(np.argsort(place, kind="stable"))
