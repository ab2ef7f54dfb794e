"""Every attack that applies, tried on one release, and what the best gets beyond the control."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer

from ..data.schema import Role
from ..errors import MeasureError
from ..measurement import Depends
from ..nested import SCHEMA, found, words
from ..progress import report
from ..protocols import Context, Measure, Measurement
from ..registry import entries
from ..texts import one_line
from .controlled import (
    LIMIT,
    SAMPLE,
    ControlledAttack,
    bounded,
    controlled,
    leaking,
    rounded_up,
)
from .field import Field as People

DEADLINE = "deadline"
"""Where attacks find the moment at which they have to end (`Context.kept`)."""


def _attack(given: Any) -> Any:
    thing = found("attack", given)
    if not isinstance(thing, ControlledAttack):
        raise ValueError(
            f"{thing.name} has no control to be judged by: require it by itself, "
            f"{thing.name} = {{ at-most = ... }}"
        )
    return thing


AttackParameter = Annotated[
    ControlledAttack, BeforeValidator(_attack), PlainSerializer(words), SCHEMA
]
"""An attack with a control, by name, as a table or as an instance."""


def _listed(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


class Withstand(Measure):
    """What the best of all attacks gets of people in the data beyond people who are not.

    Every attack with a control that applies is tried (or those named), each with exactly what its
    intruder has. The figure is the largest one-sided 95 % upper bound of an advantage, corrected
    after Holm over all ways in which anything was tried. With people held out before the plan ran
    the release itself is attacked; without them the plan is run again on a random half of the
    people, and the plan was attacked, not this release. An attack that was tried on fewer than
    2,000 people or controls shows nothing, and one that is not finished in `seconds` neither: a
    release of which that is required is then refused, and told what it would take. So is one with
    a published column that none of them looks at, such as one of sets. That no attack
    here succeeds is no proof that none can.
    """

    name: ClassVar[str] = "withstand"
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"
    compares: ClassVar[str | None] = "tables"
    whole_records: ClassVar[bool] = True
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    needs_reference: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"attacks": ["linkability", "tracing"]}
    limit: ClassVar[float | None] = LIMIT
    costly: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Giomi, Boenisch, Wehmeyer & Tasnadi (2023), A unified framework for quantifying privacy "
        "risk in synthetic data, PoPETs 2023(2); Holm (1979), A simple sequentially rejective "
        "multiple test procedure, Scandinavian Journal of Statistics 6"
    )

    attacks: Annotated[tuple[AttackParameter, ...], BeforeValidator(_listed)] = Field(
        (), description="attacks to try, by name; all that apply unless given"
    )
    seconds: float = Field(600.0, gt=0, description="time that all attacks together may take")
    sample: int | None = Field(
        None,
        ge=1,
        description="people that each attacks, and controls; as each has it unless given",
    )
    until: float | None = Field(
        None,
        gt=0,
        le=1,
        description="end with the first attack that gets more, the slow ones last",
    )
    sure: bool = Field(
        True, description="whether only what is certain ends them, or an estimate as well"
    )

    def measure(self, context: Context) -> Measurement:
        beside = controlled(context, self.name)
        People.of(beside, SAMPLE)  # says at once where nobody can be attacked
        tried = self._tried(context)
        if not tried.taken and not tried.unfinished:
            why = "; ".join(f"{name}: {words}" for name, words in tried.left.items())
            raise MeasureError(f"no attack applies ({why})", remedy="publish what can be attacked")
        bounds = tried.bounds()
        top = max(bounds, key=lambda name: bounds[name]) if bounds else ""
        value = bounds[top] if bounds else 1.0
        told = {
            name: {
                "worst": m.detail["worst"],
                "people": m.detail["people"],
                "controls": m.detail["controls"],
                "advantage": m.detail["advantage"],
                "interval": m.detail["interval"],
                "upper": bounds[name],
                "shown": not m.detail.get("refuses", False),
            }
            for name, m in tried.taken.items()
        }
        detail: dict[str, Any] = {
            "attacked": _ATTACKED[beside.pair is not context.pair],
            "worst": f"{top}: {tried.taken[top].detail['worst']}" if top else "",
            "attacks": told,
            "not_applicable": tried.left,
            "sees": "attacks that are known here; that none succeeds is no proof that none can",
        }
        blind = tried.left_out()
        if blind:
            detail["left_out"] = blind
        unseen = {
            name: why
            for name, why in blind.items()
            if beside.pair.original.schema[name].role in _TO_BE_SEEN
        }
        if tried.ended:
            why = f"{detail['worst']} gets more than {self.until}: no other was tried"
            detail |= {"refuses": True, "because": why, "ended": True}
        elif because := "; ".join(filter(None, (unlooked(unseen), tried.because(self.seconds)))):
            detail |= {"refuses": True, "because": because, "unfinished": [*tried.unfinished]}
        elif top:
            why = f"{detail['worst']} gets that much beyond the control"
            detail["because"] = "; ".join(filter(None, (why, wide(tried.taken[top], value))))
        return self.result(
            value,
            detail=detail,
            private={
                "measurements": tried.taken,
                "example": tried.taken[top].private["example"] if top else {},
            },
            per_record=_worst_of([m.per_record for m in tried.taken.values()]),
            per_record_of="original",
        )

    def _tried(self, context: Context) -> _Tried:
        """Every attack in turn, as long as there is time."""
        named = bool(self.attacks)
        things = self.attacks or tuple(
            cls.build({})
            for cls in (entry.load() for entry in entries("attack"))
            if issubclass(cls, ControlledAttack)
        )
        if self.sample is not None:
            things = tuple(one.model_copy(update={"sample": self.sample}) for one in things)
        if self.until is not None:
            things = tuple(sorted(things, key=lambda one: one.slow))
        began = last = monotonic()
        context.kept[DEADLINE] = began + self.seconds
        found = _Tried()
        try:
            for done, thing in enumerate(things):
                report(f"attacking by {thing.name}", done, len(things))
                if monotonic() - began > self.seconds:
                    found.unfinished[thing.name] = ""
                    continue
                own = context.rng if context.stream is None else context.stream(thing.name)
                try:
                    taken = thing.measure(replace(context, rng=own))
                    found.taken[thing.name] = taken
                    got = taken.private["certain"] if self.sure else taken.detail["advantage"]
                    if self.until is not None and got > self.until:
                        found.ended = True
                        break
                except MeasureError as error:
                    late = monotonic() - began > self.seconds
                    where = found.unfinished if named or late else found.left
                    where[thing.name] = str(error)
                except Exception as error:  # the others are worth hours
                    told = one_line(f"{type(error).__name__}: {error}")
                    found.unfinished[thing.name] = f"it failed by a fault of its own ({told})"
                finally:
                    now = monotonic()
                    found.longest = max(found.longest, now - last)
                    last = now
        finally:
            del context.kept[DEADLINE]
        found.seconds = monotonic() - began
        return found

    def published(self, found: Measurement) -> Measurement:
        """Which attacks were tried, on how many, and in few steps what they got at most."""
        detail = {**found.detail, "attacks": {}}
        for name, one in found.detail.get("attacks", {}).items():
            told = {key: one[key] for key in ("people", "controls", "shown")}
            detail["attacks"][name] = {**told, "upper": rounded_up(one["upper"])}
        return _bare(found, detail, ("attacked", "attacks", "not_applicable", "left_out", "sees"))


_TO_BE_SEEN = (Role.QUASI, Role.CONFIDENTIAL, Role.TARGET)


def unlooked(columns: Mapping[str, str]) -> str:
    """What is said of published columns that no attack looks at; empty where there is none."""
    if not columns:
        return ""
    told = ", ".join(f"{name} ({why})" for name, why in columns.items())
    return (
        f"not shown: no attack looks at {told}; leave out what is named here, publish the items of "
        "a set as columns of their own, or give the reference the columns that it lacks"
    )


_ATTACKED = {False: "the release", True: "the plan, run again on a random half"}


def _bare(found: Measurement, detail: Mapping[str, Any], keys: tuple[str, ...]) -> Measurement:
    kept = {key: detail[key] for key in keys if key in detail}
    if "not_applicable" in kept:
        # Why may quote data; that it did not apply is seen by everybody.
        kept["not_applicable"] = sorted(kept["not_applicable"])
    return replace(
        found,
        value=rounded_up(found.value),
        interval=None,
        baseline=None,
        per_record=None,
        private={},
        detail=kept,
    )


@dataclass
class _Tried:
    """What came of trying one attack after another."""

    taken: dict[str, Measurement] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    """Why; "" where time was up before it began."""
    seconds: float = 0.0
    longest: float = 0.0
    """Seconds that one of them took."""
    ended: bool = False
    """Whether the rest was not tried, since one gets enough."""

    def bounds(self) -> dict[str, float]:
        """The corrected upper bound of each attack: its worst trial."""
        found: dict[str, float] = dict.fromkeys(self.taken, 0.0)
        for judge, kind in ((bounded, "advantages"), (leaking, "apart")):
            bounds = judge(
                {(name, t): a for name, m in self.taken.items() for t, a in m.private[kind].items()}
            )
            for (name, _), bound in bounds.items():
                found[name] = max(found[name], bound)
        return found

    def left_out(self) -> dict[str, str]:
        """The published columns that none of the attacks looked at, and why."""
        each = [m.detail.get("left_out", {}) for m in self.taken.values()]
        return {k: v for k, v in each[0].items() if all(k in one for one in each)} if each else {}

    def because(self, allowed: float) -> str:
        """Why nothing is shown, and what it would take; empty where all is."""
        short: dict[str, list[str]] = {}
        for name, m in self.taken.items():
            if m.detail.get("refuses", False):
                short.setdefault(m.detail["lacking"], []).append(name)
        said = [f"not shown by {', '.join(names)}: {few}" for few, names in short.items()]
        said += [f"{name} was not finished: {why}" for name, why in self.unfinished.items() if why]
        if late := [name for name, why in self.unfinished.items() if not why]:
            said.append(f"not begun: {', '.join(late)}")
        if self.unfinished and self.seconds > allowed:
            # Those that were not begun may be slow ones: the last that was seen may be cut short.
            left = self.seconds + 2 * self.longest * len(self.unfinished)
            need = math.ceil(max(left, 2 * allowed) / 10) * 10
            said.append(f"about {need} s may be enough: seconds = {need}")
        return "; ".join(said)


def wide(found: Measurement, bound: float) -> str:
    """How many people would do where a bound exceeds the limit and the estimate does not; empty
    where that would be very many, and where the estimate exceeds it, too."""
    estimate, (low, high) = found.detail["advantage"], found.detail["interval"]
    if not max(estimate, 0.0) < LIMIT < bound:
        return ""
    n, m = found.detail["people"], found.detail["controls"]
    times = ((bound - estimate) / (LIMIT - estimate)) ** 2
    need = math.ceil(times * 2 * n * m / (n + m) / 1000) * 1000
    if need > _MANY * max(n, m):
        return ""
    return (
        f"the estimate is {estimate:.1%}, which may be anything from {low:.1%} to {high:.1%}: were "
        f"it exact, about {need:,} people and as many controls would show that {LIMIT:.0%} is kept"
    )


_MANY = 10
"""So many times the people there are."""


def _worst_of(vectors: list[np.ndarray | None]) -> np.ndarray | None:
    """The greatest success with each person; NaN where nobody tried."""
    known = [vector for vector in vectors if vector is not None]
    return np.fmax.reduce(known) if known else None
