"""The last resort: to ask for less. Never where a release names people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import isfinite

from ...protocols import Criterion, Finding
from ..plan import toml
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE, Requirement
from .remedy import Remedy

# What holds of every table, besides whole numbers of records or values, of which there is always 1.
_EMPTY_PROMISE = dict.fromkeys(
    ("l-diversity", "t-closeness", "average-risk", "population-uniqueness"), 1.0
)


_DIGITS = 2
"""Of a limit that is offered. The release states its limit: the exact figure of what is not
published, the risk of one household, would tell of the people in it."""


def loosened(plan: Plan, findings: Sequence[Finding]) -> Remedy | None:
    """Ask for about what was found instead: honest, and sometimes right."""
    required = plan.gate.over(plan.requirements)
    # Further findings are about earlier releases, which nothing here undoes.
    if not all(finding.met for finding in findings[len(required) :]):
        return None
    kept: list[Requirement] = []
    changes, outcome = [], []
    for requirement, finding in zip(required, findings, strict=False):
        if finding.met:
            kept.append(requirement)
            outcome.append(finding)
            continue
        other = _at_limit(requirement, finding)
        if other is None:
            return None
        kept.append(other)
        changes.append(f"{requirement.name} = {toml.value(other.to_plan())}")
        outcome.append(replace(finding, limit=_limit_of(other), met=True, broken=0))
    changed = plan.with_(requirements=_asked(plan, required, kept))
    return Remedy("; ".join(changes), changed, tuple(outcome), weaker=True)


def _asked(
    plan: Plan, required: Sequence[Requirement], kept: Sequence[Requirement]
) -> tuple[Requirement, ...]:
    """What a plan file says: of the exposure check, which needs no word, only what changed."""
    same = all(r in required for r in kept if r.name == EXPOSURE)
    exposure = [r for r in (plan.requirements if same else kept) if r.name == EXPOSURE]
    return (*exposure, *(r for r in kept if r.name != EXPOSURE))


def _at_limit(requirement: Requirement, finding: Finding) -> Requirement | None:
    """The requirement with its limit moved to the value found, rounded to the safe side."""
    if not isfinite(finding.value):
        return None
    value = _outward(finding.value, at_least=finding.at_least)
    if not isinstance(requirement.thing, Criterion):
        if requirement.at_most is not None and value == 1:
            return None  # a share is never above 1
        if finding.detail.get("names people") or finding.detail.get("gives back"):
            return None  # no limit is about that
        if requirement.at_least is None:
            return replace(requirement, at_most=value)
        return replace(requirement, at_least=value)
    field = type(requirement.thing).shorthand
    if not field:
        return None
    whole = isinstance(getattr(requirement.thing, field), int)
    value = finding.value if whole else value
    if (whole and finding.at_least and value < 2) or value == _EMPTY_PROMISE.get(requirement.name):
        return None  # to promise what holds of every table is no remedy
    parameters = {**requirement.thing.parameters(), field: int(value) if whole else value}
    cls = type(requirement.thing)
    return None if cls.complaints(parameters) else Requirement(cls.build(parameters))


def _outward(value: float, *, at_least: bool) -> float:
    """The next number of few digits that the value keeps as its limit."""
    exact = Decimal(repr(float(value)))
    step = Decimal(1).scaleb(exact.adjusted() + 1 - _DIGITS) if exact else Decimal(1)
    return float(exact.quantize(step, ROUND_FLOOR if at_least else ROUND_CEILING))


def _limit_of(requirement: Requirement) -> float:
    if isinstance(requirement.thing, Criterion):
        return float(getattr(requirement.thing, type(requirement.thing).shorthand))
    limit = requirement.at_least if requirement.at_least is not None else requirement.at_most
    return float(limit or 0.0)
