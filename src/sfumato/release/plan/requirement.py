"""A requirement of a plan: a criterion, or a limit on a measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import Complaint, ParameterError
from ...protocols import Criterion, Finding, Measure, Measurement
from ...registry import find

_LIMITS = ("at-most", "at-least")
_WHY = ("because", "names people", "gives back", "singled out")
"""Of a measurement's details, what says why a limit is broken."""
_MET = ("because", "sees")
"""What says how a limit is kept, and what keeping it does not mean."""
EXPOSURE, KNOWN_TO = "exposure", "confidential-known-to"


@dataclass(frozen=True)
class Requirement:
    """A criterion with its own limit, or a measure that must stay below or above one."""

    thing: Criterion | Measure
    at_most: float | None = None
    at_least: float | None = None

    @property
    def name(self) -> str:
        """The registered name."""
        return self.thing.name

    def judge(self, measurement: Measurement) -> Finding:
        """Whether a measure keeps the limit."""
        at_least = self.at_least is not None
        limit = float(self.at_least if self.at_least is not None else self.at_most or 0.0)
        value = float(measurement)
        # Not "value > limit": a value that is not a number must not pass.
        met = value >= limit if at_least else value <= limit
        met = met and not measurement.detail.get("refuses", False)
        # A release that keeps its limits publishes its findings: no more is said than must be.
        told = _MET if met else _WHY
        return Finding(
            requirement=self.name,
            subject=self.name,
            value=value,
            limit=limit,
            met=met,
            at_least=at_least,
            detail={key: measurement.detail[key] for key in told if key in measurement.detail},
            decimals=measurement.decimals,
            depends=measurement.depends,
        )

    def words(self) -> dict[str, Any]:
        """Its parameters and limit as a table of a plan file."""
        parameters = self.thing.plan_words()
        if isinstance(self.thing, Measure):
            limits = {"at-most": self.at_most, "at-least": self.at_least}
            parameters |= {k: v for k, v in limits.items() if v is not None}
        return parameters

    def to_plan(self) -> Any:
        """The requirement as a plan file writes it."""
        parameters = self.words()
        if isinstance(self.thing, Measure):
            return parameters
        shorthand = type(self.thing).shorthand
        if shorthand and set(parameters) <= {shorthand.replace("_", "-")}:
            return getattr(self.thing, shorthand)
        return parameters


@dataclass(frozen=True)
class Gate:
    """What `[require]` says of the exposure check, which every release has to pass."""

    checked: bool = True
    known_to: tuple[str, ...] = ()
    """Confidential columns that an intruder may know."""

    @classmethod
    def taken_from(cls, given: Mapping[str, Any]) -> tuple[Gate, dict[str, Any], list[Complaint]]:
        """The gate, and what else is required."""
        rest = dict(given)
        listed = rest.pop(KNOWN_TO, rest.pop(KNOWN_TO.replace("-", "_"), ()))
        names = (listed,) if isinstance(listed, str) else tuple(listed or ())
        checked = rest.get(EXPOSURE) is not False
        if rest.get(EXPOSURE) in (True, False) and isinstance(rest.get(EXPOSURE), bool):
            del rest[EXPOSURE]
        bad = [name for name in names if not isinstance(name, str)]
        complaints = []
        if bad:
            complaints.append(Complaint(KNOWN_TO, f"{bad[0]!r} is not a column", '["creatinine"]'))
        words = rest.get(EXPOSURE)
        if isinstance(words, Mapping) and {"at-least", "at_least"} & {*words}:
            what = "has a limit that it must not exceed"
            complaints.append(Complaint(EXPOSURE, what, "exposure = { at-most = 0.05 }"))
        return cls(checked, names if not bad else ()), rest, complaints

    def to_plan(self) -> dict[str, Any]:
        """As a plan file writes it."""
        found: dict[str, Any] = {} if self.checked else {EXPOSURE: False}
        return found | ({KNOWN_TO: list(self.known_to)} if self.known_to else {})

    def over(self, requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
        """The requirements with the check in front; a limit on record-linkage excuses as many."""
        rest = [r for r in requirements if r.name != EXPOSURE]
        if not self.checked:
            return tuple(rest)
        asked = [r for r in requirements if r.name == EXPOSURE]
        asked = asked or parse_requirement(EXPOSURE, True)[0]
        excused = [r.at_most or 0.0 for r in rest if r.name == "record-linkage"]
        return (*(self._widened(r, max([r.at_most or 0.0, *excused])) for r in asked), *rest)

    def _widened(self, asked: Requirement, limit: float) -> Requirement:
        known = (*asked.thing.parameters().get("known_to", ()), *self.known_to)
        # A release's plan names them already.
        once = tuple(dict.fromkeys(known))
        return Requirement(asked.thing.model_copy(update={"known_to": once}), limit)


def usual_exposure() -> float:
    """The share of people whom the exposure check lets columns single out, unless more is said."""
    return float(find(EXPOSURE, "measure").load().limit or 0.0)


def required(name: str, given: Any) -> list[Requirement]:
    """Requirements from what a line of `[require]` may say, if nothing is wrong with it."""
    good, bad = parse_requirement(name, given)
    if bad:
        raise ParameterError("; ".join(map(str, bad)), remedy=f"sfumato explain {name}")
    return good


def parse_requirement(name: str, given: Any) -> tuple[list[Requirement], list[Complaint]]:
    """Requirements from one line of `[require]`: a bare value, a table, or a list of tables."""
    if isinstance(given, list):
        if not given:
            return [], [Complaint("", "requires nothing", f"remove it, or {name} = {{ ... }}")]
        parsed = [parse_requirement(name, one) for one in given]
        return [r for good, _ in parsed for r in good], [c for _, bad in parsed for c in bad]
    cls = find(name, "criterion", "measure", "attack").load()
    if issubclass(cls, Measure):
        return _limit_on_measure(name, cls, given)
    if not isinstance(given, Mapping):
        if not cls.shorthand:
            return [], [Complaint(name, "needs a table of parameters", f"{name} = {{ ... }}")]
        given = {cls.shorthand: given}
    complaints = cls.complaints(given)
    return ([] if complaints else [Requirement(cls.build(given))]), complaints


def _limit_on_measure(
    name: str, cls: type[Measure], given: Any
) -> tuple[list[Requirement], list[Complaint]]:
    way = "at-most" if cls.direction == "lower" else "at-least"
    if given is True and cls.limit is not None:
        given = cls.limit
    if given is False:
        return [], [Complaint(name, "false requires nothing", "leave it out")]
    if not isinstance(given, Mapping):
        given = {way: given}
    plain = {key.replace("_", "-"): value for key, value in given.items()}
    limits = {key: plain.pop(key) for key in _LIMITS if key in plain}
    complaints = cls.complaints(plain)
    if not limits and cls.limit is not None:
        limits[way] = cls.limit
    if len(limits) != 1:
        complaints.append(
            Complaint(name, "a measure needs one limit", f"{name} = {{ {way} = ... }}")
        )
    for key, value in limits.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            complaints.append(Complaint(key, f"{value!r} is not a finite number", "e.g. 0.05"))
        elif len(limits) == 1:
            complaints += _pointless(name, cls, key, value)
    if complaints:
        return [], complaints
    thing = cls.build(plain)
    return [Requirement(thing, limits.get("at-most"), limits.get("at-least"))], []


def _pointless(name: str, cls: type[Measure], key: str, limit: float) -> Iterator[Complaint]:
    """What is wrong with a limit that every share keeps, or that only what leaks keeps."""
    if key == "at-most" and cls.unit == "%" and limit > cls.bounds[1]:
        remedy = f"a share: {limit:g} % is {limit / 100:g}"
        yield Complaint(key, f"{limit:g} is no share, which is 1 at most", remedy)
    if key == "at-least" and (cls.registry_kind == "attack" or cls.costly):
        what = "is a risk: at-least would require that it leaks"
        yield Complaint(name, what, f"{name} = {{ at-most = ... }}")
